#!/bin/sh
# lockstep check: cards, resolved scenarios that read the same, explanations, differences, errors.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

# folded TEXT: the last command says it, over lines.
folded() { tr '\n' ' ' <out | tr -s ' ' | grep -qF -- "$1" || fail "out of the last command does not say, folded: $1"; }
tiny

run 0 check tiny.yaml
says out "layout"
says out "fits"
for what in memory layout topology; do
  run 0 check tiny.yaml --$what
done
run 0 check tiny.yaml --json --layout --topology
is_json
empty err
run 0 check tiny.yaml --route 0 1
says out "link"
run 2 check tiny.yaml --route 0 7
says err "no GPU '7'"
# What --resolved writes means the same, and resolving it again changes nothing.
run 0 check tiny.yaml --resolved
cp out resolved.yaml
run 0 check resolved.yaml --resolved
cmp -s out resolved.yaml || fail "a resolved scenario resolves to something else"
run 0 check --diff tiny.yaml resolved.yaml
empty out
# It names files so that they are found from anywhere; a trace keeps its scenario so, too.
mkdir -p there
printf 'class,x\n0,1\n1,2\n0,3\n1,4\n' >there/own.csv
cat >there/lesson.yaml <<'YAML'
learn:
  problem: logistic
  data: {kind: csv, file: own.csv, header: true, label: class, test: 50 %}
  optimizer: {lr: 0.1}
  batch: 1
YAML
run 0 check tiny.yaml there/lesson.yaml --resolved
mkdir -p elsewhere
cp out elsewhere/resolved.yaml
run 0 check elsewhere/resolved.yaml
run 0 run tiny.yaml there/lesson.yaml -o elsewhere/own.db --trace steps
run 0 learn elsewhere/own.db
# At weights of zero both classes are as likely, and the first is said: half of the rows are right, never none.
says out "       0           0        0 s    0.6931       0.5"
run 0 check tiny.yaml --explain workload.zero.stage
says out "default"
# Of a map, what its keys mean.
run 0 check tiny.yaml --explain workload.batch
says out "    seq_len"
# Options that are keys; sums that come out nearly; several groups in one word.
run 2 check tiny.yaml --tensor 2
says err "--set workload.parallel.tensor=VALUE"
run 2 check tiny.yaml --set workload.batch.global=5
says err "the nearest are 4 and 6"
cat >groups.yaml <<'YAML'
lockstep: 1
cluster:
  groups:
    a: {nodes: 2, node: {preset: dgx-a100, gpus: 2}}
    b: {nodes: 1, node: {preset: dgx-h100, gpus: 2}}
  fabric: {kind: single-switch, link: 200 Gb/s}
YAML
sed 1d tiny.yaml | sed '/^title/d; /^cluster/,/^workload/{/^workload/!d}' >>groups.yaml
run 2 check groups.yaml
says err 'as in placement: "a[0-1], b[0]"'
run 0 check groups.yaml --set 'workload.placement="b,a[1,0]"' --set workload.batch.global=6 --layout
[ "$(awk 'NR > 1 {printf "%s ", $2}' out)" = "b[0] b[0] a[1] a[1] a[0] a[0] " ] || fail "a list of nodes in one word: $(cat out)"
# A workload without its cluster is enough.
printf 'lockstep: 1\nworkload: {zero: 2}\n' >part.yaml
run 0 check part.yaml --explain workload.zero.stage
says out "part.yaml:2"
run 2 check --explain workload.zero.stag
says err "did you mean 'stage'"
sed 's/hidden: 512/hidden: 1024/' tiny.yaml >wide.yaml
run 0 check --diff tiny.yaml wide.yaml
says out "workload.model.hidden"
[ "$(wc -l <out)" -eq 1 ] || fail "one key differs, not $(wc -l <out)"
run 0 check tiny.yaml --checkpoint
says out "sharded"
run 0 check tiny.yaml --checkpoint --json
is_json
# Errors name the option and the column; all are shown; nothing goes to stdout.
run 2 check tiny.yaml --set workload.batch.micro=two --set workload.paralel.tensor=2
says err "--set #1:"
says err "--set #2:"
says err "did you mean 'parallel'"
empty out
run 2 check tiny.yaml --json --set workload.batch.micro=two
is_json
says out '"line"'
run 2 check nowhere.yaml
says err "nowhere.yaml"
# Too large for the memory: valid, but exit 3 and what would help.
run 3 check tiny.yaml --set workload.model.hidden=32768 --set workload.model.ffn=131072 --set workload.model.layers=64
says err "parameters"
# What the table of ZeRO's stages shows to fit, the verdict does not deny: in pipelines, and where the host is full.
deny() {
  "$LOCKSTEP" check "$@" --memory >out 2>err
  if grep -q '^3 .*(d-1)/d$' out && grep -q 'makes it fit' out; then
    fail "check $*: the verdict denies stage 3 of its own table"
  fi
}
run 0 new --gpu h100 --nodes 16 --model llama3-405b --tensor 8 --pipeline 4 -o large.yaml
for sizes in "4 16" "8 16" "2 8" "2 16"; do
  for offload in none optimizer; do
    deny large.yaml --set workload.parallel.pipeline="${sizes% *}" --set cluster.nodes="${sizes#* }" \
      --set workload.zero.stage=1 --set workload.zero.offload=$offload
  done
done
leaks off
# Adapters that do not share evenly; a key of a set in the place of a set; sequences longer than the model's.
for nics in "9 8" "15 8" "6 4" "7 4"; do
  run 0 check tiny.yaml --topology --set cluster.nodes=2 --set cluster.node='{preset: dgx-h100, gpus: 8}' \
    --set cluster.node.nics="${nics% *}" --set 'cluster.fabric={kind: single-switch, link: 400 Gb/s}' --set workload.batch.global=16
  says err "at the pace of ${nics#* },"
done
for nics in 4 8 16; do
  run 0 check tiny.yaml --topology --set cluster.nodes=2 --set cluster.node='{preset: dgx-h100, gpus: 8}' \
    --set cluster.node.nics=$nics --set 'cluster.fabric={kind: single-switch, link: 400 Gb/s}' --set workload.batch.global=16
  ! grep -q "at the pace" err || fail "check: $nics adapters for 8 GPUs are called uneven"
done
run 2 check tiny.yaml --set cluster.node.nics.count=9
says err "write nics.compute.count"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-7b-zero3.yaml" --layout --set workload.batch.seq_len=8192
says err "8192 tokens are more than the 4096 that the model is made for"
# Nodes of a cable that are not there: which there are, and who said so.
sed 's/^  nodes: 4/  nodes: 2/' "$SOURCE_DIR/topologies/custom.yaml" >custom.yaml
run 2 check custom.yaml --topology
says err "called storage_host; storage_host is main[3]; nodes are main[0] to main[1]: their number is set to 2 by custom.yaml:7:"
run 2 check "$SOURCE_DIR/topologies/custom.yaml" --topology --set 'cluster.fabric.links.down_b.from="main[9]"'
says err "called main[9]; nodes are main[0] to main[3]"
# Cells stand under their heads: their right edges are those of the heads.
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-70b.yaml" --checkpoint
awk '
function ends(line, set,   at, n) {
  at = n = 0
  while (match(line, /[^ ]+( [^ ]+)*/)) {
    at += RSTART + RLENGTH - 1
    set[++n] = at
    line = substr(line, RSTART + RLENGTH)
  }
  return n
}
/^$/ { head = 0; next }
/^sharded, |^on a rank, / { head = ends($0, edge); tables++; next }
head { ends($0, cell); for (i = 2; i <= head; i++) if (cell[i] != edge[i]) { print; bad = 1 } }
END { exit bad || tables != 3 }' out || fail "cells of check --checkpoint are not under their heads"

# Embedding tables are in the checkpoint: 24 G parameters of 4 bytes. Routed experts lie on one rank in 64: no rank is
# sent more than a GPU holds when ZeRO is given up.
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/dlrm-mlperf.yaml" --checkpoint
says out "checkpoint  96.16 GB: parameters, master copy and optimizer, embedding tables, 4.001 B per parameter"
grep -q "^0 -> 3 .* 96.16 GB .* 0 B .* 0 B$" out || fail "check --checkpoint moves tables between ZeRO's stages"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/deepseek-v3-2048.yaml" --checkpoint
awk '/^1 -> 0/ { found = $NF == "GB" && $(NF - 1) < 80 } END { exit !found }' out ||
  fail "check --checkpoint sends all experts to each rank"
# Where checkpoints are written to.
run 0 check tiny.yaml --checkpoint
says out "written to  the nodes' own drives"
# Laws of states and traffic with routed experts, groups of shards, tables and frozen parameters.
cat >experts.yaml <<'YAML'
cluster: {nodes: 2, node: dgx-h100, fabric: {kind: single-switch, link: 400 Gb/s}}
workload:
  model: {preset: mixtral-8x7b, layers: 4}
  batch: {global: 32, seq_len: 1024}
  parallel: {expert: 4}
  zero: {stage: 1, shard_group: 8}
YAML
run 0 check experts.yaml --memory
folded "P dense parameters on a rank, d = 8 shards; E of routed experts, e = 2; q = 2 groups of shards, n = 16 ranks"
says out " 18 (P + E)                  2 P (n-1)/n + 2 E (e q-1)/(e q)"
says out " 6 (P + E) + 12 (P/8 + E/2)  2 P (d-1)/d + 2 P/d (q-1)/q + 2 E (e-1)/e + 2 E/e (q-1)/q"
says out " 18 (P/8 + E/2)              6 P (d-1)/d + 4 P/d (q-1)/q + 6 E (e-1)/e + 4 E/e (q-1)/q"
run 2 check experts.yaml --set workload.zero.shard_group=2
says err "2 makes 8 groups, which do not divide the 4 ranks that hold the same experts; use a multiple of 4"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/dlrm-mlperf.yaml" --memory
says out " T + 4 P + 8 P/8 "
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/llama2-70b-lora.yaml" --memory
says out " F/2 + 18 P/2          12 P (d-1)/d + 8 F (d-1)/d bytes"
folded "F = 17.38 GB of frozen ones and C = 17.11 GB of narrow copies on a rank"
run 0 check "$SOURCE_DIR/workloads/precision/fp8.yaml" --memory
says out "P parameters beside C = "
says out " C + 18 P "
says out " 18 P/"
# Heads of layouts stand over their columns under MIG too.
run 0 check "$SOURCE_DIR/workloads/mig/seven-slices.yaml" --layout
awk '/^ *rank/ { head = index($0, " tensor") + 7 } /^ *[0-9]+  main/ { n++; if (!match(substr($0, 1, head - 1), / [0-9]+$/)) bad = 1 }
  END { exit bad || n != 7 }' out || fail "columns of check --layout are not under their heads"
# The card names formats with their bytes, the schedule and the framework.
run 0 check tiny.yaml --set workload.precision=fp16 --set workload.software=megatron-2022
says out "precision products fp16, activations fp16; parameters fp16, gradients fp16, master copy fp32, 2 moments fp32: 16 B per parameter"
says out "software  megatron-2022"
run 0 check tiny.yaml --set workload.precision.master=none --set workload.optimizer=sgd --set workload.optimizer.momentum=0
says out "parameters bf16, gradients fp32: 6 B per parameter"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/pipelines/interleaved.yaml"
says out "pipeline  interleaved-1f1b, 2 stages on each device"
# Words of other tools in the place of ours.
for pair in parallel.context_kind=ulysses:all-to-all zero.offload=cpu:optimizer recompute=true:full \
  software.attention=flash:flash-2 precision=amp:bf16 optimizer=momentum:sgd; do
  run 2 check tiny.yaml --set "workload.${pair%:*}"
  says err "did you mean '${pair##*:}'?"
done
run 2 check tiny.yaml --set "workload.parallel.order=[tp, cp, ep, dp, pp]"
for axis in tensor context expert data pipeline; do says err "did you mean '$axis'?"; done
# Alike jobs are described once, and of one that does not fit the reason is given once; sentences stay within 100 columns.
seven="$SOURCE_DIR/workloads/mig/seven-slices.yaml"
for what in --memory --recompute-curve --quiet; do
  run 0 check "$seven" "$what"
  [ "$(grep -c '^jobs j0, j1, j2, j3, j4, j5, j6: each$' out)" = 1 ] || fail "check $what does not join alike jobs"
  [ "$(grep -c '^job' out)" = 1 ] || fail "check $what describes alike jobs twice"
done
run 3 check "$seven" --set jobs.j3.workload.batch.micro=64 --set jobs.j3.workload.batch.global=64
says out "jobs j0, j1, j2: each"
says out "job j3"
says out "jobs j4, j5, j6: each"
says err "j3: does not fit"
run 0 check "$seven" --memory
[ "$(grep -v '^stage' out | awk 'length > 100' | wc -l)" = 0 ] || fail "check --memory writes lines of over 100 columns"
# ZeRO's stages side by side, and the curve of recompute, for people and for scripts.
run 0 check tiny.yaml --recompute-curve
says out "textbook"
run 0 check "$SOURCE_DIR/workloads/concepts/recompute.yaml" --recompute-curve
for unit in block operation; do
  [ "$unit" = block ] && column=2 || column=3
  star=$(awk -F'|' -v c=$column '$c ~ /\*/ { split($1, of, " "); print of[1] }' out)
  said=$(sed -n "s/^least memory: .*[ =]\([0-9]*\) by $unit.*/\1/p" out)
  [ -n "$said" ] && [ "$said" = "$star" ] || fail "the best k by $unit is said to be '$said' and marked at '$star'"
done
says out "sqrt is k = 4"
# Where weight gradients are put off, the curve says what recomputation cannot lessen.
grep -q "weight gradients off" out && fail "a curve without a split backward speaks of weight gradients put off"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" "$SOURCE_DIR/workloads/pipelines/zb-h1.yaml" --recompute-curve
says out "zb-h1 puts weight gradients off"
run 0 check tiny.yaml --recompute-curve --json
says out '"best_k"'
says out '"law_work"'
# Jobs that hold nothing have neither memory nor a curve.
cat >timed.yaml <<'YAML'
cluster: {nodes: 1, node: dgx-a100}
workload: {model: {kind: timed, compute: {dist: constant, value: 1 s}, parameters: 10}, batch: {per_worker: 1}}
YAML
for what in memory recompute-curve; do
  run 0 check timed.yaml --$what
  says out "timed workers hold nothing"
  run 0 check timed.yaml --$what --json
  is_json
done
# Workers whose servers update hold no moments: the run and the check agree.
for policy in async local-sgd; do
  sets="--set workload.update.policy=$policy --set workload.update.servers=main[0]"
  # shellcheck disable=SC2086 # a list of words
  run 0 run tiny.yaml --json --trace none -q $sets
  grep -o '"optimizer_bytes": [0-9]*' out >held
  # shellcheck disable=SC2086
  run 0 check tiny.yaml --json -q $sets
  says out "$(cat held)"
done
run 0 check tiny.yaml --set workload.recompute.mode=fit
says out "chosen by mode fit"
# What check counts is what a run holds, or up to 5 % more: a ring's keys that arrive beside attention, layers gathered
# for the next micro-batch, and more prefetched than there are.
top() { sed -nE 's/.*"peak_bytes": ([0-9]+).*/\1/p' out | head -n 1; }
ahead="--set workload.zero.stage=3 --set workload.batch.seq_len=1"
ring="--set workload.parallel.context=2 --set workload.batch.seq_len=2048 --set workload.model.ffn=64 --set workload.model.vocab=2"
for sets in "$ring" "$ahead --set workload.zero.prefetch=1000" \
  "$ahead --set workload.zero.prefetch=1000 --set workload.batch.global=64"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 run tiny.yaml --json --trace none -q $sets
  held=$(top)
  # shellcheck disable=SC2086
  run 0 check tiny.yaml --json -q $sets
  [ "$held" -gt 0 ] && [ "$held" -le "$(top)" ] && [ "$(top)" -le $((held + held / 20)) ] ||
    fail "a run holds $held bytes, check says $(top): $sets"
done
# -o writes a file once; a folder or "-" is refused.
run 0 check tiny.yaml --resolved -o there.yaml
empty out
run 2 check tiny.yaml --resolved -o there.yaml
says err "--force"
run 0 check tiny.yaml --resolved -o there.yaml --force
run 2 check tiny.yaml --resolved -o -
run 2 check tiny.yaml --resolved -o .
# What a changed preset drops is named, unless it is given anew.
cat >adapted.yaml <<'YAML'
lockstep: 1
cluster: {nodes: 1, node: dgx-h100}
workload:
  model: {preset: llama2-7b, lora: {rank: 16}}
  batch: {global: 16, micro: 1, seq_len: 4096}
  zero: {stage: 3}
YAML
run 0 check adapted.yaml
empty err
run 0 check adapted.yaml --set workload.model.preset=llama2-13b
says err "workload.model.preset is changed, which drops what was beside it: lora (adapted.yaml:4:30); give again what shall stay"
run 0 check adapted.yaml --set 'workload.model={preset: llama2-13b, lora: {rank: 16}}'
empty err
run 0 check adapted.yaml --set workload.model.preset=llama2-7b
empty err
printf 'lockstep: 1\ncluster: {node: {preset: dgx-h100, gpus: 4}}\n' >half.yaml
run 0 check half.yaml adapted.yaml --set cluster.node=dgx-a100
says err "node.preset is changed, which drops what was beside it: gpus (half.yaml:2:36)"
# Stage 2 over a slow network: computing waits for buckets, so that what is live depends neither on the number of
# micro-batches nor on the network; `check` knows it without a run (to 2 %: the newest bucket may hold one layer more).
new=$(pwd)/stage2.yaml
run 0 new --gpu a100 --nodes 2 --model gpt2-xl -o "$new"
zero="{stage: 2, bucket: 500 MB}"
alone="{tensor: 1, pipeline: 1}"
peak () { sed -n 's/.*"reserved_bytes": *\([0-9]*\).*/\1/p' out | head -1; }
for rate in 10 400; do
  for batch in 64 512; do
    run 0 run "$new" --json --trace none --set "workload.zero=$zero" --set "workload.parallel=$alone" --set workload.batch.micro=1 \
      --set workload.batch.global=$batch --set "cluster.node.nics.compute={count: 1, rate: $rate Gb/s}"
    echo "$rate $batch $(peak)"
  done
done >peaks
run 0 check "$new" --json --memory --set "workload.zero=$zero" --set "workload.parallel=$alone" --set workload.batch.micro=1 \
  --set workload.batch.global=64
awk -v model="$(peak)" '{ if ($3 > 1.02 * model || $3 < 0.9 * model) bad = 1 } $1 == 10 { p[$2] = $3 }
  END { exit bad || NR != 4 || p[64] != p[512] }' peaks || fail "stage 2 holds $(cat peaks), the model says $(peak)"
# Frozen parameters stand beside the trained ones in the law of ZeRO's table; alpha costs nothing and says so.
run 0 check adapted.yaml --memory
folded "P trained parameters beside F = 13.48 GB of frozen ones"
says out "F + 2 P + 16 P/8"
says out "F/8 + 18 P/8"
run 0 check adapted.yaml --set workload.model.lora.alpha=32
says err "workload.model.lora.alpha has no effect here; it scales the adapters' output, which takes no time"
run 2 check adapted.yaml --set workload.model.lora.alph=32
says err "did you mean 'alpha'?"
run 3 check "$SOURCE_DIR/workloads/parallel/context-overlap.yaml" --set workload.parallel.context=1 --set workload.batch.global=16
says err "workload.parallel.context_overlap has no effect here"
# A node of one's own from a part with links of its own says how they are wired, or that PCIe is meant; what is written of
# the warning is the preset's network.
cat >own.yaml <<'END'
lockstep: 1
cluster: {nodes: 1, node: {gpu: h100-sxm-80gb, gpus: 8}}
workload: {model: gpt2-xl, batch: {global: 8}}
END
run 0 check own.yaml
says err "own.yaml:2:33: warning: cluster.groups.main.node.gpu: 8 h100-sxm-80gb are joined over PCIe"
says err "write intra: switch (as node preset dgx-h100), or intra: pcie when PCIe is meant"
run 0 run own.yaml --trace none
says err "own.yaml:2:33: warning: cluster.groups.main.node.gpu: 8 h100-sxm-80gb are joined over PCIe"
for wired in cluster.node.intra=switch cluster.node.intra=pcie cluster.node.gpus=1 cluster.node.gpu=l40s cluster.node.gpu=a40-48gb; do
  run 0 check own.yaml --set "$wired"
  if grep "joined over PCIe" err >said; then fail "$wired still warns: $(cat said)"; fi
done
run 3 check own.yaml --set cluster.node.gpu=v100-sxm-32gb --set workload.precision.compute=fp16
says err "write intra: cube-mesh (as node preset dgx-1-v100)"
# Stages of ZeRO that the policy's workers cannot have are not in the table.
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" --memory --set workload.model=gpt2-xl --set workload.update.policy=async \
  --set workload.update.network=none --set workload.batch.global=64
says out "Stages 1 to 3 share states among replicas in step, which workers of async are not."
[ "$(grep -c '^[0-3] .* P (d-1)/d' out)" -eq 1 ] || fail "stages of asynchronous workers: $(grep '^[0-3] ' out)"
run 0 check "$SOURCE_DIR/topologies/dgx-h100.yaml" --memory --set workload.model=gpt2-xl --set workload.batch.global=64
[ "$(grep -c '^[0-3] .* P (d-1)/d' out)" -eq 4 ] || fail "stages of replicas in step: $(grep '^[0-3] ' out)"
# Scenarios that ship without a cluster or a workload say in their first lines what goes in front.
find "$SOURCE_DIR/workloads" -name '*.yaml' | while read -r file; do
  "$LOCKSTEP" check "$file" >out 2>err && continue
  grep -qE "node is missing|workload is missing" err || continue
  head -n 12 "$file" | grep -qE "lockstep (run|check) .*(topologies|workloads)/" || echo "$file" >>alone
done
[ ! -s alone ] || fail "no word on what goes in front of $(cat alone)"

# A mixed cluster: each kind with its count, not all as the first.
cat >mixed.yaml <<'YAML'
lockstep: 1
cluster: {groups: {a: {nodes: 130, node: dgx-a100}, h: {nodes: 2, node: dgx-h100}}, fabric: single-switch}
workload: {placement: "a[0-129], h[0-1]", model: gpt2-small, batch: {global: 1056, micro: 1}}
YAML
run 0 check mixed.yaml
says out "cluster   1,040 x a100-sxm-80gb, 16 x h100-sxm-80gb in 132 nodes"
finish
