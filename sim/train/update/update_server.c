/* Servers: pushes come in, gradients are added and applied, models go out.
 *
 * Model:      a shard deals with one thing at a time, in the order of arrival: adding a gradient reads
 *             it; an update reads and writes the shard. With a policy that is `whole`, a gradient
 *             counts when every shard has added it, and the update is made on all shards; else every
 *             shard counts for itself, and a worker may read different versions of them (torn reads).
 *             An answer that carries the model reads its version at the instant at which the server
 *             is done with the push; a model that is asked for, when the request has come.
 * Invariants: a gradient is added once per shard and then applied or dropped once.
 * Cost:       O(1) per gradient and shard.
 */
#include "train/update/update_private.h"

/* A transfer or work of the host's, or nothing. TRUE when it is under way. */
static gboolean start (LsUpdate *u, guint number, LsTransferFunc func, guint64 data,
                       guint64 *handle) {
  if (number == LS_UPDATE_NOTHING)
    return FALSE;
  guint64 started = ls_engine_start_transfer (u->engine, number, func, u, data);
  if (handle != NULL)
    *handle = started;
  return TRUE;
}

static guint way (LsUpdate *u, LsUpdateWay which, guint worker, guint shard) {
  return u->host.transfer != NULL ? u->host.transfer (u->host.self, which, worker, shard)
                                  : LS_UPDATE_NOTHING;
}

static guint64 pair (guint32 a, guint32 b) {
  return (guint64) a << 32 | b;
}

/* --- the queue of a shard --------------------------------------------------------------------- */

static void enqueue (LsUpdateShard *shard, guint32 gradient) {
  if (shard->queue_length == shard->queue_size) {
    guint size = MAX (16, 2 * shard->queue_size);
    guint32 *queue = g_new0 (guint32, size);
    for (guint i = 0; i < shard->queue_length; i++)
      queue[i] = shard->queue[(shard->queue_first + i) % shard->queue_size];
    g_free (shard->queue);
    shard->queue = queue;
    shard->queue_size = size;
    shard->queue_first = 0;
  }
  shard->queue[(shard->queue_first + shard->queue_length++) % shard->queue_size] = gradient;
}

static guint32 dequeue (LsUpdateShard *shard) {
  guint32 gradient = shard->queue[shard->queue_first];

  shard->queue_first = (shard->queue_first + 1) % shard->queue_size;
  shard->queue_length--;
  return gradient;
}

/* Takes a gradient that is to be dropped out of the queue. */
static void unqueue (LsUpdateShard *shard, guint32 gradient) {
  guint kept = 0;

  for (guint i = 0; i < shard->queue_length; i++) {
    guint32 other = shard->queue[(shard->queue_first + i) % shard->queue_size];
    if (other != gradient)
      shard->queue[(shard->queue_first + kept++) % shard->queue_size] = other;
  }
  shard->queue_length = kept;
}

/* --- updates ---------------------------------------------------------------------------------- */

static gint32 shard_label (const LsUpdate *u, guint shard) {
  return u->spec.shards == 1 ? -1 : (gint32) shard;
}

static void sort_by_worker (LsUpdate *u, guint32 *gradients, guint n) {
  for (guint i = 1; i < n; i++) {
    guint32 g = gradients[i];
    guint k = i;
    for (; k > 0; k--) {
      const LsUpdateGradient *a = ls_gradient_at (u, gradients[k - 1]), *b = ls_gradient_at (u, g);
      if (a->worker < b->worker || (a->worker == b->worker && a->number < b->number))
        break;
      gradients[k] = gradients[k - 1];
    }
    gradients[k] = g;
  }
}

/* One update of a shard from `n` gradients, told in order of workers. */
static void apply (LsUpdate *u, guint number, guint32 *gradients, guint n) {
  LsUpdateShard *shard = &u->shards[number];

  sort_by_worker (u, gradients, n);
  for (guint i = 0; i < n; i++) {
    const LsUpdateGradient *g = ls_gradient_at (u, gradients[i]);
    if (u->n_sinks > 0) {
      LsUpdateRecord record = {.operation =
                                   u->spec.policy->elastic ? LS_UPDATE_ELASTIC : LS_UPDATE_APPLY,
                               .worker = (gint32) g->worker,
                               .shard = shard_label (u, number),
                               .peer = -1,
                               .version = shard->version + 1,
                               .peer_set = -1,
                               .gradient = u->spec.policy->elastic ? -1 : g->number,
                               .clock = -1,
                               .samples = -1,
                               .closes = i + 1 == n};
      ls_update_tell (u, &record);
    }
    ls_update_settle (u, gradients[i], number, NULL);
  }
  shard->version++;
}

static void serve_queue (LsUpdate *u, guint number);

/* The sum of a shard that counts for itself is full. */
static void apply_sum (LsUpdate *u, guint number) {
  LsUpdateShard *shard = &u->shards[number];

  apply (u, number, shard->sum, shard->n_sum);
  shard->n_sum = 0;
  ls_update_count (u);
}

static void whole_step_ended (LsUpdate *u) {
  guint n = u->n_batch;

  u->stepping = FALSE;
  ls_update_count (u);
  ls_update_join (u);
  u->spec.policy->updated (u, u->batch_workers, n);
  ls_update_try_whole (u);
}

void ls_update_apply_whole (LsUpdate *u) {
  guint n = u->whole->len;

  for (guint i = 0; i < n; i++)
    u->batch[i] = g_array_index (u->whole, guint32, i);
  g_array_set_size (u->whole, 0);
  apply (u, 0, u->batch, n);
  ls_update_count (u);
}

static void begin_step (LsUpdate *u, guint number);

static void shard_step_ended (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint number = (guint) data;
  LsUpdateShard *shard = &u->shards[number];

  (void) engine;
  if (u->stopped)
    return;
  apply (u, number, u->batch, u->n_batch);
  shard->busy = shard->stepping = FALSE;
  if (--u->steps_open == 0)
    whole_step_ended (u);
  serve_queue (u, number);
}

/* The update itself, as soon as the shard is free. */
static void begin_step (LsUpdate *u, guint number) {
  LsUpdateShard *shard = &u->shards[number];
  guint work = u->host.work != NULL ? u->host.work (u->host.self, number, TRUE) : LS_UPDATE_NOTHING;

  shard->stepping = TRUE;
  if (shard->busy)
    return;
  shard->busy = TRUE;
  if (!start (u, work, shard_step_ended, number, NULL))
    shard_step_ended (u, u->engine, number);
}

/* Gradients that an update takes now: of workers that have left only those that are there. */
static guint needed (const LsUpdate *u) {
  guint count = u->spec.workers - u->n_away;

  if (!u->spec.skip_away || u->n_away == 0)
    return u->spec.k;
  for (guint i = 0; i < u->whole->len; i++) {
    guint32 slot = g_array_index (u->whole, guint32, i);
    guint worker = g_array_index (u->gradients, LsUpdateGradient, slot).worker;
    count += u->workers[worker].away ? 1 : 0;
  }
  return MIN (u->spec.k, MAX (1, count));
}

void ls_update_try_whole (LsUpdate *u) {
  guint k = needed (u);

  if (u->stepping || u->whole->len < k || u->stopped)
    return;
  u->stepping = TRUE;
  u->n_batch = k;
  for (guint i = 0; i < k; i++)
    u->batch[i] = g_array_index (u->whole, guint32, i);
  g_array_remove_range (u->whole, 0, k);
  sort_by_worker (u, u->batch, k);
  for (guint i = 0; i < k; i++)
    u->batch_workers[i] = ls_gradient_at (u, u->batch[i])->worker;
  if (u->spec.policy->due != NULL)
    u->spec.policy->due (u);
  u->steps_open = u->spec.shards;
  for (guint s = 0; s < u->spec.shards; s++)
    begin_step (u, s);
}

/* --- adding ----------------------------------------------------------------------------------- */

static gboolean too_stale (LsUpdate *u, guint32 slot, guint shard) {
  return u->spec.discard_above >= 0 &&
         u->shards[shard].version - ls_gradient_part (u, slot, shard)->read_version >
             u->spec.discard_above;
}

static void drop_part (LsUpdate *u, guint32 slot, guint number, const char *reason) {
  if (u->n_sinks > 0) {
    const LsUpdateGradient *g = ls_gradient_at (u, slot);
    LsUpdateRecord record = {.operation = LS_UPDATE_DROP,
                             .worker = (gint32) g->worker,
                             .shard = shard_label (u, number),
                             .peer = -1,
                             .version = u->shards[number].version,
                             .peer_set = -1,
                             .gradient = g->number,
                             .clock = -1,
                             .samples = -1};
    ls_update_tell (u, &record);
  }
  ls_update_settle (u, slot, number, reason);
}

void ls_update_drop (LsUpdate *u, guint32 slot, const char *reason) {
  LsUpdateGradient *g = ls_gradient_at (u, slot);

  if (g->adding > 0)
    u->workers[g->worker].pending--;
  g->adding = 0;
  for (guint s = 0; s < u->spec.shards; s++) {
    LsGradientPart *part = ls_gradient_part (u, slot, s);
    if (part->flow != 0)
      ls_engine_cancel_transfer (u->engine, part->flow);
    part->flow = 0;
    if (part->state == LS_GRADIENT_QUEUED)
      unqueue (&u->shards[s], slot);
    if (u->shards[s].busy && !u->shards[s].stepping && u->shards[s].current == slot)
      u->shards[s].current = LS_NO_GRADIENT; /* its work goes on, for nothing */
    drop_part (u, slot, s, reason);
  }
}

void ls_update_withdraw (LsUpdate *u, guint32 slot, const char *reason) {
  LsUpdateGradient *g = ls_gradient_at (u, slot);
  gint64 number = g->number;

  if (g->adding > 0)
    u->workers[g->worker].pending--;
  g->adding = 0;
  for (guint s = 0; s < u->spec.shards; s++) {
    LsGradientPart *part = ls_gradient_part (u, slot, s);
    LsUpdateShard *shard = &u->shards[s];
    if (ls_gradient_at (u, slot)->number != number)
      return;
    if (part->state != LS_GRADIENT_COMING && part->state != LS_GRADIENT_QUEUED)
      continue;
    if (part->flow != 0)
      ls_engine_cancel_transfer (u->engine, part->flow);
    part->flow = 0;
    if (shard->busy && shard->current == slot)
      shard->current = LS_NO_GRADIENT; /* its work goes on, for nothing */
    else if (part->state == LS_GRADIENT_QUEUED)
      unqueue (shard, slot);
    drop_part (u, slot, s, reason);
  }
}

/* With `whole`: a gradient is on all shards; it may have become too stale on the way. */
static void whole_added (LsUpdate *u, guint32 slot) {
  guint worker = ls_gradient_at (u, slot)->worker;

  for (guint s = 0; s < u->spec.shards; s++)
    if (too_stale (u, slot, s)) {
      ls_update_drop (u, slot, "too stale");
      ls_update_reply_all (u, worker);
      return;
    }
  g_array_append_val (u->whole, slot);
  if (u->spec.policy->added != NULL)
    u->spec.policy->added (u, worker, slot, 0);
  ls_update_try_whole (u);
}

static void add_ended (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint number = (guint) data;
  LsUpdateShard *shard = &u->shards[number];
  guint32 slot = shard->current;

  (void) engine;
  if (u->stopped)
    return;
  shard->busy = FALSE;
  if (slot == LS_NO_GRADIENT) {
    if (shard->stepping)
      begin_step (u, number);
    serve_queue (u, number);
    return;
  }
  LsUpdateGradient *g = ls_gradient_at (u, slot);
  guint worker = g->worker;
  ls_gradient_part (u, slot, number)->state = LS_GRADIENT_ADDED;
  if (--g->adding == 0)
    u->workers[worker].pending--;
  if (u->spec.policy->whole) {
    if (shard->stepping)
      begin_step (u, number);
    if (g->adding == 0)
      whole_added (u, slot);
  } else {
    gboolean last = g->adding == 0;
    shard->sum[shard->n_sum++] = slot;
    if (shard->n_sum == u->spec.k)
      apply_sum (u, number);
    u->spec.policy->added (u, worker, last ? slot : LS_NO_GRADIENT, number);
  }
  serve_queue (u, number);
}

/* Takes what waits while the shard is free. */
static void serve_queue (LsUpdate *u, guint number) {
  LsUpdateShard *shard = &u->shards[number];

  while (!shard->busy && shard->queue_length > 0 && !u->stopped) {
    guint32 slot = dequeue (shard);
    gboolean step = !u->spec.policy->whole && shard->n_sum + 1 == u->spec.k;

    if (!u->spec.policy->whole && too_stale (u, slot, number)) {
      LsUpdateGradient *g = ls_gradient_at (u, slot);
      guint worker = g->worker;
      gboolean last = --g->adding == 0;
      u->workers[worker].pending -= last ? 1 : 0;
      drop_part (u, slot, number, "too stale");
      u->spec.policy->added (u, worker, last ? slot : LS_NO_GRADIENT, number);
      continue;
    }
    guint work =
        u->host.work != NULL ? u->host.work (u->host.self, number, step) : LS_UPDATE_NOTHING;
    shard->busy = TRUE;
    shard->current = slot;
    if (!start (u, work, add_ended, number, NULL))
      add_ended (u, u->engine, number);
  }
}

static void arrived (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint32 slot = (guint32) (data >> 32);
  guint number = (guint) (data & G_MAXUINT32);
  LsUpdateGradient *g = ls_gradient_at (u, slot);

  (void) engine;
  if (u->stopped)
    return;
  ls_gradient_part (u, slot, number)->flow = 0;
  ls_gradient_part (u, slot, number)->state = LS_GRADIENT_QUEUED;
  if (--g->coming == 0)
    g->arrived_ps = ls_engine_now_ps (u->engine);
  enqueue (&u->shards[number], slot);
  serve_queue (u, number);
}

void ls_update_push (LsUpdate *u, guint32 slot) {
  guint worker = ls_gradient_at (u, slot)->worker;
  gint64 gradient = ls_gradient_at (u, slot)->number;

  for (guint s = 0; s < u->spec.shards; s++) {
    /* Answers of the shards before may have ended the gradient, or the run. */
    if (u->stopped || ls_gradient_at (u, slot)->number != gradient)
      return;
    guint64 flow = 0;
    if (!start (u, way (u, LS_UPDATE_WAY_PUSH, worker, s), arrived, pair (slot, s), &flow))
      arrived (u, u->engine, pair (slot, s));
    else
      ls_gradient_part (u, slot, s)->flow = flow;
  }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void received (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint worker = (guint) (data >> 32), shard = (guint) (data & G_MAXUINT32);

  (void) engine;
  u->reads[worker * u->spec.shards + shard] = 0;
  if (u->stopped || --u->workers[worker].reading > 0)
    return;
  ls_update_compute (u, worker);
}

/* The model is read now, by whatever way it then goes. */
static void note_read (LsUpdate *u, guint worker, guint shard) {
  guint at = worker * u->spec.shards + shard;

  u->read_version[at] = u->shards[shard].version;
  u->workers[worker].read_ps = ls_engine_now_ps (u->engine);
  if (u->n_sinks > 0 && !u->spec.policy->elastic) {
    LsUpdateRecord record = {.operation = LS_UPDATE_READ,
                             .worker = (gint32) worker,
                             .shard = shard_label (u, shard),
                             .peer = -1,
                             .version = u->read_version[at],
                             .peer_set = -1,
                             .gradient = -1,
                             .clock = -1,
                             .samples = -1};
    ls_update_tell (u, &record);
  }
}

/* The server starts to serve the model now. */
static void serve (LsUpdate *u, guint worker, guint shard) {
  guint at = worker * u->spec.shards + shard;

  if (u->stopped)
    return;
  note_read (u, worker, shard);
  if (!start (u, way (u, LS_UPDATE_WAY_MODEL, worker, shard), received, pair (worker, shard),
              &u->reads[at]))
    received (u, u->engine, pair (worker, shard));
}

void ls_update_take (LsUpdate *u, guint worker) {
  note_read (u, worker, 0);
}

static void requested (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint worker = (guint) (data >> 32), shard = (guint) (data & G_MAXUINT32);

  (void) engine;
  u->reads[worker * u->spec.shards + shard] = 0;
  serve (u, worker, shard);
}

static void acknowledged (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint worker = (guint) (data >> 32), shard = (guint) (data & G_MAXUINT32);

  (void) engine;
  u->reads[worker * u->spec.shards + shard] = 0;
  if (u->stopped)
    return;
  if (!start (u, way (u, LS_UPDATE_WAY_REQUEST, worker, shard), requested, data,
              &u->reads[worker * u->spec.shards + shard]))
    requested (u, u->engine, data);
}

void ls_update_reply (LsUpdate *u, guint worker, guint shard) {
  if (u->stopped || u->workers[worker].away)
    return;
  if (u->workers[worker].reading == 0) {
    u->workers[worker].reading = u->spec.shards;
    ls_update_span (u, worker, LS_SPAN_PULL);
  }
  if (!u->spec.reply_ack) {
    serve (u, worker, shard);
    return;
  }
  if (!start (u, way (u, LS_UPDATE_WAY_ACK, worker, shard), acknowledged, pair (worker, shard),
              &u->reads[worker * u->spec.shards + shard]))
    acknowledged (u, u->engine, pair (worker, shard));
}

void ls_update_reply_all (LsUpdate *u, guint worker) {
  for (guint s = 0; s < u->spec.shards; s++)
    ls_update_reply (u, worker, s);
}
