/* The recurrence of recurrence.h. */
#include "recurrence.h"

#include <check.h>
#include <string.h>

World world_new (LsCluster *cluster) {
  World world = {.cluster = cluster};
  world.topology = ls_topology_new (cluster, NULL);
  guint n = ls_topology_n_resources (world.topology), most = 0;
  ls_usages_init (&world.usages, n);
  for (guint r = 0; r < n; r++)
    most = MAX (most, ls_topology_resource (world.topology, r)->number);
  world.by_number = g_new0 (const LsNetResource *, most + 1);
  for (guint r = 0; r < n; r++)
    world.by_number[ls_topology_resource (world.topology, r)->number] =
        ls_topology_resource (world.topology, r);
  return world;
}

void world_clear (World *world) {
  g_free (world->by_number);
  ls_usages_clear (&world->usages);
  ls_topology_free (world->topology);
  ls_cluster_free (world->cluster);
}

static gboolean is_link (const LsNetResource *resource) {
  return resource->kind == LS_RESOURCE_LINK || resource->kind == LS_RESOURCE_NIC ||
         resource->kind == LS_RESOURCE_TRUNK;
}

/* Largest usage of a link by one byte of the path. */
static double seconds_per_byte (const World *world, const LsPhase *path) {
  double worst = path->rate_cap > 0 ? 1 / ls_rate_to_per_s (path->rate_cap) : 0;
  for (guint i = 0; i < path->n_usages; i++) {
    const LsNetResource *resource = world->by_number[path->usages[i].resource];
    if (is_link (resource))
      worst = MAX (worst, (double) path->usages[i].usage / (double) LS_USAGE_ONE / resource->per_s);
  }
  return worst;
}

/* --- when links are in use -------------------------------------------------------------------- */

typedef struct {
  guint32 resource;
  double from, to;
} Use;

static void note (GArray *uses, const World *world, const LsPhase *path, double from, double to) {
  for (guint i = 0; uses != NULL && to > from && i < path->n_usages; i++)
    if (is_link (world->by_number[path->usages[i].resource])) {
      Use use = {path->usages[i].resource, from, to};
      g_array_append_val (uses, use);
    }
}

static gint compare_uses (gconstpointer a, gconstpointer b) {
  const Use *x = a, *y = b;
  if (x->resource != y->resource)
    return x->resource < y->resource ? -1 : 1;
  return x->from < y->from ? -1 : x->from > y->from;
}

static gboolean are_disjoint (GArray *uses) {
  g_array_sort (uses, compare_uses);
  for (guint i = 1; i < uses->len; i++) {
    const Use *a = &g_array_index (uses, Use, i - 1), *b = &g_array_index (uses, Use, i);
    if (a->resource == b->resource && b->from < a->to - 1e-12) /* a picosecond: rounding */
      return FALSE;
  }
  return TRUE;
}

/* --- the recurrence --------------------------------------------------------------------------- */

typedef struct {
  const World *world;
  const LsRoundTable *table;
  guint n;
  double *ready, *next;
  guint *received;
  GArray *uses;
} Recurrence;

/* What member `i` sends in round `r`. */
static void send_round (Recurrence *at, guint i, guint r) {
  LsRoundMessage message;
  guint sends = 0;
  while (at->table->send (at->table->self, i, r, sends, &message))
    sends++;
  for (guint k = 0; k < sends; k++) {
    LsPhase path = {0};
    ck_assert (at->table->send (at->table->self, i, r, k, &message));
    at->table->path (at->table->self, i, message.to, r, message.bytes, &path);
    guint shared =
        at->uses != NULL ? 1 : MAX (sends, at->table->receives (at->table->self, message.to, r));
    double from = at->ready[i] + (double) path.latency_ps * 1e-12;
    double to = from + (double) message.bytes * shared * seconds_per_byte (at->world, &path);
    note (at->uses, at->world, &path, from, to);
    at->next[i] = MAX (at->next[i], to);
    at->next[message.to] = MAX (at->next[message.to], to);
    at->received[message.to]++;
  }
}

double recurrence_s (const World *world, const LsRoundTable *table, guint n, gboolean *disjoint) {
  g_autofree double *ready = g_new0 (double, n);
  g_autofree double *next = g_new0 (double, n);
  g_autofree guint *received = g_new0 (guint, n);
  g_autoptr (GArray) uses = disjoint != NULL ? g_array_new (FALSE, FALSE, sizeof (Use)) : NULL;
  Recurrence at = {world, table, n, ready, next, received, uses};
  double end = 0;
  for (guint r = 0; r < table->n_rounds; r++) {
    memcpy (next, ready, n * sizeof (double));
    memset (received, 0, n * sizeof (guint));
    for (guint i = 0; i < n; i++)
      send_round (&at, i, r);
    for (guint i = 0; i < n; i++) {
      ck_assert_uint_eq (received[i], table->receives (table->self, i, r));
      end = MAX (end, next[i]);
    }
    memcpy (ready, next, n * sizeof (double));
  }
  if (disjoint != NULL)
    *disjoint = are_disjoint (uses);
  return end + (double) table->launch_ps * 1e-12;
}
