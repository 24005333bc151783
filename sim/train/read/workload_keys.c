/* The schema of `workload` but for its model (model_keys.c) and formats (precision_keys.c): one row per key.
 *
 * Defaults are what a plain run of a current framework does; where that is a choice, .source says whose.
 */
#include "train/read/workload_keys.h"

#include "net/all_pairs.h"
#include "train/read/distribution_keys.h"

#include "train/workload/traffic.h"

#define W "workload."
#define LARGEST \
  1000000000 /* no size of a model or batch is larger; keeps products inside 64 bits */
#define NAME_OF(id, name) name,

static const char *const auto_word[] = {"auto", NULL};
static const char *const shard_words[] = {"all", "node", NULL};
static const char *const secondary_words[] = {"none", "node", NULL};
static const char *const clip_words[] = {"auto", "none", NULL};
static const char *const all_word[] = {"all", NULL};
static const char *const shares[] = {LS_SHARES (NAME_OF) NULL};
static const char *const schedules[] = {LS_SCHEDULES (NAME_OF) NULL};
static const char *const schedules_later[] = {"v-half", "v-min", NULL};
static const char *const axes[] = {"tensor", "context", "expert", "data", "pipeline", NULL};
static const char *const recompute_modes[] = {LS_RECOMPUTE_MODES (NAME_OF) NULL};
static const char *const sqrt_word[] = {"sqrt", NULL};
static const char *const recompute_units[] = {LS_RECOMPUTE_UNITS (NAME_OF) NULL};
static const char *const optimizers[] = {LS_OPTIMIZERS (NAME_OF) NULL};
static const char *const optimizers_later[] = {"muon", NULL};
static const char *const layer_graphs[] = {LS_LAYER_GRAPHS (NAME_OF) NULL};
static const char *const expert_dispatches[] = {LS_EXPERT_DISPATCHES (NAME_OF) NULL};
static const char *const tensor_overlaps[] = {LS_TENSOR_OVERLAPS (NAME_OF) NULL};
#define CONTEXT_WORD(id, word) word,
static const char *const context_kinds[] = {LS_CONTEXT_KINDS (CONTEXT_WORD) NULL};
static const char *const context_overlaps[] = {LS_CONTEXT_OVERLAPS (CONTEXT_WORD) NULL};
#undef CONTEXT_WORD
static const char *const offload_words[] = {LS_OFFLOADS (NAME_OF) NULL};
#define WORD_OF(id, word, title) word,
static const char *const attentions[] = {LS_ATTENTIONS (WORD_OF) NULL};
#undef WORD_OF

const LsConfigKey ls_workload_keys[] = {
    /* Batch. */
    {.path = W "batch", .type = LS_CONFIG_MAP, .number = "global", .meaning = "samples per step"},
    {.path = W "batch.global",
     .type = LS_CONFIG_INTEGER,
     .dimension = LS_DIMENSION_COUNT,
     .minimum = 1,
     .maximum = LARGEST,
     .meaning = "samples per step over all ranks; batch.micro x data ranks if not given"},
    {.path = W "batch.micro",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1000000,
     .default_text = "1",
     .source = "what large models use",
     .meaning = "samples that a rank computes at once; gradients are accumulated over the rest"},
    {.path = W "batch.seq_len",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 100000000,
     .meaning = "tokens per sample; model.max_seq if not given",
     .when = "only with transformers"},
    LS_DISTRIBUTION_COUNT_ROWS (W "batch.documents",
                                "tokens of the documents that are packed into each sequence; "
                                "attention stays inside them; one document if not given"),
    {.path = W "batch.share",
     .type = LS_CONFIG_MAP,
     .meaning = "micro-batches per replica by group of nodes, in proportion: {a100: 1, h100: 2}; "
                "equally many if not given"},
    {.path = W "batch.share.*",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1000000,
     .meaning = "share of each replica on these nodes"},

    /* Parallel layout. */
    {.path = W "parallel", .type = LS_CONFIG_MAP, .meaning = "how the work is split over ranks"},
    {.path = W "parallel.tensor",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 65536,
     .default_text = "1",
     .source = "no split",
     .meaning = "ranks that split every layer"},
    {.path = W "parallel.sequence_parallel",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .source = "Megatron-LM's default",
     .when = "only with parallel.tensor > 1",
     .meaning = "tensor ranks split norms and dropouts along the sequence"},
    {.path = W "parallel.tensor_overlap",
     .type = LS_CONFIG_WORD,
     .choices = tensor_overlaps,
     .default_text = "auto",
     .source = "as the framework: ideal where it cuts collectives, bulk where it has the fused "
               "weight gradient, else none (lockstep list software)",
     .when = "only with parallel.tensor > 1",
     .meaning = "which collectives of tensor ranks run beside matmuls: none; bulk: in the backward "
                "pass, whole, beside a gradient that does not need them; pieces: bulk, and the "
                "others cut into a piece per rank that travel round a ring beside pieces of "
                "their own matmul (Transformer Engine's ring exchange, PyTorch's async TP; needs "
                "sequence_parallel); ideal: the same as if no piece waited for another"},
    {.path = W "parallel.pipeline",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 65536,
     .default_text = "1",
     .source = "no split",
     .meaning = "stages that the layers are dealt to"},
    {.path = W "parallel.data",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1000000,
     .choices = auto_word,
     .default_text = "auto",
     .source = "use every GPU",
     .meaning = "replicas; auto: as many as the GPUs allow"},
    {.path = W "parallel.schedule",
     .type = LS_CONFIG_WORD,
     .choices = schedules,
     .later_choices = schedules_later,
     .default_text = "1f1b",
     .source = "Megatron-LM's default",
     .when = "only with parallel.pipeline > 1",
     .meaning = "order of micro-batches in a pipeline"},
    {.path = W "parallel.layers_per_stage",
     .type = LS_CONFIG_INTEGER,
     .maximum = LARGEST,
     .flags = LS_CONFIG_LIST,
     .when = "only with parallel.pipeline > 1",
     .meaning =
         "layers of each stage in the model's order; with virtual_stages v, pipeline x v numbers "
         "(number c x pipeline + d is the c-th stage of device d), with zb-v and dualpipev 2 x "
         "pipeline; dealt evenly if not given"},
    {.path = W "parallel.order",
     .type = LS_CONFIG_WORD,
     .choices = axes,
     .flags = LS_CONFIG_LIST,
     .meaning =
         "axes from neighbouring ranks outwards; tensor, context, expert, data, pipeline if not "
         "given"},
    {.path = W "parallel.context",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 65536,
     .default_text = "1",
     .source = "no split",
     .when = "only with transformers",
     .meaning = "ranks that split the sequence of every sample"},
    {.path = W "parallel.context_kind",
     .type = LS_CONFIG_WORD,
     .choices = context_kinds,
     .default_text = "ring",
     .source = "TransformerEngine's and Megatron-LM's default (cp_comm_type p2p)",
     .when = "only with parallel.context > 1",
     .meaning = "how attention sees the whole sequence: ring sends keys and values round beside "
                "attention; all-to-all deals heads instead of tokens (Ulysses), so context divides "
                "the heads; all-gather gathers keys and values (Llama 3)"},
    {.path = W "parallel.context_overlap",
     .type = LS_CONFIG_WORD,
     .choices = context_overlaps,
     .default_text = "auto",
     .source = "as the framework: none behind torch.compile before March 2025, else beside "
               "(`lockstep list software`)",
     .when = "only with a ring of parallel.context > 1",
     .meaning = "whether the exchanges of a ring run beside attention to the keys at hand, or "
                "attention waits for each (what a compiler may make of them)"},
    {.path = W "parallel.expert",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = LS_PAIRS_MOST,
     .default_text = "1",
     .source = "no split",
     .meaning =
         "ranks that the experts of a layer are dealt to; taken from tensor x context x data"},
    {.path = W "parallel.expert_tensor",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 65536,
     .choices = auto_word,
     .default_text = "auto",
     .source = "Megatron-LM: as parallel.tensor",
     .meaning = "ranks that split each expert; auto: as parallel.tensor"},
    {.path = W "parallel.expert_dispatch",
     .type = LS_CONFIG_WORD,
     .choices = expert_dispatches,
     .default_text = "auto",
     .source = "Megatron-Core, moe/token_dispatcher.py: all-to-all and flex (DeepEP, HybridEP)",
     .when = "only with experts; fused only with several ranks of them, whole and not padded",
     .meaning =
         "how tokens travel to experts: all-to-all: a row for each expert, which kernels "
         "before and after put in order; fused: a token once to each rank of its experts, "
         "put in order on the way; auto: rows as all-to-all, in order as the framework does"},
    {.path = W "parallel.expert_overlap",
     .type = LS_CONFIG_BOOLEAN,
     .source = "DeepSeek-V3 technical report (arXiv 2412.19437), section 3.2.1; Megatron-Core, "
               "overlap_moe_expert_parallel_comm",
     .when = "only with schedule dualpipe, dualpipev or interleaved-1f1b or on one stage, experts "
             "on several ranks, zero.stage 0 or 1 and without recompute.offload",
     .meaning = "a forward and a backward run as one block, in which each computes while the "
                "other's tokens travel to experts and back: DualPipe's pairs, or 1F1B's, which "
                "then warms up with one forward more; false: one after the other; if not given "
                "true with dualpipe and dualpipev"},
    {.path = W "parallel.virtual_stages",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 256,
     .default_text = "1",
     .source = "no interleaving",
     .when = "only with parallel.schedule interleaved-1f1b",
     .meaning = "stages of each device; the model is cut into pipeline times as many"},
    {.path = W "parallel.post_validation",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .source = "Qi et al. 2023 (arXiv 2401.10241), section 4",
     .when = "only with parallel.schedule zb-h1, zb-h2, zb-v",
     .meaning =
         "each stage updates as soon as its gradients are there and the global norm is checked "
         "afterwards; false: all stages meet for the norm before the update"},

    /* ZeRO. */
    {.path = W "zero",
     .type = LS_CONFIG_MAP,
     .number = "stage",
     .meaning = "sharding of states over data-parallel ranks (ZeRO, FSDP)"},
    {.path = W "zero.stage",
     .type = LS_CONFIG_INTEGER,
     .maximum = 3,
     .default_text = "0",
     .source = "plain data parallelism",
     .meaning = "1: optimizer state, 2: also gradients, 3: also parameters are sharded"},
    {.path = W "zero.overlap",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .source = "default of DDP, DeepSpeed and FSDP",
     .when = "only with several data-parallel ranks",
     .meaning = "gradients and parameters travel beside compute"},
    {.path = W "zero.bucket",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES,
     .flags = LS_CONFIG_POSITIVE,
     .minimum = 1e6,
     .maximum = 1e15,
     .default_text = "200 MB",
     .source = "between DDP's 25 MB and Megatron-LM's 40 M parameters, DeepSpeed's 500 M elements",
     .when = "only with zero.stage < 3 and several data-parallel ranks",
     .meaning = "gradients that are reduced together"},
    {.path = W "zero.overlap_gather",
     .type = LS_CONFIG_BOOLEAN,
     .when = "only with zero.stage 1 or 2, zero.overlap and several data-parallel ranks",
     .meaning =
         "updated parameters are gathered beside the next step's forward pass, in buckets "
         "in its order, each layer waiting for its own (Megatron-Core's overlap_param_gather, "
         "FSDP's SHARD_GRAD_OP); false: at the end of the step; of the framework if not "
         "given"},
    {.path = W "zero.prefetch",
     .type = LS_CONFIG_INTEGER,
     .maximum = 1000,
     .default_text = "1",
     .source = "FSDP's default",
     .when = "only with zero.stage 3 and zero.overlap",
     .meaning = "layers gathered ahead of the one that computes"},
    {.path = W "zero.max_gathered",
     .type = LS_CONFIG_INTEGER,
     .dimension = LS_DIMENSION_COUNT,
     .minimum = 1,
     .maximum = 1e15,
     .when = "only with zero.stage 3 and zero.overlap",
     .meaning = "parameters that may be gathered at once, whatever zero.prefetch says (DeepSpeed's "
                "stage3_max_live_parameters, 1 G there); no limit if not given"},
    {.path = W "zero.shard_group",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1000000,
     .choices = shard_words,
     .default_text = "all",
     .source = "ZeRO and FSDP: one shard on each rank",
     .when = "only with zero.stage > 0 and several data-parallel ranks",
     .meaning = "ranks that states are sharded over; groups of them hold copies, which are summed "
                "(hybrid sharding, HSDP, MiCS); node: as many as lie on a node"},
    {.path = W "zero.quantized_weights",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .source = "parameters travel as they are",
     .when = "only with zero.stage 3 and several data-parallel ranks",
     .meaning =
         "layers are gathered in int8 with a scale per 4096 values, made of each shard before and "
         "undone after (ZeRO++ qwZ, DeepSpeed's zero_quantized_weights)"},
    {.path = W "zero.quantized_gradients",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .source = "gradients travel as precision.communication says",
     .when = "only with zero.stage 3 and several data-parallel ranks",
     .meaning = "gradients are exchanged in int4 with a scale per 4096 values instead of "
                "reduce-scattered: "
                "inside each node, summed, then across nodes (ZeRO++ qgZ, DeepSpeed's "
                "zero_quantized_gradients); those of routed experts are not"},
    {.path = W "zero.secondary_group",
     .type = LS_CONFIG_INTEGER,
     .minimum = 2,
     .maximum = 1000000,
     .choices = secondary_words,
     .default_text = "none",
     .source = "ZeRO: one shard on each rank",
     .when = "only with zero.stage 3 and several data-parallel ranks",
     .meaning = "ranks that hold all parameters among them once more, in 16 bits, and gather from "
                "each other after the forward pass (ZeRO++ hpZ, DeepSpeed's "
                "zero_hpz_partition_size); node: as many as lie on a node; not of routed experts"},
    {.path = W "zero.offload",
     .type = LS_CONFIG_WORD,
     .choices = offload_words,
     .default_text = "none",
     .source = "all on the GPU",
     .when = "only with zero.stage > 0; parameters only with zero.stage 3",
     .meaning =
         "states kept in the memory of the host, which updates them: optimizer: master copy, "
         "moments and sharded gradients (DeepSpeed's offload_optimizer); parameters: these "
         "and the parameters (offload_param with it, FSDP's CPU offload)"},
    {.path = W "zero.nvme",
     .type = LS_CONFIG_WORD,
     .choices = offload_words,
     .default_text = "none",
     .source = "what is offloaded lies in the memory of the host",
     .when = "only with zero.offload, zero.stage 3 and drives (host.nvme)",
     .meaning =
         "what of zero.offload lies on the node's own drives (ZeRO-Infinity, DeepSpeed's device: "
         "nvme): optimizer: master copy, moments and, with one micro-batch, gradients; "
         "parameters: these and the parameters"},
    {.path = W "zero.sub_group",
     .type = LS_CONFIG_INTEGER,
     .dimension = LS_DIMENSION_COUNT,
     .minimum = 1e6,
     .maximum = 1e15,
     .default_text = "1 G",
     .source = "DeepSpeed, runtime/zero/config.py, sub_group_size",
     .when = "only with zero.nvme",
     .meaning = "parameters that the host updates at a time, read from the drives before and "
                "written back after; with zero.overlap three such groups are in its memory"},

    /* Recompute. */
    {.path = W "recompute",
     .type = LS_CONFIG_MAP,
     .word = "mode",
     .meaning = "activations dropped in the forward pass and computed again in the backward"},
    {.path = W "recompute.mode",
     .type = LS_CONFIG_WORD,
     .choices = recompute_modes,
     .meaning =
         "selective: the attention core, or recompute.operations; matmuls: all but attention and "
         "every other matmul (torchtitan's selective op); full: layers from their kept inputs; "
         "fit: of all these what fits in memory and repeats least; if not given full beside "
         "recompute.unit, every or layers, selective beside recompute.operations, else none"},
    {.path = W "recompute.unit",
     .type = LS_CONFIG_WORD,
     .choices = recompute_units,
     .default_text = "block",
     .source = "Megatron-LM's full recompute",
     .when = "only with recompute.mode full",
     .meaning =
         "block: inputs kept every k layers, all of them run again; operation: every k-th layer "
         "keeps what it saves, those between run again"},
    {.path = W "recompute.every",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = LARGEST,
     .choices = sqrt_word,
     .default_text = "1",
     .source = "Megatron-LM",
     .when = "only with recompute.mode full",
     .meaning = "the k of recompute.unit; sqrt: the rounded square root of the layers (Chen et al. "
                "2016); check --recompute-curve shows all k"},
    {.path = W "recompute.layers",
     .type = LS_CONFIG_INTEGER,
     .maximum = LARGEST,
     .choices = all_word,
     .default_text = "all",
     .source = "every layer",
     .when = "only with recompute.mode selective, matmuls or full",
     .meaning = "layers of each stage that are treated so, the first ones"},
    {.path = W "recompute.operations",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .when = "only with recompute.mode selective",
     .meaning =
         "operations of a layer, by their names in the trace, whose outputs are dropped and made "
         "again: [norm1, norm2, gelu]; the attention core if not given"},

    {.path = W "recompute.offload",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .source = "DeepSpeed",
     .when = "only with recompute.mode full and unit block",
     .meaning =
         "inputs of layers that are kept go to the memory of the host in the forward pass and "
         "come back before the backward (DeepSpeed's cpu_checkpointing)"},
    {.path = W "recompute.offload_overlap",
     .type = LS_CONFIG_BOOLEAN,
     .when = "only with recompute.offload",
     .meaning =
         "those copies run beside compute, one segment ahead; of the generation if not given: "
         "DeepSpeed waits for them (its checkpointing.py copies with .to (device)), others "
         "do not"},

    /* Optimizer and updates. */
    {.path = W "optimizer", .type = LS_CONFIG_MAP, .word = "kind", .meaning = "the optimizer"},
    {.path = W "optimizer.kind",
     .type = LS_CONFIG_WORD,
     .choices = optimizers,
     .later_choices = optimizers_later,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .default_text = "adamw",
     .source = "what transformers are trained with",
     .meaning = "adam, adamw and lamb keep two moments, lion one, sgd and lars one with momentum, "
                "adafactor none that counts"},
    {.path = W "optimizer.momentum",
     .type = LS_CONFIG_NUMBER,
     .maximum = 1,
     .default_text = "0.9",
     .source = "He et al. 2016",
     .when = "only with optimizer.kind sgd or lars",
     .meaning = "of SGD and LARS; 0 keeps no moment"},
    {.path = W "optimizer.clip",
     .type = LS_CONFIG_NUMBER,
     .flags = LS_CONFIG_POSITIVE,
     .maximum = 1e6,
     .choices = clip_words,
     .default_text = "auto",
     .source = "Megatron-LM's --clip-grad 1.0, what torchtitan and llm-foundry recipes set; SGD "
               "recipes do without",
     .meaning = "largest global norm of gradients: one pass over them and sums of a number over "
                "the ranks that hold others, whatever its value; auto: 1.0, none with sgd"},
    /* Pauses. */
    {.path = W "evaluation", .type = LS_CONFIG_MAP, .meaning = "forward passes between steps"},
    {.path = W "evaluation.every",
     .type = LS_CONFIG_INTEGER,
     .maximum = LARGEST,
     .default_text = "0",
     .source = "off",
     .meaning = "an evaluation after every so many steps; 0: never"},
    {.path = W "evaluation.steps",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1000000,
     .default_text = "1",
     .source = "one global batch",
     .when = "only with evaluation.every",
     .meaning = "evaluation steps, one after another"},
    {.path = W "evaluation.time",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .maximum = 1e5,
     .when = "only with evaluation.every",
     .meaning = "time of an evaluation step; of the kernels of a step's forward passes if not "
                "given"},
    {.path = W "logging", .type = LS_CONFIG_MAP, .meaning = "pauses for logs and metrics"},
    {.path = W "logging.every",
     .type = LS_CONFIG_INTEGER,
     .maximum = LARGEST,
     .default_text = "0",
     .source = "off",
     .meaning = "a pause after every so many steps; 0: never"},
    {.path = W "logging.time",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .maximum = 1e5,
     .default_text = "0 s",
     .source = "none",
     .when = "only with logging.every",
     .meaning = "how long all ranks stand still"},
    /* Placement. */
    {.path = W "placement",
     .type = LS_CONFIG_MAP,
     .word = "nodes",
     .meaning = "which GPUs the ranks run on; all if not given; also jobs.NAME.placement"},
    {.path = W "placement.nodes",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "nodes in the order in which ranks take them: main[0-7], main[0-3,6], main"},
    {.path = W "placement.gpus",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "GPUs of each node that are used (0-3), or GPUs by name (main[0]/gpu0-3; "
                "MIG instances main[0]/gpu0/mig0-2)"},
    {.path = W "placement.distribution",
     .type = LS_CONFIG_STRING,
     .default_text = "block",
     .source = "Slurm's default over nodes",
     .meaning = "block: node by node; cyclic: one rank per node in turn; plane=N: N in turn"},
    {.path = W "placement.share",
     .type = LS_CONFIG_WORD,
     .choices = shares,
     .default_text = "none",
     .source = "clusters give whole GPUs",
     .meaning = "of the GPUs with other jobs that say the same: time-slice (contexts take turns), "
                "concurrent (kernels side by side, as under MPS)"},
    {.path = W "placement.stages",
     .type = LS_CONFIG_MAP,
     .meaning = "nodes by ranges of pipeline stages: {0-3: \"a100[0-3]\"}"},
    {.path = W "placement.stages.*",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "nodes of these stages"},
    {.path = W "placement.replicas",
     .type = LS_CONFIG_MAP,
     .meaning = "nodes by ranges of data-parallel ranks: {0-1: a100, 2-5: h100}"},
    {.path = W "placement.replicas.*",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "nodes of these replicas"},

    /* When to stop, software, input. */
    {.path = W "stop", .type = LS_CONFIG_MAP, .number = "steps", .meaning = "when the run ends"},
    {.path = W "stop.steps",
     .type = LS_CONFIG_INTEGER,
     .dimension = LS_DIMENSION_COUNT,
     .minimum = 1,
     .maximum = LARGEST,
     .default_text = "3",
     .source = "steps are alike until something breaks",
     .meaning = "steps that are simulated"},
    {.path = W "stop.tokens",
     .type = LS_CONFIG_INTEGER,
     .dimension = LS_DIMENSION_COUNT,
     .minimum = 1,
     .maximum = 1e18,
     .when = "only with transformers, whose samples have tokens",
     .meaning = "tokens after which the run ends, in whole steps (a run simulates each of them; a "
                "whole training is campaign.until.tokens)"},
    {.path = W "software",
     .type = LS_CONFIG_MAP,
     .word = "generation",
     .meaning = "training framework: gaps between kernels, fusions, attention kernel"},
    {.path = W "software.generation",
     .type = LS_CONFIG_STRING,
     .default_text = "generic",
     .source = "a current framework",
     .meaning = "row of `lockstep list software`"},
    {.path = W "software.cuda_graphs",
     .type = LS_CONFIG_BOOLEAN,
     .meaning = "launches of a step are replayed from graphs: no host time per kernel, shorter "
                "gaps; of the "
                "generation if not given"},
    {.path = W "software.layer_graphs",
     .type = LS_CONFIG_WORD,
     .choices = layer_graphs,
     .default_text = "none",
     .when = "only with transformers, and without cuda_graphs",
     .source = "Megatron-Core, cuda_graph_scope: moe_router and moe_preprocess; attn",
     .meaning = "parts of a layer whose launches are replayed from a graph each pass: router (of a "
                "mixture of experts what comes before the tokens travel), attention (that, and "
                "attention with its norm)"},
    {.path = W "software.compile",
     .type = LS_CONFIG_BOOLEAN,
     .meaning = "a compiler fuses chains of elementwise work, norms and the loss; of the "
                "generation if not "
                "given"},
    {.path = W "software.fused_optimizer",
     .type = LS_CONFIG_BOOLEAN,
     .meaning = "the update is one launch over all tensors and one pass over their states, instead "
                "of plain "
                "tensor code; of the generation if not given"},
    {.path = W "software.expert_sync",
     .type = LS_CONFIG_BOOLEAN,
     .source = "Megatron-Core, moe/token_dispatcher.py: _maybe_dtoh_and_synchronize",
     .when = "only with experts that are not padded, and without cuda_graphs",
     .meaning = "the host waits for the device once per layer, forward, to read how many tokens "
                "each expert has, so that the launches behind it are exposed until it runs ahead "
                "again; of the generation if not given"},
    {.path = W "software.kernels",
     .type = LS_CONFIG_FILE,
     .meaning = "table of measured kernels (CSV: op, shape, format, time and, if wanted, gpu) that "
                "replace "
                "the kernel model where they match, see docs/kernels.md"},
    {.path = W "software.attention",
     .type = LS_CONFIG_WORD,
     .choices = attentions,
     .when = "only with transformers",
     .meaning = "attention kernel, where the GPU has it; of the generation if not given"},
    {.path = W "input",
     .type = LS_CONFIG_MAP,
     .meaning = "loader of each replica; without it the next batch is always ready"},
    {.path = W "input.threads",
     .type = LS_CONFIG_INTEGER,
     .maximum = 100000,
     .default_text = "0",
     .source = "off",
     .meaning = "loader threads per rank; 0: the next batch is always ready"},
    {.path = W "input.bytes_per_sample",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES,
     .maximum = 1e15,
     .default_text = "0 B",
     .source = "nothing read",
     .when = "only with input.threads > 0",
     .meaning = "read from storage"},
    {.path = W "input.cpu_time_per_sample",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .maximum = 1e5,
     .default_text = "0 s",
     .source = "nothing to decode",
     .when = "only with input.threads > 0",
     .meaning = "time of one core to decode a sample"},
    {.path = W "input.device_bytes_per_sample",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES,
     .maximum = 1e15,
     .default_text = "0 B",
     .source = "nothing copied",
     .when = "only with input.threads > 0",
     .meaning = "copied from the host to the GPU"},
    {.path = W "input.prefetch",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 100000,
     .default_text = "2",
     .source = "PyTorch's DataLoader",
     .when = "only with input.threads > 0",
     .meaning = "micro-batches that may be ready ahead"},
    {0},
};
