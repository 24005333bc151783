/* What a trace says about a run besides its events: plain records filled in by whoever set it up.
 *
 * Model:      the numbers of these arrays are the ids of the database: ranks, nodes, resources, groups
 *             and strings keep the numbers that the engine and the programs use for them. Names of
 *             kinds, axes, phases, account parts and memory kinds come from train/vocabulary.h.
 * Invariants: names of nodes, resources, streams and strings are unique within their array.
 * Ownership:  borrowed throughout; the caller keeps everything alive until the recorder is freed.
 */
#pragma once

#include "engine/program.h"
#include "train/vocabulary.h"

/* Marks a small integer that does not apply (written as NULL). */
#define LS_TRACE_ABSENT (-1)

typedef struct {
  const char *name;
  const char *policy; /* "sync", ... */
  guint gpus;
  gint64 start_ps;
} LsTraceJob;

typedef struct {
  const char *name;
  const char *group;
  const char *gpu;  /* NULL: none */
  const char *rack; /* NULL: not modelled */
} LsTraceNode;

typedef struct {
  guint job;
  guint job_rank;          /* number within its job and role */
  const char *role;        /* "worker", "server" or "host" */
  gint node;               /* or LS_TRACE_ABSENT */
  gint device;             /* GPU number within its node, or LS_TRACE_ABSENT */
  const char *mig;         /* NULL: the whole GPU */
  guint class_id;          /* ranks of one class run one program and may stand for each other */
  gint dp, tp, pp, cp, ep; /* coordinates, or LS_TRACE_ABSENT */
  guint n_streams;
  const guint16 *streams; /* the number in LsTraceMeta.streams of each stream of its program */
  gint64 static_bytes[LS_MEMORY_KINDS]; /* held all the time, not claimed through the engine */
} LsTraceRank;

typedef struct {
  const char *kind; /* "nvlink", "nic", "hbm", ... */
  const char *name;
  gint node, rank;             /* or LS_TRACE_ABSENT */
  const char *source, *target; /* ends of a link, or NULL */
  const char *tier;            /* "node", "leaf", "spine", ... or NULL */
  double capacity;             /* units per second */
  const char *unit;            /* "B/s", ... */
} LsTraceResource;

typedef struct {
  guint job;
  guint axis; /* LsAxis */
  guint n_members;
  const guint32 *members; /* ranks, in position order */
} LsTraceGroup;

typedef struct {
  guint n_jobs, n_nodes, n_ranks, n_resources, n_groups, n_streams, n_strings;
  const LsTraceJob *jobs;
  const LsTraceNode *nodes;
  const LsTraceRank *ranks;
  const LsTraceResource *resources;
  const LsTraceGroup *groups;
  const char *const *streams;
  const char *const *strings; /* LsOp.name is a number in here */
} LsTraceMeta;
