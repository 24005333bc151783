/* Workloads from a scenario: values first, then what contradicts what, with the place of each.
 *
 * Invariants: all faults that can be seen are reported in one go; a result is returned only without
 *             any. A key that is given and cannot matter is marked with the reason.
 */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "config/path.h"
#include "train/layer/stage.h"
#include "train/memory/recompute.h"
#include "train/read/distribution_keys.h"
#include "train/read/update_keys.h"
#include "train/read/workload_reader.h"

#define W "workload."

void ls_reader_fault (LsWorkloadReader *r, const char *path, const char *format, ...) {
  g_autofree char *message = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  ls_config_error_at (r->config, r->errors, path, "%s", message);
  r->fine = FALSE;
}

gboolean ls_reader_has (const LsWorkloadReader *r, const char *path) {
  return ls_config_has (r->config, path);
}

void ls_reader_no_effect (LsWorkloadReader *r, const char *path, const char *reason) {
  ls_config_no_effect (r->config, path, reason);
}

guint ls_reader_word (LsWorkloadReader *r, const char *path, const char *(*name) (guint), guint n) {
  const char *word = ls_config_get_string (r->config, path);
  guint i = 0;

  while (i < n && g_strcmp0 (word, name (i)) != 0)
    i++;
  LS_REQUIRE (i < n, "%s: the word %s passed the schema", path, word);
  return i;
}

gboolean ls_reader_has_ranks (const LsWorkloadReader *r, guint group) {
  const LsWorkload *w = r->workload;

  if (w->gpu_of_rank == NULL)
    return TRUE;
  for (guint rank = 0; rank < w->layout.ranks; rank++)
    if (ls_cluster_node_group (r->cluster,
                               ls_cluster_gpu_node (r->cluster, w->gpu_of_rank[rank])) == group)
      return TRUE;
  return FALSE;
}

gboolean ls_reader_has_drives (const LsWorkloadReader *r) {
  for (guint g = 0; g < ls_cluster_n_groups (r->cluster); g++)
    if (ls_cluster_group (r->cluster, g)->node.nvme_bytes_per_s <= 0 && ls_reader_has_ranks (r, g))
      return FALSE;
  return TRUE;
}

#define NAMER(function, getter, type)     \
  static const char *function (guint i) { \
    return getter ((type) i);             \
  }
NAMER (optimizer_word, ls_optimizer_name, LsOptimizerKind)
NAMER (attention_word, ls_attention_name, LsAttention)
NAMER (offload_word, ls_offload_name, LsOffload)

gboolean ls_reader_runs_flash (const LsWorkloadReader *r, gboolean everywhere) {
  const LsAttention wanted = r->workload->attention;

  for (guint g = 0; r->cluster != NULL && g < ls_cluster_n_groups (r->cluster); g++) {
    const LsAccelerator *gpu = ls_cluster_group (r->cluster, g)->node.gpu;

    if (gpu != NULL && ls_reader_has_ranks (r, g) &&
        ls_attention_is_flash (ls_accelerator_attention (gpu, wanted)) != everywhere)
      return !everywhere;
  }
  return everywhere ? ls_attention_is_flash (wanted) : FALSE;
}

/* A kernel of attention that the file asks for and accelerators of a group have not: the next older one that they have runs
 * (ls_device_attention). A generation of software brings its own, and means where there is one. */
static void check_attention (LsWorkloadReader *r) {
  static const char *const path = W "software.attention";
  const LsAttention wanted = r->workload->attention;
  const LsAccelerator *told = NULL;

  if (!ls_reader_has (r, path) || wanted == r->workload->software->attention ||
      !ls_attention_is_flash (wanted))
    return;
  for (guint g = 0; r->cluster != NULL && g < ls_cluster_n_groups (r->cluster); g++) {
    const LsAccelerator *gpu = ls_cluster_group (r->cluster, g)->node.gpu;

    if (gpu == NULL || gpu == told || !ls_reader_has_ranks (r, g))
      continue;
    const LsAttention runs = ls_accelerator_attention (gpu, wanted);
    if (runs == wanted)
      continue;
    told = gpu;
    ls_config_warning_at (r->config, r->errors, path, "%s has no kernel %s and runs %s", gpu->name,
                          ls_attention_name (wanted), ls_attention_name (runs));
  }
}

/* TRUE or FALSE, or -1 when the key is absent. */
static int choice_of (LsWorkloadReader *r, const char *path) {
  return ls_reader_has (r, path) ? (ls_config_get_bool (r->config, path) ? 1 : 0) : -1;
}

static const char *graphs_word (guint i) {
  return ls_layer_graphs_name ((LsLayerGraphs) i);
}

static const LsSoftware *chosen_software (LsWorkloadReader *r, const LsSoftware *software) {
  const LsSoftwareChoice choice = {
      .cuda_graphs = choice_of (r, W "software.cuda_graphs"),
      .compiled = choice_of (r, W "software.compile"),
      .fused_optimizer = choice_of (r, W "software.fused_optimizer"),
      .expert_sync = choice_of (r, W "software.expert_sync"),
      .layer_graphs = (LsLayerGraphs) ls_reader_word (r, W "software.layer_graphs", graphs_word,
                                                      LS_N_LAYER_GRAPHS)};

  if (choice.compiled == 0 && !software->compiled)
    ls_reader_no_effect (
        r, W "software.compile",
        "nothing of this generation is compiled: what it fuses is written by hand");
  if (choice.compiled == 1 && software->compiled && software->fused_bias_gelu &&
      software->fused_dropout_add && software->fused_norm && software->fused_cross_entropy)
    ls_reader_no_effect (r, W "software.compile", "this generation is compiled already");
  else if (choice.compiled == 1 && software->fused_bias_gelu && software->fused_dropout_add &&
           software->fused_norm && software->fused_cross_entropy &&
           software->loss_keeps != LS_LOSS_LOG_SOFTMAX)
    ls_reader_no_effect (r, W "software.compile",
                         "what a compiler would fuse this generation has fused by hand");
  return choice.cuda_graphs < 0 && choice.compiled < 0 && choice.fused_optimizer < 0 &&
                 choice.expert_sync < 0 && choice.layer_graphs == LS_LAYER_GRAPHS_NONE
             ? software
             : ls_software_with (software, choice);
}

static void read_kernels (LsWorkloadReader *r) {
  const char *const path = W "software.kernels";
  g_autofree char *file = ls_reader_has (r, path) ? ls_config_get_file (r->config, path) : NULL;
  g_autoptr (LsTextFaults) faults = file != NULL ? ls_text_faults_new (file) : NULL;

  if (file == NULL)
    return;
  r->workload->kernels = ls_kernel_table_read (file, faults);
  ls_config_errors_add_text_faults (r->errors, faults);
}

static void read_software (LsWorkloadReader *r) {
  g_autoptr (GError) error = NULL;
  const char *name = ls_config_get_string (r->config, W "software.generation");
  const LsSoftware *software = ls_software_find (name, &error);

  if (software == NULL)
    ls_reader_fault (r, W "software.generation", "%s", error->message);
  else
    r->workload->software = chosen_software (r, software);
  read_kernels (r);
  r->workload->attention = r->workload->software->attention;
  if (!ls_reader_has (r, W "software.attention"))
    return;
  if (r->workload->model->kind != LS_MODEL_TRANSFORMER) {
    ls_reader_no_effect (r, W "software.attention", "the model has no attention");
    return;
  }
  r->workload->attention =
      (LsAttention) ls_reader_word (r, W "software.attention", attention_word, LS_N_ATTENTIONS);
}

static void read_zero (LsWorkloadReader *r) {
  LsZero *zero = &r->workload->zero;

  zero->stage = (int) ls_config_get_int (r->config, W "zero.stage");
  zero->overlap = ls_config_get_bool (r->config, W "zero.overlap");
  zero->bucket_bytes = ls_config_get_size_bytes (r->config, W "zero.bucket");
  zero->overlap_gather = choice_of (r, W "zero.overlap_gather");
  zero->prefetch = ls_config_get_int (r->config, W "zero.prefetch");
  if (ls_reader_has (r, W "zero.max_gathered"))
    zero->max_gathered = ls_config_get_int (r->config, W "zero.max_gathered");
  zero->quantized_weights = ls_config_get_bool (r->config, W "zero.quantized_weights");
  zero->quantized_gradients = ls_config_get_bool (r->config, W "zero.quantized_gradients");
  zero->offload = (LsOffload) ls_reader_word (r, W "zero.offload", offload_word, LS_N_OFFLOADS);
  zero->nvme = (LsOffload) ls_reader_word (r, W "zero.nvme", offload_word, LS_N_OFFLOADS);
  zero->sub_group = ls_config_get_int (r->config, W "zero.sub_group");
}

static void read_optimizer (LsWorkloadReader *r) {
  LsOptimizer *optimizer = &r->workload->optimizer;
  const char *const clip = W "optimizer.clip";

  optimizer->kind =
      (LsOptimizerKind) ls_reader_word (r, W "optimizer.kind", optimizer_word, LS_N_OPTIMIZERS);
  if (optimizer->kind == LS_OPTIMIZER_SGD || optimizer->kind == LS_OPTIMIZER_LARS)
    optimizer->momentum = ls_config_get_number (r->config, W "optimizer.momentum");
  else
    ls_reader_no_effect (r, W "optimizer.momentum", "only with optimizer.kind sgd or lars");
  if (ls_config_is_word (r->config, clip, "none"))
    optimizer->clip = LS_NORM_CLIP_OFF;
  else if (!ls_config_is_word (r->config, clip, "auto") &&
           ls_config_get_number (r->config, clip) > 0)
    optimizer->clip = LS_NORM_CLIP_ON;
  if (ls_optimizer_moments (optimizer) == 0)
    ls_reader_no_effect (r, W "precision.optimizer", "the optimizer keeps no moments");
}

static void check_pause (LsWorkloadReader *r, const char *every, LsPause *pause) {
  if (pause->every <= r->workload->steps)
    return;
  ls_reader_no_effect (r, every, "the run has fewer steps (stop.steps)");
  pause->every = 0;
}

/* After the number of steps is known. */
static void read_pauses (LsWorkloadReader *r) {
  LsPause *evaluation = &r->workload->evaluation, *logging = &r->workload->logging;
  const char *const time = W "evaluation.time";

  evaluation->every = ls_config_get_int (r->config, W "evaluation.every");
  evaluation->steps = ls_config_get_int (r->config, W "evaluation.steps");
  evaluation->time_ps = ls_reader_has (r, time)
                            ? ls_time_ps_from_s_checked (ls_config_get_quantity (r->config, time))
                            : -1;
  logging->every = ls_config_get_int (r->config, W "logging.every");
  logging->steps = 1;
  logging->time_ps =
      ls_time_ps_from_s_checked (ls_config_get_quantity (r->config, W "logging.time"));
  if (evaluation->every == 0) {
    ls_reader_no_effect (r, W "evaluation.steps", "evaluation.every is 0");
    ls_reader_no_effect (r, time, "evaluation.every is 0");
  }
  if (logging->every == 0)
    ls_reader_no_effect (r, W "logging.time", "logging.every is 0");
  check_pause (r, W "evaluation.every", evaluation);
  check_pause (r, W "logging.every", logging);
  if (logging->every > 0 && logging->time_ps == 0)
    ls_reader_no_effect (r, W "logging.every", "a pause of logging.time 0 s is none");
}

/* Lengths of packed documents; rows and reader of distributions. */
static void read_documents (LsWorkloadReader *r) {
  const char *const path = W "batch.documents";

  if (!ls_reader_has (r, path))
    return;
  if (r->workload->model->kind != LS_MODEL_TRANSFORMER) {
    ls_reader_no_effect (r, path, "samples of this model are no sequences");
    return;
  }
  if (!ls_distribution_read_factor (r->config, r->errors, path, &r->workload->documents))
    r->fine = FALSE;
  if (!ls_reader_runs_flash (r, FALSE))
    ls_reader_no_effect (r, path,
                         "attention that is no flash kernel makes all scores and masks them");
}

/* Runs of updates have programs of their own that know neither. */
static void check_updates (LsWorkloadReader *r) {
  static const char *const keys[] = {W "batch.documents", W "evaluation", W "logging"};
  LsWorkload *w = r->workload;

  if (!w->update.active)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    ls_reader_no_effect (r, keys[i], "only with update.policy sync");
  ls_distribution_clear (&w->documents);
  w->documents = (LsDistribution){0};
  w->evaluation.every = w->logging.every = 0;
}

static void read_input (LsWorkloadReader *r) {
  static const char *const keys[] = {W "input.bytes_per_sample", W "input.cpu_time_per_sample",
                                     W "input.device_bytes_per_sample", W "input.prefetch"};
  LsInput *input = &r->workload->input;

  input->threads = ls_config_get_int (r->config, W "input.threads");
  if (input->threads == 0) {
    for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
      ls_reader_no_effect (r, keys[i], "input.threads is 0");
    return;
  }
  input->bytes_per_sample = ls_config_get_size_bytes (r->config, keys[0]);
  input->cpu_s_per_sample = ls_config_get_quantity (r->config, keys[1]);
  input->device_bytes_per_sample = ls_config_get_size_bytes (r->config, keys[2]);
  input->prefetch = ls_config_get_int (r->config, keys[3]);
  if (input->bytes_per_sample > 0 && r->cluster != NULL &&
      !ls_cluster_storage (r->cluster)->present)
    ls_reader_fault (r, keys[0], "the cluster has no storage to read from; give cluster.storage");
}

/* --- batch ---------------------------------------------------------------------------------- */

static void read_sequence (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  const LsTransformer *t = &w->model->transformer;

  w->micro_batch = ls_config_get_int (r->config, W "batch.micro");
  if (!ls_model_has_tokens (w->model)) {
    ls_reader_no_effect (r, W "batch.seq_len", "samples of this model are no sequences");
    /* A picture is all of its patches. */
    w->seq_len = w->model->kind == LS_MODEL_TRANSFORMER ? t->max_seq : 1;
    return;
  }
  w->seq_len = ls_reader_has (r, W "batch.seq_len")
                   ? ls_config_get_int (r->config, W "batch.seq_len")
                   : t->max_seq;
  if (t->learned_positions && w->seq_len > t->max_seq)
    ls_reader_fault (r, W "batch.seq_len",
                     "%" G_GINT64_FORMAT " is longer than the model's table of %" G_GINT64_FORMAT
                     " learned positions; shorten it or set workload.model.max_seq",
                     w->seq_len, t->max_seq);
  else if (w->seq_len > t->max_seq &&
           (ls_reader_has (r, W "model.preset") || ls_reader_has (r, W "model.max_seq")))
    ls_config_warning_at (
        r->config, r->errors, W "batch.seq_len",
        "%" G_GINT64_FORMAT " tokens are more than the %" G_GINT64_FORMAT
        " that the model is made for; set workload.model.max_seq if that is meant",
        w->seq_len, t->max_seq);
}

/* "the nearest are 960 and 1024". */
static char *nearest_multiples (gint64 value, gint64 of) {
  const gint64 below = value - value % of;

  return below == 0 || below > G_MAXINT64 - of
             ? g_strdup_printf ("the nearest is %" G_GINT64_FORMAT, MAX (below, of))
             : g_strdup_printf ("the nearest are %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT, below,
                                below + of);
}

static void read_batch (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  const gint64 one = w->micro_batch * (gint64) w->layout.data;

  w->global_batch =
      ls_reader_has (r, W "batch.global") ? ls_config_get_int (r->config, W "batch.global") : one;
  if (ls_reader_share (r))
    return;
  if (r->cluster == NULL || w->global_batch % one == 0)
    return;
  g_autofree char *near = nearest_multiples (w->global_batch, one);
  ls_reader_fault (r, W "batch.global",
                   "%" G_GINT64_FORMAT " is no multiple of micro-batch %" G_GINT64_FORMAT
                   " x %u data-parallel ranks = %" G_GINT64_FORMAT "; %s",
                   w->global_batch, w->micro_batch, w->layout.data, one, near);
}

/* Sizes whose products would leave 64 bits of bytes; in doubles, with a margin. */
static gboolean is_too_large (const LsWorkload *w) {
  const LsTransformer *t = &w->model->transformer;
  const double tokens = (double) w->micro_batch * (double) w->seq_len;
  double largest = 0;

  if (w->model->kind == LS_MODEL_TRANSFORMER) {
    const double heads = (double) t->heads;
    const double routed = (double) t->experts.top_k * (double) MAX (t->hidden, 3 * t->experts.ffn) *
                          MAX (t->experts.capacity_factor, 1);
    const double attention =
        heads * (3 * (double) t->head_dim + (double) t->latent.nope + (double) t->latent.rope +
                 (double) t->latent.value + (double) w->seq_len);
    const double width =
        (double) MAX (MAX (t->vocab, 3 * t->ffn), MAX (t->hidden, 3 * t->experts.shared_ffn));

    largest = tokens * (double) t->layers * MAX (MAX (width, attention), routed);
  } else {
    for (guint i = 0; i < w->model->n_elements; i++) {
      const LsElement *e = &w->model->elements[i];

      largest +=
          (double) w->micro_batch * (double) MAX (e->in_channels * e->in_height * e->in_width,
                                                  e->out_channels * e->out_height * e->out_width);
    }
  }
  return largest > 1e16;
}

/* The cost model says when a kernel is too long for the clock. */
static void check_costs (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;

  for (guint number = 0; number < w->layout.pipeline; number += MAX (w->layout.pipeline - 1, 1)) {
    g_autoptr (LsStage) stage =
        ls_stage_new (w, number, ls_cluster_gpu (r->cluster, w->gpu_of_rank[0]));

    for (guint run = 0; run < stage->n_runs; run++) {
      const LsLayerPlan *plan = stage->runs[run].plan;

      for (guint i = 0; i < plan->n_forward + plan->n_backward; i++)
        if ((i < plan->n_forward ? plan->forward[i] : plan->backward[i - plan->n_forward])
                .cost.overflow) {
          ls_reader_fault (r, W "batch",
                           "a kernel (%s) would take longer than %.1f days, a quarter of the clock",
                           plan->name, LS_KERNEL_LONGEST_S / 86400);
          return;
        }
    }
  }
}

/* Prices all kernels of a stage on an accelerator, so that rows of the table note their use. */
static void price_kernels (const LsWorkload *w, guint number, const LsAccelerator *accelerator) {
  g_autoptr (LsStage) stage = ls_stage_new (w, number, accelerator);
  LsDevice device;

  ls_device_init (&device, accelerator, LS_CLOCK_SUSTAINED, w->software);
  device.kernels = w->kernels;
  if (w->zero.offload == LS_OFFLOAD_NONE)
    ls_stage_update (stage, w, &device);
}

/* Rows of the table of kernels that no kernel of any stage on any accelerator took, and those that no device of
 * the catalogue could reach. */
static void check_kernels (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const char *const path = W "software.kernels";

  if (w->kernels == NULL)
    return;
  for (guint g = 0; g < ls_cluster_n_groups (r->cluster); g++)
    for (guint number = 0; number < w->layout.pipeline; number++)
      if (ls_cluster_group (r->cluster, g)->node.gpu != NULL && ls_reader_has_ranks (r, g))
        price_kernels (w, number, ls_cluster_group (r->cluster, g)->node.gpu);
  for (guint i = 0; i < ls_kernel_table_size (w->kernels); i++) {
    const LsKernelRow *row = ls_kernel_table_row (w->kernels, i);
    g_autofree char *text = ls_kernel_row_text (row);

    if (row->used == 0)
      ls_config_warning_at (r->config, r->errors, path, "%s:%u: no kernel of this job is %s",
                            ls_kernel_table_name (w->kernels), row->line, text);
    else if (row->impossible)
      ls_config_warning_at (r->config, r->errors, path,
                            "%s:%u: %s is faster than the peak of its device",
                            ls_kernel_table_name (w->kernels), row->line, text);
  }
}

/* --- all together --------------------------------------------------------------------------- */

static void read_all (LsWorkloadReader *r) {
  g_autoptr (GError) error = NULL;

  ls_reader_precision (r);
  ls_reader_loss_scaling (r);
  read_software (r);
  read_zero (r);
  ls_reader_recompute (r);
  read_optimizer (r);
  read_input (r);
  read_sequence (r);
  ls_reader_parallel (r);
  read_batch (r);
  ls_reader_check_zero (r);
  ls_reader_check_schedule (r);
  ls_reader_check_formats (r);
  check_attention (r);
  ls_reader_stop (r);
  if (is_too_large (r->workload))
    ls_reader_fault (r, W "batch", "the tensors of a micro-batch are too large to simulate");
  ls_update_read (r);
  read_pauses (r);
  read_documents (r);
  check_updates (r);
  if (!r->fine)
    return;
  if (!ls_workload_resolve (r->workload, &error))
    ls_reader_fault (r, "workload", "%s", error->message);
  else {
    check_costs (r);
    check_kernels (r);
  }
  if (!r->fine)
    return;
  ls_reader_choose_recompute (r);
}

/* Timed workers have no layers: only what travels and when counts. */
static void read_timed (LsWorkloadReader *r) {
  g_autoptr (GError) error = NULL;

  ls_reader_precision (r);
  ls_reader_loss_scaling (r);
  read_optimizer (r);
  ls_reader_parallel (r);
  if (ls_layout_replica (&r->workload->layout) > 1)
    ls_reader_fault (r, W "parallel", "a timed worker is one GPU; use data only");
  r->workload->global_batch = r->workload->layout.data;
  if (r->fine && !ls_workload_resolve (r->workload, &error))
    ls_reader_fault (r, "workload", "%s", error->message);
  if (r->fine)
    ls_update_read_timed (r);
}

static gboolean is_traffic (LsConfig *config) {
  return ls_config_has (config, W "model.kind") &&
         ls_config_is_word (config, W "model.kind", "traffic");
}

/* Of its own for each job, whatever other jobs there are. */
static guint64 seed_of (LsConfig *config, const char *name) {
  return ls_random_key ((guint64) ls_config_get_int (config, "seed"), name, 0);
}

LsWorkload *ls_workload_new_job (LsConfig *config, const char *name, const LsCluster *cluster,
                                 LsConfigErrors *errors) {
  g_autoptr (GString) path = g_string_new ("jobs");
  g_auto (GStrv) names = ls_config_get_names (config, "jobs");
  LsWorkload *workload;

  ls_config_path_append (path, name);
  g_string_append (path, ".workload");
  /* A single one called main keeps its short paths in messages. */
  if (g_strv_length (names) > 1 || strcmp (name, "main") != 0)
    ls_config_redirect (config, "workload", path->str);
  if (is_traffic (config))
    workload = ls_traffic_workload_new (config, cluster, seed_of (config, name), errors);
  else
    workload = ls_workload_new (config, cluster, errors);
  ls_config_redirect (config, NULL, NULL);
  return workload;
}

LsWorkload *ls_workload_new (LsConfig *config, const LsCluster *cluster, LsConfigErrors *errors) {
  if (is_traffic (config))
    return ls_traffic_workload_new (config, cluster, seed_of (config, "main"), errors);
  LsWorkloadReader reader = {.config = config, .cluster = cluster, .errors = errors, .fine = TRUE};
  LsModel *model = ls_workload_read_model (config, errors);

  if (model == NULL) {
    /* Go on with a stand-in, so that faults elsewhere are found in the same go. */
    model = ls_model_new_preset ("mlp-mnist", NULL);
    reader.fine = FALSE;
    reader.workload = ls_workload_new_default (model, 1);
    ls_reader_precision (&reader);
    read_software (&reader);
    read_optimizer (&reader);
    ls_workload_free (reader.workload);
    return NULL;
  }
  reader.workload = ls_workload_new_default (model, 1);
  if (model->kind == LS_MODEL_TIMED)
    read_timed (&reader);
  else
    read_all (&reader);
  if (reader.fine) {
    ls_reader_settled (&reader);
    ls_reader_unheard (&reader);
    return reader.workload;
  }
  ls_workload_free (reader.workload);
  return NULL;
}
