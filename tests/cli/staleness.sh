#!/bin/sh
# Studies of staleness in short form: those that need no data set run to their end, and come out as they
# should; all of them are legal scenarios.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off
for file in "$SOURCE_DIR"/workloads/staleness/*.yaml; do
  run 0 check "$file"
done
study="$SOURCE_DIR/tools/staleness-study"
files="$SOURCE_DIR/workloads/staleness/random-against-constant.yaml"
sh "$study" "$files" >table 2>err || fail "the study fails: $(cat err)"
# Constant delay 7 is unstable at 0.3 (limit 0.209), geometric delay is not (limit 0.566).
grep -q '^| constant |.*| - | - |$' table || fail "constant delay does not diverge at 0.3"
grep -q '^| geometric |.*| - | - |$' table && fail "geometric delay diverges at 0.3"
# The summary of a run of updates.
run 0 run "$files" --trace none --json --set workload.stop.updates=1000
grep -q '"workers": 8' out || fail "no workers in the summary"
grep -q '"updates": 1000' out || fail "no updates in the summary"
# The log is in the trace.
run 0 run "$files" -o run.db -q --set workload.stop.updates=100
run 0 query run.db "SELECT count(*) FROM update_log WHERE operation='apply'" --format csv
grep -q '^100$' out || fail "the log does not have 100 applied gradients"
# The same seed gives the same numbers, with a trace or without; another seed gives others.
numbers() {
  run 0 run "$files" --json --set workload.stop.updates=500 "$@"
  grep -E '"(run_time_s|mean|p99|max|idle_fraction|loss)"' out
}
numbers --trace none >first
[ "$(wc -l <first)" -gt 10 ] || fail "few numbers in the summary"
numbers --trace none >again
numbers -o traced.db >traced
numbers --trace none --seed 7 >other
cmp -s first again || fail "the same seed gives other numbers"
cmp -s first traced || fail "a trace changes numbers"
cmp -s first other && fail "another seed gives the same numbers"
# Workers that run programs: rows of their operations, memory, the size of the trace; the same numbers without a trace.
cat >replicas.yaml <<'YAML'
lockstep: 1
cluster:
  groups:
    workers: {nodes: 1, node: {preset: dgx-a100, gpus: 4}}
    ps: {nodes: 1, node: {gpus: 0, nics: {compute: {preset: cx6-200, count: 2}}}}
  fabric: {kind: single-switch, link: 200 Gb/s}
workload:
  model: {preset: gpt2-small, layers: 2}
  precision: bf16
  batch: {per_worker: 4, micro: 2, seq_len: 512}
  parallel: {pipeline: 2}
  update: {policy: async, servers: {nodes: ps, shards: 2}}
  stop: {updates: 6}
YAML
run 0 run replicas.yaml -o replicas.db
grep -q 'trace .*replicas.db (.* MB)\|trace .*replicas.db (.* kB)' out || fail "no size of the trace: $(grep trace out)"
grep -q '^memory .*fits$' out || fail "no memory in the summary"
run 0 query replicas.db "SELECT count(DISTINCT e.rank || s.name) FROM event e JOIN stream s ON s.id = e.stream_id WHERE s.name IN ('compute', 'update')" --format csv
grep -q '^6$' out || fail "not every rank has operations and every worker its time: $(cat out)"
run 0 query replicas.db "SELECT count(*) FROM event WHERE cause_id IS NULL AND start_ns > 0" --format csv
[ "$(sed -n 2p out)" -lt 10 ] || fail "causes are missing: $(sed -n 2p out)"
run 0 run replicas.yaml --trace none --json
cp out none.json
run 0 run replicas.yaml --json -o again.db
for key in run_time_s samples samples_evaluated peak_bytes events; do
  [ "$(grep "\"$key\"" none.json)" = "$(grep "\"$key\"" out)" ] || fail "a trace changes $key"
done
run 3 run replicas.yaml --trace none --set workload.model.layers=24 --set workload.batch.micro=512 --set workload.batch.per_worker=1024
says err "does not fit in memory"
# Workers that fail: the learner, which asserts that no gradient is lost or taken twice, goes with every policy.
fails="$SOURCE_DIR/workloads/staleness/workers-that-fail.yaml"
for policy in "sync" "k-sync --set workload.update.k=5" "k-batch-sync --set workload.update.k=5" "k-async --set workload.update.k=3" \
  "k-batch-async --set workload.update.k=3" "ssp --set workload.update.staleness_bound=2" "async"; do
  for away in wait skip; do
    # shellcheck disable=SC2086 # words
    run 0 run "$fails" --trace none --json --set workload.update.policy=$policy --set 'workload.update.servers={nodes: ps, shards: 3}' \
      --set workload.update.away=$away --set workload.stop.time=20s --set 'faults.failures.node.lifetime.mean=5 s' \
      --set 'faults.failures.node.repair.mean=2 s' --set learn.problem=quadratic --unset learn.data
    grep -q '"failures": [1-9]' out || fail "$policy, $away: nobody fails"
  done
done
run 0 run "$fails" -q -o fails.db --set learn.problem=quadratic --unset learn.data
run 0 query fails.db "SELECT (SELECT count(*) FROM fault) > 5, (SELECT count(*) FROM gradient WHERE reason = 'its worker failed') > 0, (SELECT sum(end_ns - start_ns) FROM event e JOIN string s ON s.id = e.name_id WHERE s.value = 'away') > 0" --format csv
[ "$(sed -n 2p out)" = "1,1,1" ] || fail "failures of workers are not in the trace: $(cat out)"

# A server's node whose first adapter is down is reached by its others (an assertion ended the run).
cat >one-dead.yaml <<'YAML'
cluster: {nodes: 2, node: dgx-h100, fabric: {kind: single-switch}, links: {dead: {target: "main[0]/nic0", state: down}}}
workload:
  model: {kind: timed, compute: {dist: constant, value: 10 ms}, parameters: 1 M}
  batch: {per_worker: 1}
  update: {policy: async, servers: {nodes: "main[0]"}}
  stop: {updates: 5}
YAML
run 0 run one-dead.yaml --trace none
finish
