/* Max-min sharing, second half: what a set of changes does to the rates, in one sweep of ascending levels.
 *
 * Definition: filling from nothing (sharing.h) gives every resource a level L_r, or none. Levels rise from
 *             round to round also under rounding: what is fixed at or below a level leaves at least that
 *             level to the rest. So the rates are the only ones with (1) x_f = min (c_f, L_r of its
 *             resources) and (2) L_r = floor ((C_r - load of those below L_r, or at it by their own cap) /
 *             usages of the rest), none if nobody is left. Both look at one flow or one resource only.
 * Sweep:      changed resources are *reached*; stops in order of level, in a heap. A reached resource
 *             stops where it may fill up: there it *settles*, and whoever would be faster is held; what
 *             else a slowed flow uses is reached if it was full, above. If a resource does not fill up at
 *             its old level, a later stop at that level looks at the flows whose `hint` it is: one that
 *             another full resource holds as well stays, the others *rise*: they are open, and every
 *             overfilled resource that they use is reached.
 * Exactness:  by induction over levels. Below v all is final. A resource not reached has users as before
 *             below v, so it fills at v if and only if its old level is v. A reached one is measured by (2)
 *             with limits that are final below v and at least v above. A flow changes at the lesser of its
 *             old and new rates; only levels above that can be affected, so nothing settled is met again,
 *             and the order within a level does not matter: (2) counts those at v as not yet fixed.
 * Bounds:     a resource keeps sums (demand, deficit, usages held at its level, usages and load of open
 *             users), hence a lower bound of its next level in constant time; users are looked at when the
 *             sweep gets there, and not even then once its old level lies below.
 * Cost:       per flow that changes, its usages; per settled or released resource, its users; a heap
 *             operation per stop. Nothing per resource or flow that is not reached, and no allocation once
 *             warm. Flows that no overfilled resource touches never get here: they run at their caps.
 * Left out:   resources with very many users might keep them sorted by rate.
 */
#include "engine/sharing_private.h"

static void set_hint (LsSharing *sharing, LsFlow *flow, guint32 hint) {
  if (flow->hint != G_MAXUINT32)
    ls_resource_at (sharing, flow->hint)->n_hinted--;
  if (hint != G_MAXUINT32)
    ls_resource_at (sharing, hint)->n_hinted++;
  flow->hint = hint;
}

void ls_sharing_uncount (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  set_hint (sharing, flow, G_MAXUINT32);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    LsResource *resource = ls_resource_at (sharing, flow->usages[i].resource);
    resource->deficit -= ((LsInt128) flow->cap - flow->rate) * flow->usages[i].usage;
    if (resource->level == flow->rate)
      resource->held -= flow->usages[i].usage;
  }
}

void ls_sharing_open (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  if (flow->open)
    return;
  if (flow->rate < flow->cap)
    ls_sharing_uncount (sharing, number);
  flow->open = TRUE;
  ls_numbers_push (&sharing->opened, number);
}

static void queue_up (LsSharing *sharing, guint32 place) {
  LsReached *reached = ls_reached_at (sharing, place);
  if (reached->queued)
    return;
  reached->queued = TRUE;
  ls_numbers_push (&sharing->queue, place);
}

/* --- the heap of stops --- */

static void push_stop (LsSharing *sharing, guint64 key, guint32 place) {
  GArray *array = sharing->stops;
  guint i = array->len;
  g_array_set_size (array, i + 1);
  LsStop *stops = (LsStop *) (gpointer) array->data;
  for (; i > 0 && key < stops[(i - 1) / 2].key; i = (i - 1) / 2)
    stops[i] = stops[(i - 1) / 2];
  stops[i] = (LsStop){key, place};
}

static LsStop pop_stop (LsSharing *sharing) {
  GArray *array = sharing->stops;
  LsStop *stops = (LsStop *) (gpointer) array->data;
  LsStop top = stops[0], last = stops[array->len - 1];
  guint n = array->len - 1, i = 0;
  g_array_set_size (array, n);
  for (;;) {
    guint child = 2 * i + 1;
    if (child >= n)
      break;
    child += child + 1 < n && stops[child + 1].key < stops[child].key;
    if (last.key <= stops[child].key)
      break;
    stops[i] = stops[child];
    i = child;
  }
  if (n > 0)
    stops[i] = last;
  return top;
}

static LsReached *add_to_part (LsSharing *sharing, guint32 number) {
  LsResource *resource = ls_resource_at (sharing, number);
  LsReached reached = {.key = resource->level,
                       .resource = number,
                       .stale = TRUE,
                       .checked = resource->level == LS_LEVEL_NONE,
                       .least_cap = LS_RATE_MAX};
  resource->place = sharing->part->len;
  g_array_append_val (sharing->part, reached);
  return ls_reached_at (sharing, resource->place);
}

void ls_sharing_reach (LsSharing *sharing, guint32 number, gboolean measure) {
  LsResource *resource = ls_resource_at (sharing, number);
  if (!ls_sharing_in_part (sharing, number)) {
    add_to_part (sharing, number);
    if (resource->level != LS_LEVEL_NONE)
      push_stop (sharing, (guint64) resource->level << 1, resource->place);
  }
  if (measure)
    queue_up (sharing, resource->place);
}

/* --- the level of one resource --- */

/* Users whose limit is final, below `from`, are taken off; the others are listed. Returns how much the
 * listed ones would take at their limits. */
static LsInt128 list_users (LsSharing *sharing, LsResource *resource, gint64 from, LsInt128 *left,
                            gint64 *active, guint *n, LsReached *reached) {
  const LsUser *users = ls_resource_users (resource);
  g_array_set_size (sharing->users, resource->n_users);
  LsOpenUser *list = (LsOpenUser *) (gpointer) sharing->users->data;
  LsInt128 wanted = 0, open_load = 0;
  gint64 open = 0, least_cap = LS_RATE_MAX;
  for (guint32 u = 0; u < resource->n_users; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    gint64 limit = flow->open ? flow->cap : flow->rate;
    if (flow->seen != sharing->solve) {
      flow->seen = sharing->solve & 0xffffff;
      sharing->counters.flows_touched++;
    }
    LsInt128 load = (LsInt128) limit * users[u].amount;
    gboolean capped = limit == flow->cap;
    if (flow->open) {
      open += users[u].amount;
      open_load += load;
      least_cap = MIN (least_cap, limit);
    }
    if (limit < from || (capped && limit == from)) {
      *left -= load;
    } else {
      wanted += load;
      *active += users[u].amount;
      list[(*n)++] = (LsOpenUser){limit, users[u].amount, capped};
    }
  }
  if (reached) {
    reached->open = open;
    reached->open_load = open_load;
    reached->least_cap = least_cap;
  }
  return wanted;
}

gint64 ls_sharing_measure (LsSharing *sharing, guint32 number, gint64 from, LsReached *reached) {
  LsResource *resource = ls_resource_at (sharing, number);
  LsInt128 left = (LsInt128) resource->capacity << LS_USAGE_BITS;
  gint64 active = 0;
  guint n = 0;
  LsInt128 wanted = list_users (sharing, resource, from, &left, &active, &n, reached);
  LsOpenUser *list = (LsOpenUser *) (gpointer) sharing->users->data;
  while (n > 0 && left - wanted < active) {
    LsInt128 quotient = left / active;
    gint64 level = quotient >= LS_LEVEL_NONE ? LS_LEVEL_NONE : (gint64) quotient;
    LS_REQUIRE (left >= 0 && level >= from, "resource %u above its capacity", number);
    guint kept = 0;
    for (guint i = 0; i < n; i++) {
      LsOpenUser user = list[i];
      if (user.limit < level || (user.capped && user.limit == level)) {
        left -= (LsInt128) user.limit * user.amount;
        wanted -= (LsInt128) user.limit * user.amount;
        active -= user.amount;
      } else {
        list[kept++] = user;
      }
    }
    if (kept == n)
      return level;
    n = kept;
  }
  return LS_LEVEL_NONE;
}

static gint64 share (LsInt128 left, gint64 usage) {
  if (left <= 0)
    return 0;
  LsInt128 level = left / usage;
  return level >= LS_LEVEL_NONE ? LS_LEVEL_NONE : (gint64) level;
}

/* What the open users may share, all others taking their rates. */
static LsInt128 left_for_open (const LsResource *resource, const LsReached *reached) {
  return ((LsInt128) resource->capacity << LS_USAGE_BITS) - resource->demand + resource->deficit +
         reached->open_load;
}

/* A lower bound of what ls_sharing_measure would say from `from` on, without looking at the users;
 * LS_LEVEL_NONE is exact. Once the old level is passed all rates but those of open users are below `from`.
 * Before that, `total` off what is left pays for the rounding of those who rest at the level itself. */
static gint64 bound_level (LsSharing *sharing, const LsReached *reached, gint64 from) {
  const LsResource *resource = ls_resource_at (sharing, reached->resource);
  if (!ls_resource_overfilled (resource))
    return LS_LEVEL_NONE;
  LsInt128 left = left_for_open (resource, reached);
  if (resource->level < from)
    return reached->open > 0 ? share (left, reached->open) : LS_LEVEL_NONE;
  left -= resource->total;
  if (resource->level != LS_LEVEL_NONE && resource->held > 0) {
    gint64 level =
        share (left + (LsInt128) resource->held * resource->level, resource->held + reached->open);
    if (level <= resource->level)
      return level;
  }
  if (reached->open > 0)
    return share (left, reached->open);
  return left >= 0 ? LS_LEVEL_NONE : 0;
}

/* The exact level at or above `level`, which is a lower bound. `*exact` FALSE: only a better bound. */
static gint64 sharpen (LsSharing *sharing, const LsReached *reached, gint64 level,
                       gboolean *exact) {
  const LsResource *resource = ls_resource_at (sharing, reached->resource);
  *exact = FALSE;
  if (resource->level < level && reached->open > 0 && ls_resource_overfilled (resource)) {
    LsInt128 left = left_for_open (resource, reached);
    gint64 bound = share (left, reached->open);
    if (bound == level && reached->least_cap > level) {
      *exact = TRUE;
      return level;
    }
    if (share (left - resource->total, reached->open) > level)
      return bound;
  } else {
    gint64 bound = bound_level (sharing, reached, MIN (level, resource->level));
    if (bound > level)
      return bound;
  }
  *exact = TRUE;
  return ls_sharing_measure (sharing, reached->resource, level, NULL);
}

/* --- the sweep --- */

static void note_change (LsSharing *sharing, guint32 number, gint64 rate) {
  LsFlow *flow = ls_flow_at (sharing, number);
  flow->open = FALSE;
  if (rate == flow->rate && !flow->fresh)
    return;
  LsRateChange change = {number, flow->rate};
  ls_rate_changes_push (&sharing->changes, change);
  flow->rate = rate;
  flow->fresh = FALSE;
}

/* Where to stop next for this resource, and first for those that its old level held. */
static void schedule (LsSharing *sharing, guint32 place, gint64 level, gboolean exact) {
  LsReached *reached = ls_reached_at (sharing, place);
  const LsResource *resource = ls_resource_at (sharing, reached->resource);
  reached->key = level;
  reached->stale = !exact;
  if (level > resource->level && !reached->checked) {
    reached->checked = TRUE;
    if (resource->n_hinted > 0)
      push_stop (sharing, ((guint64) resource->level << 1) + 1, place);
  }
  if (level != LS_LEVEL_NONE)
    push_stop (sharing, (guint64) level << 1, place);
}

/* A resource that fills up at its level has lost load: it keeps the level, or lets those rise that it held. */
static void reach_relieved (LsSharing *sharing, guint32 number) {
  const LsResource *resource = ls_resource_at (sharing, number);
  LsReached *reached = add_to_part (sharing, number);
  if (ls_resource_overfilled (resource) &&
      left_for_open (resource, reached) - resource->total < resource->held) {
    push_stop (sharing, (guint64) resource->level << 1, resource->place);
    return;
  }
  reached->key = LS_LEVEL_NONE;
  reached->checked = TRUE;
  if (resource->n_hinted > 0)
    push_stop (sharing, ((guint64) resource->level << 1) + 1, resource->place);
}

/* A flow has come to rest at `level`, held by `holder`: others on its resources may get more. */
static void hold (LsSharing *sharing, guint32 number, gint64 level, guint32 holder) {
  LsFlow *flow = ls_flow_at (sharing, number);
  gboolean was_open = flow->open;
  gint64 before = was_open ? flow->cap : flow->rate;
  set_hint (sharing, flow, holder);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    guint32 other = flow->usages[i].resource;
    gint64 usage = flow->usages[i].usage;
    LsResource *resource = ls_resource_at (sharing, other);
    resource->deficit += ((LsInt128) before - level) * usage;
    if (!was_open && resource->level == before && before < flow->cap)
      resource->held -= usage;
    LsReached *reached = ls_sharing_in_part (sharing, other);
    if (!reached && !was_open && resource->level != LS_LEVEL_NONE)
      reach_relieved (sharing, other);
    if (!reached)
      continue;
    reached->stale |= reached->key > level;
    if (was_open) {
      reached->open -= usage;
      reached->open_load -= (LsInt128) before * usage;
    }
  }
  note_change (sharing, number, level);
}

static void settle (LsSharing *sharing, guint32 place, gint64 level) {
  LsReached *reached = ls_reached_at (sharing, place);
  guint32 number = reached->resource;
  reached->settled = TRUE;
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  gint64 held = 0;
  resource->level = level;
  for (guint32 u = 0; u < resource->n_users; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    if (flow->open ? flow->cap > level : flow->rate > level)
      hold (sharing, users[u].flow, level, number);
    else if (flow->open || flow->rate < level || flow->rate == flow->cap)
      continue;
    else if (flow->hint != number)
      set_hint (sharing, flow, number);
    held += users[u].amount;
  }
  resource->held = held;
}

/* Whether another resource holds the flow at its rate as well. */
static gboolean find_holder (LsSharing *sharing, LsFlow *flow) {
  for (guint32 i = 0; i < flow->n_usages; i++) {
    guint32 number = flow->usages[i].resource;
    if (ls_resource_at (sharing, number)->level != flow->rate)
      continue;
    LsReached *reached = ls_sharing_in_part (sharing, number);
    if (reached && !reached->settled)
      continue;
    set_hint (sharing, flow, number);
    return TRUE;
  }
  return FALSE;
}

/* A flow rises from the rate it had: all that may hold it back is reached. */
static void rise (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  ls_sharing_open (sharing, number);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    guint32 other = flow->usages[i].resource;
    if (ls_resource_overfilled (ls_resource_at (sharing, other)))
      ls_sharing_reach (sharing, other, TRUE);
    LsReached *reached = ls_sharing_in_part (sharing, other);
    if (!reached)
      continue;
    reached->open += flow->usages[i].usage;
    reached->open_load += (LsInt128) flow->cap * flow->usages[i].usage;
    reached->least_cap = MIN (reached->least_cap, flow->cap);
  }
}

/* Those whom only the old level of this resource held rise. */
static void release (LsSharing *sharing, guint32 place, gint64 level) {
  const LsReached *reached = ls_reached_at (sharing, place);
  guint32 number = reached->resource;
  if (reached->settled)
    return;
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  for (guint32 u = 0; u < resource->n_users && resource->n_hinted > 0; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    if (flow->hint != number || find_holder (sharing, flow))
      continue;
    LS_ASSERT (!flow->open && flow->rate == level);
    rise (sharing, users[u].flow);
  }
}

/* At the start the users of the queued are not yet counted: they are measured; later a bound is enough. */
static void empty_queue (LsSharing *sharing, gint64 from) {
  for (guint i = 0; i < sharing->queue.len; i++) {
    guint32 place = sharing->queue.data[i];
    LsReached *reached = ls_reached_at (sharing, place);
    reached->queued = FALSE;
    if (reached->settled)
      continue;
    if (from == 0)
      schedule (sharing, place, ls_sharing_measure (sharing, reached->resource, 0, reached), TRUE);
    else
      schedule (sharing, place, MAX (from, bound_level (sharing, reached, from)), FALSE);
  }
  sharing->queue.len = 0;
}

static void fill_up_to (LsSharing *sharing, LsStop stop) {
  gint64 level = (gint64) (stop.key >> 1);
  LsReached *reached = ls_reached_at (sharing, stop.place);
  if (reached->settled || reached->key != level)
    return;
  if (reached->stale) {
    gboolean exact;
    gint64 next = sharpen (sharing, reached, level, &exact);
    if (next > level) {
      schedule (sharing, stop.place, next, exact);
      return;
    }
  }
  settle (sharing, stop.place, level);
}

static void sweep (LsSharing *sharing) {
  sharing->solve = (sharing->solve + 1) & 0xffffff;
  sharing->counters.solves++;
  empty_queue (sharing, 0);
  while (sharing->stops->len > 0) {
    LsStop stop = pop_stop (sharing);
    gint64 level = (gint64) (stop.key >> 1);
    if (stop.key & 1)
      release (sharing, stop.place, level);
    else
      fill_up_to (sharing, stop);
    if (sharing->queue.len > 0 &&
        (sharing->stops->len == 0 ||
         g_array_index (sharing->stops, LsStop, 0).key > ((guint64) level << 1) + 1))
      empty_queue (sharing, level + 1);
  }
  for (guint i = 0; i < sharing->part->len; i++) {
    const LsReached *reached = ls_reached_at (sharing, i);
    if (reached->settled)
      continue;
    ls_resource_at (sharing, reached->resource)->level = LS_LEVEL_NONE;
    ls_resource_at (sharing, reached->resource)->held = 0;
  }
  sharing->counters.resources_reached += sharing->part->len;
  g_array_set_size (sharing->part, 0);
}

guint ls_sharing_solve (LsSharing *sharing, const LsRateChange **changes) {
  sharing->changes.len = 0;
  if (sharing->part->len > 0)
    sweep (sharing);
  for (guint i = 0; i < sharing->opened.len; i++) {
    guint32 number = sharing->opened.data[i];
    if (ls_flow_at (sharing, number)->open)
      note_change (sharing, number, ls_flow_at (sharing, number)->cap);
  }
  sharing->opened.len = 0;
  sharing->counters.flows_changed += sharing->changes.len;
  *changes = sharing->changes.data;
  return sharing->changes.len;
}
