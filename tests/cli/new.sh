#!/bin/sh
# Whatever lockstep new writes passes lockstep check.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

for words in "--gpu h100-sxm-80gb --nodes 8 --model llama3-70b" "--node dgx-a100 --model llama2-7b" \
  "--gpu v100 --model resnet-50" "--gpu rtx-4090 --model gpt2-small --precision fp16" \
  "--node dgx-h100 --nodes 4 --model llama2-70b --tensor 8 --pipeline 2 --zero 1 --recompute full --batch 64"; do
  # shellcheck disable=SC2086 # words
  run 0 new $words
  cp out made.yaml
  grep -q '#' made.yaml || fail "new $words: no comments"
  run 0 check made.yaml
  empty err
done
# GPUs in all: some of one node, or whole nodes.
run 0 new --gpu a100 --gpus 4 --model llama2-7b -o four.yaml
grep -q "node: {preset: dgx-a100, gpus: 4}" four.yaml || fail "new --gpus 4 does not take four GPUs of a node"
run 0 run four.yaml --trace none
says out "4 used, 0 idle"
run 0 new --gpu h100 --gpus 32 --model llama3-8b
says out "nodes: 4"
run 2 new --gpu h100 --gpus 12 --model llama3-8b
says err "the nearest are 8 and 16"
run 2 new --gpu h100 --gpus 16 --nodes 2 --model llama3-8b
says err "one of the two"
# The fastest of those that fit: no slower than a layout of our own that needs no recomputation either.
leaks off
step_of() { sed -n 's/.*"step_time_s": \([0-9.]*\).*/\1/p' out; }
run 0 new --gpu h200 --nodes 4 --model llama3-70b -o mine.yaml --force
grep -q "mode: none" mine.yaml || fail "new llama3-70b on 32 H200 recomputes"
run 0 run mine.yaml --trace none --json
ours=$(step_of)
run 0 new --gpu h200 --nodes 4 --model llama3-70b --tensor 8 --pipeline 1 -o theirs.yaml
run 0 run theirs.yaml --trace none --json
awk -v a="$ours" -v b="$(step_of)" 'BEGIN { exit !(a > 0 && a <= b) }' || fail "new: $ours s, tensor 8: $(step_of) s"
# A mixture of experts gets expert ranks: nobody splits layers in eight and pipelines to make 120B fit on 64 H100.
# Faster than tensor 1, expert 32, chosen by hand (and a tenth too large).
deepseek="deepseek-v3 --nodes 32"
at_length || deepseek="deepseek-v2-lite --nodes 2"
for words in "gpt-oss-120b --nodes 8" "$deepseek" "mixtral-8x7b --nodes 2"; do
  # shellcheck disable=SC2086 # words
  run 0 new --gpu h100-sxm-80gb --model $words -o moe.yaml --force
  empty err
  run 0 check moe.yaml
  empty err
  expert=$(sed -n 's/^    expert: *\([0-9]*\).*/\1/p' moe.yaml)
  [ "$expert" -ge 8 ] || fail "new $words: $expert expert ranks"
done
run 0 new --gpu h100-sxm-80gb --model gpt-oss-120b --nodes 8 -o moe.yaml --force
run 0 run moe.yaml --trace none --json
step=$(step_of)
run 3 run moe.yaml --set workload.parallel.tensor=1 --set workload.parallel.expert=32 --trace none --json
awk -v s="$step" -v hand="$(step_of)" 'BEGIN { exit !(s > 0 && s < hand) }' || fail "new gpt-oss-120b: $step s, by hand $(step_of) s"
# Where nothing fits with states sharded alone (stage 1: 92.8 of 83.5 GB), gradients and parameters are sharded too.
run 0 new --gpu a800-sxm-80gb --nodes 3 --model llama3-70b
says out "zero: {stage: 3}"
empty err
run 0 new --gpu a800-sxm-80gb --nodes 3 --model llama3-70b --zero 1
says out "zero: {stage: 1}"
says err "no layout tried fits"
# What was asked for stays; a dense model has no expert ranks.
run 0 new --gpu h100 --nodes 4 --model mixtral-8x7b --expert 4 --tensor 2
says out "expert: 4"
says out "tensor: 2"
run 2 new --gpu h100 --model llama2-7b --expert 4
says err "no experts"
# Counts from 1: all that are wrong at once.
run 2 new --gpu h100 --nodes 0 --model llama2-7b --micro 0 --tensor 0
says err "--nodes is 0, --micro is 0, --tensor is 0; it is 1 at least"
run 2 new --model llama2-7b
says err "--gpu"
run 2 new --gpu h100 --model lama2-7b
says err "llama2-7b"
run 2 new --gpu h1000 --model llama2-7b
run 0 new --gpu h100 --model llama2-7b --json
is_json
finish
