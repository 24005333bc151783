/* Gradients of a run of updates: their slots, what becomes of each on every shard, and the row that tells of it; see
 * update_private.h.
 *
 * Invariants: a gradient is applied or dropped once on each shard; its slot is used again when all are done with it.
 * Cost:       O(shards) per gradient.
 */
#include "train/update/update_private.h"

guint32 ls_update_new_gradient (LsUpdate *u, LsUpdateWorker *worker) {
  guint32 slot;
  guint s = u->spec.shards;

  if (u->free_gradients->len > 0) {
    slot = g_array_index (u->free_gradients, guint32, u->free_gradients->len - 1);
    g_array_set_size (u->free_gradients, u->free_gradients->len - 1);
  } else {
    slot = u->gradients->len;
    g_array_set_size (u->gradients, slot + 1);
    if (slot >= u->parts_size) {
      u->parts_size = MAX (2 * u->parts_size, slot + 16);
      u->parts = g_renew (LsGradientPart, u->parts, (gsize) u->parts_size * s);
    }
  }
  worker->pending++;
  *ls_gradient_at (u, slot) = (LsUpdateGradient){.number = -1,
                                                 .clock = worker->clock,
                                                 .worker = worker->number,
                                                 .coming = s,
                                                 .adding = s,
                                                 .open = s,
                                                 .live = TRUE,
                                                 .read_ps = worker->read_ps,
                                                 .computed_ps = ls_engine_now_ps (u->engine),
                                                 .arrived_ps = -1,
                                                 .applied_ps = -1,
                                                 .read_version = -1,
                                                 .applied_version = -1,
                                                 .staleness = -1};
  for (guint i = 0; i < s; i++)
    *ls_gradient_part (u, slot, i) = (LsGradientPart){
        .state = LS_GRADIENT_COMING, .read_version = u->read_version[worker->number * s + i]};
  return slot;
}

static void tell_gradient (LsUpdate *u, const LsUpdateGradient *g, gboolean local) {
  LsGradientRecord record = {.gradient = g->number,
                             .worker = (gint32) g->worker,
                             .clock = g->clock,
                             .read_version = g->read_version,
                             .applied_version = g->applied_version,
                             .staleness = g->staleness,
                             .read_ps = g->read_ps,
                             .computed_ps = g->computed_ps,
                             .arrived_ps = g->arrived_ps,
                             .applied_ps = g->applied_ps,
                             .reason = g->reason,
                             .samples = u->spec.samples,
                             .local = local};

  for (guint i = 0; i < u->n_sinks; i++)
    if (u->sinks[i]->gradient != NULL)
      u->sinks[i]->gradient (u->sink_selves[i], &record);
}

static void count_bin (guint64 **bins, guint *n, gint64 staleness) {
  guint bin = (guint) MIN (staleness, LS_UPDATE_MAX_BINS - 1);

  if (bin >= *n) {
    guint size = MIN (MAX (2 * *n, bin + 16), LS_UPDATE_MAX_BINS);
    *bins = g_renew (guint64, *bins, size);
    for (guint i = *n; i < size; i++)
      (*bins)[i] = 0;
    *n = size;
  }
  (*bins)[bin]++;
}

static void free_gradient (LsUpdate *u, guint32 slot) {
  ls_gradient_at (u, slot)->live = FALSE;
  g_array_append_val (u->free_gradients, slot);
}

/* All shards are done with it. */
static void close_gradient (LsUpdate *u, guint32 slot) {
  LsUpdateGradient *g = ls_gradient_at (u, slot);
  LsUpdateWorker *worker = &u->workers[g->worker];

  if (g->exchange) {
    free_gradient (u, slot);
    return;
  }
  if (g->reason == NULL) {
    u->totals.applied++;
    u->staleness_sum += (double) g->staleness;
    u->totals.staleness_max = MAX (u->totals.staleness_max, g->staleness);
    count_bin (&u->bins, &u->n_bins, g->staleness);
    count_bin (&worker->bins, &worker->n_bins, g->staleness);
  } else {
    u->totals.dropped++;
  }
  if (u->n_sinks > 0)
    tell_gradient (u, g, FALSE);
  free_gradient (u, slot);
}

guint32 ls_update_new_exchange (LsUpdate *u, guint worker) {
  guint32 slot = ls_update_new_gradient (u, &u->workers[worker]);

  ls_gradient_at (u, slot)->exchange = TRUE;
  return slot;
}

void ls_update_settle (LsUpdate *u, guint32 slot, guint shard, const char *reason) {
  LsUpdateGradient *g = ls_gradient_at (u, slot);
  LsGradientPart *part = ls_gradient_part (u, slot, shard);
  gint64 version = u->shards[shard].version, staleness = version - part->read_version;

  LS_REQUIRE (part->state != LS_GRADIENT_DONE && g->open > 0,
              "gradient %" G_GINT64_FORMAT " is applied or dropped twice", g->number);
  LS_REQUIRE (staleness >= 0, "gradient %" G_GINT64_FORMAT " comes from the future", g->number);
  part->state = LS_GRADIENT_DONE;
  part->flow = 0;
  if (staleness > g->staleness) {
    g->staleness = staleness;
    g->read_version = part->read_version;
    g->applied_version = version;
  }
  if (reason != NULL) {
    g->reason = reason;
    g->applied_version = -1;
  }
  if (g->reason != NULL)
    g->applied_version = -1;
  else
    g->applied_ps = ls_engine_now_ps (u->engine);
  if (--g->open == 0) {
    if (g->reason != NULL)
      g->applied_ps = -1;
    close_gradient (u, slot);
  }
}

void ls_update_local_ended (LsUpdate *u, guint32 slot) {
  LsUpdateGradient *g = ls_gradient_at (u, slot);

  u->totals.local++;
  g->staleness = 0;
  g->read_version = g->applied_version = u->shards[0].version;
  g->arrived_ps = g->applied_ps = g->computed_ps;
  if (u->n_sinks > 0)
    tell_gradient (u, g, TRUE);
  u->workers[g->worker].pending--;
  free_gradient (u, slot);
}

static gint compare_numbers (gconstpointer a, gconstpointer b, gpointer data) {
  const LsUpdateGradient *x = ls_gradient_at (data, *(const guint32 *) a);
  const LsUpdateGradient *y = ls_gradient_at (data, *(const guint32 *) b);

  return x->number < y->number ? -1 : x->number > y->number;
}

void ls_update_tell_in_flight (LsUpdate *u) {
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 slot = 0; slot < u->gradients->len; slot++)
    if (ls_gradient_at (u, slot)->live && !ls_gradient_at (u, slot)->exchange)
      g_array_append_val (open, slot);
  g_array_sort_with_data (open, compare_numbers, u);
  for (guint i = 0; i < open->len; i++) {
    LsUpdateGradient *g = ls_gradient_at (u, g_array_index (open, guint32, i));
    for (guint s = 0; s < u->spec.shards; s++) {
      const LsGradientPart *part = ls_gradient_part (u, g_array_index (open, guint32, i), s);
      gint64 staleness = u->shards[s].version - part->read_version;
      if (part->state != LS_GRADIENT_DONE && staleness > g->staleness) {
        g->staleness = staleness;
        g->read_version = part->read_version;
      }
    }
    g->applied_version = g->applied_ps = -1;
    g->reason = "in flight at the end";
    tell_gradient (u, g, FALSE);
    u->totals.in_flight++;
  }
}
