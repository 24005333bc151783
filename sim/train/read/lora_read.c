/* Low-rank adapters from a scenario: model.lora.
 *
 * They go beside attention's maps if no targets are given, as in MLPerf's reference of Llama-2 70B
 * (mlcommons/training, llama2_70b_lora/run_llama_70B_scrolls_r16.sh: qkv_proj, o_proj).
 */
#include "train/read/lora_read.h"

#include "base/assert.h"

#define LORA "workload.model.lora."

static guint target_of (const char *word) {
  guint target = 0;

  while (target < LS_N_LORA_TARGETS &&
         !g_str_equal (ls_lora_target_name ((LsLoraTarget) target), word))
    target++;
  LS_REQUIRE (target < LS_N_LORA_TARGETS, "the word %s passed the schema", word);
  return target;
}

static guint read_targets (LsConfig *config) {
  const char *const key = LORA "targets";
  guint targets = 0;

  if (!ls_config_has (config, key))
    return 1u << LS_LORA_QKV | 1u << LS_LORA_PROJ;
  for (guint i = 0; i < ls_config_get_length (config, key); i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", key, i);

    targets |= 1u << target_of (ls_config_get_string (config, item));
  }
  return targets;
}

static gboolean fault (LsConfig *config, LsConfigErrors *errors, const char *key,
                       const char *message) {
  ls_config_error_at (config, errors, ls_config_has (config, key) ? key : "workload.model.lora",
                      "%s", message);
  return FALSE;
}

static gboolean check (LsConfig *config, LsConfigErrors *errors, const LsTransformer *t) {
  const gboolean mlp = ls_lora_has (&t->lora, LS_LORA_FC1) || ls_lora_has (&t->lora, LS_LORA_FC2);

  if (t->lora.targets == 0)
    return fault (config, errors, LORA "targets",
                  "an adapter needs a map: one or more of qkv, proj, fc1, fc2");
  if (t->latent.kv_rank > 0)
    return fault (config, errors, LORA "rank",
                  "adapters of latent attention are not modelled; drop model.lora");
  if (t->experts.count > 0 && mlp)
    return fault (config, errors, LORA "targets",
                  "adapters of experts are not modelled; use qkv and proj");
  return TRUE;
}

gboolean ls_read_lora (LsConfig *config, LsConfigErrors *errors, LsTransformer *t) {
  if (!ls_config_has (config, "workload.model.lora"))
    return TRUE;
  if (!ls_config_has (config, LORA "rank"))
    return fault (config, errors, LORA "rank",
                  "rank is missing: columns of the first matrix of each adapter, such as 16");
  t->lora.rank = ls_config_get_int (config, LORA "rank");
  t->lora.targets = read_targets (config);
  t->lora.dropout = ls_config_get_number (config, LORA "dropout") > 0;
  t->lora.fused = ls_config_get_bool (config, LORA "fused");
  return check (config, errors, t);
}
