/* The engine: construction, the loop that moves time, and what may be read from outside.
 *
 * Model:      engine.h. One instant: events of that time are dispatched in order, streams they free
 *             are advanced until nothing moves, then transfers and kernels are solved once.
 * Cost:       see the parts. This file does no arithmetic of its own.
 */
#include "engine/engine.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/time.h"
#include "engine/engine_private.h"
#include "engine/holding.h"

/* Between two looks at who wants it to stop, and at who watches. */
#define LOOK_EVENTS 256u

static void clear_rank (gpointer data) {
  LsRankState *state = data;
  ls_program_unref (state->program);
}

static void clear_group (gpointer data) {
  LsGroup *group = data;
  g_free (group->ranks);
  g_free (group->streams);
  g_free (group->here);
  g_free (group->counts);
  g_free (group->peers);
  g_free (group->positions);
  ls_rounds_free (group->rounds, group->n);
  g_ptr_array_unref (group->cached);
}

static void clear_channel (gpointer data) {
  g_ptr_array_unref (((LsChannel *) data)->cached);
}

static void clear_device (gpointer data) {
  g_free (((LsEngineDevice *) data)->active.data);
}

static void clear_flight (gpointer data) {
  g_free (((LsFlight *) data)->links);
}

static GArray *array_of (gsize size, GDestroyNotify clear) {
  GArray *array = g_array_new (FALSE, TRUE, (guint) size);
  if (clear)
    g_array_set_clear_func (array, clear);
  return array;
}

LsEngine *ls_engine_new (void) {
  LsEngine *e = g_new0 (LsEngine, 1);
  e->queue = ls_event_queue_new ();
  e->light_begins = ls_event_queue_new ();
  e->sharing = ls_sharing_new ();
  e->capacity_epoch = 1;
  e->resource_names = g_ptr_array_new_with_free_func (g_free);
  e->resource_per_s = array_of (sizeof (double), NULL);
  e->resource_device = array_of (sizeof (guint32), NULL);
  e->resource_carried = g_array_new (FALSE, FALSE, sizeof (LsInt128));
  e->devices = array_of (sizeof (LsEngineDevice), clear_device);
  e->sharers = array_of (sizeof (LsSharer), NULL);
  e->ranks = g_array_new (FALSE, FALSE, sizeof (LsRankState));
  g_array_set_clear_func (e->ranks, clear_rank);
  e->streams = g_array_new (FALSE, FALSE, sizeof (LsStream));
  e->slots = array_of (sizeof (LsSlotEntry), NULL);
  e->groups = array_of (sizeof (LsGroup), clear_group);
  e->channels = array_of (sizeof (LsChannel), clear_channel);
  e->channel_of = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  e->messages = array_of (sizeof (LsMessage), NULL);
  e->activities = array_of (sizeof (LsActivity), NULL);
  e->places = array_of (sizeof (LsLightLoad), NULL);
  e->flights = array_of (sizeof (LsFlight), clear_flight);
  e->copy_of = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                      (GDestroyNotify) ls_cached_transfer_free);
  e->timers = array_of (sizeof (LsTimer), NULL);
  e->tables = g_array_new (FALSE, FALSE, sizeof (LsTable));
  e->outside_transfers = g_ptr_array_new_with_free_func ((GDestroyNotify) ls_cached_transfer_free);
  e->outsides = array_of (sizeof (LsOutside), NULL);
  ls_convoys_init (e);
  return e;
}

void ls_engine_free (LsEngine *e) {
  if (!e)
    return;
  g_clear_pointer (&e->nominal, g_hash_table_unref);
  ls_memory_free_sparse (e->history, (gsize) e->streams->len * LS_HISTORY, sizeof (LsHistory));
  ls_memory_free_sparse (e->memory, e->ranks->len, sizeof (LsRankMemory));
  GArray *arrays[] = {e->resource_per_s, e->resource_device, e->resource_carried, e->devices,
                      e->sharers,        e->ranks,           e->streams,          e->slots,
                      e->groups,         e->channels,        e->messages,         e->activities,
                      e->timers,         e->outsides,        e->places,           e->flights};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_array_unref (arrays[i]);
  const LsNumbers *numbers[] = {&e->dirty_devices, &e->free_messages, &e->free_activities,
                                &e->starting,      &e->free_flights,  &e->flights_to_go,
                                &e->free_outsides};
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_free (numbers[i]->data);
  g_free (e->todo.data);
  ls_convoys_free (e);
  g_ptr_array_unref (e->resource_names);
  g_array_unref (e->tables);
  g_ptr_array_unref (e->outside_transfers);
  g_hash_table_unref (e->channel_of);
  g_hash_table_unref (e->copy_of);
  ls_event_queue_free (e->queue);
  ls_event_queue_free (e->light_begins);
  ls_sharing_free (e->sharing);
  ls_holdings_free (e->holdings);
  g_clear_error (&e->fault);
  g_free (e);
}

guint ls_engine_add_resource (LsEngine *e, const char *name, double per_s) {
  guint32 number = ls_sharing_add_resource (e->sharing, ls_rate_from_per_s (per_s));
  guint32 none = LS_NONE;
  LsInt128 zero = 0;
  g_ptr_array_add (e->resource_names, g_strdup (name));
  g_array_append_val (e->resource_per_s, per_s);
  g_array_append_val (e->resource_device, none);
  ls_memory_append (e->resource_carried, &zero);
  return number;
}

void ls_engine_set_ample (LsEngine *e, guint resource) {
  LS_REQUIRE (!e->started, "resource %u is ample from the start or not", resource);
  ls_sharing_set_capacity (e->sharing, resource, LS_RATE_MAX);
}

guint ls_engine_add_device (LsEngine *e, const char *name, double memory_bytes_per_s) {
  g_autofree char *sm_name = name ? g_strdup_printf ("%s/sm", name) : NULL;
  g_autofree char *hbm_name = name ? g_strdup_printf ("%s/hbm", name) : NULL;
  LsEngineDevice device = {
      .hbm_rate = ls_rate_from_per_s (memory_bytes_per_s),
      .speed = LS_USAGE_ONE,
  };
  guint32 number = e->devices->len;
  device.sm = ls_engine_add_resource (e, sm_name, 1.0);
  device.hbm = ls_engine_add_resource (e, hbm_name, memory_bytes_per_s);
  ls_sharing_set_capacity (e->sharing, device.hbm, device.hbm_rate / 2);
  g_array_index (e->resource_device, guint32, device.hbm) = number;
  g_array_append_val (e->devices, device);
  return number;
}

guint ls_engine_device_sm (const LsEngine *e, guint device) {
  return g_array_index (e->devices, LsEngineDevice, device).sm;
}

guint ls_engine_device_memory (const LsEngine *e, guint device) {
  return g_array_index (e->devices, LsEngineDevice, device).hbm;
}

guint ls_engine_add_rank (LsEngine *e, LsProgram *program, guint device, guint host_device) {
  LS_REQUIRE (!e->started, "ranks are added before the run");
  LS_REQUIRE (!program || program->frozen, "program %s is not frozen", program->name);
  LsRankState state = {.program = program ? ls_program_ref (program) : NULL,
                       .device = device == LS_NO_INDEX ? LS_NONE : device,
                       .host_device = host_device == LS_NO_INDEX ? LS_NONE : host_device,
                       .host_weight = 1,
                       .n_alike = 1,
                       .first_stream = e->streams->len,
                       .n_streams = program ? (guint16) program->n_streams : 0};
  state.n_open = state.n_streams;
  e->n_open += state.n_streams;
  guint32 rank = e->ranks->len;
  for (guint s = 0; s < state.n_streams; s++) {
    LsStream stream = {.state = LS_STREAM_READY,
                       .cause = {LS_NO_RANK, 0, -1},
                       .last_ordinal = -1,
                       .activity = LS_NONE};
    ls_memory_append (e->streams, &stream);
  }
  ls_memory_append (e->ranks, &state);
  return rank;
}

void ls_engine_count_holdings (LsEngine *e, guint n_tags) {
  LS_REQUIRE (!e->started && n_tags > 0 && e->holdings == NULL,
              "holdings are counted from the start");
  e->holdings = ls_holdings_new (n_tags);
}

void ls_engine_set_tag (LsEngine *e, guint rank, guint tag) {
  ls_rank_at (e, rank)->tag = tag;
}

void ls_engine_set_start (LsEngine *e, guint rank, gint64 start_ps) {
  LS_REQUIRE (!e->started && start_ps >= 0, "rank %u starts at %" G_GINT64_FORMAT " ps", rank,
              start_ps);
  ls_rank_at (e, rank)->start_ps = start_ps;
}

guint ls_engine_add_group (LsEngine *e, const guint *ranks, guint n_ranks, guint axis) {
  LS_REQUIRE (n_ranks > 0, "an empty group");
  LsGroup group = {.n = n_ranks,
                   .size = n_ranks,
                   .axis = axis,
                   .ranks = g_new (guint32, n_ranks),
                   .streams = g_new0 (guint16, n_ranks),
                   .here = g_new0 (guint8, n_ranks),
                   .activity = LS_NONE,
                   .cached =
                       g_ptr_array_new_with_free_func ((GDestroyNotify) ls_cached_transfer_free)};
  for (guint i = 0; i < n_ranks; i++)
    group.ranks[i] = ranks[i];
  g_array_append_val (e->groups, group);
  return e->groups->len - 1;
}

guint ls_engine_add_folded_group (LsEngine *e, const LsFoldedGroup *folded, guint axis) {
  guint number = ls_engine_add_group (e, folded->ranks, folded->n, axis);
  LsGroup *group = ls_group_at (e, number);
  gsize n = folded->n;
  guint32 sum = 0;
  for (guint i = 0; i < folded->n; i++)
    sum += folded->counts[i];
  LS_REQUIRE (sum == folded->size, "a folded group of %u has %u members", folded->size, sum);
  group->size = folded->size;
  group->counts = g_memdup2 (folded->counts, n * sizeof *group->counts);
  group->positions = g_memdup2 (folded->positions, n * sizeof *group->positions);
  group->peers = g_memdup2 (folded->peers, n * folded->size * sizeof *group->peers);
  return number;
}

void ls_engine_set_host_weight (LsEngine *e, guint rank, guint weight) {
  LS_REQUIRE (weight > 0 && !e->started, "rank %u stands for %u on its host", rank, weight);
  ls_rank_at (e, rank)->host_weight = weight;
}

void ls_engine_set_alike (LsEngine *e, guint rank, guint n) {
  LS_REQUIRE (n > 0 && !e->started, "rank %u stands for %u", rank, n);
  ls_rank_at (e, rank)->n_alike = n;
}

/* The slots of a rank lie together; those that cannot grow where they are move to the end. */
static void grow_slots (LsEngine *e, LsRankState *state, guint n) {
  const LsSlotEntry none = {LS_NONE, 0};
  if (state->first_slot + state->n_slots != e->slots->len) {
    guint32 first = e->slots->len;
    for (guint i = 0; i < state->n_slots; i++) {
      LsSlotEntry moved = *ls_slot_at (e, state, i);
      g_array_append_val (e->slots, moved);
    }
    state->first_slot = first;
  }
  for (; state->n_slots < n; state->n_slots++)
    g_array_append_val (e->slots, none);
}

void ls_engine_set_slot_at (LsEngine *e, guint rank, guint slot, guint number, guint position) {
  LS_REQUIRE (position < ls_group_at (e, number)->n &&
                  ls_group_at (e, number)->ranks[position] == rank,
              "rank %u is not member %u of group %u", rank, position, number);
  LsRankState *state = ls_rank_at (e, rank);
  if (slot >= state->n_slots)
    grow_slots (e, state, slot + 1);
  *ls_slot_at (e, state, slot) = (LsSlotEntry){number, position};
}

void ls_engine_set_slot (LsEngine *e, guint rank, guint slot, guint number) {
  const LsGroup *group = ls_group_at (e, number);
  for (guint32 i = 0; i < group->n; i++)
    if (group->ranks[i] == rank) {
      ls_engine_set_slot_at (e, rank, slot, number, i);
      return;
    }
  LS_REQUIRE (FALSE, "rank %u is not a member of group %u", rank, number);
}

guint ls_engine_add_table (LsEngine *e, const gint64 *values) {
  const LsTable table = {.values = values};

  g_array_append_val (e->tables, table);
  return e->tables->len - 1;
}

guint ls_engine_add_table_func (LsEngine *e, LsTableFunc func, gpointer self) {
  const LsTable table = {.func = func, .self = self};

  g_array_append_val (e->tables, table);
  return e->tables->len - 1;
}

gint64 ls_table_value (const LsEngine *e, guint number, guint32 rank, guint stream,
                       const LsOp *op) {
  const LsTable *table = &g_array_index (e->tables, LsTable, number);

  LS_REQUIRE (number < e->tables->len, "table %u of %u", number, e->tables->len);
  if (table->func != NULL)
    return table->func (table->self, rank, op,
                        ls_stream_at ((LsEngine *) e, rank, stream)->counters);
  return table->values[rank];
}

void ls_engine_set_expander (LsEngine *e, const LsExpander *expander, gpointer self) {
  e->expander = expander;
  e->expander_self = self;
}

void ls_engine_add_observer (LsEngine *e, const LsObserver *observer, gpointer self) {
  LS_REQUIRE (e->n_observers < G_N_ELEMENTS (e->observers), "too many observers");
  e->observers[e->n_observers] = observer;
  e->observer_selves[e->n_observers++] = self;
  e->wants_rates = e->wants_rates || observer->rate;
  e->wants_messages = e->wants_messages || observer->message;
}

void ls_engine_observe_rank (LsEngine *e, guint rank, gboolean observed) {
  ls_rank_at (e, rank)->observed = observed;
}

void ls_engine_set_work_func (LsEngine *e, LsWorkFunc func, gpointer self) {
  e->work_func = func;
  e->work_self = self;
}

void ls_engine_set_draw_func (LsEngine *e, LsDrawFunc func, gpointer self) {
  e->draw_func = func;
  e->draw_self = self;
}

void ls_engine_set_steady (LsEngine *e, guint rank, gboolean steady) {
  ls_rank_at (e, rank)->steady = steady;
}

void ls_engine_set_skips (LsEngine *e, guint rank, const guint8 *skips) {
  ls_rank_at (e, rank)->skips = skips;
}

void ls_engine_set_idle_part (LsEngine *e, guint part) {
  LS_REQUIRE (part < LS_MAX_PARTS, "part %u out of range", part);
  e->idle_part = (guint8) part;
}

static void delay_end (LsEngine *e, guint32 rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  const LsOp *op = &ls_instruction_at (e, rank, stream, st->pc)->op;
  ls_account_release (e, rank, stream, op);
  LsHistory entry = {.ordinal = st->position,
                     .ready_ps = st->ready_ps,
                     .start_ps = st->start_ps,
                     .end_ps = e->now_ps,
                     .cause = st->cause,
                     .part = op->part,
                     .blame = op->part,
                     .known = TRUE};
  ls_account_ended (e, rank, stream, &entry);
  LsOp left_out = *op; /* a trace shows it, without work */
  left_out.flops = 0;
  left_out.bytes = 0;
  const LsOp *shown = ls_executor_skips (e, rank, st, op) ? &left_out : op;
  LsOpRecord record = ls_account_new_record (e, rank, stream, shown, &entry, NULL, -1);
  if (ls_rank_at (e, rank)->observed)
    ls_account_record (e, &record);
  if (op->flags & LS_OP_MARK)
    ls_account_mark (e, rank, op, st->counters);
  ls_executor_complete (e, rank, stream, 1);
}

static void fire_timer (LsEngine *e, guint32 slot) {
  LsTimer timer = ((const LsTimer *) (gconstpointer) e->timers->data)[slot];
  LS_REQUIRE (!e->in_callback, "a callback re-entered the engine");
  ls_convoys_dissolve (e); /* who is called may look at anything */
  e->in_callback = TRUE;
  timer.func (timer.self, e);
  e->in_callback = FALSE;
}

static void dispatch_next (LsEngine *e) {
  guint32 slot;
  LsEvent event = ls_event_queue_pop (e->queue, &slot);
  e->n_events++;
  switch ((LsEventKind) event.kind) {
  case LS_EVENT_BLOCK_END:
    ls_device_block_end (e, event.a, event.b);
    break;
  case LS_EVENT_DELAY_END:
    ls_stream_at (e, event.a, event.b)->event = LS_EVENT_NONE;
    delay_end (e, event.a, event.b);
    break;
  case LS_EVENT_LATENCY_END:
    ls_activity_latency_end (e, event.a);
    break;
  case LS_EVENT_TRANSFER_END:
    ls_activity_transfer_end (e, event.a);
    break;
  case LS_EVENT_FLIGHT:
    ls_flight_event (e, event.a);
    break;
  case LS_EVENT_ROUNDS:
    ls_rounds_begin (e, event.a);
    break;
  case LS_EVENT_TIMER:
    fire_timer (e, slot);
    break;
  case LS_EVENT_RANK_START:
    ls_executor_start_rank (e, event.a);
    break;
  case LS_EVENT_CONVOY:
    ls_convoy_event (e, event.a);
    break;
  }
}

/* Transfers that start, and rates. */
static void settle_transfers (LsEngine *e) {
  gboolean any = ls_sharing_is_dirty (e->sharing);
  if (e->starting.len > 0) {
    ls_activity_settle (e);
    any = TRUE;
  }
  if (e->flights_to_go.len > 0) {
    ls_flights_settle (e);
    any = any || ls_sharing_is_dirty (e->sharing);
  }
  if (any)
    ls_load_solve (e);
}

/* Advances streams and solves until nothing changes at this instant. */
static void settle (LsEngine *e) {
  do {
    if (e->todo.len > 0)
      ls_executor_drain (e);
    if (e->convoy_groups.len > 0)
      ls_convoys_begin (e);
    settle_transfers (e);
    if (e->dirty_devices.len > 0)
      ls_device_settle (e);
  } while (e->todo.len > 0 || e->starting.len > 0);
}

static gboolean finish (LsEngine *e, GError **error) {
  if (e->fault) {
    g_propagate_error (error, g_steal_pointer (&e->fault));
    return FALSE;
  }
  if (e->n_open > 0 && ls_event_queue_is_empty (e->queue)) {
    g_propagate_error (error, ls_deadlock_error (e));
    return FALSE;
  }
  return TRUE;
}

static gboolean fail_too_long (const LsEngine *e, GError **error) {
  g_set_error (
      error, LS_ERROR, LS_ERROR_RUN,
      "simulated time would pass %.0f days: at %.6g s what runs takes longer than the clock "
      "holds",
      ls_time_s_from_ps (LS_LATEST_PS) / 86400, ls_time_s_from_ps (e->now_ps));
  return FALSE;
}

/* Counted in events: what is simulated, and how, is the same on a machine of any speed. */
static gboolean look_around (LsEngine *e, const volatile gint *stop, GError **error) {
  if (e->n_events < e->next_look)
    return TRUE;
  e->next_look = e->n_events + LOOK_EVENTS;
  if (e->watch != NULL)
    e->watch (e->watch_self, e);
  if (stop == NULL || !g_atomic_int_get (stop))
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_INTERRUPTED, "interrupted at %.6f s of simulated time",
               ls_time_s_from_ps (e->now_ps));
  return FALSE;
}

static gboolean run (LsEngine *e, gint64 until_ps, gboolean programs, const volatile gint *stop,
                     GError **error) {
  if (!e->started)
    ls_executor_start (e);
  e->started = TRUE;
  settle (e);
  while (!ls_event_queue_is_empty (e->queue) && !e->fault) {
    gint64 time_ps = ls_event_queue_peek_time (e->queue);
    if (time_ps > until_ps && until_ps <= LS_LATEST_PS) {
      e->now_ps = until_ps;
      if (e->n_convoys == 0)
        return TRUE;
      ls_convoys_dissolve (e); /* what ends at this very instant still does */
      continue;
    }
    if (time_ps > LS_LATEST_PS)
      return fail_too_long (e, error);
    LS_ASSERT (time_ps >= e->now_ps);
    e->now_ps = time_ps;
    do {
      dispatch_next (e);
      if (e->todo.len > 0)
        ls_executor_drain (e);
    } while (!ls_event_queue_is_empty (e->queue) && ls_event_queue_peek_time (e->queue) == time_ps);
    settle (e);
    if (e->halted || (programs && e->n_open == 0))
      return TRUE;
    if (!look_around (e, stop, error))
      return FALSE;
  }
  return finish (e, error);
}

static gboolean run_and_dissolve (LsEngine *e, gint64 until_ps, gboolean programs,
                                  const volatile gint *stop, GError **error) {
  LS_REQUIRE (!e->running, "the engine is running already");
  e->running = TRUE;
  e->halted = FALSE;
  gboolean good = run (e, until_ps, programs, stop, error);
  ls_convoys_dissolve (e);
  e->running = FALSE;
  return good;
}

gboolean ls_engine_run (LsEngine *e, gint64 until_ps, const volatile gint *stop, GError **error) {
  return run_and_dissolve (e, until_ps, FALSE, stop, error);
}

gboolean ls_engine_run_programs (LsEngine *e, const volatile gint *stop, GError **error) {
  return run_and_dissolve (e, G_MAXINT64, TRUE, stop, error);
}
