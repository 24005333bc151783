/* Columns of a training table to numbers, see training_row.h and docs/validation.md. */
#include "cli/training_row.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/synonyms.h"
#include "cli/release.h"
#include "cli/training_reader.h"
#include "train/workload/workload_words.h"

/* GPT-NeoX is Megatron under DeepSpeed, by its README. */
static gboolean of_deepspeed (const Reader *reader) {
  return says (reader, framework (reader), "deepspeed") ||
         says (reader, framework (reader), "neox");
}

/* Says `other_config` KEY=True or KEY=1 (1), KEY=False or KEY=0 (0), or neither (-1)? */
static int flag (const Reader *reader, const char *key) {
  static const char *const words[2][2] = {{"false", "0"}, {"true", "1"}};

  for (int value = 0; value < 2; value++)
    for (guint i = 0; i < G_N_ELEMENTS (words[value]); i++) {
      g_autofree char *text = g_strdup_printf ("%s=%s", key, words[value][i]);
      if (says (reader, "other_config", text))
        return value;
    }
  return -1;
}

/* Megatron since sequence parallelism came to it (2022): its users turn it on with tensor parallelism. */
static gboolean later_megatron (const Reader *reader) {
  static const char *const before[] = {"2019", "2020", "2021"};

  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    if (says (reader, framework (reader), before[i]))
      return FALSE;
  return (of_megatron (reader) && !of_deepspeed (reader)) || of_nemo (reader) ||
         says (reader, framework (reader), "megascale");
}

/* A row that says so, and one of Megatron since 2021 that leaves its schedule and its virtual stages empty (its
 * predecessor names itself; DeepSpeed's pipeline engine has no such schedule). */
static gboolean may_interleave (const Reader *reader) {
  if (*text (reader, "pp_schedule"))
    return says (reader, "pp_schedule", "interleaved");
  return ls_csv_column (reader->csv, "virtual_stages") >= 0 && !*text (reader, "virtual_stages") &&
         (of_megatron (reader) || of_nemo (reader)) &&
         !says (reader, framework (reader), "before interleaving") &&
         !says (reader, framework (reader), "2020") && !of_deepspeed (reader);
}

/* Does the source tell the release of the software? torchtitan's date, and the rounds of MLPerf of 2023 (later ones name
 * containers, some of them wrongly: "23.09" on Blackwell). */
static gboolean dated_by_source (const Reader *reader) {
  return of_torchtitan (reader) || says (reader, "source", "training_results_v3.");
}

/* Megatron-LM that states no year, on an accelerator with products in 8 bits: those came with Transformer Engine and later
 * (H100: 2023), and ran by it. */
static const LsSoftware *read_software (const Reader *reader, const LsAccelerator *gpu) {
  g_autofree char *words = g_strjoin (
      " ", text (reader, framework (reader)), of_nemo (reader) ? "nemo" : "",
      text (reader, "other_config"), dated_by_source (reader) ? text (reader, "source") : "", NULL);
  const LsSoftware *software = ls_software_for_framework (words);

  if (g_str_equal (software->name, "megatron-2022") && !says (reader, framework (reader), "2022") &&
      gpu->peak_flops_per_s[LS_FORMAT_FP8_E4M3] > 0)
    return ls_software_for_framework ("megatron-core");
  return software;
}

/* Megatron-Core, by its name or as what the row's Megatron-LM trains by. */
static gboolean of_megatron_core (const Reader *reader, const LsTrainingRow *row) {
  return says (reader, "framework", "core") || of_nemo (reader) ||
         g_str_equal (row->software->name, "megatron-core");
}

static gboolean read_hardware (const Reader *reader, LsTrainingRow *out, GError **error) {
  const char *rate = text (reader, "inter_node_per_gpu_gbit_s");
  gboolean good;

  out->gpu = ls_accelerator_for_text (text (reader, "gpu"));
  /* "Ampere" whose MFU is counted against 312 TFLOP/s is an A100. */
  if (!out->gpu && says (reader, "gpu", "ampere") && out->peak_tflops == 312)
    out->gpu = ls_accelerator_for_text ("A100-SXM-80GB");
  if (!out->gpu)
    ls_training_skip_for (error, ls_table_unknown_gpu (text (reader, "gpu")));
  good = ls_training_integer (reader, "gpus", 1, -1, &out->gpus, error) && out->gpu != NULL;
  good = ls_training_integer (reader, "gpus_per_node", 1, 8, &out->gpus_per_node, error) && good;
  if (!good)
    return FALSE;
  if (*rate && (!ls_number_parse (rate, &out->nic_gbit_s) || out->nic_gbit_s < 0))
    return ls_training_skip (error, "inter_node_per_gpu_gbit_s: '%s' is no rate", rate);
  ls_training_find_node (reader, out);
  if (!out->node)
    return ls_training_skip_for (error, ls_node_none ((int) out->gpus_per_node, out->gpu->name));
  if (out->gpus > out->gpus_per_node && out->gpus % out->gpus_per_node != 0)
    return ls_training_skip (error, "%d GPUs do not fill nodes of %d", (int) out->gpus,
                             (int) out->gpus_per_node);
  out->software = read_software (reader, out->gpu);
  if (g_str_equal (out->software->name, "generic") && *text (reader, "framework") != '\0' &&
      !says (reader, "framework", "generic"))
    out->unknown_framework = text (reader, "framework");
  return TRUE;
}

#define WORD(id, word) word,
static const char *const schedules[] = {LS_SCHEDULES (WORD) NULL};
/* Of torch.distributed.pipelining. */
static const char *const not_modelled[] = {"interleaved zero bubble", "looped bfs", NULL};

static gboolean read_schedule (const Reader *reader, LsTrainingRow *out, GError **error) {
  const char *field = text (reader, "pp_schedule"), *meant;

  out->schedule = NULL;
  if (out->pp == 1 || !*field)
    return TRUE;
  if (ls_meant_within (field, not_modelled) != NULL)
    return ls_training_skip (error, "the schedule '%s' is not modelled", field);
  meant = ls_meant_within (field, schedules);
  if (meant == NULL) {
    out->unknown_schedule = may_interleave (reader) ? NULL : field;
    return TRUE;
  }
  /* 1F1B is told from its interleaved form by the virtual stages. */
  out->schedule = strstr (meant, "1f1b") != NULL ? NULL : meant;
  return TRUE;
}

static gboolean read_layout (const Reader *reader, LsTrainingRow *out, GError **error) {
  gint64 replica;

  /* SimuMax docs/b200/b200_real_repro_guide.md, section 7: cp_comm_type=a2a. */
  out->exchanges_heads = out->exchanges_heads || says (reader, "source", "simumax");
  /* Meta's of Llama 3 gathers keys and values, then computes: "The Llama 3 Herd of Models" (arXiv 2407.21783), section
   * 3.3.2, "Context parallelism for long sequences". */
  out->gathers_keys = says (reader, framework (reader), "4d parallel");
  if (!ls_training_integer (reader, "cp", 1, 1, &out->cp, error))
    return FALSE;
  if (!ls_training_integer (reader, "ep", 1, 1, &out->ep, error))
    return FALSE;
  if (out->ep > 1 && out->preset == NULL)
    return ls_training_skip (error, "a mixture of experts whose sizes are not stated");
  if (out->ep > 1 && !ls_training_row_has_experts (out))
    return ls_training_skip (error, "ep is %d, and %s has no experts", (int) out->ep,
                             out->preset->name);
  if (ls_training_row_has_experts (out) && out->preset->transformer.experts.count % out->ep != 0)
    return ls_training_skip (error, "ep does not divide the experts");
  if (!(ls_training_integer (reader, "tp", 1, -1, &out->tp, error) &
        ls_training_integer (reader, "pp", 1, -1, &out->pp, error)))
    return FALSE;
  /* torchtitan's looped schedules have two stages on a rank. source: torchtitan, pipelining_utils.py. */
  out->virtual_stages = out->pp == 1 || !may_interleave (reader) ? 1
                        : of_torchtitan (reader)                 ? 2
                                                                 : 0;
  if (!read_schedule (reader, out, error))
    return FALSE;
  if (out->pp > 1 && out->schedule == NULL && g_ascii_isdigit (*text (reader, "virtual_stages")) &&
      !ls_training_integer (reader, "virtual_stages", 1, 1, &out->virtual_stages, error))
    return FALSE;
  replica = out->tp * out->pp * out->cp;
  if (out->gpus % replica != 0)
    return ls_training_skip (error, "tp x pp x cp does not divide the GPUs");
  if (!ls_training_integer (reader, "dp", 1, out->gpus / replica, &out->dp, error))
    return FALSE;
  if (out->dp * replica != out->gpus)
    return ls_training_skip (error, "dp x tp x pp x cp is not the number of GPUs");
  if (out->heads % out->tp != 0)
    return ls_training_skip (error, "tp does not divide the heads");
  /* Heads that cannot be dealt out leave the ring (Megatron-Core's p2p, its default). */
  if (out->kv_heads % (out->tp * out->cp) != 0 || out->heads % (out->tp * out->cp) != 0)
    out->exchanges_heads = FALSE;
  /* The first and the last stage may hold the embedding and the head alone. */
  if (out->layers < out->pp ||
      (out->virtual_stages > 1 && out->layers + 2 < out->pp * out->virtual_stages))
    return ls_training_skip (error, "fewer layers than stages");
  return TRUE;
}

/* NVIDIA's performance recipes of NeMo 24.09 to 25.07 for dense models run no layer again, and under FSDP keep what does not fit
 * in the memory of Grace (405B in 8 bits: 95 of 126 layers), whose copies run beside compute and are left out here; the 70B in
 * bf16 under FSDP is the exception. Their sequences end at 8k but for adapters. source: NVIDIA/NeMo
 * scripts/performance/recommended_model_configs/model_configs_{gb200 @06c0e70,h100 @000e8c1}.csv: recompute_layers,
 * activation_offload_layers. */
static gboolean keeps_all (const Reader *reader, const LsTrainingRow *row) {
  return says (reader, framework (reader), "nemo") &&
         !says (reader, framework (reader), "bridge") && !says (reader, "model", "mlperf") &&
         !g_str_equal (row->software->name, "nemo-2024") && !ls_training_row_has_experts (row) &&
         row->seq <= 8192 &&
         (row->zero_stage < 3 || strstr (row->compute_format, "fp") == row->compute_format);
}

static gboolean read_recompute (const Reader *reader, LsTrainingRow *out, GError **error) {
  const char *field = text (reader, "recompute");
  static const char *const modes[] = {"full", "selective", "none"};

  out->recompute = NULL;
  /* torchtitan: of every block every second matmul, or every second block. */
  if (says (reader, "recompute", "(op)"))
    return (out->recompute = "matmuls") != NULL;
  if (says (reader, "recompute", "every 2nd layer")) {
    out->recompute = "full";
    out->recompute_layers = (out->layers + 1) / 2;
    return TRUE;
  }
  if (says (reader, "recompute", "every"))
    return says (reader, "recompute", "every layer")
               ? (out->recompute = "full") != NULL
               : ls_training_skip (error, "recompute '%s' has no equal", field);
  /* NVIDIA's implementation of MLPerf's LoRA has no recompute (conf/megatron_gpt_peft_tuning_config.yaml of 5.0; null in
   * that of 5.1). */
  if (*field == '\0' &&
      ((out->lora_rank > 0 && says (reader, "model", "mlperf")) || keeps_all (reader, out)))
    out->recompute = "none";
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    if (g_ascii_strncasecmp (field, modes[i], strlen (modes[i])) == 0)
      out->recompute = modes[i];
  out->prunes_recompute = of_jax (reader);
  out->keeps_qkv = says (reader, "recompute", "q, k, v");
  out->keeps_projection = says (reader, "recompute", "out kept");
  return TRUE;
}

/* torchtitan in a pipeline: as many micro-batches as stages unless told otherwise (pipelining_utils.py), blocks stay
 * gathered from the first to the last of them and gradients are added up whole, in fp32, until then
 * (parallelize_llama.py, reshard_after_forward; FSDP2's unsharded_accumulated_grad): what ZeRO calls stage 1. */
static void pipeline_as_titan (const Reader *reader, LsTrainingRow *out) {
  if (of_torchtitan (reader) && out->micro_batch == 0 &&
      out->global_batch % (out->dp * out->pp) == 0)
    out->micro_batch = out->global_batch / (out->dp * out->pp);
  /* So do FSDP's that say they do not reshard (Llama 3): reduced in fp32 behind each of its 32 micro-batches gradients alone
   * would take two thirds of the step that was measured. */
  if (of_torchtitan (reader) || says (reader, "shard_strategy", "not resharded"))
    out->zero_stage = MIN (out->zero_stage, 1);
}

/* The column, or the name that Megatron and Transformer Engine give it; needs rows that are split. */
static const char *tensor_overlap (const Reader *reader, const LsTrainingRow *row) {
  static const char *const column = "tp_comm_overlap", *const other = "other_config";

  if (row->tp <= 1)
    return "auto";
  if (says (reader, column, "false") || says (reader, column, "no") ||
      says (reader, other, "tp_comm_overlap=false") || ls_training_runs_in_fp4 (reader))
    return "bulk";
  if (!row->sequence_parallel)
    return "auto";
  return says (reader, column, "true") || says (reader, column, "yes") ||
                 says (reader, other, "tp_comm_overlap=true")
             ? "pieces"
             : "auto";
}

/* Megatron of 2020 has two ways; its README: PyTorch's, that overlaps, is better for the 8.3 B on 8 ranks of tensor
 * parallelism, and not for the 2.5 B on two. */
static gboolean by_torch_ddp (const Reader *reader, const LsTrainingRow *row) {
  return says (reader, framework (reader), "2020") && row->tp >= 8 && row->pp == 1;
}

/* Not stated, or of no use: as the framework. */
static int overlap_gather (const Reader *reader, const LsTrainingRow *row) {
  if (row->zero_stage < 1 || row->zero_stage > 2 || !row->overlap || row->dp * row->cp == 1)
    return -1;
  return flag (reader, "overlap_param_gather");
}

/* Of Megatron-Core: 40 M parameters, and on more than 40 ranks one million for each rank, so that a ring's steps are
 * not lost in latency (distributed_data_parallel.py, bucket_size not given). NeMo 2 and Megatron-Bridge give 128 Mi
 * (NeMo's megatron_comm_overlap.py, Megatron-Bridge's comm_overlap.py), and NVIDIA's scripts of MLPerf 5.1 for Llama 3.1
 * 8B, which turn off overlap_param_gather_with_optim_step, 768 M (config_common_8b.sh). */
static gint64 bucket_parameters (const Reader *reader, const LsTrainingRow *row) {
  if (!row->core_buckets)
    return 0;
  if (says (reader, "model", "(mlperf)") && says (reader, "model", "8b") &&
      flag (reader, "overlap_param_gather_with_optim_step") != 1)
    return 768000000;
  return g_str_has_prefix (row->software->name, "megatron-bridge")
             ? 128 * 1024 * 1024
             : 1000000 * MAX (40, row->dp * row->cp);
}

/* Weights of linear maps are kept in 8 bits alone, and gathered so: NeMo 2 and Megatron-Bridge do with one scale per
 * tensor (their mixed precision recipes, fp8_param_gather); with scales per block what is gathered is 16 bits. */
static gboolean narrow_parameters (const Reader *reader, const LsTrainingRow *row) {
  const int gather = flag (reader, "fp8_param_gather"), kept = flag (reader, "fp8_params");

  if (!g_str_equal (row->compute_format, "fp8") || row->zero_stage == 3)
    return FALSE;
  return gather >= 0 || kept >= 0 ? gather == 1 || kept == 1
                                  : g_str_has_prefix (row->software->name, "megatron-bridge");
}

static int cuda_graphs (const Reader *reader) {
  const int layers = flag (reader, "mcore_cuda_graph"), whole = flag (reader, "full_cuda_graph");

  return layers == 1 || whole == 1 ? 1 : -1;
}

/* FSDP's hybrid sharding, whose groups are nodes unless told otherwise (torch/distributed/fsdp, HYBRID_SHARD). */
static gboolean is_hybrid (const Reader *reader, const LsTrainingRow *row) {
  const gint64 copies = row->dp * row->cp, in_node = row->gpus_per_node / row->tp;

  return row->zero_stage > 0 && in_node > 1 && copies > in_node && copies % in_node == 0 &&
         (says (reader, "shard_strategy", "hybrid") || says (reader, "shard_strategy", "hsdp"));
}

/* Where the column is empty: by FSDP's word for it; torchtitan has FSDP2 alone, NeMo and Megatron-Bridge the distributed
 * optimizer. */
static gint64 unstated_stage (const Reader *reader) {
  if (says (reader, "shard_strategy", "shard_grad_op"))
    return 2;
  if (says (reader, "shard_strategy", "full_shard") ||
      says (reader, "shard_strategy", "hybrid_shard") || of_torchtitan (reader))
    return 3;
  return of_nemo (reader) ? 1 : 0;
}

/* With tensor parallelism. torchtitan knows it with sequence parallelism alone (parallelize_llama.py, apply_tp), and
 * Megatron asks for it beside experts. */
static gboolean splits_sequence (const Reader *reader, const LsTrainingRow *row) {
  const char *column = "sequence_parallel";

  if (*text (reader, column) && (says (reader, column, "yes") || says (reader, column, "true")))
    return TRUE;
  return ls_training_row_has_experts (row) ||
         (!*text (reader, column) && (later_megatron (reader) || of_torchtitan (reader)));
}

static gboolean read_batch (const Reader *reader, LsTrainingRow *out, GError **error) {
  if (!ls_training_integer (reader, "micro_batch", 1, 0, &out->micro_batch, error) ||
      !ls_training_integer (reader, "global_batch", 1, -1, &out->global_batch, error) ||
      !ls_training_integer (reader, "zero_stage", 0, unstated_stage (reader), &out->zero_stage,
                            error))
    return FALSE;
  if (out->pp > 1)
    pipeline_as_titan (reader, out);
  if (out->global_batch % out->dp != 0 ||
      (out->micro_batch > 0 && out->global_batch / out->dp % out->micro_batch != 0))
    return ls_training_skip (error, "the global batch is no multiple of dp x micro_batch");
  out->sequence_parallel = out->tp > 1 && splits_sequence (reader, out);
  out->offloads = out->zero_stage == 3 && flag (reader, "cpu_offload") == 1;
  out->tensor_overlap = tensor_overlap (reader, out);
  /* Megatron before Core, and DeepSpeed with it, communicated after the backward pass that it belongs to. */
  const gboolean of_core = of_megatron_core (reader, out);
  out->overlap = !of_megatron (reader) || of_core || by_torch_ddp (reader, out);
  out->overlap_gather = overlap_gather (reader, out);
  out->hybrid = is_hybrid (reader, out);
  out->shard_group = ls_training_number_behind (reader, "shard_strategy", "groups of ", 0);
  out->core_buckets = of_core && out->dp * out->cp > 1 && out->zero_stage < 3;
  out->bucket_parameters = bucket_parameters (reader, out);
  out->narrow_parameters = narrow_parameters (reader, out);
  out->cuda_graphs = cuda_graphs (reader);
  return TRUE;
}

static void read_memory (const Reader *reader, LsTrainingRow *out) {
  if (says (reader, "mem_def", "allocated"))
    out->memory_def = LS_ROW_ALLOCATED;
  else if (says (reader, "mem_def", "reserved"))
    out->memory_def = LS_ROW_RESERVED;
  else if (says (reader, "mem_def", "nvidia-smi") || says (reader, "mem_def", "used on"))
    out->memory_def = LS_ROW_DEVICE;
}

static void read_peak (const Reader *reader, LsTrainingRow *out) {
  if (!ls_number_parse (text (reader, "peak_tflops_used"), &out->peak_tflops) ||
      out->peak_tflops <= 0)
    out->peak_tflops = 0;
}

static void read_counting (const Reader *reader, LsTrainingRow *out) {
  gboolean silent = !*text (reader, "flops_def") || says (reader, "flops_def", "not stated");

  /* Megatron-LM before Core printed FLOPs with the recomputed forward. */
  if (says (reader, "flops_def", "96*b") ||
      says (reader, "flops_def", "counts the full-recompute") ||
      (silent && says (reader, "framework", "megatron-lm") && !of_megatron_core (reader, out)))
    out->flops_def = LS_FLOPS_MEGATRON_HARDWARE;
  else if (says (reader, "flops_def", "8*n") || says (reader, "flops_def", "8n-type"))
    out->flops_def = LS_FLOPS_EIGHT_N;
  /* torchtitan, utils.py, get_num_flop_per_token. */
  else if (says (reader, "flops_def", "6n") || (silent && of_torchtitan (reader)))
    out->flops_def = LS_FLOPS_SIX_N;
  else
    out->flops_def = LS_FLOPS_MODEL;
}

static const char *release_of (const Reader *reader) {
  g_autofree char *release = ls_release_of (text (reader, "framework"), text (reader, "source"),
                                            text (reader, "source_location"));

  return g_intern_string (release);
}

gboolean ls_training_row_read (LsTrainingRow *out, const LsCsv *csv, guint row, GError **error) {
  const Reader reader = {csv, row};

  memset (out, 0, sizeof *out);
  out->release = release_of (&reader);
  read_peak (&reader, out);
  ls_training_read_precision (&reader, out);
  read_memory (&reader, out);
  const gboolean model = ls_training_read_model (&reader, out, error);
  const gboolean hardware = read_hardware (&reader, out, error);

  if (hardware)
    read_counting (&reader, out);
  /* What follows is meant by both. */
  return model && hardware && read_layout (&reader, out, error) &&
         read_batch (&reader, out, error) && read_recompute (&reader, out, error);
}

GArray *ls_training_row_micro_batches (const LsTrainingRow *row) {
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  gint64 per_replica = row->global_batch / row->dp;

  if (row->micro_batch > 0) {
    g_array_append_val (sizes, row->micro_batch);
    return sizes;
  }
  for (gint64 size = 1; size <= MIN (per_replica, 64); size *= 2)
    if (per_replica % size == 0)
      g_array_append_val (sizes, size);
  return sizes;
}
