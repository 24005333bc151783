#!/bin/sh
# Ctrl-C: exit status 130 and a valid database of what was done; an old one lies there until then.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

# stopped SIGNAL FILE ARG...: runs ARG..., and sends SIGNAL a second after FILE has something in it. The
# exit status is in $status.
stopped() {
  signal=$1
  growing=$2
  shift 2
  "$LOCKSTEP" run "$@" >out 2>err &
  pid=$!
  tries=0
  while [ ! -s "$growing" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  sleep 1
  kill "-$signal" $pid
  tries=0
  while kill -0 $pid 2>/dev/null && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  kill -KILL $pid 2>/dev/null && fail "SIG$signal does not stop: run $*"
  status=0
  wait $pid || status=$?
}

# interrupted DB: the last run was, and DB is whole.
interrupted() {
  [ "$status" -eq 130 ] || { fail "an interrupted run exits with $status"; cat err >&2; }
  run 0 query "$1" "SELECT value FROM run WHERE key = 'status'"
  says out "interrupted"
  run 0 query "$1" "PRAGMA integrity_check"
  says out "ok"
  for left in "$1"-* "$1".new*; do
    [ ! -e "$left" ] || fail "left behind: $left"
  done
}
long="--set workload.stop.steps=10000000 --trace steps"

# shellcheck disable=SC2086
stopped INT long.db tiny.yaml $long -o long.db
interrupted long.db
run 0 query long.db "SELECT count(*) > 0 AS some FROM step" --format csv
[ "$(sed -n 2p out)" = 1 ] || fail "no finished step in the database"

# Explained from the steps that it finished, not from the ten million that it was going to run.
stopped INT ops.db tiny.yaml --set workload.stop.steps=10000000 -o ops.db
interrupted ops.db
run 0 explain ops.db
says err "of its 10000000 steps are simulated again"

# Over an older trace: killed, it leaves that one; interrupted, it takes its place. (A run that fails:
# tests/trace/test_files.c.)
run 0 run tiny.yaml -o old.db
cp old.db kept.db
# shellcheck disable=SC2086
stopped KILL old.db.new tiny.yaml $long -o old.db --force
cmp -s old.db kept.db || fail "a killed run changed the trace that it would have replaced"
rm -f old.db.new old.db.new-journal
# shellcheck disable=SC2086
stopped INT old.db.new tiny.yaml $long -o old.db --force
interrupted old.db

# A terminal that goes away is an interrupt too, but not to a run under nohup (SIGHUP is ignored there).
# shellcheck disable=SC2086
stopped HUP gone.db tiny.yaml $long -o gone.db
interrupted gone.db
status=0
(
  trap '' HUP
  "$LOCKSTEP" run tiny.yaml --set workload.stop.steps=200000 --trace none -q >out 2>err &
  pid=$!
  sleep 0.3
  kill -HUP $pid
  wait $pid
) || status=$?
[ $status -eq 0 ] || fail "a run under nohup exits with $status"

# Before anything looks for signals, they end a command at once: here all wait for a file that nobody writes.
mkfifo nobody.yaml
for command in run check "collective all_reduce" validate; do
  for signal in INT TERM HUP; do
    # shellcheck disable=SC2086
    "$LOCKSTEP" $command nobody.yaml >out 2>err &
    pid=$!
    sleep 0.3
    kill "-$signal" $pid
    tries=0
    while kill -0 $pid 2>/dev/null && [ $tries -lt 50 ]; do
      sleep 0.1
      tries=$((tries + 1))
    done
    kill -KILL $pid 2>/dev/null && fail "SIG$signal does not end $command while it reads"
    status=0
    wait $pid || status=$?
    [ $status -gt 128 ] || fail "SIG$signal: $command exits with $status while it reads"
  done
done
rm nobody.yaml
mkfifo nobody.db
for command in query explain; do
  status=0
  timeout -k 1 20 "$LOCKSTEP" $command nobody.db >out 2>err || status=$?
  [ $status -lt 3 ] || fail "$command of a pipe exits with $status"
  says err "nobody.db: no file but a pipe or a device; a trace is a database"
done
rm nobody.db

# Learning, while it makes its learners (which ends it at once) and while they learn: nothing is written, nor left in part.
cat >learn.yaml <<'YAML'
workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, parameters: 0}, update: {policy: async}, batch: {per_worker: 4}, stop: {time: 200 s}}
learn: {problem: softmax, data: {kind: synthetic, rows: 2000, features: 20}, optimizer: {kind: sgd, lr: 0.1}, evaluate: 10}
YAML
echo "cluster: {nodes: 1, node: dgx-h100}" | cat - learn.yaml >alone.yaml
run 0 run alone.yaml -o alone.db -q
for after in 0.1 1; do
  "$LOCKSTEP" learn alone.db --replications 3000 --csv learnt.csv -q >out 2>err &
  pid=$!
  sleep $after
  kill -INT $pid
  status=0
  wait $pid || status=$?
  [ $status -eq 130 ] || fail "an interrupted learn exits with $status"
  for left in learnt.csv*; do
    [ ! -e "$left" ] || fail "left behind: $left"
  done
done
stopped INT taught.db alone.yaml --set workload.stop.time=100000s -o taught.db
interrupted taught.db
run 0 query taught.db "SELECT count(*) > 0 AS some FROM metric" --format csv
[ "$(sed -n 2p out)" = 1 ] || fail "nothing of what was learned is in the database"

# Several learners take what is gathered in blocks of a moment each: an interrupt waits for one of them, not for minutes.
stopped INT many.db alone.yaml --set workload.stop.time=100000s --set learn.replications=60 -o many.db
interrupted many.db
run 0 query many.db "SELECT count(DISTINCT replica) = 60 AS all_of_them FROM metric" --format csv
[ "$(sed -n 2p out)" = 1 ] || fail "not all learners left what they learned"

# An all-to-all among 131,072 ranks is laid out for seconds before the engine starts: nobody looks until then either.
"$LOCKSTEP" collective all_to_all "$SOURCE_DIR/topologies/dgx-h100.yaml" --set cluster.nodes=16384 \
  --set cluster.fabric.leaf_radix=128 --sizes 64M >out 2>err &
pid=$!
sleep 0.5
kill -INT $pid
tries=0
while kill -0 $pid 2>/dev/null && [ $tries -lt 20 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -KILL $pid 2>/dev/null && fail "SIGINT does not end a collective while it is laid out"
wait $pid && fail "a collective that SIGINT ends is good"

# Rows of tables that were predicted are written, the others are said to have been interrupted.
"$LOCKSTEP" validate -o errors.csv >out 2>err &
pid=$!
sleep 1
kill -INT $pid
status=0
wait $pid || status=$?
[ $status -eq 130 ] || fail "an interrupted validate exits with $status"
says err "not predicted: interrupted"
grep -q ",interrupted,,,,,$" errors.csv || fail "rows that were not predicted are not said to be interrupted"
grep -qE ",(time_us|oop_time_us),[0-9.e+]+,[0-9.e+]+," errors.csv || fail "rows that were predicted are not written"
grep -q ",skipped,,interrupted" errors.csv && fail "an interrupted row is called skipped"

# A campaign of as many events as are allowed, in the middle of a replication.
cat >years.yaml <<'YAML'
cluster: {storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms, fabric: compute}}
faults: {failures: {gpu: {component: gpu, lifetime: {dist: exponential, mean: 2 min}, repair: {dist: constant, value: 1 s}}}}
campaign: {until: {duration: 6000 d}, checkpoint: {every: 60 s}, recovery: wait, replications: 2}
YAML
stopped INT years.db tiny.yaml years.yaml -o years.db
interrupted years.db
finish
