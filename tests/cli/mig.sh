#!/bin/sh
# MIG and shared GPUs: the shipped comparison, laws of taking turns, layout and names.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }
MIG=$SOURCE_DIR/workloads/mig

# Sum over jobs of samples per second.
total() {
  run 0 run --no-progress --trace none --json "$@"
  python3 -c '
import json
d = json.load(open("out"))
print(sum(j["samples_per_s"] for j in d.get("jobs", {"": d}).values()))'
}
big=$(total "$MIG/one-big-job.yaml")
slices=$(total "$MIG/seven-slices.yaml")
turns=$(total "$MIG/time-slicing.yaml")
sed 's/share: time-slice/share: concurrent/' "$MIG/time-slicing.yaml" >concurrent.yaml
beside=$(total concurrent.yaml)
python3 -c "
big, slices, turns, beside = $big, $slices, $turns, $beside
assert big > slices > turns and big > beside > turns, (big, slices, turns, beside)" ||
  fail "one big job, slices, turns are not in this order"

# A reader of "7 used" is told that these are parts of one GPU.
run 0 run --no-progress --trace none "$MIG/seven-slices.yaml"
says out "7 used, 0 idle; each MIG instance counts as one"
run 0 check --topology "$MIG/seven-slices.yaml"
says out "7 GPUs, each MIG instance counted, in 1 node"
run 0 check "$MIG/seven-slices.yaml"
says out "= 1 rank; "

# Slices do not know of each other: a job among seven takes as long, to the bit, as alone.
run 0 run --no-progress --trace none --json "$MIG/seven-slices.yaml"
cp out seven
run 0 run --no-progress --trace none --json "$MIG/seven-slices.yaml" --unset jobs.j1 --unset jobs.j2 --unset jobs.j3 \
  --unset jobs.j4 --unset jobs.j5 --unset jobs.j6
python3 -c '
import json
seven, alone = json.load(open("seven")), json.load(open("out"))
assert seven["jobs"]["j3"]["step_time_s"] == alone["step_time_s"]' || fail "slices disturb each other"

# Taking turns: what is on the device takes seven times as long, to 1e-6 (fixed-point rates); waits for the host do not.
run 0 run --no-progress --trace none --json "$MIG/time-slicing.yaml"
cp out seven
run 0 run --no-progress --trace none --json "$MIG/time-slicing.yaml" --unset jobs.j1 --unset jobs.j2 --unset jobs.j3 \
  --unset jobs.j4 --unset jobs.j5 --unset jobs.j6
python3 -c '
import json
def busy(d):
    return sum(d["time_breakdown_s"].get(k, 0) for k in ("compute", "memory_bound", "optimizer"))
seven, alone = json.load(open("seven"))["jobs"]["j0"], json.load(open("out"))
assert abs(busy(seven) / busy(alone) / 7 - 1) < 1e-6, (busy(seven), busy(alone))' || fail "turns are not a seventh each"
grep -q 'no other job is on its GPUs' err || fail "no warning that nobody shares"

# Memory: what others hold is not usable.
python3 -c '
import json
seven, alone = json.load(open("seven"))["jobs"]["j0"]["memory"], json.load(open("out"))["memory"]
left = alone["capacity_bytes"] - seven["capacity_bytes"]
assert left >= 6 * seven["reserved_bytes"], left' || fail "others hold nothing"

# Copies both ways at once: one copy engine serves them one direction of PCIe, two engines both.
cat >copies.yaml <<'YAML'
lockstep: 1
cluster: {node: {preset: dgx-h100, gpus: 1, nics: 1, mig: [1g.10gb, 2g.20gb@2]}}
jobs:
  down: {placement: {gpus: "main[0]/gpu0/mig0", share: concurrent}, workload: {model: {kind: traffic, operation: host_to_device, size: 1 GB, repeat: 2}}}
  up: {placement: {gpus: "main[0]/gpu0/mig0", share: concurrent}, workload: {model: {kind: traffic, operation: device_to_host, size: 1 GB, repeat: 2}}}
YAML
sed 's/mig0/mig1/' copies.yaml >two.yaml
run 0 run --no-progress --trace none --json copies.yaml
cp out one
run 0 run --no-progress --trace none --json two.yaml
python3 -c '
import json
one, two = (json.load(open(f))["jobs"]["up"]["traffic"]["time_s"] for f in ("one", "out"))
assert abs(one / two - 2) < 2e-3, (one, two)' || fail "one copy engine is not half of two"

run 0 check --layout --json "$MIG/seven-slices.yaml"
python3 -c '
import json
rows = json.load(open("out"))["jobs"]["j5"]["layout"] if "jobs" in json.load(open("out")) else json.load(open("out"))["layout"]
assert any(r["gpu"] == 0 and r["mig"] == 5 for r in rows), rows' || fail "layout lacks instances"
run 0 run --no-progress -o t.db "$MIG/seven-slices.yaml"
[ "$(sqlite3 t.db 'select group_concat(mig) from (select mig from rank order by rank)')" = \
  mig0:1g.10gb,mig1:1g.10gb,mig2:1g.10gb,mig3:1g.10gb,mig4:1g.10gb,mig5:1g.10gb,mig6:1g.10gb ] ||
  fail "the trace does not name the instances"
run 0 list mig h100-80gb/3g.40gb
grep -q 'sms .*60' out || fail "list mig does not show SMs"
finish
