/* A job: a workload compiled for a cluster. Programs, one per kind of rank; which rank runs which on
 * which GPU; the groups in which ranks communicate; the tables that operations refer to.
 *
 * Model:      a kind of rank is a pipeline stage on one type of accelerator and node, with one number
 *             of micro-batches. Each group is used by one
 *             stream of each of its members, as a communicator of a collective library is; so axes that
 *             two streams use have two groups.
 *                 world: all ranks (end of step)        tensor, tensor sync: per data rank and stage
 *                 data, zero gather, zero reduce: per tensor rank and stage
 *                 pipeline sync: per tensor and data rank
 *                 pipeline: one per pair of neighbouring stages (slot PIPELINE for the earlier one,
 *                 PIPELINE_PREVIOUS for the later); on a ring also from the last device to the first; where
 *                 flows lead both ways one more per pair (PIPELINE_BACK)
 *                 embedding: first and last device      pipeline mirror: devices with the same stages
 * Cost:       memory of one program per kind of rank and a few words per rank and group.
 *
 * Ownership: a job owns everything in it (tables by reference) and borrows nothing after ls_job_build().
 */
#pragma once

#include "engine/engine.h"
#include "net/cluster.h"
#include "train/layer/stage.h"
#include "train/program/expert_load.h"
#include "train/program/tables.h"

typedef struct {
  LsProgram *program;
  LsStage *stage;
  guint stage_index; /* of the device in the pipeline */
  const LsAccelerator *accelerator;
  gint64 microbatches;     /* per step */
  double host_cores;       /* of its node */
  double host_bytes_per_s; /* of the memory of its node's hosts; 0: unknown */
} LsRankKind;

typedef struct {
  LsAxis axis;
  LsSlot slot;       /* of all members but the first */
  LsSlot first_slot; /* of the first */
  guint n_ranks;
  guint *ranks; /* in order of position */
} LsJobGroup;

typedef struct {
  char *name;
  guint n_ranks;
  guint *kind_of_rank; /* index into kinds */
  guint *gpu_of_rank;
  LsCoordinates *coordinates; /* of each rank */
  guint n_kinds;
  LsRankKind *kinds;
  guint n_groups;
  LsJobGroup *groups;
  LsExpertLoad *load; /* of experts; NULL: balanced */
  LsTables *tables;   /* names of LsOp.name, descriptors */
} LsJob;

/* LS_ERROR_RUN when a program is malformed (a bug). */
LsJob *ls_job_build (const LsWorkload *workload, const LsCluster *cluster, GError **error);
/* The same with tables that other jobs of one engine use too; NULL: its own. */
LsJob *ls_job_build_with (const LsWorkload *workload, const LsCluster *cluster, LsTables *tables,
                          GError **error);
void ls_job_free (LsJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsJob, ls_job_free)

/* What ls_job_build() does for a given accelerator per GPU and stages that are made by `new_stage`
 * (called once per kind of rank); for tests that plan layers themselves. */
typedef LsStage *(*LsStageFunc) (gpointer self, const LsWorkload *workload, guint stage,
                                 const LsAccelerator *accelerator);
typedef struct {
  const LsAccelerator *const *accelerators; /* of each GPU */
  const double *cores_of_gpu;               /* of the node of each GPU; NULL: host_cores for all */
  double host_cores;
  /* The same of the memory of hosts; NULL: host_bytes_per_s */
  const double *host_bytes_per_s_of_gpu;
  double host_bytes_per_s;
  LsStageFunc new_stage;
  gpointer self;
  LsTables *tables; /* shared with other jobs; NULL: its own */
} LsJobSource;
LsJob *ls_job_build_from (const LsWorkload *workload, const LsJobSource *source, GError **error);

/* Adds the job's ranks and groups to an engine, in the job's order: rank and group numbers agree when
 * nothing was added before. `device_of_gpu` and `host_of_gpu` give engine devices; NULL for the
 * latter: no host devices. */
void ls_job_install (const LsJob *job, LsEngine *engine, const guint *device_of_gpu,
                     const guint *host_of_gpu);

const LsRankKind *ls_job_kind (const LsJob *job, guint rank);
/* Operations that all ranks execute in all. */
gint64 ls_job_n_operations (const LsJob *job);
