/* Units: groups and copies with the transfers that they may make, and what these use.
 *
 * Model:      each transfer of a unit adds to a hash per resource that it uses (which transfer, which phase,
 *             how much), to a label (everything else about it) and to the resource's demand: the greatest
 *             rate at which the unit can load it, as a unit runs one collective at a time and sends what
 *             its bundles hold.
 *             A group whose like was seen takes over what that one uses, by the resources' numbers inside the
 *             nodes of its members. Like are groups that do the same on the same GPUs of the same
 *             kinds of nodes, as far from one another in number, and alike in who shares a leaf switch and a
 *             pod; and where trunks matter, groups inside one node only.
 * Cost:       one template per transfer of each unit that has no like.
 */
#include "base/assert.h"
#include "base/memory.h"
#include "engine/refine.h"
#include "net/ample.h"
#include "net/fold_private.h"

#define mix ls_refinement_mix

/* A unit's use of its nodes' resources. */
typedef struct {
  guint64 key[3];
  const LsFoldTouches *touches;
} Like;

/* A resource that the unit at hand uses. */
typedef struct {
  guint32 resource;
  guint64 hash, need;
  guint64 most; /* of the collectives alone */
} Touched;

/* A node that the unit at hand uses: its touches are those from `first` on. */
typedef struct {
  guint32 node, first, n;
} Touching;

typedef struct {
  LsFold *fold;
  guint32 *index;   /* + 1, by resource: where it is among those touched */
  GArray *touched;  /* Touched */
  GArray *touching; /* Touching */
  guint64 label;
  /* Who is in the unit at hand. */
  guint32 *unit_of_rank;     /* + 1 */
  guint32 *unit_of_node;     /* + 1 */
  guint32 *member_on_node;   /* its position; LS_FOLD_NONE: several */
  guint32 *position_on_node; /* of the last there */
  guint32 *touching_of_node; /* + 1: where it is among those touched */
  GHashTable *likes;
  /* Where nodes stand in their fabric, and the numbers of that in the unit at hand. */
  LsStand *stands;
  guint8 *stands_known;
  guint32 *block_number, *pod_number, *block_stamp, *pod_stamp, stamp;
} Scan;

/* --- transfers -------------------------------------------------------------------------------- */

const LsTransfer *ls_fold_transfer (LsFold *fold, const LsFoldUnit *unit, LsFoldKey key) {
  const LsFoldInput *input = &fold->input;
  LsDescriptor what = input->descriptors[key.descriptor];
  LS_REQUIRE (key.descriptor < input->n_descriptors, "descriptor %u", key.descriptor);
  if (unit->group == LS_FOLD_NONE)
    return ls_net_transfer (fold->net, &input->gpu_of_rank[unit->rank], 1, &what);
  const LsFoldGroup *group = &input->groups[unit->group];
  if (key.from != LS_FOLD_NONE) {
    guint gpus[2] = {input->gpu_of_rank[group->ranks[key.from]],
                     input->gpu_of_rank[group->ranks[key.to]]};
    what.op = LS_COLLECTIVE_SEND_RECV;
    return ls_net_transfer (fold->net, gpus, 2, &what);
  }
  if (what.op == LS_COLLECTIVE_BARRIER || what.bytes == 0)
    return ls_net_transfer (fold->net, NULL, 0, &what);
  g_autofree guint *gpus = g_new (guint, group->n);
  for (guint i = 0; i < group->n; i++)
    gpus[i] = input->gpu_of_rank[group->ranks[i]];
  return ls_net_group_transfer (fold->net, gpus, group->n, &what);
}

gint64 ls_fold_alone_rate (const LsFold *fold, const LsPhase *phase, guint32 *bottleneck) {
  gint64 rate = phase->rate_cap > 0 ? phase->rate_cap : LS_RATE_MAX;
  *bottleneck = LS_FOLD_NONE;
  for (guint32 i = 0; i < phase->n_usages; i++) {
    LsInt128 alone =
        ((LsInt128) ls_fold_capacity (fold, phase->usages[i].resource) << LS_USAGE_BITS) /
        phase->usages[i].usage;
    if (alone < rate) {
      rate = (gint64) alone;
      *bottleneck = phase->usages[i].resource;
    }
  }
  return rate;
}

static guint64 add_saturating (guint64 a, guint64 b) {
  return a > G_MAXUINT64 - b ? G_MAXUINT64 : a + b;
}

static void add_usage (Scan *scan, const LsUsage *usage, guint64 seed, gint64 rate, guint times) {
  const LsFold *fold = scan->fold;
  guint32 r = usage->resource;
  if (r >= fold->first_shared && fold->shared[r - fold->first_shared].ample)
    return;
  if (scan->index[r] == 0) {
    const Touched fresh = {.resource = r};
    g_array_append_val (scan->touched, fresh);
    scan->index[r] = scan->touched->len;
  }
  Touched *touched = &g_array_index (scan->touched, Touched, scan->index[r] - 1);
  touched->hash += mix (seed, (guint64) usage->usage) | 1;
  LsUint128 need = (((LsUint128) rate * (LsUint128) usage->usage) >> LS_USAGE_BITS) + 1;
  need *= MAX (times, 1u);
  guint64 bounded = need > G_MAXUINT64 / 2 ? G_MAXUINT64 / 2 : (guint64) need;
  if (times == 0) /* of a collective: only one runs at a time */
    touched->most = MAX (touched->most, bounded);
  else
    touched->need = add_saturating (touched->need, bounded);
}

/* `times`: how many may run at once; 0: a collective. */
static void add_transfer (Scan *scan, const LsTransfer *transfer, guint64 key, guint times) {
  guint64 label = mix (key, transfer->n_phases);
  const gint64 numbers[] = {transfer->sm_held, transfer->beside_compute, transfer->message_bytes,
                            transfer->wire_bytes};
  if (transfer->rounds != NULL)
    scan->fold->why = "collectives run as single messages";
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    label = mix (label, (guint64) numbers[i]);
  for (guint p = 0; p < transfer->n_phases; p++) {
    const LsPhase *phase = &transfer->phases[p];
    guint32 bottleneck;
    gint64 rate = ls_fold_alone_rate (scan->fold, phase, &bottleneck);
    label = mix (mix (label, (guint64) phase->latency_ps), (guint64) phase->work_bytes);
    label = mix (label, (guint64) rate);
    for (guint32 i = 0; i < phase->n_usages; i++)
      add_usage (scan, &phase->usages[i], mix (key, p), rate, times);
  }
  scan->label += label;
}

static guint64 key_hash (LsFoldKey key) {
  return mix (mix (key.descriptor + 1, key.from), key.to);
}

static void add_sends (Scan *scan, const LsFoldUnit *unit, guint position) {
  LsFold *fold = scan->fold;
  const LsFoldGroup *group = &fold->input.groups[unit->group];
  const LsFoldUse *use = ls_fold_use (fold, group, position);
  for (guint i = 0; use != NULL && i < use->sends->len; i++) {
    const LsFoldSend *send = &g_array_index (use->sends, LsFoldSend, i);
    gint64 to = send->peer + (send->relative ? (gint64) position : 0);
    LS_REQUIRE (to >= 0 && to < group->n && to != position, "a send to position %" G_GINT64_FORMAT,
                to);
    LsFoldKey key = {send->descriptor, position, (guint32) to};
    add_transfer (scan, ls_fold_transfer (fold, unit, key), key_hash (key),
                  use->unbounded ? G_MAXUINT16 : use->at_once);
  }
}

static void add_transfers (Scan *scan, const LsFoldUnit *unit) {
  LsFold *fold = scan->fold;
  scan->label = 0;
  g_array_set_size (scan->touched, 0);
  if (unit->group == LS_FOLD_NONE) {
    const GArray *copies = fold->kinds[fold->input.kind_of_rank[unit->rank]].copies;
    for (guint i = 0; i < copies->len; i++) {
      LsFoldKey key = {g_array_index (copies, guint16, i), LS_FOLD_NONE, LS_FOLD_NONE};
      add_transfer (scan, ls_fold_transfer (fold, unit, key), key_hash (key), 1);
    }
    return;
  }
  const LsFoldGroup *group = &fold->input.groups[unit->group];
  const LsFoldUse *use = ls_fold_use (fold, group, 0);
  for (guint i = 0; use != NULL && group->n > 1 && i < use->collectives->len; i++) {
    LsFoldKey key = {g_array_index (use->collectives, guint16, i), LS_FOLD_NONE, LS_FOLD_NONE};
    add_transfer (scan, ls_fold_transfer (fold, unit, key), key_hash (key), 0);
  }
  for (guint i = 0; unit->sends && i < group->n; i++)
    add_sends (scan, unit, i);
}

/* --- touches ---------------------------------------------------------------------------------- */

/* The members of the unit, by rank and by node. */
static void mark_members (Scan *scan, const LsFoldUnit *unit, guint32 number) {
  const LsFold *fold = scan->fold;
  for (guint i = 0; i < ls_fold_unit_size (fold, unit); i++) {
    guint32 rank = ls_fold_unit_member (fold, unit, i), node = fold->place[rank].node;
    scan->unit_of_rank[rank] = number + 1;
    scan->member_on_node[node] = scan->unit_of_node[node] == number + 1 ? LS_FOLD_NONE : i;
    scan->unit_of_node[node] = number + 1;
    scan->position_on_node[node] = i;
  }
}

/* The GPU, by its number in the node, of the one member that uses the resource. */
static guint32 owner_in_unit (const Scan *scan, const LsFoldUnit *unit, guint32 r, guint32 number) {
  const LsFold *fold = scan->fold;
  const LsNetResource *resource = ls_net_resource (fold->net, r);
  if (resource->kind == LS_RESOURCE_HOST_MEMORY || resource->kind == LS_RESOURCE_CORES ||
      resource->node < 0)
    return LS_FOLD_NONE;
  if (resource->gpu >= 0) {
    guint32 rank = fold->rank_of_gpu[resource->gpu];
    return rank != LS_FOLD_NONE && scan->unit_of_rank[rank] == number + 1 ? fold->place[rank].local
                                                                          : LS_FOLD_NONE;
  }
  if (scan->unit_of_node[resource->node] != number + 1 ||
      scan->member_on_node[resource->node] == LS_FOLD_NONE)
    return LS_FOLD_NONE;
  return fold->place[ls_fold_unit_member (fold, unit, scan->member_on_node[resource->node])].local;
}

/* Counts what the unit uses of each node. */
static void count_touching (Scan *scan, LsFoldTouches *list) {
  g_array_set_size (scan->touching, 0);
  for (guint32 i = 0; i < scan->touched->len; i++) {
    guint32 r = g_array_index (scan->touched, Touched, i).resource;
    if (r >= scan->fold->first_shared) {
      list->n_shared++;
      continue;
    }
    guint32 node = (guint32) ls_net_resource (scan->fold->net, r)->node;
    if (scan->touching_of_node[node] == 0) {
      const Touching fresh = {.node = node};
      g_array_append_val (scan->touching, fresh);
      scan->touching_of_node[node] = scan->touching->len;
    }
    g_array_index (scan->touching, Touching, scan->touching_of_node[node] - 1).n++;
  }
  for (guint32 i = 0, first = list->n_shared; i < scan->touching->len; i++) {
    Touching *touching = &g_array_index (scan->touching, Touching, i);
    touching->first = first;
    first += touching->n;
    touching->n = 0;
  }
}

/* Among those of its node: they come nearly in order. */
static void place_touch (Scan *scan, LsFoldTouch *touches, guint32 node, LsFoldTouch touch) {
  Touching *touching = &g_array_index (scan->touching, Touching, scan->touching_of_node[node] - 1);
  guint32 k = touching->first + touching->n++;
  for (; k > touching->first && touches[k - 1].at > touch.at; k--)
    touches[k] = touches[k - 1];
  touches[k] = touch;
}

/* What the unit at hand was found to use: of no node first, then node by node. */
static LsFoldTouch *sort_touches (Scan *scan, const LsFoldUnit *unit, guint32 number) {
  LsFoldTouch *touches = g_new (LsFoldTouch, MAX (scan->touched->len, 1u));
  for (guint32 i = 0, shared = 0; i < scan->touched->len; i++) {
    const Touched *touched = &g_array_index (scan->touched, Touched, i);
    LsFoldSpot spot = ls_fold_spot (scan->fold, touched->resource);
    LsFoldTouch touch = {.at = spot.at,
                         .owner = owner_in_unit (scan, unit, touched->resource, number),
                         .hash = touched->hash,
                         .need = add_saturating (touched->need, touched->most)};
    scan->index[touched->resource] = 0;
    if (spot.node == LS_FOLD_NONE)
      touches[shared++] = touch;
    else
      place_touch (scan, touches, spot.node, touch);
  }
  return touches;
}

static LsFoldTouches *list_touches (Scan *scan, const LsFoldUnit *unit, guint32 number) {
  LsFoldTouches *list = g_new0 (LsFoldTouches, 1);
  count_touching (scan, list);
  g_autofree LsFoldTouch *touches = sort_touches (scan, unit, number);
  list->label = scan->label;
  list->n_steps = scan->touching->len;
  list->steps = g_new (LsFoldStep, MAX (list->n_steps, 1u));
  list->shared = g_memdup2 (touches, list->n_shared * sizeof *touches);
  for (guint32 i = 0; i < list->n_steps; i++) {
    const Touching *touching = &g_array_index (scan->touching, Touching, i);
    gboolean inside = scan->unit_of_node[touching->node] == number + 1;
    list->steps[i] = (LsFoldStep){
        .member = inside ? scan->position_on_node[touching->node] : LS_FOLD_NONE,
        .node = touching->node,
        .footprint = ls_fold_intern_footprint (scan->fold, &touches[touching->first], touching->n)};
    scan->touching_of_node[touching->node] = 0;
  }
  g_ptr_array_add (scan->fold->touches, list);
  return list;
}

/* Does the unit use what is in its members' nodes, and nothing else? */
static gboolean is_inside (const LsFoldTouches *touches) {
  for (guint32 i = 0; i < touches->n_steps; i++)
    if (touches->steps[i].member == LS_FOLD_NONE)
      return FALSE;
  return touches->n_shared == 0;
}

/* --- likes ------------------------------------------------------------------------------------ */

/* Blocks and pods of all fabrics are numbered below the number of nodes. */
static void list_stands (Scan *scan) {
  const LsTopology *topology = ls_net_topology (scan->fold->net);
  guint n = MAX (ls_cluster_n_nodes (scan->fold->cluster), 1u);
  guint32 **arrays[] = {&scan->block_number, &scan->block_stamp, &scan->pod_number,
                        &scan->pod_stamp};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    *arrays[i] = g_new0 (guint32, n);
  scan->stands = g_new0 (LsStand, n);
  scan->stands_known = g_new0 (guint8, n);
  for (guint node = 0; node < ls_cluster_n_nodes (scan->fold->cluster); node++)
    scan->stands_known[node] = ls_topology_stand (topology, node, &scan->stands[node]) &&
                               scan->stands[node].block < n && scan->stands[node].pod < n;
}

static guint like_hash (gconstpointer data) {
  const Like *like = data;
  return (guint) mix (mix (like->key[0], like->key[1]), like->key[2]);
}

static gboolean like_equal (gconstpointer a, gconstpointer b) {
  const Like *x = a, *y = b;
  return x->key[0] == y->key[0] && x->key[1] == y->key[1] && x->key[2] == y->key[2];
}

/* A number for the node's leaf block or pod, counted from 1 in order of appearance in the unit at hand. */
static guint32 number_of (guint32 *numbers, guint32 *stamps, guint32 stamp, guint what,
                          guint32 *count) {
  if (stamps[what] != stamp) {
    stamps[what] = stamp;
    numbers[what] = ++*count;
  }
  return numbers[what];
}

/* What the member does in the unit. */
static guint64 use_content (const LsFold *fold, const LsFoldUnit *unit, guint position) {
  if (unit->group == LS_FOLD_NONE)
    return fold->kinds[fold->input.kind_of_rank[unit->rank]].copied;
  const LsFoldUse *use = ls_fold_use (fold, &fold->input.groups[unit->group], position);
  return use == NULL ? 0 : use->content;
}

/* What makes the unit like another; FALSE: more than this looks at. */
static gboolean key_of (Scan *scan, const LsFoldUnit *unit, guint64 *key) {
  const LsFold *fold = scan->fold;
  const LsFoldInput *input = &fold->input;
  guint n = ls_fold_unit_size (fold, unit);
  guint32 blocks = 0, pods = 0, stamp = ++scan->stamp, home = 0;
  gboolean inside = TRUE;
  key[0] = n;
  key[1] = key[2] = 1;
  for (guint i = 0; i < n; i++) {
    const LsFoldPlace *at = &fold->place[ls_fold_unit_member (fold, unit, i)];
    guint32 node = at->node;
    const LsStand *stand = &scan->stands[node];
    home = i == 0 ? node : home;
    inside = inside && node == home;
    if (!inside && (fold->any_narrow || !scan->stands_known[node] || (unit->sends && n > 2)))
      return FALSE;
    guint64 place = (guint64) at->local << 32 | (node - home);
    guint64 stands = 0;
    if (!inside || scan->stands_known[node])
      stands =
          (guint64) number_of (scan->block_number, scan->block_stamp, stamp, stand->block, &blocks)
              << 32 |
          number_of (scan->pod_number, scan->pod_stamp, stamp, stand->pod, &pods);
    key[1] = mix (mix (key[1], place), ls_fold_node_type (fold, node));
    key[2] = mix (mix (mix (key[2], stands), stand->fabric), use_content (fold, unit, i));
  }
  const LsFoldGroup *group = unit->group == LS_FOLD_NONE ? NULL : &input->groups[unit->group];
  guint64 slots = group == NULL ? 0 : ((guint64) group->slot + 1) << 16 | (group->first_slot + 1);
  key[0] |= slots << 32;
  return TRUE;
}

/* --- units ------------------------------------------------------------------------------------ */

static const LsFoldTouches *look_at (Scan *scan, const LsFoldUnit *unit, guint32 number) {
  Like wanted = {.touches = NULL};
  gboolean known = key_of (scan, unit, wanted.key);
  const Like *like = known ? g_hash_table_lookup (scan->likes, &wanted) : NULL;
  if (like != NULL)
    return like->touches;
  add_transfers (scan, unit);
  ls_net_drop_transfers (scan->fold->net);
  mark_members (scan, unit, number);
  LsFoldTouches *touches = list_touches (scan, unit, number);
  if (known && is_inside (touches)) {
    wanted.touches = touches;
    g_hash_table_add (scan->likes, g_memdup2 (&wanted, sizeof wanted));
  }
  return touches;
}

static void add_unit (Scan *scan, LsFoldUnit unit) {
  LsFold *fold = scan->fold;
  unit.touches = look_at (scan, &unit, fold->units->len);
  for (guint32 i = 0; i < unit.touches->n_steps; i++) {
    const LsFoldStep *step = &unit.touches->steps[i];
    ls_fold_use_node (fold, ls_fold_step_node (fold, &unit, step), step->footprint);
  }
  for (guint32 i = 0; i < unit.touches->n_shared; i++)
    ls_fold_use_shared (fold, &unit.touches->shared[i]);
  g_array_append_val (fold->units, unit);
}

/* A group is a unit when its members use it. */
static void add_group (Scan *scan, guint32 number) {
  LsFold *fold = scan->fold;
  const LsFoldGroup *group = &fold->input.groups[number];
  const LsFoldUse *use = ls_fold_use (fold, group, 0);
  gboolean sends = FALSE, used = use != NULL && use->collectives->len > 0;
  for (guint i = 0; i < group->n; i++) {
    use = ls_fold_use (fold, group, i);
    sends = sends || (use != NULL && (use->sends->len > 0 || use->receives));
  }
  if (used || sends)
    add_unit (scan, (LsFoldUnit){.group = number, .sends = sends});
}

static void scan_clear (Scan *scan) {
  gpointer arrays[] = {scan->index,          scan->unit_of_rank,     scan->unit_of_node,
                       scan->member_on_node, scan->position_on_node, scan->touching_of_node,
                       scan->stands,         scan->stands_known,     scan->block_number,
                       scan->block_stamp,    scan->pod_number,       scan->pod_stamp};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
  g_array_unref (scan->touched);
  g_array_unref (scan->touching);
  g_hash_table_unref (scan->likes);
}

void ls_fold_add_units (LsFold *fold) {
  guint n = MAX (ls_net_n_resources (fold->net), 1u);
  guint nodes = MAX (ls_cluster_n_nodes (fold->cluster), 1u);
  Scan scan = {.fold = fold,
               .index = ls_memory_new0 (n, sizeof (guint32)),
               .touched = g_array_new (FALSE, FALSE, sizeof (Touched)),
               .touching = g_array_new (FALSE, FALSE, sizeof (Touching)),
               .unit_of_rank = g_new0 (guint32, fold->input.n_ranks),
               .unit_of_node = g_new0 (guint32, nodes),
               .member_on_node = g_new0 (guint32, nodes),
               .position_on_node = g_new0 (guint32, nodes),
               .touching_of_node = g_new0 (guint32, nodes),
               .likes = g_hash_table_new_full (like_hash, like_equal, g_free, NULL)};
  list_stands (&scan);
  for (guint g = 0; g < fold->input.n_groups && fold->why == NULL; g++)
    add_group (&scan, g);
  for (guint32 rank = 0; rank < fold->input.n_ranks && fold->why == NULL; rank++)
    if (fold->kinds[fold->input.kind_of_rank[rank]].copies->len > 0)
      add_unit (&scan, (LsFoldUnit){.group = LS_FOLD_NONE, .rank = rank});
  scan_clear (&scan);
}
