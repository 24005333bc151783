/* Mixtures of experts and latent attention from a scenario: model.experts, model.latent, model.mtp.
 *
 * What a preset gave stays where no key is given; `experts: null` over a preset is no way to a dense model,
 * because a preset is not a layer: `experts.count: 0` is.
 */
#include "train/read/experts_read.h"

#define MODEL "workload.model."
#define EXPERTS MODEL "experts."
#define LATENT MODEL "latent."

static gboolean read_size (LsConfig *config, const char *path, gint64 *value) {
  if (!ls_config_has (config, path))
    return FALSE;
  *value = ls_config_get_int (config, path);
  return TRUE;
}

/* Shared experts are kept as one MLP as wide as all of them. */
static void read_shared (LsConfig *config, LsExperts *e) {
  gint64 count = e->shared_ffn > 0 ? 1 : 0, width = count > 0 ? e->shared_ffn : e->ffn;
  const gboolean counted = read_size (config, EXPERTS "shared", &count);
  const gboolean sized = read_size (config, EXPERTS "shared_ffn", &width);

  if (counted && !sized)
    width = e->ffn;
  if (sized && !counted)
    count = MAX (count, 1);
  if (counted || sized)
    e->shared_ffn = count * width;
}

static void read_capacity (LsConfig *config, LsExperts *e) {
  if (ls_config_has (config, EXPERTS "capacity_factor"))
    e->capacity_factor = ls_config_is_word (config, EXPERTS "capacity_factor", "none")
                             ? 0
                             : ls_config_get_number (config, EXPERTS "capacity_factor");
}

static gboolean read_skew (LsConfig *config, LsConfigErrors *errors, LsExperts *e) {
  static const char *const keys[] = {EXPERTS "skew.ratio", EXPERTS "skew.exponent",
                                     EXPERTS "skew.concentration"};
  double *const values[] = {&e->skew.ratio, &e->skew.exponent, &e->skew.concentration};
  guint given = 0;

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    if (!ls_config_has (config, keys[i]))
      continue;
    *values[i] = ls_config_get_number (config, keys[i]);
    if (++given < 2)
      continue;
    ls_config_error_at (config, errors, keys[i], "give one of ratio, exponent, concentration");
    return FALSE;
  }
  if (e->skew.ratio * (double) e->top_k > (double) e->count) {
    ls_config_error_at (config, errors, keys[0],
                        "a token goes to %" G_GINT64_FORMAT
                        " different experts, so that none can have more than %g times the mean",
                        e->top_k, (double) e->count / (double) e->top_k);
    return FALSE;
  }
  return TRUE;
}

static void read_groups (LsConfig *config, LsExperts *e) {
  const gboolean given = read_size (config, EXPERTS "groups", &e->groups);

  e->groups = MAX (e->groups, 1);
  if (!read_size (config, EXPERTS "top_groups", &e->top_groups) && (given || e->top_groups == 0))
    e->top_groups = e->groups;
  if (e->groups == 1)
    ls_config_no_effect (config, EXPERTS "top_groups", "experts.groups is 1");
}

/* Its experts must fit into the groups that a token may use. */
static gboolean check_groups (LsConfig *config, LsConfigErrors *errors, const LsExperts *e) {
  const gboolean chosen = ls_config_has (config, EXPERTS "top_groups");

  if (e->count % e->groups == 0 && e->top_groups <= e->groups &&
      e->top_groups * (e->count / e->groups) >= e->top_k)
    return TRUE;
  ls_config_error_at (
      config, errors, chosen ? EXPERTS "top_groups" : EXPERTS "groups",
      "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " equal groups of %" G_GINT64_FORMAT
      " experts cannot hold a token's %" G_GINT64_FORMAT
      "; groups must divide experts.count, and those of a token have at least experts.top_k",
      e->top_groups, e->groups, e->count, e->top_k);
  return FALSE;
}

static gboolean check_experts (LsConfig *config, LsConfigErrors *errors, const LsTransformer *t) {
  const LsExperts *e = &t->experts;

  if (e->top_k > e->count) {
    ls_config_error_at (config, errors, EXPERTS "top_k",
                        "a token cannot be sent to %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                        " experts; use at most that many",
                        e->top_k, e->count);
    return FALSE;
  }
  if (ls_transformer_expert_blocks (t, t->layers) == 0) {
    ls_config_error_at (config, errors,
                        ls_config_has (config, EXPERTS "dense_layers_first") ? EXPERTS
                            "dense_layers_first"
                                                                             : EXPERTS "every",
                        "no layer of %" G_GINT64_FORMAT " has experts", t->layers);
    return FALSE;
  }
  return TRUE;
}

static void no_experts (LsConfig *config) {
  static const char *const keys[] = {
      "top_k",           "groups",     "top_groups", "ffn",
      "shared",          "shared_ffn", "every",      "dense_layers_first",
      "capacity_factor", "skew"};

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autofree char *path = g_strconcat (EXPERTS, keys[i], NULL);

    ls_config_no_effect (config, path, "the model has no experts: give model.experts.count");
  }
}

gboolean ls_read_experts (LsConfig *config, LsConfigErrors *errors, LsTransformer *t) {
  LsExperts *e = &t->experts;

  read_size (config, EXPERTS "count", &e->count);
  if (e->count == 0) {
    *e = (LsExperts){0};
    no_experts (config);
    return TRUE;
  }
  if (!read_size (config, EXPERTS "top_k", &e->top_k) && e->top_k == 0)
    e->top_k = MIN (2, e->count);
  if (!read_size (config, EXPERTS "ffn", &e->ffn) && e->ffn == 0)
    e->ffn = t->ffn;
  read_size (config, EXPERTS "every", &e->every);
  read_size (config, EXPERTS "dense_layers_first", &e->dense_first);
  read_groups (config, e);
  read_shared (config, e);
  read_capacity (config, e);
  const gboolean skew = read_skew (config, errors, e);
  return check_experts (config, errors, t) && check_groups (config, errors, e) && skew;
}

gboolean ls_read_latent (LsConfig *config, LsConfigErrors *errors, LsTransformer *t) {
  LsLatent *l = &t->latent;
  static const char *const keys[] = {"nope_head_dim", "rope_head_dim", "value_head_dim"};
  gint64 *const sizes[] = {&l->nope, &l->rope, &l->value};
  gboolean fine = TRUE;

  read_size (config, LATENT "kv_rank", &l->kv_rank);
  read_size (config, LATENT "q_rank", &l->q_rank);
  if (l->kv_rank == 0) {
    ls_config_no_effect (config, MODEL "latent", "it has no kv_rank");
    ls_config_no_effect (config, LATENT "q_rank", "only with model.latent.kv_rank");
    *l = (LsLatent){0};
  }
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    g_autofree char *path = g_strconcat (LATENT, keys[i], NULL);

    if (l->kv_rank == 0) {
      ls_config_no_effect (config, path, "only with model.latent.kv_rank");
    } else if (!read_size (config, path, sizes[i]) && *sizes[i] == 0) {
      ls_config_error_at (config, errors, MODEL "latent", "%s is missing", keys[i]);
      fine = FALSE;
    }
  }
  if (l->kv_rank > 0) {
    ls_config_no_effect (config, MODEL "kv_heads", "latent attention has as many as heads");
    ls_config_no_effect (config, MODEL "head_dim", "model.latent gives the widths of its heads");
    t->kv_heads = t->heads;
    t->head_dim = l->nope + l->rope;
  }
  return fine;
}
