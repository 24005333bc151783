/* The network of a cluster on an engine: resources, and the expander of collectives and messages.
 *
 * Call order: ls_net_new() before anything else is added to the engine (device = GPU number); then
 * ranks and groups; ls_net_set_ranks() and ls_net_set_descriptors(); ls_engine_set_expander (engine,
 * ls_net_expander (), net); run. Free the net after the engine.
 *
 * With a NULL engine the net gives closed forms only (ls_net_estimate()).
 *
 * Ownership: borrows the cluster and the engine; owns every LsTransfer that it hands out.
 */
#pragma once

#include "net/collective.h"
#include "net/topology.h"

typedef struct LsNet LsNet;

LsNet *ls_net_new (const LsCluster *cluster, LsEngine *engine);
void ls_net_free (LsNet *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsNet, ls_net_free)

/* gpu_of_rank[rank], copied. Without it ranks are GPUs. */
void ls_net_set_ranks (LsNet *net, const guint *gpu_of_rank, guint n);
/* What LsOp.descriptor means, copied. */
void ls_net_set_descriptors (LsNet *net, const LsDescriptor *descriptors, guint n);
/* How collectives run: as `tuning.model` of their fabric or node says (the default), or all in one way.
 * Single messages and copies are the same in both. Before the first transfer. */
typedef enum { LS_NET_MODEL_TUNED, LS_NET_MODEL_FLUID, LS_NET_MODEL_MESSAGE } LsNetModel;
void ls_net_set_model (LsNet *net, LsNetModel model);
/* Its `self` is an LsNet. */
const LsExpander *ls_net_expander (void);

/* Engine device of a node's host: cores and DRAM. */
guint ls_net_host_device (const LsNet *net, guint node);

/* All resources of the cluster, in order of creation: for the trace's table. */
guint ls_net_n_resources (const LsNet *net);
const LsNetResource *ls_net_resource (const LsNet *net, guint i);
/* By the engine's number; LS_NO_NUMBER, NULL: not ours. */
guint ls_net_resource_index (const LsNet *net, guint number);
const LsNetResource *ls_net_resource_of (const LsNet *net, guint number);
/* The cluster's graph of resources. */
const LsTopology *ls_net_topology (const LsNet *net);

/* An operation alone on the cluster. */
typedef struct {
  double time_s;
  double latency_s; /* part of it in which nothing moves */
  double algbw_bytes_per_s;
  double busbw_bytes_per_s; /* as nccl-tests counts */
  const char *algorithm;    /* NULL: nothing to do */
  const char *protocol;
  guint channels; /* parallel rings or trees that NCCL would spread it over */
} LsNetEstimate;

/* `gpus`: the group in order, the first is the root; SEND_RECV of two: from gpus[0] to gpus[1], of more:
 * each to the next; copies: of gpus[0]. In the fluid model, whatever runs on the engine. */
LsNetEstimate ls_net_estimate (LsNet *net, const guint *gpus, guint n,
                               const LsDescriptor *descriptor);
/* The template itself, as the engine would get it. */
const LsTransfer *ls_net_transfer (LsNet *net, const guint *gpus, guint n,
                                   const LsDescriptor *descriptor);

/* The same for a collective of a group: SEND_RECV of two goes both ways, as of more. */
const LsTransfer *ls_net_group_transfer (LsNet *net, const guint *gpus, guint n,
                                         const LsDescriptor *descriptor);

/* Frees what ls_net_transfer() and ls_net_estimate() have returned so far. */
void ls_net_drop_transfers (LsNet *net);

/* Text for people (transfer full). `check --topology`: the cluster's parts and rates. */
char *ls_net_describe (const LsCluster *cluster);
