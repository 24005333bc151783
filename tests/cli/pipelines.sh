#!/bin/sh
# Pipeline schedules from the command line: the shipped examples run, their bubbles and memory stand in the order of
# docs/pipelines.md, a drawing has a line per device, wrong sizes are refused.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

cluster="$SOURCE_DIR/topologies/dgx-h100.yaml"
for name in gpipe 1f1b interleaved zb-h1 zb-h2 zb-v dualpipe dualpipev; do
  run 0 run "$cluster" "$SOURCE_DIR/workloads/pipelines/$name.yaml" --trace none --json -q --set workload.stop.steps=4
  cp out "$name.json"
done
if command -v python3 >/dev/null; then
  python3 - <<'P' || fail "bubbles or memory are not in order"
import json
def of (name):
    d = json.load (open (name + ".json"))
    return (d["time_breakdown_s"]["pipeline_bubble"], d["memory"]["activations_bytes"],
            d["memory"]["parameters_bytes"], d["step_time_s"])
g, f, i, h1, h2, v, dp, dv = [of (n) for n in ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v",
                                               "dualpipe", "dualpipev")]
assert i[0] < f[0] and h1[0] < f[0] and h2[0] < h1[0] and v[0] < h2[0], "bubble"
assert g[1] > f[1] and i[1] > f[1] and h2[1] > h1[1] and v[1] < h2[1], "activations"
assert dp[2] > 1.5 * f[2] and dv[2] < 1.1 * f[2], "parameters"
assert i[3] < f[3] and v[3] < f[3], "step"
P
fi
run 0 run "$cluster" "$SOURCE_DIR/workloads/pipelines/zb-v.yaml" -o v.db
run 0 query v.db pipeline_drawing --param width=60
[ "$(grep -c '^ *[0-3]  [0-9a-hA-H.]\{60\}$' out)" = 4 ] || fail "a drawing without four lines of sixty"
# The textbook's bubble beside the run's: with two stages on each of four devices and 8 micro-batches 3/(2 x 8 + 3).
for case in interleaved:15.79 1f1b:27.27; do
  run 0 run "$cluster" "$SOURCE_DIR/workloads/pipelines/${case%:*}.yaml" -o "${case%:*}.db"
  run 0 query "${case%:*}.db" pipeline_bubble --format csv
  sed 1d out | grep -vq ",${case#*:}$" && fail "the ideal bubble of ${case%:*} is not ${case#*:} %"
done
run 0 list schedules
says out "dualpipev"
run 2 check "$cluster" "$SOURCE_DIR/workloads/pipelines/interleaved.yaml" --set workload.batch.global=6
says err "multiple of the pipeline's size"
says err "; the nearest are 4 and 8"
run 0 check "$cluster" "$SOURCE_DIR/workloads/pipelines/interleaved.yaml" --set workload.batch.global=4
run 2 check "$cluster" "$SOURCE_DIR/workloads/pipelines/dualpipe.yaml" --set workload.batch.global=6
says err "at least twice the pipeline's size"
run 2 check "$cluster" "$SOURCE_DIR/workloads/pipelines/1f1b.yaml" --set workload.parallel.virtual_stages=2
says err "needs schedule interleaved-1f1b"
finish
