/* What one device of a pipeline holds of a workload: its layers, planned for one accelerator.
 *
 * Model:      a stage is a sequence of runs of equal layers. The embedding is the first run of the
 *             first stage of the model and the head with the loss the last run of the last stage. A
 *             device with several stages (pipeline.h) holds them as parts, and all their runs in the
 *             order of the parts.
 * Cost:       plans are built once per kind of layer and part, whatever the number of layers.
 *
 * Ownership: a stage owns its runs, their plans and its parts.
 */
#pragma once

#include "train/layer/layer.h"
#include "train/workload/workload.h"

/* The layers of one pipeline stage in order of execution, as runs of equal layers, planned for one
 * accelerator. Embedding first and head last where the stage has them. */
typedef struct {
  LsLayerPlan *plan; /* owned; equal layers share theirs */
  guint count;       /* equal layers in sequence */
  gint32 first;      /* number of the first in the model (blocks from 0); -1 embedding and head */
  gboolean is_block; /* may be recomputed */
} LsLayerRun;

typedef struct LsStage LsStage;
struct LsStage {
  guint n_runs;
  LsLayerRun *runs;
  guint n_parts;            /* 0: it is one stage of the model; */
  LsStage **parts;          /* else these; their boundaries count, not its own */
  gint64 parameters;        /* trained, on one rank of the stage, before ZeRO, without the next */
  gint64 frozen_parameters; /* the same, not trained, */
  gint64 frozen_map_parameters;    /* of them, what precision.frozen is about, */
  gint64 frozen_expert_parameters; /* and of routed experts */
  gint64 table_parameters;         /* of embedding tables on it */
  gint64 expert_parameters;        /* of routed experts on it */
  gint64 narrow_parameters;        /* of them, linear maps that multiply in a narrow format, and */
  gint64 narrow_bytes;             /* the copies in that format that stay from step to step */
  /* Handed to autograd for weight gradients (hw/software.h), or its own, kept */
  gint64 placeholder_bytes;
  gint64 boundary_bytes; /* activation sent to the next stage (and gradient back), per rank */
  gint64 boundary_gather_bytes; /* tensor all-gather (total) that the receiver runs to make the
                                 * boundary whole again (scatter/gather of SC21, 4.1); 0: none */
  /* Tied embeddings on two devices: to be summed over them; else 0 */
  gint64 embedding_gradient_elements;
};

/* Of a device, by its place in the pipeline. */
LsStage *ls_stage_new (const LsWorkload *workload, guint device, const LsAccelerator *accelerator);
/* A device's stage from its parts (takes the array and what is in it). */
LsStage *ls_stage_new_of_parts (const LsWorkload *workload, LsStage **parts, guint n_parts);
/* The stage of the model that a part of a device is. */
const LsStage *ls_stage_part (const LsStage *stage, guint part);
/* The optimizer's update of what a rank owns of it, on its device. */
LsKernelCost ls_stage_update (const LsStage *stage, const LsWorkload *workload,
                              const LsDevice *device);
void ls_stage_free (LsStage *stage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStage, ls_stage_free)
