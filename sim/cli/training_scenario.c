/* A row of a training table as a scenario, and the FLOPs that its publication counts. */
#include "cli/bridge_recipe.h"
#include "train/model/flops.h"

double ls_training_row_flops (const LsTrainingRow *row, const LsWorkload *workload,
                              LsFlopsDef definition) {
  double parameters = (double) ls_model_parameters (workload->model);

  switch (definition) {
  case LS_FLOPS_MEGATRON_HARDWARE:
    return ls_flops_megatron_recompute (row->global_batch, row->seq, row->layers, row->hidden,
                                        row->vocab);
  case LS_FLOPS_SIX_N:
    return (double) row->global_batch * (double) row->seq *
           ls_flops_per_token_6n (parameters, row->layers, row->hidden, row->seq);
  case LS_FLOPS_EIGHT_N:
    return (double) row->global_batch * (double) row->seq * 8 * parameters;
  case LS_FLOPS_MODEL:
    break;
  }
  /* Attention inside documents, in full (NVIDIA Megatron-Bridge, training/utils/flop_utils.py: avg_seqlen2). */
  if (row->documents > 0)
    return ls_model_training_flops (workload->model, row->global_batch * row->seq / row->documents,
                                    row->documents);
  /* Megatron-Bridge counts half of the scores that a causal mask hides (flop_utils.py @0494433: attn_layer_flops, core_seq /
   * 2), NeMo before it all. */
  if (g_str_has_prefix (row->software->name, "megatron-bridge"))
    return ls_workload_model_flops (workload) -
           ls_model_attention_flops (workload->model, row->global_batch, row->seq) / 2;
  return ls_workload_model_flops (workload);
}

/* Adapters as the row states them; else, of a node with fewer accelerators than its preset, as many for each. */
static void append_adapters (GString *yaml, const LsTrainingRow *row) {
  const gint64 nics = row->node->nics, gpus = row->node->gpus;
  const gboolean part = row->gpus_per_node < gpus && gpus != LS_NVL72_GPUS;
  const gint64 share = part ? MAX (1, nics * row->gpus_per_node / gpus) : nics;
  const gint64 count = row->nics > 0 ? row->nics : share;
  const double rated_gpus = (double) (row->nics > 0 || part ? row->gpus_per_node : gpus);

  if (count == 0 || (!part && row->nic_gbit_s <= 0))
    return;
  g_string_append (yaml, "        nics: {compute: {");
  if (row->nics > 0 || part)
    g_string_append_printf (yaml, "count: %d%s", (int) count, row->nic_gbit_s > 0 ? ", " : "");
  if (row->nic_gbit_s > 0)
    g_string_append_printf (yaml, "rate: %.6g Gb/s", row->nic_gbit_s * rated_gpus / (double) count);
  g_string_append (yaml, "}}\n");
}

/* A slice of another size than its preset: sides that are not one chip, closed to rings where they are whole cubes' (of flat
 * ones: the pod's), and as many hosts and adapters for each chip. */
static void append_slice (GString *yaml, const LsTrainingRow *row) {
  const LsNode *node = row->node;
  const gint64 chips = row->gpus_per_node;
  const int whole = node->torus[2] > 0 ? 4 : node->torus[0];
  const char *comma = "";
  g_autoptr (GString) rings = g_string_new (NULL);

  g_string_append_printf (yaml, "        gpus: %d\n        intra: {dims: [", (int) chips);
  for (guint i = 0; i < G_N_ELEMENTS (row->torus); i++)
    if (row->torus[i] > 1 || chips == 1) {
      g_string_append_printf (yaml, "%s%d", comma, row->torus[i]);
      g_string_append_printf (rings, "%s%s", comma, row->torus[i] % whole == 0 ? "true" : "false");
      comma = ", ";
    }
  g_string_append_printf (yaml, "], wrap: [%s]}\n", rings->str);
  g_string_append_printf (
      yaml, "        host: {count: %d, sockets: %d}\n        nics: {compute: {count: %d}}\n",
      (int) MAX (1, node->hosts * chips / node->gpus),
      (int) MAX (1, node->host_sockets * chips / node->gpus),
      (int) MAX (1, node->nics * chips / node->gpus));
}

static void append_cluster (GString *yaml, const LsTrainingRow *row) {
  gint64 per_node = MIN (row->gpus, row->gpus_per_node);

  g_string_append_printf (
      yaml, "cluster:\n  groups:\n    main:\n      nodes: %d\n      node:\n        preset: %s\n",
      (int) (row->gpus / per_node), row->node->name);
  if (row->torus[2] > 0 && per_node != row->node->gpus) {
    append_slice (yaml, row);
    return;
  }
  if (per_node != row->node->gpus)
    g_string_append_printf (yaml, "        gpus: %d\n", (int) per_node);
  append_adapters (yaml, row);
}

static void append_lora (GString *yaml, const LsTrainingRow *row) {
  if (row->lora_rank > 0)
    g_string_append_printf (yaml, "    lora: {rank: %d, targets: [%s], dropout: %s%s}\n",
                            (int) row->lora_rank, row->lora_targets,
                            row->lora_dropout ? "0.1" : "0",
                            row->lora_fused && row->tp == 1 ? ", fused: true" : "");
}

/* Of a dense preset the sizes that the row states otherwise. */
static void append_other_sizes (GString *yaml, const LsTrainingRow *row) {
  const LsTransformer *t = &row->preset->transformer;
  const struct {
    const char *key;
    gint64 stated, preset;
  } sizes[] = {{"hidden", row->hidden, t->hidden},
               {"heads", row->heads, t->heads},
               {"kv_heads", row->kv_heads, t->kv_heads},
               {"ffn", row->ffn, t->ffn},
               {"vocab", row->vocab, t->vocab}};

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (sizes[i].stated != sizes[i].preset)
      g_string_append_printf (yaml, "    %s: %d\n", sizes[i].key, (int) sizes[i].stated);
  if (row->seq > t->max_seq)
    g_string_append_printf (yaml, "    max_seq: %d\n", (int) row->seq);
}

static void append_experts (GString *yaml, const LsTrainingRow *row) {
  const gboolean padded = row->capacity > 0 && ls_training_row_has_experts (row);

  if (row->dense_first < 0 && !padded)
    return;
  g_string_append (yaml, "    experts: {");
  if (row->dense_first >= 0)
    g_string_append_printf (yaml, "dense_layers_first: %d", (int) row->dense_first);
  if (padded)
    g_string_append_printf (yaml, "%scapacity_factor: %g", row->dense_first >= 0 ? ", " : "",
                            row->capacity);
  g_string_append (yaml, "}\n");
}

static void append_published (GString *yaml, const LsTrainingRow *row) {
  g_string_append_printf (yaml, "  model:\n    preset: %s\n    layers: %d\n", row->preset->name,
                          (int) row->layers);
  if (ls_training_row_has_experts (row))
    g_string_append_printf (yaml, "    mtp: %d\n", (int) row->mtp);
  else
    append_other_sizes (yaml, row);
  append_experts (yaml, row);
  append_lora (yaml, row);
}

static void append_model (GString *yaml, const LsTrainingRow *row) {
  if (row->preset != NULL) {
    append_published (yaml, row);
    return;
  }
  g_string_append_printf (
      yaml,
      "  model:\n    kind: transformer\n    layers: %d\n    hidden: %d\n    heads: %d\n"
      "    kv_heads: %d\n    ffn: %d\n    vocab: %d\n    max_seq: %d\n",
      (int) row->layers, (int) row->hidden, (int) row->heads, (int) row->kv_heads, (int) row->ffn,
      (int) row->vocab, (int) row->seq);
  g_string_append_printf (yaml, "    activation: %s\n    norm: %s\n    positions: %s\n",
                          row->gated ? "swiglu" : "gelu", row->llama ? "rmsnorm" : "layernorm",
                          row->learned_positions ? "learned" : "rotary");
  g_string_append_printf (yaml, "    tied_embeddings: %s\n    biases: %s\n    dropout: %s\n",
                          row->tied ? "true" : "false", row->biases ? "true" : "false",
                          row->dropout ? "true" : "false");
  append_lora (yaml, row);
}

/* What else is narrow: attention, logits, and what is stored beside adapters. */
static char *others_of (const LsTrainingRow *row) {
  const LsBridgeRecipe *recipe = ls_bridge_recipe (row);
  const gboolean attends = row->narrow_attention || (recipe != NULL && recipe->attention);
  const gboolean fused = (row->lora_fused && row->tp == 1 && row->scaling == NULL &&
                          g_str_equal (row->compute_format, "fp8")) ||
                         (recipe != NULL && recipe->fused);

  return g_strconcat (attends ? ", attention: fp8" : "",
                      recipe != NULL && recipe->logits ? ", logits: compute" : "",
                      fused ? ", fused_scaling: true" : "",
                      row->lora_rank > 0 && row->narrow_weights ? ", frozen: compute" : "",
                      row->narrow_activation ? ", activation_input: fp8_e4m3" : "", NULL);
}

/* FSDP keeps fp32 parameters and no other master copy, or, "pure", everything in 16 bits. */
static void append_precision (GString *yaml, const LsTrainingRow *row) {
  const char *format = row->compute_format;
  LsFormat compute = LS_FORMAT_BF16;
  /* What is stored beside products of 8 or 4 bits. */
  const char *wide =
      ls_format_parse (format, &compute, NULL) && ls_format_is_narrow (compute) ? "bf16" : format;

  g_autofree char *compute_and_scaling =
      row->scaling != NULL ? g_strconcat (format, ", scaling: ", row->scaling, NULL)
                           : g_strdup (format);
  g_autofree char *others = others_of (row);

  if (row->pure_16_bit)
    g_string_append_printf (
        yaml,
        "  precision: {compute: %s, parameters: %s, gradients: %s, master: none, optimizer: %s, "
        "communication: %s}\n",
        format, wide, wide, wide, wide);
  else if (row->zero_stage == 3)
    g_string_append_printf (yaml,
                            "  precision: {compute: %s, parameters: fp32, gradients: fp32, master: "
                            "none, optimizer: fp32, "
                            "communication: %s}\n",
                            compute_and_scaling, row->fp32_reduce ? "fp32" : wide);
  else if (row->half_gradients)
    g_string_append_printf (yaml, "  precision: {preset: %s, gradients: %s%s%s}\n",
                            compute_and_scaling, wide,
                            row->narrow_parameters ? ", parameters: compute" : "", others);
  else if (row->fp32_reduce)
    g_string_append_printf (yaml,
                            "  precision: {preset: %s, gradients: fp32, communication: fp32}\n",
                            compute_and_scaling);
  else
    g_string_append_printf (yaml, "  precision: %s\n", format);
}

/* Megatron-Bridge's last stage of DeepSeek-V3 and Kimi K2 has three layers less than the others, beside the block of
 * multi-token prediction and the head: 61 of 64 over 4 to 16 stages. source: recipes/deepseek/deepseek_v3.py,
 * set_deepseek_v3_pipeline_model_parallel_layout; recipes/kimi/kimi_k2.py, _get_kimi_k2_pipeline_layout. */
static gboolean append_light_end (GString *yaml, const LsTrainingRow *row, gint64 stages) {
  const gint64 share = (row->layers + 3) / stages;

  if (!row->light_end || (row->layers + 3) % stages != 0 || share <= 3)
    return FALSE;
  g_string_append (yaml, ", layers_per_stage: [");
  for (gint64 i = 0; i + 1 < stages; i++)
    g_string_append_printf (yaml, "%d, ", (int) share);
  g_string_append_printf (yaml, "%d]", (int) (share - 3));
  return TRUE;
}

/* Layers that the stages do not share equally: embedding and head count as one each where that comes out even
 * (Llama-3 405B: 126 + 2 over 16 stages), else the first stages have one more. */
static void append_stages (GString *yaml, const LsTrainingRow *row) {
  const gboolean folded = row->schedule != NULL && (g_str_equal (row->schedule, "zb-v") ||
                                                    g_str_equal (row->schedule, "dualpipev"));
  const gint64 stages = row->pp * (folded ? 2 : MAX (row->virtual_stages, 1));
  gboolean ends = (row->layers + 2) % stages == 0 && stages > 2;
  gint64 share = (ends ? row->layers + 2 : row->layers) / stages;
  gint64 more = ends ? 0 : row->layers % stages;

  if (row->layers % stages == 0 || append_light_end (yaml, row, stages))
    return;
  g_string_append (yaml, ", layers_per_stage: [");
  for (gint64 i = 0; i < stages; i++) {
    gint64 layers = share - (ends && (i == 0 || i + 1 == stages)) + (i < more);

    g_string_append_printf (yaml, "%s%d", i > 0 ? ", " : "", (int) layers);
  }
  g_string_append_c (yaml, ']');
}

static void append_zero (GString *yaml, const LsTrainingRow *row) {
  g_string_append_printf (yaml, "  zero: {stage: %d, overlap: %s", (int) row->zero_stage,
                          row->overlap ? "true" : "false");
  if (row->hybrid)
    g_string_append (yaml, ", shard_group: node");
  else if (row->shard_group > 0)
    g_string_append_printf (yaml, ", shard_group: %d", (int) row->shard_group);
  if (row->offloads)
    g_string_append (yaml, ", offload: parameters");
  if (row->overlap_gather >= 0)
    g_string_append_printf (yaml, ", overlap_gather: %s",
                            row->overlap_gather > 0 ? "true" : "false");
  if (row->bucket_parameters > 0)
    g_string_append_printf (yaml, ", bucket: %" G_GINT64_FORMAT " MB",
                            row->bucket_parameters * (row->half_gradients ? 2 : 4) / 1000000);
  g_string_append (yaml, "}\n");
}

static void append_software (GString *yaml, const LsTrainingRow *row) {
  const LsBridgeRecipe *recipe = ls_bridge_recipe (row);
  const char *attention = ls_bridge_attention (row);
  g_autoptr (GString) more = g_string_new (NULL);

  if (row->cuda_graphs > 0 || (recipe != NULL && recipe->graphs))
    g_string_append (more, ", cuda_graphs: true");
  else if (recipe != NULL && recipe->parts != NULL)
    g_string_append_printf (more, ", layer_graphs: %s", recipe->parts);
  if (attention != NULL)
    g_string_append_printf (more, ", attention: %s", attention);
  if (more->len > 0)
    g_string_append_printf (yaml, "  software: {generation: %s%s}\n", row->software->name,
                            more->str);
  else
    g_string_append_printf (yaml, "  software: %s\n", row->software->name);
}

/* Ranks of experts, and how tokens travel to them where the recipe is known. */
static void append_expert_ranks (GString *yaml, const LsTrainingRow *row) {
  const LsBridgeRecipe *recipe = ls_bridge_recipe (row);

  if (!ls_training_row_has_experts (row))
    return;
  g_string_append_printf (yaml, ", expert: %d, expert_tensor: 1", (int) row->ep);
  if (recipe != NULL && row->ep > 1)
    g_string_append_printf (yaml, ", expert_dispatch: %s%s", recipe->dispatch,
                            recipe->overlap && (row->pp == 1 || row->virtual_stages > 1)
                                ? ", expert_overlap: true"
                                : "");
}

/* JAX's remat under XLA: a layer's last product and sum make no value that its gradients read, and are pruned from the second
 * forward pass (jax.checkpoint is differentiated with dead code removed: jax/_src/ad_checkpoint.py, remat_partial_eval and
 * remat_dce); q, k and v may be kept, on the device or in the host's memory whose copies are left out (MaxText's remat_policy
 * save_qkv_proj, qkv_proj_offloaded). */
static void append_pruned (GString *yaml, const LsTrainingRow *row) {
  g_string_append_printf (
      yaml,
      "  recompute: {mode: selective, operations: [norm1, %s%sattention, %sattention_add, norm2, "
      "mlp_up, %s]}\n",
      row->keeps_qkv ? "" : "qkv, ", row->learned_positions ? "" : "rotary, ",
      row->keeps_projection ? "" : "projection, ", row->gated ? "swiglu" : "gelu");
}

static void append_recompute (GString *yaml, const LsTrainingRow *row, const char *recompute) {
  const LsBridgeRecipe *recipe = ls_bridge_recipe (row);

  if (row->prunes_recompute && row->preset == NULL && g_str_equal (recompute, "full")) {
    append_pruned (yaml, row);
    return;
  }

  if (recipe != NULL && recipe->again != NULL && g_str_equal (recompute, "none")) {
    g_string_append_printf (yaml, "  recompute: {mode: selective, operations: [%s]}\n",
                            recipe->again);
    return;
  }
  g_string_append_printf (yaml, "  recompute: {mode: %s", recompute);
  if (row->recompute_layers > 0)
    g_string_append_printf (yaml, ", layers: %d", (int) row->recompute_layers);
  g_string_append (yaml, "}\n");
}

char *ls_training_scenario (const LsTrainingRow *row, gint64 micro_batch, const char *recompute) {
  GString *yaml = g_string_new ("lockstep: 1\n");

  append_cluster (yaml, row);
  g_string_append (yaml, "workload:\n");
  append_model (yaml, row);
  append_precision (yaml, row);
  append_software (yaml, row);
  g_string_append_printf (yaml, "  batch: {global: %d, micro: %d, seq_len: %d",
                          (int) row->global_batch, (int) micro_batch, (int) row->seq);
  if (row->documents > 0)
    g_string_append_printf (yaml, ", documents: %d", (int) row->documents);
  g_string_append (yaml, "}\n");
  g_string_append_printf (yaml, "  parallel: {tensor: %d, pipeline: %d, sequence_parallel: %s",
                          (int) row->tp, (int) row->pp, row->sequence_parallel ? "true" : "false");
  if (!g_str_equal (row->tensor_overlap, "auto"))
    g_string_append_printf (yaml, ", tensor_overlap: %s", row->tensor_overlap);
  if (row->cp > 1)
    g_string_append_printf (yaml, ", context: %d%s", (int) row->cp,
                            row->exchanges_heads ? ", context_kind: all-to-all"
                            : row->gathers_keys  ? ", context_kind: all-gather"
                                                 : "");
  append_expert_ranks (yaml, row);
  if (row->virtual_stages > 1)
    g_string_append_printf (yaml, ", schedule: interleaved-1f1b, virtual_stages: %d",
                            (int) row->virtual_stages);
  else if (row->schedule != NULL)
    g_string_append_printf (yaml, ", schedule: %s", row->schedule);
  append_stages (yaml, row);
  g_string_append (yaml, "}\n");
  append_zero (yaml, row);
  append_recompute (yaml, row, recompute);
  g_string_append (yaml, "  stop: {steps: 1}\n");
  g_string_append (yaml, "trace: {level: none}\n");
  return g_string_free (yaml, FALSE);
}
