/* The memory verdict in words: what is how large, and the least change that would make it fit.
 *
 * Model:      changes are tried one at a time, cheapest in step time first, then added to each other
 *             in the same order; the first that fits is named; then offload, alone and with them; then drives. Each is
 *             what a user would write.
 * Cost:       one estimate of all stages per change.
 */
#include <math.h>

#include "base/assert.h"
#include "train/memory/memory.h"

#define GB(bytes) ((double) (bytes) / 1e9)

/* A change: FALSE when it does not apply. Adds what it did to `text`. */
typedef gboolean (*Change) (LsWorkload *workload, GString *text);

static gboolean set_mode (LsWorkload *workload, GString *text, LsRecomputeMode mode) {
  workload->recompute.mode = mode;
  workload->recompute.unit = LS_RECOMPUTE_UNIT_BLOCK;
  workload->recompute.every = 1;
  workload->recompute.layers = G_MAXINT64;
  g_string_append_printf (text, "recompute.mode=%s", ls_recompute_mode_name (mode));
  return TRUE;
}

/* Of a proposal's copy: the kernel that runs where one of the accelerators has no flash kernel. */
static void settle_attention (LsWorkload *workload, const LsAccelerator *const *accelerators) {
  for (guint i = 0; i < workload->layout.pipeline; i++) {
    const LsAttention runs = ls_accelerator_attention (accelerators[i], workload->attention);

    if (!ls_attention_is_flash (runs))
      workload->attention = runs;
  }
}

static gboolean recompute_core (LsWorkload *workload, GString *text) {
  if (workload->recompute.mode != LS_RECOMPUTE_NONE ||
      workload->model->kind != LS_MODEL_TRANSFORMER || ls_attention_is_flash (workload->attention))
    return FALSE;
  return set_mode (workload, text, LS_RECOMPUTE_SELECTIVE);
}

static gboolean split_sequence (LsWorkload *workload, GString *text) {
  if (workload->layout.tensor == 1 || workload->sequence_parallel ||
      workload->seq_len % workload->layout.tensor != 0)
    return FALSE;
  workload->sequence_parallel = TRUE;
  g_string_append (text, "parallel.sequence_parallel=true");
  return TRUE;
}

static gboolean shard_more (LsWorkload *workload, GString *text, int stage) {
  if (ls_workload_shards (workload) == 1 || workload->zero.stage >= stage)
    return FALSE;
  workload->zero.stage = stage;
  g_string_append_printf (text, "zero.stage=%d", stage);
  return TRUE;
}

static gboolean shard_optimizer (LsWorkload *workload, GString *text) {
  return shard_more (workload, text, 1);
}

static gboolean shard_gradients (LsWorkload *workload, GString *text) {
  return workload->layout.pipeline == 1 && shard_more (workload, text, 2);
}

static gboolean halve_micro_batch (LsWorkload *workload, GString *text) {
  if (workload->micro_batch % 2 != 0)
    return FALSE;
  workload->micro_batch /= 2;
  g_string_append_printf (text, "batch.micro=%" G_GINT64_FORMAT, workload->micro_batch);
  return TRUE;
}

static gboolean shard_parameters (LsWorkload *workload, GString *text) {
  return workload->layout.pipeline == 1 && shard_more (workload, text, 3);
}

static gboolean recompute_all (LsWorkload *workload, GString *text) {
  if (workload->recompute.mode == LS_RECOMPUTE_FULL &&
      workload->recompute.unit == LS_RECOMPUTE_UNIT_BLOCK && workload->recompute.every == 1 &&
      workload->recompute.layers >= ls_model_n_layers (workload->model))
    return FALSE;
  return set_mode (workload, text, LS_RECOMPUTE_FULL);
}

/* Twice the tensor ranks for half the replicas; not across more GPUs than a node usually has. */
static gboolean double_tensor (LsWorkload *workload, GString *text) {
  if (workload->layout.tensor >= 8 || workload->layout.data % 2 != 0 ||
      workload->model->kind != LS_MODEL_TRANSFORMER)
    return FALSE;
  workload->layout.tensor *= 2;
  workload->layout.data /= 2;
  g_string_append_printf (text, "parallel.tensor=%u", workload->layout.tensor);
  return TRUE;
}

/* In a pipeline every micro-batch gathers anew: the slowest of the changes on the device. */
static gboolean shard_stages (LsWorkload *workload, GString *text) {
  return shard_more (workload, text, 3);
}

static const Change changes[] = {
    split_sequence,   recompute_core, shard_optimizer, shard_gradients, halve_micro_batch,
    shard_parameters, recompute_all,  double_tensor,   shard_stages,
};

/* The last resort: the host's update is slow. */
static gboolean offload_optimizer (LsWorkload *workload, GString *text) {
  if (workload->zero.offload != LS_OFFLOAD_NONE || workload->update.active)
    return FALSE;
  workload->zero.offload = LS_OFFLOAD_OPTIMIZER;
  if (workload->zero.stage > 0) {
    g_string_append (text, "zero.offload=optimizer");
    return TRUE;
  }
  workload->zero.stage = workload->layout.pipeline == 1 ? 2 : 1;
  g_string_append_printf (text, "zero={stage: %d, offload: optimizer}", workload->zero.stage);
  return TRUE;
}

static gboolean fits (LsWorkload *workload, const LsAccelerator *const *accelerators,
                      LsMemoryEstimate *estimate) {
  if (!ls_workload_resolve (workload, NULL))
    return FALSE;
  ls_memory_fullest (workload, accelerators, estimate);
  return estimate->fits;
}

/* Notes down "key=value"; a later value of a key replaces the earlier. */
static void say (GPtrArray *said, const char *text) {
  const gsize key = strcspn (text, "=") + 1;

  for (guint i = 0; i < said->len; i++)
    if (strncmp (said->pdata[i], text, key) == 0) {
      g_ptr_array_remove_index (said, i);
      break;
    }
  g_ptr_array_add (said, g_strdup (text));
}

/* "A, B, C together (61.3 GB)" (transfer full). */
static char *together (GPtrArray *said, gint64 bytes) {
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < said->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", (const char *) said->pdata[i]);
  g_string_append_printf (text, "%s (%.1f GB)", said->len > 1 ? " together" : "", GB (bytes));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Alone, or with all other changes, which `said` names; NULL. */
static char *find_offload (const LsWorkload *workload, const LsWorkload *changed, GPtrArray *said,
                           const LsAccelerator *const *accelerators) {
  g_autoptr (LsWorkload) one = ls_workload_copy (workload), both = ls_workload_copy (changed);
  g_autoptr (GString) alone = g_string_new (NULL), also = g_string_new (NULL);
  LsMemoryEstimate estimate;

  if (offload_optimizer (one, alone) && fits (one, accelerators, &estimate))
    return g_strdup_printf ("%s (%.1f GB)", alone->str, GB (estimate.reserved_bytes));
  if (said->len == 0 || !offload_optimizer (both, also) || !fits (both, accelerators, &estimate))
    return NULL;
  say (said, also->str);
  return together (said, estimate.reserved_bytes);
}

/* The first stage of ZeRO that fits without the host; NULL. */
static char *find_without_host (const LsWorkload *workload,
                                const LsAccelerator *const *accelerators) {
  if (workload->zero.offload == LS_OFFLOAD_NONE)
    return NULL;
  for (int stage = 0; stage <= 3; stage++) {
    g_autoptr (LsWorkload) one = ls_workload_copy (workload);
    LsMemoryEstimate estimate;

    one->zero.stage = stage;
    one->zero.offload = LS_OFFLOAD_NONE;
    if (fits (one, accelerators, &estimate))
      return g_strdup_printf ("zero={stage: %d, offload: none} (%.1f GB)", stage,
                              GB (estimate.reserved_bytes));
  }
  return NULL;
}

/* On the drives of the nodes, states or parameters too, where their size is known; NULL. The very last resort. */
static char *find_drives (const LsWorkload *workload, const LsAccelerator *const *accelerators) {
  if (workload->nvme_bytes == 0 || workload->update.active)
    return NULL;
  for (guint nvme = ls_workload_nvme (workload) + 1; nvme < LS_N_OFFLOADS; nvme++) {
    g_autoptr (LsWorkload) one = ls_workload_copy (workload);
    LsMemoryEstimate estimate;

    one->zero.stage = 3;
    one->zero.nvme = (LsOffload) nvme;
    one->zero.offload = MAX (one->zero.offload, one->zero.nvme);
    if (fits (one, accelerators, &estimate))
      return g_strdup_printf ("zero={stage: 3, offload: %s, nvme: %s} (%.1f GB)",
                              ls_offload_name (one->zero.offload), ls_offload_name (one->zero.nvme),
                              GB (estimate.reserved_bytes));
  }
  return NULL;
}

/* "zero.stage=3 (61.3 GB)" of the first change that fits, alone or with those before it; NULL. */
static char *find_remedy (const LsWorkload *workload, const LsAccelerator *const *accelerators) {
  g_autoptr (LsWorkload) all = ls_workload_copy (workload);
  g_autoptr (GPtrArray) said = g_ptr_array_new_with_free_func (g_free);
  LsMemoryEstimate estimate;
  char *without_host, *offloaded;

  for (guint i = 0; i < G_N_ELEMENTS (changes); i++) {
    g_autoptr (LsWorkload) one = ls_workload_copy (workload);
    g_autoptr (GString) text = g_string_new (NULL);

    if (changes[i](one, text) && fits (one, accelerators, &estimate))
      return g_strdup_printf ("%s (%.1f GB)", text->str, GB (estimate.reserved_bytes));
  }
  if ((without_host = find_without_host (workload, accelerators)) != NULL)
    return without_host;
  for (guint round = 0; round < 2 * G_N_ELEMENTS (changes); round++) {
    const Change change = changes[round % G_N_ELEMENTS (changes)];
    g_autoptr (LsWorkload) next = ls_workload_copy (all);
    g_autoptr (GString) text = g_string_new (NULL);

    if (!change (next, text) || !ls_workload_resolve (next, NULL))
      continue;
    say (said, text->str);
    ls_workload_free (all);
    all = g_steal_pointer (&next);
    if (fits (all, accelerators, &estimate))
      return together (said, estimate.reserved_bytes);
  }
  offloaded = find_offload (workload, all, said, accelerators);
  return offloaded != NULL ? offloaded : find_drives (workload, accelerators);
}

/* So near to the limit that the count may be wrong about it. */
static gboolean is_close (const LsMemoryEstimate *e) {
  return fabs ((double) (e->capacity_bytes - e->reserved_bytes)) <
         LS_MEMORY_ERROR * (double) e->reserved_bytes;
}

/* What is offloaded, beside the device's. */
static void append_host (GString *text, const LsMemoryEstimate *e) {
  if (e->host_bytes == 0)
    return;
  g_string_append_printf (text,
                          "; in the host's memory: parameters %.1f, gradients %.1f, optimizer "
                          "%.1f, activations %.1f GB "
                          "of this rank",
                          GB (e->host.parameters_bytes), GB (e->host.gradients_bytes),
                          GB (e->host.optimizer_bytes), GB (e->host_activations_bytes));
  if (e->host_capacity_bytes > 0)
    g_string_append_printf (text, ", %.1f of its share of %.1f GB%s", GB (e->host_bytes),
                            GB (e->host_capacity_bytes),
                            ls_memory_host_fits (e) ? "" : ": too much");
}

/* What lies on drives. */
static void append_drives (GString *text, const LsMemoryEstimate *e) {
  if (e->drives_bytes == 0)
    return;
  g_string_append_printf (text,
                          "; on the node's drives: parameters %.1f, gradients %.1f, optimizer "
                          "%.1f GB of this rank, %.1f GB of its host's memory for what is on "
                          "its way",
                          GB (e->drives.parameters_bytes), GB (e->drives.gradients_bytes),
                          GB (e->drives.optimizer_bytes), GB (e->host_staging_bytes));
  if (e->drives_capacity_bytes > 0)
    g_string_append_printf (text, ", %.1f of its share of %.1f GB%s", GB (e->drives_bytes),
                            GB (e->drives_capacity_bytes),
                            ls_memory_drives_fit (e) ? "" : ": too much");
}

char *ls_memory_verdict (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                         const LsMemoryEstimate *e) {
  GString *text = g_string_new (NULL);
  g_autoptr (LsWorkload) settled = NULL;
  g_autofree char *remedy = NULL;

  if (e->fits)
    g_string_append_printf (text, "fits: %.1f GB of %.1f GB usable", GB (e->reserved_bytes),
                            GB (e->capacity_bytes));
  else if (e->reserved_bytes <= e->capacity_bytes)
    g_string_append_printf (text, "does not fit its %s; the device has room: %.1f GB of %.1f GB",
                            ls_memory_host_fits (e) ? "drives" : "host", GB (e->reserved_bytes),
                            GB (e->capacity_bytes));
  else
    g_string_append_printf (text, "does not fit: needs %.1f GB, %.1f GB usable",
                            GB (e->reserved_bytes), GB (e->capacity_bytes));
  g_string_append_printf (text, " on %s", accelerators[e->stage]->name);
  if (workload->layout.pipeline > 1)
    g_string_append_printf (text, " at stage %u", e->stage);
  g_string_append (text, ":");
  for (guint kind = 0; kind < LS_N_MEMORY; kind++)
    g_string_append_printf (text, "%s %s %.1f", kind > 0 ? "," : "",
                            ls_memory_name ((LsMemoryKind) kind), GB (e->bytes[kind]));
  g_string_append_printf (text, " GB, allocator %.1f GB",
                          GB (e->reserved_bytes - e->allocated_bytes));
  append_host (text, e);
  append_drives (text, e);
  if (is_close (e))
    g_string_append_printf (text, "; close: measured peaks differ from this count by up to %.0f %%",
                            100 * LS_MEMORY_ERROR);
  if (e->fits)
    return g_string_free (text, FALSE);
  settled = ls_workload_copy (workload);
  settle_attention (settled, accelerators);
  remedy = find_remedy (settled, accelerators);
  if (remedy != NULL)
    g_string_append_printf (text, "; would fit with workload.%s", remedy);
  else
    g_string_append (
        text, "; no change of recompute, ZeRO stage, micro-batch, tensor size or offload makes "
              "it fit: use more GPUs or pipeline stages, or a smaller model");
  return g_string_free (text, FALSE);
}
