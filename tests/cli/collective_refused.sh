#!/bin/sh
# lockstep collective: ranks, sizes and splits are taken as they are written, or refused with the place.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

dgx() {
  op=$1
  shift
  run "$STATUS" collective "$op" topologies/dgx-h100.yaml --set cluster.nodes=2 "$@"
}
STATUS=0
dgx all_reduce --sizes 1M --ranks 0-15:8
says out "on 2 ranks"
dgx all_reduce --sizes 1M --ranks 3,1,2 --csv
# Operations by the names that MPI and nccl-tests give them; what is near to one is named.
for word in alltoall:all_to_all AllReduce:all_reduce sendrecv:send_recv bcast:broadcast; do
  dgx "${word%:*}" --sizes 1M
  says out "# ${word#*:} on 16 ranks"
done
STATUS=2
for ranks in 0-7:0 7-0 0-99 -1 a 1,1 0,0-7 999999999999999999999; do
  dgx all_reduce --sizes 1M --ranks "$ranks"
  says err "error: --ranks:"
done
for sizes in 1K:8G:0x 1K:8G:1x 1K:8G:0 1K:8G: 8G:1K:2x 1K,,2K nan 1K:1M:1; do
  dgx all_reduce --sizes "$sizes"
  says err "error: --sizes"
done
for n in 0 10001; do
  dgx all_reduce --sizes 1M --iterations $n
  says err "error: --iterations: $n is not between 1 and 10000"
done
dgx all_reduce --sizes 1M --csv --json
says out "one of the two"

# A file of splits: what is wrong with it, and where.
for nothing in nowhere . /dev/zero; do
  dgx all_to_allv --splits "$nothing"
  says err "error: $nothing: "
done
printf '1,2,3,4\n1,2,x,4\n' >splits.csv
dgx all_to_allv --ranks 0-3 --splits splits.csv
says err "splits.csv:2:5: error: 'x' is no size"
printf '1,2,3,y\n1,2,x,4\n1,2\n' >splits.csv
dgx all_to_allv --ranks 0-3 --splits splits.csv
says err "splits.csv:1:7: error: 'y' is no size"
says err "splits.csv:2:5: error: 'x' is no size"
says err "splits.csv:3:1: error: 2 sizes for 4 ranks"
printf '900T,900T,1,1\n' >splits.csv
dgx all_to_allv --ranks 0-3 --splits splits.csv
says err "splits.csv:1:6: error: all sizes together"
printf '1,2,3\0004\n' >splits.csv
dgx all_to_allv --ranks 0-3 --splits splits.csv
says err "splits.csv:1:6: error: this byte is no text"
# Pairs that are laid one by one are counted before anything is laid (32,768 ranks: an abort for want of memory).
big() {
  run 2 collective "$@" topologies/dgx-h100.yaml --set cluster.nodes=1025 --sizes 1M
  says err "among 8200 ranks is 6.72e+07 messages, which"
  says err "the most is 8192 ranks"
}
big all_to_all --models message
big all_to_all --algorithm pairwise
big all_to_all --set cluster.fabrics.compute.routing=ecmp
big all_reduce --algorithm direct
STATUS=0
printf '# one row for all\n0,1,2,3\n' >splits.csv
dgx all_to_allv --ranks 0-3 --splits splits.csv --models both
finish
