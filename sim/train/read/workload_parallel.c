/* The parallel layout from a scenario, and what contradicts it.
 *
 * Invariants: every contradiction is reported, each where the user can mend it.
 */
#include <string.h>

#include "base/assert.h"
#include "train/pipeline/pipeline.h"
#include "train/read/placement.h"
#include "train/read/workload_reader.h"

#define W "workload."

static const char *schedule_word (guint i) {
  return ls_schedule_name ((LsScheduleKind) i);
}

static const char *context_word (guint i) {
  return ls_context_kind_name ((LsContextKind) i);
}

static const char *context_overlap_word (guint i) {
  return ls_context_overlap_name ((LsContextOverlap) i);
}

static const char *dispatch_word (guint i) {
  return ls_expert_dispatch_name ((LsExpertDispatch) i);
}

static const char *overlap_word (guint i) {
  return ls_tensor_overlap_name ((LsTensorOverlap) i);
}

/* Collectives can be cut where they are gathers and scatters of the tokens' rows. */
static void read_tensor_overlap (LsWorkloadReader *r) {
  const char *const path = W "parallel.tensor_overlap";
  LsWorkload *w = r->workload;

  w->tensor_overlap =
      (LsTensorOverlap) ls_reader_word (r, path, overlap_word, LS_N_TENSOR_OVERLAPS);
  if (w->layout.tensor == 1) {
    ls_reader_no_effect (r, path, "parallel.tensor is 1");
    w->tensor_overlap = LS_TENSOR_OVERLAP_AUTO;
  } else if (!w->sequence_parallel && (w->tensor_overlap == LS_TENSOR_OVERLAP_PIECES ||
                                       w->tensor_overlap == LS_TENSOR_OVERLAP_IDEAL)) {
    ls_reader_fault (r, path,
                     "'%s' needs parallel.sequence_parallel: true: an all-reduce is not cut; use "
                     "bulk, none or auto without",
                     ls_tensor_overlap_name (w->tensor_overlap));
  }
}

/* Only a forward and a backward that make a pair have something to hide tokens behind. */
static void read_expert_overlap (LsWorkloadReader *r) {
  const char *const path = W "parallel.expert_overlap";
  LsWorkload *w = r->workload;
  const gboolean dual = w->schedule == LS_SCHEDULE_DUALPIPE || w->schedule == LS_SCHEDULE_DUALPIPEV;

  w->expert_overlap = ls_reader_has (r, path) ? ls_config_get_bool (r->config, path) : dual;
  if (!ls_workload_has_experts (w))
    ls_reader_no_effect (r, path, "the model has no experts");
  else if (!dual && w->schedule != LS_SCHEDULE_INTERLEAVED && w->layout.pipeline > 1)
    ls_reader_no_effect (r, path,
                         "only schedules interleaved-1f1b, dualpipe and dualpipev run pairs, and "
                         "any on one stage");
  else if (w->layout.expert == 1)
    ls_reader_no_effect (r, path, "experts are not on several ranks (parallel.expert is 1)");
  else if (w->zero.stage >= 2)
    ls_reader_no_effect (r, path,
                         "pairs run one behind the other where gradients are sharded "
                         "(zero.stage 2 and 3)");
  else if (w->recompute.offload)
    ls_reader_no_effect (r, path,
                         "pairs run one behind the other where activations are offloaded "
                         "(recompute.offload)");
}

static void read_expert_dispatch (LsWorkloadReader *r) {
  const char *const path = W "parallel.expert_dispatch";
  LsWorkload *w = r->workload;

  w->expert_dispatch =
      (LsExpertDispatch) ls_reader_word (r, path, dispatch_word, LS_N_EXPERT_DISPATCHES);
  if (!ls_workload_has_experts (w)) {
    ls_reader_no_effect (r, path, "the model has no experts");
    return;
  }
  if (w->expert_dispatch != LS_EXPERT_DISPATCH_FUSED || w->layout.expert == 1) {
    ls_reader_no_effect (r, W "model.experts.groups",
                         "only a fused dispatch sends a token once to a rank");
    ls_reader_no_effect (r, W "model.experts.top_groups",
                         "only a fused dispatch sends a token once to a rank");
  }
  if (w->expert_dispatch != LS_EXPERT_DISPATCH_FUSED)
    return;
  if (w->layout.expert == 1)
    ls_reader_no_effect (r, path, "experts are not on several ranks (parallel.expert is 1)");
  if (ls_layout_size (&w->layout, LS_AXIS_EXPERT_TENSOR) > 1)
    ls_reader_fault (r, path,
                     "'fused' needs parallel.expert_tensor: 1: tokens come whole to a rank");
  if (w->model->transformer.experts.capacity_factor > 0)
    ls_reader_fault (r, path, "'fused' sends no padded slots: leave experts.capacity_factor out");
}

static void read_order (LsWorkloadReader *r) {
  static const LsAxis known[] = {LS_AXIS_TENSOR, LS_AXIS_CONTEXT, LS_AXIS_EXPERT, LS_AXIS_DATA,
                                 LS_AXIS_PIPELINE};
  const char *const path = W "parallel.order";
  const guint n = ls_config_get_length (r->config, path);
  LsLayout *layout = &r->workload->layout;
  LsAxis order[LS_LAYOUT_AXES];
  guint filled = 0, seen = 0;

  if (!ls_reader_has (r, path))
    return;
  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", path, i);
    const char *word = ls_config_get_string (r->config, item);

    for (guint a = 0; a < G_N_ELEMENTS (known); a++) {
      if (g_strcmp0 (word, ls_axis_name (known[a])) != 0)
        continue;
      if (seen & (1u << a))
        ls_reader_fault (r, item, "%s stands twice", word);
      else
        order[filled++] = known[a];
      seen |= 1u << a;
    }
  }
  /* Axes that are left out have one rank, or are told so below; they stand outermost. */
  for (guint a = 0; a < G_N_ELEMENTS (known); a++) {
    if (seen & (1u << a))
      continue;
    if (ls_layout_size (layout, known[a]) > 1 ||
        (known[a] != LS_AXIS_CONTEXT && known[a] != LS_AXIS_EXPERT))
      ls_reader_fault (
          r, path, "needs each of tensor, context, expert, data and pipeline once; %s is missing",
          ls_axis_name (known[a]));
    order[filled++] = known[a];
  }
  for (guint i = 0; i < LS_LAYOUT_AXES; i++)
    layout->order[i] = order[i];
}

static void read_layers_per_stage (LsWorkloadReader *r) {
  const char *const path = W "parallel.layers_per_stage";
  const guint stages = ls_workload_n_stages (r->workload);
  const guint n = ls_config_get_length (r->config, path);

  if (!ls_reader_has (r, path))
    return;
  if (n != stages) {
    if (ls_workload_n_parts (r->workload) == 1 || stages == r->workload->layout.pipeline)
      ls_reader_fault (r, path, "has %u numbers for %u pipeline stages", n, stages);
    else
      ls_reader_fault (r, path,
                       "has %u numbers; schedule %s cuts the model into %u stages, %u for each of "
                       "the %u devices, in the model's order",
                       n, ls_schedule_name (r->workload->schedule), stages,
                       stages / r->workload->layout.pipeline, r->workload->layout.pipeline);
    return;
  }
  r->workload->layers_per_stage = g_new0 (guint, n);
  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", path, i);

    r->workload->layers_per_stage[i] = (guint) ls_config_get_int (r->config, item);
  }
}

/* Experts that the ranks cannot share among them, one fault each. */
static void check_split (LsWorkloadReader *r) {
  const LsExperts *e = &r->workload->model->transformer.experts;
  const LsLayout *layout = &r->workload->layout;
  const guint split = ls_layout_size (layout, LS_AXIS_EXPERT_TENSOR);

  if (e->count % layout->expert != 0)
    ls_reader_fault (r, W "parallel.expert",
                     "%u does not divide the %" G_GINT64_FORMAT " experts; use a divisor",
                     layout->expert, e->count);
  if (e->ffn % split != 0)
    ls_reader_fault (r,
                     layout->expert_tensor > 0 ? W "parallel.expert_tensor" : W "parallel.tensor",
                     "%u does not divide the %" G_GINT64_FORMAT
                     " columns of an expert (experts.ffn); use a divisor for expert_tensor",
                     split, e->ffn);
  if (e->shared_ffn % layout->tensor != 0)
    ls_reader_fault (r, W "parallel.tensor",
                     "%u does not divide the %" G_GINT64_FORMAT
                     " columns of the shared experts; use a divisor",
                     layout->tensor, e->shared_ffn);
  if (layout->expert == 1 && e->capacity_factor <= 0)
    ls_reader_no_effect (r, W "model.experts.skew",
                         "every rank has all experts (parallel.expert is 1)");
  if (layout->tensor > 1 && !r->workload->sequence_parallel)
    ls_reader_fault (r, W "parallel.tensor",
                     "experts beside tensor parallelism need parallel.sequence_parallel: true, or "
                     "every tensor rank would send the same tokens (Megatron asks for it too)");
}

/* Every size that the tensor ranks cannot split, one fault each. */
static void check_tensor (LsWorkloadReader *r) {
  const LsModel *model = r->workload->model;
  const LsTransformer *t = &model->transformer;
  const guint tensor = r->workload->layout.tensor;
  const struct {
    const char *what;
    gint64 size;
  } sizes[] = {{"heads", t->heads},
               {"key and value heads", t->kv_heads},
               {"columns of the MLP (ffn)", t->ffn}};

  if (model->kind == LS_MODEL_LAYERS) {
    if (tensor > 1)
      ls_reader_fault (r, W "parallel.tensor", "a network of elements cannot be split; use 1");
    if (r->workload->layout.context > 1)
      ls_reader_fault (r, W "parallel.context", "samples of this model are no sequences; use 1");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (sizes[i].size % tensor != 0)
      ls_reader_fault (r, W "parallel.tensor",
                       "%u does not divide the %" G_GINT64_FORMAT " %s; use a divisor", tensor,
                       sizes[i].size, sizes[i].what);
  if (r->workload->layout.context == 1 && r->workload->sequence_parallel &&
      r->workload->seq_len % tensor != 0)
    ls_reader_fault (r, W "parallel.sequence_parallel",
                     "tensor %u does not divide seq_len = %" G_GINT64_FORMAT
                     "; turn it off or use a divisor",
                     tensor, r->workload->seq_len);
}

static void check_window (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;

  if (w->model->kind == LS_MODEL_TRANSFORMER && w->model->transformer.window >= w->seq_len &&
      w->seq_len > 0)
    ls_reader_no_effect (r, W "model.window", "batch.seq_len is no longer than it");
}

/* The sequence, and the heads where they are exchanged. */
static void check_context (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const LsTransformer *t = &w->model->transformer;
  const gint64 parts = ls_workload_sequence_parts (w), context = w->layout.context;
  const gint64 heads = t->heads / w->layout.tensor, kv_heads = t->kv_heads / w->layout.tensor;

  LS_REQUIRE (parts > 0 && context > 0, "the schema lets no size be 0");
  if (context == 1 || w->model->kind != LS_MODEL_TRANSFORMER)
    return;
  if (w->seq_len % parts != 0)
    ls_reader_fault (r, W "parallel.context",
                     "%u ranks need a batch.seq_len that %" G_GINT64_FORMAT
                     " divides, not %" G_GINT64_FORMAT "%s%s",
                     w->layout.context, parts, w->seq_len,
                     parts % (2 * context) == 0 ? "; a causal mask splits each part in two" : "",
                     w->sequence_parallel ? "; sequence_parallel splits it once more" : "");
  if (t->window > 0 && t->window < w->seq_len && w->context_kind == LS_CONTEXT_RING)
    ls_reader_fault (r, W "parallel.context_kind",
                     "a ring sends all keys to all ranks and knows no model.window; use all-to-all "
                     "or all-gather");
  if (w->context_kind == LS_CONTEXT_ALL_TO_ALL && (heads % context != 0 || kv_heads % context != 0))
    ls_reader_fault (
        r, W "parallel.context",
        "all-to-all deals heads: %u does not divide the %" G_GINT64_FORMAT
        " heads and %" G_GINT64_FORMAT
        " key and value heads of a tensor rank; use a divisor, or context_kind ring or "
        "all-gather",
        w->layout.context, heads, kv_heads);
}

/* Stages that the layers cannot be dealt to evenly, with what each device has of them and how they may be dealt. */
static void refuse_uneven (LsWorkloadReader *r, guint stages, guint layers) {
  const guint devices = r->workload->layout.pipeline;
  g_autofree char *of_each =
      stages > devices ? g_strdup_printf (", %u on each of %u devices,", stages / devices, devices)
                       : g_strdup ("");
  g_autofree char *dealt = ls_layers_dealt_text (layers, stages);

  ls_reader_fault (r, W "parallel.pipeline",
                   "%u%s does not divide the %u layers; use a divisor or give %u numbers in "
                   "layers_per_stage, as %s",
                   stages, of_each, layers, stages, dealt);
}

static void check_pipeline (LsWorkloadReader *r) {
  const guint stages = ls_workload_n_stages (r->workload),
              layers = ls_model_n_layers (r->workload->model);
  const guint *given = r->workload->layers_per_stage;
  guint64 sum = 0;

  if (given != NULL) {
    for (guint i = 0; i < stages; i++)
      sum += given[i];
    if (sum != layers)
      ls_reader_fault (r, W "parallel.layers_per_stage",
                       "adds up to %" G_GUINT64_FORMAT "; the model has %u layers", sum, layers);
    if (r->workload->model->kind == LS_MODEL_LAYERS)
      for (guint i = 0; i < stages; i++)
        if (given[i] == 0)
          ls_reader_fault (r, W "parallel.layers_per_stage", "stage %u has no layer", i);
    for (guint i = 1; i + 1 < stages; i++)
      if (given[i] == 0 && r->workload->model->kind == LS_MODEL_TRANSFORMER)
        ls_reader_fault (r, W "parallel.layers_per_stage", "stage %u has no layer", i);
    return;
  }
  if (ls_reader_has (r, W "parallel.layers_per_stage"))
    return; /* reported */
  if (stages > layers)
    ls_reader_fault (r, W "parallel.pipeline", "%u stages are more than the %u layers", stages,
                     layers);
  else if (r->workload->model->kind == LS_MODEL_TRANSFORMER && layers % stages != 0)
    refuse_uneven (r, stages, layers);
}

char *ls_reader_divisors (guint n) {
  GString *text = g_string_new (NULL);
  guint shown = 0;

  for (guint i = 1; i <= n; i++) {
    if (n % i != 0)
      continue;
    if (++shown > 12) {
      g_string_append_printf (text, ", ... %u", n);
      break;
    }
    g_string_append_printf (text, "%s%u", i > 1 ? ", " : "", i);
  }
  return g_string_free (text, FALSE);
}

/* Experts take their ranks from the dense ranks of a stage. */
static void check_experts (LsWorkloadReader *r) {
  const LsLayout *layout = &r->workload->layout;
  const guint there = layout->ranks / layout->pipeline;
  const guint split = ls_layout_size (layout, LS_AXIS_EXPERT_TENSOR);
  g_autofree char *legal = NULL;

  if (ls_layout_experts_fit (layout))
    return;
  if (there % split != 0) {
    legal = ls_reader_divisors (there);
    ls_reader_fault (
        r, W "parallel.expert_tensor",
        "%u does not divide the %u ranks of a stage (tensor x context x data); use one of "
        "%s",
        split, there, legal);
    return;
  }
  legal = ls_reader_divisors (there / split);
  ls_reader_fault (
      r, W "parallel.expert",
      "%u x expert_tensor %u does not divide the %u ranks of a stage (tensor x context x "
      "data); use one of %s",
      layout->expert, split, there, legal);
}

/* `schedule` and what goes with it. */
static void read_schedule (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  const char *const stages = W "parallel.virtual_stages", *const post =
                                                              W "parallel.post_validation";

  w->schedule =
      (LsScheduleKind) ls_reader_word (r, W "parallel.schedule", schedule_word, LS_N_SCHEDULES);
  w->virtual_stages = (guint) ls_config_get_int (r->config, stages);
  w->post_validation = ls_config_get_bool (r->config, post);
  if (w->layout.pipeline == 1) {
    ls_reader_no_effect (r, W "parallel.schedule", "parallel.pipeline is 1");
    ls_reader_no_effect (r, stages, "parallel.pipeline is 1");
    ls_reader_no_effect (r, post, "parallel.pipeline is 1");
    return;
  }
  if (w->schedule != LS_SCHEDULE_INTERLEAVED) {
    if (w->virtual_stages > 1)
      ls_reader_fault (r, stages, "%u needs schedule interleaved-1f1b; %s has %u per device",
                       w->virtual_stages, ls_schedule_name (w->schedule), ls_workload_n_parts (w));
    w->virtual_stages = 1;
  }
  if (!ls_pipeline_get (w->schedule)->parallelogram)
    ls_reader_no_effect (r, post, "only with schedules zb-h1, zb-h2 and zb-v");
}

/* The global batches next to the given one that interleaving takes. Megatron-Core takes others where
 * microbatch_group_size_per_vp_stage is more than the pipeline's size (schedules.py), which is not modelled. */
static char *interleaved_hint (const LsWorkload *w, gint64 group) {
  const gint64 below = w->global_batch / group * group;

  if (w->schedule != LS_SCHEDULE_INTERLEAVED)
    return g_strdup ("");
  if (below == 0)
    return g_strdup_printf ("; the least is %" G_GINT64_FORMAT, group);
  return g_strdup_printf ("; the nearest are %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, below,
                          below + group);
}

/* What a schedule asks of the number of micro-batches. */
void ls_reader_check_schedule (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const LsPipeline *pipeline = ls_workload_pipeline (w);
  const gint64 one = w->micro_batch * (gint64) w->layout.data;
  LsPipelineSize size = ls_workload_pipeline_size (w);
  const char *fault = NULL;
  g_autofree char *hint = NULL;

  if (!r->fine || w->microbatches_of != NULL)
    return;
  size.microbatches = w->global_batch / one;
  fault = ls_pipeline_fault (pipeline, &size);
  if (fault == NULL)
    return;
  hint = interleaved_hint (w, one * size.devices);
  ls_reader_fault (r, W "parallel.schedule",
                   "%s %s; this one is %u, and batch.global %" G_GINT64_FORMAT
                   " makes %" G_GINT64_FORMAT " micro-batches%s",
                   ls_schedule_name (w->schedule), fault, size.devices, w->global_batch,
                   size.microbatches, hint);
}

/* More ranks than GPUs of the placement. */
static gboolean refuse_size (LsWorkloadReader *r, gint64 data, gint64 gpus) {
  const LsLayout *layout = &r->workload->layout;
  const gint64 ranks = (gint64) layout->tensor * layout->context * layout->pipeline * MAX (data, 1);
  g_autofree char *times = NULL, *context = NULL;

  if (ranks <= gpus)
    return FALSE;
  times = data > 1 ? g_strdup_printf (" x data %" G_GINT64_FORMAT, data) : g_strdup ("");
  context =
      layout->context > 1 ? g_strdup_printf (" x context %u", layout->context) : g_strdup ("");
  ls_reader_fault (r,
                   data > 1               ? W "parallel.data"
                   : layout->pipeline > 1 ? W "parallel.pipeline"
                   : layout->context > 1  ? W "parallel.context"
                                          : W "parallel.tensor",
                   "tensor %u%s x pipeline %u%s needs %" G_GINT64_FORMAT
                   " GPUs; the %s has %" G_GINT64_FORMAT,
                   layout->tensor, context, layout->pipeline, times, ranks,
                   ls_reader_has (r, W "placement") ? "placement" : "cluster", gpus);
  return TRUE;
}

/* With several jobs, GPUs that one leaves idle may be another's. */
static gboolean is_alone (LsWorkloadReader *r) {
  g_auto (GStrv) names = ls_config_get_names (r->config, "jobs");

  return g_strv_length (names) < 2;
}

/* Ranks against GPUs; data = auto takes what is there. */
static void resolve_ranks (LsWorkloadReader *r) {
  LsLayout *layout = &r->workload->layout;
  const gint64 replica = (gint64) layout->tensor * layout->context * layout->pipeline;
  gint64 data = ls_config_is_word (r->config, W "parallel.data", "auto")
                    ? 0
                    : ls_config_get_int (r->config, W "parallel.data");
  g_autoptr (LsPlacement) placement = r->cluster != NULL ? ls_placement_new (r) : NULL;

  LS_REQUIRE (replica > 0, "the schema lets no size be 0");
  layout->data = 1;
  if (placement == NULL) {
    r->fine = FALSE;
    return;
  }
  r->workload->gpus = placement->n_gpus;
  if (refuse_size (r, data, placement->n_gpus))
    return;
  if (data == 0)
    data = ls_placement_data (placement, layout->tensor * layout->context, layout->pipeline);
  layout->data = (guint) MAX (data, 1);
  layout->ranks = (guint) (replica * layout->data);
  ls_workload_deal_tables (r->workload);
  check_experts (r);
  if (!ls_placement_apply (placement, r))
    return;
  if (layout->ranks < placement->n_gpus && (ls_reader_has (r, W "placement") || is_alone (r)))
    ls_config_warning_at (r->config, r->errors, W "parallel", "%u of %u GPUs are idle",
                          placement->n_gpus - layout->ranks, placement->n_gpus);
}

void ls_reader_parallel (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;

  w->layout = ls_layout ((guint) ls_config_get_int (r->config, W "parallel.tensor"), 1,
                         (guint) ls_config_get_int (r->config, W "parallel.pipeline"));
  w->sequence_parallel = ls_config_get_bool (r->config, W "parallel.sequence_parallel");
  read_tensor_overlap (r);
  read_schedule (r);
  w->layout.context = (guint) ls_config_get_int (r->config, W "parallel.context");
  w->context_kind = (LsContextKind) ls_reader_word (r, W "parallel.context_kind", context_word,
                                                    LS_N_CONTEXT_KINDS);
  if (w->layout.context == 1)
    ls_reader_no_effect (r, W "parallel.context_kind", "parallel.context is 1");
  w->context_overlap = (LsContextOverlap) ls_reader_word (
      r, W "parallel.context_overlap", context_overlap_word, LS_N_CONTEXT_OVERLAPS);
  if (w->layout.context == 1 || w->context_kind != LS_CONTEXT_RING)
    ls_reader_no_effect (r, W "parallel.context_overlap",
                         w->layout.context == 1 ? "parallel.context is 1"
                                                : "only a ring runs beside attention");
  w->layout.expert = (guint) ls_config_get_int (r->config, W "parallel.expert");
  if (!ls_config_is_word (r->config, W "parallel.expert_tensor", "auto"))
    w->layout.expert_tensor = (guint) ls_config_get_int (r->config, W "parallel.expert_tensor");
  read_order (r);
  if (w->layout.tensor == 1) {
    ls_reader_no_effect (r, W "parallel.sequence_parallel", "parallel.tensor is 1");
    w->sequence_parallel = FALSE;
  }
  if (w->layout.tensor > 1 && w->model->transformer.lora.fused)
    ls_reader_no_effect (r, W "model.lora.fused", "only without tensor parallelism");
  if (w->model->transformer.experts.count == 0) {
    ls_reader_no_effect (r, W "parallel.expert", "the model has no experts");
    ls_reader_no_effect (r, W "parallel.expert_tensor", "the model has no experts");
    w->layout.expert = 1;
    w->layout.expert_tensor = 0;
  }
  read_expert_dispatch (r);
  read_expert_overlap (r);
  read_layers_per_stage (r);
  check_tensor (r);
  if (w->model->transformer.experts.count > 0)
    check_split (r);
  check_window (r);
  check_context (r);
  check_pipeline (r);
  resolve_ranks (r);
}
