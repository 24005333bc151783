/* One layer of a model as the operations that a rank runs for one micro-batch: forward, backward,
 * and what each forward operation keeps for the backward.
 *
 * Model:      a layer is a list of forward operations and a list of backward operations, both in
 *             execution order; an operation is a kernel with its cost on the given accelerator, or
 *             a collective over the tensor group, or the group of its axis. Recomputing a layer runs its
 *             forward list again (all of it, or only some operations for selective: those marked
 *             `core`, or those that were named, see ls_layer_plan_select()).
 * Invariants: activations of a layer = sum of saved_bytes over its forward list; parameters are
 *             counted per rank, after tensor parallelism, before ZeRO.
 * Left out:   how layers are arranged into a step (program builders) and who shards what (zero).
 *
 * Ownership: a plan owns its arrays; strings are static.
 */
#pragma once

#include "hw/kernel.h"
#include "net/collective.h"
#include "train/vocabulary.h"

/* Of a transformer block, as graphs of parts of a layer tell them apart (hw/software.h). */
typedef enum {
  LS_PART_REST,
  LS_PART_ATTENTION, /* with its norm and the sum behind it */
  LS_PART_ROUTER,    /* of experts: from the norm to what is sent, and shared experts */
} LsLayerPart;

typedef struct {
  const char *name; /* "qkv", "attention", "mlp_up", ... for the trace */
  LsKind kind;      /* LS_KIND_MATMUL ... or LS_KIND_ALL_REDUCE ... for tensor collectives */
  gboolean is_collective;
  gboolean by_load; /* its size follows the load of this rank's experts (expert_load.h) */
  LsLayerPart part;
  gboolean back; /* of an all-to-all by load: from experts to tokens */
  /* A kernel that the dispatcher launches with its all-to-all: in its stream, where that is beside compute. */
  gboolean travels;
  LsAxis axis;      /* of a collective: whose group; LS_AXIS_NONE: tensor */
  gboolean in_part; /* a fused matmul of which only some run again, at the cost `again` */
  LsKernelCost again;
  gint64 output_elements,
      even_elements; /* matmuls forward: all, and of those of even number (layer_matmuls.c) */
  LsKernelCost cost; /* kernels: launch overhead of the software generation included */
  LsCollectiveOp collective;
  gint64 collective_bytes;   /* message size, in the convention of net/collective.h */
  gint64 saved_bytes;        /* forward: kept from its end until the layer's backward */
  gint64 saved_input_bytes;  /* of these, the output of the kernel before it: who runs that again
                              * has them again; 0 where an operation's input is not told apart */
  gint64 saved_output_bytes; /* of these, its own output */
  gint64 workspace_bytes;    /* live only while it runs */
  /* Gradients of weights: what is kept for them when they are put off: the saved input, and the gradient of
   * the output, which is part of the workspace when they are not. */
  gint64 operand_bytes, output_gradient_bytes;
  gboolean core; /* part of the attention core: selective recompute drops and repeats it */
  /* What ls_layer_plan_select() decided. */
  gboolean repeated;    /* runs again before the backward pass */
  gint64 dropped_bytes; /* of saved_bytes: not kept by the forward pass */
  gint64 remade_bytes;  /* kept from its second run on; they sum up to what was dropped */
  /* Collective: cut into so many pieces that travel beside the pieces of its matmul, which is the next
   * operation of an all-gather and the one before of a reduce-scatter; 0: whole. Matmul: cost of one piece. */
  guint pieces;
  LsKernelCost piece;
  /* Collective: the next operation need not wait for it; all later ones do */
  gboolean overlaps_next;
  /* Backward list: WEIGHT_GRAD what may be put off (zero-bubble schedules); BACKWARD or INPUT_GRAD the rest */
  LsPhaseName phase;
} LsLayerOp;

/* Of a weight matrix on this rank. */
typedef struct {
  gint64 in, out;
} LsMatrixShape;

typedef struct {
  char *name; /* "embedding", "block", "head", or the block of a layer list */
  guint n_forward, n_backward;
  LsLayerOp *forward, *backward;
  gint64 parameters;        /* trained, on this rank, without the next */
  gint64 table_parameters;  /* fp32 embedding tables on this rank, updated where they are touched */
  gint64 expert_parameters; /* routed experts on this rank, that expert-data ranks have in common */
  gint64 frozen_parameters,
      frozen_expert_parameters; /* the same, not trained; none of those above */
  /* Of the former, linear maps of blocks, stored in precision.frozen */
  gint64 frozen_map_parameters;
  guint n_expert_matrices;  /* weight matrices among those */
  gint64 narrow_parameters; /* of linear maps that multiply in a narrow format, else 0 */
  gint64 narrow_bytes;      /* of their copies in that format that stay from step to step */
  guint n_matrices;         /* weight matrices among them, at least 1 when there are parameters */
  guint n_shapes;           /* different shapes of them, without the output matrix, where the */
  LsMatrixShape *shapes;    /* software hands out a placeholder for each; else none */
  gboolean is_root;         /* stays gathered with the others like it (hw/software.h) */
  gboolean selected;        /* ls_layer_plan_select() was called; else selective means the core */
  gint64 input_bytes;       /* what full recompute keeps instead of the saved bytes */
  gint64 output_bytes;      /* what goes to the next pipeline stage, per rank */
  /* Forward FLOPs of the model per micro-batch over ALL tensor ranks, by the usual convention (attention in full) */
  double model_flops;
} LsLayerPlan;

void ls_layer_plan_free (LsLayerPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsLayerPlan, ls_layer_plan_free)

/* Forward operations that a second forward pass must run for the backward pass: those up to the last that
 * saves something, without it when it is a matmul (which saves its input). */
guint ls_layer_plan_needed (const LsLayerPlan *plan);
/* How many of these really run: the same, without the reduction that would run beside that matmul. */
guint ls_layer_plan_rerun (const LsLayerPlan *plan);
/* Adds a shape to a plan that does not have it. */
void ls_layer_plan_note_shape (LsLayerPlan *plan, LsMatrixShape shape);
gint64 ls_layer_plan_saved_bytes (const LsLayerPlan *plan); /* no recompute */
/* What stays of the layer from the gradients of its inputs to those of its weights when the two are apart:
 * both operands of each weight gradient. For a GPT block 7 + 9 = 16 s b h elements, the M_W = 32 s b h bytes of
 * Qi et al. 2023 (arXiv 2401.10241), section 2. */
gint64 ls_layer_plan_put_off_bytes (const LsLayerPlan *plan);
gint64 ls_layer_plan_saved_core_bytes (
    const LsLayerPlan *plan); /* the part that selective recompute drops without names */

/* Selective recompute of the forward operations with these names (NULL: of the attention core), in place.
 * Dropped are a named operation's own tensors and its output where the next kernel keeps it (the output
 * of an attention core stays: the projection's checkpoint is its input, as in Megatron-LM). An operation
 * whose input nobody keeps needs the one before it to run again too. Returns what is dropped. */
gint64 ls_layer_plan_select (LsLayerPlan *plan, const char *const *names);
/* The same by kind: outputs of attention and of every other matmul stay, with the layer's input.
 * `unread_element_bytes`: of an output of the last matmul, where that is kept too though nobody reads it; else 0. */
void ls_layer_plan_select_matmuls (LsLayerPlan *plan, gint64 unread_element_bytes);
/* What the operation costs when it runs again. */
const LsKernelCost *ls_layer_op_again (const LsLayerOp *op);
/* Of one operation, for a plan that was selected or not. */
gboolean ls_layer_op_repeated (const LsLayerPlan *plan, guint op);
gint64 ls_layer_op_dropped_bytes (const LsLayerPlan *plan, guint op);
gint64 ls_layer_op_remade_bytes (const LsLayerPlan *plan, guint op);
/* Is this operation the first of a collective and a matmul that are cut, in either order? It must not be the
 * last of its list. */
gboolean ls_layer_is_cut (const LsLayerOp *op);
