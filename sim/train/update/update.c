/* A run of updates: workers, their time, when they leave and come back, the log. See update.h; gradients are in
 * update_gradient.c, servers in update_server.c, averages in update_average.c, policies in update_policy.c. */
#include "train/update/update.h"

#include "base/error.h"
#include "base/time.h"
#include "train/update/update_private.h"

/* Between two reports of progress, on the wall. */
#define REPORT_WALL_US 50000

static const struct {
  const char *name;
  LsPart part;
} spans[LS_N_SPANS] = {
    [LS_SPAN_COMPUTE] = {"compute", LS_PART_COMPUTE},
    [LS_SPAN_PUSH] = {"push", LS_PART_EXPOSED_SERVER},
    [LS_SPAN_WAIT] = {"wait", LS_PART_STRAGGLER_WAIT},
    [LS_SPAN_PULL] = {"pull", LS_PART_EXPOSED_SERVER},
    [LS_SPAN_AVERAGE] = {"average", LS_PART_EXPOSED_DATA},
    [LS_SPAN_AWAY] = {"away", LS_PART_RECOVERY},
};

const char *ls_update_span_name (LsUpdateSpan span) {
  LS_REQUIRE ((guint) span < LS_N_SPANS, "span %d", (int) span);
  return spans[span].name;
}

LsPart ls_update_span_part (LsUpdateSpan span) {
  LS_REQUIRE ((guint) span < LS_N_SPANS, "span %d", (int) span);
  return spans[span].part;
}

LsUpdate *ls_update_new (const LsUpdateSpec *spec, LsEngine *engine, const LsUpdateHost *host) {
  LsUpdate *u = g_new0 (LsUpdate, 1);
  guint n = spec->workers, s = spec->shards;

  LS_REQUIRE (n > 0 && s > 0 && spec->k >= 1 && spec->k <= n && spec->local_steps > 0,
              "an update specification is not resolved");
  u->spec = *spec;
  if (spec->policy->all)
    u->spec.k = n;
  u->engine = engine;
  u->host = *host;
  u->workers = g_new0 (LsUpdateWorker, n);
  u->read_version = g_new0 (gint64, (gsize) n * s);
  u->reads = g_new0 (guint64, (gsize) n * s);
  u->shards = g_new0 (LsUpdateShard, s);
  u->gradients = g_array_new (FALSE, TRUE, sizeof (LsUpdateGradient));
  u->free_gradients = g_array_new (FALSE, FALSE, sizeof (guint32));
  u->whole = g_array_new (FALSE, FALSE, sizeof (guint32));
  u->batch = g_new0 (guint32, n);
  u->batch_workers = g_new0 (guint32, n);
  u->members = g_new0 (guint32, n);
  for (guint w = 0; w < n; w++) {
    u->workers[w].update = u;
    u->workers[w].number = w;
    u->members[w] = w;
  }
  for (guint i = 0; i < s; i++)
    u->shards[i].sum = g_new0 (guint32, n + 1);
  u->waiting_peer = LS_NO_GRADIENT;
  u->n_slowest = n;
  return u;
}

void ls_update_free (LsUpdate *u) {
  if (u == NULL)
    return;
  for (guint w = 0; w < u->spec.workers; w++)
    g_free (u->workers[w].bins);
  for (guint i = 0; i < u->spec.shards; i++) {
    g_free (u->shards[i].queue);
    g_free (u->shards[i].sum);
  }
  g_array_unref (u->gradients);
  g_array_unref (u->free_gradients);
  g_array_unref (u->whole);
  g_free (u->parts);
  g_free (u->bins);
  g_free (u->batch);
  g_free (u->batch_workers);
  g_free (u->members);
  g_free (u->workers);
  g_free (u->read_version);
  g_free (u->reads);
  g_free (u->shards);
  g_free (u);
}

void ls_update_add_sink (LsUpdate *u, const LsUpdateSink *sink, gpointer self) {
  LS_REQUIRE (u->n_sinks < LS_UPDATE_MAX_SINKS, "too many listeners to updates");
  u->sinks[u->n_sinks] = sink;
  u->sink_selves[u->n_sinks++] = self;
}

void ls_update_set_span_func (LsUpdate *u, LsUpdateSpanFunc func, gpointer self) {
  u->span_func = func;
  u->span_self = self;
}

const LsUpdateSpec *ls_update_spec (const LsUpdate *u) {
  return &u->spec;
}

LsEngine *ls_update_engine (LsUpdate *u) {
  return u->engine;
}

void ls_update_tell (LsUpdate *u, LsUpdateRecord *record) {
  record->t_ps = ls_engine_now_ps (u->engine);
  for (guint i = 0; i < u->n_sinks; i++)
    if (u->sinks[i]->update != NULL)
      u->sinks[i]->update (u->sink_selves[i], record);
}

/* --- time of workers ------------------------------------------------------------------------- */

void ls_update_span (LsUpdate *u, guint number, LsUpdateSpan span) {
  LsUpdateWorker *worker = &u->workers[number];
  gint64 now_ps = ls_engine_now_ps (u->engine);

  if (worker->away)
    span = LS_SPAN_AWAY;
  if (now_ps > worker->span_ps) {
    worker->spans_ps[worker->span] += now_ps - worker->span_ps;
    if (u->span_func != NULL)
      u->span_func (u->span_self, number, (LsUpdateSpan) worker->span, worker->clock,
                    worker->span_ps, now_ps);
  }
  worker->span = (guint8) span;
  worker->span_ps = now_ps;
}

static void track_lead (LsUpdate *u, const LsUpdateWorker *worker) {
  gint64 lead = worker->done - u->slowest;

  if (lead > u->largest_lead)
    u->largest_lead = lead;
}

void ls_update_compute (LsUpdate *u, guint number) {
  LsUpdateWorker *worker = &u->workers[number];

  if (u->stopped || worker->away)
    return;
  LS_REQUIRE (!worker->computing, "worker %u computes already", number);
  worker->computing = TRUE;
  track_lead (u, worker);
  ls_update_span (u, number, LS_SPAN_COMPUTE);
  u->host.compute (u->host.self, u, number);
}

static void end_run (LsUpdate *u) {
  u->stopped = TRUE;
  ls_engine_halt (u->engine);
}

void ls_update_computed (LsUpdate *u, guint number) {
  LsUpdateWorker *worker = &u->workers[number];
  const LsUpdatePolicy *policy = u->spec.policy;

  if (u->stopped)
    return;
  LS_REQUIRE (worker->computing, "worker %u computes nothing", number);
  worker->computing = FALSE;
  ls_update_span (u, number, LS_SPAN_PUSH);
  guint32 slot = ls_update_new_gradient (u, worker);
  LsUpdateGradient *g = ls_gradient_at (u, slot);
  g->number = u->next_gradient++;
  worker->clock++;
  u->totals.evaluated++;
  u->totals.samples += u->spec.samples;
  if (u->n_sinks > 0) {
    LsUpdateRecord record = {.operation = policy->local ? LS_UPDATE_LOCAL_STEP : LS_UPDATE_GRADIENT,
                             .worker = (gint32) number,
                             .shard = -1,
                             .peer = -1,
                             .version = policy->local ? u->shards[0].version
                                                      : u->read_version[number * u->spec.shards],
                             .peer_set = -1,
                             .gradient = g->number,
                             .clock = g->clock,
                             .samples = u->spec.samples};
    ls_update_tell (u, &record);
  }
  policy->computed (u, number, slot);
  if (u->spec.stop_samples >= 0 && u->totals.samples >= u->spec.stop_samples)
    end_run (u);
}

void ls_update_abandon (LsUpdate *u, guint number, const char *reason) {
  LsUpdateWorker *worker = &u->workers[number];

  if (worker->computing) {
    worker->computing = FALSE;
    u->host.abandon (u->host.self, u, number);
    u->totals.cancelled++;
  }
  for (guint s = 0; s < u->spec.shards; s++) {
    guint64 *flow = &u->reads[number * u->spec.shards + s];
    if (*flow != 0)
      ls_engine_cancel_transfer (u->engine, *flow);
    *flow = 0;
  }
  worker->reading = 0;
  /* Slots are reused, so their order is no order of the log: take the oldest first. */
  while (worker->pending > 0) {
    guint32 oldest = LS_NO_GRADIENT;
    for (guint32 slot = 0; slot < u->gradients->len; slot++) {
      const LsUpdateGradient *g = ls_gradient_at (u, slot);
      if (!g->live || g->worker != number || g->adding == 0)
        continue;
      if (oldest == LS_NO_GRADIENT || g->number < ls_gradient_at (u, oldest)->number)
        oldest = slot;
    }
    LS_REQUIRE (oldest != LS_NO_GRADIENT, "worker %u: a pending gradient is missing", number);
    if (u->spec.policy->whole)
      ls_update_drop (u, oldest, reason);
    else
      ls_update_withdraw (u, oldest, reason);
  }
}

/* --- leaving and coming back ------------------------------------------------------------------- */

gboolean ls_update_may_leave (const LsUpdateSpec *spec) {
  return !spec->policy->local && !spec->collective;
}

void ls_update_leave (LsUpdate *u, guint number) {
  LsUpdateWorker *worker = &u->workers[number];

  LS_REQUIRE (ls_update_may_leave (&u->spec), "workers of %s cannot leave", u->spec.policy->name);
  if (u->stopped)
    return;
  if (worker->joining) {
    worker->joining = FALSE;
    u->n_joining--;
    return;
  }
  if (worker->away)
    return;
  ls_update_abandon (u, number, "its worker failed");
  worker->away = TRUE;
  u->n_away++;
  u->totals.left++;
  ls_update_span (u, number, LS_SPAN_AWAY);
  if (u->spec.policy->left != NULL)
    u->spec.policy->left (u, number);
}

static void come_back (LsUpdate *u, guint number) {
  LsUpdateWorker *worker = &u->workers[number];

  ls_update_span (u, number, LS_SPAN_AWAY);
  worker->away = worker->joining = FALSE;
  u->n_away--;
  ls_update_span (u, number, LS_SPAN_WAIT);
  if (u->spec.policy->returned != NULL)
    u->spec.policy->returned (u, number);
}

/* A gradient of before is on all shards: the worker starts over with the update that takes it. */
static gboolean waits_for_update (const LsUpdate *u, guint number) {
  if (!u->spec.policy->whole || u->spec.policy->goes_on)
    return FALSE;
  for (guint i = 0; i < u->whole->len; i++)
    if (g_array_index (u->gradients, LsUpdateGradient, g_array_index (u->whole, guint32, i))
            .worker == number)
      return TRUE;
  for (guint i = 0; u->stepping && i < u->n_batch; i++)
    if (u->batch_workers[i] == number)
      return TRUE;
  return FALSE;
}

void ls_update_return (LsUpdate *u, guint number) {
  LsUpdateWorker *worker = &u->workers[number];
  gboolean alone = u->n_away == u->spec.workers;

  if (u->stopped || !worker->away || worker->joining)
    return;
  /* Where an update starts everybody over, one that comes in its middle waits for it. */
  if (u->spec.policy->due != NULL && (u->stepping || (u->spec.skip_away && !alone))) {
    worker->joining = TRUE;
    u->n_joining++;
    return;
  }
  come_back (u, number);
  if (!worker->held && !waits_for_update (u, number))
    ls_update_reply_all (u, number);
}

void ls_update_join (LsUpdate *u) {
  for (guint w = 0; w < u->spec.workers && u->n_joining > 0; w++)
    if (u->workers[w].joining) {
      u->n_joining--;
      come_back (u, w);
    }
}

/* --- the run --------------------------------------------------------------------------------- */

void ls_update_count (LsUpdate *u) {
  gint64 least = u->shards[0].version;

  for (guint i = 1; i < u->spec.shards; i++)
    least = MIN (least, u->shards[i].version);
  u->updates = (guint64) least;
  if (u->spec.stop_updates >= 0 && least >= u->spec.stop_updates)
    end_run (u);
}

void ls_update_begin (LsUpdate *u) {
  u->begin_ps = ls_engine_now_ps (u->engine);
  for (guint w = 0; w < u->spec.workers; w++) {
    u->workers[w].span_ps = u->workers[w].read_ps = u->begin_ps;
    if (u->n_sinks > 0) {
      LsUpdateRecord record = {.operation = LS_UPDATE_READ,
                               .worker = (gint32) w,
                               .shard = -1,
                               .peer = -1,
                               .peer_set = -1,
                               .gradient = -1,
                               .clock = -1,
                               .samples = -1};
      ls_update_tell (u, &record);
    }
  }
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_compute (u, w);
}

/* How much of the run is done, by the nearest of its ends. */
static double share_done (const LsUpdate *u) {
  double share = 0;
  gint64 now_ps = ls_engine_now_ps (u->engine) - u->begin_ps;

  if (u->spec.stop_updates > 0)
    share = MAX (share, (double) u->updates / (double) u->spec.stop_updates);
  if (u->spec.stop_samples > 0)
    share = MAX (share, (double) u->totals.samples / (double) u->spec.stop_samples);
  if (u->spec.stop_ps > 0)
    share = MAX (share, (double) now_ps / (double) u->spec.stop_ps);
  return MIN (share, 1);
}

static void watch (gpointer self, const LsEngine *engine) {
  LsUpdate *u = self;
  gint64 wall_us = g_get_monotonic_time ();

  (void) engine;
  if (wall_us < u->report_us)
    return;
  u->report_us = wall_us + REPORT_WALL_US;
  u->progress (u->progress_self, share_done (u));
}

gboolean ls_update_run (LsUpdate *u, const volatile gint *stop, LsUpdateProgress progress,
                        gpointer progress_self, GError **error) {
  gint64 end_ps = u->spec.stop_ps >= 0 ? u->begin_ps + u->spec.stop_ps : G_MAXINT64;

  if (u->stopped)
    return TRUE;
  u->progress = progress;
  u->progress_self = progress_self;
  u->report_us = g_get_monotonic_time () + REPORT_WALL_US;
  ls_engine_set_watch (u->engine, progress != NULL ? watch : NULL, u);
  gboolean good = ls_engine_run (u->engine, end_ps, stop, error);
  ls_engine_set_watch (u->engine, NULL, NULL);
  if (!good)
    return FALSE;
  if (u->stopped || ls_engine_now_ps (u->engine) >= end_ps)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_RUN,
               "after %" G_GUINT64_FORMAT " updates no worker can go on", u->updates);
  return FALSE;
}

static gint64 percentile (const LsUpdate *u, double share) {
  guint64 sum = 0;
  guint bin = 0;

  for (; bin < u->n_bins; bin++) {
    sum += u->bins[bin];
    if ((double) sum >= share * (double) u->totals.applied)
      break;
  }
  return bin;
}

void ls_update_finish (LsUpdate *u) {
  LsUpdateTotals *t = &u->totals;

  LS_REQUIRE (!u->finished, "the books are closed already");
  u->finished = TRUE;
  u->stopped = TRUE;
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_span (u, w, (LsUpdateSpan) u->workers[w].span);
  ls_update_tell_in_flight (u);
  LS_REQUIRE (t->evaluated == t->applied + t->dropped + t->local + t->in_flight,
              "a gradient was lost");
  t->end_ps = ls_engine_now_ps (u->engine);
  t->updates = u->updates;
  if (t->applied > 0) {
    t->staleness_mean = u->staleness_sum / (double) t->applied;
    t->staleness_p50 = percentile (u, 0.5);
    t->staleness_p99 = percentile (u, 0.99);
  }
  for (guint w = 0; w < u->spec.workers; w++) {
    gint64 sum_ps = 0;
    for (guint span = 0; span < LS_N_SPANS; span++)
      sum_ps += u->workers[w].spans_ps[span];
    LS_REQUIRE (sum_ps == t->end_ps - u->begin_ps, "worker %u: its time does not add up", w);
  }
}

LsUpdateTotals ls_update_totals (const LsUpdate *u) {
  LS_REQUIRE (u->finished, "totals of a run that goes on");
  return u->totals;
}

const guint64 *ls_update_histogram (const LsUpdate *u, gint worker, guint *n) {
  const guint64 *bins = worker < 0 ? u->bins : u->workers[worker].bins;

  *n = worker < 0 ? u->n_bins : u->workers[worker].n_bins;
  while (*n > 0 && bins[*n - 1] == 0)
    (*n)--;
  return bins;
}

gint64 ls_update_span_ps (const LsUpdate *u, guint worker, LsUpdateSpan span) {
  return u->workers[worker].spans_ps[span];
}

gint64 ls_update_clock (const LsUpdate *u, guint worker) {
  return u->workers[worker].clock;
}

double ls_update_idle_fraction (const LsUpdate *u, guint worker) {
  gint64 all_ps = u->totals.end_ps - u->begin_ps;

  return all_ps > 0 ? 1 - (double) u->workers[worker].spans_ps[LS_SPAN_COMPUTE] / (double) all_ps
                    : 0;
}

gint64 ls_update_largest_lead (const LsUpdate *u) {
  return u->largest_lead;
}
