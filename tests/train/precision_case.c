/* See precision_case.h. */
#include "precision_case.h"

#include <check.h>

LsWorkload *precision_case_new_workload (const char *word, int stage, guint data) {
  LsWorkload *workload = ls_workload_new_default (ls_model_new_preset (GPT, NULL), data);

  workload->layout = ls_layout (1, data, 1);
  workload->micro_batch = 1;
  workload->global_batch = data;
  workload->seq_len = S;
  workload->attention = LS_ATTENTION_FLASH2;
  workload->zero.stage = stage;
  workload->precision = ls_precision_of_word (word);
  ck_assert (ls_workload_resolve (workload, NULL));
  return workload;
}

const LsAccelerator *precision_case_gpu (const char *name) {
  const LsAccelerator *row = ls_accelerator_find (name, NULL);

  ck_assert_msg (row != NULL, "%s", name);
  return row;
}

const LsLayerPlan *precision_case_block (const LsStage *stage) {
  for (guint r = 0; r < stage->n_runs; r++)
    if (stage->runs[r].is_block)
      return stage->runs[r].plan;
  ck_abort_msg ("no block");
}
