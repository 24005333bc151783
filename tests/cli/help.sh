#!/bin/sh
# Help, versions, unknown words, exit statuses of misuse.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

for command in run check new validate query list help completion; do
  run 0 "$command" -h
  says out "usage: lockstep $command"
  says out "Examples:"
  empty err
  run 0 "$command" --help
  says out "Exit status"
  run 0 help "$command"
done
run 0 --help
says out "Commands:"
run 0 -h
run 0 help
run 0 --version
says out "lockstep 0."
run 0 --version --json
is_json
run 2
says err "usage: lockstep"
empty out
run 2 rnu
says err "did you mean 'run'?"
run 2 run --jsno x.yaml
says err "did you mean --json?"
says err "usage: lockstep run"
run 2 --json run --jsno
is_json
says out '"error"'
leaks off
# Faults of the line, of a file and of a scenario have one form.
tiny
for wrong in "run --jsno" "run nowhere.yaml" "run tiny.yaml --set workload.nothing=1" "query nowhere.db about"; do
  # shellcheck disable=SC2086
  "$LOCKSTEP" $wrong --json >out 2>err && fail "lockstep $wrong does not fail"
  is_json
  for key in code kind file line column message hint; do
    says out "\"$key\": "
  done
done
# A scenario in the place of a command.
run 2 tiny.yaml
says err "did you mean 'lockstep run tiny.yaml'?"
run 2 gone.yaml
says err "did you mean 'lockstep run gone.yaml'?"
run 2 list gpu
says err "did you mean 'gpus'?"
run 2 run
says err "no scenario file given"
for later in sweep plan compare merge report view export import calibrate show; do
  run 2 $later x
  says err "not yet"
  run 0 help $later
done
leaks on
run 0 list gpus
leaks off
run 0 list
for kind in $("$LOCKSTEP" list --names); do
  run 0 list "$kind"
  run 0 list "$kind" --json
  is_json
  run 0 list "$kind" --names
done
run 0 list gpus --verbose
says out "found: "
# One row by name or alias, with its sources; a wrong name is helped.
run 0 list gpus h100
says out "found: "
grep -q a100 out && fail "list gpus h100 shows others"
run 0 list software generic --json
is_json
run 2 list gpus h1000
says err "no 'h1000' among gpus"
# A word of the program's own lists comes with its meaning.
for kind in parts kinds memory collectives algorithms schedules recompute optimizers; do
  "$LOCKSTEP" list "$kind" | awk 'NF < 3 { print; bad = 1 } END { exit bad }' >out ||
    fail "list $kind: words without meaning: $(cat out)"
done
# Every catalogue of the contract can be listed.
for kind in gpus nodes models formats topologies policies queries; do
  "$LOCKSTEP" list "$kind" --names | grep -q . || fail "list $kind is empty"
done
# A closed pipe ends quietly.
"$LOCKSTEP" list keys 2>err | head -n 1 >/dev/null
empty err
# A full disk is an error, not silence.
if [ -w /dev/full ]; then
  "$LOCKSTEP" list keys >/dev/full 2>err
  [ $? -eq 1 ] || fail "writing to a full disk must fail with 1"
  says err "cannot write"
fi
# On a terminal rows of list are folded to its columns; elsewhere each is a line.
if command -v python3 >/dev/null; then
  python3 - "$LOCKSTEP" <<'P' || fail "list keys is not folded to a terminal of 90 columns, and whole elsewhere"
import fcntl, os, pty, struct, subprocess, sys, termios
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
child = subprocess.Popen([sys.argv[1], "list", "keys", "workload.zero"], stdout=theirs)
os.close(theirs)
seen = b""
try:
    while True:
        more = os.read(ours, 65536)
        if not more:
            break
        seen += more
except OSError:
    pass
assert child.wait() == 0
lines = [line.rstrip("\r") for line in seen.decode().split("\n")]
keys = [line for line in lines if not line.startswith("    note:")]
whole = subprocess.run([sys.argv[1], "list", "keys", "workload.zero"], capture_output=True, text=True).stdout
assert max(map(len, keys)) <= 90, max(map(len, keys))
assert " ".join(seen.decode().split()) == " ".join(whole.split())
assert max(map(len, whole.split("\n"))) > 90
P
fi
run 2 help zero
says err "of a key: 'lockstep check --explain workload.zero'"
# A row's name in the place of its kind leads to both; what is said of keys and rows is folded.
run 2 list zb-v
says err "did you mean 'lockstep list schedules zb-v'?"
run 0 check --explain workload.zero.overlap_gather
[ "$(awk 'length > 100' out | wc -l)" = 0 ] || fail "check --explain writes lines of over 100 columns"
run 0 list gpus h100
[ "$(awk 'length > 120' out | wc -l)" = 0 ] || fail "list gpus h100 writes lines of over 120 columns"
finish
