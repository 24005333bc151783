/* Recompute that keeps what matmuls and attention make, of matmuls every other one; see layer.h.
 *
 * Model:      the matmuls of a layer are numbered in the order in which they run, those that are fused here one by one
 *             (queries, keys, values; gate and up). Outputs of the odd ones, of attention, and the layer's
 *             input stay; the even ones and all between run again before the backward pass, attention
 *             does not. Code that is not compiled also keeps the odd outputs that no backward pass reads.
 *             source: torchtitan at 9dec370, parallelisms/parallelize_llama.py, _save_list and
 *             _get_custom_policy ("saves output of all compute ops, except every second mm").
 * Invariants: what is dropped is remade: the sums are equal.
 * Cost:       O(operations).
 * Left out:   with tensor parallelism, that outputs of reduce-scatters are kept too, and what precedes them
 *             need not run again.
 */
#include "base/assert.h"
#include "train/layer/layer.h"

/* What the walk over a forward list knows of the kernel before. */
typedef struct {
  const LsLayerOp *before; /* NULL: none */
  gboolean of_attention;   /* it is attention, or joins what attention made */
} Place;

/* The part of `bytes`, made by a matmul, that its odd numbers made. */
static gint64 odd_part (const LsLayerOp *matmul, gint64 bytes) {
  if (matmul->output_elements == 0)
    return bytes;
  return bytes - (gint64) ((double) bytes * (double) matmul->even_elements /
                           (double) matmul->output_elements);
}

static gint64 kept_input (const LsLayerOp *op, const Place *place) {
  if (place->before == NULL || place->of_attention)
    return op->saved_input_bytes;
  return place->before->kind == LS_KIND_MATMUL ? odd_part (place->before, op->saved_input_bytes)
                                               : 0;
}

static gint64 kept_output (const LsLayerOp *op, const Place *place) {
  if (op->kind == LS_KIND_MATMUL)
    return odd_part (op, op->saved_output_bytes);
  return place->of_attention ? op->saved_output_bytes : 0;
}

static gboolean runs_again (const LsLayerOp *op, gboolean of_attention) {
  if (op->kind == LS_KIND_MATMUL)
    return op->even_elements > 0;
  return of_attention ? op->core : TRUE;
}

/* An all-gather whose matmul runs again, or whose output is needed once more. */
static gboolean gathers_again (const LsLayerPlan *plan, guint i) {
  const LsLayerOp *next = i + 1 < plan->n_forward ? &plan->forward[i + 1] : NULL;

  return plan->forward[i].collective == LS_COLLECTIVE_ALL_GATHER && next != NULL &&
         !next->is_collective && next->dropped_bytes > 0;
}

/* The last matmul's output, which nobody reads again. */
static void keep_unread (LsLayerPlan *plan, gint64 element_bytes) {
  for (guint i = plan->n_forward; i-- > 0;) {
    LsLayerOp *op = &plan->forward[i];

    if (op->kind != LS_KIND_MATMUL)
      continue;
    if (op->even_elements == 0 && op->saved_output_bytes == 0) {
      op->saved_output_bytes = op->output_elements * element_bytes;
      op->saved_bytes += op->saved_output_bytes;
    }
    return;
  }
}

/* What is dropped is made again by the operation itself, or by the last one before it that runs. */
static void assign_makers (LsLayerPlan *plan) {
  LsLayerOp *maker = NULL;

  for (guint i = 0; i < plan->n_forward; i++) {
    LsLayerOp *op = &plan->forward[i];

    if (op->repeated && !op->is_collective)
      maker = op;
    LS_REQUIRE (op->dropped_bytes == 0 || maker != NULL, "nothing makes the input of %s again",
                op->name);
    if (maker != NULL)
      maker->remade_bytes += op->dropped_bytes;
  }
}

void ls_layer_plan_select_matmuls (LsLayerPlan *plan, gint64 unread_element_bytes) {
  Place place = {0};
  guint end = 0; /* behind the last operation that anybody needs again */

  plan->selected = TRUE;
  if (unread_element_bytes > 0)
    keep_unread (plan, unread_element_bytes);
  for (guint i = 0; i < plan->n_forward; i++) {
    LsLayerOp *op = &plan->forward[i];

    op->repeated = FALSE;
    op->dropped_bytes = op->remade_bytes = 0;
    if (op->is_collective)
      continue;
    const gint64 input = kept_input (op, &place);
    place.of_attention =
        op->kind == LS_KIND_ATTENTION || (place.of_attention && op->kind == LS_KIND_ELEMENTWISE);
    op->repeated = runs_again (op, place.of_attention);
    op->dropped_bytes = op->saved_bytes - input - kept_output (op, &place);
    end = op->dropped_bytes > 0 ? i + 1 : end;
    place.before = op;
  }
  for (guint i = 0; i < plan->n_forward; i++) {
    LsLayerOp *op = &plan->forward[i];

    op->repeated = i < end && (op->is_collective ? gathers_again (plan, i) : op->repeated);
  }
  assign_makers (plan);
}
