/* The sweep: see the header of sharing.h for the model. */
#include "engine/sharing_private.h"

void ls_sharing_open (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  if (flow->open)
    return;
  flow->open = TRUE;
  g_array_append_val (sharing->opened, number);
}

static void queue_up (LsSharing *sharing, guint32 place) {
  LsReached *reached = ls_reached_at (sharing, place);
  if (reached->queued)
    return;
  reached->queued = TRUE;
  g_array_append_val (sharing->queue, place);
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

void ls_sharing_reach (LsSharing *sharing, guint32 number, gboolean measure) {
  LsResource *resource = ls_resource_at (sharing, number);
  LsReached *known = ls_sharing_in_part (sharing, number);
  guint32 place = known ? resource->place : sharing->part->len;
  if (!known) {
    gboolean full = resource->level != LS_LEVEL_NONE;
    LsReached reached = {resource->level, number, TRUE, FALSE, FALSE, !full};
    resource->place = place;
    g_array_append_val (sharing->part, reached);
    if (full)
      push_stop (sharing, (guint64) resource->level << 1, place);
  }
  if (measure)
    queue_up (sharing, place);
}

/* --- the level of one resource --- */

/* Users whose limit is final, below `from`, are taken off; the others are listed. Returns how much the
 * listed ones would take at their limits. */
static LsInt128 list_users (LsSharing *sharing, LsResource *resource, gint64 from, LsInt128 *left,
                            gint64 *open, guint *n) {
  const LsUser *users = ls_resource_users (resource);
  g_array_set_size (sharing->users, resource->n_users);
  LsOpenUser *list = (LsOpenUser *) (gpointer) sharing->users->data;
  LsInt128 wanted = 0;
  for (guint32 u = 0; u < resource->n_users; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    gint64 limit = flow->open ? flow->cap : flow->rate;
    if (flow->seen != sharing->solve) {
      flow->seen = sharing->solve & 0xffffff;
      sharing->counters.flows_touched++;
    }
    LsInt128 load = (LsInt128) limit * users[u].amount;
    gboolean capped = limit == flow->cap;
    if (limit < from || (capped && limit == from)) {
      *left -= load;
    } else {
      wanted += load;
      *open += users[u].amount;
      list[(*n)++] = (LsOpenUser){limit, users[u].amount, capped};
    }
  }
  return wanted;
}

gint64 ls_sharing_measure (LsSharing *sharing, guint32 number, gint64 from) {
  LsResource *resource = ls_resource_at (sharing, number);
  LsInt128 left = (LsInt128) resource->capacity << LS_USAGE_BITS;
  gint64 open = 0;
  guint n = 0;
  LsInt128 wanted = list_users (sharing, resource, from, &left, &open, &n);
  LsOpenUser *list = (LsOpenUser *) (gpointer) sharing->users->data;
  while (n > 0 && left - wanted < open) {
    LsInt128 quotient = left / open;
    gint64 level = quotient >= LS_LEVEL_NONE ? LS_LEVEL_NONE : (gint64) quotient;
    LS_REQUIRE (left >= 0 && level >= from, "resource %u above its capacity", number);
    guint kept = 0;
    for (guint i = 0; i < n; i++) {
      LsOpenUser user = list[i];
      if (user.limit < level || (user.capped && user.limit == level)) {
        left -= (LsInt128) user.limit * user.amount;
        wanted -= (LsInt128) user.limit * user.amount;
        open -= user.amount;
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

/* --- the sweep --- */

static void note_change (LsSharing *sharing, guint32 number, gint64 rate) {
  LsFlow *flow = ls_flow_at (sharing, number);
  flow->open = FALSE;
  if (rate == flow->rate && !flow->fresh)
    return;
  LsRateChange change = {number, flow->rate};
  g_array_append_val (sharing->changes, change);
  flow->rate = rate;
  flow->fresh = FALSE;
}

/* A new exact level: where to stop next for this resource, and first for those that its old level held. */
static void schedule (LsSharing *sharing, guint32 place, gint64 level) {
  LsReached *reached = ls_reached_at (sharing, place);
  gint64 old = ls_resource_at (sharing, reached->resource)->level;
  reached->key = level;
  reached->stale = FALSE;
  if (level > old && !reached->released) {
    reached->released = TRUE;
    push_stop (sharing, ((guint64) old << 1) + 1, place);
  }
  if (level != LS_LEVEL_NONE)
    push_stop (sharing, (guint64) level << 1, place);
}

/* A flow has come to rest at `level`, held by `holder`: others on its resources may get more. */
static void hold (LsSharing *sharing, guint32 number, gint64 level, guint32 holder) {
  LsFlow *flow = ls_flow_at (sharing, number);
  gboolean was_open = flow->open;
  flow->hint = holder;
  note_change (sharing, number, level);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    guint32 other = flow->usages[i].resource;
    LsReached *reached = ls_sharing_in_part (sharing, other);
    if (reached)
      reached->stale |= reached->key > level;
    else if (!was_open && ls_resource_at (sharing, other)->level != LS_LEVEL_NONE)
      ls_sharing_reach (sharing, other, FALSE);
  }
}

static void settle (LsSharing *sharing, guint32 place, gint64 level) {
  LsReached *reached = ls_reached_at (sharing, place);
  guint32 number = reached->resource;
  reached->settled = TRUE;
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  resource->level = level;
  for (guint32 u = 0; u < resource->n_users; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    if (flow->open ? flow->cap > level : flow->rate > level)
      hold (sharing, users[u].flow, level, number);
    else if (!flow->open && flow->rate == level)
      flow->hint = number;
  }
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
    flow->hint = number;
    return TRUE;
  }
  return FALSE;
}

/* Those whom only the old level of this resource held rise from it, and reach all that they use. */
static void release (LsSharing *sharing, guint32 place, gint64 level) {
  LsReached *reached = ls_reached_at (sharing, place);
  guint32 number = reached->resource;
  if (reached->settled)
    return;
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  for (guint32 u = 0; u < resource->n_users; u++) {
    LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    if (flow->open || flow->hint != number || flow->rate != level || flow->rate == flow->cap ||
        find_holder (sharing, flow))
      continue;
    ls_sharing_open (sharing, users[u].flow);
    for (guint32 i = 0; i < flow->n_usages; i++)
      if (ls_resource_overfilled (ls_resource_at (sharing, flow->usages[i].resource)))
        ls_sharing_reach (sharing, flow->usages[i].resource, TRUE);
  }
}

static void measure_queue (LsSharing *sharing, gint64 from) {
  for (guint i = 0; i < sharing->queue->len; i++) {
    guint32 place = g_array_index (sharing->queue, guint32, i);
    LsReached *reached = ls_reached_at (sharing, place);
    reached->queued = FALSE;
    if (!reached->settled)
      schedule (sharing, place, ls_sharing_measure (sharing, reached->resource, from));
  }
  g_array_set_size (sharing->queue, 0);
}

static void fill_up_to (LsSharing *sharing, LsStop stop) {
  gint64 level = (gint64) (stop.key >> 1);
  LsReached *reached = ls_reached_at (sharing, stop.place);
  if (reached->settled || reached->key != level)
    return;
  if (reached->stale) {
    gint64 exact = ls_sharing_measure (sharing, reached->resource, level);
    if (exact > level) {
      schedule (sharing, stop.place, exact);
      return;
    }
  }
  settle (sharing, stop.place, level);
}

static void sweep (LsSharing *sharing) {
  sharing->solve = (sharing->solve + 1) & 0xffffff;
  sharing->counters.solves++;
  measure_queue (sharing, 0);
  while (sharing->stops->len > 0) {
    LsStop stop = pop_stop (sharing);
    gint64 level = (gint64) (stop.key >> 1);
    if (stop.key & 1)
      release (sharing, stop.place, level);
    else
      fill_up_to (sharing, stop);
    if (sharing->queue->len > 0 &&
        (sharing->stops->len == 0 ||
         g_array_index (sharing->stops, LsStop, 0).key > ((guint64) level << 1) + 1))
      measure_queue (sharing, level + 1);
  }
  for (guint i = 0; i < sharing->part->len; i++) {
    const LsReached *reached = ls_reached_at (sharing, i);
    if (!reached->settled)
      ls_resource_at (sharing, reached->resource)->level = LS_LEVEL_NONE;
  }
  sharing->counters.resources_reached += sharing->part->len;
  g_array_set_size (sharing->part, 0);
}

guint ls_sharing_solve (LsSharing *sharing, const LsRateChange **changes) {
  g_array_set_size (sharing->changes, 0);
  if (sharing->part->len > 0)
    sweep (sharing);
  for (guint i = 0; i < sharing->opened->len; i++) {
    guint32 number = g_array_index (sharing->opened, guint32, i);
    if (ls_flow_at (sharing, number)->open)
      note_change (sharing, number, ls_flow_at (sharing, number)->cap);
  }
  g_array_set_size (sharing->opened, 0);
  sharing->counters.flows_changed += sharing->changes->len;
  *changes = (const LsRateChange *) (gconstpointer) sharing->changes->data;
  return sharing->changes->len;
}
