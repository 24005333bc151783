/* Meanings of the words in the program's lists, see meanings.h.
 *
 * One table per list, indexed by its enum; a word without a row has a NULL title, which the test of
 * `lockstep list` (tests/cli/help.sh) finds. */
#include "cli/meanings.h"

static const char *const parts[LS_N_PARTS] = {
    [LS_PART_COMPUTE] = "kernels whose arithmetic takes longest: matrix products, attention",
    [LS_PART_MEMORY_BOUND] =
        "kernels whose reads and writes of HBM take longest: norms, elementwise",
    [LS_PART_EXPOSED_TENSOR] = "waiting for collectives between tensor-parallel ranks",
    [LS_PART_EXPOSED_DATA] = "waiting for all-reduces of gradients between replicas (ZeRO 0)",
    [LS_PART_EXPOSED_ZERO] =
        "waiting for gathers and reduce-scatters of sharded states (ZeRO, FSDP)",
    [LS_PART_EXPOSED_PIPELINE] = "waiting for a message between stages that is under way",
    [LS_PART_EXPOSED_EXPERT] = "waiting for all-to-alls between expert ranks",
    [LS_PART_EXPOSED_CONTEXT] = "waiting for exchanges along the sequence",
    [LS_PART_EXPOSED_SERVER] = "waiting for parameter servers",
    [LS_PART_PIPELINE_BUBBLE] = "waiting for another pipeline stage that still computes",
    [LS_PART_STRAGGLER_WAIT] = "waiting at a collective for a member that is late",
    [LS_PART_OPTIMIZER] = "the optimizer's update of parameters and states",
    [LS_PART_INPUT] = "waiting for the next batch from the loader",
    [LS_PART_CHECKPOINT] = "waiting while a checkpoint is written",
    [LS_PART_RECOVERY] = "restarting and repeating steps after a failure",
    [LS_PART_EXPOSED_OFFLOAD] =
        "waiting for copies between GPU and host of offloaded states and activations",
    [LS_PART_OTHER] =
        "the rest: host work once per step (host_step of its software), evaluation, logging",
};

static const char *const kinds[LS_N_KINDS] = {
    [LS_KIND_MATMUL] = "matrix product",
    [LS_KIND_ATTENTION] = "fused attention kernel (flash)",
    [LS_KIND_CONVOLUTION] = "convolution of pictures",
    [LS_KIND_NORM] = "layer, RMS or batch norm",
    [LS_KIND_ELEMENTWISE] = "activation functions, residuals, rotations, pooling",
    [LS_KIND_SOFTMAX] = "softmax of attention that is not fused",
    [LS_KIND_EMBEDDING] = "table look-up, and the sum into its gradient",
    [LS_KIND_LOSS] = "softmax and cross entropy over the vocabulary",
    [LS_KIND_OPTIMIZER_UPDATE] = "update of a rank's share of parameters and states",
    [LS_KIND_DEVICE_COPY] = "copy inside a GPU's memory",
    [LS_KIND_MEMORY] = "memory claimed or released, takes no time",
    [LS_KIND_ALL_REDUCE] = "collective: the sum, on every member",
    [LS_KIND_REDUCE_SCATTER] = "collective: the sum, one share per member",
    [LS_KIND_ALL_GATHER] = "collective: every member's share, on every member",
    [LS_KIND_BROADCAST] = "collective: one member's data, on every member",
    [LS_KIND_REDUCE] = "collective: the sum, on one member",
    [LS_KIND_ALL_TO_ALL] = "collective: a different piece for every member",
    [LS_KIND_BARRIER] = "meeting of all ranks at the end of a step, takes no time by itself",
    [LS_KIND_SEND] = "message to the next or previous pipeline stage",
    [LS_KIND_RECV] = "its arrival there",
    [LS_KIND_PUT] = "a one-sided message",
    [LS_KIND_HOST_COPY] = "copy between host and GPU over PCIe",
    [LS_KIND_STORAGE_READ] = "read from shared storage or local drives",
    [LS_KIND_STORAGE_WRITE] = "write to shared storage or local drives",
    [LS_KIND_HOST_WORK] = "work of host cores, such as decoding samples",
    [LS_KIND_DELAY] = "a pause of the stream: host work between steps",
    [LS_KIND_MESSAGE] = "one message of a collective that runs as messages",
    [LS_KIND_GATHER] = "collective: every member's share, on one member",
    [LS_KIND_SCATTER] = "collective: one member's data, a share per member",
    [LS_KIND_STEP] = "step of a timed worker: a draw",
    [LS_KIND_PUSH] = "a gradient on its way to a server, and until the server has dealt with it",
    [LS_KIND_PULL] = "a model on its way from a server",
};

static const char *const memory[LS_N_MEMORY] = {
    [LS_MEMORY_PARAMETERS] = "the resident (or sharded) copy of the parameters",
    [LS_MEMORY_GRADIENTS] = "accumulated gradients",
    [LS_MEMORY_OPTIMIZER] = "moments and the optimizer's own copy of the parameters",
    [LS_MEMORY_ACTIVATIONS] = "what the forward pass keeps for the backward, and temporaries",
    [LS_MEMORY_BUFFERS] = "gathered parameters, buckets, messages between stages",
};

static const char *const collectives[LS_N_COLLECTIVE_OPS] = {
    [LS_COLLECTIVE_ALL_REDUCE] = "the sum, on every member",
    [LS_COLLECTIVE_REDUCE_SCATTER] = "the sum, one share per member",
    [LS_COLLECTIVE_ALL_GATHER] = "every member's share, on every member",
    [LS_COLLECTIVE_BROADCAST] = "one member's data, on every member",
    [LS_COLLECTIVE_REDUCE] = "the sum, on one member",
    [LS_COLLECTIVE_ALL_TO_ALL] = "a different piece for every member",
    [LS_COLLECTIVE_ALL_TO_ALLV] = "the same with a size of its own for each pair",
    [LS_COLLECTIVE_GATHER] = "every member's share, on one member",
    [LS_COLLECTIVE_SCATTER] = "one member's data, a share per member",
    [LS_COLLECTIVE_SEND_RECV] = "a message between two ranks",
    [LS_COLLECTIVE_BARRIER] = "an instant meeting, costs nothing itself",
    [LS_COLLECTIVE_HOST_TO_DEVICE] = "copy to a GPU",
    [LS_COLLECTIVE_DEVICE_TO_HOST] = "copy from a GPU",
    [LS_COLLECTIVE_STORAGE_READ] = "read of files",
    [LS_COLLECTIVE_STORAGE_WRITE] = "write of files",
    [LS_COLLECTIVE_NVME_READ] = "read of the node's own drives",
    [LS_COLLECTIVE_NVME_WRITE] = "write to the node's own drives",
};

static const char *const schedules[LS_N_SCHEDULES] = {
    [LS_SCHEDULE_GPIPE] = "all forward passes, then all backward passes; keeps every activation",
    [LS_SCHEDULE_1F1B] = "one forward, one backward; keeps as many activations as stages follow",
    [LS_SCHEDULE_INTERLEAVED] =
        "1F1B with virtual_stages per device: as many times less bubble and more messages",
    [LS_SCHEDULE_ZB_H1] = "weight gradients fill bubbles (a third is left); activations as 1F1B",
    [LS_SCHEDULE_ZB_H2] = "weight gradients fill all bubbles; activations of 2 p - 1 micro-batches",
    [LS_SCHEDULE_ZB_V] =
        "two stages per device, there and back; no bubbles with 1F1B's activations",
    [LS_SCHEDULE_DUALPIPE] = "two copies of the model fed from both ends; parameters twice",
    [LS_SCHEDULE_DUALPIPEV] = "DualPipe folded: two stages per device, there and back",
};

static const char *const recompute[LS_N_RECOMPUTE_MODES] = {
    [LS_RECOMPUTE_NONE] = "every activation is kept",
    [LS_RECOMPUTE_SELECTIVE] = "the attention core, or named operations, run again",
    [LS_RECOMPUTE_MATMULS] = "all but attention and every other matmul runs again",
    [LS_RECOMPUTE_FULL] = "layers are run again from their kept inputs",
    [LS_RECOMPUTE_FIT] = "of these what fits in memory and repeats least",
};

static const char *const optimizers[LS_N_OPTIMIZERS] = {
    [LS_OPTIMIZER_ADAM] = "two moments per parameter",
    [LS_OPTIMIZER_ADAMW] = "Adam with decoupled weight decay: two moments per parameter",
    [LS_OPTIMIZER_SGD] = "one moment per parameter, none with momentum 0",
    [LS_OPTIMIZER_LAMB] = "Adam's two moments, and norms of weights and update per tensor",
    [LS_OPTIMIZER_LARS] = "SGD's moment, and norms of weights and gradient per tensor",
    [LS_OPTIMIZER_LION] = "one moment per parameter, steps by its sign",
    [LS_OPTIMIZER_ADAFACTOR] = "a row and a column per matrix for the second moment, no first",
};

const char *ls_meaning_part (LsPart part) {
  return parts[part];
}

const char *ls_meaning_kind (LsKind kind) {
  return kinds[kind];
}

const char *ls_meaning_memory (LsMemoryKind kind) {
  return memory[kind];
}

const char *ls_meaning_collective (LsCollectiveOp op) {
  return collectives[op];
}

const char *ls_meaning_schedule (LsScheduleKind schedule) {
  return schedules[schedule];
}

const char *ls_meaning_recompute (LsRecomputeMode mode) {
  return recompute[mode];
}

const char *ls_meaning_optimizer (LsOptimizerKind optimizer) {
  return optimizers[optimizer];
}
