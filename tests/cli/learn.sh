#!/bin/sh
# lockstep learn, and run with a learner: tables, CSV, JSON, the same bits at any number of threads and
# with or without a trace, and what is refused.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny
cat >lesson.yaml <<'YAML'
learn:
  problem: softmax
  data: {kind: synthetic, rows: 400, classes: 4, noise: 2}
  optimizer: {lr: 0.2}
  evaluate: 10
YAML
steps="--set workload.stop.steps=40"

# Beside a run: its summary has the learner's, its trace the measurements.
# shellcheck disable=SC2086 # words
run 0 run tiny.yaml lesson.yaml $steps -o a.db --trace steps
says out "learning   sync, 2 workers: softmax"
says out "accuracy"
empty err
# shellcheck disable=SC2086
run 0 run tiny.yaml lesson.yaml $steps --trace none --json
is_json
for key in loss accuracy learning staleness_histogram gradients_applied blas; do says out "\"$key\""; done
loss=$(sed -n 's/^  "loss": \(.*\),$/\1/p' out)
run 0 query a.db "SELECT value FROM metric WHERE name = 'loss' AND updates = 40" --format csv
# Tracing does not change a loss (15 digits: what the table shows).
[ "$(sed -n 2p out | cut -c1-12)" = "$(echo "$loss" | cut -c1-12)" ] || fail "loss $loss without a trace, $(sed -n 2p out) in it"

# Replay: without files the run's own section; the mini-batch of a synchronous trace must be said.
run 2 learn a.db
says err "learn.batch"
run 0 learn a.db --set learn.batch=2
says out "sync, 2 workers"
cp out own
run 0 learn a.db lesson.yaml --set learn.batch=2
cmp -s own out || fail "the run's own section and the same file differ"

# A run of updates: the learner beside it and the replay of its trace agree in every digit shown.
cat >async.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: {preset: dgx-a100, gpus: 4}}
workload:
  model: {kind: timed, compute: {dist: exponential, mean: 100 ms}, parameters: 100}
  batch: {per_worker: 4}
  update: {policy: async, network: none}
  stop: {updates: 100}
YAML
for policy in async "k-sync --set workload.update.k=3" "k-batch-async --set workload.update.k=2" easgd local-sgd diloco gossip; do
  # shellcheck disable=SC2086 # words
  run 0 run async.yaml lesson.yaml --set workload.update.policy=$policy --set workload.update.network=none -o "x.db" --force
  grep -E '^ +(10|50|100) ' out >beside
  [ -s beside ] || fail "$policy: no measurements"
  run 0 learn x.db
  grep -E '^ +(10|50|100) ' out | cmp -s - beside || fail "$policy: the replay differs from the run"
done

# Grid, replications, CSV; threads do not show in a bit.
run 0 learn a.db lesson.yaml --set learn.batch=2 --lr-grid 0.01:1:log10 --replications 3 --csv one.csv --threads 1
says out "the best of 3"
says out "95 % over 3 replications"
run 0 learn a.db lesson.yaml --set learn.batch=2 --lr-grid 0.01,0.1,1 --replications 3 --csv two.csv --threads 3
cmp -s one.csv two.csv || fail "the CSV depends on the number of threads"
[ "$(wc -l <one.csv)" = 46 ] || fail "$(wc -l <one.csv) lines of CSV, not 1 + 3 rates x 3 seeds x 5 measurements"
run 2 learn a.db lesson.yaml --csv one.csv
says err "one.csv"
run 0 learn a.db lesson.yaml --set learn.batch=2 --csv - -q
says out "run,policy,problem"
run 0 learn a.db lesson.yaml --set learn.batch=2 --json
is_json

# What is wrong is said before anything runs.
run 2 learn lesson.yaml
says err "no trace database"
run 2 learn a.db lesson.yaml --lr-grid 1:0.1:log10
says err "log10"
run 2 learn a.db lesson.yaml --set learn.problem=sofmax
says err "softmax"
run 2 learn a.db lesson.yaml --set learn.optimizer.lr=-1
run 2 learn missing.db lesson.yaml --set learn.batch=2
printf '1,2,3\n4,x,6\n' >bad.csv
run 2 learn a.db --set learn.problem=softmax --set 'learn.data={kind: csv, file: bad.csv, header: false}' --set learn.batch=2
says err "bad.csv:2:3: error: the value 'x' is no number"
HOME=. LOCKSTEP_DATA=. run 0 learn a.db --set learn.batch=2
# A wrong key of learning is told alone: what the rest of the scenario says is not read here.
run 2 learn a.db --set learn.optimizer.lrr=1
says err "unknown key 'lrr'"
[ "$(wc -l <err)" -eq 1 ] || fail "learn: $(wc -l <err) lines for one fault"
# What the columns are of, and that a long table is shown in part.
cat >long.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: {preset: dgx-a100, gpus: 4}}
workload:
  model: {kind: timed, compute: {dist: exponential, mean: 10 ms}, parameters: 1 k}
  update: {policy: async, network: none}
  stop: {updates: 400}
learn: {problem: softmax, data: {kind: synthetic}, evaluate: 10}
YAML
run 0 run long.yaml --trace none
says out "loss over training rows, accuracy over test rows; 11 of 41 measurements"

# What only dealing out the rows can tell, `check` says as `run` does: too few rows, a class for few workers, pictures.
printf '1,0\n2,1\n3,x\n' >bad.csv
for wrong in "learn.data.rows=4" "learn.data={kind: csv, file: $(pwd)/bad.csv}" "learn.problem=conv" \
  "learn.data={kind: synthetic, rows: 10, classes: 2, partition: {kind: dirichlet, alpha: 0.001}}" "learn.data={kind: csv, file: $(pwd)/none.csv}"; do
  for command in "check" "run --trace none"; do
    # shellcheck disable=SC2086 # words
    run 2 $command async.yaml lesson.yaml --set "$wrong"
    cp err "of-${command%% *}"
  done
  cmp -s of-check of-run || fail "$wrong: check says '$(cat of-check)', run '$(cat of-run)'"
done
run 0 check async.yaml lesson.yaml
empty err
# Exact numbers need no scale, and it is told.
run 0 check async.yaml lesson.yaml --set learn.loss_scaling.kind=dynamic
says err "learn.loss_scaling.kind has no effect here; no gradient rounds to 0 in precision.format fp64"
run 0 check async.yaml lesson.yaml --set learn.loss_scaling.kind=dynamic --set learn.precision=fp16
empty err
# A replay follows the policy of its trace, and says what has no effect under it.
run 0 run "$SOURCE_DIR/tests/cli/effects/valley.yaml" -o valley.db -q
run 0 learn valley.db --set learn.lr_by_staleness=inverse --set learn.outer.lr=3
says err "learn.lr_by_staleness has no effect here; update.policy easgd sends models, and no gradient grows old"
says err "learn.outer has no effect here; only with update.policy diloco"

# Counts in thousands have commas, as in every summary.
run 0 run "$SOURCE_DIR/tests/cli/effects/lesson.yaml" --set workload.stop.updates=2000 --trace none
says out "updates         2,000 in"
says out "samples         8,000 used"
finish
