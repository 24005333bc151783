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
# More tensor ranks come before recomputation.
run 0 new --gpu h200 --nodes 4 --model llama3-70b
says out "mode: none"
says out "tensor: 8"
run 2 new --model llama2-7b
says err "--gpu"
run 2 new --gpu h100 --model lama2-7b
says err "llama2-7b"
run 2 new --gpu h1000 --model llama2-7b
run 0 new --gpu h100 --model llama2-7b --json
is_json
finish
