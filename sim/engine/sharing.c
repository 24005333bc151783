/* Max-min fair sharing of transfers: see sharing.h for model and method. */
#include "engine/sharing_private.h"

#include "base/memory.h"

LsSharing *ls_sharing_new (void) {
  LsSharing *sharing = g_new0 (LsSharing, 1);

  sharing->resources = g_array_new (FALSE, FALSE, sizeof (LsResource));
  sharing->flows = g_array_new (FALSE, TRUE, sizeof (LsFlow));
  sharing->part = g_array_new (FALSE, FALSE, sizeof (LsReached));
  sharing->stops = g_array_new (FALSE, FALSE, sizeof (LsStop));
  sharing->users = g_array_new (FALSE, FALSE, sizeof (LsOpenUser));
  return sharing;
}

void ls_sharing_free (LsSharing *sharing) {
  if (!sharing)
    return;
  for (guint32 r = 0; r < sharing->resources->len; r++)
    if (ls_resource_at (sharing, r)->size > 0)
      g_free (ls_resource_at (sharing, r)->users.many);
  for (guint32 f = 0; f < sharing->flows->len; f++)
    g_free (ls_flow_at (sharing, f)->places);
  GArray *arrays[] = {sharing->resources, sharing->flows, sharing->part, sharing->stops,
                      sharing->users};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_array_unref (arrays[i]);
  g_free (sharing->free_flows.data);
  g_free (sharing->opened.data);
  g_free (sharing->queue.data);
  g_free (sharing->changes.data);
  g_free (sharing);
}

guint32 ls_sharing_add_resource (LsSharing *sharing, gint64 capacity) {
  LsResource resource = {.capacity = capacity, .level = LS_LEVEL_NONE};
  ls_memory_append (sharing->resources, &resource);
  return sharing->resources->len - 1;
}

gint64 ls_sharing_capacity (const LsSharing *sharing, guint32 resource) {
  return ls_resource_at (sharing, resource)->capacity;
}

guint ls_sharing_n_users (const LsSharing *sharing, guint32 resource) {
  return ls_resource_at (sharing, resource)->n_users;
}

LsInt128 ls_sharing_room (const LsSharing *sharing, guint32 number) {
  const LsResource *resource = ls_resource_at (sharing, number);
  return ((LsInt128) resource->capacity << LS_USAGE_BITS) - resource->demand;
}

/* floor (capacity / usage) < rate without dividing: capacity < rate x usage. */
gint64 ls_sharing_alone_rate (const LsSharing *sharing, gint64 cap, guint32 n_usages,
                              const LsUsage *usages, guint32 *bottleneck) {
  gint64 rate = cap > 0 ? cap : LS_RATE_MAX;
  guint32 least = G_MAXUINT32;
  for (guint32 i = 0; i < n_usages; i++) {
    LsInt128 capacity = (LsInt128) ls_resource_at (sharing, usages[i].resource)->capacity
                        << LS_USAGE_BITS;
    if (capacity >= (LsInt128) rate * usages[i].usage)
      continue;
    rate = (gint64) (capacity / usages[i].usage);
    least = usages[i].resource;
  }
  if (bottleneck)
    *bottleneck = least;
  return rate;
}

static guint32 add_user (LsResource *resource, LsUser user) {
  if (resource->n_users == MAX (resource->size, 1u)) {
    guint32 size = resource->size > 0 ? 2 * resource->size : 4;
    if (resource->size > 0) {
      resource->users.many = g_renew (LsUser, resource->users.many, size);
    } else {
      LsUser *many = g_new (LsUser, size);
      many[0] = resource->users.one;
      resource->users.many = many;
    }
    resource->size = size;
  }
  ls_resource_users (resource)[resource->n_users] = user;
  return resource->n_users++;
}

static guint32 new_flow (LsSharing *sharing, guint32 n_usages) {
  guint32 number;
  if (sharing->free_flows.len > 0) {
    number = ls_numbers_pop (&sharing->free_flows);
  } else {
    number = sharing->flows->len;
    g_array_set_size (sharing->flows, number + 1);
  }
  LsFlow *flow = ls_flow_at (sharing, number);
  if (flow->places_size < n_usages) {
    g_free (flow->places);
    flow->places = g_new (guint32, n_usages);
    flow->places_size = n_usages;
  }
  return number;
}

guint32 ls_sharing_add_flow (LsSharing *sharing, gint64 cap, guint32 bottleneck, guint32 n_usages,
                             const LsUsage *usages, guint32 owner) {
  guint32 number = new_flow (sharing, n_usages);
  LsFlow *flow = ls_flow_at (sharing, number);
  flow->usages = usages;
  flow->n_usages = n_usages;
  flow->base_cap = flow->cap = cap;
  flow->rate = 0;
  flow->hint = G_MAXUINT32;
  flow->cap_bottleneck = bottleneck;
  flow->owner = owner;
  flow->live = flow->fresh = flow->open = TRUE;
  ls_numbers_push (&sharing->opened, number);
  for (guint32 i = 0; i < n_usages; i++) {
    LsResource *resource = ls_resource_at (sharing, usages[i].resource);
    LS_ASSERT (usages[i].usage > 0);
    flow->places[i] = add_user (resource, (LsUser){number, i, usages[i].usage});
    resource->demand += (LsInt128) cap * usages[i].usage;
    resource->total += usages[i].usage;
    if (resource->level != LS_LEVEL_NONE || ls_resource_overfilled (resource))
      ls_sharing_reach (sharing, usages[i].resource, TRUE);
  }
  return number;
}

void ls_sharing_set_base (LsSharing *sharing, guint32 number, gint64 base_cap) {
  LsFlow *flow = ls_flow_at (sharing, number);
  flow->base_cap = MAX (flow->base_cap, base_cap);
}

void ls_sharing_remove_flow (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  LS_REQUIRE (flow->live, "removing a flow twice");
  if (!flow->open && flow->rate < flow->cap)
    ls_sharing_uncount (sharing, number);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    LsResource *resource = ls_resource_at (sharing, flow->usages[i].resource);
    if (resource->level != LS_LEVEL_NONE)
      ls_sharing_reach (sharing, flow->usages[i].resource, FALSE);
    resource->demand -= (LsInt128) flow->cap * flow->usages[i].usage;
    resource->total -= flow->usages[i].usage;
    LsUser *users = ls_resource_users (resource);
    guint32 place = flow->places[i], last = --resource->n_users;
    if (place != last) {
      users[place] = users[last];
      ls_flow_at (sharing, users[place].flow)->places[users[place].usage] = place;
    }
  }
  flow->live = flow->open = FALSE;
  ls_numbers_push (&sharing->free_flows, number);
}

void ls_sharing_settle_alone (LsSharing *sharing, guint32 number) {
  LsFlow *flow = ls_flow_at (sharing, number);
  guint last = sharing->opened.len - 1;
  LS_REQUIRE (flow->fresh && sharing->opened.data[last] == number,
              "a flow that is not the newest settles alone");
  sharing->opened.len = last;
  flow->open = flow->fresh = FALSE;
  flow->rate = flow->cap;
}

/* A flow's cap follows the capacities; what it shares with others is to be measured again. */
static void change_cap (LsSharing *sharing, guint32 number, gint64 cap) {
  LsFlow *flow = ls_flow_at (sharing, number);
  ls_sharing_open (sharing, number);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    LsResource *resource = ls_resource_at (sharing, flow->usages[i].resource);
    resource->demand += ((LsInt128) cap - flow->cap) * flow->usages[i].usage;
    if (resource->level != LS_LEVEL_NONE || ls_resource_overfilled (resource))
      ls_sharing_reach (sharing, flow->usages[i].resource, TRUE);
  }
  flow->cap = cap;
}

void ls_sharing_set_capacity (LsSharing *sharing, guint32 number, gint64 capacity) {
  LsResource *resource = ls_resource_at (sharing, number);
  if (resource->capacity == capacity)
    return;
  resource->capacity = capacity;
  if (resource->level != LS_LEVEL_NONE || ls_resource_overfilled (resource))
    ls_sharing_reach (sharing, number, TRUE);
  for (guint32 u = 0; u < resource->n_users; u++) {
    guint32 user = ls_resource_users (resource)[u].flow;
    LsFlow *flow = ls_flow_at (sharing, user);
    guint32 bottleneck;
    gint64 cap =
        ls_sharing_alone_rate (sharing, flow->base_cap, flow->n_usages, flow->usages, &bottleneck);
    if (bottleneck != G_MAXUINT32)
      flow->cap_bottleneck = bottleneck;
    if (cap != flow->cap)
      change_cap (sharing, user, cap);
  }
}

gboolean ls_sharing_is_dirty (const LsSharing *sharing) {
  return sharing->part->len > 0 || sharing->opened.len > 0;
}

gint64 ls_sharing_rate (const LsSharing *sharing, guint32 flow) {
  return ls_flow_at (sharing, flow)->rate;
}

/* The first of its resources that holds it, whichever one the solver met first: the same for the same flows. */
guint32 ls_sharing_bottleneck (const LsSharing *sharing, guint32 number) {
  const LsFlow *flow = ls_flow_at (sharing, number);
  for (guint32 i = 0; flow->rate < flow->cap && i < flow->n_usages; i++)
    if (ls_resource_at (sharing, flow->usages[i].resource)->level == flow->rate)
      return flow->usages[i].resource;
  return flow->cap_bottleneck;
}

guint32 ls_sharing_owner (const LsSharing *sharing, guint32 flow) {
  return ls_flow_at (sharing, flow)->owner;
}

const LsUsage *ls_sharing_usages (const LsSharing *sharing, guint32 flow, guint32 *n_usages) {
  *n_usages = ls_flow_at (sharing, flow)->n_usages;
  return ls_flow_at (sharing, flow)->usages;
}

gint64 ls_sharing_load (const LsSharing *sharing, guint32 number) {
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  LsInt128 load = 0;
  for (guint32 u = 0; u < resource->n_users; u++)
    load += (LsInt128) ls_flow_at (sharing, users[u].flow)->rate * users[u].amount;
  return (gint64) ((load + LS_USAGE_ONE - 1) >> LS_USAGE_BITS);
}

LsSharingCounters ls_sharing_counters (const LsSharing *sharing) {
  return sharing->counters;
}
