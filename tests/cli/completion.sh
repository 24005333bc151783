#!/bin/sh
# Completion scripts: shells take them, and bash completes commands, options, keys and queries.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

run 2 completion
run 2 completion tcsh
for shell in bash zsh fish; do
  run 0 completion $shell
  command -v $shell >/dev/null && { $shell -n out 2>err || fail "$shell does not take its script: $(cat err)"; }
  # Every option of the program is in the script.
  for option in set unset seed json no-progress memory verbose param trace; do
    grep -q -- "$option" out || fail "completion $shell lacks --$option"
  done
done
command -v bash >/dev/null || finish
run 0 completion bash
cat >try.bash <<'BASH'
PATH=$(dirname "$LOCKSTEP"):$PATH
source ./out
try() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _lockstep 2>/dev/null
  echo "${COMPREPLY[*]}"
}
try lockstep ru | grep -qw run || echo "no command"
try lockstep run --no | grep -q -- --no-progress || echo "no option"
try lockstep run --trace o | grep -qw ops || echo "no value"
try lockstep run --set workload.par | grep -q workload.parallel.tensor || echo "no key"
try lockstep query x.db --show time | grep -q time_breakdown || echo "no query"
try lockstep list gp | grep -qw gpus || echo "no kind"
BASH
bash try.bash >tried 2>&1
[ ! -s tried ] || fail "bash completion: $(cat tried)"
finish
