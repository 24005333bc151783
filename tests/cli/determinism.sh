#!/bin/sh
# Two runs of one scenario write the same database, but for the rows about wall time.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }
tiny

dump() {
  sqlite3 "$1" .dump | grep -vE "INSERT INTO run VALUES\('(wall_|summary|command|trace)" | grep -v "INSERT INTO job VALUES"
}
run 0 run tiny.yaml -o a.db -q
run 0 run tiny.yaml -o b.db -q
dump a.db >a.sql
dump b.db >b.sql
[ "$(wc -l <a.sql)" -gt 100 ] || fail "the dump is too short to mean anything"
cmp a.sql b.sql || fail "two runs differ: $(diff a.sql b.sql | head -n 4)"

# Learners, campaigns and tables go over the cores that there are; the answers are the same bits on one, two and all of them.
cat >learn.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: dgx-h100}
workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, parameters: 0}, update: {policy: async}, batch: {per_worker: 4}, stop: {time: 50 s}}
learn: {problem: softmax, data: {kind: synthetic, rows: 200, features: 20}, optimizer: {kind: sgd, lr: 0.1}, evaluate: 10}
YAML
run 0 run learn.yaml -o learn.db -q
for threads in 1 2 4; do
  run 0 learn learn.db --replications 5 --threads $threads --csv "$threads.csv" --json
  mv out "$threads.json"
  cmp "$threads.csv" 1.csv && cmp "$threads.json" 1.json || fail "learning on $threads threads differs from one"
done
cat >days.yaml <<'YAML'
cluster: {storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms, fabric: compute}}
faults: {failures: {gpu: {component: gpu, lifetime: {dist: exponential, mean: 200 min}, repair: {dist: constant, value: 1 s}}}}
campaign: {until: {duration: 10 d}, checkpoint: {every: 600 s}, recovery: wait, replications: 6}
YAML
head -n 3 "$SOURCE_DIR/tests/reference/train_megatron.csv" >table.csv
on_one() { if command -v taskset >/dev/null; then taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$@"; else "$@"; fi; }
for how in on_one env; do
  $how "$LOCKSTEP" run tiny.yaml days.yaml --trace none --json | sed -E 's/"wall_s": [^,]*,//' >"campaign.$how"
  $how "$LOCKSTEP" validate table.csv >"table.$how" 2>err
done
cmp campaign.on_one campaign.env || fail "a campaign on one core differs from one on all"
cmp table.on_one table.env || fail "a table on one core differs from one on all"
[ "$(wc -l <table.env)" -gt 1 ] || fail "the table is empty"
finish
