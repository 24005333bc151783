#!/bin/sh
# Two runs of one scenario write the same database, but for the rows about wall time.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }
tiny

dump() {
  sqlite3 "$1" .dump | grep -vE "INSERT INTO run VALUES\('(wall_|summary|command|trace)" | grep -v "INSERT INTO job VALUES"
}
run 0 run tiny.yaml -o a.db -q
run 0 run tiny.yaml -o b.db -q
dump a.db >a.sql
dump b.db >b.sql
[ "$(wc -l <a.sql)" -gt 100 ] || fail "the dump is too short to mean anything"
cmp a.sql b.sql || fail "two runs differ: $(diff a.sql b.sql | head -n 4)"
finish
