/* Overlapped forward and backward; see pair_program.h. */
#include "train/program/pair_program.h"

typedef struct {
  const GArray *items; /* LsLayerItem */
  guint next;
  LsLabel microbatch;
  LsMark deferred; /* collective that a later operation waits for */
  LsMark awaited;  /* all-to-all that its next turn waits for */
} Pass;

static gboolean is_exchange (const LsLayerOp *op) {
  return op != NULL && op->is_collective && op->axis == LS_AXIS_EXPERT &&
         op->collective == LS_COLLECTIVE_ALL_TO_ALL;
}

static gboolean exchanges (const LsLayerPlan *plan) {
  for (guint op = 0; op < plan->n_forward; op++)
    if (is_exchange (&plan->forward[op]))
      return TRUE;
  return FALSE;
}

gboolean ls_pair_exchanges (const LsChunks *chunks) {
  for (guint i = 0; i < chunks->n; i++)
    for (guint layer = 0; layer < chunks->chunk[i].size; layer++)
      if (exchanges (chunks->chunk[i].plans[layer]))
        return TRUE;
  return FALSE;
}

static gboolean is_done (const Pass *pass) {
  return pass->next == pass->items->len;
}

static void await (LsBuilder *builder, LsMark *mark) {
  if (mark->valid)
    ls_builder_wait (builder, *mark);
  mark->valid = FALSE;
}

static gboolean travels (const LsLayerItem *item) {
  return item->op != NULL && item->op->travels;
}

/* The next operation, and what the dispatcher does with what has come, in the all-to-alls' stream. */
static void post (LsBuilder *builder, Pass *pass) {
  const LsLayerItem *item = &g_array_index (pass->items, LsLayerItem, pass->next++);

  builder->layer = item->layer;
  pass->awaited = travels (item)
                      ? ls_layer_write_beside (builder, item->op, item->phase, item->claims[0])
                      : ls_layer_write_collective (builder, item->op, item->phase, item->claims[0]);
}

/* To the next all-to-all, or to the end when it is `alone`. */
static void run (LsBuilder *builder, Pass *pass, gboolean alone) {
  builder->microbatch = pass->microbatch;
  await (builder, &pass->awaited);
  while (!is_done (pass)) {
    const LsLayerItem *item = &g_array_index (pass->items, LsLayerItem, pass->next);

    builder->layer = item->layer;
    if ((is_exchange (item->op) || travels (item)) && !alone) {
      await (builder, &pass->deferred);
      do /* rows that are ordered for the way, the way, rows that are ordered where they came */
        post (builder, pass);
      while (!is_done (pass) &&
             (is_exchange (g_array_index (pass->items, LsLayerItem, pass->next).op) ||
              travels (&g_array_index (pass->items, LsLayerItem, pass->next))));
      return;
    }
    pass->next++;
    ls_layer_item_write (builder, item, &pass->deferred);
  }
}

void ls_pair_write (LsBuilder *builder, const GArray *forward, LsLabel forward_microbatch,
                    const GArray *backward, LsLabel backward_microbatch) {
  Pass passes[2] = {{.items = backward, .microbatch = backward_microbatch},
                    {.items = forward, .microbatch = forward_microbatch}};

  for (guint turn = 0; !is_done (&passes[0]) || !is_done (&passes[1]); turn ^= 1)
    run (builder, &passes[turn], is_done (&passes[turn ^ 1]));
  for (guint i = 0; i < G_N_ELEMENTS (passes); i++)
    await (builder, &passes[i].awaited);
  builder->layer = LS_LABEL_NONE;
}
