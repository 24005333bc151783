#!/bin/sh
# Features that were built apart, together: a run has the same figures folded, with every rank simulated, and with
# a trace (folding and observing change cost, never the answer), and each feature still moves time or memory the
# way that it does alone.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off

cat >job.yaml <<'YAML'
lockstep: 1
title: combinations
cluster: {nodes: 1, node: dgx-h100}
workload:
  model: {kind: transformer, layers: 8, hidden: 1024, heads: 16, vocab: 4096, max_seq: 2048, activation: swiglu}
  precision: bf16
  batch: {global: 16, micro: 1, seq_len: 2048}
  stop: {steps: 1}
YAML

# All but what is no figure of the simulated cluster (events, wall time, the trace), and the list of links that
# held transfers up: where ranks are folded, one link stands for its like.
figures() {
  sed -E 's/"(events|wall_s|trace|trace_bytes)": [^,}]*,? ?//g; s/"bottlenecks": .*\}\],? ?//' out
}

# number KEY: its value in out.
number() {
  sed -E "s/.*\"$1\": ([0-9.e+-]+).*/\1/" out
}

# job NAME KEY=VALUE...: runs it three ways; the files NAME.time and NAME.peak hold what came out.
job() {
  name=$1
  shift
  rm -f "$name.one" "$name.db"
  sets=
  for set in "$@"; do sets="$sets --set workload.$set"; done
  # shellcheck disable=SC2086 # a list of words
  for way in "--trace none --fold off" "-o $name.db" "--trace none"; do
    run 0 run job.yaml $sets $way --json -q
    figures >now
    [ ! -e "$name.one" ] && cp now "$name.one"
    cmp -s now "$name.one" || fail "$name: other figures with $way"
  done
  number step_time_s >"$name.time"
  number peak_bytes >"$name.peak"
}

# less A B WHAT: the number in file A is below that in B, and above 0, so that nothing that failed passes.
less() {
  awk -v a="$(cat "$1")" -v b="$(cat "$2")" 'BEGIN {exit !(0 < a + 0 && a + 0 < b + 0)}' ||
    fail "$3: $(cat "$1") is not below $(cat "$2")"
}

PP="parallel.pipeline=4 parallel.schedule"
# Adapters: no gradients, no moments of what is frozen, and no products for them.
for schedule in dualpipe dualpipev; do
  # shellcheck disable=SC2086
  job plain $PP=$schedule
  # shellcheck disable=SC2086
  job lora $PP=$schedule model.lora=16
  less lora.time plain.time "$schedule, time with adapters"
  less lora.peak plain.peak "$schedule, memory with adapters"
done
# The MLP's input in 8 bits: less memory, two passes more.
for schedule in 1f1b dualpipe; do
  # shellcheck disable=SC2086
  job wide $PP=$schedule
  # shellcheck disable=SC2086
  job narrow $PP=$schedule precision.activation_input=fp8_e4m3
  less wide.time narrow.time "$schedule, time with a narrow input"
  less narrow.peak wide.peak "$schedule, memory with a narrow input"
done
# Attention in 8 bits: less memory and less time, also where heads are exchanged.
EIGHT="precision.compute=fp8 software.attention=flash-3 model.heads=8 model.max_seq=16384 batch.seq_len=16384 batch.global=8"
for context in 1 2; do
  # shellcheck disable=SC2086
  job wide $EIGHT parallel.context=$context
  # shellcheck disable=SC2086
  job narrow $EIGHT parallel.context=$context precision.attention=fp8
  less narrow.time wide.time "context $context, time with attention in 8 bits"
  less narrow.peak wide.peak "context $context, memory with attention in 8 bits"
done
# Scaling that is part of norms and activations is less time, with adapters too.
# shellcheck disable=SC2086
job passes $EIGHT model.lora=16
# shellcheck disable=SC2086
job fused $EIGHT model.lora=16 precision.fused_scaling=true
less fused.time passes.time "fused scaling"
# Attention inside packed documents is less work, with adapters too.
job lora model.lora=16
job packed model.lora=16 batch.documents.dist=constant batch.documents.value=256
less packed.time lora.time "packed documents with adapters"
# A ring that waits for each exchange takes longer, with adapters too.
job ring model.lora=16 parallel.context=2
job waits model.lora=16 parallel.context=2 parallel.context_overlap=none
less ring.time waits.time "a ring that waits"
# A window is less work where the sequence is split.
for kind in all-to-all all-gather; do
  job full parallel.context=2 parallel.context_kind=$kind
  job window parallel.context=2 parallel.context_kind=$kind model.window=256
  less window.time full.time "$kind, time with a window"
done
# ZeRO 3 gathers in the passes, whatever zero.overlap_gather says; its parameters are shards.
job shards zero.stage=3 zero.overlap_gather=true
job copies zero.stage=1 zero.overlap_gather=true
less shards.peak copies.peak "memory of ZeRO 3"
# Kept inputs in the host's memory: less of the GPU's in a deep pipeline, and copies.
# shellcheck disable=SC2086
job kept $PP=1f1b recompute.mode=full
# shellcheck disable=SC2086
job away $PP=1f1b recompute.mode=full recompute.offload=true
less away.peak kept.peak "memory of offloaded inputs"
less kept.time away.time "time of offloaded inputs"
finish
