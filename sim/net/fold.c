/* The classes: the graph of ranks, units and resources, refined; see fold.h.
 *
 * Vertices are ranks, then units, then the resources that count. A resource counts when its units at full
 * rate would overfill it, or when it is a memory that kernels use too. Those with an owner are no vertices:
 * how a unit uses them is in the label of its edge to the owner.
 */
#include "base/assert.h"
#include "base/memory.h"
#include "engine/refine.h"
#include "net/fold_private.h"

#define mix ls_refinement_mix

enum { TAG_RANK = 1, TAG_UNIT, TAG_RESOURCE, TAG_HOST, TAG_MEMORY };

/* --- the graph -------------------------------------------------------------------------------- */

static void label_ranks (const LsFold *fold, LsRefinement *graph) {
  const LsFoldInput *input = &fold->input;
  for (guint32 rank = 0; rank < input->n_ranks; rank++) {
    const LsFoldSpot memory = {fold->place[rank].node, 2 * fold->place[rank].local + 1};
    guint64 label = mix (TAG_RANK, input->kind_of_rank[rank]);
    label = mix (label, (guint64) ls_fold_known (fold, memory)->capacity);
    if (input->label_of_rank != NULL)
      label = mix (label, input->label_of_rank[rank]);
    ls_refinement_set_label (graph, rank, label);
  }
}

static void label_resource (const LsFold *fold, LsRefinement *graph, LsFoldSpot spot) {
  guint32 vertex = ls_fold_vertex (fold, spot);
  if (vertex == LS_FOLD_NONE)
    return;
  const LsNetResource *resource = ls_net_resource (fold->net, ls_fold_number (fold, spot));
  ls_refinement_set_label (
      graph, vertex,
      mix (mix (TAG_RESOURCE, resource->kind), (guint64) ls_fold_known (fold, spot)->capacity));
}

static void label_resources (const LsFold *fold, LsRefinement *graph) {
  for (guint node = 0; node < ls_cluster_n_nodes (fold->cluster); node++) {
    const LsFoldNodeClass *class = ls_fold_node_class (fold, node);
    for (guint32 at = 0; class->n_vertices > 0 && at < class->n_resources; at++)
      label_resource (fold, graph, (LsFoldSpot){node, at});
    if (class->n_vertices == 0 && fold->host_vertex != NULL)
      label_resource (fold, graph, ls_fold_cores (fold, node));
  }
  for (guint32 i = 0; i < fold->n_shared; i++)
    label_resource (fold, graph, (LsFoldSpot){LS_FOLD_NONE, fold->first_shared + i});
}

static guint64 unit_label (const LsFold *fold, const LsFoldUnit *unit) {
  guint64 label = mix (mix (TAG_UNIT, unit->touches->label), ls_fold_unit_size (fold, unit));
  if (unit->group == LS_FOLD_NONE)
    return label;
  const LsFoldGroup *group = &fold->input.groups[unit->group];
  return mix (mix (mix (label, group->axis + 1), group->slot), group->first_slot);
}

/* What a footprint means to the graph on the nodes of a class: a label for each GPU that owns some of it, and an
 * edge to each resource that has no owner. Thousands of units ask for the same ones. */
typedef struct {
  guint32 at; /* GPU of the node; vertex of the node */
  guint64 label;
} Part;

typedef struct {
  guint32 class_number, footprint; /* + 1; 0: empty */
  guint32 n, n_own;
  Part *parts; /* labels, then edges */
} Effect;

#define N_EFFECTS 8192u /* kept: the last of each hash */

static void find_effect (const LsFold *fold, Effect *effect) {
  const LsFoldFootprint *footprint = ls_fold_footprint (fold, effect->footprint - 1);
  const LsFoldNodeClass *class =
      &g_array_index (fold->node_classes, LsFoldNodeClass, effect->class_number);
  effect->n = effect->n_own = 0;
  effect->parts = g_renew (Part, effect->parts, MAX (footprint->n, 1u));
  for (guint32 i = 0; i < footprint->n; i++) {
    const LsFoldTouch *touch = &footprint->touches[i];
    const LsFoldResource *known = &class->resource[touch->at];
    guint32 k = 0;
    if (!known->counts || known->owner == LS_FOLD_NONE)
      continue;
    while (k < effect->n_own && effect->parts[k].at != known->owner)
      k++;
    if (k == effect->n_own)
      effect->parts[effect->n_own++] = (Part){known->owner, 0};
    effect->parts[k].label += mix (mix (touch->hash, known->role), (guint64) known->capacity);
  }
  effect->n = effect->n_own;
  for (guint32 i = 0; i < footprint->n; i++) {
    const LsFoldTouch *touch = &footprint->touches[i];
    const LsFoldResource *known = &class->resource[touch->at];
    if (known->counts && known->owner == LS_FOLD_NONE)
      effect->parts[effect->n++] = (Part){known->vertex, mix (TAG_UNIT, touch->hash)};
  }
}

static const Effect *effect_of (const LsFold *fold, Effect *effects, guint32 class_number,
                                guint32 footprint) {
  Effect *effect = &effects[mix (class_number, footprint) % N_EFFECTS];
  if (effect->footprint == footprint + 1 && effect->class_number == class_number)
    return effect;
  effect->class_number = class_number;
  effect->footprint = footprint + 1;
  find_effect (fold, effect);
  return effect;
}

typedef struct {
  const LsFold *fold;
  LsRefinement *graph;
  Effect *effects;
  guint64 *own; /* by rank, zero, and zero again after each unit */
} Edges;

/* To the unit's resources; TRUE: some have owners, whose labels are in `own`. */
static gboolean add_resource_edges (const Edges *edges, const LsFoldUnit *unit, guint32 vertex) {
  const LsFold *fold = edges->fold;
  gboolean owns = FALSE;
  for (guint32 i = 0; i < unit->touches->n_steps; i++) {
    const LsFoldStep *step = &unit->touches->steps[i];
    guint32 node = ls_fold_step_node (fold, unit, step);
    const Effect *effect =
        effect_of (fold, edges->effects, fold->class_of_node[node], step->footprint);
    for (guint32 k = 0; k < effect->n_own; k++)
      edges->own[fold->rank_of_gpu[fold->first_gpu[node] + effect->parts[k].at]] +=
          effect->parts[k].label;
    for (guint32 k = effect->n_own; k < effect->n; k++)
      ls_refinement_add_edge (edges->graph, vertex, fold->first_vertex[node] + effect->parts[k].at,
                              effect->parts[k].label);
    owns = owns || effect->n_own > 0;
  }
  for (guint32 i = 0; i < unit->touches->n_shared; i++) {
    const LsFoldTouch *touch = &unit->touches->shared[i];
    const LsFoldResource *known = ls_fold_known (fold, (LsFoldSpot){LS_FOLD_NONE, touch->at});
    if (known->counts)
      ls_refinement_add_edge (edges->graph, vertex, known->vertex, mix (TAG_UNIT, touch->hash));
  }
  return owns;
}

static void add_unit_edges (const Edges *edges, guint32 number) {
  const LsFold *fold = edges->fold;
  const LsFoldUnit *unit = ls_fold_unit (fold, number);
  guint32 vertex = ls_fold_unit_vertex (fold, number);
  guint n = ls_fold_unit_size (fold, unit);
  ls_refinement_set_label (edges->graph, vertex, unit_label (fold, unit));
  gboolean owns = add_resource_edges (edges, unit, vertex);
  guint slot = 0, first_slot = 0;
  if (unit->group != LS_FOLD_NONE) {
    slot = fold->input.groups[unit->group].slot;
    first_slot = fold->input.groups[unit->group].first_slot;
  }
  /* A group of all ranks tells none from another. */
  if (n == fold->input.n_ranks && !owns && !unit->sends && slot == first_slot && n > 1)
    return;
  for (guint i = 0; i < n; i++) {
    guint rank = ls_fold_unit_member (fold, unit, i);
    guint64 label = edges->own[rank];
    edges->own[rank] = 0;
    if (unit->group != LS_FOLD_NONE)
      label = mix (label, i == 0 ? first_slot : slot);
    if (unit->sends)
      label = mix (label, i);
    ls_refinement_add_edge (edges->graph, rank, vertex, label);
  }
}

static void add_host_edges (const LsFold *fold, LsRefinement *graph) {
  for (guint32 rank = 0; fold->any_host && rank < fold->input.n_ranks; rank++)
    if (fold->kinds[fold->input.kind_of_rank[rank]].host)
      ls_refinement_add_edge (graph, rank,
                              ls_fold_vertex (fold, ls_fold_cores (fold, fold->place[rank].node)),
                              TAG_HOST);
  /* Cores and memory of a host are one device; memory follows its cores in the net. */
  for (guint node = 0; fold->any_host && node < ls_cluster_n_nodes (fold->cluster); node++) {
    LsFoldSpot spot = ls_fold_cores (fold, node);
    guint32 cores = ls_fold_vertex (fold, spot);
    spot.at++;
    guint32 memory = ls_fold_vertex (fold, spot);
    if (cores != LS_FOLD_NONE && memory != LS_FOLD_NONE)
      ls_refinement_add_edge (graph, cores, memory, TAG_MEMORY);
  }
}

static LsRefinement *make_graph (const LsFold *fold) {
  LsRefinement *graph = ls_refinement_new (fold->n_vertices);
  gsize n = 0;
  for (guint32 unit = 0; unit < fold->units->len; unit++)
    n += ls_fold_unit_size (fold, ls_fold_unit (fold, unit));
  ls_refinement_reserve (graph, (guint32) MIN (n, (gsize) G_MAXINT32));
  g_autofree guint64 *own = ls_memory_new0 (MAX (fold->input.n_ranks, 1u), sizeof (guint64));
  g_autofree Effect *effects = g_new0 (Effect, N_EFFECTS);
  const Edges edges = {fold, graph, effects, own};
  label_ranks (fold, graph);
  label_resources (fold, graph);
  for (guint32 unit = 0; unit < fold->units->len; unit++)
    add_unit_edges (&edges, unit);
  add_host_edges (fold, graph);
  for (guint i = 0; i < N_EFFECTS; i++)
    g_free (effects[i].parts);
  return graph;
}

/* --- order ------------------------------------------------------------------------------------ */

static gint compare_ranks (gconstpointer a, gconstpointer b, gpointer unused) {
  guint x = *(const guint *) a, y = *(const guint *) b;
  (void) unused;
  return (x > y) - (x < y);
}

/* The classes of a group's members in the order in which the lowest rank of each comes. */
static guint64 order_of (const LsFold *fold, const LsFoldGroup *group, guint32 *seen,
                         guint32 stamp) {
  g_autofree guint *sorted = NULL;
  const guint *ranks = group->ranks;
  guint64 order = 1;
  guint ascending = 1; /* so many from the first on */
  while (ascending < group->n && ranks[ascending] >= ranks[ascending - 1])
    ascending++;
  if (ascending < group->n) {
    sorted = g_memdup2 (ranks, group->n * sizeof *ranks);
    g_qsort_with_data (sorted, (gint) group->n, sizeof *sorted, compare_ranks, NULL);
    ranks = sorted;
  }
  for (guint i = 0; i < group->n; i++) {
    guint32 class_number = fold->class_of[ranks[i]];
    if (seen[class_number] == stamp)
      continue;
    seen[class_number] = stamp;
    order = mix (order, class_number);
  }
  return order;
}

/* Labels units apart whose classes have another order than the first of their class; TRUE: there are any. */
static gboolean order_differs (const LsFold *fold, LsRefinement *graph, guint32 n_classes) {
  g_autofree guint64 *first = g_new0 (guint64, n_classes);
  g_autofree guint32 *seen = g_new0 (guint32, n_classes);
  gboolean differs = FALSE;
  for (guint32 number = 0; number < fold->units->len; number++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, number);
    if (unit->group == LS_FOLD_NONE)
      continue;
    guint64 order = order_of (fold, &fold->input.groups[unit->group], seen, number + 1);
    guint32 vertex = ls_fold_unit_vertex (fold, number), class_number = fold->class_of[vertex];
    if (first[class_number] == 0)
      first[class_number] = order;
    if (first[class_number] == order)
      continue;
    differs = TRUE;
    ls_refinement_set_label (graph, vertex, mix (unit_label (fold, unit), order));
  }
  return differs;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void read_classes (LsFold *fold, guint32 n_vertices) {
  guint32 n_ranks = fold->input.n_ranks;
  fold->lowest = g_new (guint32, MAX (fold->n_vertex_classes, 1u));
  for (guint32 v = n_vertices; v > 0; v--)
    fold->lowest[fold->class_of[v - 1]] = v - 1;
  for (guint32 rank = 0; rank < n_ranks; rank++)
    fold->n_classes = MAX (fold->n_classes, fold->class_of[rank] + 1);
  fold->rank_of_class = fold->lowest; /* classes of ranks come first */
  fold->size_of_class = g_new0 (guint32, MAX (fold->n_classes, 1u));
  for (guint32 rank = 0; rank < n_ranks; rank++)
    fold->size_of_class[fold->class_of[rank]]++;
}

static void find_classes (LsFold *fold) {
  g_autoptr (LsRefinement) graph = make_graph (fold);
  fold->class_of = ls_memory_new (MAX (fold->n_vertices, 1u), sizeof (guint32));
  do
    fold->n_vertex_classes = ls_refinement_run (graph, fold->class_of);
  while (order_differs (fold, graph, fold->n_vertex_classes));
  read_classes (fold, fold->n_vertices);
}

/* Is the channel between the same two ranks? Then both units stand for the same pairs, as the two groups of each
 * link do in a pipeline that leads there and back, and either's transfer is the other's. */
static gboolean joins_the_same (const LsFold *fold, const LsFoldChannel *known,
                                const LsFoldGroup *group, guint from, guint to) {
  const LsFoldUnit *unit = ls_fold_unit (fold, known->unit);
  const LsFoldGroup *other = &fold->input.groups[unit->group];

  return other->ranks[known->from] == group->ranks[from] &&
         other->ranks[known->to] == group->ranks[to];
}

/* Two units that join the same two classes by messages, or a class to itself twice, cannot be told apart by
 * the classes of sender and receiver. */
static void check_channels (LsFold *fold) {
  fold->channels = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  for (guint32 number = 0; number < fold->units->len; number++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, number);
    guint32 vertex = ls_fold_unit_vertex (fold, number);
    if (!unit->sends || fold->lowest[fold->class_of[vertex]] != vertex)
      continue;
    const LsFoldGroup *group = &fold->input.groups[unit->group];
    for (guint from = 0; from < group->n; from++)
      for (guint to = 0; to < group->n; to++) {
        gint64 a = fold->class_of[group->ranks[from]], b = fold->class_of[group->ranks[to]];
        gint64 key = a << 32 | b;
        if (from == to)
          continue;
        const LsFoldChannel *known = g_hash_table_lookup (fold->channels, &key);
        if (known != NULL && joins_the_same (fold, known, group, from, to))
          continue;
        if (a == b || known != NULL) {
          fold->why = "alike ranks exchange messages in more than one way";
          return;
        }
        LsFoldChannel channel = {number, from, to};
        g_hash_table_insert (fold->channels, g_memdup2 (&key, sizeof key),
                             g_memdup2 (&channel, sizeof channel));
      }
  }
}

static void free_touches (gpointer data) {
  LsFoldTouches *touches = data;
  g_free (touches->steps);
  g_free (touches->shared);
  g_free (touches);
}

LsFold *ls_fold_new (const LsCluster *cluster, const LsFoldInput *input, const char **why) {
  g_autoptr (LsFold) fold = g_new0 (LsFold, 1);
  fold->cluster = cluster;
  fold->input = *input;
  fold->net = ls_net_new (cluster, NULL);
  fold->units = g_array_new (FALSE, FALSE, sizeof (LsFoldUnit));
  ls_memory_reserve (fold->units, input->n_groups);
  fold->touches = g_ptr_array_new_with_free_func (free_touches);
  fold->transfers = g_ptr_array_new_with_free_func (g_free);
  fold->resources = g_array_new (FALSE, FALSE, sizeof (guint32));
  fold->groups = g_array_new (FALSE, FALSE, sizeof (guint32));
  fold->kinds = ls_fold_kinds_new (input, &fold->why);
  for (guint g = 0; g < ls_cluster_n_groups (cluster) && fold->why == NULL; g++)
    if (ls_cluster_group (cluster, g)->node.mig != NULL)
      fold->why = "instances of one GPU share its PCIe link";
  for (guint kind = 0; kind < input->n_kinds; kind++)
    fold->any_host = fold->any_host || fold->kinds[kind].host;
  if (fold->why == NULL) {
    ls_fold_start_nodes (fold);
    ls_fold_add_units (fold);
  }
  if (fold->why == NULL) {
    ls_fold_end_nodes (fold);
    find_classes (fold);
    check_channels (fold);
  }
  *why = fold->why;
  return fold->why == NULL ? g_steal_pointer (&fold) : NULL;
}

static void free_list (gpointer list) {
  if (list != NULL)
    g_array_unref (list);
}

void ls_fold_free (LsFold *fold) {
  if (fold == NULL)
    return;
  if (fold->contributors != NULL) {
    for (guint i = 0; i < fold->contributors->len; i++)
      free_list (fold->contributors->pdata[i]);
    g_ptr_array_unref (fold->contributors);
  }
  g_ptr_array_unref (fold->touches);
  ls_fold_kinds_free (fold->kinds, fold->input.n_kinds);
  ls_fold_clear_nodes (fold);
  gpointer arrays[] = {fold->class_of,      fold->lowest,  fold->size_of_class,
                       fold->engine_number, fold->is_busy, fold->copies_of_class};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
  GArray *lists[] = {fold->units, fold->resources, fold->groups};
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_array_unref (lists[i]);
  g_clear_pointer (&fold->channels, g_hash_table_unref);
  g_clear_pointer (&fold->stand_ins, g_hash_table_unref);
  g_ptr_array_unref (fold->transfers);
  ls_net_free (fold->net);
  g_free (fold);
}

guint ls_fold_n_classes (const LsFold *fold) {
  return fold->n_classes;
}

const guint32 *ls_fold_class_of_rank (const LsFold *fold) {
  return fold->class_of;
}

guint ls_fold_rank (const LsFold *fold, guint class_number) {
  LS_REQUIRE (class_number < fold->n_classes, "class %u of %u", class_number, fold->n_classes);
  return fold->rank_of_class[class_number];
}

guint ls_fold_size (const LsFold *fold, guint class_number) {
  LS_REQUIRE (class_number < fold->n_classes, "class %u of %u", class_number, fold->n_classes);
  return fold->size_of_class[class_number];
}

LsNet *ls_fold_net (const LsFold *fold) {
  return fold->net;
}
