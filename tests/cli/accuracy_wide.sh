#!/bin/sh
# The same promises (accuracy.sh) on the wide tables: published papers 10 %, BLOOM's sizing runs 15, vTrain's 10 over several
# nodes and 13 on one, MLPerf 10, Megatron-Bridge 12 for dense models; errors centred, ratios of pairs within 5 %, and their signs
# right in 95 of 100 where the measured change exceeds 5 %.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
# shellcheck source=tests/cli/lib/accuracy.sh
. "$SOURCE_DIR/tests/cli/lib/accuracy.sh"
# Under the sanitizers this would only be slow.
[ "${LS_TEST_SCALE:-1}" = 1 ] || exit 77

# right_signs: percentage of pairs whose sign is right.
right_signs() {
  sed -n 's/^  pairs by all .*sign right in \([0-9]*\) of \([0-9]*\),.*/\1 \2/p' err | awk '{ print 100 * $1 / $2 }'
}
# error_of PATTERN: mean absolute error of step times of rows whose names match.
error_of() {
  awk -F, -v name="$1" '$3 == "step_time_s" && $2 ~ name { n++; sum += $6 < 0 ? -$6 : $6 } END { print n ? sum / n : 1000 }' out
}

training_table train_papers 10 papers
training_table train_bigscience_jeanzay 15 BLOOM
below 95 "$(right_signs)" "BLOOM, signs of pairs in %"
training_table train_vtrain_a100 13 vTrain
below 95 "$(right_signs)" "vTrain, signs of pairs in %"
below "$(error_of '^vtrain-multi')" 10 "vTrain over several nodes, mean absolute error in %"
below "$(error_of '^vtrain-single')" 13 "vTrain on one node, mean absolute error in %"
training_table mlperf_llm_step_times 10 MLPerf
training_table train_nvidia_nemo_mbridge 12 Megatron-Bridge
finish
