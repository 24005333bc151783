#!/bin/sh
# Ctrl-C: exit status 130 and a valid database of what was done.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

"$LOCKSTEP" run tiny.yaml --set workload.stop.steps=10000000 --trace steps -o long.db >out 2>err &
pid=$!
tries=0
while [ ! -s long.db ] && [ $tries -lt 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
sleep 1
kill -INT $pid
wait $pid
status=$?
[ $status -eq 130 ] || { fail "interrupted run exits with $status"; cat err >&2; }
run 0 query long.db "SELECT value FROM run WHERE key = 'status'"
says out "interrupted"
run 0 query long.db "PRAGMA integrity_check"
says out "ok"
run 0 query long.db "SELECT count(*) > 0 AS some FROM step" --format csv
[ "$(sed -n 2p out)" = 1 ] || fail "no finished step in the database"
for left in long.db-*; do
  [ ! -e "$left" ] || fail "left behind: $left"
done

# A terminal that goes away is an interrupt too, but not to a run under nohup (SIGHUP is ignored there).
"$LOCKSTEP" run tiny.yaml --set workload.stop.steps=10000000 --trace steps -o gone.db >out 2>err &
pid=$!
tries=0
while [ ! -s gone.db ] && [ $tries -lt 100 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
sleep 0.5
kill -HUP $pid
wait $pid
status=$?
[ $status -eq 130 ] || { fail "a run without its terminal exits with $status"; cat err >&2; }
run 0 query gone.db "SELECT value FROM run WHERE key = 'status'"
says out "interrupted"
[ ! -e gone.db-journal ] || fail "a journal is left"
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

# A campaign that would take hours, in the middle of a replication.
cat >years.yaml <<'YAML'
cluster: {storage: {read: 10 GB/s, write: 5 GB/s, latency: 1 ms, fabric: compute}}
faults: {failures: {gpu: {component: gpu, lifetime: {dist: exponential, mean: 1 s}, repair: {dist: constant, value: 1 s}}}}
campaign: {until: {duration: 30000 d}, checkpoint: {every: 60 s}, recovery: wait, replications: 2}
YAML
"$LOCKSTEP" run tiny.yaml years.yaml -o years.db >out 2>err &
pid=$!
sleep 3
kill -INT $pid
tries=0
while kill -0 $pid 2>/dev/null && [ $tries -lt 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -KILL $pid 2>/dev/null && fail "an interrupted campaign goes on"
wait $pid
status=$?
[ $status -eq 130 ] || { fail "an interrupted campaign exits with $status"; cat err >&2; }
run 0 query years.db "SELECT value FROM run WHERE key = 'status'"
says out "interrupted"
finish
