#!/bin/sh
# States in the memory of the host, from the command line: what lies where, what shares what, what the trace says.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

# The shipped example fits with offload only.
example=$SOURCE_DIR/workloads/memory/offload.yaml
run 0 check "$example" --memory
empty err
says out "in the memory of the host, of each rank"
says out "20.57 GB     123.4 GB          0 B       144 GB     1.649 TB"
run 3 check "$example" --set workload.zero.offload=none
says err "would fit with workload.zero.offload=optimizer ("
run 3 check "$example" --set 'workload.zero={stage: 0, offload: none}'
says err "would fit with workload.zero={stage: 2, offload: optimizer} ("
# The host's room is a verdict of its own.
run 3 check "$example" --memory --set 'cluster.groups.main.node.host.memory=100 GB'
says out "does not fit its host; the device has room"
run 3 run "$example" --trace none --set 'cluster.groups.main.node.host.memory=100 GB'
says out "on the host     144 GB of each rank, its share is 100 GB: DOES NOT FIT"
run 0 check "$example" --json --memory
says out '"needed_bytes"'

cat >small.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: {preset: dgx-a100, gpus: 2}}
workload:
  model: {layers: 4, hidden: 2048, heads: 16, ffn: 8192, vocab: 32000, max_seq: 1024}
  precision: bf16
  batch: {global: 8, micro: 4, seq_len: 1024}
  zero: {stage: 1, offload: optimizer}
  stop: {steps: 1}
trace: {level: none}
YAML
# part NAME SETTINGS...: its time in a step, in seconds.
part() {
  name=$1
  shift
  run 0 run small.yaml --json "$@"
  tr ',{}' '\n' <out | sed -n "s/.*\"$name\": //p" | head -n 1
}
# ratio A B LOW HIGH WHAT: A / B lies between.
ratio() {
  awk -v a="$1" -v b="$2" -v low="$3" -v high="$4" \
    'BEGIN { exit !(b > 0 && a / b >= low && a / b <= high) }' || fail "$5: $1 / $2 is not $3 to $4"
}
# GPUs behind one PCIe switch halve each other's ways out and back; latencies (10.7 us each) stay.
shared=$(part offload --set workload.zero.overlap=false)
own=$(part offload --set workload.zero.overlap=false --set cluster.groups.main.node.host.gpus_per_root=1)
ratio "$shared" "$own" 1.95 2.0 "two GPUs behind one switch"
# The update goes with the bandwidth of the host's memory; the rest of the part is a clearing of gradients.
once=$(part optimizer)
twice=$(part optimizer --set 'cluster.groups.main.node.host.memory_bandwidth=819.2 GB/s')
ratio "$once" "$twice" 1.9 2.0 "a host of twice the bandwidth"

# The trace names each copy, and the host's update.
run 0 run small.yaml --set trace.level=ops --set workload.zero.stage=3 --set workload.zero.offload=parameters -o full.db
run 0 query full.db "SELECT name, kind, axis, phase, count(*) FROM events WHERE rank = 0 AND axis = 'offload'
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 4"
grep -q 'fetch_parameters.*host_copy.*offload.*backward' out || fail "no fetch for the backward pass"
grep -q 'fetch_parameters.*host_copy.*offload.*forward' out || fail "no fetch for the forward pass"
grep -q 'offload_gradients.*host_copy.*offload.*backward' out || fail "no gradients on their way to the host"
grep -q 'update.*host_work.*offload.*optimizer' out || fail "no update on the host"

# Inputs of recomputed layers: the shipped example fits with offload only. 80 layers of 131072 / 8 tokens of 8192 values of
# 2 bytes are 21.47 GB.
inputs=$SOURCE_DIR/workloads/memory/activations.yaml
run 0 check "$inputs" --memory
empty err
says out "0 B          0 B          0 B     21.47 GB     21.47 GB"
run 3 check "$inputs" --memory --set workload.recompute.offload=false
# Copies are noted one by one; with a trace and without a step takes the same time. DeepSpeed waits for each copy.
full="--set workload.zero={stage:\ 1,\ offload:\ none} --set workload.recompute={mode:\ full,\ offload:\ true}"
eval "run 0 run small.yaml --set trace.level=ops $full -o inputs.db"
run 0 query inputs.db "SELECT name, kind, phase, count(*) FROM events WHERE rank = 0 AND axis = 'offload' GROUP BY 1"
grep -q 'offload_activations.*host_copy.*forward *4' out || fail "not one copy out for each layer"
grep -q 'fetch_activations.*host_copy.*backward *4' out || fail "not one copy back for each layer"
step() {
  eval "run 0 run small.yaml --json $full ${1:-}"
  tr ',{}' '\n' <out | sed -n 's/.*"step_time_s": //p' | head -n 1
}
[ "$(step)" = "$(step "--set trace.level=ops -o again.db")" ] || fail "a trace changes the time of a step"
[ "$(step "--set workload.software=megatron-deepspeed")" = \
  "$(step "--set workload.software=megatron-deepspeed --set workload.recompute.offload_overlap=false")" ] ||
  fail "DeepSpeed does not wait for its copies"
run 0 check small.yaml --set workload.recompute.offload_overlap=true
says err "workload.recompute.offload_overlap has no effect here; only with recompute.offload"

# Quantised gathers: 1 + 1 + 4 bytes per parameter instead of 2 + 2 + 4 (fp32 gradients); nowhere else an effect.
run 0 check small.yaml --set workload.zero.quantized_weights=true
says err "workload.zero.quantized_weights has no effect here; only stage 3 gathers parameters layer by layer"
sent() {
  run 0 run small.yaml --json --set workload.zero.stage=3 "$@"
  tr ',{}' '\n' <out | sed -n 's/.*"communication_bytes_per_gpu": //p' | head -n 1
}
ratio "$(sent --set workload.zero.quantized_weights=true)" "$(sent)" 0.75 0.751 "int8 gathers"

# ZB-H1 holds p - d micro-batches on device d, one of them at work, and between the halves of a backward all that the
# second needs, inputs among it: what offload saves are the inputs of p - 1 - d micro-batches, each of layers / p times
# sequence x hidden x 2 bytes, and on the last device, here the fullest, nothing.
activations() {
  run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/pipelines/zb-h1.yaml" --memory \
    --set workload.recompute.mode=full --set workload.recompute.offload="$1"
  awk '/^stage/ {n++; next} n == 1 && $1 ~ /^[0-3]$/ && NF > 12 {print $1, $8 * ($9 == "GB" ? 1e9 : 1e6)}' out
}
activations false >without
activations true >with
paste -d ' ' without with | awk '{
  saved = (3 - $1) * 32 / 4 * 2048 * 4096 * 2
  if ($2 - $4 < 0.99 * saved - 1e6 || $2 - $4 > 1.01 * saved + 1e6) {print; bad = 1}
  n++
} END {exit bad || n != 4}' || fail "what offload saves under ZB-H1: $(paste without with)"

finish
