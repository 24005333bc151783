#!/bin/sh
# run --dry-run against the run: rows and bytes of the trace are forecast within a factor of 1.5 for the shipped
# scenarios that run in well under a second each. (The time expected depends on what else the machine does.)
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

# near NAME FORECAST TRUTH
near() {
  awk -v f="$2" -v t="$3" 'BEGIN {exit !(f <= 1.5 * t && t <= 1.5 * f)}' || fail "$1: forecast $2, truth $3"
}

# compare TABLES FILE...: rows of the tables count.
compare() {
  tables=$1
  shift
  run 0 run "$@" --dry-run --json -q
  rows=$(sed -nE 's/.*"trace_rows": ([0-9]+).*/\1/p' out)
  bytes=$(sed -nE 's/.*"database_bytes": ([0-9]+).*/\1/p' out)
  rm -f trace.db
  run 0 run "$@" -o trace.db -q
  sum=0
  for table in $tables; do
    run 0 query trace.db "SELECT count(*) AS n FROM $table" --json
    sum=$((sum + $(grep -oE '[0-9]+' out | tail -n 1)))
  done
  near "$* rows" "$rows" "$sum"
  near "$* bytes" "$bytes" "$(wc -c <trace.db)"
}

h100="$SOURCE_DIR/topologies/dgx-h100.yaml"
for name in pipelines/dualpipe pipelines/dualpipev pipelines/zb-v pipelines/1f1b memory/fit; do
  compare event "$h100" "$SOURCE_DIR/workloads/$name.yaml"
done
for name in concepts/links concepts/bubble concepts/roofline concepts/zero traffic/incast mig/one-big-job memory/offload; do
  compare event "$SOURCE_DIR/workloads/$name.yaml"
done
for name in staleness/formats staleness/number-formats; do
  compare "event gradient update_log" "$SOURCE_DIR/workloads/$name.yaml"
done
finish
