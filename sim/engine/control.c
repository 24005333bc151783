/* Changes from outside while time runs: timers, capacities, ends of delays.
 *
 * Callbacks and tests use these; everything takes effect at the instant's one solve.
 */
#include "engine/engine_private.h"

guint64 ls_engine_schedule (LsEngine *e, gint64 at_ps, guint priority, LsTimerFunc func,
                            gpointer self) {
  LS_REQUIRE (at_ps >= e->now_ps, "scheduling into the past");
  LS_REQUIRE (priority <= 3, "priorities are 0 to 3");
  guint32 slot = ls_event_queue_push (e->queue, at_ps, priority, (LsEvent){LS_EVENT_TIMER, 0, 0});
  if (G_UNLIKELY (e->timers->len <= slot))
    g_array_set_size (e->timers, MAX (slot + 1, 2 * e->timers->len));
  ((LsTimer *) (gpointer) e->timers->data)[slot] = (LsTimer){func, self};
  return ((guint64) ls_event_queue_generation (e->queue, slot) << 32) | slot;
}

/* The slot of a live handle, or 0. */
static guint32 live_slot (LsEngine *e, guint64 handle) {
  guint32 slot = (guint32) handle, generation = (guint32) (handle >> 32);
  return ls_event_queue_is_pending (e->queue, slot, generation) ? slot : 0;
}

gboolean ls_engine_cancel_timer (LsEngine *e, guint64 handle) {
  guint32 slot = live_slot (e, handle);
  if (slot == 0)
    return FALSE;
  ls_event_queue_cancel (e->queue, slot);
  return TRUE;
}

static LsEngineDevice *device_of_resource (LsEngine *e, guint resource, guint32 *number) {
  for (guint32 d = 0; d < e->devices->len; d++)
    if (ls_device_at (e, d)->hbm == resource || ls_device_at (e, d)->sm == resource) {
      *number = d;
      return ls_device_at (e, d);
    }
  return NULL;
}

void ls_engine_set_capacity (LsEngine *e, guint resource, double per_s) {
  guint32 number = LS_NONE;
  LsEngineDevice *device = device_of_resource (e, resource, &number);
  if (device && device->sm == resource) {
    ls_engine_set_device_speed (e, number, per_s);
    return;
  }
  gint64 capacity = ls_rate_from_per_s (per_s);
  if (device) {
    device->hbm_rate = capacity;
    capacity /= 2;
    ls_device_touch (e, number);
  }
  gboolean changes = ls_sharing_capacity (e->sharing, resource) != capacity;
  if (e->nominal == NULL && changes)
    e->nominal = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  if (changes && !g_hash_table_contains (e->nominal, GUINT_TO_POINTER (resource))) {
    gint64 before = ls_sharing_capacity (e->sharing, resource);
    g_hash_table_insert (e->nominal, GUINT_TO_POINTER (resource),
                         g_memdup2 (&before, sizeof before));
  }
  g_array_index (e->resource_per_s, double, resource) = per_s;
  e->capacity_epoch++;
  ls_flights_weigh (e, LS_NONE);
  ls_sharing_set_capacity (e->sharing, resource, capacity);
  if (e->started && !e->in_callback && !e->running)
    ls_load_solve (e);
}

void ls_engine_set_device_speed (LsEngine *e, guint number, double fraction) {
  LsEngineDevice *device = ls_device_at (e, number);
  device->speed = ls_usage_from_double (fraction);
  LS_REQUIRE (device->speed <= LS_USAGE_ONE, "a device cannot be faster than nominal");
  ls_device_touch (e, number);
}

gboolean ls_engine_end_delay (LsEngine *e, guint rank, guint stream) {
  LsStream *st = ls_stream_at (e, rank, stream);
  if (st->state != LS_STREAM_DELAYED)
    return FALSE;
  ls_event_queue_reschedule (e->queue, st->event, e->now_ps);
  return TRUE;
}
