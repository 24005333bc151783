#!/bin/sh
# What people read: no line of any command ends in a blank; faults of options come in the order of the options, behind
# those of the files; a heading says what the command line changed and what each file laid on another is.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
leaks off
tiny >tiny.yaml

# trim ARGS...: the command's text has no blank before the end of a line.
trim() {
  "$LOCKSTEP" "$@" >out 2>err </dev/null
  if grep -n ' $' out err >said; then fail "lockstep $* writes blanks at the end of: $(head -n 1 said)"; fi
}
for option in --memory --layout --topology --recompute-curve --checkpoint --resolved; do
  trim check tiny.yaml "$option"
done
trim check tiny.yaml --explain workload.zero
trim check tiny.yaml --route 0 1
trim run tiny.yaml -o tiny.db
trim run tiny.yaml --dry-run
trim explain tiny.db
"$LOCKSTEP" list queries | awk '{print $1}' >names
while read -r name; do trim query tiny.db "$name"; done <names
"$LOCKSTEP" list | awk '{print $1}' >names
while read -r name; do trim list "$name"; done <names
for command in run check collective new validate query explain concepts learn list help completion; do
  trim "$command" --help
  trim "$command" -h
done

# Faults by option, whoever finds them: the second is of layering, the first and third of values.
run 2 check tiny.yaml --set seed=x --set cluster.nodez=2 --set workload.zero=9
sed 's/:.*//' err >order
printf -- '--set #1\n--set #2\n--set #3\n' | cmp -s - order || fail "faults are not in the order of options: $(cat err)"

# One key of the only job of a scenario that has two: the line to write.
run 2 check "$SOURCE_DIR/workloads/traffic/two-training-jobs.yaml" --set workload.batch.micro=2
says err "--set #1:1: error: 'workload' is short for a key of jobs.main, but jobs has large, small; write jobs.large.workload.batch.micro, or the same of another"

# Headings: of one file, with what is set; of two, both; a title that is set is the whole of it, but for other settings.
printf 'lockstep: 1\ntitle: the lower one\n' >lower.yaml
printf 'lockstep: 1\ntitle: the upper one\n' >upper.yaml
sed '/^title/d' tiny.yaml >bare.yaml
heading() { head -n 1 out >first; [ "$(cat first)" = "$1" ] || fail "the heading is '$(cat first)', not '$1'"; }
run 0 run bare.yaml lower.yaml --trace none
heading "the lower one"
run 0 run bare.yaml lower.yaml upper.yaml --trace none
heading "the lower one; the upper one"
run 0 run bare.yaml lower.yaml upper.yaml --trace none --set workload.batch.micro=1 --seed 2
heading "the lower one; the upper one, with workload.batch.micro=1"
run 0 run bare.yaml lower.yaml --trace none --set title=mine
heading "mine"
finish
