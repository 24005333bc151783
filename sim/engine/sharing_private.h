/* State of the sharing solver, shared by sharing.c (what is there), sharing_solve.c (who gets what) and
 * sharing_check.c (whether that is right).
 *
 * Invariants between solves: `level` of a resource is the level at which its capacity ran out, or
 *             LS_LEVEL_NONE; a flow's rate is the least of its cap and the levels of its resources; a
 *             flow below its cap has `hint`, one of its resources whose level is its rate.
 * Memory:     96 bytes per resource (its first user lies inside), 64 per flow, 4 per usage.
 */
#pragma once

#include "base/assert.h"
#include "engine/list.h"
#include "engine/sharing.h"

#define LS_LEVEL_NONE LS_RATE_MAX

/* An LsInt128 that costs no padding inside a record. */
__extension__ typedef __int128 LsPackedInt128 __attribute__ ((aligned (8)));

typedef struct {
  guint32 flow;
  guint32 usage; /* index in the flow's usages */
  gint64 amount; /* that usage */
} LsUser;

typedef struct {
  gint64 capacity;
  LsPackedInt128 demand;  /* sum of usage x cap over its users, 2^-96 units/ps */
  LsPackedInt128 deficit; /* sum of usage x (cap - rate); an open flow has none */
  gint64 level;
  gint64 total; /* sum of usages */
  gint64 held;  /* sum of usages of those below their cap whose rate is `level` */
  union {
    LsUser one; /* while size is 0 */
    LsUser *many;
  } users;
  guint32 n_users, size;
  guint32 n_hinted; /* flows whose hint it is */
  guint32 place;    /* in the part, if the part has it there: ls_sharing_in_part */
} LsResource;

typedef struct {
  const LsUsage *usages;
  guint32 *places; /* index in each resource's users */
  gint64 rate;
  gint64 cap;      /* of now: base_cap, or what the resources alone allow */
  gint64 base_cap; /* as it was added, or with all resources at their best */
  guint32 n_usages, places_size;
  guint32 hint, cap_bottleneck;
  guint32 owner;
  guint32 seen : 24; /* touched in solve number `seen`, for the counters */
  guint32 live : 1;
  guint32 fresh : 1; /* never solved */
  guint32
      open : 1; /* may take more than `rate` (or must take less than it): bound by its cap alone */
} LsFlow;

/* A resource that the changes have reached. */
typedef struct {
  gint64 key; /* the next level at which it may fill up: exact, or (stale) a lower bound */
  guint32 resource;
  guint8 stale;
  guint8 queued;            /* its key is to be set before the sweep goes on */
  guint8 settled;           /* has its new level */
  guint8 checked;           /* a stop for those that its old level held is due or done */
  gint64 open;              /* sum of usages of its open users, */
  LsPackedInt128 open_load; /* and of usage x cap */
  gint64 least_cap;         /* no open user has a smaller one */
} LsReached;

/* What comes next in the sweep of levels. */
typedef struct {
  guint64 key; /* level x 2, + 1 for a check */
  guint32 place;
} LsStop;

typedef struct {
  gint64 limit, amount;
  gboolean capped;
} LsOpenUser;

LS_LIST (LsRateChanges, ls_rate_changes, LsRateChange)

struct LsSharing {
  GArray *resources; /* LsResource */
  GArray *flows;     /* LsFlow */
  LsNumbers free_flows;
  LsNumbers opened; /* flows that are open, or were */
  GArray *part;     /* LsReached */
  LsNumbers queue;  /* places in the part, to be measured */
  GArray *stops;    /* LsStop, a binary heap */
  GArray *users;    /* LsOpenUser, scratch of a measurement */
  LsRateChanges changes;
  guint32 solve; /* number of the solve, 24 bits */
  LsSharingCounters counters;
};

static inline LsResource *ls_resource_at (const LsSharing *sharing, guint32 resource) {
  return &((LsResource *) (gpointer) sharing->resources->data)[resource];
}
static inline LsFlow *ls_flow_at (const LsSharing *sharing, guint32 flow) {
  return &((LsFlow *) (gpointer) sharing->flows->data)[flow];
}
static inline LsReached *ls_reached_at (const LsSharing *sharing, guint32 place) {
  return &((LsReached *) (gpointer) sharing->part->data)[place];
}
static inline LsUser *ls_resource_users (LsResource *resource) {
  return resource->size > 0 ? resource->users.many : &resource->users.one;
}
/* Whether its users at their caps would need more than there is. If not, it never holds anybody back. */
static inline gboolean ls_resource_overfilled (const LsResource *resource) {
  return resource->demand > ((LsInt128) resource->capacity << LS_USAGE_BITS);
}
static inline LsReached *ls_sharing_in_part (const LsSharing *sharing, guint32 number) {
  guint32 place = ls_resource_at (sharing, number)->place;
  if (place >= sharing->part->len || ls_reached_at (sharing, place)->resource != number)
    return NULL;
  return ls_reached_at (sharing, place);
}

/* Puts a resource into the part. A lower bound of the level at which it fills is its old level; `measure`:
 * that bound does not hold. */
void ls_sharing_reach (LsSharing *sharing, guint32 number, gboolean measure);
/* A flow is no longer bound by the rate it had, but by its cap alone. */
void ls_sharing_open (LsSharing *sharing, guint32 number);
/* Undoes what a flow that is not open counts for on its resources: when it opens, or leaves. */
void ls_sharing_uncount (LsSharing *sharing, guint32 number);
/* The level at which a resource fills up if each user takes its rate (open ones: its cap) unless held there;
 * at least `from`, below which all rates are final. `reached`, if any, learns what is open. */
gint64 ls_sharing_measure (LsSharing *sharing, guint32 number, gint64 from, LsReached *reached);
