#!/bin/sh
# docs/lockstep.1, docs/scenario.md and docs/concepts.md are what the program prints, and the man page is good roff.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

run 0 help --man
cmp -s out "$SOURCE_DIR/docs/lockstep.1" ||
  fail "docs/lockstep.1 is out of date: build/lockstep help --man -o docs/lockstep.1 --force"
if command -v man >/dev/null && man --version >/dev/null 2>&1; then
  MANWIDTH=80 man --warnings -l out >page 2>warnings || fail "man cannot show the page"
  [ ! -s warnings ] || fail "man warns: $(head -n 3 warnings)"
fi
run 0 help --scenario
cmp -s out "$SOURCE_DIR/docs/scenario.md" ||
  fail "docs/scenario.md is out of date: build/lockstep help --scenario -o docs/scenario.md --force"
run 0 concepts --markdown
cmp -s out "$SOURCE_DIR/docs/concepts.md" ||
  fail "docs/concepts.md is out of date: build/lockstep concepts --markdown -o docs/concepts.md --force"
# docs/network.md lists every algorithm with its formula
run 0 list algorithms --names
for name in $(grep -v '^auto$' out); do
  grep -q "^| $name | " "$SOURCE_DIR/docs/network.md" || fail "docs/network.md does not list $name"
done
finish
