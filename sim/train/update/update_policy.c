/* The policies: what each does at each moment. Definitions: docs/async.md.
 *
 * Sources are the papers that define the scheme; where several versions exist, `definition` says which
 * is built.
 */
#include "train/update/update_policy.h"

#include "base/assert.h"
#include "train/update/update_private.h"

#define KEY_OF(id, key) key,

const char *ls_update_key_name (LsUpdateKey key) {
  static const char *const names[] = {LS_UPDATE_KEYS (KEY_OF)};

  LS_REQUIRE (key < LS_N_UPDATE_KEYS, "update key %d", (int) key);
  return names[key];
}

/* --- all of K gradients at once ---------------------------------------------------------------- */

static void push (LsUpdate *u, guint worker, guint gradient) {
  (void) worker;
  ls_update_push (u, gradient);
}

static void wait_for_update (LsUpdate *u, guint worker, guint gradient, guint shard) {
  (void) gradient;
  (void) shard;
  if (!u->workers[worker].computing)
    ls_update_span (u, worker, LS_SPAN_WAIT);
}

static gboolean is_in_batch (const LsUpdate *u, guint worker) {
  for (guint i = 0; i < u->n_batch; i++)
    if (u->batch_workers[i] == worker)
      return TRUE;
  return FALSE;
}

static void cancel_rest (LsUpdate *u) {
  for (guint w = 0; w < u->spec.workers; w++) {
    ls_update_abandon (u, w, "cancelled");
    if (!is_in_batch (u, w))
      ls_update_span (u, w, LS_SPAN_WAIT);
  }
}

static void restart_all (LsUpdate *u, const guint32 *workers, guint n) {
  (void) workers;
  (void) n;
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_reply_all (u, w);
}

static void restart_workers (LsUpdate *u, const guint32 *workers, guint n) {
  for (guint i = 0; i < n; i++)
    ls_update_reply_all (u, workers[i]);
}

/* K-batch-sync: the next mini-batch at the same model, while the gradient travels. */
static void push_and_go_on (LsUpdate *u, guint worker, guint gradient) {
  /* The step begins first: with no time on the way, the update may end it again at once. */
  ls_update_compute (u, worker);
  ls_update_push (u, gradient);
}

/* Sync without servers: all meet in a collective. */
static void sync_computed (LsUpdate *u, guint worker, guint gradient) {
  if (!u->spec.collective) {
    ls_update_push (u, gradient);
    return;
  }
  g_array_append_val (u->whole, gradient);
  u->workers[worker].pending--;
  ls_gradient_at (u, gradient)->arrived_ps = ls_gradient_at (u, gradient)->computed_ps;
  ls_update_span (u, worker, LS_SPAN_WAIT);
  if (u->whole->len == u->spec.workers)
    ls_update_reduce (u);
}

static void sync_averaged (LsUpdate *u, guint worker, guint peer) {
  (void) worker;
  (void) peer;
  ls_update_apply_whole (u);
  for (guint w = 0; w < u->spec.workers && !u->stopped; w++)
    ls_update_take (u, w);
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_compute (u, w);
}

/* --- one after another ------------------------------------------------------------------------- */

/* All workers stand still for `sync_every`: everybody reads the same model. */
static void end_full_stop (LsUpdate *u) {
  u->n_held = 0;
  u->last_sync = (gint64) u->updates;
  for (guint w = 0; w < u->spec.workers; w++)
    u->workers[w].held = FALSE;
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_reply_all (u, w);
}

/* Are all there who are waited for? */
static void try_full_stop (LsUpdate *u) {
  guint all = u->spec.workers - (u->spec.skip_away ? u->n_away : 0);

  if (u->n_held > 0 && u->n_held == all)
    end_full_stop (u);
}

static void hold (LsUpdate *u, guint worker) {
  u->workers[worker].held = TRUE;
  ls_update_span (u, worker, LS_SPAN_WAIT);
  u->n_held++;
  try_full_stop (u);
}

static void async_left (LsUpdate *u, guint worker) {
  if (u->spec.sync_every == 0)
    return;
  u->n_held -= u->workers[worker].held ? 1 : 0;
  u->workers[worker].held = FALSE;
  try_full_stop (u);
}

static void whole_left (LsUpdate *u, guint worker) {
  (void) worker;
  ls_update_try_whole (u);
}

static gboolean is_full_stop (const LsUpdate *u) {
  return u->n_held > 0 || (gint64) u->updates - u->last_sync >= u->spec.sync_every;
}

static void async_added (LsUpdate *u, guint worker, guint gradient, guint shard) {
  if (u->spec.sync_every == 0)
    ls_update_reply (u, worker, shard);
  else if (gradient == LS_NO_GRADIENT || u->workers[worker].away)
    return;
  else if (is_full_stop (u))
    hold (u, worker);
  else
    ls_update_reply_all (u, worker);
}

/* SSP: worker i may start when its clock leads the slowest by at most s. */
static gboolean may_start (const LsUpdate *u, guint worker) {
  return u->spec.staleness_bound < 0 ||
         u->workers[worker].done - u->slowest <= u->spec.staleness_bound;
}

static void find_slowest (LsUpdate *u) {
  gint64 slowest = G_MAXINT64;

  u->n_slowest = 0;
  for (guint w = 0; w < u->spec.workers; w++) {
    if (u->spec.skip_away && u->workers[w].away)
      continue;
    if (u->workers[w].done < slowest) {
      slowest = u->workers[w].done;
      u->n_slowest = 0;
    }
    u->n_slowest += u->workers[w].done == slowest ? 1 : 0;
  }
  if (u->n_slowest > 0)
    u->slowest = slowest;
}

static void ssp_release (LsUpdate *u) {
  for (guint w = 0; w < u->spec.workers; w++)
    if (u->workers[w].held && !u->workers[w].away && may_start (u, w)) {
      u->workers[w].held = FALSE;
      ls_update_reply_all (u, w);
    }
}

static void ssp_added (LsUpdate *u, guint worker, guint gradient, guint shard) {
  (void) shard;
  if (gradient == LS_NO_GRADIENT)
    return; /* other shards have not seen it yet */
  if (u->workers[worker].away)
    return;
  LsUpdateWorker *state = &u->workers[worker];
  gboolean was_slowest = state->done == u->slowest;
  state->done++;
  state->held = TRUE;
  ls_update_span (u, worker, LS_SPAN_WAIT);
  if (was_slowest && --u->n_slowest == 0) {
    find_slowest (u);
    ssp_release (u);
  } else if (may_start (u, worker)) {
    state->held = FALSE;
    ls_update_reply_all (u, worker);
  }
}

/* Nobody waits for the clock of a worker that is away, or everybody does; one that is back goes on with its own
 * clock, or with the least of the others. */
static void ssp_left (LsUpdate *u, guint worker) {
  u->workers[worker].held = FALSE;
  if (!u->spec.skip_away)
    return;
  find_slowest (u);
  ssp_release (u);
}

static void ssp_returned (LsUpdate *u, guint worker) {
  if (u->spec.skip_away)
    u->workers[worker].done = MAX (u->workers[worker].done, u->slowest);
  find_slowest (u);
  u->workers[worker].held = !may_start (u, worker);
}

/* --- copies of one's own ------------------------------------------------------------------------ */

/* TRUE when the worker has made its local steps; else it goes on. */
static gboolean local_steps_done (LsUpdate *u, guint worker, guint gradient) {
  LsUpdateWorker *state = &u->workers[worker];

  ls_update_local_ended (u, gradient);
  if (++state->local < u->spec.local_steps) {
    ls_update_compute (u, worker);
    return FALSE;
  }
  state->local = 0;
  return TRUE;
}

static void local_computed (LsUpdate *u, guint worker, guint gradient) {
  if (!local_steps_done (u, worker, gradient))
    return;
  ls_update_span (u, worker, LS_SPAN_WAIT);
  if (++u->n_waiting < u->spec.workers)
    return;
  u->n_waiting = 0;
  ls_update_reduce (u);
}

static void tell_average (LsUpdate *u, LsUpdateOperation operation) {
  LsUpdateRecord record = {.operation = operation,
                           .worker = -1,
                           .shard = -1,
                           .peer = -1,
                           .version = u->shards[0].version + 1,
                           .peer_set = 0,
                           .n_members = u->spec.workers,
                           .members = u->members,
                           .gradient = -1,
                           .clock = -1,
                           .samples = -1};

  if (u->n_sinks > 0)
    ls_update_tell (u, &record);
  u->shards[0].version++;
  ls_update_count (u);
  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_compute (u, w);
}

static void average_averaged (LsUpdate *u, guint worker, guint peer) {
  (void) worker;
  (void) peer;
  tell_average (u, LS_UPDATE_AVERAGE);
}

static void diloco_averaged (LsUpdate *u, guint worker, guint peer) {
  (void) worker;
  (void) peer;
  tell_average (u, LS_UPDATE_OUTER_STEP);
}

static void easgd_averaged (LsUpdate *u, guint worker, guint peer) {
  (void) worker;
  (void) peer;
  tell_average (u, LS_UPDATE_ELASTIC);
}

static void easgd_computed (LsUpdate *u, guint worker, guint gradient) {
  if (!local_steps_done (u, worker, gradient))
    return;
  ls_update_push (u, ls_update_new_exchange (u, worker));
}

static void easgd_added (LsUpdate *u, guint worker, guint gradient, guint shard) {
  (void) gradient;
  ls_update_reply (u, worker, shard);
}

/* Whoever is ready waits for the next who is. */
static void gossip_computed (LsUpdate *u, guint worker, guint gradient) {
  if (!local_steps_done (u, worker, gradient))
    return;
  ls_update_span (u, worker, LS_SPAN_WAIT);
  if (u->waiting_peer == LS_NO_GRADIENT) {
    u->waiting_peer = worker;
    return;
  }
  guint peer = u->waiting_peer;
  u->waiting_peer = LS_NO_GRADIENT;
  ls_update_exchange (u, peer, worker);
}

static void gossip_averaged (LsUpdate *u, guint worker, guint peer) {
  LsUpdateRecord record = {.operation = LS_UPDATE_PAIR_AVERAGE,
                           .worker = (gint32) worker,
                           .shard = -1,
                           .peer = (gint32) peer,
                           .version = u->shards[0].version + 1,
                           .peer_set = -1,
                           .gradient = -1,
                           .clock = -1,
                           .samples = -1};

  if (u->n_sinks > 0)
    ls_update_tell (u, &record);
  u->shards[0].version++;
  ls_update_count (u);
  ls_update_compute (u, worker);
  ls_update_compute (u, peer);
}

/* --- the registry ------------------------------------------------------------------------------- */

#define K LS_UPDATE_TAKES (K)
#define H LS_UPDATE_TAKES (LOCAL_STEPS)
#define BOUND LS_UPDATE_TAKES (BOUND)
#define DISCARD LS_UPDATE_TAKES (DISCARD)
#define EVERY LS_UPDATE_TAKES (SYNC_EVERY)
#define REPLY LS_UPDATE_TAKES (REPLY)
#define DUTTA "Dutta et al. 2018, Slow and Stale Gradients Can Win the Race (PMLR v84), section 2.3"

static const LsUpdatePolicy policies[] = {
    {.name = "sync",
     .title = "all workers, every step",
     .definition =
         "an update is the mean of one gradient of each worker; by all-reduce, or through "
         "servers when update.servers names some",
     .source = "Chen et al. 2016, Revisiting Distributed Synchronous SGD (arXiv 1604.00981)",
     .keys = REPLY,
     .needs = LS_NEEDS_EITHER,
     .whole = TRUE,
     .all = TRUE,
     .computed = sync_computed,
     .added = wait_for_update,
     .due = cancel_rest,
     .left = whole_left,
     .updated = restart_all,
     .averaged = sync_averaged},
    {.name = "k-sync",
     .title = "the first k of n workers, the rest start over (backup workers)",
     .definition =
         "an update is the mean of the first k gradients to come; what the others compute "
         "or send is dropped, and all read the new model; n - k are backup workers",
     .source = "Chen et al. 2016 (arXiv 1604.00981); " DUTTA,
     .keys = K | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .whole = TRUE,
     .computed = push,
     .added = wait_for_update,
     .due = cancel_rest,
     .left = whole_left,
     .updated = restart_all},
    {.name = "k-batch-sync",
     .title = "the first k mini-batches from anyone at one model",
     .definition =
         "workers compute mini-batch after mini-batch at one model; an update is the mean "
         "of the first k gradients; what else they compute or send is dropped, and all read "
         "the new model",
     .source = DUTTA,
     .keys = K | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .whole = TRUE,
     .goes_on = TRUE,
     .computed = push_and_go_on,
     .added = wait_for_update,
     .due = cancel_rest,
     .left = whole_left,
     .updated = restart_all},
    {.name = "k-async",
     .title = "the first k of n workers, the rest go on with the old model",
     .definition =
         "an update is the mean of the first k gradients to come; their workers wait for it "
         "and read it; the others go on with what they have",
     .source = DUTTA,
     .keys = K | DISCARD | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .whole = TRUE,
     .stale = TRUE,
     .computed = push,
     .added = wait_for_update,
     .left = whole_left,
     .updated = restart_workers},
    {.name = "k-batch-async",
     .title = "an update for every k gradients; nobody waits (n-softsync)",
     .definition = "an update is the mean of the next k gradients from anyone; a worker reads the "
                   "model as soon as its gradient has come; k = 1 is async",
     .source = "Zhang et al. 2015, Staleness-aware Async-SGD (arXiv 1511.05950); " DUTTA,
     .keys = K | DISCARD | EVERY | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .stale = TRUE,
     .computed = push,
     .added = async_added,
     .left = async_left},
    {.name = "async",
     .title = "every gradient is an update; nobody waits",
     .definition = "a gradient is applied when it comes, and its worker reads the model of then",
     .source = "Dean et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD)",
     .keys = DISCARD | EVERY | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .stale = TRUE,
     .computed = push,
     .added = async_added,
     .left = async_left},
    {.name = "ssp",
     .title = "async, but nobody leads the slowest by more than staleness_bound iterations",
     .definition =
         "a gradient is applied when it comes; its worker may start when its clock "
         "(iterations finished) is at most staleness_bound above the least, and reads the "
         "model then; no bound is async",
     .source = "Ho et al. 2013, More Effective Distributed ML via a Stale Synchronous Parallel "
               "Parameter Server (NeurIPS); the rule for starting is ours, see docs/async.md",
     .keys = BOUND | DISCARD | REPLY,
     .needs = LS_NEEDS_SERVERS,
     .stale = TRUE,
     .computed = push,
     .added = ssp_added,
     .left = ssp_left,
     .returned = ssp_returned},
    {.name = "local-sgd",
     .title = "local_steps steps on copies, then their mean",
     .definition = "each worker steps a copy of its own; after local_steps steps all copies become "
                   "their mean, by all-reduce",
     .source = "Stich 2019, Local SGD Converges Fast and Communicates Little (arXiv 1805.09767)",
     .keys = H,
     .needs = LS_NEEDS_COLLECTIVES,
     .local = TRUE,
     .computed = local_computed,
     .averaged = average_averaged},
    {.name = "diloco",
     .title = "local_steps steps on copies, then an outer step by the mean of their changes",
     .definition =
         "as local-sgd, but the mean of (shared model - copy) is the gradient of an outer "
         "optimizer, whose model all copies then take",
     .source = "Douillard et al. 2023, DiLoCo (arXiv 2311.08105)",
     .keys = H,
     .needs = LS_NEEDS_COLLECTIVES,
     .local = TRUE,
     .computed = local_computed,
     .averaged = diloco_averaged},
    {.name = "easgd",
     .title = "local_steps steps on a copy, then copy and server pull each other",
     .definition =
         "each worker on its own: after local_steps steps it sends its copy; the server and "
         "the copy move towards each other, from the values before; with momentum on the "
         "local step this is EAMSGD",
     .source = "Zhang, Choromanska, LeCun 2015, Deep learning with Elastic Averaging SGD (NeurIPS)",
     .keys = H,
     .needs = LS_NEEDS_SERVERS,
     .local = TRUE,
     .elastic = TRUE,
     .computed = easgd_computed,
     .added = easgd_added},
    {.name = "easgd-sync",
     .title = "easgd with all workers at once",
     .definition =
         "after local_steps steps all copies and the centre pull each other, by all-reduce",
     .source = "Zhang, Choromanska, LeCun 2015 (NeurIPS)",
     .keys = H,
     .needs = LS_NEEDS_COLLECTIVES,
     .local = TRUE,
     .computed = local_computed,
     .averaged = easgd_averaged},
    {.name = "gossip",
     .title = "local_steps steps on copies, then the mean of two that are ready",
     .definition = "a worker that has made its steps waits for the next that has; the two exchange "
                   "copies, which become their mean",
     .source =
         "Lian et al. 2018, Asynchronous Decentralized Parallel SGD (arXiv 1710.06952), without "
         "its overlap: the pair waits for the exchange",
     .keys = H,
     .needs = LS_NEEDS_PEERS,
     .local = TRUE,
     .computed = gossip_computed,
     .averaged = gossip_averaged},
};

guint ls_update_policy_count (void) {
  return G_N_ELEMENTS (policies);
}

const LsUpdatePolicy *ls_update_policy_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (policies), "policy %u", i);
  return &policies[i];
}

const LsUpdatePolicy *ls_update_policy_find (const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    if (g_strcmp0 (policies[i].name, name) == 0)
      return &policies[i];
  return NULL;
}

const char *const *ls_update_policy_names (void) {
  /* In the order of the table; a test compares the two. */
  static const char *const names[] = {
      "sync",      "k-sync", "k-batch-sync", "k-async",    "k-batch-async", "async", "ssp",
      "local-sgd", "diloco", "easgd",        "easgd-sync", "gossip",        NULL};

  return names;
}
