/* Single operations of a layer as operations of a program; see layer_operation.h. */
#include "train/program/layer_operation.h"

#include "base/assert.h"

/* SMs that rows being ordered take from what runs beside them. source: fitted on step times with that over without, one layout
 * each, of train_nvidia_nemo_mbridge.csv: mbridge-26.06-112 / 26.04.01-225, -114 / -226, -129 / -244, -131 / -246 measured 0.788,
 * 0.856, 0.701, 0.754 (mean of the errors of ratios 0 at this share, +7 % at all SMs, -5 % at those of a collective). */
#define BESIDE_SHARE 0.5

static LsOp kernel (LsBuilder *builder, const LsLayerOp *layer_op, const LsKernelCost *cost,
                    LsPhaseName phase, LsClaims claims) {
  LsOp op = ls_builder_kernel (builder, layer_op->name, layer_op->kind, phase, cost);

  op.claim_kind = op.release_kind = LS_MEMORY_ACTIVATIONS;
  op.claim_bytes = claims.claim_bytes;
  op.release_bytes = claims.release_bytes;
  if (layer_op->by_load && builder->spec->load != NULL)
    op.flags |= LS_OP_DRAWN;
  if (layer_op->kind == LS_KIND_ATTENTION && ls_workload_packs (builder->spec->workload)) {
    op.flags |= LS_OP_WORK_TABLE | LS_OP_TABLE_FOLDS;
    op.table = LS_TABLE_ATTENTION;
  }
  return op;
}

static LsMark add_kernel (LsBuilder *builder, const LsLayerOp *layer_op, const LsKernelCost *cost,
                          LsPhaseName phase, LsClaims claims) {
  const LsOp op = kernel (builder, layer_op, cost, phase, claims);

  return ls_builder_add (builder, LS_ROLE_COMPUTE, &op);
}

/* Whose group a collective of a layer is for. */
typedef struct {
  LsRole role;
  LsSlot slot;
  LsAxis axis;
  LsPart part;
} Group;

static Group group_of (LsAxis axis) {
  switch (axis) {
  case LS_AXIS_CONTEXT:
    return (Group){LS_ROLE_CONTEXT, LS_SLOT_CONTEXT, LS_AXIS_CONTEXT, LS_PART_EXPOSED_CONTEXT};
  case LS_AXIS_EXPERT:
    return (Group){LS_ROLE_EXPERT, LS_SLOT_EXPERT, LS_AXIS_EXPERT, LS_PART_EXPOSED_EXPERT};
  case LS_AXIS_EXPERT_TENSOR:
    return (Group){LS_ROLE_EXPERT, LS_SLOT_EXPERT_TENSOR, LS_AXIS_TENSOR, LS_PART_EXPOSED_TENSOR};
  default:
    return (Group){LS_ROLE_TENSOR, LS_SLOT_TENSOR, LS_AXIS_TENSOR, LS_PART_EXPOSED_TENSOR};
  }
}

/* Behind what is before it in its stream alone. */
static LsMark add_collective (LsBuilder *builder, const LsLayerOp *layer_op, LsPhaseName phase,
                              LsClaims claims) {
  const Group group = group_of (layer_op->axis);
  LsOp op = ls_builder_collective (builder, layer_op->name, layer_op->collective,
                                   layer_op->collective_bytes, group.slot, group.axis, group.part);

  op.phase = (guint8) phase;
  op.claim_kind = op.release_kind = LS_MEMORY_ACTIVATIONS;
  op.claim_bytes = claims.claim_bytes;
  op.release_bytes = claims.release_bytes;
  if (layer_op->by_load && builder->spec->load != NULL) {
    op.flags |= LS_OP_DRAWN;
    op.descriptor = ls_expert_load_descriptor (builder->spec->load, layer_op->back);
  }
  return ls_builder_add (builder, group.role, &op);
}

LsMark ls_layer_write_collective (LsBuilder *builder, const LsLayerOp *op, LsPhaseName phase,
                                  LsClaims claims) {
  LsMark before = ls_builder_last (builder);
  LsMark mark = add_collective (builder, op, phase, claims);

  ls_program_wait_same (builder->program, mark, before);
  return mark;
}

LsMark ls_layer_write_beside (LsBuilder *builder, const LsLayerOp *layer_op, LsPhaseName phase,
                              LsClaims claims) {
  const LsMark before = ls_builder_last (builder);
  LsOp op = kernel (builder, layer_op, &layer_op->cost, phase, claims);

  if (builder->spec->workload->share != LS_SHARE_TIME_SLICE)
    op.sm_usage = MIN (op.sm_usage, ls_usage_from_double (BESIDE_SHARE));
  const LsMark mark = ls_builder_add (builder, LS_ROLE_EXPERT, &op);
  ls_program_wait_same (builder->program, mark, before);
  return mark;
}

/* Appends one operation of a layer. `deferred` is a collective that only the operation after the next
 * one waits for; invalid when there is none. `overlaps`: a collective may be that one. */
static LsMark write_one (LsBuilder *builder, const LsLayerOp *op, LsPhaseName phase,
                         LsClaims claims, gboolean overlaps, LsMark *deferred) {
  LsMark due = *deferred, mark;

  deferred->valid = FALSE;
  if (op->is_collective) {
    if (due.valid)
      ls_builder_wait (builder, due);
    mark = ls_layer_write_collective (builder, op, phase, claims);
    if (overlaps)
      *deferred = mark;
    else
      ls_builder_wait (builder, mark);
    return mark;
  }
  mark =
      add_kernel (builder, op, claims.in_part ? ls_layer_op_again (op) : &op->cost, phase, claims);
  if (due.valid)
    ls_builder_wait (builder, due);
  return mark;
}

/* Of the pair's claims what piece `i` of `n` kernels takes and leaves. */
static LsClaims claims_of (const LsClaims claims[2], guint i, guint n) {
  return (LsClaims){i == 0 ? claims[0].claim_bytes + claims[1].claim_bytes : 0,
                    i + 1 == n ? claims[0].release_bytes + claims[1].release_bytes : 0, FALSE};
}

/* Appends op[0] and op[1], which are cut; returns the last piece of the matmul. */
static LsMark write_pieces (LsBuilder *builder, const LsLayerOp *op, LsPhaseName phase,
                            const LsClaims claims[2], LsMark *deferred) {
  const gboolean gathers = op->is_collective;
  const LsLayerOp *matmul = gathers ? &op[1] : op, *collective = gathers ? op : &op[1];
  const guint n = collective->pieces;
  LsLayerOp message = *collective;
  LsMark before, mark = {0}, sent = {0};

  LS_REQUIRE (matmul->kind == LS_KIND_MATMUL && matmul->piece.alone_ps > 0, "%s is not in pieces",
              matmul->name);
  message.collective = LS_COLLECTIVE_SEND_RECV;
  message.collective_bytes /= n;
  if (deferred->valid)
    ls_builder_wait (builder, *deferred);
  deferred->valid = FALSE;
  before = ls_builder_last (builder);
  for (guint i = 0; i < n; i++) {
    if (gathers && i + 1 < n) {
      sent = add_collective (builder, &message, phase, (LsClaims){0});
      if (i == 0)
        ls_program_wait_same (builder->program, sent, before);
    }
    mark = add_kernel (builder, matmul, &matmul->piece, phase, claims_of (claims, i, n));
    if (gathers && i + 1 < n)
      ls_builder_wait (builder, sent);
    if (!gathers && i + 1 < n) {
      sent = add_collective (builder, &message, phase, (LsClaims){0});
      ls_program_wait_same (builder->program, sent, mark);
    }
  }
  if (!gathers)
    ls_builder_wait (builder, sent);
  return mark;
}

LsMark ls_layer_item_write (LsBuilder *builder, const LsLayerItem *item, LsMark *deferred) {
  const LsClaims *claims = item->claims;
  LsMark none = {0};

  if (item->cut)
    return write_pieces (builder, item->op, item->phase, claims, deferred);
  if (item->op != NULL)
    return write_one (builder, item->op, item->phase, claims[0], item->overlaps, deferred);
  if (item->name == NULL) {
    if (deferred->valid)
      ls_builder_wait (builder, *deferred);
    deferred->valid = FALSE;
  } else if (claims[0].claim_bytes > 0) {
    ls_builder_claim (builder, item->name, LS_MEMORY_ACTIVATIONS, claims[0].claim_bytes);
  } else if (claims[0].release_bytes > 0) {
    ls_builder_release (builder, item->name, LS_MEMORY_ACTIVATIONS, claims[0].release_bytes);
  } else if (item->host_ps > 0) {
    ls_builder_host (builder, item->name, item->host_ps);
  } else {
    ls_builder_delay (builder, item->name, item->delay_ps, LS_PART_OTHER);
  }
  return none;
}

LsMark ls_layer_item_put (LsBuilder *builder, const LsLayerItem *item, LsMark *deferred) {
  LsLayerItem noted = *item;

  if (builder->script == NULL)
    return ls_layer_item_write (builder, item, deferred);
  noted.layer = builder->layer;
  g_array_append_val (builder->script, noted);
  return (LsMark){0};
}
