/* Sorting a group's members by node; see group.h. */
#include "net/group.h"

#include "base/assert.h"

guint ls_group_node (const LsGroupShape *shape, guint i) {
  return shape->topology->gpu_node[shape->gpus[shape->first[i]]];
}

const LsNodeSpec *ls_group_spec (const LsGroupShape *shape, guint i) {
  return ls_cluster_node (shape->topology->cluster, ls_group_node (shape, i));
}

gboolean ls_group_joined (const LsGroupShape *shape, guint i) {
  const LsTopology *topology = shape->topology;
  guint n = ls_group_members (shape, i);
  const guint *gpus = shape->gpus + shape->first[i];
  if (n < 2 || topology->link_up[gpus[0]] != LS_NO_NUMBER)
    return TRUE;
  if (topology->mesh[gpus[0]] == NULL)
    return FALSE;
  /* Breadth first over the links between members. */
  g_autofree gboolean *seen = g_new0 (gboolean, n);
  g_autofree guint *queue = g_new (guint, n);
  guint head = 0, tail = 0;
  queue[tail++] = 0;
  seen[0] = TRUE;
  while (head < tail) {
    guint a = queue[head++];
    for (guint b = 0; b < n; b++)
      if (!seen[b] && topology->mesh[gpus[a]][topology->gpu_local[gpus[b]]] != LS_NO_NUMBER) {
        seen[b] = TRUE;
        queue[tail++] = b;
      }
  }
  return tail == n;
}

typedef struct {
  const LsTopology *topology;
  guint root;
} Order;

static gint by_place (gconstpointer a, gconstpointer b, gpointer data) {
  const Order *order = data;
  guint x = *(const guint *) a, y = *(const guint *) b;
  guint home = order->topology->gpu_node[order->root], nodes = order->topology->n_nodes;
  guint node_x = (order->topology->gpu_node[x] + nodes - home) % nodes;
  guint node_y = (order->topology->gpu_node[y] + nodes - home) % nodes;
  if (node_x != node_y)
    return node_x < node_y ? -1 : 1;
  if (node_x == 0) { /* the root's node begins with the root */
    guint n = order->topology->n_gpus;
    x = (x + n - order->root) % n;
    y = (y + n - order->root) % n;
  }
  return (x > y) - (x < y);
}

/* The adapters that members of node i own. */
static void find_nics (LsGroupShape *shape, guint i) {
  const LsNodeSpec *node = ls_group_spec (shape, i);
  const LsNicSet *set = ls_node_compute_nics (node);
  if (set == NULL)
    return;
  g_autofree guint8 *owned = g_new0 (guint8, set->count);
  for (guint k = shape->first[i]; k < shape->first[i + 1]; k++) {
    const LsLiveNics live = ls_route_live_nics (shape->topology, shape->gpus[k]);
    for (guint j = 0; j < live.n; j++)
      owned[live.nics[j]] = 1;
  }
  shape->nics[i] = g_new (guint, set->count);
  for (guint j = 0; j < set->count; j++)
    if (owned[j])
      shape->nics[i][shape->n_nics[i]++] = j;
}

static void describe (LsGroupShape *shape) {
  shape->least = shape->n;
  shape->inside = shape->in_network = TRUE;
  for (guint i = 0; i < shape->n_nodes; i++) {
    guint members = ls_group_members (shape, i);
    shape->most = MAX (shape->most, members);
    shape->least = MIN (shape->least, members);
    shape->inside &=
        ls_group_joined (shape, i) || shape->topology->torus[shape->gpus[shape->first[i]]] != NULL;
    shape->in_network &= members > 1 && ls_group_spec (shape, i)->in_network;
    if (shape->n_nodes == 1)
      break;
    guint next = (i + 1) % shape->n_nodes;
    find_nics (shape, i);
    shape->path_ps =
        MAX (shape->path_ps, ls_route_latency_ps (shape->topology, shape->gpus[shape->first[i]],
                                                  shape->gpus[shape->first[next]]));
  }
}

LsGroupShape *ls_group_shape_new (const LsTopology *topology, const guint *gpus, guint n) {
  LS_REQUIRE (n > 0, "a group without members");
  LsGroupShape *shape = g_new0 (LsGroupShape, 1);
  Order order = {.topology = topology, .root = gpus[0]};
  shape->topology = topology;
  shape->n = n;
  shape->gpus = g_memdup2 (gpus, n * sizeof *gpus);
  g_qsort_with_data (shape->gpus, (gint) n, sizeof *gpus, by_place, &order);
  shape->first = g_new (guint, n + 1);
  for (guint i = 0; i < n; i++) {
    LS_REQUIRE (shape->gpus[i] < topology->n_gpus, "GPU %u", shape->gpus[i]);
    LS_REQUIRE (i == 0 || shape->gpus[i] != shape->gpus[i - 1], "GPU %u twice", shape->gpus[i]);
    if (i == 0 || topology->gpu_node[shape->gpus[i]] != topology->gpu_node[shape->gpus[i - 1]])
      shape->first[shape->n_nodes++] = i;
  }
  shape->first[shape->n_nodes] = n;
  shape->nics = g_new0 (guint *, shape->n_nodes);
  shape->n_nics = g_new0 (guint, shape->n_nodes);
  describe (shape);
  return shape;
}

void ls_group_shape_free (LsGroupShape *shape) {
  if (shape == NULL)
    return;
  for (guint i = 0; i < shape->n_nodes; i++)
    g_free (shape->nics[i]);
  g_free (shape->nics);
  g_free (shape->n_nics);
  g_free (shape->first);
  g_free (shape->gpus);
  g_free (shape);
}
