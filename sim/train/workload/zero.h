/* ZeRO as a workload asks for it. What it comes to on a layout: ls_workload_shards() and those after it (workload.h).
 *
 * Ownership:  plain records.
 */
#pragma once

#include "train/workload/workload_words.h"

typedef struct {
  int stage;           /* 0: data parallel; 1 optimizer, 2 + gradients, 3 + parameters sharded */
  gboolean overlap;    /* collectives run beside compute */
  gint64 bucket_bytes; /* gradients per reduction, stages 0-2 */
  int overlap_gather;  /* of stages 1 and 2 beside the next forward pass; -1: as the software */
  gint64 prefetch;     /* layers gathered ahead of the one that computes, stage 3 */
  gint64 max_gathered; /* parameters gathered at once at most, stage 3; 0: no limit */
  /* States are sharded in groups of so many copies and repeated over these; 0: all */
  guint shard_group;
  LsOffload offload; /* what lies in the memory of the host, or is updated there */
  LsOffload nvme;    /* of that, what lies on the drives of its node (ls_workload_nvme()) */
  gint64
      sub_group; /* parameters that the host updates at once where states are on drives; 0: all */
  /* ZeRO++, stage 3: layers are gathered in int8; gradients are reduced in int4, in hops inside a node and across when
   * node_group of the ranks of a shard group lie on each (0 and 1: one hop); groups of so many hold the parameters
   * once more, for the backward pass (0: none do) */
  gboolean quantized_weights, quantized_gradients;
  guint node_group, secondary_group;
} LsZero;

/* Groups of states in the memory of the host at once where they lie on drives and all overlaps: one is read, one
 * updated and one written. */
#define LS_SUB_GROUPS_LIVE 3
/* Layers whose parameters are read from drives ahead of those that are gathered. source: Rajbhandari et al. 2021,
 * ZeRO-Infinity (arXiv 2104.07857), section 6.2: reads for the operator i + 3, gathers for i + 1 (RECALLED). */
#define LS_READ_AHEAD 2
