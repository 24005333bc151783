#!/bin/sh
# Formats, loss scaling, software switches, power caps and measured kernels, from the command line.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

# The shipped scenarios are legal without a warning.
for file in "$SOURCE_DIR"/workloads/precision/*.yaml; do
  run 0 check "$file"
  empty err
done

cat >small.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: dgx-h100}
workload:
  model: {layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 32000, max_seq: 1024}
  precision: bf16
  batch: {global: 16, micro: 1, seq_len: 1024}
  zero: 1
  stop: {steps: 2}
trace: {level: none}
YAML
# step SETTINGS...: step time of the job with these, to stdout.
step() {
  run 0 run small.yaml --json "$@"
  tr ',' '\n' <out | sed -n 's/.*"step_time_s": //p' | head -n 1
}
shorter() {
  awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a + 0 < b + 0) }' || fail "$3: $1 s is not shorter than $2 s"
}

# What a part lacks runs as something else: a warning says as what and how fast.
run 0 check small.yaml --set cluster.node=dgx-1-v100
says err "v100-sxm-32gb has no native bf16 and computes in fp32 at 15.7 TFLOP/s"
run 0 check small.yaml --set cluster.node=dgx-a100 --set workload.precision=fp8
says err "a100-sxm-80gb has no native fp8_e4m3 and computes in bf16 at 312 TFLOP/s"
# A kernel of attention that is asked for by name and is not there is told too; what the software brings along is not.
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-70b.yaml" --set workload.software.attention=flash-4
says err "h100-sxm-80gb has no kernel flash-4 and runs flash-3"
run 0 check "$SOURCE_DIR/topologies/dgx-a100.yaml" "$SOURCE_DIR/workloads/llama2-70b.yaml"
! grep -q "has no kernel" err || fail "a kernel that nobody asked for: $(cat err)"
run 0 check small.yaml --set cluster.node=dgx-b200 --set workload.precision=nvfp4
empty err
run 0 list formats
for word in 'fp16 .* 16 bits  max 65504 .* native: Volta, Turing, Ampere' 'mxfp8 .* native: Blackwell' 'fp8_e4m3 .* max 448 ' \
  'bf16 .* native: .*, TPU, ' 'fp8_e4m3 .* native: .* TPU (tpu-v5p, tpu-v6e)'; do
  grep -q "$word" out || fail "list formats has no line like '$word'"
done

bf16=$(step)
fp8=$(step --set workload.precision=fp8)
current=$(step --set 'workload.precision={compute: fp8, scaling: current}')
shorter "$fp8" "$current" "delayed scaling against current"
a100=$(step --set cluster.node=dgx-a100)
fallback=$(step --set cluster.node=dgx-a100 --set workload.precision=fp8)
# The one difference is the sum of the largest values, which every rank takes part in.
awk -v a="$a100" -v b="$fallback" 'BEGIN { exit !(b - a >= 0 && b - a < 1e-4) }' || fail "fp8 on A100: $fallback s, bf16: $a100 s"

# Loss scaling: counted, absent without it, and not for bf16.
run 0 run small.yaml --json --set 'workload.precision={compute: fp16, loss_scaling: {initial: 262144}}' --set workload.stop.steps=4
says out '"skipped_steps": 2'
says out '"loss_scale": 65536'
run 0 run small.yaml --json
grep -q skipped_steps out && fail "bf16 has skipped steps"
run 0 check small.yaml --set workload.precision.loss_scaling=dynamic
says err "only fp16 needs its gradients scaled"
run 2 check small.yaml --set 'workload.precision={compute: fp16, loss_scaling: {growth: 0.5}}'
says err "a growth is at least 1"

run 0 check "$SOURCE_DIR"/workloads/staleness/dutta-tradeoff.yaml --set workload.precision.loss_scaling=dynamic
says err "timed workers have no gradients to scale"

# A network of layers has no linear maps of blocks.
run 0 check "$SOURCE_DIR"/topologies/dgx-h100.yaml "$SOURCE_DIR"/workloads/resnet50.yaml --set workload.precision=fp8
says err "only linear maps of transformer blocks run in fp8_e4m3; this model runs in bf16"

# Switches of the software.
graphs=$(step --set workload.software.cuda_graphs=true)
shorter "$graphs" "$bf16" "with CUDA graphs"
eager=$(step --set workload.software=pytorch-fsdp2-eager)
compiled=$(step --set 'workload.software={generation: pytorch-fsdp2-eager, compile: true}')
shorter "$compiled" "$eager" "compiled"
uncompiled=$(step --set 'workload.software={generation: pytorch-fsdp2, compile: false}')
[ "$uncompiled" = "$eager" ] || fail "not compiled: $uncompiled s, eager: $eager s"
run 0 check small.yaml --set 'workload.software={generation: megatron-core, compile: false}'
says err "written by hand"

# A cap on the power.
capped=$(step --set 'cluster.node={power_cap: 400 W}')
shorter "$bf16" "$capped" "without a cap"
run 0 check small.yaml --set 'cluster.node={power_cap: 500 W}'
says out "capped at 500 W each: 85.2 % of their clock"
run 2 check small.yaml --set 'cluster.node={power_cap: 100 W}'
says err "175 W whatever its clock"
run 0 check small.yaml --set 'cluster.node={power_cap: 800 W}'
says err "draws no more than that"

# Measured kernels: the file is relative to the scenario, used rows are said, others warned.
mkdir sub
printf 'op,shape,format,time\nmatmul,1024x4096x1024,bf16,5 ms\nnorm,1x1,bf16,1 us\n' >sub/kernels.csv
sed 's/  precision: bf16/  software: {kernels: kernels.csv}/' small.yaml >sub/small.yaml
run 0 check sub/small.yaml
says out "kernels   1 of 2 rows of kernels.csv are used"
says err "kernels.csv:3: no kernel of this job is norm 1x1 bf16"
run 0 run sub/small.yaml --json
measured=$(tr ',' '\n' <out | sed -n 's/.*"step_time_s": //p' | head -n 1)
# Two layers, two micro-batches, three such products each (up, and both gradients of down): 60 ms less their own
# time by the model.
awk -v a="$bf16" -v b="$measured" 'BEGIN { exit !(b - a > 0.059 && b - a < 0.060) }' || fail "with a kernel of 5 ms: $measured s, before $bf16 s"
printf 'op,shape,format,time\nmatmul,1x2,bf16,1 us\nwhat,1,bf16,1 us\n' >sub/kernels.csv
run 2 check sub/small.yaml
says err "kernels.csv:2:8: error: '1x2' is no shape of matmul"
says err "kernels.csv:3:1: error: unknown op 'what'"
# ZeRO 1 gathers linear maps that are kept in 8 bits alone as such, and the rest as it is: of 4 blocks of 12 h^2 in maps
# each, h = 1024, one byte less travels, half of it from each of 2 ranks.
cat >gathered.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: {preset: dgx-h100, gpus: 2}}
workload:
  model: {layers: 4, hidden: 1024, heads: 16, ffn: 4096, vocab: 32000, max_seq: 1024}
  precision: {compute: fp8}
  batch: {global: 8, micro: 4, seq_len: 1024}
  zero: {stage: 1}
  stop: {steps: 1}
trace: {level: none}
YAML
sent() {
  run 0 run gathered.yaml --json "$@"
  tr ',{}' '\n' <out | sed -n 's/.*"communication_bytes_per_gpu": //p' | head -n 1
}
for ahead in true false; do
  awk -v a="$(sent --set workload.zero.overlap_gather=$ahead)" \
    -v b="$(sent --set workload.zero.overlap_gather=$ahead --set workload.precision.parameters=compute)" \
    'BEGIN { d = a - b - 4 * 12 * 1024 * 1024 / 2; exit !(a > 0 && d < 8 && d > -8) }' ||
    fail "gathers of 8-bit maps, overlap_gather $ahead"
done

# Delayed scaling: replicas agree on the largest values once a step, with Transformer Engine 0.8 behind each of two
# micro-batches' forward and backward pass; the scales of four maps a layer are then found anew, in five kernels each.
sed '/^trace/d' gathered.yaml >largest.yaml
sums() {
  rm -f largest.db
  run 0 run largest.yaml -o largest.db --set workload.batch.micro=2 --set "workload.software=$1"
  run 0 query largest.db --format csv \
    "SELECT name, phase, count(*) FROM events_expanded WHERE rank = 0 AND name IN ('sum_largest_values', 'update_scales') GROUP BY 1, 2 ORDER BY 1, 2"
  sed 1d out | tr '\n' ' '
}
[ "$(sums nemo-2023)" = "sum_largest_values,optimizer,1 " ] || fail "once a step: $(sums nemo-2023)"
[ "$(sums nemo-2023-04)" = "sum_largest_values,backward,2 sum_largest_values,forward,2 update_scales,backward,2 update_scales,forward,2 " ] ||
  fail "each pass: $(sums nemo-2023-04)"
# Of four layers: 4 x 4 x 5 kernels, each at least its start (2 us) and the gap (1 us).
run 0 query largest.db --format csv "SELECT min(duration_ns) FROM events_expanded WHERE name = 'update_scales'"
awk 'NR == 2 { exit !($1 >= 80 * 3000 && $1 < 80 * 3100) }' out || fail "scales in $(cat out)"

finish
