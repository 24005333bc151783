#!/bin/sh
# A trace that outgrows the limit on file sizes (as one that fills the disk): exit status 1, a reason,
# and no partial database.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

cat >years.yaml <<'YAML'
cluster: {storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms, fabric: compute}}
faults: {failures: {gpu: {component: gpu, lifetime: {dist: exponential, mean: 200 min}, repair: {dist: constant, value: 1 s}}}}
campaign: {until: {duration: 60 d}, checkpoint: {every: 600 s}, recovery: wait, replications: 2}
YAML
cat >learn.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: dgx-h100}
workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, parameters: 0}, update: {policy: async}, batch: {per_worker: 4}, stop: {time: 200 s}}
learn: {problem: softmax, data: {kind: synthetic, rows: 200, features: 20}, optimizer: {kind: sgd, lr: 0.1}, evaluate: 10}
YAML
# A run, a campaign and a learner; at its first page and later.
for limit in 8 256; do # blocks of 512 bytes
  for what in "tiny.yaml --set workload.stop.steps=2000" "tiny.yaml years.yaml" learn.yaml; do
    status=0
    # shellcheck disable=SC2086
    (
      ulimit -f $limit
      "$LOCKSTEP" run $what -o big.db >out 2>err
    ) || status=$?
    [ $status -eq 1 ] || { fail "run $what over the size limit exits with $status"; cat err >&2; }
    says err "cannot write"
    for left in big.db*; do
      [ ! -e "$left" ] || fail "left behind: $left"
    done
  done
done

# What is learned from a trace, and other long answers to -o.
run 0 run learn.yaml -o learn.db -q
for what in "learn learn.db --csv big.csv" "learn learn.db --json -o big.csv" "collective all_reduce $SOURCE_DIR/topologies/dgx-h100.yaml -o big.csv" \
  "new --gpu h100-sxm-80gb --nodes 8 --model llama2-7b -o big.csv" "explain big.db -o big.csv" "completion bash -o big.csv" "concepts --markdown -o big.csv"; do
  [ "$what" != "explain big.db -o big.csv" ] || run 0 run tiny.yaml -o big.db -q
  status=0
  # shellcheck disable=SC2086
  (
    ulimit -f 1
    "$LOCKSTEP" $what >out 2>err
  ) || status=$?
  [ $status -eq 1 ] || { fail "$what over the size limit exits with $status"; cat err >&2; }
  says err "big.csv: cannot write: File too large"
  for left in big.csv*; do
    [ ! -e "$left" ] || fail "left behind: $left"
  done
done
finish
