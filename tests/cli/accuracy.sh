#!/bin/sh
# Predictions stay good: mean absolute error of the step time on shipped tables of training runs at most 7 % (B200: 6),
# errors centred, ratios of pairs within 5 %, on FSDP's below that of the best single MFU; all-reduces inside a node at most
# 10 %. Bounds are those that the project promises (docs/validation.md), not what it reaches. accuracy_wide.sh has the rest.
# shellcheck source=tests/cli/lib/common.sh
. "$SOURCE_DIR/tests/cli/lib/common.sh"
# shellcheck source=tests/cli/lib/accuracy.sh
. "$SOURCE_DIR/tests/cli/lib/accuracy.sh"
# Under the sanitizers this would only be slow.
[ "${LS_TEST_SCALE:-1}" = 1 ] || exit 77

training_table train_llmfoundry_fsdp 7 FSDP
constant=$(sed -n 's/.*best single MFU.*absolute \([0-9.]*\).*/\1/p' err | head -n 1)
below "$(mean_error step_time_s)" "$constant" "FSDP step time against one constant MFU"
training_table train_simumax_b200 6 "B200 without overlap"
# Peak memory by what a table prints: bytes allocated 1 %, bytes reserved 8 % (issue 4).
below "$(mean_error peak_mem_gb)" 1 "B200, bytes allocated, mean absolute error in %"
training_table train_torchtitan 7 torchtitan
below "$(mean_error peak_mem_gb)" 8 "torchtitan, bytes reserved, mean absolute error in %"
training_table train_megatron 7 Megatron
run 0 validate "$SOURCE_DIR/tests/reference/allreduce_vtrain.csv"
below "$(mean_error time_us)" 10 "all-reduce, mean absolute error in %"
# Collectives by class: geometric-mean errors, 10 % inside nodes and 20 % across from 1 MiB, 25 % below.
run 0 validate "$SOURCE_DIR/tests/reference/nccl_collectives.csv"
class_error() {
  sed -n "s/^  $1  *count *[0-9]*, error *\([0-9.]*\) %.*/\1/p" err | head -n 1
}
below "$(class_error 'inside, from 1 MiB')" 10 "collectives inside a node from 1 MiB, error in %"
below "$(class_error 'between, from 1 MiB')" 20 "collectives across nodes from 1 MiB, error in %"
below "$(class_error 'below 1 MiB')" 25 "collectives below 1 MiB, error in %"
# Reports that took part in no fit; the bound allows for the 66 rows of December 2026, 11.5 % off when first predicted. Runs
# that are known to have run, and whose memory the model misses by a few per cent, are not taken to run layers again (Llama
# 3.1 8B on 8 H100, bf16: 48 % too slow so).
run 0 validate "$SOURCE_DIR/tests/reference/train_reports.csv"
no_other_misses
below "$(mean_error step_time_s)" 9 "reports, step time, mean absolute error in %"
below "$(mean_error tokens_per_s_per_gpu)" 10 "reports, tokens per second, mean absolute error in %"
below "$(awk -F, '$2 == "dgxc-l8-bf16-8" { print $6 < 0 ? -$6 : $6 }' out)" 7 "a run whose memory is close, error in %"
finish
