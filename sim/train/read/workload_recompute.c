/* `workload.recompute`: modes, named operations, and the choice of mode fit.
 */
#include <string.h>

#include "train/layer/stage.h"
#include "train/memory/recompute.h"
#include "train/read/workload_reader.h"

#define W "workload."

static const char *mode_word (guint i) {
  return ls_recompute_mode_name ((LsRecomputeMode) i);
}

static const char *unit_word (guint i) {
  return ls_recompute_unit_name ((LsRecomputeUnit) i);
}

/* Names of operations; whether layers have such is seen once the layers are known. */
static void read_operations (LsWorkloadReader *r) {
  static const char *const key = W "recompute.operations";
  LsRecompute *recompute = &r->workload->recompute;
  const guint n = ls_reader_has (r, key) ? ls_config_get_length (r->config, key) : 0;

  if (recompute->mode != LS_RECOMPUTE_SELECTIVE) {
    ls_reader_no_effect (r, key, "only with recompute.mode selective");
    return;
  }
  if (n == 0)
    return;
  recompute->operations = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", key, i);

    recompute->operations[i] = g_strdup (ls_config_get_string (r->config, item));
  }
}

static void add_names (GPtrArray *names, const LsStage *stage) {
  for (guint run = 0; run < stage->n_runs; run++)
    for (guint i = 0; stage->runs[run].is_block && i < stage->runs[run].plan->n_forward; i++) {
      const LsLayerOp *op = &stage->runs[run].plan->forward[i];

      if (!op->is_collective &&
          !g_ptr_array_find_with_equal_func (names, op->name, g_str_equal, NULL))
        g_ptr_array_add (names, (gpointer) op->name);
    }
}

/* Named operations that no layer has: each with the names that there are. */
static void check_operations (LsWorkloadReader *r) {
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const LsWorkload *w = r->workload;
  g_autofree char *list = NULL;

  if (w->recompute.operations == NULL)
    return;
  for (guint number = 0; number < w->layout.pipeline; number++) {
    g_autoptr (LsStage) stage =
        ls_stage_new (w, number, ls_cluster_gpu (r->cluster, w->gpu_of_rank[0]));

    add_names (names, stage);
  }
  g_ptr_array_add (names, NULL);
  list = g_strjoinv (", ", (char **) names->pdata);
  for (guint i = 0; w->recompute.operations[i] != NULL; i++) {
    g_autofree char *item = g_strdup_printf (W "recompute.operations.%u", i);

    if (!g_strv_contains ((const char *const *) names->pdata, w->recompute.operations[i]))
      ls_reader_fault (r, item, "no layer has an operation '%s'; it has %s",
                       w->recompute.operations[i], list);
  }
}

/* Mode fit: chosen now that all else is known. */
static void fit_recompute (LsWorkloadReader *r) {
  const LsLayout *layout = &r->workload->layout;
  g_autofree const LsAccelerator **gpus = g_new0 (const LsAccelerator *, layout->pipeline);

  if (r->workload->recompute.mode != LS_RECOMPUTE_FIT)
    return;
  for (guint stage = 0; stage < layout->pipeline; stage++) {
    const guint rank = ls_layout_rank (layout, (LsCoordinates){.stage = stage});

    gpus[stage] = ls_cluster_gpu (r->cluster, r->workload->gpu_of_rank[rank]);
  }
  ls_recompute_fit (r->workload, gpus);
}

static void read_offload (LsWorkloadReader *r) {
  static const char *const key = W "recompute.offload", *const overlap =
                                                            W "recompute.offload_overlap";
  LsRecompute *recompute = &r->workload->recompute;

  recompute->offload = ls_config_get_bool (r->config, key);
  if (!recompute->offload) {
    ls_reader_no_effect (r, overlap, "only with recompute.offload");
    return;
  }
  if (recompute->mode != LS_RECOMPUTE_FULL || recompute->unit != LS_RECOMPUTE_UNIT_BLOCK) {
    recompute->offload = FALSE;
    ls_reader_fault (
        r, key,
        "only inputs of recomputed layers go to the host: needs recompute.mode full and "
        "recompute.unit block");
  }
  recompute->offload_overlap = ls_reader_has (r, overlap)
                                   ? ls_config_get_bool (r->config, overlap)
                                   : !r->workload->software->deepspeed_copies;
}

/* What is not said follows from the keys that are: `recompute: {unit: block, every: 4}` is full. */
static LsRecomputeMode read_mode (LsWorkloadReader *r) {
  if (ls_reader_has (r, W "recompute.mode"))
    return (LsRecomputeMode) ls_reader_word (r, W "recompute.mode", mode_word,
                                             LS_N_RECOMPUTE_MODES);
  if (ls_reader_has (r, W "recompute.operations"))
    return LS_RECOMPUTE_SELECTIVE;
  return ls_reader_has (r, W "recompute.unit") || ls_reader_has (r, W "recompute.every") ||
                 ls_reader_has (r, W "recompute.layers")
             ? LS_RECOMPUTE_FULL
             : LS_RECOMPUTE_NONE;
}

void ls_reader_recompute (LsWorkloadReader *r) {
  LsRecompute *recompute = &r->workload->recompute;
  const char *const layers = W "recompute.layers", *const every = W "recompute.every";

  recompute->mode = read_mode (r);
  recompute->unit =
      (LsRecomputeUnit) ls_reader_word (r, W "recompute.unit", unit_word, LS_N_RECOMPUTE_UNITS);
  recompute->every = ls_config_is_word (r->config, every, "sqrt")
                         ? LS_RECOMPUTE_SQRT
                         : ls_config_get_int (r->config, every);
  recompute->layers = ls_config_is_word (r->config, layers, "all")
                          ? G_MAXINT64
                          : ls_config_get_int (r->config, layers);
  if (recompute->mode != LS_RECOMPUTE_FULL) {
    ls_reader_no_effect (r, W "recompute.unit", "only with recompute.mode full");
    ls_reader_no_effect (r, every, "only with recompute.mode full");
  }
  read_operations (r);
  read_offload (r);
  if (recompute->mode == LS_RECOMPUTE_FIT)
    ls_reader_no_effect (r, layers, "recompute.mode fit chooses the layers");
  if (recompute->mode == LS_RECOMPUTE_NONE)
    ls_reader_no_effect (r, layers, "recompute.mode is none");
  if (recompute->mode == LS_RECOMPUTE_SELECTIVE && recompute->operations == NULL &&
      ls_reader_has (r, W "recompute.mode") &&
      (r->workload->model->kind != LS_MODEL_TRANSFORMER ||
       (ls_reader_runs_flash (r, TRUE) && r->workload->model->transformer.latent.kv_rank == 0)))
    ls_config_no_effect (
        r->config, W "recompute.mode",
        "selective recompute repeats the attention core, and this run has none to "
        "repeat (a flash kernel keeps nothing of it); recompute.operations names others");
}

void ls_reader_choose_recompute (LsWorkloadReader *r) {
  check_operations (r);
  fit_recompute (r);
}
