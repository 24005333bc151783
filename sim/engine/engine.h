/* The engine: a clock, resources, devices, ranks that run programs, and the loop that moves time.
 *
 * Model:      docs/architecture.md. Transfers share links max-min fairly (first layer); kernels share
 *             what transfers leave of their own device (second layer). All changes of one instant are
 *             collected and solved once before the clock moves.
 * Invariants: see fixed.h (exact sums) and ls_engine_check(). No global state: engines are independent.
 * Call order: add resources, devices, ranks, groups, expander, observers; run; read; free.
 * Cost:       O(log n) per event; an activity that meets nobody costs one event and no solver.
 *
 * Ownership: the engine references programs; it borrows the expander, tables and observers.
 */
#pragma once

#include "engine/observer.h"
#include "engine/program.h"
#include "engine/transfer.h"

#define LS_MAX_PARTS 24

typedef struct LsEngine LsEngine;

LsEngine *ls_engine_new (void);
void ls_engine_free (LsEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsEngine, ls_engine_free)

/* A resource of `per_s` units per second; returns its number. `name` NULL: the caller knows it. */
guint ls_engine_add_resource (LsEngine *engine, const char *name, double per_s);
/* Nothing can overfill the resource: no transfer is ever held up by it, whatever its capacity is. */
void ls_engine_set_ample (LsEngine *engine, guint resource);
/* A GPU (or a host): two resources of its own, `name/sm` (capacity 1) and `name/hbm` (NULL: nameless).
 * Transfers may use at most half of memory_bytes_per_s; kernels share the rest. */
guint ls_engine_add_device (LsEngine *engine, const char *name, double memory_bytes_per_s);
guint ls_engine_device_sm (const LsEngine *engine, guint device);     /* resource number */
guint ls_engine_device_memory (const LsEngine *engine, guint device); /* resource number */
/* A rank running `program` (NULL: passive) on `device`; `host_device` for LS_OP_HOST or LS_NO_INDEX. Returns its number. */
guint ls_engine_add_rank (LsEngine *engine, LsProgram *program, guint device, guint host_device);
/* The rank begins its program at `start_ps` >= 0 instead of 0; until then it is idle. Before the run. */
void ls_engine_set_start (LsEngine *engine, guint rank, gint64 start_ps);
/* Counts from now on which resources hold rates down (holding.h), for each of n tags and for all.
 * Before the run; ranks have tag 0 until ls_engine_set_tag(). */
void ls_engine_count_holdings (LsEngine *engine, guint n_tags);
void ls_engine_set_tag (LsEngine *engine, guint rank, guint tag);
typedef struct {
  guint32 resource; /* LS_NO_RESOURCE: none */
  gboolean contends;
} LsHold;
/* How long a resource set rates of a tag's transfers, and how long below what they have alone. */
typedef struct {
  gint64 saturates_ps, contends_ps;
} LsHolding;
#define LS_ALL_TAGS G_MAXUINT
LsHolding ls_engine_holding (const LsEngine *engine, guint tag, guint resource);
/* A group of distinct ranks, in position order. `axis` is the caller's numbering. A rank may be in it once. */
guint ls_engine_add_group (LsEngine *engine, const guint *ranks, guint n_ranks, guint axis);
/* A group some of whose members stand for others that do the same at the same time (folding): the
 * transfers of its collectives are those of all groups like it, with LsPhase.alone. Of members that come
 * last together the first in `ranks` counts as the last. */
typedef struct {
  guint n, size;            /* members that run, members that there are */
  const guint32 *ranks;     /* [n], distinct */
  const guint32 *counts;    /* [n], sum to `size` */
  const guint32 *positions; /* [n]: of each in the group that it is in itself; NULL: 0 .. n - 1 */
  const guint32 *peers; /* [n x size]: rank that runs for each position of that group, for sends and
                               receives; a rank may stand for its own peer; NULL: there are none */
} LsFoldedGroup;
guint ls_engine_add_folded_group (LsEngine *engine, const LsFoldedGroup *group, guint axis);
/* Ranks on its host for which the rank runs host operations; 1 unless set. */
void ls_engine_set_host_weight (LsEngine *engine, guint rank, guint weight);
/* Ranks that it stands for, itself too; 1 unless set. A multiple of its count in each folded group. */
void ls_engine_set_alike (LsEngine *engine, guint rank, guint n);
/* `slot` of `rank` (LsOp.slot) now means `group`, of which it must be a member; the second form says which. */
void ls_engine_set_slot (LsEngine *engine, guint rank, guint slot, guint group);
void ls_engine_set_slot_at (LsEngine *engine, guint rank, guint slot, guint group, guint position);
/* Operands that differ from one iteration to the next, for LS_OP_DRAWN: the work of a kernel in ps, the
 * descriptor of a collective (the same for all members). Must be a pure function of its arguments. */
typedef gint64 (*LsDrawFunc) (gpointer self, guint rank, const LsOp *op, const gint32 *counters);
void ls_engine_set_draw_func (LsEngine *engine, LsDrawFunc func, gpointer self);
/* values[rank], borrowed, for LS_OP_WORK_TABLE / LS_OP_PEER_TABLE; returns the table's number. */
guint ls_engine_add_table (LsEngine *engine, const gint64 *values);
/* A table whose values are made when an operation starts, from its loop counters (outermost first). Must be
 * pure: it may be asked more than once, and in any order. */
typedef gint64 (*LsTableFunc) (gpointer self, guint rank, const LsOp *op, const gint32 *counters);
guint ls_engine_add_table_func (LsEngine *engine, LsTableFunc func, gpointer self);
void ls_engine_set_expander (LsEngine *engine, const LsExpander *expander, gpointer self);
/* Up to 4 observers; `op` and `memory` are called for observed ranks only. */
void ls_engine_add_observer (LsEngine *engine, const LsObserver *observer, gpointer self);
void ls_engine_observe_rank (LsEngine *engine, guint rank, gboolean observed);
/* FALSE: every operation is an event of its own, even where ranks go in convoy (on unless said). The same
 * times and accounts either way, to the bit; only ls_engine_n_events() differs. For tests. */
void ls_engine_set_convoys (LsEngine *engine, gboolean allowed);
/* Called every few hundred events of a run, for whoever reports how far it is. It only reads: unlike limits
 * in simulated time that are set by a clock on the wall, it leaves even ls_engine_n_events() alone. */
typedef void (*LsWatchFunc) (gpointer self, const LsEngine *engine);
void ls_engine_set_watch (LsEngine *engine, LsWatchFunc func, gpointer self);
/* Scales the work of every kernel and host operation: returns ps alone for this execution. NULL: as written. Must be pure. */
typedef gint64 (*LsWorkFunc) (gpointer self, guint rank, guint stream, gint64 ordinal,
                              const LsOp *op, gint64 work_ps);
void ls_engine_set_work_func (LsEngine *engine, LsWorkFunc func, gpointer self);
/* The function leaves the work of this rank as written: it need not be asked. */
void ls_engine_set_steady (LsEngine *engine, guint rank, gboolean steady);
/* skips[i], borrowed: nonzero: operations with LS_OP_OPTIONAL take no time and move nothing in iteration i of
 * their outermost loop (all members of a group must agree). As many entries as that loop has iterations. */
void ls_engine_set_skips (LsEngine *engine, guint rank, const guint8 *skips);
/* Which account part idle time is charged to when no cause is known (before the first and after the last operation). */
void ls_engine_set_idle_part (LsEngine *engine, guint part);

/* Timers. Priority 0 to 3: lower runs first at equal times; then order of scheduling. Handle 0 is never given. */
typedef void (*LsTimerFunc) (gpointer self, LsEngine *engine);
guint64 ls_engine_schedule (LsEngine *engine, gint64 at_ps, guint priority, LsTimerFunc func,
                            gpointer self);
gboolean ls_engine_cancel_timer (LsEngine *engine, guint64 handle);

/* Transfers from outside any program (a server's answers): `transfer` is borrowed; returns its number. */
guint ls_engine_add_transfer (LsEngine *engine, const LsTransfer *transfer);
/* `func` is called when it has ended, at once if there is nothing to move; `data` is the caller's. Returns
 * a handle, never 0. */
typedef void (*LsTransferFunc) (gpointer self, LsEngine *engine, guint64 data);
guint64 ls_engine_start_transfer (LsEngine *engine, guint transfer, LsTransferFunc func,
                                  gpointer self, guint64 data);
/* Takes it off the links, without a call; FALSE when it is over. */
gboolean ls_engine_cancel_transfer (LsEngine *engine, guint64 handle);
/* Ends ls_engine_run() after the events of this instant, with TRUE, whatever is left to do. */
void ls_engine_halt (LsEngine *engine);

/* While running (from callbacks) or between runs: */
/* New capacity, zero included (what runs over it stands still). */
void ls_engine_set_capacity (LsEngine *engine, guint resource, double per_s);
/* Speed of a device's SMs as a fraction of nominal (throttling, failure: 0). */
void ls_engine_set_device_speed (LsEngine *engine, guint device, double fraction);
/* The delay that the stream is in ends now, in good order; FALSE when it is in none. */
gboolean ls_engine_end_delay (LsEngine *engine, guint rank, guint stream);

/* Runs until nothing is left or `until_ps` (G_MAXINT64: no limit). LS_ERROR_RUN on a deadlock, naming the cycle
 * of who waits for whom; LS_ERROR_INTERRUPTED when *stop became non-zero. */
gboolean ls_engine_run (LsEngine *engine, gint64 until_ps, const volatile gint *stop,
                        GError **error);
/* The same without a limit, but for timers that outlive the programs: ends when the last stream of all ranks does. */
gboolean ls_engine_run_programs (LsEngine *engine, const volatile gint *stop, GError **error);

gint64 ls_engine_now_ps (const LsEngine *engine);
guint64 ls_engine_n_events (const LsEngine *engine);     /* events dispatched */
guint64 ls_engine_n_operations (const LsEngine *engine); /* operations completed, over all ranks */
guint64 ls_engine_rank_operations (const LsEngine *engine, guint rank); /* of one */
guint ls_engine_n_ranks (const LsEngine *engine);
guint ls_engine_n_resources (const LsEngine *engine);
const char *ls_engine_resource_name (const LsEngine *engine, guint resource); /* may be NULL */
double ls_engine_resource_per_s (const LsEngine *engine, guint resource);
double ls_engine_resource_carried (const LsEngine *engine,
                                   guint resource); /* units carried so far by ended transfers */
guint ls_engine_n_groups (const LsEngine *engine);
guint ls_engine_group_size (const LsEngine *engine, guint group); /* members that run */
guint ls_engine_group_axis (const LsEngine *engine, guint group);
const guint32 *ls_engine_group_ranks (const LsEngine *engine, guint group);
LsProgram *ls_engine_rank_program (const LsEngine *engine, guint rank); /* (transfer none) */
guint ls_engine_rank_device (const LsEngine *engine, guint rank);
/* Account of the rank's main stream: ps per part up to now, LS_MAX_PARTS entries; they sum to now. */
void ls_engine_account (LsEngine *engine, guint rank, gint64 *parts_ps);
/* Time that others waited for this rank, as it came last to a collective or message. */
gint64 ls_engine_caused_wait_ps (const LsEngine *engine, guint rank);
/* The same for it and all ranks that it stands for: the sum over ranks is that of the run where all of them run. */
LsInt128 ls_engine_all_caused_wait_ps (const LsEngine *engine, guint rank);
gint64 ls_engine_bytes_sent (const LsEngine *engine, guint rank);
gint64 ls_engine_bytes_received (const LsEngine *engine, guint rank);
double ls_engine_flops (const LsEngine *engine, guint rank); /* of ended kernels */
/* Memory: bytes now, at the peak, and by kind at the peak (LS_MEMORY_KINDS entries). */
gint64 ls_engine_memory_peak (const LsEngine *engine, guint rank, gint64 *by_kind);
gint64 ls_engine_memory_now (const LsEngine *engine, guint rank, guint kind);
/* Walks everything and asserts conservation; for tests and slow builds. */
void ls_engine_check (LsEngine *engine);
/* Bytes of run-time state per rank, for the benchmark. */
gsize ls_engine_rank_size_bytes (const LsEngine *engine);
