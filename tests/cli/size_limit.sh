#!/bin/sh
# A trace that outgrows the limit on file sizes (as one that fills the disk): exit status 1, a reason,
# and no partial database.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny

status=0
(
  ulimit -f 256 # blocks of 512 bytes
  "$LOCKSTEP" run tiny.yaml --set workload.stop.steps=2000 -o big.db >out 2>err
) || status=$?
[ $status -eq 1 ] || { fail "a run over the size limit exits with $status"; cat err >&2; }
says err "cannot write"
for left in big.db*; do
  [ ! -e "$left" ] || fail "left behind: $left"
done
finish
