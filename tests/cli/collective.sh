#!/bin/sh
# lockstep collective: the columns of nccl-tests, JSON and CSV, both models, and what is refused.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
h100=$SOURCE_DIR/topologies/dgx-h100.yaml
two="--set cluster.nodes=2"

# Text: the head of nccl-tests, a row per size, the mean at the end; bus bandwidth = 2 (n-1)/n x algbw.
run 0 collective all_reduce "$h100" --sizes 1M:8M:2x --ranks 0-7
empty err
for word in size count type redop root time algbw busbw closed algorithm protocol channels "(us)" "(GB/s)" \
  "# Avg bus bandwidth"; do
  says out "$word"
done
[ "$(grep -vc '^#' out)" = 4 ] || fail "four sizes expected"
awk '!/^#/ { if ($2 != $1 / 4 || $3 != "float" || $4 != "sum" || $5 != -1) exit 1
  if (($8 / $7 - 1.75) ^ 2 > 1e-4 || ($1 / $6 / 1e3 / $7 - 1) ^ 2 > 1e-4) exit 1 }' out ||
  fail "count, type, root or bandwidths are wrong"

# Alone, the engine takes the closed form.
awk '!/^#/ && ($10 < -0.01 || $10 > 0.01) { exit 1 }' out || fail "alone it is not the closed form"

# CSV: one head, the same numbers; --models both fills both columns and a table shows the gap.
# shellcheck disable=SC2086
run 0 collective all_reduce "$h100" $two --sizes 1M,64M --algorithm ring --models both --csv
[ "$(head -n 1 out)" = "size_bytes,count,type,redop,root,time_us,algbw_gb_s,busbw_gb_s,closed_form_us,fluid_us,message_us,algorithm,protocol,channels" ] ||
  fail "the head line is $(head -n 1 out)"
[ "$(sed 1d out | cut -d, -f1,12 | tr '\n' ' ')" = "1048576,ring 67108864,ring " ] || fail "sizes or algorithm: $(cat out)"
sed 1d out | awk -F, '$10 <= 0 || $11 <= 0 || $6 != $10 { exit 1 }' || fail "both models expected: $(cat out)"
# shellcheck disable=SC2086
run 0 collective all_reduce "$h100" $two --sizes 64M --models both
says out "message"
says out "slack"
run 0 collective all_gather "$h100" --sizes 1M --models message --csv
sed 1d out | awk -F, '$10 != "" || $11 <= 0 { exit 1 }' || fail "messages alone expected: $(cat out)"

# JSON: one document with everything.
run 0 collective all_reduce "$h100" --sizes 4M --models both --json
is_json
empty err
for key in operation ranks iterations sizes size_bytes count time_us algbw_gb_s busbw_gb_s closed_form_us latency_us \
  gap_pct message_us message_gap_pct algorithm protocol channels avg_busbw_gb_s warnings; do
  says out "\"$key\""
done

# Every operation, roots and splits, steps of sizes.
for op in reduce_scatter all_gather broadcast reduce all_to_all all_to_allv gather scatter send_recv barrier; do
  run 0 collective $op "$h100" --sizes 0,64K --csv
  [ "$(wc -l <out)" -eq 3 ] || fail "$op: two sizes expected"
done
run 0 collective broadcast "$h100" --root 3 --sizes 1M:3M:1M --csv
[ "$(sed 1d out | cut -d, -f1,5 | tr '\n' ' ')" = "1048576,3 2097152,3 3145728,3 " ] || fail "root or steps: $(cat out)"
printf '# sizes\n1K 2K 3K 4K\n' >splits
run 0 collective all_to_allv "$h100" --ranks 0-3 --splits splits --csv
[ "$(sed 1d out | cut -d, -f1)" = 30720 ] || fail "the sum of the splits: $(cat out)"
run 0 collective all_reduce "$h100" --ranks 0-7:2 --sizes 1M --json
says out '"ranks": 4'

# Keys of tuning: they move the time, name the model, and say where they have no effect.
time_with() {
  # shellcheck disable=SC2086
  run 0 collective all_reduce "$h100" $two --sizes 256K --csv "$@"
  sed 1d out | cut -d, -f6
}
plain=$(time_with)
for set in cluster.node.tuning.launch=90us cluster.node.tuning.hop=9us cluster.node.tuning.ll_efficiency=1% \
  cluster.fabric.tuning.hop=90us cluster.fabric.tuning.step=90us; do
  [ "$(time_with --set "$set")" != "$plain" ] || fail "$set moves nothing"
done
tiny
run 0 check tiny.yaml --set cluster.node.tuning.protocol=ideal --set cluster.node.tuning.ll_efficiency=50%
says err "ll_efficiency"
# Single messages do not fold: the run says so, once, and goes on.
run 0 run tiny.yaml --trace none --set cluster.node.tuning.model=message
[ "$(grep -c "single messages" err)" = 1 ] || fail "one line on single messages expected: $(cat err)"

# What is refused, with what is allowed.
refused() {
  text=$1
  shift
  run 2 collective "$@"
  empty out
  says err "$text"
}
refused "an operation and a cluster" all_reduce
refused "did you mean all_reduce" all_redcue "$h100"
refused "did you mean 'ring'" all_reduce "$h100" --algorithm rong
refused "ring does no all_to_all" all_to_all "$h100" --algorithm ring
refused "needs several nodes" all_reduce "$h100" --ranks 0-7 --algorithm hierarchical --sizes 1M
refused "is not one of: auto LL LL128 Simple" all_reduce "$h100" --protocol LL256
refused "is not one of: fluid message both" all_reduce "$h100" --models wave
refused "is no size" all_reduce "$h100" --sizes 1Q
refused "factor above 1" all_reduce "$h100" --sizes 1K:1M:1x
refused "empty or begins at 0" all_reduce "$h100" --sizes 1M:1K
refused "beyond the cluster" all_reduce "$h100" --ranks 0-64
refused "named twice" all_reduce "$h100" --ranks 0,1,0
refused "no range of GPUs" all_reduce "$h100" --ranks zero
refused "has none" all_reduce "$h100" --root 0
refused "not among the ranks" broadcast "$h100" --ranks 0-3 --root 7
refused "only all_to_allv" all_to_all "$h100" --splits splits
refused "leave out --sizes" all_to_allv "$h100" --ranks 0-3 --splits splits --sizes 1M
refused "sizes for 3 ranks" all_to_allv "$h100" --ranks 0-2 --splits splits
refused "nowhere.yaml" all_reduce nowhere.yaml
refused "speling" all_reduce "$h100" --set cluster.node.speling=1
# The sizes of a command share how they are laid out: each is what it is alone, whatever the model.
for op in all_reduce all_to_all all_to_allv; do
  run 0 collective $op "$h100" --ranks 0-15 --set cluster.nodes=2 --sizes 6000,40K,3M --models both --csv
  sed 1d out | sort >together
  : >alone
  for size in 6000 40K 3M; do
    run 0 collective $op "$h100" --ranks 0-15 --set cluster.nodes=2 --sizes $size --models both --csv
    sed 1d out >>alone
  done
  sort alone | cmp -s - together || fail "$op over several sizes differs from each size alone"
done
finish
