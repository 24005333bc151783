/* Synonyms: the table and its comparisons; see synonyms.h. */
#include "base/synonyms.h"

#include <string.h>

static const struct {
  const char *name, *others;
} rows[] = {
    /* Collectives: MPI's, NCCL's and papers' names. */
    {"all_to_all", "a2a"},
    {"all_to_allv", "a2av"},
    {"broadcast", "bcast"},
    {"send_recv", "p2p point-to-point ppermute"},
    /* Pipeline schedules: torch.distributed.pipelining's, Megatron's and papers' names. */
    {"1f1b", "pipedream-flush one-f-one-b"},
    {"interleaved-1f1b", "interleaved interleave"},
    {"zb-h1", "zero-bubble zb1p"},
    {"zb-h2", "zero-bubble-h2 zb2p"},
    {"zb-v", "zero-bubble-v zbv-zero-bubble"},
    {"dualpipe", "dual-pipe"},
    /* Generations of software. */
    {"megatron-core", "megatron mcore megatron-lm"},
    {"megatron-bridge", "nemo nemo2 bridge"},
    {"megatron-deepspeed", "deepspeed"},
    {"pytorch-fsdp-2.1", "fsdp fsdp1 composer llm-foundry"},
    {"pytorch-fsdp2", "fsdp2 torchtitan pytorch torch"},
    /* Number formats. */
    {"bf16", "bfloat16 bfloat mixed amp"},
    {"fp16", "float16 half"},
    {"fp32", "float32 float single"},
    {"fp64", "float64 double"},
    {"fp8_e4m3", "float8_e4m3 e4m3"},
    {"fp8_e5m2", "float8_e5m2 e5m2"},
    {"fp8", "float8"},
    {"nvfp4", "fp4"},
    /* Fabrics, recomputation, policies, attention kernels, optimizers. */
    {"fat-tree", "clos leaf-spine spine-leaf folded-clos"},
    {"single-switch", "switch star crossbar"},
    {"dragonfly+", "dragonfly dragonfly-plus"},
    {"full", "all activation checkpointing true on"},
    /* Axes, and how a context is split. */
    {"tensor", "tp"},
    {"data", "dp"},
    {"pipeline", "pp"},
    {"context", "cp"},
    {"expert", "ep"},
    {"all-to-all", "ulysses"},
    {"all-gather", "gather"},
    {"sync", "bsp synchronous"},
    {"async", "asgd asynchronous hogwild"},
    {"ssp", "stale-synchronous stale-synchronous-parallel"},
    {"easgd", "elastic elastic-averaging"},
    {"local-sgd", "fedavg"},
    {"flash-2", "flash flash-attention fa2 sdpa"},
    {"flash-3", "fa3 cudnn"},
    {"unfused", "eager none math"},
    {"sgd", "momentum"},
    /* Words for yes, all and the like. */
    {"ops", "all full"},
    {"dynamic", "true on"},
    {"pieces", "true on"},
    {"fused", "deepep"},
    /* Keys beside the wrong one. */
    {"preset", "name model"},
    {"kind", "type mode policy algorithm name topology"},
    {"preset", "type"},
    {"node", "type"},
    {"file", "path filename csv dataset url source"},
    {"link", "bandwidth speed rate"},
    {"hop_latency", "latency"},
    {"leaf_radix", "radix ports"},
    {"lifetime", "mtbf mttf rate failure-rate"},
    {"repair", "mttr repair-time"},
    {"component", "kind type"},
    {"time_factor", "slowdown factor slow"},
    {"count", "num number"},
    {"interval", "frequency period every"},
    {"top_k", "k"},
    {"every", "interval frequency period k every-k"},
    {"mode", "kind type policy async granularity method selective"},
    {"policy", "kind type mode"},
    {"master", "master-weights master-params"},
    {"parameters", "params weights"},
    {"gradients", "grads grad"},
    {"compute", "dtype format"},
    {"norm", "value max-norm"},
    {"epsilon", "eps"},
    {"weight_decay", "wd decay"},
    {"warmup", "warmup-steps"},
    {"factor", "gamma decay"},
    {"read", "bandwidth rate speed"},
    {"level", "enabled output"},
    {"replications", "runs trials seeds repeats"},
    {"stage", "level sharding strategy"},
    {"offload", "cpu-offload nvme"},
    {"nvme_size", "nvme-capacity nvme-memory nvme-bytes"},
    {"nodes", "node size machines hosts"},
    {"gpus", "count gpu"},
    {"target", "gpu node rank gpus nodes ranks"},
    {"problem", "model task"},
    {"power", "electricity energy"},
    {"global", "size"},
    {"staleness_bound", "staleness tau bound max-staleness"},
    {"local_steps", "h inner-steps tau"},
    {"layers", "num-layers n-layers"},
    {"layers_per_stage", "layers"},
    {"operations", "ops"},
    {"optimizer", "states moments optimizer-states cpu host"},
    {"communication", "reduce reduce-dtype"},
    {"scaling", "recipe fp8-recipe"},
    {"generation", "name kind type"},
    {"kernels", "table kernel-table efficiency"},
    {"threads", "workers num-workers"},
    {"prefetch", "depth"},
    {"seq_len", "length sequence tokens"},
    {"documents", "packing packed"},
    {"steps", "samples batches iters iterations"},
    {"time", "pause duration"},
    {"skew", "imbalance distribution"},
    {"window", "sliding-window"},
    {"latent", "mla"},
    /* Keys of a job, from anywhere. */
    {"batch.global", "batch-size global-batch-size global-batch train-batch-size gbs"},
    {"batch.micro", "micro-batch-size micro-batch mbs train-micro-batch-size-per-gpu "
                    "per-device-train-batch-size gradient-accumulation-steps grad-accum "
                    "num-micro-batches micro-batches accumulation gradient-accumulation"},
    {"batch.seq_len", "seq sequence-length seq-length max-seq-len context-length block-size"},
    {"optimizer.clip", "grad-clip gradient-clipping clip-grad max-grad-norm"},
    {"optimizer.lr", "learning-rate lr step-size eta alpha"},
    {"parallel.tensor", "tp tensor-parallel tensor-parallel-size tensor-model-parallel-size"},
    {"parallel.pipeline",
     "pp pipeline-parallel pipeline-parallel-size pipeline-model-parallel-size stages"},
    {"parallel.data", "dp ddp data-parallel data-parallel-size replicas"},
    {"parallel.context", "cp context-parallel context-parallel-size"},
    {"parallel.expert", "ep expert-parallel expert-parallel-size expert-model-parallel-size"},
    {"parallel.expert_tensor", "etp expert-tensor-parallel-size"},
    {"parallel.sequence_parallel", "sp"},
    {"parallel.virtual_stages", "vpp vp virtual-pipeline interleave num-model-chunks"},
    {"parallel.schedule", "pipeline-schedule"},
    {"parallel.order", "rank-order axis-order"},
    {"workload.parallel", "parallelism layout strategy"},
    {"zero.stage", "zero-stage fsdp deepspeed sharding shard-strategy"},
    {"zero.offload", "cpu-offload"},
    {"zero.shard_group", "hybrid hybrid-shard hsdp hpz"},
    {"recompute.mode", "activation-checkpointing gradient-checkpointing checkpoint-activations "
                       "checkpointing activation-recomputation recomputation"},
    {"model.layers", "num-layers n-layers n-layer num-hidden-layers depth"},
    {"model.hidden", "d-model hidden-size hidden-dim n-embd embed-dim dim width"},
    {"model.heads", "num-heads n-heads n-head num-attention-heads"},
    {"model.kv_heads", "num-key-value-heads n-kv-heads num-query-groups num-kv-heads"},
    {"model.ffn", "d-ff ffn-hidden-size ffn-dim intermediate-size mlp-dim"},
    {"model.vocab", "vocab-size n-vocab vocabulary padded-vocab-size"},
    {"model.max_seq", "max-position-embeddings n-positions n-ctx"},
    {"model.activation", "hidden-act activation-function"},
    {"model.dropout", "hidden-dropout attention-dropout"},
    {"model.experts", "moe"},
    {"experts.count", "num-experts n-experts num-local-experts n-routed-experts"},
    {"experts.top_k", "moe-top-k moe-router-topk num-experts-per-tok"},
    {"experts.capacity_factor", "moe-capacity-factor expert-capacity"},
    {"workload.precision", "dtype amp mixed-precision fp8 fp16 bf16"},
    {"precision.loss_scaling", "loss-scale grad-scaler"},
    {"workload.input", "loader data-loader input-pipeline"},
    {"input.threads", "num-workers"},
    {"workload.evaluation", "eval validation"},
    {"software.generation", "framework"},
    {"software.attention", "flash flash-attention flash-attn attn-implementation"},
    {"software.compile", "torch-compile fusion fuse"},
    {"software.fused_optimizer", "fused fused-adam"},
    {"stop.steps", "max-steps iterations train-iters num-steps epochs steps iters"},
    {"stop.time", "seconds duration"},
    {"update.policy", "sync-mode"},
    /* Machines. */
    {"cluster.nodes", "num-nodes n-nodes nnodes world-size machines hosts"},
    {"node.gpu", "accelerator gpu-type gpu-model device"},
    {"node.gpus", "num-gpus n-gpus gpus-per-node gpu-count ngpus nproc-per-node gpus devices"},
    {"node.intra", "nvlink"},
    {"node.nics", "nic-bandwidth network-bandwidth bandwidth"},
    {"host.cores", "cpus cpu num-cpus"},
    {"cluster.fabric", "network topology interconnect latency"},
    {"cluster", "hardware machine system"},
    {"workload", "training job"},
    {"title", "name description"},
    {"seed", "random-seed rng-seed"},
    /* Faults, campaigns, cost, learning. */
    {"faults.failures", "mtbf failure-rate"},
    {"until.duration", "days"},
    {"cost.gpu", "gpu-hour price per-gpu-hour price-per-gpu-hour"},
    {"problem.hidden", "layers width units"},
    {"learn.batch", "batch-size"},
    {"learn.clip", "grad-clip gradient-clipping max-grad-norm"},
    {"learn.evaluate", "eval"},
};

static gboolean separates (char c) {
  return c == '-' || c == '_' || c == ' ' || c == '.';
}

static const char *skip (const char *word) {
  while (separates (*word))
    word++;
  return word;
}

gboolean ls_letters_begin (const char *whole, const char *part) {
  for (whole = skip (whole), part = skip (part); *part != '\0';
       whole = skip (whole + 1), part = skip (part + 1))
    if (g_ascii_tolower (*whole) != g_ascii_tolower (*part))
      return FALSE;
  return TRUE;
}

gboolean ls_same_letters (const char *a, const char *b) {
  return ls_letters_begin (a, b) && ls_letters_begin (b, a);
}

/* Is @word one of the words that blanks separate? */
static gboolean among (const char *others, const char *word) {
  g_auto (GStrv) words = g_strsplit (others, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (ls_same_letters (words[i], word))
      return TRUE;
  return FALSE;
}

const char *ls_synonym (const char *word, guint i) {
  for (guint row = 0; row < G_N_ELEMENTS (rows); row++)
    if (among (rows[row].others, word) && i-- == 0)
      return rows[row].name;
  return NULL;
}

const char *ls_meant (const char *word, const char *const *candidates) {
  const char *name;

  for (const char *const *candidate = candidates; *candidate != NULL; candidate++)
    if (ls_same_letters (*candidate, word))
      return *candidate;
  for (guint i = 0; (name = ls_synonym (word, i)) != NULL; i++)
    for (const char *const *candidate = candidates; *candidate != NULL; candidate++)
      if (strcmp (*candidate, name) == 0)
        return *candidate;
  return NULL;
}

/* Letters of @word, where @text has them in a row; 0: nowhere. */
static gsize letters_in (const char *text, const char *word) {
  for (; *text != '\0'; text++)
    if (!separates (*text) && ls_letters_begin (text, word)) {
      gsize letters = 0;

      for (word = skip (word); *word != '\0'; word = skip (word + 1))
        letters++;
      return letters;
    }
  return 0;
}

static gsize others_in (const char *text, const char *name) {
  gsize longest = 0;

  for (guint row = 0; row < G_N_ELEMENTS (rows); row++)
    if (strcmp (rows[row].name, name) == 0) {
      g_auto (GStrv) words = g_strsplit (rows[row].others, " ", -1);

      for (guint i = 0; words[i] != NULL; i++)
        longest = MAX (longest, letters_in (text, words[i]));
    }
  return longest;
}

const char *ls_meant_within (const char *text, const char *const *candidates) {
  const char *best = NULL;
  gsize longest = 0;

  for (; *candidates != NULL; candidates++) {
    const gsize letters = MAX (letters_in (text, *candidates), others_in (text, *candidates));

    if (letters > longest) {
      best = *candidates;
      longest = letters;
    }
  }
  return best;
}

gboolean ls_synonyms_row (guint i, const char **name, const char **others) {
  if (i >= G_N_ELEMENTS (rows))
    return FALSE;
  *name = rows[i].name;
  *others = rows[i].others;
  return TRUE;
}
