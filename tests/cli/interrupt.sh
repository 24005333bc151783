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
finish
