/* Classes on an engine: one rank of each, one group of each, and the resources that these use.
 *
 * The usage of a resource by a class of groups is the sum over all groups of the class of what they use of
 * that very resource; a resource of the engine stands for its class. Groups that use none of the engine's
 * resources need not be looked at again.
 */
#include "base/assert.h"
#include "base/memory.h"
#include "engine/refine.h"
#include "net/fold_private.h"

/* Resource vertices and their classes. */
static gboolean is_lowest (const LsFold *fold, guint32 vertex) {
  return fold->lowest[fold->class_of[vertex]] == vertex;
}

/* Does the engine have this very resource? */
static gboolean runs (const LsFold *fold, LsFoldSpot spot) {
  if (!ls_fold_known (fold, spot)->used)
    return FALSE;
  guint32 owner = ls_fold_owner (fold, spot);
  if (owner != LS_FOLD_NONE)
    return is_lowest (fold, owner);
  guint32 vertex = ls_fold_vertex (fold, spot);
  return vertex != LS_FOLD_NONE && is_lowest (fold, vertex);
}

static guint32 engine_number (const LsFold *fold, guint32 r) {
  return fold->engine_number[r] - 1; /* LS_FOLD_NONE: none */
}

static void set_name (LsFold *fold, guint32 r, guint number) {
  guint32 none = LS_FOLD_NONE;
  while (fold->resources->len <= number)
    g_array_append_val (fold->resources, none);
  g_array_index (fold->resources, guint32, number) = r;
}

static void set_number (LsFold *fold, guint32 r, guint number) {
  set_name (fold, r, number);
  fold->engine_number[r] = number + 1;
}

/* A device of the engine for the pair of resources that begins at `r`. */
static guint add_device (LsFold *fold, LsEngine *engine, guint32 r, const char *what, guint i) {
  g_autofree char *name = g_strdup_printf ("%s%u", what, i);
  guint device = ls_engine_add_device (engine, name, ls_net_resource (fold->net, r + 1)->per_s);
  set_number (fold, r, ls_engine_device_sm (engine, device));
  set_number (fold, r + 1, ls_engine_device_memory (engine, device));
  return device;
}

/* The vertex of the cores, or of the memory, of a node. */
static guint32 cores_vertex (const LsFold *fold, guint32 node) {
  return ls_fold_vertex (fold, ls_fold_cores (fold, node));
}

static guint32 memory_vertex (const LsFold *fold, guint32 node) {
  LsFoldSpot spot = ls_fold_cores (fold, node);
  spot.at++;
  return ls_fold_vertex (fold, spot);
}

/* --- ranks and hosts -------------------------------------------------------------------------- */

/* Ranks of each class on the host of the class's own. */
static void set_host_weights (LsFold *fold, LsEngine *engine) {
  g_autofree guint32 *weights = g_new0 (guint32, fold->n_classes);
  for (guint32 rank = 0; rank < fold->input.n_ranks; rank++) {
    guint32 cores = cores_vertex (fold, fold->place[rank].node);
    if (cores != LS_FOLD_NONE && is_lowest (fold, cores))
      weights[fold->class_of[rank]]++;
  }
  for (guint32 c = 0; c < fold->n_classes; c++)
    if (weights[c] > 0)
      ls_engine_set_host_weight (engine, c, weights[c]);
}

static void add_ranks (LsFold *fold, LsEngine *engine) {
  g_autofree guint *device_of_class = g_new0 (guint, MAX (fold->n_vertex_classes, 1u));
  const LsFoldInput *input = &fold->input;
  g_autofree guint *devices = g_new0 (guint, fold->n_classes);
  for (guint32 c = 0; c < fold->n_classes; c++) {
    guint32 rank = fold->rank_of_class[c];
    devices[c] =
        add_device (fold, engine, ls_net_topology (fold->net)->sm[input->gpu_of_rank[rank]],
                    "gpu of rank ", rank);
  }
  for (guint node = 0; node < ls_cluster_n_nodes (fold->cluster); node++) {
    guint32 cores = cores_vertex (fold, node), memory = memory_vertex (fold, node);
    gboolean works = cores != LS_FOLD_NONE && is_lowest (fold, cores);
    gboolean moves = memory != LS_FOLD_NONE && is_lowest (fold, memory);
    if (!works && !moves)
      continue;
    guint device =
        add_device (fold, engine, ls_fold_number (fold, ls_fold_cores (fold, node)), "host ", node);
    if (works)
      device_of_class[fold->class_of[cores]] = device;
  }
  for (guint32 c = 0; c < fold->n_classes; c++) {
    guint32 rank = fold->rank_of_class[c], host = LS_NO_INDEX;
    guint32 cores = cores_vertex (fold, fold->place[rank].node);
    if (cores != LS_FOLD_NONE)
      host = device_of_class[fold->class_of[cores]];
    ls_engine_add_rank (engine, input->programs[input->kind_of_rank[rank]], devices[c], host);
    ls_engine_set_alike (engine, c, ls_fold_size (fold, c));
  }
  if (fold->any_host)
    set_host_weights (fold, engine);
}

/* Nodes with a rank or a resource that runs. */
static void find_busy_nodes (LsFold *fold) {
  guint nodes = ls_cluster_n_nodes (fold->cluster);
  const guint32 *first = fold->first_vertex;
  fold->is_busy = g_new0 (guint8, MAX (nodes, 1u));
  for (guint32 c = 0; c < fold->n_classes; c++)
    fold->is_busy[fold->place[fold->lowest[c]].node] = 1;
  for (guint32 c = 0; c < fold->n_vertex_classes; c++) {
    guint32 vertex = fold->lowest[c], low = 0, high = nodes;
    if (vertex < first[0] || vertex >= first[nodes])
      continue;
    while (high - low > 1) { /* the last node whose vertices begin there or before */
      guint32 middle = low + (high - low) / 2;
      if (first[middle] <= vertex)
        low = middle;
      else
        high = middle;
    }
    fold->is_busy[low] = 1;
  }
  for (guint node = 0; fold->host_vertex != NULL && node < nodes; node++)
    if (fold->host_vertex[node] != LS_FOLD_NONE && is_lowest (fold, fold->host_vertex[node]))
      fold->is_busy[node] = 1;
}

static gint compare_numbers (gconstpointer a, gconstpointer b) {
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;
  return (x > y) - (x < y);
}

/* Those of the net that run, in its order. */
static GArray *list_running (const LsFold *fold) {
  GArray *list = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint node = 0; node < ls_cluster_n_nodes (fold->cluster); node++)
    for (guint32 at = 0; fold->is_busy[node] && at < ls_fold_node_class (fold, node)->n_resources;
         at++) {
      LsFoldSpot spot = {node, at};
      guint32 r = ls_fold_number (fold, spot);
      if (runs (fold, spot))
        g_array_append_val (list, r);
    }
  for (guint32 i = 0; i < fold->n_shared; i++) {
    guint32 r = fold->first_shared + i;
    if (runs (fold, (LsFoldSpot){LS_FOLD_NONE, r}))
      g_array_append_val (list, r);
  }
  g_array_sort (list, compare_numbers);
  return list;
}

static void add_resources (LsFold *fold, LsEngine *engine) {
  g_autoptr (GArray) list = list_running (fold);
  for (guint i = 0; i < list->len; i++) {
    guint32 r = g_array_index (list, guint32, i);
    if (engine_number (fold, r) != LS_FOLD_NONE)
      continue;
    if (ls_fold_is_memory (fold, r)) {
      add_device (fold, engine, r - 1, "memory ", r);
    } else {
      g_autofree char *name = g_strdup_printf ("resource %u", r);
      set_number (fold, r,
                  ls_engine_add_resource (engine, name, ls_net_resource (fold->net, r)->per_s));
    }
  }
}

/* Kind and capacity of a resource as one number; of two numbers for two, a chance of 2^-64 (names alone hang on it). */
static gint64 likeness (const LsFold *fold, guint32 r) {
  return (gint64) ls_refinement_mix ((guint64) ls_net_resource (fold->net, r)->kind,
                                     (guint64) ls_fold_capacity (fold, r));
}

/* A resource that holds transfers as `r` would, of which they may use half where it is the memory of a device. */
static guint add_like (const LsFold *fold, LsEngine *engine, guint32 r) {
  g_autofree char *name = g_strdup_printf ("stand-in %u", r);
  const double per_s = ls_net_resource (fold->net, r)->per_s;

  return ls_fold_is_memory (fold, r)
             ? ls_engine_device_memory (engine, ls_engine_add_device (engine, name, per_s))
             : ls_engine_add_resource (engine, name, per_s);
}

static void add_stand_in (LsFold *fold, LsEngine *engine, LsFoldSpot spot) {
  const LsFoldResource *known = ls_fold_known (fold, spot);
  const guint32 r = ls_fold_number (fold, spot);
  gint64 like = likeness (fold, r);

  if (!known->used || known->ample || ls_fold_vertex (fold, spot) != LS_FOLD_NONE ||
      engine_number (fold, r) != LS_FOLD_NONE || g_hash_table_contains (fold->stand_ins, &like))
    return;
  const guint number = add_like (fold, engine, r);
  set_name (fold, r, number);
  g_hash_table_insert (fold->stand_ins, g_memdup2 (&like, sizeof like), GUINT_TO_POINTER (number));
}

/* What all users at full rate cannot overfill is left out, and yet may be what holds a transfer that is alone on it: the
 * uplinks below a collective of all nodes. Of each kind and capacity one stands in for the rest, which nothing uses and by
 * which such transfers are held. */
static void add_stand_ins (LsFold *fold, LsEngine *engine) {
  g_autofree guint8 *seen = g_new0 (guint8, MAX (fold->node_classes->len, 1u));

  fold->stand_ins = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (guint node = 0; node < ls_cluster_n_nodes (fold->cluster); node++) {
    if (seen[fold->class_of_node[node]] != 0)
      continue;
    seen[fold->class_of_node[node]] = 1;
    for (guint32 at = 0; at < ls_fold_node_class (fold, node)->n_resources; at++)
      add_stand_in (fold, engine, (LsFoldSpot){node, at});
  }
  for (guint32 i = 0; i < fold->n_shared; i++)
    add_stand_in (fold, engine, (LsFoldSpot){LS_FOLD_NONE, fold->first_shared + i});
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Members of a group in one class: one runs and stands for all. */
typedef struct {
  /* the class, which is the rank that runs, and how many of the group are in it */
  guint32 class, count;
  /* their lowest rank, and where the first of them stands in the group */
  guint32 lowest, position;
} Members;

static gint compare_members (gconstpointer a, gconstpointer b) {
  const Members *x = a, *y = b;

  return x->lowest < y->lowest ? -1 : x->lowest > y->lowest;
}

/* The classes of a group's members, by lowest rank. */
static GArray *members_of (const LsFold *fold, const LsFoldGroup *group) {
  GArray *members = g_array_new (FALSE, FALSE, sizeof (Members));
  g_autofree guint32 *index = g_new0 (guint32, fold->n_classes); /* in members, + 1 */

  for (guint32 i = 0; i < group->n; i++) {
    const guint32 rank = group->ranks[i], class = fold->class_of[rank];
    if (index[class] == 0) {
      const Members first = {.class = class, .count = 1, .lowest = rank, .position = i};
      g_array_append_val (members, first);
      index[class] = members->len;
      continue;
    }
    Members *of_class = &g_array_index (members, Members, index[class] - 1);
    of_class->count++;
    of_class->lowest = MIN (of_class->lowest, rank);
  }
  g_array_sort (members, compare_members);
  return members;
}

static void add_group (LsFold *fold, LsEngine *engine, guint32 number) {
  const LsFoldGroup *group = &fold->input.groups[ls_fold_unit (fold, number)->group];
  gboolean sends = ls_fold_unit (fold, number)->sends;
  g_autoptr (GArray) members = members_of (fold, group);
  const guint n = members->len;
  g_autofree guint32 *ranks = g_new (guint32, n), *counts = g_new (guint32, n);
  g_autofree guint32 *positions = g_new (guint32, n);
  g_autofree guint32 *peers = sends ? g_new (guint32, (gsize) n * group->n) : NULL;
  for (guint i = 0; i < n; i++) {
    const Members *of_class = &g_array_index (members, Members, i);
    ranks[i] = of_class->class;
    counts[i] = of_class->count;
    positions[i] = of_class->position;
  }
  for (guint i = 0; sends && i < n * group->n; i++)
    peers[i] = fold->class_of[group->ranks[i % group->n]];
  const LsFoldedGroup folded = {.n = n,
                                .size = group->n,
                                .ranks = ranks,
                                .counts = counts,
                                .positions = sends ? positions : NULL,
                                .peers = peers};
  guint engine_group = ls_engine_add_folded_group (engine, &folded, group->axis);
  g_array_append_val (fold->groups, number);
  LS_REQUIRE (fold->groups->len == engine_group + 1, "the engine has groups of others");
  for (guint i = 0; i < n; i++) {
    /* Members of one class share a slot: the edge to their group says which. */
    gboolean first = ranks[i] == fold->class_of[group->ranks[0]];
    ls_engine_set_slot_at (engine, ranks[i], first ? group->first_slot : group->slot, engine_group,
                           i);
  }
}

static gboolean uses_running (const LsFold *fold, const LsFoldUnit *unit) {
  for (guint32 i = 0; i < unit->touches->n_steps; i++) {
    const LsFoldStep *step = &unit->touches->steps[i];
    guint32 node = ls_fold_step_node (fold, unit, step);
    const LsFoldFootprint *footprint = ls_fold_footprint (fold, step->footprint);
    for (guint32 k = 0; fold->is_busy[node] && k < footprint->n; k++)
      if (runs (fold, (LsFoldSpot){node, footprint->touches[k].at}))
        return TRUE;
  }
  for (guint32 i = 0; i < unit->touches->n_shared; i++)
    if (runs (fold, (LsFoldSpot){LS_FOLD_NONE, unit->touches->shared[i].at}))
      return TRUE;
  return FALSE;
}

/* Units that use resources of the engine, by class. */
static void list_contributors (LsFold *fold) {
  fold->contributors = g_ptr_array_new ();
  g_ptr_array_set_size (fold->contributors, (gint) fold->n_vertex_classes);
  for (guint32 number = 0; number < fold->units->len; number++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, number);
    if (!uses_running (fold, unit))
      continue;
    gpointer *list =
        &g_ptr_array_index (fold->contributors, fold->class_of[ls_fold_unit_vertex (fold, number)]);
    if (*list == NULL)
      *list = g_array_new (FALSE, FALSE, sizeof (guint32));
    g_array_append_val ((GArray *) *list, number);
  }
}

/* --- transfers -------------------------------------------------------------------------------- */

static void add_usages (const LsFold *fold, const LsPhase *phase, GHashTable *index, GArray *sums) {
  for (guint32 i = 0; i < phase->n_usages; i++) {
    guint32 number = engine_number (fold, phase->usages[i].resource);
    if (number == LS_FOLD_NONE)
      continue;
    gpointer place = g_hash_table_lookup (index, GUINT_TO_POINTER (number + 1));
    if (place == NULL) {
      LsUsage usage = {number, phase->usages[i].usage};
      g_array_append_val (sums, usage);
      g_hash_table_insert (index, GUINT_TO_POINTER (number + 1), GUINT_TO_POINTER (sums->len));
      continue;
    }
    g_array_index (sums, LsUsage, GPOINTER_TO_UINT (place) - 1).usage += phase->usages[i].usage;
  }
}

/* Is what is known of the two the same, and their owners of one class? */
static gboolean owned_alike (const LsFold *fold, LsFoldSpot a, LsFoldSpot b) {
  guint32 x = ls_fold_owner (fold, a), y = ls_fold_owner (fold, b);
  const LsFoldResource *known = ls_fold_known (fold, a), *other = ls_fold_known (fold, b);
  return x != LS_FOLD_NONE && y != LS_FOLD_NONE && fold->class_of[x] == fold->class_of[y] &&
         is_lowest (fold, y) && known->role == other->role && known->capacity == other->capacity;
}

/* The engine's resource that stands for `r`; LS_FOLD_NONE: none does. */
static guint32 stands_for (const LsFold *fold, guint32 r) {
  if (r == LS_FOLD_NONE || engine_number (fold, r) != LS_FOLD_NONE)
    return r == LS_FOLD_NONE ? r : engine_number (fold, r);
  LsFoldSpot spot = ls_fold_spot (fold, r);
  guint32 vertex = ls_fold_vertex (fold, spot);
  for (guint32 number = 0; number < fold->resources->len; number++) {
    guint32 other = g_array_index (fold->resources, guint32, number);
    if (other == LS_FOLD_NONE)
      continue;
    LsFoldSpot there = ls_fold_spot (fold, other);
    if (vertex != LS_FOLD_NONE
            ? ls_fold_vertex (fold, there) == fold->lowest[fold->class_of[vertex]]
            : owned_alike (fold, spot, there))
      return number;
  }
  gint64 like = likeness (fold, r);
  gpointer stand_in;
  return g_hash_table_lookup_extended (fold->stand_ins, &like, NULL, &stand_in)
             ? GPOINTER_TO_UINT (stand_in)
             : LS_FOLD_NONE;
}

/* What one of the transfers would do alone: the same rate, held down by the same kind of resource. */
static void set_alone (LsFold *fold, LsPhase *folded, const LsPhase *phase) {
  guint32 bottleneck;
  gint64 rate = ls_fold_alone_rate (fold, phase, &bottleneck);
  guint32 number = stands_for (fold, bottleneck);
  LsUsage *alone = g_new0 (LsUsage, 1);
  g_ptr_array_add (fold->transfers, alone);
  folded->alone = alone;
  folded->n_alone = number == LS_FOLD_NONE ? 0 : 1;
  folded->rate_cap = number == LS_FOLD_NONE ? rate : phase->rate_cap;
  for (guint32 i = 0; number != LS_FOLD_NONE && i < phase->n_usages; i++)
    if (phase->usages[i].resource == bottleneck)
      *alone = (LsUsage){number, phase->usages[i].usage};
}

/* The transfers `key` of all units of the class of `number` as one. */
static const LsTransfer *fold_transfers (LsFold *fold, guint32 number, LsFoldKey key) {
  guint32 class_number = fold->class_of[ls_fold_unit_vertex (fold, number)];
  const GArray *list = g_ptr_array_index (fold->contributors, class_number);
  const LsTransfer *one = ls_fold_transfer (fold, ls_fold_unit (fold, number), key);
  LsTransfer *folded = g_memdup2 (one, sizeof *one);
  LsPhase *phases = g_memdup2 (one->phases, MAX (one->n_phases, 1u) * sizeof *phases);
  g_ptr_array_add (fold->transfers, folded);
  g_ptr_array_add (fold->transfers, phases);
  folded->phases = phases;
  g_autoptr (GPtrArray) sums = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autoptr (GPtrArray) indexes =
      g_ptr_array_new_with_free_func ((GDestroyNotify) g_hash_table_unref);
  for (guint32 p = 0; p < one->n_phases; p++) {
    set_alone (fold, &phases[p], &one->phases[p]);
    g_ptr_array_add (sums, g_array_new (FALSE, FALSE, sizeof (LsUsage)));
    g_ptr_array_add (indexes, g_hash_table_new (NULL, NULL));
  }
  for (guint i = 0; list != NULL && i < list->len; i++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, g_array_index (list, guint32, i));
    const LsTransfer *transfer = ls_fold_transfer (fold, unit, key);
    for (guint32 p = 0; p < one->n_phases; p++)
      add_usages (fold, &transfer->phases[p], indexes->pdata[p], sums->pdata[p]);
  }
  for (guint32 p = 0; p < one->n_phases; p++) {
    GArray *usages = sums->pdata[p];
    phases[p].n_usages = usages->len;
    phases[p].usages = g_memdup2 (usages->data, MAX (usages->len, 1u) * sizeof (LsUsage));
    g_ptr_array_add (fold->transfers, (gpointer) phases[p].usages);
  }
  ls_net_drop_transfers (fold->net);
  return folded;
}

static const LsTransfer *expand_collective (gpointer self, guint group, guint descriptor) {
  LsFold *fold = self;
  return fold_transfers (fold, g_array_index (fold->groups, guint32, group),
                         (LsFoldKey){(guint16) descriptor, LS_FOLD_NONE, LS_FOLD_NONE});
}

static const LsTransfer *expand_message (gpointer self, guint from, guint to, guint descriptor) {
  LsFold *fold = self;
  gint64 key = (gint64) from << 32 | to;
  const LsFoldChannel *channel = g_hash_table_lookup (fold->channels, &key);
  LS_REQUIRE (channel != NULL, "no messages from class %u to class %u", from, to);
  return fold_transfers (fold, channel->unit,
                         (LsFoldKey){(guint16) descriptor, channel->from, channel->to});
}

static const LsTransfer *expand_copy (gpointer self, guint rank, guint descriptor) {
  LsFold *fold = self;
  LS_REQUIRE (fold->copies_of_class[rank] != LS_FOLD_NONE, "class %u copies nothing", rank);
  return fold_transfers (fold, fold->copies_of_class[rank],
                         (LsFoldKey){(guint16) descriptor, LS_FOLD_NONE, LS_FOLD_NONE});
}

void ls_fold_install (LsFold *fold, LsEngine *engine) {
  static const LsExpander expander = {
      .collective = expand_collective, .message = expand_message, .copy = expand_copy};
  LS_REQUIRE (ls_engine_n_ranks (engine) == 0 && fold->contributors == NULL,
              "a fold is installed once, on an empty engine");
  fold->engine_number = ls_memory_new0 (MAX (ls_net_n_resources (fold->net), 1u), sizeof (guint32));
  find_busy_nodes (fold);
  add_ranks (fold, engine);
  add_resources (fold, engine);
  add_stand_ins (fold, engine);
  fold->copies_of_class = g_new (guint32, fold->n_classes);
  for (guint32 c = 0; c < fold->n_classes; c++)
    fold->copies_of_class[c] = LS_FOLD_NONE;
  for (guint32 number = 0; number < fold->units->len; number++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, number);
    if (!is_lowest (fold, ls_fold_unit_vertex (fold, number)))
      continue;
    if (unit->group != LS_FOLD_NONE)
      add_group (fold, engine, number);
  }
  for (guint32 number = 0; number < fold->units->len; number++) {
    const LsFoldUnit *unit = ls_fold_unit (fold, number);
    guint32 c = fold->class_of[unit->rank];
    if (unit->group == LS_FOLD_NONE && fold->copies_of_class[c] == LS_FOLD_NONE)
      fold->copies_of_class[c] = number;
  }
  list_contributors (fold);
  ls_engine_set_expander (engine, &expander, fold);
}

/* The group of the input that group `number` of the engine stands for. */
static guint input_group (const LsFold *fold, guint number) {
  return ls_fold_unit (fold, g_array_index (fold->groups, guint32, number))->group;
}

const guint *ls_fold_group_ranks (const LsFold *fold, guint number, guint *n) {
  const LsFoldGroup *group = &fold->input.groups[input_group (fold, number)];
  *n = group->n;
  return group->ranks;
}

/* The lowest of the class in the unit, if `rank` is in it; else LS_NO_RANK. */
static guint member_beside (const LsFold *fold, guint32 number, guint rank, guint class_number) {
  const LsFoldGroup *group = &fold->input.groups[ls_fold_unit (fold, number)->group];
  guint lowest = LS_NO_RANK;
  gboolean inside = FALSE;
  for (guint k = 0; k < group->n; k++) {
    inside = inside || group->ranks[k] == rank;
    if (fold->class_of[group->ranks[k]] == class_number)
      lowest = MIN (lowest, group->ranks[k]);
  }
  return inside ? lowest : LS_NO_RANK;
}

guint ls_fold_member (const LsFold *fold, guint rank, guint number, guint class_number) {
  guint32 first = g_array_index (fold->groups, guint32, number);
  guint32 like = fold->class_of[ls_fold_unit_vertex (fold, first)];
  const GArray *list = g_ptr_array_index (fold->contributors, like);
  guint found = member_beside (fold, first, rank, class_number);
  /* Those with resources of the engine first: a rank that runs is in one of them, if its group has any. */
  for (guint i = 0; found == LS_NO_RANK && list != NULL && i < list->len; i++)
    found = member_beside (fold, g_array_index (list, guint32, i), rank, class_number);
  for (guint32 i = 0; found == LS_NO_RANK && i < fold->units->len; i++)
    if (fold->class_of[ls_fold_unit_vertex (fold, i)] == like)
      found = member_beside (fold, i, rank, class_number);
  return found;
}

guint ls_fold_resource (const LsFold *fold, guint number) {
  if (number >= fold->resources->len)
    return LS_NO_NUMBER;
  guint32 r = g_array_index (fold->resources, guint32, number);
  return r == LS_FOLD_NONE ? LS_NO_NUMBER : r;
}
