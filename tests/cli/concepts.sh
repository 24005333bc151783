#!/bin/sh
# lockstep concepts: every figure within its limits, every scenario there and legal, Markdown and JSON of the same rows.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

run 0 concepts
empty err
for name in tensor-cores sixteen-bytes roofline does-not-fit links mig recompute formats pipeline-bubble zero-states \
  zero-traffic resharding; do
  says out "$name: "
done
run 0 concepts zero-states links
grep -q '^formats' out && fail "concepts that were not asked for"
run 0 concepts --markdown
cp out one.md
run 0 concepts --markdown
cmp -s out one.md || fail "not the same twice"
says out "When it holds"
run 0 concepts --json
is_json
if command -v python3 >/dev/null; then
  python3 - <<'PY' || fail "the rows of concepts"
import json, os
concepts = json.load (open ("out"))
assert len (concepts) >= 12
for c in concepts:
    assert c["claim"] and c["holds"] and c["rows"] and all (r["good"] for r in c["rows"]), c["name"]
    for f in c["scenarios"].split ():
        assert os.path.exists (os.path.join (os.environ["SOURCE_DIR"], "workloads", f)), f
value = {(c["name"], r["what"]): r["simulated"] for c in concepts for r in c["rows"]}
assert abs (value["tensor-cores", "A100, peaks"] - 16) < 1e-9
assert abs (value["zero-states", "states, stage 2, N = 4"] - 16 / (2 + 14 / 4)) < 1e-5
assert abs (value["pipeline-bubble", "idle, 1f1b, m = 8"] / (100 * 3 / 11) - 1) < 0.01
assert 2.9 < value["zero-traffic", "sent per step, stage 3, m = 1"] < 3.1
PY
fi
for file in "$SOURCE_DIR"/workloads/concepts/*.yaml; do
  "$LOCKSTEP" check "$file" >out 2>err
  case $?:$file in
    0:*) empty err ;;
    3:*does-not-fit*) says err "would fit with" ;;
    *) fail "$file is not legal" ;;
  esac
done
run 2 concepts nothing
finish
