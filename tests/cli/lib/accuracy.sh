# Bounds on what `validate` made of a table: rows in the file `out`, its words in `err`.
# shellcheck shell=sh

# mean_error QUANTITY: mean absolute error in % over the rows in out.
mean_error() {
  awk -F, -v quantity="$1" '$3 == quantity { n++; sum += $6 < 0 ? -$6 : $6 } END { print n ? sum / n : 1000 }' out
}
# signed_error QUANTITY: absolute value of the mean signed error in %.
signed_error() {
  awk -F, -v quantity="$1" '$3 == quantity { n++; sum += $6 } END { print n ? (sum < 0 ? -sum : sum) / n : 1000 }' out
}
# pair_error: mean error in % of the ratio over pairs of rows that differ in one input.
pair_error() {
  sed -n 's/^  pairs by all .*error of the ratio *\([0-9.]*\) %.*/\1/p' err | head -n 1
}
below() {
  awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value != "" && value <= bound) }' || fail "$3: $1, bound $2"
}
# training_table NAME BOUND WHAT: step time within BOUND % in the mean; errors centred within 3 %, ratios of pairs within 5 %.
training_table() {
  run 0 validate "$SOURCE_DIR/tests/reference/$1.csv"
  below "$(mean_error step_time_s)" "$2" "$3, step time, mean absolute error in %"
  below "$(signed_error step_time_s)" 3 "$3, step time, mean signed error in %"
  # One digit is printed; 5 % is what planners are promised (docs/validation.md).
  below "$(pair_error)" 5.05 "$3, pairs, error of the ratio in %"
  no_other_misses
}
# no_other_misses: every row whose step time errs by more than 25 % is one of tests/reference/misses.txt.
no_other_misses() {
  awk -F '\t' '
    BEGIN { n = 0 }
    NR == FNR { if ($0 !~ /^#/) { table[n] = $1; pattern[n++] = $2 } next }
    {
      split($0, cells, ",")
      if (cells[3] != "step_time_s" || (cells[6] <= 25 && cells[6] >= -25)) next
      for (i = 0; i < n && !(cells[1] == table[i] && cells[2] ~ pattern[i]); i++);
      if (i == n) { print cells[2] ": " cells[6] " %"; bad = 1 }
    }
    END { exit bad }' "$SOURCE_DIR/tests/reference/misses.txt" out || fail "a row errs by more than 25 % and is not explained"
}
