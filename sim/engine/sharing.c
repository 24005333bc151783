/* Max-min fair sharing of transfers: see sharing.h for model and method. */
#include "engine/sharing.h"

#include "base/assert.h"

#define NO_FLOW G_MAXUINT32

typedef struct {
  guint32 flow;
  guint32 usage; /* index in the flow's usages */
} User;

typedef struct {
  gint64 capacity;
  LsInt128 demand; /* sum of usage x cap over its users, 2^-96 units/ps */
  User *users;
  guint32 n_users, users_size;
  guint32 stamp; /* visited in solve number `stamp` */
  gboolean dirty;
  /* during a solve */
  LsInt128 left;
  gint64 open_usage; /* of flows not yet fixed */
  gint64 level;
  gboolean level_stale;
} Resource;

typedef struct {
  const LsUsage *usages;
  guint32 n_usages;
  guint32 *places; /* index in each resource's users */
  guint32 places_size;
  gint64 base_cap, cap;
  gint64 rate;
  guint32 cap_bottleneck, bottleneck;
  guint32 owner;
  guint32 stamp;
  gboolean live, fixed, fresh;
} Flow;

struct LsSharing {
  GArray *resources; /* Resource */
  GArray *flows;     /* Flow */
  GArray *free_flows;
  GArray *dirty;          /* guint32 resource */
  GArray *fresh;          /* guint32 flow: added since the last solve */
  GArray *part_resources; /* guint32, of the part being solved */
  GArray *part_flows;
  GArray *levelled; /* guint32 */
  GArray *changes;  /* LsRateChange */
  guint32 stamp;
};

static inline Resource *resource_at (const LsSharing *sharing, guint32 resource) {
  return &g_array_index (sharing->resources, Resource, resource);
}

static inline Flow *flow_at (const LsSharing *sharing, guint32 flow) {
  return &g_array_index (sharing->flows, Flow, flow);
}

LsSharing *ls_sharing_new (void) {
  LsSharing *sharing = g_new0 (LsSharing, 1);
  sharing->resources = g_array_new (FALSE, TRUE, sizeof (Resource));
  sharing->flows = g_array_new (FALSE, TRUE, sizeof (Flow));
  GArray **lists[] = {&sharing->free_flows,     &sharing->dirty,      &sharing->fresh,
                      &sharing->part_resources, &sharing->part_flows, &sharing->levelled};
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    *lists[i] = g_array_new (FALSE, TRUE, sizeof (guint32));
  sharing->changes = g_array_new (FALSE, TRUE, sizeof (LsRateChange));
  return sharing;
}

void ls_sharing_free (LsSharing *sharing) {
  if (!sharing)
    return;
  for (guint32 r = 0; r < sharing->resources->len; r++)
    g_free (resource_at (sharing, r)->users);
  for (guint32 f = 0; f < sharing->flows->len; f++)
    g_free (flow_at (sharing, f)->places);
  GArray *arrays[] = {sharing->resources,  sharing->flows,    sharing->free_flows,
                      sharing->dirty,      sharing->fresh,    sharing->part_resources,
                      sharing->part_flows, sharing->levelled, sharing->changes};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_array_unref (arrays[i]);
  g_free (sharing);
}

guint32 ls_sharing_add_resource (LsSharing *sharing, gint64 capacity) {
  Resource resource = {.capacity = capacity};
  g_array_append_val (sharing->resources, resource);
  return sharing->resources->len - 1;
}

gint64 ls_sharing_capacity (const LsSharing *sharing, guint32 resource) {
  return resource_at (sharing, resource)->capacity;
}

LsInt128 ls_sharing_room (const LsSharing *sharing, guint32 number) {
  const Resource *resource = resource_at (sharing, number);
  return ((LsInt128) resource->capacity << LS_USAGE_BITS) - resource->demand;
}

static inline gboolean is_overfilled (const Resource *resource) {
  return resource->demand > ((LsInt128) resource->capacity << LS_USAGE_BITS);
}

static void make_dirty (LsSharing *sharing, guint32 number) {
  Resource *resource = resource_at (sharing, number);
  if (resource->dirty)
    return;
  resource->dirty = TRUE;
  g_array_append_val (sharing->dirty, number);
}

gint64 ls_sharing_alone_rate (const LsSharing *sharing, gint64 cap, guint32 n_usages,
                              const LsUsage *usages, guint32 *bottleneck) {
  gint64 rate = cap > 0 ? cap : LS_RATE_MAX;
  guint32 least = G_MAXUINT32;
  for (guint32 i = 0; i < n_usages; i++) {
    gint64 capacity = resource_at (sharing, usages[i].resource)->capacity;
    LsInt128 alone = ((LsInt128) capacity << LS_USAGE_BITS) / usages[i].usage;
    if (alone < rate) {
      rate = (gint64) alone;
      least = usages[i].resource;
    }
  }
  if (bottleneck)
    *bottleneck = least;
  return rate;
}

static void add_user (Resource *resource, User user) {
  if (resource->n_users == resource->users_size) {
    resource->users_size = MAX (4u, resource->users_size * 2);
    resource->users = g_renew (User, resource->users, resource->users_size);
  }
  resource->users[resource->n_users++] = user;
}

guint32 ls_sharing_add_flow (LsSharing *sharing, gint64 cap, guint32 bottleneck, guint32 n_usages,
                             const LsUsage *usages, guint32 owner) {
  guint32 number;
  if (sharing->free_flows->len > 0) {
    number = g_array_index (sharing->free_flows, guint32, sharing->free_flows->len - 1);
    g_array_set_size (sharing->free_flows, sharing->free_flows->len - 1);
  } else {
    number = sharing->flows->len;
    g_array_set_size (sharing->flows, number + 1);
  }
  Flow *flow = flow_at (sharing, number);
  if (flow->places_size < n_usages) {
    flow->places = g_renew (guint32, flow->places, n_usages);
    flow->places_size = n_usages;
  }
  flow->usages = usages;
  flow->n_usages = n_usages;
  flow->base_cap = flow->cap = cap;
  flow->rate = 0;
  flow->bottleneck = flow->cap_bottleneck = bottleneck;
  flow->owner = owner;
  flow->live = flow->fresh = TRUE;
  for (guint32 i = 0; i < n_usages; i++) {
    Resource *resource = resource_at (sharing, usages[i].resource);
    LS_ASSERT (usages[i].usage > 0);
    flow->places[i] = resource->n_users;
    add_user (resource, (User){number, i});
    resource->demand += (LsInt128) cap * usages[i].usage;
    if (is_overfilled (resource))
      make_dirty (sharing, usages[i].resource);
  }
  g_array_append_val (sharing->fresh, number);
  return number;
}

void ls_sharing_remove_flow (LsSharing *sharing, guint32 number) {
  Flow *flow = flow_at (sharing, number);
  LS_REQUIRE (flow->live, "removing a flow twice");
  for (guint32 i = 0; i < flow->n_usages; i++) {
    Resource *resource = resource_at (sharing, flow->usages[i].resource);
    if (is_overfilled (resource))
      make_dirty (sharing, flow->usages[i].resource);
    resource->demand -= (LsInt128) flow->cap * flow->usages[i].usage;
    User last = resource->users[--resource->n_users];
    if (last.flow != number || last.usage != i) {
      resource->users[flow->places[i]] = last;
      flow_at (sharing, last.flow)->places[last.usage] = flow->places[i];
    }
  }
  flow->live = FALSE;
  g_array_append_val (sharing->free_flows, number);
}

void ls_sharing_set_capacity (LsSharing *sharing, guint32 number, gint64 capacity) {
  Resource *resource = resource_at (sharing, number);
  resource->capacity = capacity;
  make_dirty (sharing, number);
  for (guint32 u = 0; u < resource->n_users; u++) {
    Flow *flow = flow_at (sharing, resource->users[u].flow);
    guint32 bottleneck;
    gint64 cap =
        ls_sharing_alone_rate (sharing, flow->base_cap, flow->n_usages, flow->usages, &bottleneck);
    for (guint32 i = 0; i < flow->n_usages; i++) {
      Resource *other = resource_at (sharing, flow->usages[i].resource);
      if (is_overfilled (other))
        make_dirty (sharing, flow->usages[i].resource);
      other->demand += ((LsInt128) cap - flow->cap) * flow->usages[i].usage;
      if (is_overfilled (other))
        make_dirty (sharing, flow->usages[i].resource);
    }
    flow->cap = cap;
    if (bottleneck != G_MAXUINT32)
      flow->cap_bottleneck = bottleneck;
  }
}

static void set_rate (LsSharing *sharing, guint32 number, gint64 rate, guint32 bottleneck) {
  Flow *flow = flow_at (sharing, number);
  flow->bottleneck = bottleneck;
  flow->fixed = TRUE;
  if (rate == flow->rate && !flow->fresh)
    return;
  LsRateChange change = {number, flow->rate};
  g_array_append_val (sharing->changes, change);
  flow->rate = rate;
  flow->fresh = FALSE;
}

/* Adds to the part what `number` reaches; resources that cannot be overfilled do not pass it on. */
static void visit_resource (LsSharing *sharing, guint32 number) {
  Resource *resource = resource_at (sharing, number);
  if (resource->stamp == sharing->stamp)
    return;
  resource->stamp = sharing->stamp;
  g_array_append_val (sharing->part_resources, number);
}

static void collect_part (LsSharing *sharing) {
  sharing->stamp++;
  g_array_set_size (sharing->part_resources, 0);
  g_array_set_size (sharing->part_flows, 0);
  for (guint i = 0; i < sharing->dirty->len; i++) {
    guint32 number = g_array_index (sharing->dirty, guint32, i);
    resource_at (sharing, number)->dirty = FALSE;
    visit_resource (sharing, number);
  }
  g_array_set_size (sharing->dirty, 0);
  for (guint i = 0; i < sharing->part_resources->len; i++) {
    Resource *resource = resource_at (sharing, g_array_index (sharing->part_resources, guint32, i));
    resource->left = (LsInt128) resource->capacity << LS_USAGE_BITS;
    resource->open_usage = 0;
    resource->level_stale = TRUE;
    for (guint32 u = 0; u < resource->n_users; u++) {
      guint32 number = resource->users[u].flow;
      Flow *flow = flow_at (sharing, number);
      resource->open_usage += flow->usages[resource->users[u].usage].usage;
      if (flow->stamp == sharing->stamp)
        continue;
      flow->stamp = sharing->stamp;
      flow->fixed = FALSE;
      g_array_append_val (sharing->part_flows, number);
      for (guint32 k = 0; k < flow->n_usages; k++)
        if (is_overfilled (resource_at (sharing, flow->usages[k].resource)))
          visit_resource (sharing, flow->usages[k].resource);
    }
  }
}

/* Fixes a flow and takes its share from the resources of the part. */
static void fix_flow (LsSharing *sharing, guint32 number, gint64 rate, guint32 bottleneck) {
  Flow *flow = flow_at (sharing, number);
  for (guint32 i = 0; i < flow->n_usages; i++) {
    Resource *resource = resource_at (sharing, flow->usages[i].resource);
    if (resource->stamp != sharing->stamp)
      continue;
    resource->left -= (LsInt128) rate * flow->usages[i].usage;
    LS_REQUIRE (resource->left >= 0, "resource %u above its capacity", flow->usages[i].resource);
    resource->open_usage -= flow->usages[i].usage;
    resource->level_stale = TRUE;
  }
  set_rate (sharing, number, rate, bottleneck);
}

static gint compare_caps (gconstpointer a, gconstpointer b, gpointer data) {
  guint32 first = *(const guint32 *) a, second = *(const guint32 *) b;
  gint64 cap_first = flow_at (data, first)->cap, cap_second = flow_at (data, second)->cap;
  if (cap_first != cap_second)
    return cap_first < cap_second ? -1 : 1;
  return first < second ? -1 : first > second;
}

/* Least level over the resources with open flows, and which have it; drops the others for good. */
static gint64 least_level (LsSharing *sharing) {
  gint64 least = LS_RATE_MAX;
  GArray *part = sharing->part_resources;
  g_array_set_size (sharing->levelled, 0);
  guint kept = 0;
  for (guint i = 0; i < part->len; i++) {
    guint32 number = g_array_index (part, guint32, i);
    Resource *resource = resource_at (sharing, number);
    if (resource->open_usage == 0)
      continue;
    g_array_index (part, guint32, kept++) = number;
    if (resource->level_stale) {
      LsInt128 level = resource->left / resource->open_usage;
      resource->level = level > LS_RATE_MAX ? LS_RATE_MAX : (gint64) level;
      resource->level_stale = FALSE;
    }
    if (resource->level < least) {
      least = resource->level;
      g_array_set_size (sharing->levelled, 0);
    }
    if (resource->level == least)
      g_array_append_val (sharing->levelled, number);
  }
  g_array_set_size (part, kept);
  return least;
}

static void fill_part (LsSharing *sharing) {
  GArray *flows = sharing->part_flows;
  g_array_sort_with_data (flows, compare_caps, sharing);
  guint next = 0;
  for (;;) {
    while (next < flows->len && flow_at (sharing, g_array_index (flows, guint32, next))->fixed)
      next++;
    if (next == flows->len)
      return;
    gint64 level = least_level (sharing);
    guint32 first = g_array_index (flows, guint32, next);
    gint64 cap = flow_at (sharing, first)->cap;
    if (cap <= level) {
      for (; next < flows->len; next++) {
        guint32 number = g_array_index (flows, guint32, next);
        Flow *flow = flow_at (sharing, number);
        if (flow->cap != cap)
          break;
        if (!flow->fixed)
          fix_flow (sharing, number, cap, flow->cap_bottleneck);
      }
      continue;
    }
    for (guint i = 0; i < sharing->levelled->len; i++) {
      guint32 number = g_array_index (sharing->levelled, guint32, i);
      for (guint32 u = 0; u < resource_at (sharing, number)->n_users; u++) {
        guint32 user = resource_at (sharing, number)->users[u].flow;
        if (!flow_at (sharing, user)->fixed)
          fix_flow (sharing, user, level, number);
      }
    }
  }
}

gboolean ls_sharing_is_dirty (const LsSharing *sharing) {
  return sharing->dirty->len > 0 || sharing->fresh->len > 0;
}

guint ls_sharing_solve (LsSharing *sharing, const LsRateChange **changes) {
  g_array_set_size (sharing->changes, 0);
  if (sharing->dirty->len > 0) {
    collect_part (sharing);
    fill_part (sharing);
  }
  for (guint i = 0; i < sharing->fresh->len; i++) {
    guint32 number = g_array_index (sharing->fresh, guint32, i);
    Flow *flow = flow_at (sharing, number);
    if (flow->live && flow->fresh)
      set_rate (sharing, number, flow->cap, flow->cap_bottleneck);
  }
  g_array_set_size (sharing->fresh, 0);
  *changes = (const LsRateChange *) (gconstpointer) sharing->changes->data;
  return sharing->changes->len;
}

gint64 ls_sharing_rate (const LsSharing *sharing, guint32 flow) {
  return flow_at (sharing, flow)->rate;
}

guint32 ls_sharing_bottleneck (const LsSharing *sharing, guint32 flow) {
  return flow_at (sharing, flow)->bottleneck;
}

guint32 ls_sharing_owner (const LsSharing *sharing, guint32 flow) {
  return flow_at (sharing, flow)->owner;
}

const LsUsage *ls_sharing_usages (const LsSharing *sharing, guint32 flow, guint32 *n_usages) {
  *n_usages = flow_at (sharing, flow)->n_usages;
  return flow_at (sharing, flow)->usages;
}

gint64 ls_sharing_load (const LsSharing *sharing, guint32 number) {
  const Resource *resource = resource_at (sharing, number);
  LsInt128 load = 0;
  for (guint32 u = 0; u < resource->n_users; u++) {
    const Flow *flow = flow_at (sharing, resource->users[u].flow);
    load += (LsInt128) flow->rate * flow->usages[resource->users[u].usage].usage;
  }
  return (gint64) ((load + LS_USAGE_ONE - 1) >> LS_USAGE_BITS);
}

void ls_sharing_check (const LsSharing *sharing) {
  for (guint32 r = 0; r < sharing->resources->len; r++)
    LS_REQUIRE (ls_sharing_load (sharing, r) <= resource_at (sharing, r)->capacity,
                "resource %u above capacity", r);
  for (guint32 f = 0; f < sharing->flows->len; f++) {
    const Flow *flow = flow_at (sharing, f);
    if (!flow->live || flow->fresh || flow->rate == flow->cap)
      continue;
    LS_REQUIRE (flow->rate < flow->cap, "flow %u above its cap", f);
    const Resource *bottleneck = resource_at (sharing, flow->bottleneck);
    for (guint32 u = 0; u < bottleneck->n_users; u++)
      LS_REQUIRE (flow_at (sharing, bottleneck->users[u].flow)->rate <= flow->rate,
                  "flow %u is not the fastest on its bottleneck", f);
  }
}
