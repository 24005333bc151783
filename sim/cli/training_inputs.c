/* The inputs of a row in words: what is compared where pairs of rows are asked for the one that differs, see
 * training_row.h and differences.h. */
#include "cli/training_row.h"

/* A whole number, or nothing where the row does not state it. */
static char *stated (gint64 value) {
  return value > 0 ? g_strdup_printf ("%d", (int) value) : g_strdup ("");
}

/* All that has no record of its own; what follows from others (the data-parallel size, Megatron's buckets) is not here. */
static char *rest_of (const LsTrainingRow *row) {
  g_autoptr (GString) rest = g_string_new (NULL);
  const gint64 core_bucket = 1000000 * MAX (40, row->dp * row->cp);

  g_string_append_printf (rest, "%s %s %s [%s] %g %d %d", row->gpu->name, row->node->name,
                          row->software->name, row->release, row->nic_gbit_s, (int) row->nics,
                          (int) row->gpus_per_node);
  g_string_append_printf (
      rest, ", %s %d %d ep %d cp %d %d", row->preset != NULL ? row->preset->name : "",
      (int) row->mtp, (int) row->dense_first, (int) row->ep, (int) row->cp, row->exchanges_heads);
  g_string_append_printf (rest, ", %d %d %d %d %d %d %d, %d %d %d %d %d", (int) row->layers,
                          (int) row->hidden, (int) row->heads, (int) row->kv_heads, (int) row->ffn,
                          (int) row->vocab, (int) row->seq, row->gated, row->tied,
                          row->learned_positions, row->llama, row->dropout);
  g_string_append_printf (
      rest, ", zero %d, sp %d, overlap %d %d %s, bucket %d, graphs %d", (int) row->zero_stage,
      row->sequence_parallel, row->overlap, row->overlap_gather, row->tensor_overlap,
      (int) (row->bucket_parameters == core_bucket ? 0 : row->bucket_parameters), row->cuda_graphs);
  if (row->hybrid)
    g_string_append (rest, ", hybrid");
  if (row->shard_group > 0)
    g_string_append_printf (rest, ", groups of %d", (int) row->shard_group);
  if (row->offloads)
    g_string_append (rest, ", offloads");
  if (row->schedule != NULL)
    g_string_append_printf (rest, ", %s", row->schedule);
  g_string_append_printf (rest, ", lora %d %s %d %d, %d %d", (int) row->lora_rank,
                          row->lora_targets != NULL ? row->lora_targets : "", row->lora_dropout,
                          (int) row->documents, row->narrow_weights, row->narrow_activation);
  return g_string_free (g_steal_pointer (&rest), FALSE);
}

void ls_training_row_inputs (const LsTrainingRow *row, char **inputs) {
  inputs[LS_INPUT_REST] = rest_of (row);
  inputs[LS_INPUT_VIRTUAL] = stated (row->virtual_stages);
  inputs[LS_INPUT_GLOBAL_BATCH] = stated (row->global_batch);
  inputs[LS_INPUT_MICRO_BATCH] = stated (row->micro_batch);
  inputs[LS_INPUT_TENSOR] = stated (row->tp);
  inputs[LS_INPUT_PIPELINE] = stated (row->pp);
  inputs[LS_INPUT_RECOMPUTE] =
      row->recompute != NULL
          ? g_strdup_printf ("%s %d %d %d", row->recompute, (int) row->recompute_layers,
                             row->keeps_qkv, row->keeps_projection)
          : g_strdup ("");
  inputs[LS_INPUT_GPUS] = stated (row->gpus);
  inputs[LS_INPUT_PRECISION] = g_strdup_printf (
      "%s %s %d %d %d %d", row->compute_format, row->scaling != NULL ? row->scaling : "",
      row->pure_16_bit, row->half_gradients, row->fp32_reduce, row->narrow_parameters);
}
