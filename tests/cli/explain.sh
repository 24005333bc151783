#!/bin/sh
# lockstep explain: what rules a compute-bound and a network-bound step, against runs with the rates changed by
# hand; the critical path, links, sources; JSON; what cannot be explained.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }

cat >compute.yaml <<'YAML'
lockstep: 1
cluster: {node: {gpu: h100-sxm-80gb}}
workload:
  model: {kind: transformer, layers: 4, hidden: 8192, heads: 64, ffn: 32768, vocab: 1024, max_seq: 4096}
  precision: bf16
  batch: {global: 16, micro: 1, seq_len: 4096}
  stop: {steps: 2}
YAML
cat >network.yaml <<'YAML'
lockstep: 1
cluster:
  nodes: 4
  node: {gpu: h100-sxm-80gb, nics: {compute: {preset: connectx-7, rate: 10 Gb/s}}}
  fabric: {kind: single-switch}
workload:
  model: {kind: transformer, layers: 4, hidden: 4096, heads: 32, ffn: 16384, vocab: 1024, max_seq: 1024}
  precision: bf16
  batch: {global: 4, micro: 1, seq_len: 128}
  stop: {steps: 2}
YAML
run 0 run -q --no-progress -o compute.db compute.yaml
run 0 explain compute.db
says out "The step follows the speed of the GPUs' matrix and vector units"
says out "critical path of step 1"
says out "peak.bf16"
says out "found: "
run 0 explain compute.db --json
cp out compute.json
run 0 run -q --no-progress -o network.db network.yaml
run 0 explain network.db
[ "$(grep -c '/nic0.tx: limits' out)" = 1 ] || fail "adapters of four nodes that are alike are not one line"
says out "The step follows the network adapters and their ports"
says out "what held transfers down"
run 0 explain network.db --json
is_json
cp out network.json
run 0 run --no-progress --trace none --json network.yaml --set "cluster.node.nics.compute.rate=11 Gb/s"
cp out faster.json
python3 - <<'PY' || fail "the numbers of explain"
import json
compute, network, faster = (json.load (open (n + ".json")) for n in ("compute", "network", "faster"))
def knob (x, name): return next (k for k in x["sensitivity"] if k["knob"] == name)
# Nearly all of the step is compute-bound kernels: 10 % faster units save nearly 1 - 1/1.1 of it.
assert 0.85 < knob (compute, "compute")["rules"] <= 1, knob (compute, "compute")
assert all (abs (knob (compute, k)["gain"]) < 1e-9 for k in ("nic", "link", "trunk", "pcie", "storage"))
assert knob (network, "nic")["rules"] > 0.85 and knob (network, "compute")["rules"] < 0.1
# The same as changing the rate by hand.
assert abs (knob (network, "nic")["step_time_s"] / faster["step_time_s"] - 1) < 1e-9
for x in (compute, network):
    assert abs (sum (x["time_breakdown_s"].values ()) / x["step_time_s"] - 1) < 1e-9
    assert abs (x["traced_step_time_s"] / x["step_time_s"] - 1) < 1e-6
    path = sum (g["time_s"] for g in x["critical_path"]["groups"])
    assert abs (path / x["step_time_s"] - 1) < 0.05, path
    numbers = x["provenance"]["numbers"]
    assert all (n["source"] and n["status"] for n in numbers) and len (numbers) == sum (x["provenance"]["count"].values ())
    for k in x["sensitivity"]:
        assert abs (k["gain"] - (1 - k["step_time_s"] / x["step_time_s"])) < 1e-12
        assert abs ((1 + k["worth_of_price"]) * (1 - k["gain"]) - 1) < 1e-9
    assert any (d["key"].endswith ("zero.stage") and d["value"] == "0" and d["source"] for d in x["provenance"]["defaults"])
    gains = [k["gain"] for k in x["sensitivity"]]
    assert gains == sorted (gains, reverse = True)
PY
run 0 explain compute.db --by 100 -o text.txt
grep -q "what 100 % more" text.txt || fail "--by"
run 0 run -q --no-progress --trace steps -o steps.db compute.yaml
run 0 explain steps.db
says out "holds no operations"
cat >slow.yaml <<'YAML'
faults: {stragglers: {slow: {target: {rank: 2}, time_factor: 2}}}
YAML
# A step that could not be is said to be one; sources are folded, and said once where neighbours share them.
run 3 run -q --no-progress --trace steps -o large.db compute.yaml --set workload.batch.micro=256 --set workload.batch.global=256
run 0 explain large.db
says out "It does not fit in memory"
says out "compute           kernels whose arithmetic"
sed -n '/^it rests on/,$p' out | sed 1d | awk 'length > 100 { bad = 1 } END { exit bad }' || fail "explain writes sources of over 100 columns"
says out "found: the same"
run 0 explain steps.db
grep -q "does not fit" out && fail "explain says of what fits that it does not"
run 0 run -q --no-progress -o slow.db network.yaml slow.yaml
run 0 explain slow.db --verbose
says out "without its stragglers"
says out "zero.stage = 0; plain data parallelism"
# Altered traces: causes that go in a circle, through one operation or two, end with a message.
# (Each command within 20 s: without the guard it would run for ever and not heed a first signal.)
if command -v sqlite3 >/dev/null && command -v timeout >/dev/null; then
  # circle SQL: a copy of the trace so altered is refused by explain, and has no critical path.
  circle() {
    cp network.db circle.db
    sqlite3 circle.db "$1"
    timeout -s KILL 20 "$LOCKSTEP" explain circle.db >out 2>err
    got=$?
    [ "$got" -eq 2 ] || fail "explain of causes in a circle exits with $got, not 2"
    says err "go in a circle"
    for query in critical_path critical_path_summary; do
      timeout -s KILL 20 "$LOCKSTEP" query circle.db "$query" --format csv >out 2>err
      got=$?
      [ "$got" -eq 0 ] || fail "$query of causes in a circle exits with $got, not 0"
      [ "$(wc -l <out)" -le 1 ] || fail "$query has rows although causes go in a circle"
    done
  }
  circle "UPDATE event SET cause_id = id"
  circle "UPDATE event SET cause_id = (SELECT id FROM event ORDER BY end_ns DESC, id LIMIT 1)"
  # However wide, and whatever a width is.
  for width in 9e18 wide 9223372036854775807; do
    timeout -s KILL 20 "$LOCKSTEP" query network.db pipeline_drawing --param width=$width >out 2>err ||
      fail "pipeline_drawing of width $width"
  done
fi
# What has no attention rests on no kernel of it, and one operation is one.
run 0 run "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/dlrm-mlperf.yaml" -o tables.db
run 0 explain tables.db --verbose
! grep attention_ out || fail "explain: a DLRM rests on attention"
grep -q ', 1 operation$' out || fail "explain: one operation is several"
run 2 explain
run 2 explain compute.yaml
run 2 explain nowhere.db
run 2 explain compute.db --by 0
run 2 explain network.db compute.db
finish
