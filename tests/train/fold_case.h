/* One scenario run folded and unfolded, compared rank by rank to the last bit. */
#pragma once

#include <glib.h>

#include "train/run/simulation.h"

typedef struct {
  const char *preset; /* of the nodes */
  guint nodes, gpus;  /* per node; 0: as the preset */
  LsFabricKind kind;
  LsRouting routing;
  guint rails, leaf_radix;
  double oversubscription, spine_oversubscription; /* of leaves, and of spines below a core; 0: 1 */
  guint tiers, spine_radix;                        /* 0: as few tiers, as many ports as needed */
  const char *slow;                                /* link at half its rate; NULL: none */
  guint tensor, data, pipeline;
  guint context; /* 0: 1 */
  LsContextKind context_kind;
  guint shard_group;  /* 0: all */
  gboolean documents; /* packed, and pauses */
  guint order;        /* number of a permutation of the axes; 0: the usual one */
  /* NULL: as usual */
  const LsSoftware *software;
  int zero;
  LsOffload offload;
  gboolean overlap, sequence_parallel;
  gboolean overlap_gather; /* of what ZeRO 1 and 2 updated */
  gint64 bucket_bytes;     /* 0: as usual */
  LsScheduleKind schedule;
  gint64 microbatches, steps;
  gboolean input;   /* loaders on the hosts, samples from storage */
  gint64 straggler; /* rank, or < 0: none */
  double factor;    /* of it */
  const char *model;
  guint layers;                 /* 0: as the model */
  LsModel *(*new_model) (void); /* in place of a preset; NULL: `model` */
  guint expert, expert_tensor;  /* 0: one, as tensor */
} FoldCase;

typedef struct {
  guint ranks, classes;
  guint64 events, folded_events;
  const char *why; /* not folded; NULL: folded */
  char *differs;   /* NULL: nothing does */
} FoldResult;

/* Unsuitable cases (the workload cannot be resolved) give `ranks` = 0. */
FoldResult fold_compare (const FoldCase *test);
/* All ranks both times: `events` traced, one operation at a time; `folded_events` with ranks that go in convoy, and
 * every fifth traced if `data` is a multiple of three. */
FoldResult fold_compare_convoys (const FoldCase *test);
/* A small random one. */
FoldCase fold_random (guint64 seed);
/* The same on one switch, with context, expert and an order of axes. */
FoldCase fold_random_axes (guint64 seed);
char *fold_describe (const FoldCase *test);
