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

# The time expected has in it what it takes to lay out the paths of an all-to-all, which a dry run lays out itself (it said
# 1.6 ms where 49 s pass): no less than half of what it took.
cat >wide.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 96, node: dgx-h100, fabric: {kind: fat-tree, link: 400 Gb/s, leaf_radix: 64, routing: ecmp}}
workload: {model: {kind: traffic, operation: all_to_all, size: 64 MB}}
YAML
begun=$(date +%s%N)
run 0 run wide.yaml --dry-run --json
took=$(($(date +%s%N) - begun))
sed -nE 's/.*"expected_s": ([0-9.e-]+).*/\1/p' out | awk -v took="$took" '{exit !($1 > took / 2e9 && $1 < took / 1e9 * 1.5)}' ||
  fail "a dry run of $took ns expects $(cat out)"
finish
