/* Which operations of a layer selective recompute runs again, and which tensors that saves.
 *
 * Model:      a tensor that operation i keeps is either its input, which the kernel before it made, or
 *             its own (masks, scores, an output). Naming operation x drops what is its own and, with the
 *             next kernel, x's output. Before the layer's backward the named operations run again in
 *             order; x reads its kept input, or the kept output of the kernel before it; where neither
 *             is kept, that kernel runs again as well, and so on back to a tensor that is there.
 * Invariants: what is dropped is remade: the sums are equal, so that a backward releases what it did
 *             without recompute.
 * Cost:       O(operations x names).
 * Left out:   the second input of residual additions, which is always kept (a norm's or the layer's
 *             input); rotary embeddings behind a repeated qkv.
 */
#include "base/assert.h"
#include "train/layer/layer.h"

/* The kernel before operation `i`, collectives between them aside; -1 for the first. */
static int kernel_before (const LsLayerPlan *plan, guint i) {
  int at = (int) i - 1;

  while (at >= 0 && plan->forward[at].is_collective)
    at--;
  return at;
}

static gboolean is_named (const LsLayerOp *op, const char *const *names) {
  return names == NULL ? op->core : g_strv_contains (names, op->name);
}

/* The producers that must run again before operation `i`, because its input is kept nowhere. */
static void repeat_producers (LsLayerPlan *plan, guint i) {
  /* A kept input that is spread over the tensor ranks is gathered again. */
  if (i > 0 && plan->forward[i].saved_input_bytes > 0 && plan->forward[i - 1].is_collective)
    plan->forward[i - 1].repeated = TRUE;
  while (i > 0 && plan->forward[i].saved_input_bytes == 0 && !plan->forward[i].core) {
    i--;
    if (!plan->forward[i].is_collective && plan->forward[i].saved_output_bytes > 0)
      return; /* kept, or it is repeated by its own name */
    plan->forward[i].repeated = TRUE;
  }
}

/* Drops `bytes` at operation `at`, to be made again by `maker`. */
static void drop (LsLayerPlan *plan, guint at, guint maker, gint64 bytes) {
  plan->forward[at].dropped_bytes += bytes;
  plan->forward[maker].remade_bytes += bytes;
}

gint64 ls_layer_plan_select (LsLayerPlan *plan, const char *const *names) {
  gint64 dropped = 0;

  plan->selected = TRUE;
  for (guint i = 0; i < plan->n_forward; i++) {
    LsLayerOp *op = &plan->forward[i];

    LS_REQUIRE (op->saved_input_bytes <= op->saved_bytes, "%s keeps more input than it keeps",
                op->name);
    op->repeated = is_named (op, names);
    op->dropped_bytes = op->remade_bytes = 0;
  }
  for (guint i = 0; i < plan->n_forward; i++) {
    LsLayerOp *op = &plan->forward[i];
    const int before = kernel_before (plan, i);

    if (is_named (op, names))
      drop (plan, i, i, op->saved_bytes - op->saved_input_bytes);
    if (before >= 0 && is_named (&plan->forward[before], names) && !plan->forward[before].core)
      drop (plan, i, (guint) before, op->saved_input_bytes);
    dropped += op->dropped_bytes;
  }
  for (guint i = plan->n_forward; i-- > 0;)
    if (plan->forward[i].repeated)
      repeat_producers (plan, i);
  return dropped;
}

gboolean ls_layer_op_repeated (const LsLayerPlan *plan, guint op) {
  LS_REQUIRE (op < plan->n_forward, "operation %u of %u", op, plan->n_forward);
  return plan->selected ? plan->forward[op].repeated : plan->forward[op].core;
}

gint64 ls_layer_op_dropped_bytes (const LsLayerPlan *plan, guint op) {
  LS_REQUIRE (op < plan->n_forward, "operation %u of %u", op, plan->n_forward);
  if (plan->selected)
    return plan->forward[op].dropped_bytes;
  return plan->forward[op].core ? plan->forward[op].saved_bytes : 0;
}

gint64 ls_layer_op_remade_bytes (const LsLayerPlan *plan, guint op) {
  LS_REQUIRE (op < plan->n_forward, "operation %u of %u", op, plan->n_forward);
  if (plan->selected)
    return plan->forward[op].remade_bytes;
  return plan->forward[op].core ? plan->forward[op].saved_bytes : 0;
}
