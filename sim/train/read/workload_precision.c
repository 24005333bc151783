/* The precision of a workload from a scenario: formats, scales, scaling of the loss, and what the accelerators
 * have of it.
 *
 * Invariants: a format that an accelerator lacks is a warning that names what runs in its place, never a fault;
 *             a key without effect is marked with the reason.
 */
#include "base/assert.h"
#include "base/quantity.h"
#include "train/read/workload_reader.h"

#define W "workload."
#define SCALING W "precision.loss_scaling."

static const char *recipe_word (guint i) {
  return ls_fp8_recipe_name ((LsFp8Recipe) i);
}

static const char *loss_scale_word (guint i) {
  return ls_loss_scale_name ((LsLossScaleKind) i);
}

/* A format that the schema has checked; `otherwise` when the key is absent. */
static LsFormat read_format (LsWorkloadReader *r, const char *path, LsFormat otherwise) {
  LsFormat format = otherwise;
  gboolean known = TRUE;

  if (ls_reader_has (r, path))
    known = ls_format_parse (ls_config_get_string (r->config, path), &format, NULL);
  LS_REQUIRE (known, "%s passed the schema", path);
  return format;
}

/* Products of 8 or 4 bits: how they are scaled, and what stays wide. */
static void read_narrow (LsWorkloadReader *r, LsPrecision *p) {
  static const char *const only = "only with a precision.compute of 8 or 4 bits";
  const char *const parameters = W "precision.parameters";
  LsNarrow *narrow = &p->narrow;
  const gboolean blocks = ls_format_info (narrow->forward)->block > 1;

  if (!narrow->used) {
    ls_reader_no_effect (r, W "precision.attention", only);
    ls_reader_no_effect (r, W "precision.logits", only);
    ls_reader_no_effect (r, W "precision.fused_scaling", only);
    ls_reader_no_effect (r, W "precision.activations", only);
    ls_reader_no_effect (r, W "precision.scaling", only);
    if (ls_reader_has (r, parameters) && ls_config_is_word (r->config, parameters, "compute"))
      p->parameters = p->compute == LS_FORMAT_TF32 ? LS_FORMAT_FP32 : p->compute;
    return;
  }
  p->compute = read_format (r, W "precision.activations", p->compute);
  narrow->fused = ls_config_get_bool (r->config, W "precision.fused_scaling");
  if (narrow->fused && !ls_precision_scales_as_written (p, narrow->forward))
    ls_reader_no_effect (r, W "precision.fused_scaling",
                         "these scales are not known before the values");
  p->narrow_logits = ls_config_is_word (r->config, W "precision.logits", "compute");
  p->narrow_attention = ls_config_is_word (r->config, W "precision.attention", "fp8");
  if (blocks)
    ls_reader_no_effect (r, W "precision.scaling", "mxfp8 and nvfp4 scale by block");
  else
    narrow->recipe =
        (LsFp8Recipe) ls_reader_word (r, W "precision.scaling", recipe_word, LS_N_FP8_RECIPES);
  if (!ls_reader_has (r, parameters) || !ls_config_is_word (r->config, parameters, "compute"))
    return;
  p->parameters = narrow->forward;
  narrow->gathered = TRUE;
}

/* Linear maps that are not trained. */
static void read_frozen (LsWorkloadReader *r, LsPrecision *p) {
  const char *const key = W "precision.frozen";
  const LsModel *model = r->workload->model;
  const gboolean frozen = model->kind == LS_MODEL_TRANSFORMER && model->transformer.lora.rank > 0;

  p->frozen = p->parameters;
  if (!frozen)
    ls_reader_no_effect (r, key, "only with model.lora");
  else if (ls_reader_has (r, key) && ls_config_is_word (r->config, key, "compute"))
    p->frozen = p->narrow.used ? p->narrow.forward : p->compute;
  else
    p->frozen = read_format (r, key, p->frozen);
}

static const char *precision_word (LsWorkloadReader *r) {
  static const char *const keys[] = {W "precision.compute", W "precision.preset"};

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (ls_reader_has (r, keys[i]))
      return ls_config_get_string (r->config, keys[i]);
  return "bf16";
}

void ls_reader_precision (LsWorkloadReader *r) {
  const char *const compute = precision_word (r), *const parameters = W "precision.parameters";
  const LsPrecision own = ls_precision_of_word (compute);
  LsPrecision p =
      ls_reader_has (r, W "precision.preset")
          ? ls_precision_of_word (ls_config_get_string (r->config, W "precision.preset"))
          : own;

  p.compute = own.compute;
  p.narrow = own.narrow;
  if (!ls_reader_has (r, parameters) || !ls_config_is_word (r->config, parameters, "compute"))
    p.parameters = read_format (r, parameters, p.parameters);
  read_narrow (r, &p);
  read_frozen (r, &p);
  p.activation_input_used = ls_reader_has (r, W "precision.activation_input");
  p.activation_input = read_format (r, W "precision.activation_input", p.compute);
  p.gradients = read_format (r, W "precision.gradients", p.gradients);
  if (ls_reader_has (r, W "precision.master")) {
    p.master_used = !ls_config_is_word (r->config, W "precision.master", "none");
    if (p.master_used)
      p.master = read_format (r, W "precision.master", p.master);
  }
  p.optimizer = read_format (r, W "precision.optimizer", p.optimizer);
  p.communication = read_format (r, W "precision.communication", p.gradients);
  r->workload->precision = p;
}

/* fp16 has the range for which scaling was made; the other formats have that of fp32. */
void ls_reader_loss_scaling (LsWorkloadReader *r) {
  static const char *const keys[] = {"kind",     "initial",   "growth", "backoff",
                                     "interval", "threshold", "spread"};
  LsLossScaling *scaling = &r->workload->loss_scaling;
  LsLossScaleSettings *scaler = &scaling->scaler;
  const gboolean timed = r->workload->model->kind == LS_MODEL_TIMED;
  const gboolean half = r->workload->precision.compute == LS_FORMAT_FP16 && !timed;

  *scaler = (LsLossScaleSettings){.kind = half ? LS_LOSS_SCALE_DYNAMIC : LS_LOSS_SCALE_NONE};
  if (half && ls_reader_has (r, SCALING "kind"))
    scaler->kind =
        (LsLossScaleKind) ls_reader_word (r, SCALING "kind", loss_scale_word, LS_N_LOSS_SCALES);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autofree char *path = g_strconcat (SCALING, keys[i], NULL);

    if (!half)
      ls_reader_no_effect (r, path,
                           timed ? "timed workers have no gradients to scale"
                                 : "only fp16 needs its gradients scaled");
    else if (scaler->kind == LS_LOSS_SCALE_NONE && i > 0)
      ls_reader_no_effect (r, path, "loss_scaling.kind is none");
    else if (scaler->kind == LS_LOSS_SCALE_STATIC && i >= 2 && i <= 4)
      ls_reader_no_effect (r, path, "a static scale does not change");
  }
  scaler->initial = ls_config_get_number (r->config, SCALING "initial");
  scaler->growth = ls_config_get_number (r->config, SCALING "growth");
  scaler->backoff = ls_config_get_number (r->config, SCALING "backoff");
  scaler->interval = ls_config_get_int (r->config, SCALING "interval");
  scaling->threshold = ls_config_get_number (r->config, SCALING "threshold");
  scaling->spread = ls_config_get_number (r->config, SCALING "spread");
  if (scaler->growth < 1)
    ls_reader_fault (r, SCALING "growth", "a growth is at least 1");
}

/* Attention in 8 bits where the kernel or the accelerators of a group have none stays in that of the activations. */
static void check_narrow_attention (LsWorkloadReader *r) {
  static const char *const path = W "precision.attention";
  const LsWorkload *w = r->workload;
  const LsAccelerator *told = NULL;

  if (!w->precision.narrow.used || !w->precision.narrow_attention)
    return;
  if (w->attention < LS_ATTENTION_FLASH3) {
    ls_reader_no_effect (r, path,
                         "only the attention kernels flash-3 and flash-4 have a form in 8 bits");
    return;
  }
  for (guint g = 0; r->cluster != NULL && g < ls_cluster_n_groups (r->cluster); g++) {
    const LsAccelerator *gpu = ls_cluster_group (r->cluster, g)->node.gpu;

    if (gpu == NULL || gpu == told || !ls_reader_has_ranks (r, g) ||
        gpu->tuning->flash_narrow_forward.value > 0)
      continue;
    told = gpu;
    ls_config_warning_at (r->config, r->errors, path,
                          "%s has no attention in 8 bits and multiplies it in %s", gpu->name,
                          ls_format_name (w->precision.compute));
  }
}

static const LsAccelerator *accelerator_of (const LsWorkloadReader *r, guint rank) {
  return ls_cluster_gpu (r->cluster, r->workload->gpu_of_rank[rank]);
}

static LsFormat multiplies_in (const LsWorkload *w, const LsAccelerator *gpu) {
  LsFormat forward = w->precision.compute, gradient = forward;

  return ls_precision_narrow_on (&w->precision, gpu, &forward, &gradient) ? forward
                                                                          : w->precision.compute;
}

/* Ranks of a tensor group pass each other what they multiply, in one format. */
static void check_tensor_formats (LsWorkloadReader *r, const char *path) {
  const LsWorkload *w = r->workload;

  if (!w->precision.narrow.used || w->gpu_of_rank == NULL || ls_cluster_n_groups (r->cluster) == 1)
    return;
  for (guint rank = 0; rank < w->layout.ranks; rank++) {
    LsCoordinates first = ls_layout_coordinates (&w->layout, rank);
    first.tensor = 0;
    const LsAccelerator *gpus[] = {accelerator_of (r, ls_layout_rank (&w->layout, first)),
                                   accelerator_of (r, rank)};
    const LsFormat formats[] = {multiplies_in (w, gpus[0]), multiplies_in (w, gpus[1])};
    if (formats[0] == formats[1])
      continue;
    ls_config_error_at (r->config, r->errors, path,
                        "%s multiplies in %s and %s in %s, and a tensor group has both; take a "
                        "format that both have, or keep tensor groups to one kind",
                        gpus[0]->name, ls_format_name (formats[0]), gpus[1]->name,
                        ls_format_name (formats[1]));
    return;
  }
}

/* A compute format that the accelerators of a group lack runs as another: a warning for each kind, with the
 * rate that remains. */
void ls_reader_check_formats (LsWorkloadReader *r) {
  const char *path =
      ls_reader_has (r, W "precision.compute") ? W "precision.compute" : W "precision";

  if (r->workload->precision.narrow.used && r->workload->model->kind != LS_MODEL_TRANSFORMER) {
    ls_config_warning_at (r->config, r->errors, path,
                          "only linear maps of transformer blocks run in %s; this model runs in %s",
                          ls_format_name (r->workload->precision.narrow.forward),
                          ls_format_name (r->workload->precision.compute));
    r->workload->precision.narrow.used = FALSE;
  }
  const LsFormat wanted = ls_precision_matmul (&r->workload->precision);
  const LsAccelerator *told = NULL;

  for (guint g = 0; r->cluster != NULL && g < ls_cluster_n_groups (r->cluster); g++) {
    const LsAccelerator *gpu = ls_cluster_group (r->cluster, g)->node.gpu;
    const char *why = NULL;

    if (gpu == NULL || gpu == told || !ls_reader_has_ranks (r, g))
      continue;
    const LsFormat effective = ls_accelerator_effective_format (gpu, wanted, &why);
    if (effective == wanted)
      continue;
    told = gpu;
    g_autofree char *rate =
        ls_quantity_format (ls_accelerator_peak (gpu, effective), LS_DIMENSION_FLOPS_PER_S);
    ls_config_warning_at (r->config, r->errors, path,
                          "%s has no native %s and computes in %s at %s (peak)%s%s", gpu->name,
                          ls_format_name (wanted), ls_format_name (effective), rate,
                          why != NULL ? ": " : "", why != NULL ? why : "");
  }
  check_narrow_attention (r);
  if (r->cluster != NULL)
    check_tensor_formats (r, path);
}
