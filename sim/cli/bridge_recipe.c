/* Recipes of Megatron-Bridge; see bridge_recipe.h. */
#include "cli/bridge_recipe.h"

#include <string.h>

typedef struct {
  const char *preset;
  const char *gpus;   /* beginnings of names in the catalogue, between spaces; NULL: any */
  const char *format; /* of products; NULL: any */
  int from, until; /* releases, 260201 is 26.02.01; until: the first that it is not in; 0: open */
  LsBridgeRecipe recipe;
} Row;

#define HYBRID \
  { .dispatch = "fused" }
#define HYBRID_ATTENTION \
  { .dispatch = "fused", .parts = "attention" }
#define HYBRID_ROUTER \
  { .dispatch = "fused", .parts = "router" }
#define ALL_TO_ALL_ATTENTION \
  { .dispatch = "all-to-all", .parts = "attention" }
#define ALL_TO_ALL_ROUTER \
  { .dispatch = "all-to-all", .parts = "router" }
#define ALL_TO_ALL \
  { .dispatch = "all-to-all" }
#define ALL_TO_ALL_OVERLAP \
  { .dispatch = "all-to-all", .overlap = TRUE }
/* perf_recipes/qwen/common.py @134e903, _enable_hybridep_full_iteration_mxfp8, and those of DeepSeek-V3 @267f756 and
 * GPT-OSS @3564acf. */
#define WHOLE \
  { .dispatch = "fused", .overlap = TRUE, .graphs = TRUE, .fused = TRUE, .attention = TRUE }
/* And logits, by deepseek_llm_pretrain.py (fp8_output_proj of mxfp8), perf_recipes/deepseek/gb300 and those of GPT-OSS,
 * _apply_gpt_oss_120b_full_iter_fp8mx_configs. */
#define WHOLE_LOGITS                                                                        \
  {                                                                                         \
    .dispatch = "fused", .overlap = TRUE, .graphs = TRUE, .fused = TRUE, .attention = TRUE, \
    .logits = TRUE                                                                          \
  }
#define WHOLE_VIRTUAL                                                                       \
  {                                                                                         \
    .dispatch = "fused", .overlap = TRUE, .graphs = TRUE, .fused = TRUE, .attention = TRUE, \
    .interleaved = TRUE                                                                     \
  }

/* recompute_modules layernorm and moe_act; mla_up_proj (Megatron-Core, multi_latent_attention.py,
 * qkv_up_proj_and_rope_apply). */
#define NORMS_ACTIVATION "norm1, norm2, clamp, swiglu"
#define LATENT_UP "q_norm, kv_norm, q_up, kv_up, rotary, join_heads"
/* And mlp: the dense layers' (transformer_layer.py; their activation, which has the name of the experts', aside). */
#define DENSE "mlp_up, mlp_down"

static const Row rows[] = {
    /* qwen3_workload_base_configs.py @f29a269 and @01b2977; perf_recipes/qwen @04f0135 (whole iterations: release notes
     * of 0.5.1, pull request 4606, for B300 and B200). */
    {"qwen3-30b-a3b", "gb300 gb200 b300 b200", "mxfp8", 260600, 0, WHOLE},
    {"qwen3-30b-a3b", "b200", NULL, 260200, 260201, ALL_TO_ALL_ROUTER},
    {"qwen3-30b-a3b", "b200", NULL, 260201, 0, HYBRID_ATTENTION},
    {"qwen3-30b-a3b", "b200", NULL, 0, 0, ALL_TO_ALL},
    /* Pairs until pull request 2477 of February 2026 (configs/qwen3/workload_base_configs.py @767255d). */
    {"qwen3-30b-a3b", "h100", NULL, 0, 260201, ALL_TO_ALL_OVERLAP},
    {"qwen3-30b-a3b", "h100", NULL, 0, 260400, ALL_TO_ALL},
    {"qwen3-30b-a3b", "h100", NULL, 0, 0, HYBRID},
    {"qwen3-30b-a3b", "gb300 gb200 b300", NULL, 260200, 0, HYBRID_ROUTER},
    {"qwen3-30b-a3b", NULL, NULL, 0, 0, HYBRID},
    {"qwen3-235b-a22b", "gb300 gb200", "mxfp8", 260600, 0, WHOLE},
    /* Of pull request 4606, which gives them three virtual stages. */
    {"qwen3-235b-a22b", "b300 b200", "mxfp8", 260600, 0, WHOLE_VIRTUAL},
    {"qwen3-235b-a22b", "gb300 gb200", NULL, 260200, 0, HYBRID_ATTENTION},
    {"qwen3-235b-a22b", "gb300 gb200", NULL, 0, 0, HYBRID},
    {"qwen3-235b-a22b", "b300", NULL, 0, 260400, ALL_TO_ALL_OVERLAP},
    {"qwen3-235b-a22b", "h100", NULL, 0, 0, ALL_TO_ALL_OVERLAP},
    /* Pairs until pull request 1760 of December 2025 (configs/qwen3/workload_base_configs.py @767255d). */
    {"qwen3-235b-a22b", "b200", NULL, 0, 260200, ALL_TO_ALL_OVERLAP},
    /* With two samples per micro-batch and without virtual stages, as the tables of 26.04 and later print. */
    {"qwen3-235b-a22b", "b300", NULL, 260400, 0, HYBRID},
    {"qwen3-235b-a22b", NULL, NULL, 0, 0, ALL_TO_ALL},
    /* gpt_oss_workload_base_configs.py @1e7adfa and @07eea52. */
    {"gpt-oss-120b", "gb300 gb200", "mxfp8", 260600, 0, WHOLE_LOGITS},
    /* In 8 bits too by perf_recipes/gpt_oss/b300 @3564acf and @a6737a3; @07eea52 had pairs, fused scaling and attention in 8
     * bits, with whole iterations commented out. */
    {"gpt-oss-120b", "b300", NULL, 260201, 0, HYBRID_ATTENTION},
    {"gpt-oss-120b", "gb300 b300", "bf16", 260200, 0, ALL_TO_ALL_ATTENTION},
    /* Pull requests 2906 (pairs, HybridEP) and 3561 of 28 April 2026 (pairs, all-to-alls). */
    {"gpt-oss-120b",
     "gb200",
     "bf16",
     260201,
     260401,
     {.dispatch = "fused", .overlap = TRUE, .again = NORMS_ACTIVATION}},
    {"gpt-oss-120b",
     "gb200",
     "bf16",
     260401,
     0,
     {.dispatch = "all-to-all", .overlap = TRUE, .again = NORMS_ACTIVATION}},
    {"gpt-oss-120b",
     "gb200 b200 h100",
     "bf16",
     260200,
     0,
     {.dispatch = "all-to-all", .again = NORMS_ACTIVATION}},
    {"gpt-oss-120b", NULL, NULL, 0, 0, ALL_TO_ALL},
    /* deepseek_workload_base_configs.py @f0e2c37 and @0426418; on GB200 attention stays in 16 bits there and in
     * perf_recipes/deepseek/gb200 @267f756. */
    {"deepseek-v3", "gb300", "mxfp8", 260600, 0, WHOLE_LOGITS},
    {"deepseek-v3",
     "gb200",
     "mxfp8",
     260600,
     0,
     {.dispatch = "fused",
      .overlap = TRUE,
      .graphs = TRUE,
      .again = LATENT_UP,
      .fused = TRUE,
      .logits = TRUE}},
    /* Pull requests 4458 (B300, two virtual stages) and 4666 (in 4 bits neither pairs nor attention in 8). */
    {"deepseek-v3",
     "b300",
     "mxfp8",
     260600,
     0,
     {.dispatch = "fused",
      .overlap = TRUE,
      .graphs = TRUE,
      .again = LATENT_UP,
      .fused = TRUE,
      .attention = TRUE,
      .logits = TRUE,
      .interleaved = TRUE}},
    {"deepseek-v3",
     "gb300",
     "nvfp4",
     260601,
     0,
     {.dispatch = "fused", .graphs = TRUE, .fused = TRUE}},
    {"deepseek-v3",
     "gb200",
     "nvfp4",
     260601,
     0,
     {.dispatch = "fused", .graphs = TRUE, .again = LATENT_UP, .fused = TRUE}},
    {"deepseek-v3",
     "gb200",
     "bf16",
     260200,
     0,
     {.dispatch = "fused", .parts = "attention", .again = LATENT_UP}},
    /* Pull request 3031 of 30 March 2026, measured in 26.04's container. */
    {"deepseek-v3",
     "gb200",
     NULL,
     260400,
     0,
     {.dispatch = "fused", .parts = "attention", .again = DENSE}},
    {"deepseek-v3",
     "gb200",
     NULL,
     260200,
     0,
     {.dispatch = "fused", .parts = "attention", .again = LATENT_UP}},
    {"deepseek-v3", "gb300", "bf16", 260200, 0, HYBRID_ATTENTION},
    /* With eight stages in place of sixteen, by the later commit. */
    {"deepseek-v3",
     "b300",
     NULL,
     260401,
     0,
     {.dispatch = "fused", .parts = "attention", .again = LATENT_UP}},
    {"deepseek-v3", "h100", NULL, 260200, 0, {.dispatch = "fused", .again = LATENT_UP ", " DENSE}},
    {"deepseek-v3", NULL, NULL, 260200, 0, {.dispatch = "fused", .again = LATENT_UP}},
    /* workload_base_configs.py @d19cb73, of 25.11, one for all formats. */
    {"deepseek-v3", "gb300", NULL, 0, 0, HYBRID_ATTENTION},
    {"deepseek-v3",
     "gb200",
     NULL,
     0,
     0,
     {.dispatch = "fused", .parts = "router", .again = LATENT_UP}},
    {"deepseek-v3", "b200", NULL, 0, 0, {.dispatch = "all-to-all", .again = LATENT_UP}},
    {"deepseek-v3",
     "h100",
     NULL,
     0,
     0,
     {.dispatch = "fused", .overlap = TRUE, .again = LATENT_UP ", " DENSE}},
    {"deepseek-v3", NULL, NULL, 0, 0, HYBRID},
    /* kimi_workload_base_configs.py @7a6f3ba and @013180a: whole iterations go with one sample per micro-batch, which
     * no release up to 26.06 prints. */
    {"kimi-k2", "gb300", "mxfp8", 260800, 0, WHOLE},
    {"kimi-k2", "gb200", NULL, 0, 0, {.dispatch = "fused", .parts = "router", .again = LATENT_UP}},
    {"kimi-k2", "gb300", NULL, 0, 0, {.dispatch = "fused", .again = LATENT_UP}},
    {"kimi-k2", NULL, NULL, 0, 0, ALL_TO_ALL},
};

/* 26.02.01 is 260201; G_MAXINT when the row states no such release. */
static int release_number (const char *release) {
  g_auto (GStrv) words = g_strsplit (release, " ", -1);

  for (guint i = 0; words[i] != NULL; i++) {
    g_auto (GStrv) parts = g_strsplit (words[i], ".", -1);
    const guint n = g_strv_length (parts);

    if (n >= 2 && n <= 3 && strlen (parts[0]) == 2 && strlen (parts[1]) == 2)
      return 10000 * (int) g_ascii_strtoll (parts[0], NULL, 10) +
             100 * (int) g_ascii_strtoll (parts[1], NULL, 10) +
             (n == 3 ? (int) g_ascii_strtoll (parts[2], NULL, 10) : 0);
  }
  return G_MAXINT;
}

static gboolean is_one_of (const char *gpus, const char *name) {
  g_auto (GStrv) words = gpus != NULL ? g_strsplit (gpus, " ", -1) : NULL;

  for (guint i = 0; gpus != NULL && words[i] != NULL; i++)
    if (g_str_has_prefix (name, words[i]))
      return TRUE;
  return gpus == NULL;
}

const char *ls_bridge_attention (const LsTrainingRow *row) {
  const int release = release_number (row->release);

  return g_str_has_prefix (row->software->name, "megatron-bridge") && release >= 260200 ? "flash-4"
                                                                                        : NULL;
}

const LsBridgeRecipe *ls_bridge_recipe (const LsTrainingRow *row) {
  const int release = release_number (row->release);

  if (!ls_training_row_has_experts (row) ||
      !g_str_has_prefix (row->software->name, "megatron-bridge"))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const Row *r = &rows[i];

    if (g_str_equal (r->preset, row->preset->name) && is_one_of (r->gpus, row->gpu->name) &&
        (r->format == NULL || g_str_equal (r->format, row->compute_format)) && release >= r->from &&
        (r->until == 0 || release < r->until) &&
        (!r->recipe.interleaved || row->virtual_stages > 1))
      return &r->recipe;
  }
  return NULL;
}
