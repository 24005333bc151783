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
#include <string.h>

#include "base/assert.h"
#include "engine/refine.h"
#include "net/ample.h"
#include "net/fold_private.h"

#define mix ls_refinement_mix

/* A unit's use of its nodes' resources. */
typedef struct {
  guint64 key[3];
  guint64 label;
  guint32 n;
  guint32 *members;  /* position of a member on the resource's node */
  guint32 *ordinals; /* of the resource in its node */
  guint64 *hashes, *needs;
} Like;

typedef struct {
  LsFold *fold;
  guint64 *hash, *need; /* by resource, of the unit at hand */
  guint64 *most;        /* of the collectives alone */
  GArray *touched;      /* guint32 */
  guint64 label;
  /* Who is in the unit at hand. */
  guint32 *unit_of_rank;   /* + 1 */
  guint32 *unit_of_node;   /* + 1 */
  guint32 *member_on_node; /* LS_FOLD_NONE: several */
  guint32 *owned;          /* by rank: how many it owns */
  guint8 *known_owner;     /* by resource */
  guint32 *rank_of_gpu;
  /* Nodes as lists of resources. */
  guint32 *first_of_node, *of_node, *ordinal;
  guint64 *node_type;
  GHashTable *likes;
  /* Where nodes stand in their fabric, and the numbers of that in the unit at hand. */
  LsStand *stands;
  guint8 *stands_known;
  guint32 *block_number, *pod_number, *block_stamp, *pod_stamp, stamp;
  guint32 *position_on_node, *node_stamp; /* of the last member of the unit there */
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
  return ls_net_transfer (fold->net, gpus, group->n, &what);
}

gint64 ls_fold_alone_rate (const LsFold *fold, const LsPhase *phase, guint32 *bottleneck) {
  gint64 rate = phase->rate_cap > 0 ? phase->rate_cap : LS_RATE_MAX;
  *bottleneck = LS_FOLD_NONE;
  for (guint32 i = 0; i < phase->n_usages; i++) {
    LsInt128 alone = ((LsInt128) fold->capacity[phase->usages[i].resource] << LS_USAGE_BITS) /
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
  guint32 r = usage->resource;
  if (scan->fold->ample[r])
    return;
  if (scan->hash[r] == 0)
    g_array_append_val (scan->touched, r);
  scan->hash[r] += mix (seed, (guint64) usage->usage) | 1;
  LsUint128 need = (((LsUint128) rate * (LsUint128) usage->usage) >> LS_USAGE_BITS) + 1;
  need *= MAX (times, 1u);
  guint64 bounded = need > G_MAXUINT64 / 2 ? G_MAXUINT64 / 2 : (guint64) need;
  if (times == 0) /* of a collective: only one runs at a time */
    scan->most[r] = MAX (scan->most[r], bounded);
  else
    scan->need[r] = add_saturating (scan->need[r], bounded);
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

/* --- owners ----------------------------------------------------------------------------------- */

/* The members of the unit, by rank and by node. */
static void mark_members (Scan *scan, const LsFoldUnit *unit, guint32 number) {
  LsFold *fold = scan->fold;
  for (guint i = 0; i < ls_fold_unit_size (fold, unit); i++) {
    guint32 rank = ls_fold_unit_member (fold, unit, i);
    guint node = ls_cluster_gpu_node (fold->cluster, fold->input.gpu_of_rank[rank]);
    scan->unit_of_rank[rank] = number + 1;
    scan->member_on_node[node] = scan->unit_of_node[node] == number + 1 ? LS_FOLD_NONE : rank;
    scan->unit_of_node[node] = number + 1;
  }
}

static guint32 owner_in_unit (const Scan *scan, guint32 r, guint32 number) {
  const LsNetResource *resource = ls_net_resource (scan->fold->net, r);
  if (resource->kind == LS_RESOURCE_HOST_MEMORY || resource->kind == LS_RESOURCE_CORES ||
      resource->node < 0)
    return LS_FOLD_NONE;
  if (resource->gpu >= 0) {
    guint32 rank = scan->rank_of_gpu[resource->gpu];
    return rank != LS_FOLD_NONE && scan->unit_of_rank[rank] == number + 1 ? rank : LS_FOLD_NONE;
  }
  return scan->unit_of_node[resource->node] == number + 1 ? scan->member_on_node[resource->node]
                                                          : LS_FOLD_NONE;
}

static void note_owner (Scan *scan, guint32 r, guint32 number) {
  LsFold *fold = scan->fold;
  guint32 owner = owner_in_unit (scan, r, number);
  if (!scan->known_owner[r]) {
    scan->known_owner[r] = TRUE;
    fold->owner[r] = owner;
    if (owner != LS_FOLD_NONE)
      fold->role[r] = scan->owned[owner]++;
  } else if (fold->owner[r] != owner) {
    fold->owner[r] = LS_FOLD_NONE;
  }
}

/* --- likes ------------------------------------------------------------------------------------ */

static void list_nodes (Scan *scan) {
  LsFold *fold = scan->fold;
  guint nodes = ls_cluster_n_nodes (fold->cluster);
  scan->first_of_node = g_new0 (guint32, nodes + 1);
  g_autofree guint32 *next = g_new0 (guint32, nodes + 1);
  scan->of_node = g_new (guint32, MAX (fold->n_resources, 1u));
  scan->ordinal = g_new0 (guint32, MAX (fold->n_resources, 1u));
  scan->node_type = g_new0 (guint64, MAX (nodes, 1u));
  for (guint r = 0; r < fold->n_resources; r++) {
    gint32 node = ls_net_resource (fold->net, r)->node;
    if (node >= 0)
      scan->first_of_node[node + 1]++;
  }
  for (guint node = 0; node < nodes; node++) {
    next[node] = scan->first_of_node[node];
    scan->first_of_node[node + 1] += scan->first_of_node[node];
    scan->node_type[node] = ls_cluster_node_group (fold->cluster, node) + 1;
  }
  for (guint r = 0; r < fold->n_resources; r++) {
    gint32 node = ls_net_resource (fold->net, r)->node;
    if (node < 0)
      continue;
    guint32 at = next[node]++;
    scan->of_node[at] = r;
    scan->ordinal[r] = at - scan->first_of_node[node];
    scan->node_type[node] = mix (scan->node_type[node], (guint64) fold->capacity[r]);
  }
}

/* Blocks and pods of all fabrics are numbered below the number of nodes. */
static void list_stands (Scan *scan) {
  const LsTopology *topology = ls_net_topology (scan->fold->net);
  guint n = MAX (ls_cluster_n_nodes (scan->fold->cluster), 1u);
  guint32 **arrays[] = {&scan->block_number, &scan->block_stamp,      &scan->pod_number,
                        &scan->pod_stamp,    &scan->position_on_node, &scan->node_stamp};
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

static void like_free (gpointer data) {
  Like *like = data;
  g_free (like->members);
  g_free (like->ordinals);
  g_free (like->hashes);
  g_free (like->needs);
  g_free (like);
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
    guint rank = ls_fold_unit_member (fold, unit, i), gpu = input->gpu_of_rank[rank];
    guint32 node = ls_cluster_gpu_node (fold->cluster, gpu);
    const LsStand *stand = &scan->stands[node];
    home = i == 0 ? node : home;
    inside = inside && node == home;
    if (!inside && (fold->any_narrow || !scan->stands_known[node] || (unit->sends && n > 2)))
      return FALSE;
    guint64 place = (guint64) ls_cluster_gpu_local (fold->cluster, gpu) << 32 | (node - home);
    guint64 stands = 0;
    if (!inside || scan->stands_known[node])
      stands =
          (guint64) number_of (scan->block_number, scan->block_stamp, stamp, stand->block, &blocks)
              << 32 |
          number_of (scan->pod_number, scan->pod_stamp, stamp, stand->pod, &pods);
    key[1] = mix (mix (key[1], place), scan->node_type[node]);
    key[2] = mix (mix (mix (key[2], stands), stand->fabric), use_content (fold, unit, i));
  }
  const LsFoldGroup *group = unit->group == LS_FOLD_NONE ? NULL : &input->groups[unit->group];
  guint64 slots = group == NULL ? 0 : ((guint64) group->slot + 1) << 16 | (group->first_slot + 1);
  key[0] |= slots << 32;
  return TRUE;
}

static void remember (Scan *scan, const LsFoldUnit *unit, const guint64 *key) {
  Like *like = g_new0 (Like, 1);
  const LsFold *fold = scan->fold;
  guint n = scan->touched->len;
  memcpy (like->key, key, sizeof like->key);
  like->label = scan->label;
  like->n = n;
  like->members = g_new (guint32, MAX (n, 1u));
  like->ordinals = g_new (guint32, MAX (n, 1u));
  like->hashes = g_new (guint64, MAX (n, 1u));
  like->needs = g_new (guint64, MAX (n, 1u));
  guint32 stamp = ++scan->stamp;
  for (guint i = 0; i < ls_fold_unit_size (fold, unit); i++) {
    guint gpu = fold->input.gpu_of_rank[ls_fold_unit_member (fold, unit, i)];
    guint node = ls_cluster_gpu_node (fold->cluster, gpu);
    scan->position_on_node[node] = i;
    scan->node_stamp[node] = stamp;
  }
  for (guint i = 0; i < n; i++) {
    guint32 r = g_array_index (scan->touched, guint32, i);
    gint32 node = ls_net_resource (fold->net, r)->node;
    if (node < 0 || scan->node_stamp[node] != stamp) {
      like_free (like); /* it uses more than its nodes: the next one is looked at for itself */
      return;
    }
    like->members[i] = scan->position_on_node[node];
    like->ordinals[i] = scan->ordinal[r];
    like->hashes[i] = scan->hash[r];
    like->needs[i] = add_saturating (scan->need[r], scan->most[r]);
  }
  g_hash_table_add (scan->likes, like);
}

static void take_over (Scan *scan, const LsFoldUnit *unit, const Like *like) {
  const LsFold *fold = scan->fold;
  g_array_set_size (scan->touched, like->n);
  guint32 *touched = (guint32 *) (gpointer) scan->touched->data;
  scan->label = like->label;
  for (guint32 i = 0; i < like->n; i++) {
    guint rank = ls_fold_unit_member (fold, unit, like->members[i]);
    guint node = ls_cluster_gpu_node (fold->cluster, fold->input.gpu_of_rank[rank]);
    guint32 r = scan->of_node[scan->first_of_node[node] + like->ordinals[i]];
    touched[i] = r;
    scan->hash[r] = like->hashes[i];
    scan->need[r] = like->needs[i];
  }
}

/* --- units ------------------------------------------------------------------------------------ */

static void look_at (Scan *scan, const LsFoldUnit *unit) {
  Like wanted = {.n = 0};
  gboolean known = key_of (scan, unit, wanted.key);
  const Like *like = known ? g_hash_table_lookup (scan->likes, &wanted) : NULL;
  if (like != NULL) {
    take_over (scan, unit, like);
    return;
  }
  add_transfers (scan, unit);
  ls_net_drop_transfers (scan->fold->net);
  if (known)
    remember (scan, unit, wanted.key);
}

static void add_unit (Scan *scan, LsFoldUnit unit) {
  LsFold *fold = scan->fold;
  guint32 number = fold->units->len;
  unit.first_touch = fold->touches->len;
  look_at (scan, &unit);
  unit.n_touches = scan->touched->len;
  unit.label = scan->label;
  if (unit.n_touches > 0)
    mark_members (scan, &unit, number);
  g_array_set_size (fold->touches, unit.first_touch + unit.n_touches);
  LsFoldTouch *touches = &g_array_index (fold->touches, LsFoldTouch, unit.first_touch);
  for (guint i = 0; i < unit.n_touches; i++) {
    guint32 r = g_array_index (scan->touched, guint32, i);
    touches[i] = (LsFoldTouch){r, scan->hash[r]};
    fold->demand[r] =
        add_saturating (fold->demand[r], add_saturating (scan->need[r], scan->most[r]));
    scan->hash[r] = scan->need[r] = scan->most[r] = 0;
    note_owner (scan, r, number);
  }
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
  gpointer arrays[] = {
      scan->hash,         scan->need,           scan->most,         scan->unit_of_rank,
      scan->unit_of_node, scan->member_on_node, scan->owned,        scan->known_owner,
      scan->rank_of_gpu,  scan->first_of_node,  scan->of_node,      scan->ordinal,
      scan->node_type,    scan->stands,         scan->stands_known, scan->block_number,
      scan->block_stamp,  scan->pod_number,     scan->pod_stamp,    scan->position_on_node,
      scan->node_stamp};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
  g_array_unref (scan->touched);
  g_hash_table_unref (scan->likes);
}

void ls_fold_add_units (LsFold *fold) {
  guint n = MAX (fold->n_resources, 1u), nodes = MAX (ls_cluster_n_nodes (fold->cluster), 1u);
  guint gpus = ls_cluster_n_gpus (fold->cluster);
  Scan scan = {.fold = fold,
               .hash = g_new0 (guint64, n),
               .need = g_new0 (guint64, n),
               .most = g_new0 (guint64, n),
               .touched = g_array_new (FALSE, FALSE, sizeof (guint32)),
               .unit_of_rank = g_new0 (guint32, fold->input.n_ranks),
               .unit_of_node = g_new0 (guint32, nodes),
               .member_on_node = g_new0 (guint32, nodes),
               .owned = g_new0 (guint32, fold->input.n_ranks),
               .known_owner = g_new0 (guint8, n),
               .rank_of_gpu = g_new (guint32, MAX (gpus, 1u)),
               .likes = g_hash_table_new_full (like_hash, like_equal, like_free, NULL)};
  for (guint gpu = 0; gpu < gpus; gpu++)
    scan.rank_of_gpu[gpu] = LS_FOLD_NONE;
  for (guint rank = 0; rank < fold->input.n_ranks; rank++)
    scan.rank_of_gpu[fold->input.gpu_of_rank[rank]] = rank;
  list_nodes (&scan);
  list_stands (&scan);
  for (guint g = 0; g < fold->input.n_groups && fold->why == NULL; g++)
    add_group (&scan, g);
  for (guint32 rank = 0; rank < fold->input.n_ranks && fold->why == NULL; rank++)
    if (fold->kinds[fold->input.kind_of_rank[rank]].copies->len > 0)
      add_unit (&scan, (LsFoldUnit){.group = LS_FOLD_NONE, .rank = rank});
  scan_clear (&scan);
}
