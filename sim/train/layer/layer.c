/* Layer plans: freeing, sums, what runs again; see layer.h. */
#include "train/layer/layer.h"

void ls_layer_plan_free (LsLayerPlan *plan) {
  if (plan == NULL)
    return;
  g_free (plan->name);
  g_free (plan->forward);
  g_free (plan->backward);
  g_free (plan->shapes);
  g_free (plan);
}

guint ls_layer_plan_needed (const LsLayerPlan *plan) {
  guint n = plan->n_forward;

  while (n > 0 && plan->forward[n - 1].saved_bytes == 0)
    n--;
  return n > 0 && plan->forward[n - 1].kind == LS_KIND_MATMUL ? n - 1 : n;
}

static gboolean is_reduction_beside_next (const LsLayerOp *op) {
  return op->is_collective && op->overlaps_next &&
         (op->collective == LS_COLLECTIVE_REDUCE_SCATTER ||
          op->collective == LS_COLLECTIVE_ALL_REDUCE);
}

guint ls_layer_plan_rerun (const LsLayerPlan *plan) {
  const guint n = ls_layer_plan_needed (plan);
  const gboolean stops = n > 0 && n < plan->n_forward && plan->forward[n].saved_bytes > 0;

  return stops && is_reduction_beside_next (&plan->forward[n - 1]) ? n - 1 : n;
}

gboolean ls_layer_is_cut (const LsLayerOp *op) {
  if (op->is_collective)
    return op->pieces > 1 && op->collective == LS_COLLECTIVE_ALL_GATHER;
  return op[1].is_collective && op[1].pieces > 1 &&
         op[1].collective == LS_COLLECTIVE_REDUCE_SCATTER;
}

gint64 ls_layer_plan_saved_bytes (const LsLayerPlan *plan) {
  gint64 bytes = 0;

  for (guint i = 0; i < plan->n_forward; i++)
    bytes += plan->forward[i].saved_bytes;
  return bytes;
}

gint64 ls_layer_plan_put_off_bytes (const LsLayerPlan *plan) {
  gint64 bytes = 0;

  for (guint i = 0; i < plan->n_backward; i++)
    bytes += plan->backward[i].operand_bytes + plan->backward[i].output_gradient_bytes;
  return bytes;
}

gint64 ls_layer_plan_saved_core_bytes (const LsLayerPlan *plan) {
  gint64 bytes = 0;

  for (guint i = 0; i < plan->n_forward; i++)
    if (plan->forward[i].core)
      bytes += plan->forward[i].saved_bytes;
  return bytes;
}

const LsKernelCost *ls_layer_op_again (const LsLayerOp *op) {
  return op->in_part ? &op->again : &op->cost;
}

void ls_layer_plan_note_shape (LsLayerPlan *plan, LsMatrixShape shape) {
  for (guint i = 0; i < plan->n_shapes; i++)
    if (plan->shapes[i].in == shape.in && plan->shapes[i].out == shape.out)
      return;
  plan->shapes = g_renew (LsMatrixShape, plan->shapes, plan->n_shapes + 1);
  plan->shapes[plan->n_shapes++] = shape;
}
