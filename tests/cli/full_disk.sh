#!/bin/sh
# A full disk behind what a command prints: exit status 1 and a reason, from every command, and a file
# of -o is written whole or stays as it was. (A full disk behind a trace: size_limit.sh.)
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

# prints ARG...: with standard output on a full device.
prints() {
  status=0
  "$LOCKSTEP" "$@" >/dev/full 2>err || status=$?
  [ $status -eq 1 ] || fail "lockstep $* onto a full disk exits with $status"
  says err "standard output: cannot write"
}
prints --version
prints --help
prints run --help
prints run tiny.yaml --trace none
prints run tiny.yaml --trace none --json
prints run tiny.yaml -o good.db
prints check tiny.yaml
prints list gpus
prints query good.db "SELECT 1"
run 0 query good.db "SELECT value FROM run WHERE key = 'status'" # the run itself went well
says out complete

# Bad input stays bad input.
status=0
"$LOCKSTEP" check tiny.yaml --set workload.nothing=1 --json >/dev/full 2>err || status=$?
[ $status -eq 2 ] || fail "bad input with a full disk exits with $status"

# 512 bytes fit, the list does not.
echo before >old.txt
for file in new.txt old.txt; do
  status=0
  (
    ulimit -f 1
    "$LOCKSTEP" list gpus --verbose -o $file --force 2>err
  ) || status=$?
  [ $status -eq 1 ] || fail "a list over the size limit exits with $status"
  says err "$file: cannot write: File too large"
done
[ ! -e new.txt ] || fail "half a list is left"
[ "$(cat old.txt)" = before ] || fail "the file before is lost"
for left in *.txt.*; do
  [ ! -e "$left" ] || fail "left behind: $left"
done
run 0 list gpus --verbose -o old.txt --force
[ "$(wc -l <old.txt)" -gt 10 ] || fail "the list is not written"
finish
