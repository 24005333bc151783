#!/bin/sh
# No shipped scenario warns: each as its head says to run it (over its topology), each case of a study, each topology;
# nor does any when it is written with all its defaults and read back.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"

# The files of the first command in the comments of a scenario: it may go on after a backslash.
layers() {
  sed -n 's/^# *//p' "$1" | awk '/^lockstep run / {on = 1} on {line = line " " $0; if ($0 !~ /\\$/) exit} END {print line}' |
    tr ' ' '\n' | grep '\.yaml$' | tr '\n' ' '
}

# quiet NAME ARGS...: check says nothing but what it is asked; 3 is a scenario that does not fit, which is no warning.
quiet() {
  name=$1
  shift
  "$LOCKSTEP" check "$@" >out 2>err </dev/null
  got=$?
  [ "$got" -eq 0 ] || [ "$got" -eq 3 ] || fail "$name: exit status $got: $(head -n 3 err)"
  # A case that changes a policy means to drop what belonged to the other.
  if grep 'warning:' err | grep -v "$drops" >said; then fail "$name warns: $(head -n 1 said)"; fi
}

# reads_back NAME FILE...: so does the resolved scenario, which is of the same verdict.
reads_back() {
  name=$1
  shift
  "$LOCKSTEP" check "$@" >whole 2>/dev/null </dev/null
  "$LOCKSTEP" check "$@" --resolved >resolved.yaml 2>/dev/null </dev/null
  quiet "$name, resolved," resolved.yaml
  cmp -s whole out || fail "$name means something else when it is resolved and read back: $(diff whole out)"
}

cd "$SOURCE_DIR" || exit 1
ln -s "$SOURCE_DIR/topologies" "$SOURCE_DIR/workloads" "$scratch"
cd "$scratch" || exit 1
n=0
drops=nothing
for file in $(find -L workloads -name '*.yaml' | LC_ALL=C sort); do
  if grep -q '[ {]node: ' "$file"; then files=$file; else files=$(layers "$file"); fi
  case $files in
  *"$file"*) ;;
  *) files="topologies/dgx-h100.yaml $file" ;;
  esac
  # shellcheck disable=SC2086 # a list of names
  quiet "$file" $files
  # shellcheck disable=SC2086
  reads_back "$file" $files
  n=$((n + 1))
done
[ "$n" -ge 70 ] || fail "only $n scenarios were found"
for file in topologies/*.yaml; do
  quiet "$file" "$file" --topology
done
drops='set .* is changed, which drops what was beside it'
# The cases of studies, without the name that comes first.
grep -l '^#case ' workloads/*/*.yaml >studies
# shellcheck disable=SC2013 # names without spaces
for file in $(cat studies); do
  sed -n 's/^#case *[^ ]* *//p' "$file" >cases
  while IFS= read -r options; do
    eval "quiet \"$file \$options\" \"$file\" $options"
  done <cases
done
finish
