/* The net: caches of plans and transfers, and the expander over them. */
#include "net/net.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/time.h"
#include "net/ample.h"
#include "net/messages.h"
#include "net/plan.h"

/* What a transfer was made for. */
typedef struct {
  guint32 kind; /* 0 collective of a group, 1 message, 2 copy */
  guint32 a, b;
  guint32 descriptor;
} Key;

struct LsNet {
  const LsCluster *cluster;
  LsEngine *engine;
  LsTopology *topology;
  LsUsages usages;
  guint n_ranks;
  guint *gpu_of_rank;    /* NULL: the same number */
  GArray *descriptors;   /* LsDescriptor */
  GHashTable *transfers; /* Key -> LsTransfer */
  GHashTable *plans;     /* Key with descriptor 0 -> LsGroupPlans */
  GPtrArray *owned;      /* transfers and plans of single calls */
  GPtrArray *owned_copies;
  GHashTable *plans_of_members; /* Members -> LsGroupPlans, for single calls */
  guint n_members;              /* of all of them */
  LsNetModel model;
  guint *by_number; /* own index by engine number; NULL: the same */
  guint n_numbers;
};

static guint key_hash (gconstpointer data) {
  const Key *key = data;
  guint64 mixed = ((guint64) key->a << 32 | key->b) * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15);
  mixed ^= ((guint64) key->kind << 32 | key->descriptor) * G_GUINT64_CONSTANT (0xC2B2AE3D27D4EB4F);
  return (guint) (mixed >> 32);
}

static gboolean key_equal (gconstpointer a, gconstpointer b) {
  const Key *x = a, *y = b;
  return x->kind == y->kind && x->a == y->a && x->b == y->b && x->descriptor == y->descriptor;
}

/* GPUs of a group in order. */
typedef struct {
  guint n;
  const guint *gpus;
} Members;

static guint members_hash (gconstpointer data) {
  const Members *members = data;
  guint64 mixed = members->n;
  for (guint i = 0; i < members->n; i++)
    mixed = (mixed ^ members->gpus[i]) * G_GUINT64_CONSTANT (0x9E3779B97F4A7C15);
  return (guint) (mixed >> 32);
}

static gboolean members_equal (gconstpointer a, gconstpointer b) {
  const Members *x = a, *y = b;
  return x->n == y->n && memcmp (x->gpus, y->gpus, x->n * sizeof *x->gpus) == 0;
}

static void members_free (gpointer data) {
  Members *members = data;
  g_free ((gpointer) members->gpus);
  g_free (members);
}

/* A transfer and what it borrows. */
typedef struct {
  LsTransfer transfer; /* first: the rest of the world sees only this */
  LsMessages *messages;
  guint channels;
} Owned;

static void transfer_free (gpointer data) {
  Owned *owned = data;
  if (owned == NULL)
    return;
  g_free ((gpointer) owned->transfer.phases);
  ls_messages_free (owned->messages);
  g_free (owned);
}

static void plans_free (gpointer data) {
  ls_group_plans_free (data);
}

static void plan_free (gpointer data) {
  ls_plan_free (data);
}

LsNet *ls_net_new (const LsCluster *cluster, LsEngine *engine) {
  LsNet *net = g_new0 (LsNet, 1);
  net->cluster = cluster;
  net->engine = engine;
  net->topology = ls_topology_new (cluster, engine);
  ls_usages_init (&net->usages, ls_topology_n_resources (net->topology));
  net->descriptors = g_array_new (FALSE, FALSE, sizeof (LsDescriptor));
  net->transfers = g_hash_table_new_full (key_hash, key_equal, g_free, transfer_free);
  net->plans = g_hash_table_new_full (key_hash, key_equal, g_free, plans_free);
  net->owned = g_ptr_array_new_with_free_func (transfer_free);
  net->plans_of_members =
      g_hash_table_new_full (members_hash, members_equal, members_free, plans_free);
  net->owned_copies = g_ptr_array_new_with_free_func (plan_free);
  if (engine == NULL) /* numbers are the net's own */
    return net;
  guint n = ls_topology_n_resources (net->topology);
  for (guint i = 0; i < n; i++)
    if (ls_topology_is_ample (net->topology, i))
      ls_engine_set_ample (engine, ls_net_resource (net, i)->number);
  for (guint i = 0; i < n; i++)
    net->n_numbers = MAX (net->n_numbers, ls_net_resource (net, i)->number + 1);
  net->by_number = ls_memory_new (MAX (1, net->n_numbers), sizeof (guint));
  for (guint i = 0; i < net->n_numbers; i++)
    net->by_number[i] = LS_NO_NUMBER;
  for (guint i = 0; i < n; i++)
    net->by_number[ls_net_resource (net, i)->number] = i;
  return net;
}

void ls_net_free (LsNet *net) {
  if (net == NULL)
    return;
  g_hash_table_unref (net->transfers);
  g_ptr_array_unref (net->owned);
  g_hash_table_unref (net->plans);
  g_hash_table_unref (net->plans_of_members);
  g_ptr_array_unref (net->owned_copies);
  g_array_unref (net->descriptors);
  ls_usages_clear (&net->usages);
  ls_topology_free (net->topology);
  g_free (net->gpu_of_rank);
  g_free (net->by_number);
  g_free (net);
}

void ls_net_set_ranks (LsNet *net, const guint *gpu_of_rank, guint n) {
  for (guint i = 0; i < n; i++)
    LS_REQUIRE (gpu_of_rank[i] < net->topology->n_gpus, "rank %u on GPU %u", i, gpu_of_rank[i]);
  g_free (net->gpu_of_rank);
  net->gpu_of_rank = g_memdup2 (gpu_of_rank, n * sizeof *gpu_of_rank);
  net->n_ranks = n;
}

void ls_net_set_descriptors (LsNet *net, const LsDescriptor *descriptors, guint n) {
  g_array_set_size (net->descriptors, 0);
  g_array_append_vals (net->descriptors, descriptors, n);
}

guint ls_net_host_device (const LsNet *net, guint node) {
  LS_REQUIRE (node < net->topology->n_nodes, "node %u", node);
  return net->topology->host_device[node];
}

guint ls_net_n_resources (const LsNet *net) {
  return ls_topology_n_resources (net->topology);
}

const LsNetResource *ls_net_resource (const LsNet *net, guint i) {
  return ls_topology_resource (net->topology, i);
}

guint ls_net_resource_index (const LsNet *net, guint number) {
  if (net->by_number == NULL)
    return number < ls_net_n_resources (net) ? number : LS_NO_NUMBER;
  return number < net->n_numbers ? net->by_number[number] : LS_NO_NUMBER;
}

const LsNetResource *ls_net_resource_of (const LsNet *net, guint number) {
  guint i = ls_net_resource_index (net, number);
  return i == LS_NO_NUMBER ? NULL : ls_net_resource (net, i);
}

const LsTopology *ls_net_topology (const LsNet *net) {
  return net->topology;
}

static guint gpu_of (const LsNet *net, guint rank) {
  if (net->gpu_of_rank == NULL)
    return rank;
  LS_REQUIRE (rank < net->n_ranks, "rank %u of %u", rank, net->n_ranks);
  return net->gpu_of_rank[rank];
}

/* --- making transfers ------------------------------------------------------------------------- */

static gint64 seconds_to_ps (double s) {
  return ls_time_ps_from_s_checked (s);
}

/* Does this group run as single messages? */
static gboolean as_messages (const LsNet *net, const LsGroupShape *shape) {
  if (net->model != LS_NET_MODEL_TUNED)
    return net->model == LS_NET_MODEL_MESSAGE;
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  if (shape->n_nodes == 1)
    return node->messages;
  const LsNicSet *set = ls_node_compute_nics (node);
  return ls_cluster_fabric (net->cluster, set->fabric)->messages;
}

/* One phase of a plan; `shape` NULL: a copy, with `latency_s`. */
static LsPhase phase_of (LsNet *net, const LsGroupShape *shape, const LsChoice *choice, guint i,
                         gint64 bytes, double latency_s) {
  LsPlan *plan = choice->plan;
  const LsPhaseLoad *load = &plan->phases[i];
  LsPhaseCost cost = {.latency_s = latency_s, .wire = 1, .rate_cap = INFINITY};
  if (shape != NULL)
    cost = ls_cost_phase (shape, plan->algorithm, load, choice->protocol, bytes);
  return (LsPhase){
      .latency_ps = seconds_to_ps (cost.latency_s),
      .work_bytes = (gint64) llround (load->flow * (double) bytes),
      .rate_cap = isfinite (cost.rate_cap) ? ls_rate_from_per_s (cost.rate_cap) : 0,
      .n_usages = load->n_amounts,
      .usages = ls_plan_usages (plan, net->topology, i, choice->protocol, cost.wire),
  };
}

/* The phases of a chosen plan; `plans` NULL: a copy, one phase with `latency_s`. */
static LsTransfer *transfer_new (LsNet *net, const LsGroupPlans *plans, const LsChoice *choice,
                                 const LsDescriptor *descriptor, double latency_s) {
  const LsGroupShape *shape = plans != NULL ? plans->shape : NULL;
  Owned *owned = g_new0 (Owned, 1);
  LsTransfer *transfer = &owned->transfer;
  LsPlan *plan = choice->plan;
  LsPhase *phases = g_new0 (LsPhase, plan->n_phases);
  double sent = 0;
  for (guint i = 0; i < plan->n_phases; i++) {
    phases[i] = phase_of (net, shape, choice, i, descriptor->bytes, latency_s);
    sent += plan->phases[i].sent * plan->phases[i].flow * (double) descriptor->bytes;
  }
  *transfer = (LsTransfer){.n_phases = plan->n_phases,
                           .phases = phases,
                           .beside_compute = LS_USAGE_ONE,
                           .message_bytes = descriptor->bytes,
                           .wire_bytes = (gint64) llround (sent)};
  if (shape != NULL) {
    const LsDevice *device = &ls_group_spec (shape, 0)->device;
    transfer->sm_held = ls_usage_from_double (device->collective_sm_share);
    transfer->beside_compute = ls_usage_from_double (
        shape->n_nodes > 1 ? device->network_slowdown : device->collective_slowdown);
    transfer->algorithm = plan->algorithm != NULL ? plan->algorithm->name : "direct";
    transfer->protocol = ls_protocol_name (choice->protocol);
    owned->channels = ls_cost_channels (shape);
  }
  if (shape != NULL && plan->algorithm != NULL && as_messages (net, shape)) {
    owned->messages = ls_messages_new (shape, plans->place_of, plan, choice->protocol,
                                       descriptor->bytes, &net->usages);
    transfer->rounds = ls_messages_table (owned->messages);
  }
  return transfer;
}

static gboolean is_nothing (const LsDescriptor *descriptor, guint n) {
  if (descriptor->op == LS_COLLECTIVE_BARRIER)
    return n < 2 || !descriptor->timed;
  return n < 2 || descriptor->bytes == 0;
}

/* Nothing to move: instant barriers, groups of one, no bytes. */
static LsTransfer *nothing_new (const LsDescriptor *descriptor) {
  Owned *owned = g_new0 (Owned, 1);
  LsTransfer *transfer = &owned->transfer;
  *transfer = (LsTransfer){.beside_compute = LS_USAGE_ONE, .message_bytes = descriptor->bytes};
  return transfer;
}

/* Channels, of one SM each, that NCCL gives a send or a receive where peers are reached over a network
 * (NCHANNELS_PER_NET_PEER); RECALLED from its ncclTopoGetNchannels(). It takes more between peers that all share
 * an NVSwitch; that is left out. Rings that a framework writes itself hold no more: Transformer Engine's has
 * num_sm 1 (megatron-bridge, comm_overlap.py, RingExchangeOverlapCfg). */
#define MESSAGE_SMS 2.0

static void hold_as_message (LsTransfer *transfer, const LsGroupPlans *plans) {
  const double most = MESSAGE_SMS / ls_group_spec (plans->shape, 0)->device.sms;

  transfer->sm_held = MIN (transfer->sm_held, ls_usage_from_double (most));
}

static LsTransfer *group_transfer_new (LsNet *net, LsGroupPlans *plans,
                                       const LsDescriptor *descriptor) {
  LsChoice choice = ls_group_plans_choose (plans, &net->usages, descriptor);
  LsTransfer *transfer = transfer_new (net, plans, &choice, descriptor, 0);

  if (descriptor->op == LS_COLLECTIVE_SEND_RECV) /* each member to the next */
    hold_as_message (transfer, plans);
  return transfer;
}

static LsTransfer *message_transfer_new (LsNet *net, LsGroupPlans *plans,
                                         const LsDescriptor *descriptor) {
  LsChoice choice = ls_group_plans_choose_message (plans, &net->usages, descriptor);
  LsTransfer *transfer = transfer_new (net, plans, &choice, descriptor, 0);

  hold_as_message (transfer, plans);
  return transfer;
}

/* Latency of a copy over PCIe. source: NCCL's hop over PCIe, Simple (protocol.c), a launch of 5 us
 * (assumption); of local drives: 100 us (assumption: NVMe read under load). */
#define COPY_LATENCY_S 10.7e-6
#define NVME_LATENCY_S 100e-6

static LsTransfer *copy_transfer_new (LsNet *net, guint gpu, const LsDescriptor *descriptor) {
  const LsTopology *topology = net->topology;
  guint node = topology->gpu_node[gpu];
  const LsNodeSpec *spec = ls_cluster_node (net->cluster, node);
  const LsStorageSpec *storage = ls_cluster_storage (net->cluster);
  double latency_s = spec->ideal ? 0 : COPY_LATENCY_S;
  gboolean up = descriptor->op == LS_COLLECTIVE_DEVICE_TO_HOST;
  if (up || descriptor->op == LS_COLLECTIVE_HOST_TO_DEVICE) {
    if (spec->launch_ps >= 0 || spec->hop_ps >= 0)
      latency_s = ls_time_s_from_ps (MAX (0, spec->launch_ps) + MAX (0, spec->hop_ps));
    ls_route_host (topology, &net->usages, gpu, up, 1);
    ls_usages_add (&net->usages, topology->hbm[gpu], 1);
  } else if (descriptor->op == LS_COLLECTIVE_NVME_READ ||
             descriptor->op == LS_COLLECTIVE_NVME_WRITE) {
    latency_s = NVME_LATENCY_S;
    if (!ls_route_drives (topology, &net->usages, node, descriptor->op == LS_COLLECTIVE_NVME_READ,
                          1))
      ls_usages_add (&net->usages, topology->host_memory[node], 1);
  } else {
    gboolean read = descriptor->op == LS_COLLECTIVE_STORAGE_READ;
    latency_s =
        storage->present
            ? ls_time_s_from_ps (storage->latency_ps + ls_route_storage_latency_ps (topology, node))
            : NVME_LATENCY_S;
    if (!ls_route_storage (topology, &net->usages, node, read, 1))
      ls_usages_add (&net->usages, topology->host_memory[node], 1);
  }
  LsChoice choice = {.plan = ls_plan_new_copy (topology, &net->usages),
                     .protocol = LS_PROTOCOL_IDEAL};
  g_ptr_array_add (net->owned_copies, choice.plan);
  return transfer_new (net, NULL, &choice, descriptor,
                       latency_s * ls_cluster_scale (net->cluster)->latency);
}

/* --- the expander ----------------------------------------------------------------------------- */

static const LsDescriptor *descriptor_of (const LsNet *net, guint number) {
  LS_REQUIRE (number < net->descriptors->len, "descriptor %u of %u", number, net->descriptors->len);
  return &g_array_index (net->descriptors, LsDescriptor, number);
}

static LsTransfer *keep (LsNet *net, const Key *key, LsTransfer *transfer) {
  g_hash_table_insert (net->transfers, g_memdup2 (key, sizeof *key), transfer);
  return transfer;
}

static LsGroupPlans *plans_of (LsNet *net, Key key, const guint *gpus, guint n) {
  key.descriptor = 0;
  LsGroupPlans *plans = g_hash_table_lookup (net->plans, &key);
  if (plans == NULL) {
    plans = ls_group_plans_new (net->topology, gpus, n);
    g_hash_table_insert (net->plans, g_memdup2 (&key, sizeof key), plans);
  }
  return plans;
}

static const LsTransfer *expand_collective (gpointer self, guint group, guint descriptor) {
  LsNet *net = self;
  Key key = {.kind = 0, .a = group, .descriptor = descriptor};
  const LsTransfer *known = g_hash_table_lookup (net->transfers, &key);
  if (known != NULL)
    return known;
  const LsDescriptor *what = descriptor_of (net, descriptor);
  guint n = ls_engine_group_size (net->engine, group);
  if (is_nothing (what, n))
    return keep (net, &key, nothing_new (what));
  const guint32 *ranks = ls_engine_group_ranks (net->engine, group);
  g_autofree guint *gpus = g_new (guint, n);
  for (guint i = 0; i < n; i++)
    gpus[i] = gpu_of (net, ranks[i]);
  return keep (net, &key, group_transfer_new (net, plans_of (net, key, gpus, n), what));
}

static const LsTransfer *expand_message (gpointer self, guint rank_from, guint rank_to,
                                         guint descriptor) {
  LsNet *net = self;
  guint gpus[2] = {gpu_of (net, rank_from), gpu_of (net, rank_to)};
  Key key = {.kind = 1, .a = gpus[0], .b = gpus[1], .descriptor = descriptor};
  const LsTransfer *known = g_hash_table_lookup (net->transfers, &key);
  if (known != NULL)
    return known;
  const LsDescriptor *what = descriptor_of (net, descriptor);
  if (gpus[0] == gpus[1] || what->bytes == 0)
    return keep (net, &key, nothing_new (what));
  return keep (net, &key, message_transfer_new (net, plans_of (net, key, gpus, 2), what));
}

static const LsTransfer *expand_copy (gpointer self, guint rank, guint descriptor) {
  LsNet *net = self;
  guint gpu = gpu_of (net, rank);
  Key key = {.kind = 2, .a = gpu, .descriptor = descriptor};
  const LsTransfer *known = g_hash_table_lookup (net->transfers, &key);
  if (known != NULL)
    return known;
  const LsDescriptor *what = descriptor_of (net, descriptor);
  return keep (net, &key,
               what->bytes == 0 ? nothing_new (what) : copy_transfer_new (net, gpu, what));
}

void ls_net_set_model (LsNet *net, LsNetModel model) {
  net->model = model;
}

const LsExpander *ls_net_expander (void) {
  static const LsExpander expander = {
      .collective = expand_collective, .message = expand_message, .copy = expand_copy};
  return &expander;
}

/* --- closed forms ----------------------------------------------------------------------------- */

/* Members whose plans are kept from one single call to the next: some tens of megabytes. */
#define KEPT_MEMBERS (1u << 16)

static LsGroupPlans *plans_of_members (LsNet *net, const guint *gpus, guint n) {
  const Members wanted = {.n = n, .gpus = gpus};
  LsGroupPlans *plans = g_hash_table_lookup (net->plans_of_members, &wanted);
  if (plans != NULL)
    return plans;
  Members *key = g_new (Members, 1);
  *key = (Members){.n = n, .gpus = g_memdup2 (gpus, n * sizeof *gpus)};
  plans = ls_group_plans_new (net->topology, gpus, n);
  g_hash_table_insert (net->plans_of_members, key, plans);
  net->n_members += n;
  return plans;
}

static const LsTransfer *new_transfer (LsNet *net, const guint *gpus, guint n,
                                       const LsDescriptor *descriptor, gboolean pair_is_message) {
  LsTransfer *transfer;
  gboolean copy = descriptor->op > LS_COLLECTIVE_BARRIER;
  if (copy ? descriptor->bytes == 0 : is_nothing (descriptor, n))
    transfer = nothing_new (descriptor);
  else if (copy)
    transfer = copy_transfer_new (net, gpus[0], descriptor);
  else {
    gboolean message = pair_is_message && descriptor->op == LS_COLLECTIVE_SEND_RECV && n == 2;
    LsGroupPlans *plans = plans_of_members (net, gpus, message ? 2 : n);
    transfer = message ? message_transfer_new (net, plans, descriptor)
                       : group_transfer_new (net, plans, descriptor);
  }
  g_ptr_array_add (net->owned, transfer);
  return transfer;
}

const LsTransfer *ls_net_transfer (LsNet *net, const guint *gpus, guint n,
                                   const LsDescriptor *descriptor) {
  return new_transfer (net, gpus, n, descriptor, TRUE);
}

const LsTransfer *ls_net_group_transfer (LsNet *net, const guint *gpus, guint n,
                                         const LsDescriptor *descriptor) {
  return new_transfer (net, gpus, n, descriptor, FALSE);
}

void ls_net_drop_transfers (LsNet *net) {
  g_ptr_array_set_size (net->owned, 0);
  if (net->n_members <= KEPT_MEMBERS)
    return;
  g_hash_table_remove_all (net->plans_of_members);
  net->n_members = 0;
}

LsNetEstimate ls_net_estimate (LsNet *net, const guint *gpus, guint n,
                               const LsDescriptor *descriptor) {
  const LsTransfer *transfer = ls_net_transfer (net, gpus, n, descriptor);
  LsNetEstimate estimate = {.algorithm = transfer->algorithm,
                            .protocol = transfer->protocol,
                            .channels = ((const Owned *) (gconstpointer) transfer)->channels};
  for (guint i = 0; i < transfer->n_phases; i++) {
    const LsPhase *phase = &transfer->phases[i];
    double rate = phase->rate_cap > 0 ? ls_rate_to_per_s (phase->rate_cap) : INFINITY;
    for (guint j = 0; j < phase->n_usages; j++) {
      const LsNetResource *resource = ls_net_resource_of (net, phase->usages[j].resource);
      gboolean memory =
          resource->kind == LS_RESOURCE_HBM || resource->kind == LS_RESOURCE_HOST_MEMORY;
      double usage = (double) phase->usages[j].usage / (double) LS_USAGE_ONE;
      rate = MIN (rate, (memory ? 0.5 : 1) * resource->per_s / usage);
    }
    estimate.latency_s += ls_time_s_from_ps (phase->latency_ps);
    if (phase->work_bytes > 0)
      estimate.time_s += (double) phase->work_bytes / rate;
  }
  estimate.time_s += estimate.latency_s;
  if (estimate.time_s > 0) {
    estimate.algbw_bytes_per_s = (double) descriptor->bytes / estimate.time_s;
    estimate.busbw_bytes_per_s =
        estimate.algbw_bytes_per_s * ls_collective_bus_factor (descriptor->op, n);
  }
  return estimate;
}
