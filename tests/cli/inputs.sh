#!/bin/sh
# Where input comes from: pipes read like files, and what never ends, is no file or cannot be read is
# refused at once with its name, whatever the command.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
tiny
run 0 run tiny.yaml -o tiny.db -q

endless=/dev/zero
run 2 check "$endless"
says err "$endless: error: is larger than"
run 2 run tiny.yaml "$endless"
run 2 validate "$endless"
says err "$endless: the table is larger than"
run 2 query tiny.db --file "$endless"
says err "$endless: the SQL is larger than"
for nothing in nowhere . /dev/null; do
  run 2 check "$nothing"
  says err "$nothing:"
  run 2 validate "$nothing"
  run 2 query "$nothing" step_times
done

mkfifo pipe
cat tiny.yaml >pipe &
run 0 check pipe
echo 'SELECT count(*) AS steps FROM step' >pipe &
run 0 query tiny.db --file pipe
says out "2"

# The JSON of a run is released as it was made: a sanitizer build would say so.
run 0 run tiny.yaml --json --trace none
empty err
finish
