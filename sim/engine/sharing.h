/* Max-min fair sharing of transfers over resources: the first layer of the engine's model.
 *
 * Model:      flow f has a cap c_f and usages u_fr; rates x_f maximise lexicographically the sorted
 *             vector of rates subject to sum_f u_fr x_f <= C_r and x_f <= c_f. Equivalently: every
 *             flow is at its cap, or has a saturated resource on which nobody is faster.
 * Method:     progressive filling. The level of a resource is (what is left) / (usages of flows not
 *             yet fixed), rounded down; all resources at the least level are fixed together from
 *             the state before; a cap below every level is fixed first.
 * Invariants: no resource above capacity, exactly (integers). The result depends only on the set of
 *             flows, never on the order of arrival.
 * Cost:       a flow whose resources its users at full rate cannot overfill runs at its cap without
 *             a solve. Otherwise what the changes reach: flows whose rate changes, and the resources
 *             that they use (sharing_solve.c has the algorithm and why it is exact).
 * Left out:   time. Pure values in, values out.
 *
 * Ownership: usages are borrowed for the life of the flow.
 */
#pragma once

#include "engine/transfer.h"

typedef struct LsSharing LsSharing;

typedef struct {
  guint32 flow;
  gint64 old_rate;
} LsRateChange;

/* Since the beginning. A touched flow was looked at because a resource that it uses was measured. */
typedef struct {
  guint64 solves;        /* that had to measure a resource */
  guint64 flows_touched; /* summed over solves; in one solve each flow counts once */
  guint64 flows_changed;
  guint64 resources_reached;
} LsSharingCounters;

LsSharing *ls_sharing_new (void);
void ls_sharing_free (LsSharing *sharing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSharing, ls_sharing_free)

guint32 ls_sharing_add_resource (LsSharing *sharing, gint64 capacity);
void ls_sharing_set_capacity (LsSharing *sharing, guint32 resource, gint64 capacity);
gint64 ls_sharing_capacity (const LsSharing *sharing, guint32 resource);

guint ls_sharing_n_users (const LsSharing *sharing, guint32 resource);
/* What its users, all at their caps, leave of a resource (2^-96 units/ps); below zero: overfilled. */
LsInt128 ls_sharing_room (const LsSharing *sharing, guint32 resource);

/* Rate of a flow alone: the least of cap (0: none) and capacity / usage; `bottleneck` may be NULL. */
gint64 ls_sharing_alone_rate (const LsSharing *sharing, gint64 cap, guint32 n_usages,
                              const LsUsage *usages, guint32 *bottleneck);
/* Changes count from the next solve. `cap` is at most the alone rate; `bottleneck` is what sets it. */
guint32 ls_sharing_add_flow (LsSharing *sharing, gint64 cap, guint32 bottleneck, guint32 n_usages,
                             const LsUsage *usages, guint32 owner);
/* The cap of a new flow for capacities that may come, at least the one that it was added with. */
void ls_sharing_set_base (LsSharing *sharing, guint32 flow, gint64 base_cap);
void ls_sharing_remove_flow (LsSharing *sharing, guint32 flow);
/* A flow that was just added, with nobody else on its resources, which can carry it at its cap: it has that rate
 * now, as the next solve would say. */
void ls_sharing_settle_alone (LsSharing *sharing, guint32 flow);
/* Whether anything has changed since the last solve. */
gboolean ls_sharing_is_dirty (const LsSharing *sharing);
/* Solves all changes; returns the flows whose rate is now another (new ones included), valid until the next call. */
guint ls_sharing_solve (LsSharing *sharing, const LsRateChange **changes);

/* Makes the next solve begin from nothing, for tests and comparisons: it must change no rate. */
void ls_sharing_reopen (LsSharing *sharing);
LsSharingCounters ls_sharing_counters (const LsSharing *sharing);

gint64 ls_sharing_rate (const LsSharing *sharing, guint32 flow);
guint32 ls_sharing_bottleneck (const LsSharing *sharing,
                               guint32 flow); /* G_MAXUINT32: its own cap */
guint32 ls_sharing_owner (const LsSharing *sharing, guint32 flow);
const LsUsage *ls_sharing_usages (const LsSharing *sharing, guint32 flow, guint32 *n_usages);
/* Sum of usage x rate over the flows of a resource, rounded up. */
gint64 ls_sharing_load (const LsSharing *sharing, guint32 resource);
/* Asserts capacities and, unless changes wait for a solve, that the shares are the max-min ones. Slow. */
void ls_sharing_check (LsSharing *sharing);
