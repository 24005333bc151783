# Shared by the scripts of this folder: a scratch folder to work in, and small assertions that say
# what was expected. Needs LOCKSTEP (the program) and SOURCE_DIR.
set -u
: "${LOCKSTEP:?the program}" "${SOURCE_DIR:?the source tree}"
[ -x "$LOCKSTEP" ] || { echo "no program at $LOCKSTEP" >&2; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# run STATUS ARG...: runs the program, keeps stdout in out and stderr in err, checks the exit status.
run() {
  wanted=$1
  shift
  "$LOCKSTEP" "$@" >out 2>err </dev/null
  got=$?
  [ "$got" -eq "$wanted" ] || { fail "lockstep $* exits with $got, not $wanted"; sed 's/^/    /' err out | head -n 20 >&2; }
}

# leaks on|off: whether the sanitizers search for leaks when a process ends, two fifths of a short one's time.
# Off where a script repeats a command for its answers; each command is searched somewhere (on at first).
leaks() {
  [ -n "${ASAN_OPTIONS:-}" ] || return 0
  ASAN_OPTIONS=${ASAN_OPTIONS%:detect_leaks=0}
  [ "$1" = on ] || ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
}

# False under the sanitizers, ten times slower: for what takes seconds in Release.
at_length() { [ "${LS_TEST_SCALE:-1}" = 1 ]; }

# says FILE TEXT: FILE (out or err) contains TEXT.
says() {
  grep -qF -- "$2" "$1" || { fail "$1 of the last command does not say: $2"; sed 's/^/    /' "$1" | head -n 20 >&2; }
}

empty() {
  [ ! -s "$1" ] || { fail "$1 of the last command is not empty"; sed 's/^/    /' "$1" | head -n 5 >&2; }
}

# Is out one JSON document?
is_json() {
  if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; json.load (open (sys.argv[1]))' out 2>/dev/null || { fail "out is not JSON"; head -n 5 out >&2; }
  else
    "$LOCKSTEP" --version >/dev/null && sqlite3 :memory: "SELECT json_valid (readfile ('out'))" | grep -qx 1 || fail "out is not JSON"
  fi
}

finish() {
  [ "$failures" -eq 0 ] || { echo "$failures failed" >&2; exit 1; }
  exit 0
}

# A small scenario that runs in well under a second.
tiny() {
  cat >"${1:-tiny.yaml}" <<'YAML'
lockstep: 1
title: two GPUs
cluster:
  nodes: 1
  node: {preset: dgx-a100, gpus: 2}
workload:
  model: {kind: transformer, layers: 2, hidden: 512, heads: 8, ffn: 2048, vocab: 1024}
  precision: bf16
  batch: {global: 4, micro: 1, seq_len: 256}
  stop: {steps: 2}
YAML
}
