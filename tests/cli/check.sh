#!/bin/sh
# lockstep check: cards, resolved scenarios that read the same, explanations, differences, errors.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
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
run 0 check tiny.yaml --explain workload.zero.stage
says out "default"
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
# ZeRO's stages side by side, and the curve of recompute, for people and for scripts.
run 0 check tiny.yaml --recompute-curve
says out "textbook"
run 0 check tiny.yaml --recompute-curve --json
says out '"best_k"'
says out '"law_work"'
run 0 check tiny.yaml --set workload.recompute.mode=fit
says out "chosen by mode fit"
# -o writes a file once; a folder or "-" is refused.
run 0 check tiny.yaml --resolved -o there.yaml
empty out
run 2 check tiny.yaml --resolved -o there.yaml
says err "--force"
run 0 check tiny.yaml --resolved -o there.yaml --force
run 2 check tiny.yaml --resolved -o -
run 2 check tiny.yaml --resolved -o .
finish
