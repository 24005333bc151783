/* Transfers that no program asks for: started, watched and cancelled by whoever drives the engine
 * (parameter servers, which answer when they are ready and not when a stream gets there).
 *
 * Model:      the same activities as all transfers, on the same links, in the same sharing.
 * Invariants: a handle is dead once its transfer has ended or was cancelled; numbers are reused, with
 *             another generation.
 * Cost:       that of the activity; no allocation once the list has grown.
 */
#include "engine/engine_private.h"

guint ls_engine_add_transfer (LsEngine *e, const LsTransfer *transfer) {
  g_ptr_array_add (e->outside_transfers, ls_cached_transfer_new (transfer));
  return e->outside_transfers->len - 1;
}

static LsOutside *outside_at (LsEngine *e, guint32 number) {
  return &((LsOutside *) (gpointer) e->outsides->data)[number];
}

guint64 ls_engine_start_transfer (LsEngine *e, guint transfer, LsTransferFunc func, gpointer self,
                                  guint64 data) {
  guint32 number;
  LS_REQUIRE (transfer < e->outside_transfers->len, "transfer %u", transfer);
  if (e->free_outsides.len > 0) {
    number = ls_numbers_pop (&e->free_outsides);
  } else {
    number = e->outsides->len;
    g_array_set_size (e->outsides, number + 1);
  }
  LsOutside *outside = outside_at (e, number);
  guint32 generation = outside->generation + 1;
  *outside = (LsOutside){.func = func, .self = self, .data = data, .generation = generation};
  guint32 activity = ls_activity_start (e, g_ptr_array_index (e->outside_transfers, transfer),
                                        LS_OWNER_OUTSIDE, number, 0, -1);
  outside_at (e, number)->activity = activity;
  ls_activity_go (e, activity);
  return ((guint64) generation << 32) | number;
}

static void free_outside (LsEngine *e, guint32 number) {
  outside_at (e, number)->activity = LS_NONE;
  outside_at (e, number)->generation++;
  ls_numbers_push (&e->free_outsides, number);
}

void ls_outside_ended (LsEngine *e, guint32 number) {
  LsOutside outside = *outside_at (e, number);
  free_outside (e, number);
  ls_convoys_dissolve (e); /* who is called may look at anything */
  outside.func (outside.self, e, outside.data);
}

gboolean ls_engine_cancel_transfer (LsEngine *e, guint64 handle) {
  guint32 number = (guint32) handle, generation = (guint32) (handle >> 32);
  if (handle == 0 || number >= e->outsides->len || outside_at (e, number)->generation != generation)
    return FALSE;
  guint32 activity = outside_at (e, number)->activity;
  free_outside (e, number);
  ls_activity_drop (e, activity);
  return TRUE;
}

void ls_engine_halt (LsEngine *e) {
  e->halted = TRUE;
}

void ls_engine_set_watch (LsEngine *e, LsWatchFunc func, gpointer self) {
  e->watch = func;
  e->watch_self = self;
}
