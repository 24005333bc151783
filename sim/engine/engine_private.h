/* What the files of the engine offer each other.
 *
 * executor.c moves streams through their programs; device.c runs kernels on devices (second layer of
 * sharing); activity.c runs transfers by phases, rounds.c and flight.c collectives as messages (first
 * layer, whose flows are in load.c); group.c and message.c pair ranks up; account.c
 * keeps time and memory per rank; control.c changes things from outside; deadlock.c explains.
 */
#pragma once

#include "engine/engine_state.h"

/* executor.c */
void ls_executor_start (LsEngine *e);
void ls_executor_start_rank (LsEngine *e, guint32 rank); /* its streams begin now */
void ls_executor_drain (LsEngine *e);
/* `n` operations of the stream have ended now, the last with ordinal position + n - 1; it goes on. */
void ls_executor_complete (LsEngine *e, guint32 rank, guint stream, guint32 n);
/* Is this optional operation left out in the current iteration? */
gboolean ls_executor_skips (LsEngine *e, guint32 rank, const LsStream *st, const LsOp *op);
gint64 ls_executor_work_ps (LsEngine *e, guint32 rank, guint stream, gint64 ordinal,
                            const LsOp *op);
/* What a table says about the operation that the stream is at. */
gint64 ls_table_value (const LsEngine *e, guint number, guint32 rank, guint stream, const LsOp *op);
/* Group and position that the operation means. */
LsSlotEntry ls_executor_slot (LsEngine *e, guint32 rank, const LsOp *op);
guint32 ls_executor_peer (LsEngine *e, guint32 rank, const LsOp *op, LsSlotEntry slot);

/* device.c */
void ls_device_start_block (LsEngine *e, guint32 rank, guint stream);
void ls_device_block_end (LsEngine *e, guint32 rank, guint stream);
void ls_device_touch (LsEngine *e, guint32 device);
void ls_device_settle (LsEngine *e);
void ls_device_hold (LsEngine *e, guint32 rank, gint64 sm_held); /* negative: let go */
/* Brings the progress of all running blocks of the rank but that of `except` up to now. */
void ls_device_sync_rank (LsEngine *e, guint32 rank, guint except);
/* The block that the main stream is at runs alone since `start_ps` and ends at `end_ps`, now or later. */
void ls_device_resume_block (LsEngine *e, guint32 rank, gint64 start_ps, gint64 end_ps);

/* load.c */
/* The load becomes a flow, from this instant's solve on; `bottleneck` is set. */
/* A flow that begins while a capacity is below nominal may run faster when that comes back: as fast as
 * alone at nominal capacities, times `factor`. Right after ls_load_join(). */
void ls_load_set_base (LsEngine *e, LsLoad *load, gint64 rate_cap, gint64 factor, guint32 n_usages,
                       const LsUsage *usages);
void ls_load_join (LsEngine *e, LsLoad *load, guint32 owner, gint64 cap, guint32 n_usages,
                   const LsUsage *usages, LsInt128 work);
/* It has its rate now, nobody else being on its links (ls_sharing_settle_alone()). Right after
 * ls_load_set_base(). */
void ls_load_settle_alone (LsEngine *e, LsLoad *load);
/* It is a flow no more; returns the work that is left. */
LsInt128 ls_load_leave (LsEngine *e, LsLoad *load);
void ls_load_carried (LsEngine *e, guint32 n_usages, const LsUsage *usages, LsInt128 work);
void ls_load_solve (LsEngine *e);
/* A light flight will load, held by its path; it is done, or light no more. */
void ls_load_hold_light (LsEngine *e, guint32 number);
void ls_load_let_go_light (LsEngine *e, guint32 number);

/* rounds.c */
/* All members of the group have come: runs its collective as messages. */
void ls_rounds_start (LsEngine *e, guint32 group, LsCachedTransfer *cached,
                      const LsMeeting *meeting);
void ls_rounds_begin (LsEngine *e, guint32 group);
void ls_rounds_arrived (LsEngine *e, const LsFlight *flight);
/* Whether the member is in a collective of messages that has begun. */
gboolean ls_rounds_has (LsEngine *e, guint32 group, guint32 position);
/* The rank for whose message the member waits; LS_NO_RANK: a message stands still. */
guint32 ls_rounds_explain (LsEngine *e, guint32 group, guint32 position, GString *text);
void ls_rounds_free (LsRounds *rounds, guint32 n);

/* flight.c */
void ls_flight_start (LsEngine *e, guint32 group, guint32 from, guint32 round,
                      const LsRoundMessage *message);
/* Places for all resources that there are. */
void ls_flights_prepare (LsEngine *e);
void ls_flight_event (LsEngine *e, guint32 flight);
void ls_flights_settle (LsEngine *e);
/* Flows have joined on these resources: light flights that they may slow down become flows too. */
void ls_flights_make_way (LsEngine *e, guint32 n_usages, const LsUsage *usages);
/* No flight is light on the resource (on any: LS_NONE) until another comes. */
void ls_flights_weigh (LsEngine *e, guint32 resource);
void ls_flights_check (LsEngine *e);

/* activity.c */
LsCachedTransfer *ls_cached_transfer_new (const LsTransfer *transfer);
void ls_cached_transfer_free (LsCachedTransfer *cached);
LsCachedTransfer *ls_cached_transfer_at (GPtrArray *list, guint index);
/* Starts it now; may end at once (work of nothing). */
guint32 ls_activity_start (LsEngine *e, LsCachedTransfer *cached, LsOwnerKind kind, guint32 owner,
                           guint32 stream, gint64 bytes_override);
void ls_activity_go (LsEngine *e, guint32 activity);
void ls_activity_latency_end (LsEngine *e, guint32 activity);
void ls_activity_transfer_end (LsEngine *e, guint32 activity);
void ls_activity_settle (LsEngine *e);
void ls_activity_drop (LsEngine *e, guint32 activity);
gint64 ls_activity_bytes (const LsActivity *activity);
/* How long a group's transfer takes if its members only wait for it and its resources are its own; 0: it
 * runs as messages, or needs more than there is. */
gint64 ls_activity_solo_ps (LsEngine *e, LsCachedTransfer *cached);
/* It has run so, `times` over: what it moved and which resources held it. */
void ls_activity_solo_account (LsEngine *e, LsCachedTransfer *cached, guint tag, gint64 times);
/* It runs so for the group since `start_ps`, and ends now or later. */
guint32 ls_activity_resume (LsEngine *e, LsCachedTransfer *cached, guint32 group, gint64 start_ps);

/* group.c */
void ls_group_arrive (LsEngine *e, guint32 rank, guint stream);
void ls_group_ended (LsEngine *e, guint32 group);
LsCachedTransfer *ls_group_transfer (LsEngine *e, guint32 group, guint descriptor);
/* A member of a collective of messages is done with it; `done` says what its record needs. */
void ls_group_member_ended (LsEngine *e, guint32 group, guint32 position, const LsMeeting *meeting,
                            const LsActivity *done);

/* message.c */
void ls_message_issue (LsEngine *e, guint32 rank, guint stream);
void ls_message_ended (LsEngine *e, guint32 message);
void ls_copy_issue (LsEngine *e, guint32 rank, guint stream);
void ls_copy_ended (LsEngine *e, guint32 rank, guint32 stream, guint32 activity);

/* account.c */
void ls_account_main_start (LsEngine *e, guint32 rank);
void ls_account_busy (LsEngine *e, guint32 rank, guint part, gint64 ps);
gint64 ls_account_busy_ps (LsEngine *e, guint32 rank);
/* Writes the history entry of an operation that is not a kernel; on the main stream charges its time. */
void ls_account_ended (LsEngine *e, guint32 rank, guint stream, const LsHistory *entry);
/* The k-th entry of a stream, modulo LS_HISTORY. */
LsHistory *ls_account_history (LsEngine *e, guint32 rank, guint stream, guint32 k);
/* What a wait on `rank` that arrived because of `cause` is charged to. */
guint8 ls_account_blame (LsEngine *e, LsCause cause, guint8 wait_part);
void ls_account_memory (LsEngine *e, guint32 rank, guint kind, gint64 bytes, gint64 t_ps);
void ls_account_claim (LsEngine *e, guint32 rank, guint stream, const LsOp *op);
void ls_account_release (LsEngine *e, guint32 rank, guint stream, const LsOp *op);
/* Record of an operation that ran as `span` says; `activity` NULL: it moved nothing; exposure is
 * counted from `busy_at_start_ps` of the main stream (< 0: it has none). The caller adds the rest. */
LsOpRecord ls_account_new_record (LsEngine *e, guint32 rank, guint stream, const LsOp *op,
                                  const LsHistory *span, const LsActivity *activity,
                                  gint64 busy_at_start_ps);
void ls_account_record (LsEngine *e, LsOpRecord *record);
void ls_account_mark (LsEngine *e, guint32 rank, const LsOp *op, const gint32 *counters);

/* convoy.c */
void ls_convoys_init (LsEngine *e);
void ls_convoys_free (LsEngine *e);
/* The group's collective has begun: its members may go as a convoy. */
void ls_convoys_note (LsEngine *e, guint32 group);
/* Forms convoys of the groups noted, once the streams of the instant have come to rest. */
void ls_convoys_begin (LsEngine *e);
void ls_convoy_event (LsEngine *e, guint32 convoy);
/* Its members are put down where they are now. */
void ls_convoy_dissolve (LsEngine *e, guint32 convoy);
void ls_convoys_dissolve (LsEngine *e); /* all */
/* Convoys that have one of these resources dissolve. */
void ls_convoys_off_links (LsEngine *e, guint32 n_usages, const LsUsage *usages);
/* Before anything of the rank is looked at, or its device touched. */
static inline void ls_convoy_leaves_rank (LsEngine *e, guint32 rank) {
  if (G_UNLIKELY (ls_rank_at (e, rank)->convoy != 0))
    ls_convoy_dissolve (e, ls_rank_at (e, rank)->convoy);
}

/* outside.c */
void ls_outside_ended (LsEngine *e, guint32 number);

/* deadlock.c */
GError *ls_deadlock_error (LsEngine *e);
