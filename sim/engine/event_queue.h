/* Event queue: a 4-ary heap of future events with cancel and reschedule by handle.
 *
 * Model:      total order by (time, priority, sequence); sequence is the order of scheduling, so
 *             equal times and priorities are first in, first out.
 * Invariants: the parent of every entry is not later than it; each live slot knows its heap index.
 *             One 16-byte key holds time, priority (2 bits), sequence (38 bits) and slot (24 bits),
 *             so that four siblings share one cache line.
 * Call order: push, pop, cancel and reschedule in any order. A popped event's handle is dead.
 * Cost:       O(log4 n) each. The hole that a pop leaves is filled by the next push, so the usual
 *             pop-then-push costs one descent. No allocation once the arrays have grown.
 * Left out:   more than 2^24 pending events or 2^38 events in all (asserted).
 */
#pragma once

#include <glib.h>

typedef struct LsEventQueue LsEventQueue;

/* What to do: the owner's numbering. */
typedef struct {
  guint32 kind;
  guint32 a;
  guint32 b;
} LsEvent;

#define LS_EVENT_NONE 0u

LsEventQueue *ls_event_queue_new (void);
void ls_event_queue_free (LsEventQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsEventQueue, ls_event_queue_free)

/* Returns a slot number > 0, valid until the event is popped or cancelled. */
guint32 ls_event_queue_push (LsEventQueue *queue, gint64 time_ps, guint priority, LsEvent event);
gboolean ls_event_queue_is_empty (const LsEventQueue *queue);
/* Time of the next event; the queue is not empty. */
gint64 ls_event_queue_peek_time (LsEventQueue *queue);
/* Takes the next event; `freed_slot` was its slot and is free afterwards. */
LsEvent ls_event_queue_pop (LsEventQueue *queue, guint32 *freed_slot);
void ls_event_queue_cancel (LsEventQueue *queue, guint32 slot);
/* Moves a pending event; it is ordered among equals as if scheduled now. */
void ls_event_queue_reschedule (LsEventQueue *queue, guint32 slot, gint64 time_ps);
/* Generation of a slot: differs after its event is gone; for handles that may be stale. */
guint32 ls_event_queue_generation (const LsEventQueue *queue, guint32 slot);
gboolean ls_event_queue_is_pending (const LsEventQueue *queue, guint32 slot, guint32 generation);
/* Asserts the heap order and the slot index. */
void ls_event_queue_check (LsEventQueue *queue);
