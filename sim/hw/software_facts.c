/* What a generation of software says of itself: its costs and fusions with their sources, and the generations as a catalogue
 * for `list software`.
 *
 * Model:      times are shown where a row has them; what a row assumes says so in its source ("assumed: ...").
 * Leaves out: the rows themselves, software.c. */
#include <string.h>

#include "hw/catalogue.h"
#include "hw/fact_list.h"
#include "hw/software.h"

gboolean ls_software_fact (const LsSoftware *software, guint i, LsFact *fact) {
  const struct {
    const char *field;
    gboolean set;
  } flags[] = {{"fused_bias_gelu", software->fused_bias_gelu},
               {"fused_dropout_add", software->fused_dropout_add},
               {"bias_passes", software->bias_passes},
               {"fused_bias_gradient", software->fused_bias_gradient},
               {"fused_norm", software->fused_norm},
               {"fused_cross_entropy", software->fused_cross_entropy},
               {"loss_keeps_logits_only", software->loss_keeps == LS_LOSS_LOGITS},
               {"loss_in_place", software->loss_keeps == LS_LOSS_NOTHING},
               {"loss_keeps_log_softmax", software->loss_keeps == LS_LOSS_LOG_SOFTMAX},
               {"fused_optimizer", software->fused_optimizer},
               {"fused_router", software->fused_router},
               {"fused_dispatch", software->fused_dispatch},
               {"separate_scaling", software->separate_scaling},
               {"fused_weight_gradient", software->fused_weight_gradient},
               {"gradient_placeholders", software->gradient_placeholders},
               {"overlaps_tensor", software->overlaps_tensor},
               {"waits_for_tensor", software->waits_for_tensor},
               {"gathers_ahead", software->gathers_ahead},
               {"buckets_first_stage", software->buckets_first_stage},
               {"unit_buckets", software->unit_buckets},
               {"recompute_stops_early", software->recompute_stops_early},
               {"zero_per_matrix", software->zero_per_matrix},
               {"root_stays_gathered", software->root_stays_gathered},
               {"posts_all_receives", software->posts_all_receives},
               {"copies_shards", software->copies_shards},
               {"flat_gradients", software->flat_gradients},
               {"deepspeed_copies", software->deepspeed_copies},
               {"context_gathers", software->context_gathers},
               {"context_waits", software->context_waits},
               {"separate_maps", software->separate_maps},
               {"splits_second", software->splits_second},
               {"scales_each_pass", software->scales_each_pass},
               {"sums_largest_each_pass", software->sums_largest_each_pass},
               {"compiled", software->compiled},
               {"cuda_graphs", software->cuda_graphs},
               {"expert_sync", software->expert_sync},
               {"messages_synchronize", software->messages_synchronize},
               {"launch_by_list", software->launch_by_list},
               {"serial_launches", software->serial_launches}};
  /* What a row assumes says so in its source. */
  const gboolean assumed = g_str_has_prefix (software->source, "assumed: ");
  const LsFactStatus status = assumed ? LS_FACT_ASSUMED : LS_FACT_FOUND;
  const char *source = software->source + (assumed ? strlen ("assumed: ") : 0);
  LsFactList list = {.n = 0};
  ls_fact_list_add_sourced (&list, "matmul_factor", LS_DIMENSION_NONE, &software->matmul_factor);
  if (software->attention_factor.value > 0)
    ls_fact_list_add_sourced (&list, "attention_factor", LS_DIMENSION_NONE,
                              &software->attention_factor);
  if (software->biased_grad_factor.value > 0)
    ls_fact_list_add_sourced (&list, "biased_grad_factor", LS_DIMENSION_NONE,
                              &software->biased_grad_factor);
  ls_fact_list_add_sourced (&list, "gap", LS_DIMENSION_TIME, &software->gap_s);
  ls_fact_list_add_sourced (&list, "host_launch", LS_DIMENSION_TIME, &software->host_launch_s);
  if (software->host_backward_launch_s.value > 0)
    ls_fact_list_add_sourced (&list, "host_backward_launch", LS_DIMENSION_TIME,
                              &software->host_backward_launch_s);
  ls_fact_list_add_sourced (&list, "host_step", LS_DIMENSION_TIME, &software->host_step_s);
  if (software->host_pair_s.value > 0) {
    ls_fact_list_add_sourced (&list, "host_pair", LS_DIMENSION_TIME, &software->host_pair_s);
    ls_fact_list_add_sourced (&list, "host_pair_8", LS_DIMENSION_TIME, &software->host_pair_8_s);
  }
  if (software->zero_per_matrix)
    ls_fact_list_add_sourced (&list, "zero_piece", LS_DIMENSION_TIME, &software->zero_piece_s);
  ls_fact_list_add_text (&list, "attention", ls_attention_name (software->attention), status,
                         source);
  for (guint k = 0; k < G_N_ELEMENTS (flags); k++)
    ls_fact_list_add_text (&list, flags[k].field, flags[k].set ? "yes" : "no", status, source);
  return ls_fact_list_get (&list, i, fact);
}

/* The rows as a catalogue. */

static const char *row_name (guint row) {
  return ls_software_get (row)->name;
}

static const char *row_title (guint row) {
  return ls_software_get (row)->title;
}

static const char *row_aliases (guint row) {
  return ls_software_get (row)->aliases;
}

static const char *row_notes (guint row) {
  (void) row;
  return NULL;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  return ls_software_fact (ls_software_get (row), i, fact);
}

const LsCatalogue ls_software_catalogue = {.noun = "software generation",
                                           .kind = "software",
                                           .summary = "software generations: launch costs, fusions",
                                           .count = ls_software_count,
                                           .name = row_name,
                                           .title = row_title,
                                           .aliases = row_aliases,
                                           .notes = row_notes,
                                           .fact = row_fact};
