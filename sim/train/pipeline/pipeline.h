/* Pipelines: how stages lie on devices, and in which order a device works through its micro-batches.
 *
 * Model:      p devices; a device holds one or more parts; a part is one stage of the model, and a
 *             stage's output goes to the stage after it. Shapes, d the device:
 *               LINE    one part: stage d                              p stages
 *               RING    v parts: part c is stage c p + d               v p stages, p - 1 sends to 0
 *               V       two parts: stages d and 2 p - 1 - d            2 p stages, both ends on device 0
 *               MIRROR  two parts: stages d and p - 1 - d              p stages, two copies of the model
 *                       that half of the micro-batches pass in opposite directions
 *             An order is a list of actions per device: the forward (F) of a micro-batch through a
 *             part, its whole backward (B), or the backward's two halves: gradients of inputs (I),
 *             which the stage before waits for, and of weights (W), which nobody does.
 * Sources:    GPipe: Huang et al. 2019. 1F1B and interleaved 1F1B: Narayanan et al., SC21, 2.2; the order
 *             is that of Megatron-LM's forward_backward_pipelining_with_interleaving (warm-up of
 *             2 (p - d - 1) + (v - 1) p). ZB-H1, ZB-H2: Qi et al. 2023 (arXiv 2401.10241), section 2. ZB-V:
 *             Qi et al. 2024 (arXiv 2405.15362) in the fixed order of PyTorch's
 *             ScheduleZBVZeroBubble. DualPipe, DualPipeV: the orders of deepseek-ai/DualPipe.
 * Invariants: a part's forwards, its backwards and its weight gradients each run in the order of their
 *             micro-batches; so messages of one kind pair up in order.
 * Cost:       a list has O(parts x micro-batches) entries. Pure: values in, values out.
 *
 * Ownership: lists are (transfer full), faults too.
 */
#pragma once

#include <glib.h>

/* X(ID, "word of a scenario"). */
#define LS_SCHEDULES(X)                                                              \
  X (GPIPE, "gpipe")                  /* all forwards, then all backwards */         \
  X (1F1B, "1f1b")                    /* warm-up, one forward one backward, drain */ \
  X (INTERLEAVED, "interleaved-1f1b") /* the same with several stages per device */  \
  X (ZB_H1, "zb-h1")                  /* backward in two halves, memory of 1F1B */   \
  X (ZB_H2, "zb-h2")                  /* the same with twice its memory */           \
  X (ZB_V, "zb-v")                    /* two stages per device, there and back */    \
  X (DUALPIPE, "dualpipe")            /* two copies of the model, from both ends */  \
  X (DUALPIPEV, "dualpipev")          /* DualPipe folded: one copy, half the devices */

#define LS_ENUM_SCHEDULE(id, name) LS_SCHEDULE_##id,
typedef enum { LS_SCHEDULES (LS_ENUM_SCHEDULE) LS_N_SCHEDULES } LsScheduleKind;

typedef enum { LS_SHAPE_LINE, LS_SHAPE_RING, LS_SHAPE_V, LS_SHAPE_MIRROR } LsPipelineShape;

typedef enum {
  LS_ACTION_FORWARD,
  LS_ACTION_BACKWARD, /* input and weight gradients */
  LS_ACTION_INPUT,    /* input gradients only */
  LS_ACTION_WEIGHT,   /* weight gradients only */
  LS_ACTION_PAIR,     /* a forward and a backward that begin and end together */
} LsActionKind;

typedef struct {
  guint8 kind;       /* LsActionKind */
  guint8 part;       /* of a pair: of the forward */
  guint8 other_part; /* of a pair: of the backward */
  guint8 last;       /* the last action of the step that adds to the part's weight gradients */
  gint32 microbatch, other;
} LsAction;

/* p, v, m as above; the numbers of micro-batches of a part begin at 0, or at m/2 for the second part of a
 * mirror. */
typedef struct {
  guint devices, virtual_stages;
  gint64 microbatches;
  /* 1F1B of one device, interleaved 1F1B: a forward and a backward begin and end together. */
  gboolean paired;
} LsPipelineSize;

typedef struct {
  LsPipelineShape shape;
  gboolean splits;        /* some backwards run in halves */
  gboolean parallelogram; /* devices end a step one after another when nothing makes them meet */
  /* Appends the device's actions. */
  void (*order) (GArray *actions, const LsPipelineSize *size, guint device);
  /* What the size must be, in words, or NULL when it is legal; NULL: all are. */
  const char *(*fault) (const LsPipelineSize *size);
} LsPipeline;

/* What keeps the pipeline from running, in words, or NULL. */
const char *ls_pipeline_fault (const LsPipeline *pipeline, const LsPipelineSize *size);
const LsPipeline *ls_pipeline_get (LsScheduleKind kind);
const char *ls_schedule_name (LsScheduleKind kind);
/* LsAction in order of execution, with `last` set. */
GArray *ls_pipeline_actions (const LsPipeline *pipeline, const LsPipelineSize *size, guint device);

/* Parts of each device, stages of the model, which stage a part is. */
guint ls_pipeline_n_parts (const LsPipeline *pipeline, const LsPipelineSize *size);
guint ls_pipeline_n_stages (const LsPipeline *pipeline, const LsPipelineSize *size);
guint ls_pipeline_stage (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                         guint part);
/* The device whose part of the same number, or of the next, holds the stage after (before) this one:
 * +1 the next device, -1 the previous, 0 this one; the part must have such a stage. */
gint ls_pipeline_to_next (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                          guint part);
gint ls_pipeline_to_previous (const LsPipeline *pipeline, const LsPipelineSize *size, guint device,
                              guint part);
gint64 ls_pipeline_part_microbatches (const LsPipeline *pipeline, const LsPipelineSize *size);

/* Orders, by file. */
extern const LsPipeline ls_pipeline_gpipe, ls_pipeline_1f1b, ls_pipeline_interleaved,
    ls_pipeline_zb_h1, ls_pipeline_zb_h2, ls_pipeline_zb_v, ls_pipeline_dualpipe,
    ls_pipeline_dualpipev;
void ls_pipeline_add (GArray *actions, LsActionKind kind, guint part, gint64 microbatch);
