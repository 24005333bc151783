#!/bin/sh
# Valgrind on the quickstart's scenario: no memory of ours is lost, none is read before it is written
# or after it is freed. What GLib and SQLite keep until the end is still reachable and does not count.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

under_valgrind () {
  valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
    --error-exitcode=99 --log-file=valgrind.log "$LOCKSTEP" "$@" >out 2>err </dev/null
  status=$?
  [ $status = 0 ] || fail "lockstep $* under valgrind exits with $status: $(head -n 40 valgrind.log err)"
}

under_valgrind run topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --set cluster.nodes=1 -o quickstart.db
says out "step time"
under_valgrind check topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --memory
under_valgrind run topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --set cluster.nodes=1 --trace none --json
under_valgrind query quickstart.db time_breakdown
finish
