#!/bin/sh
# Wrong scenario files: every file of tests/bad is refused by `check` and by `run` with exit status 2,
# exactly the faults of its .expect file on stderr, nothing on stdout, and nothing written. Under the
# sanitizers every eighth file goes to `run` too, which reads as `check` does.
#
# A first line "# args: A THIS B" (or a file NAME.args) gives the arguments; THIS stands for the file,
# which otherwise stands alone. Files that begin with _ are legal layers for others. With UPDATE=1 in
# the environment the .expect files are written anew, to be read before they are committed.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
cp -R "$SOURCE_DIR/tests/bad/." . || exit 1
touch out err difference
before=$(ls -A)
count=0
for file in *.yaml *.json; do
  case $file in _*) continue ;; esac
  words=$(cat "$file.args" 2>/dev/null || sed -n '1s/^# args: //p' "$file" | tr -d '\000')
  set --
  set -f
  for word in ${words:-THIS}; do
    [ "$word" = THIS ] && word=$file
    set -- "$@" "$word"
  done
  set +f
  commands="check run"
  at_length || [ $((count % 8)) -eq 0 ] || commands=check
  for command in $commands; do
    run 2 "$command" "$@"
    empty out
    if [ "${UPDATE:-0}" = 1 ] && [ "$command" = check ]; then
      cp err "$SOURCE_DIR/tests/bad/${file%.*}.expect"
      cp err "${file%.*}.expect"
      before=$(ls -A)
    elif ! cmp -s "${file%.*}.expect" err; then
      fail "$command: the faults of $file differ"
      diff -u "${file%.*}.expect" err >difference
      head -n 20 difference >&2
    fi
  done
  count=$((count + 1))
done
[ "$(ls -A)" = "$before" ] || fail "files are left behind: $(ls -A)"
[ "$count" -ge 60 ] || fail "only $count wrong files"
run 0 check _base.yaml
finish
