/* Building a layer plan operation by operation: what the builders of all kinds of layers share.
 *
 * Call order: ls_layer_builder_init, add forward and backward operations in order of execution,
 *             ls_layer_builder_finish.
 * A builder knows the accelerator, the software generation and the formats, so that the kinds of
 * layers state shapes only. Ownership: the plan passes to the caller of finish.
 */
#pragma once

#include "train/layer/layer.h"
#include "train/workload/workload.h"

typedef enum { LS_SIDE_FORWARD, LS_SIDE_BACKWARD } LsSide;

typedef struct {
  const LsWorkload *workload;
  LsDevice device;
  LsAttention attention; /* that runs on this device */
  LsFormat format;       /* asked for; the kernel model falls back where the device must */
  gint64 element_bytes;  /* of an activation */
  gboolean narrow; /* linear maps multiply in the formats below: see train/workload/precision.h */
  LsFormat narrow_forward, narrow_gradient;
  gboolean attends_narrow; /* attention multiplies in 8 bits: see train/workload/precision.h */
  int copies;              /* of a narrow operand that both passes need */
  gboolean by_row;         /* each pass scales its own from what is kept in `format` */
  gboolean gathers_narrow; /* each rank scales its rows, which travel so */
  gboolean fused;          /* the pass before has scaled the next input or gradient */
  gboolean scaled; /* the operands of the next linear map are in the narrow format already */
  guint tensor;
  gboolean sequence_parallel;
  gint64 groups; /* equal parts that linear maps cut `tokens` into, a matrix for each */
  guint pieces;  /* of the next linear map or input gradient and its collective; 0: whole */
  gint64 batch, seq,
      tokens;       /* one micro-batch: samples, tokens per sample on this rank (1/context of
                              * the sequence), both multiplied */
  guint matmuls;    /* forward, so far, those of one kernel one by one */
  gboolean frozen;  /* weights have no gradients: maps keep no input for them */
  gboolean maps;    /* its linear maps are those of a block */
  gboolean adds;    /* products of rows add to what their output holds: they read it too */
  gboolean expands; /* frozen weights are stored narrower than products read them */
  gint64 adapter_parameters; /* trained, so far, on this rank */
  LsLayerPlan *plan;
  LsSide side;
  LsLayerPart part; /* that is being written */
} LsLayerBuilder;

void ls_layer_builder_init (LsLayerBuilder *builder, const LsWorkload *workload,
                            const LsAccelerator *accelerator, const char *name);
LsLayerPlan *ls_layer_builder_finish (LsLayerBuilder *builder);

/* Operations are added to this side from now on. */
void ls_layer_builder_side (LsLayerBuilder *builder, LsSide side);
/* Adds a kernel (the software's gaps are added to its cost) and returns it, so that the caller may set
 * saved_bytes, workspace_bytes and core. The pointer is valid until the next operation is added. */
LsLayerOp *ls_layer_add_kernel (LsLayerBuilder *builder, const char *name, LsKind kind,
                                LsKernelCost cost);
/* Adds a collective over the tensor group; nothing, and NULL, when the group has one rank. */
LsLayerOp *ls_layer_add_collective (LsLayerBuilder *builder, const char *name, LsCollectiveOp op,
                                    gint64 bytes);
/* The same over the group of another axis: LS_AXIS_CONTEXT, _EXPERT or _EXPERT_TENSOR. */
LsLayerOp *ls_layer_add_collective_on (LsLayerBuilder *builder, const char *name, LsCollectiveOp op,
                                       gint64 bytes, LsAxis axis);
/* Forward of a linear map: tokens x in by in x out, saved input. */
LsLayerOp *ls_layer_add_linear (LsLayerBuilder *builder, const char *name, gint64 in, gint64 out);
/* The same for `n` maps of one input of `outs` each, in one kernel unless the software keeps them apart. */
LsLayerOp *ls_layer_add_linears (LsLayerBuilder *builder, const char *name, gint64 in,
                                 const gint64 *outs, guint n);
/* Puts the newest collective right before the newest operation: what was scaled is sent. */
void ls_layer_move_collective (LsLayerBuilder *builder);
/* The forward operations so far keep nothing: there is no backward pass. */
void ls_layer_forget (LsLayerBuilder *builder);
/* Bytes of `elements` of an input that a map keeps for its weight gradient: none where weights are frozen. */
gint64 ls_layer_kept_bytes (const LsLayerBuilder *builder, gint64 elements);
/* Another operation keeps its input. */
void ls_layer_op_keeps_nothing (LsLayerOp *op);
/* From now on linear maps multiply in the narrow formats of the precision, if there are any and the
 * device has them. */
void ls_layer_builder_narrow (LsLayerBuilder *builder);
/* Scales the operands of the next linear map, `rows` rows of its input, before something that goes between (their
 * all-gather); else adding the map scales all its tokens. Nothing where it multiplies in the compute format. */
void ls_layer_scale_operands (LsLayerBuilder *builder, gint64 rows, gint64 in, gint64 out);
/* Scales `elements` gradients of the output of a linear map for both its gradients; nothing otherwise. */
void ls_layer_scale_gradient (LsLayerBuilder *builder, gint64 elements);
/* With a scale per row the backward pass multiplies copies by columns: of inputs, and of weights but where nobody gathers
 * them, as those have theirs from the update. */
void ls_layer_scale_input_columns (LsLayerBuilder *builder, gint64 elements);
void ls_layer_scale_weight_columns (LsLayerBuilder *builder, gint64 elements);
/* Scales `elements` of what attention reads, or of the gradient of what it made, into 8 bits; the backward pass reads the
 * former so, and it is kept. Widens what attention made in 8 bits. Nothing, and NULL, where it does not multiply so. */
LsLayerOp *ls_layer_scale_heads (LsLayerBuilder *builder, const char *name, gint64 elements);
LsLayerOp *ls_layer_widen_heads (LsLayerBuilder *builder, const char *name, gint64 elements);
/* Format of attention's kernel, and bytes of so many elements of what it reads and is sent to it. */
LsFormat ls_layer_heads_format (const LsLayerBuilder *builder);
gint64 ls_layer_heads_bytes (const LsLayerBuilder *builder, gint64 elements);
/* Bytes of what it made, as it is kept. */
gint64 ls_layer_kept_context_bytes (const LsLayerBuilder *builder, gint64 elements);
/* Its gradients. Input gradient: tokens x out by out x in; workspace: both gradients of activations. */
LsLayerOp *ls_layer_add_input_gradient (LsLayerBuilder *builder, const char *name, gint64 in,
                                        gint64 out);
/* Weight gradient: in x tokens by tokens x out, and the pass that adds it to what was accumulated. NULL where weights
 * are frozen: nothing is added. */
LsLayerOp *ls_layer_add_weight_gradient (LsLayerBuilder *builder, const char *name, gint64 in,
                                         gint64 out);
/* Both for `n` maps of one input; where they are kept apart, the gradients of that input are added up. */
LsLayerOp *ls_layer_add_input_gradients (LsLayerBuilder *builder, const char *name, gint64 in,
                                         const gint64 *outs, guint n);
LsLayerOp *ls_layer_add_weight_gradients (LsLayerBuilder *builder, const char *name, gint64 in,
                                          const gint64 *outs, guint n);
/* A pass over `elements` values of the compute format. */
LsLayerOp *ls_layer_add_pass (LsLayerBuilder *builder, const char *name, gint64 elements, int reads,
                              int writes);
/* The same, whose operands are views or repeated: value by value. */
LsLayerOp *ls_layer_add_view_pass (LsLayerBuilder *builder, const char *name, gint64 elements,
                                   int reads, int writes);
/* A pass, or a norm, whose output a linear map reads next: it scales that where these are fused (train/workload/precision.h). */
LsLayerOp *ls_layer_add_fused_pass (LsLayerBuilder *builder, const char *name, gint64 elements,
                                    int reads, int writes);
LsLayerOp *ls_layer_add_fused_norm (LsLayerBuilder *builder, const char *name, gint64 rows,
                                    gint64 width);
/* The same, that reads or writes a byte of a mask for each value beside it. */
LsLayerOp *ls_layer_add_masked (LsLayerBuilder *builder, const char *name, gint64 elements,
                                int reads, int writes);
/* Adds gradients of vectors, `elements` in all, to what was accumulated, a launch for each of `tensors`; nothing where
 * whole gradients are not accumulated. */
void ls_layer_add_accumulation (LsLayerBuilder *builder, const char *name, gint64 elements,
                                int tensors);
/* A norm over the rows this rank has of `width`. */
LsLayerOp *ls_layer_add_norm (LsLayerBuilder *builder, const char *name, gint64 rows, gint64 width,
                              LsPass pass);
/* Bytes of `elements` inputs of a linear map as they are kept for its weight gradient: one narrow copy. */
gint64 ls_layer_linear_bytes (const LsLayerBuilder *builder, gint64 elements);
/* Bytes of `elements` activations. */
gint64 ls_layer_bytes (const LsLayerBuilder *builder, gint64 elements);
/* FLOPs of the model that the forward pass of this layer adds, over all tensor ranks. */
void ls_layer_count_flops (LsLayerBuilder *builder, double flops);
