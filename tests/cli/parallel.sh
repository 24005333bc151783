#!/bin/sh
# Context parallel, hybrid sharding, packed documents, clipping and pauses, from the command line.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

# The shipped scenarios are legal without a warning.
for file in "$SOURCE_DIR"/workloads/parallel/*.yaml; do
  run 0 check "$file"
  empty err
done

cat >small.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 2, node: dgx-h100}
workload:
  model: {layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 32000, max_seq: 2048}
  precision: bf16
  batch: {global: 16, micro: 1, seq_len: 2048}
  zero: 3
  stop: {steps: 3}
trace: {level: none}
YAML
# value KEY SETTINGS...: the first number of that key in the summary.
value() {
  key=$1
  shift
  run 0 run small.yaml --json "$@"
  tr ',{' '\n\n' <out | sed -n "s/.*\"$key\": *//p" | head -n 1 | tr -d '} '
}
# near A B TOLERANCE WHAT
near() {
  awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; exit !(d * d <= t * t) }' || fail "$4: $1 is not $2"
}

# Layout: coordinates and groups of the axes.
run 0 check small.yaml --layout --set workload.parallel.context=4
says out "context"
says out "data_context"
run 0 check small.yaml --layout --json --set workload.parallel.context=4
is_json
says out '"context_group"'
# Context: exposed communication of that axis is in the account.
for kind in ring all-to-all all-gather; do
  run 0 run small.yaml --json --set workload.parallel.context=4 --set workload.parallel.context_kind=$kind
  says out '"context"'
done
run 2 check small.yaml --set workload.parallel.context=3 --set workload.parallel.data=1
says err "divides"
# Pauses: every second of three steps ends with 2 x 1 s, each step with 10 ms: 0.6767 s per step, to other.
before=$(value other)
after=$(value other --set 'workload.evaluation={every: 2, steps: 2, time: 1 s}' --set 'workload.logging={every: 1, time: 10 ms}')
near "$after" "$(awk -v b="$before" 'BEGIN { printf "%.12f", b + 2 / 3 + 0.01 }')" 1e-9 "pauses"
run 0 check small.yaml --set workload.evaluation.every=7
says err "has fewer steps"
# Packed documents: less attention, the same for the same seed, other for another.
one=$(value step_time_s)
packed=$(value step_time_s --set 'workload.batch.documents={dist: exponential, mean: 200}')
again=$(value step_time_s --set 'workload.batch.documents={dist: exponential, mean: 200}')
other=$(value step_time_s --set 'workload.batch.documents={dist: exponential, mean: 200}' --seed 2)
awk -v a="$packed" -v b="$one" 'BEGIN { exit !(a > 0 && a + 0 < b + 0) }' || fail "packed $packed s is not below $one s"
[ "$packed" = "$again" ] || fail "packed documents differ: $packed and $again"
[ "$packed" != "$other" ] || fail "another seed draws the same documents"
# A V100 has no flash kernel: scores are made and masked whatever the documents, there is a core to repeat, and that is
# proposed first. An H100 has one.
v100="$SOURCE_DIR/topologies/dgx1-v100.yaml $SOURCE_DIR/workloads/precision/v100.yaml"
# shellcheck disable=SC2086 # two files
run 0 check $v100 --set workload.batch.documents=200
says err "workload.batch.documents has no effect here; attention that is no flash kernel makes all scores and masks them"
# shellcheck disable=SC2086
run 0 check $v100 --set workload.recompute=selective
empty err
# shellcheck disable=SC2086
run 3 check $v100 --set workload.batch.micro=4
says err "would fit with workload.recompute.mode=selective"
run 0 check small.yaml --set workload.recompute=selective
says err "this run has none to repeat (a flash kernel keeps nothing of it)"
# Clipping: the norm takes time.
clipped=$(value optimizer)
free=$(value optimizer --set workload.optimizer.clip=none)
awk -v a="$free" -v b="$clipped" 'BEGIN { exit !(a > 0 && a + 0 < b + 0) }' || fail "no clipping takes $free s, clipping $clipped s"
# Hybrid sharding: sizes that do not divide are refused, node is 8 of 16.
run 2 check small.yaml --set workload.zero.shard_group=5
says err "use one of 1, 2, 4, 8, 16"
eight=$(value parameters_bytes --set workload.zero.shard_group=node)
sixteen=$(value parameters_bytes)
near "$eight" "$(awk -v b="$sixteen" 'BEGIN { print 2 * b }')" 16 "parameters in shards of 8"
# Updated parameters beside the next forward pass: the trace says so, the same bytes go, the step is shorter, and the key
# says where it has no effect.
ahead=$SOURCE_DIR/workloads/parallel/gather-ahead.yaml
field() {
  tr ',{}' '\n' <out | sed -n "s/.*\"$1\": //p" | head -n 1
}
run 0 run "$ahead" --json --set trace.level=ops -o ahead.db
hidden=$(field step_time_s) sent=$(field communication_bytes_per_gpu)
run 0 query ahead.db "SELECT DISTINCT phase FROM events WHERE name = 'gather_parameters'"
grep -q forward out || fail "gathers of the forward pass"
run 0 run "$ahead" --json --trace none --set workload.zero.overlap_gather=false
awk -v a="$hidden" -v b="$(field step_time_s)" 'BEGIN { exit !(a > 0 && a < b) }' || fail "gathers ahead are not faster"
[ "$sent" = "$(field communication_bytes_per_gpu)" ] || fail "gathers ahead send other bytes"
run 0 check "$ahead" --set workload.zero.stage=3
says err "workload.zero.overlap_gather has no effect here; only stages 1 and 2 gather what was updated once a step"
run 0 check "$ahead" --set workload.zero.overlap=false
says err "workload.zero.overlap_gather has no effect here; zero.overlap is false"
# A window shorter than the sequence counts; one as long does not.
llama="$SOURCE_DIR/workloads/llama2-70b.yaml"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$llama" --set workload.model.window=4095
empty err
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$llama" --set workload.model.window=4096
says err "workload.model.window has no effect here; batch.seq_len is no longer than it"
# What would make it fit names each key once, with the last value tried.
run 3 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-70b-lora.yaml" --unset workload.model.lora
says err "would fit with workload.zero.stage=3, recompute.mode=full,"
run 3 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/deepseek-v3-2048.yaml" --set workload.zero.stage=2 --set workload.parallel.schedule=dualpipe \
  --set workload.parallel.expert_overlap=true
says err "workload.parallel.expert_overlap has no effect here; pairs run one behind the other where gradients are sharded"
# The reason is the first that holds: no experts at all, whatever the schedule; offloading parts the pairs too.
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$llama" --set workload.parallel.expert_overlap=true
says err "workload.parallel.expert_overlap has no effect here; the model has no experts"
run 0 check "$SOURCE_DIR/workloads/parallel/experts-in-pairs.yaml"
empty err
run 0 check "$SOURCE_DIR/workloads/parallel/experts-in-pairs.yaml" --explain workload.parallel.expert_overlap --unset workload.parallel.expert_overlap
says out "value         false"
run 0 run --trace none "$SOURCE_DIR/workloads/parallel/experts-in-pairs.yaml" \
  --set workload.recompute.mode=full --set workload.recompute.unit=block --set workload.recompute.offload=true
says err "workload.parallel.expert_overlap has no effect here; pairs run one behind the other where activations are offloaded"

finish
