#!/bin/sh
# Release and the sanitizer tree's Debug program (-O1, assertions on) agree on every time: the same
# scenarios, the same databases, but for what the wall clock says. Optimisation must not reach a
# result, since rates and times are integers and floating-point contraction is off. Needs
# build/asan (tools/test makes it), else it is skipped.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v sqlite3 >/dev/null || { echo "skipped: sqlite3 is not installed"; exit 77; }
debug=$BUILD_DIR/asan/lockstep
[ -x "$debug" ] || { echo "skipped: there is no $debug"; exit 77; }
release=$LOCKSTEP

dump () {
  sqlite3 "$1" .dump | grep -vE "INSERT INTO run VALUES\('(wall_|summary|command|trace)" | grep -v "INSERT INTO job VALUES"
}

# agree ARGUMENT...: both programs write the same trace of it.
agree () {
  LOCKSTEP=$release run 0 run "$@" -o release.db -q --force
  LOCKSTEP=$debug run 0 run "$@" -o debug.db -q --force
  dump release.db >release.sql
  dump debug.db >debug.sql
  [ "$(wc -l <release.sql)" -gt 100 ] || fail "$*: the dump is too short to mean anything"
  cmp -s release.sql debug.sql || fail "$*: Debug and Release differ: $(diff release.sql debug.sql | head -n 4)"
}

agree topologies/dgx-h100.yaml workloads/llama2-7b-zero3.yaml --set cluster.nodes=1
agree topologies/dgx1-v100.yaml workloads/resnet50.yaml
tiny
agree tiny.yaml --set workload.parallel.tensor=2
agree tiny.yaml --set workload.parallel.pipeline=2
finish
