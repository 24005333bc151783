/* Nodes and their resources, told apart by how units use them.
 *
 * Model:      a node's state is a number: its type at first (the group of nodes that it is of, and the capacities
 *             of its links), then one for each state and footprint of a unit that comes to it. Nodes that
 *             end in one state are a class: they have the same resources, and the same units have used them in
 *             the same order. What is known of a resource (its demand, its owner, its role) is found once per
 *             class, along the states that led there.
 * Invariants: states are exact (no hashes), and a class of nodes says nothing of what leads elsewhere: two nodes
 *             of one class may well be different to the graph, which has vertices and edges for each.
 *             Numbers in a node: compute and memory of its GPUs, its cores and memory, then what
 *             topology_node.c adds, in its order.
 * Cost:       one look-up per unit and node; one pass over the resources of a node per class.
 */
#include "base/assert.h"
#include "base/memory.h"
#include "engine/refine.h"
#include "net/ample.h"
#include "net/fold_private.h"

#define mix ls_refinement_mix

typedef struct {
  guint32 before, footprint; /* `before` LS_FOLD_NONE: a type */
} State;

struct LsFoldStates {
  GArray *states; /* State; types come first */
  guint32 *slots; /* of later states, + 1: open addressing */
  guint32 mask;   /* slots - 1 */
  guint32 *of_node;
  guint32 *type_of_node;
  GHashTable *numbers; /* GBytes of touches -> footprint + 1 */
};

/* --- numbers ---------------------------------------------------------------------------------- */

gboolean ls_fold_is_memory (const LsFold *fold, guint32 resource) {
  const LsResourceKind kind = ls_net_resource (fold->net, resource)->kind;
  return kind == LS_RESOURCE_HBM || kind == LS_RESOURCE_HOST_MEMORY;
}

gint64 ls_fold_capacity (const LsFold *fold, guint32 resource) {
  return ls_rate_from_per_s (ls_net_resource (fold->net, resource)->per_s) /
         (ls_fold_is_memory (fold, resource) ? 2 : 1);
}

/* Resources of its GPUs. */
static guint32 of_devices (const LsFold *fold, guint32 node) {
  return 2 * ls_cluster_node (fold->cluster, node)->gpus;
}

static guint32 n_resources (const LsFold *fold, guint32 node) {
  const LsTopology *topology = ls_net_topology (fold->net);
  return of_devices (fold, node) + 2 + topology->node_first[node + 1] - topology->node_first[node];
}

LsFoldSpot ls_fold_cores (const LsFold *fold, guint32 node) {
  return (LsFoldSpot){node, of_devices (fold, node)};
}

LsFoldSpot ls_fold_spot (const LsFold *fold, guint32 resource) {
  const LsTopology *topology = ls_net_topology (fold->net);
  if (resource >= fold->first_shared)
    return (LsFoldSpot){LS_FOLD_NONE, resource};
  guint32 node = (guint32) ls_net_resource (fold->net, resource)->node;
  if (resource >= topology->node_first[0])
    return (LsFoldSpot){node, of_devices (fold, node) + 2 + resource - topology->node_first[node]};
  if (resource >= topology->cores[node])
    return (LsFoldSpot){node, of_devices (fold, node) + resource - topology->cores[node]};
  return (LsFoldSpot){node, resource - topology->sm[fold->first_gpu[node]]};
}

guint32 ls_fold_number (const LsFold *fold, LsFoldSpot spot) {
  const LsTopology *topology = ls_net_topology (fold->net);
  if (spot.node == LS_FOLD_NONE)
    return spot.at;
  guint32 devices = of_devices (fold, spot.node);
  if (spot.at < devices)
    return topology->sm[fold->first_gpu[spot.node]] + spot.at;
  if (spot.at < devices + 2)
    return topology->cores[spot.node] + spot.at - devices;
  return topology->node_first[spot.node] + spot.at - devices - 2;
}

/* --- what is known ---------------------------------------------------------------------------- */

const LsFoldResource *ls_fold_known (const LsFold *fold, LsFoldSpot spot) {
  return spot.node == LS_FOLD_NONE ? &fold->shared[spot.at - fold->first_shared]
                                   : &ls_fold_node_class (fold, spot.node)->resource[spot.at];
}

guint32 ls_fold_owner (const LsFold *fold, LsFoldSpot spot) {
  const LsFoldResource *known = ls_fold_known (fold, spot);
  return known->owner == LS_FOLD_NONE
             ? LS_FOLD_NONE
             : fold->rank_of_gpu[fold->first_gpu[spot.node] + known->owner];
}

guint32 ls_fold_vertex (const LsFold *fold, LsFoldSpot spot) {
  const LsFoldResource *known = ls_fold_known (fold, spot);
  if (known->vertex != LS_FOLD_NONE)
    return spot.node == LS_FOLD_NONE ? known->vertex
                                     : fold->first_vertex[spot.node] + known->vertex;
  if (fold->host_vertex == NULL || spot.node == LS_FOLD_NONE ||
      spot.at != of_devices (fold, spot.node))
    return LS_FOLD_NONE;
  return fold->host_vertex[spot.node];
}

/* --- states ----------------------------------------------------------------------------------- */

guint32 ls_fold_node_type (const LsFold *fold, guint32 node) {
  return fold->states->type_of_node[node];
}

/* Nodes of one group differ only where links are overridden, and where each cable has a rate of its own. */
static gboolean are_plain (const LsCluster *cluster) {
  for (guint i = 0; i < ls_cluster_n_fabrics (cluster); i++)
    if (ls_cluster_fabric (cluster, i)->kind == LS_FABRIC_CUSTOM)
      return FALSE;
  return ls_cluster_n_overrides (cluster) == 0;
}

static void list_types (LsFold *fold) {
  LsFoldStates *states = fold->states;
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  gboolean plain = are_plain (fold->cluster);
  for (guint node = 0; node < ls_cluster_n_nodes (fold->cluster); node++) {
    guint64 type = ls_cluster_node_group (fold->cluster, node) + 1;
    for (guint32 at = 0; !plain && at < n_resources (fold, node); at++)
      type = mix (type,
                  (guint64) ls_fold_capacity (fold, ls_fold_number (fold, (LsFoldSpot){node, at})));
    guint number = GPOINTER_TO_UINT (g_hash_table_lookup (known, &type));
    if (number == 0) {
      const State root = {LS_FOLD_NONE, 0};
      g_array_append_val (states->states, root);
      number = states->states->len;
      g_hash_table_insert (known, g_memdup2 (&type, sizeof type), GUINT_TO_POINTER (number));
    }
    states->type_of_node[node] = states->of_node[node] = number - 1;
  }
}

static void list_shared (LsFold *fold) {
  guint n = ls_net_n_resources (fold->net);
  fold->first_shared = ls_net_topology (fold->net)->node_first[ls_cluster_n_nodes (fold->cluster)];
  fold->n_shared = n - fold->first_shared;
  fold->shared = g_new0 (LsFoldResource, MAX (fold->n_shared, 1u));
  for (guint r = fold->first_shared; r < n; r++) {
    const LsNetResource *resource = ls_net_resource (fold->net, r);
    LsFoldResource *known = &fold->shared[r - fold->first_shared];
    LS_REQUIRE (resource->node < 0, "resource %u is in node %d", r, resource->node);
    known->owner = known->vertex = LS_FOLD_NONE;
    known->capacity = ls_fold_capacity (fold, r);
    known->ample = ls_topology_is_ample (ls_net_topology (fold->net), r) ? 1 : 0;
    fold->any_narrow = fold->any_narrow || (resource->kind == LS_RESOURCE_TRUNK && !known->ample);
  }
}

void ls_fold_start_nodes (LsFold *fold) {
  guint nodes = ls_cluster_n_nodes (fold->cluster), gpus = ls_cluster_n_gpus (fold->cluster);
  LsFoldStates *states = fold->states = g_new0 (LsFoldStates, 1);
  fold->first_gpu = g_new0 (guint32, MAX (nodes, 1u));
  fold->rank_of_gpu = g_new (guint32, MAX (gpus, 1u));
  fold->place = g_new0 (LsFoldPlace, MAX (fold->input.n_ranks, 1u));
  fold->footprints = g_array_new (FALSE, FALSE, sizeof (LsFoldFootprint));
  states->states = g_array_new (FALSE, FALSE, sizeof (State));
  states->of_node = g_new (guint32, MAX (nodes, 1u));
  states->type_of_node = g_new (guint32, MAX (nodes, 1u));
  states->numbers =
      g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);
  for (guint node = 0; node < nodes; node++)
    fold->first_gpu[node] = ls_cluster_node_first_gpu (fold->cluster, node);
  for (guint gpu = 0; gpu < gpus; gpu++)
    fold->rank_of_gpu[gpu] = LS_FOLD_NONE;
  for (guint32 rank = 0; rank < fold->input.n_ranks; rank++) {
    guint gpu = fold->input.gpu_of_rank[rank];
    guint32 node = ls_net_topology (fold->net)->gpu_node[gpu];
    fold->rank_of_gpu[gpu] = rank;
    fold->place[rank] = (LsFoldPlace){node, gpu - fold->first_gpu[node]};
  }
  list_types (fold);
  list_shared (fold);
}

guint32 ls_fold_intern_footprint (LsFold *fold, const LsFoldTouch *touches, guint32 n) {
  GBytes *bytes = g_bytes_new (touches, n * sizeof *touches);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (fold->states->numbers, bytes));
  if (number != 0) {
    g_bytes_unref (bytes);
    return number - 1;
  }
  const LsFoldFootprint footprint = {n, (LsFoldTouch *) (gpointer) g_bytes_get_data (bytes, NULL)};
  g_array_append_val (fold->footprints, footprint);
  g_hash_table_insert (fold->states->numbers, bytes, GUINT_TO_POINTER (fold->footprints->len));
  return fold->footprints->len - 1;
}

static guint32 slot_of (const LsFoldStates *states, guint32 before, guint32 footprint) {
  guint32 slot = (guint32) mix (before, footprint) & states->mask;
  for (; states->slots[slot] != 0; slot = (slot + 1) & states->mask) {
    const State *state = &g_array_index (states->states, State, states->slots[slot] - 1);
    if (state->before == before && state->footprint == footprint)
      break;
  }
  return slot;
}

static void grow_slots (LsFoldStates *states) {
  guint32 size = MAX (1024u, 2 * (states->mask + 1));
  g_free (states->slots);
  states->slots = g_new0 (guint32, size);
  states->mask = size - 1;
  for (guint32 i = 0; i < states->states->len; i++) {
    const State *state = &g_array_index (states->states, State, i);
    if (state->before != LS_FOLD_NONE)
      states->slots[slot_of (states, state->before, state->footprint)] = i + 1;
  }
}

void ls_fold_use_node (LsFold *fold, guint32 node, guint32 footprint) {
  LsFoldStates *states = fold->states;
  const State wanted = {states->of_node[node], footprint};
  if (states->states->len >= states->mask / 2)
    grow_slots (states);
  guint32 slot = slot_of (states, wanted.before, wanted.footprint);
  if (states->slots[slot] == 0) {
    g_array_append_val (states->states, wanted);
    states->slots[slot] = states->states->len;
  }
  states->of_node[node] = states->slots[slot] - 1;
}

/* --- classes ---------------------------------------------------------------------------------- */

static void add_demand (LsFoldResource *known, guint64 need) {
  known->demand = known->demand > G_MAXUINT64 - need ? G_MAXUINT64 : known->demand + need;
}

void ls_fold_use_shared (LsFold *fold, const LsFoldTouch *touch) {
  LsFoldResource *known = &fold->shared[touch->at - fold->first_shared];
  known->used = 1;
  add_demand (known, touch->need);
}

/* `owned`: by GPU of the node, how many it has come to own. */
static void use (LsFoldNodeClass *class, const LsFoldFootprint *footprint, guint32 *owned) {
  for (guint32 i = 0; i < footprint->n; i++) {
    const LsFoldTouch *touch = &footprint->touches[i];
    LsFoldResource *known = &class->resource[touch->at];
    add_demand (known, touch->need);
    if (!known->used) {
      known->used = 1;
      known->owner = touch->owner;
      known->role = touch->owner == LS_FOLD_NONE ? 0 : owned[touch->owner]++;
    } else if (known->owner != touch->owner) {
      known->owner = LS_FOLD_NONE;
    }
  }
}

/* Can the resource change what happens? */
static gboolean may_matter (const LsFold *fold, const LsFoldResource *known, LsResourceKind kind) {
  if (known->demand == 0 || known->ample)
    return FALSE;
  if (kind == LS_RESOURCE_HBM || (kind == LS_RESOURCE_HOST_MEMORY && fold->any_host))
    return TRUE;
  return known->demand > (guint64) known->capacity;
}

/* The class of a node whose like was not seen. */
static void add_class (LsFold *fold, guint32 node) {
  const GArray *states = fold->states->states;
  g_autofree guint32 *owned = g_new0 (guint32, of_devices (fold, node) / 2 + 1);
  g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (guint32));
  LsFoldNodeClass class = {.n_resources = n_resources (fold, node)};
  class.resource = g_new0 (LsFoldResource, class.n_resources);
  for (guint32 at = 0; at < class.n_resources; at++) {
    guint32 r = ls_fold_number (fold, (LsFoldSpot){node, at});
    class.resource[at].capacity = ls_fold_capacity (fold, r);
    class.resource[at].owner = class.resource[at].vertex = LS_FOLD_NONE;
  }
  for (guint32 i = fold->states->of_node[node];
       g_array_index (states, State, i).before != LS_FOLD_NONE;
       i = g_array_index (states, State, i).before)
    g_array_append_val (way, g_array_index (states, State, i).footprint);
  for (guint i = way->len; i-- > 0;)
    use (&class, ls_fold_footprint (fold, g_array_index (way, guint32, i)), owned);
  for (guint32 at = 0; at < class.n_resources; at++) {
    LsFoldResource *known = &class.resource[at];
    guint32 r = ls_fold_number (fold, (LsFoldSpot){node, at});
    known->counts = may_matter (fold, known, ls_net_resource (fold->net, r)->kind) ? 1 : 0;
    if (known->counts && known->owner == LS_FOLD_NONE)
      known->vertex = class.n_vertices++;
  }
  g_array_append_val (fold->node_classes, class);
}

static void number_vertices (LsFold *fold) {
  guint nodes = ls_cluster_n_nodes (fold->cluster);
  guint32 next = fold->input.n_ranks + fold->units->len;
  fold->first_vertex = g_new (guint32, (gsize) nodes + 1);
  for (guint node = 0; node < nodes; node++) {
    fold->first_vertex[node] = next;
    next += ls_fold_node_class (fold, node)->n_vertices;
  }
  fold->first_vertex[nodes] = next;
  for (guint32 i = 0; i < fold->n_shared; i++) {
    LsFoldResource *known = &fold->shared[i];
    const LsNetResource *resource = ls_net_resource (fold->net, fold->first_shared + i);
    known->counts = may_matter (fold, known, resource->kind) ? 1 : 0;
    if (known->counts)
      known->vertex = next++;
  }
  fold->n_vertices = next;
}

/* Cores that operations run on, though no transfer fills them. */
static void number_hosts (LsFold *fold) {
  guint nodes = ls_cluster_n_nodes (fold->cluster);
  if (!fold->any_host)
    return;
  fold->host_vertex = g_new (guint32, MAX (nodes, 1u));
  for (guint node = 0; node < nodes; node++)
    fold->host_vertex[node] = LS_FOLD_NONE;
  for (guint32 rank = 0; rank < fold->input.n_ranks; rank++) {
    guint32 node = fold->place[rank].node;
    if (fold->kinds[fold->input.kind_of_rank[rank]].host &&
        ls_fold_vertex (fold, ls_fold_cores (fold, node)) == LS_FOLD_NONE)
      fold->host_vertex[node] = fold->n_vertices++;
  }
}

void ls_fold_end_nodes (LsFold *fold) {
  guint nodes = ls_cluster_n_nodes (fold->cluster);
  g_autofree guint32 *class_of_state = g_new0 (guint32, MAX (fold->states->states->len, 1u));
  fold->node_classes = g_array_new (FALSE, FALSE, sizeof (LsFoldNodeClass));
  fold->class_of_node = g_new0 (guint32, MAX (nodes, 1u));
  for (guint node = 0; node < nodes; node++) {
    guint32 *class_number = &class_of_state[fold->states->of_node[node]]; /* + 1 */
    if (*class_number == 0) {
      add_class (fold, node);
      *class_number = fold->node_classes->len;
    }
    fold->class_of_node[node] = *class_number - 1;
  }
  number_vertices (fold);
  number_hosts (fold);
}

void ls_fold_clear_nodes (LsFold *fold) {
  for (guint i = 0; fold->node_classes != NULL && i < fold->node_classes->len; i++)
    g_free (g_array_index (fold->node_classes, LsFoldNodeClass, i).resource);
  if (fold->states != NULL) {
    g_array_unref (fold->states->states);
    g_hash_table_unref (fold->states->numbers);
    g_free (fold->states->slots);
    g_free (fold->states->of_node);
    g_free (fold->states->type_of_node);
    g_array_unref (fold->footprints);
  }
  g_clear_pointer (&fold->node_classes, g_array_unref);
  gpointer arrays[] = {fold->states,        fold->place,        fold->rank_of_gpu, fold->first_gpu,
                       fold->class_of_node, fold->first_vertex, fold->host_vertex, fold->shared};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
}
