/* The cost model of cost.h. */
#include "net/cost.h"

#include <math.h>

#include "base/time.h"

/* source: NCCL's formats: LL 4 of 8 bytes, LL128 120 of 128 */
double ls_cost_wire (LsProtocol protocol) {
  switch (protocol) {
  case LS_PROTOCOL_LL:
    return 2;
  case LS_PROTOCOL_LL128:
    return 128.0 / 120.0;
  default:
    return 1;
  }
}

static gboolean is_tree (const LsAlgorithmRecord *algorithm) {
  return algorithm != NULL && algorithm->tree;
}

static const LsLinkTuning *tuning_of (const LsGroupShape *shape) {
  return ls_link_tuning_find (shape->inside ? ls_group_spec (shape, 0)->link : NULL);
}

gboolean ls_cost_allows (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                         LsProtocol protocol) {
  gboolean ideal = ls_group_spec (shape, 0)->ideal;
  if (ideal != (protocol == LS_PROTOCOL_IDEAL))
    return FALSE;
  if (algorithm != NULL && algorithm->in_network)
    return ideal || protocol == LS_PROTOCOL_SIMPLE;
  return protocol != LS_PROTOCOL_LL128 || shape->inside;
}

double ls_cost_link_share (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                           gboolean switched, LsProtocol protocol) {
  const LsLinkTuning *tuning = tuning_of (shape);
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  double share = 1;
  if (protocol == LS_PROTOCOL_IDEAL)
    return 1;
  if (switched && node->nvls_efficiency > 0)
    return node->nvls_efficiency;
  if (switched)
    return tuning->nvls_share.value > 0 ? tuning->nvls_share.value
                                        : 0.8; /* assumption: as NVLink 4, 5 */
  if (is_tree (algorithm))
    share = LS_TREE_SHARE;
  if (shape->n == 2)
    share *= tuning->pair_share.value;
  if (protocol == LS_PROTOCOL_LL)
    share *= node->ll_efficiency > 0 ? node->ll_efficiency : tuning->ll_efficiency.value;
  else if (protocol == LS_PROTOCOL_LL128)
    share *= node->ll128_efficiency > 0 ? node->ll128_efficiency : tuning->ll128_efficiency.value;
  return share;
}

/* --- latencies -------------------------------------------------------------------------------- */

/* A pass through the switches of a node is half of an exchange: to reduce, or to copy. */
static double switched_hop_s (const LsLinkTuning *tuning, gint64 bytes) {
  return 0.5 * (tuning->nvls_hop_s.value + tuning->nvls_fill_s.value * (double) bytes /
                                               ((double) bytes + tuning->nvls_fill_bytes.value));
}

static double inside_hop_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                            LsHop hop, gboolean switched, LsProtocol protocol, double chunk,
                            gint64 bytes) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  if (node->hop_ps >= 0)
    return ls_time_s_from_ps (node->hop_ps) * (switched ? 0.5 : 1);
  if (protocol == LS_PROTOCOL_IDEAL)
    return 0;
  const LsLinkTuning *tuning = ls_link_tuning_find (hop == LS_HOP_PCIE ? NULL : node->link);
  if (switched)
    return switched_hop_s (tuning, bytes);
  double s = is_tree (algorithm) ? tuning->tree_hop_s[protocol] : tuning->hop_s[protocol];
  s *= tuning->hop_scale.value;
  if (protocol == LS_PROTOCOL_SIMPLE)
    s += tuning->fill_s.value * chunk / (chunk + tuning->fill_bytes.value);
  return s;
}

/* NCCL's network constants were taken on InfiniBand: only what an adapter adds over that counts. */
#define INFINIBAND_ADAPTER_S 0.6e-6 /* source: ConnectX-6, hw/nics.c */

/* What a transport asks for beside the protocol: a least time per step, and filling its buffers. */
static double transport_hop_s (const LsFabricSpec *fabric, const LsNic *nic, double hop,
                               double chunk) {
  double step = fabric->step_ps >= 0 ? ls_time_s_from_ps (fabric->step_ps)
                : nic != NULL        ? nic->step_s.value
                                     : 0;
  hop = MAX (hop, step);
  if (nic != NULL && nic->fill_s.value > 0)
    hop += nic->fill_s.value * chunk / (chunk + nic->fill_bytes.value);
  return hop;
}

static double across_hop_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                            LsProtocol protocol, double chunk) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  const LsNicSet *set = ls_node_compute_nics (node);
  const LsFabricSpec *fabric = ls_cluster_fabric (shape->topology->cluster, set->fabric);
  if (fabric->hop_ps >= 0)
    return ls_time_s_from_ps (fabric->hop_ps);
  double hop = ls_time_s_from_ps (shape->path_ps);
  if (protocol == LS_PROTOCOL_IDEAL)
    return hop;
  double ends = ls_protocol_net_hop_s (protocol, is_tree (algorithm));
  if (set->nic != NULL && set->nic->step_s.value <= 0 &&
      set->nic->latency_s.value > INFINIBAND_ADAPTER_S)
    ends += 2 * (set->nic->latency_s.value - INFINIBAND_ADAPTER_S);
  return hop + transport_hop_s (fabric, set->nic, ends, chunk);
}

double ls_cost_hop_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm, LsHop hop,
                      gboolean switched, LsProtocol protocol, double chunk, gint64 bytes) {
  if (hop == LS_HOP_NONE)
    return 0;
  return ls_cluster_scale (shape->topology->cluster)->latency *
         (hop == LS_HOP_NET
              ? across_hop_s (shape, algorithm, protocol, chunk)
              : inside_hop_s (shape, algorithm, hop, switched, protocol, chunk, bytes));
}

double ls_cost_launch_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                         LsProtocol protocol) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  double latency = ls_cluster_scale (shape->topology->cluster)->latency;
  if (node->launch_ps >= 0)
    return latency * ls_time_s_from_ps (node->launch_ps);
  return protocol == LS_PROTOCOL_IDEAL
             ? 0
             : latency * (tuning_of (shape)->launch_s.value +
                          ls_protocol_base_s (protocol, is_tree (algorithm)));
}

/* --- phases ----------------------------------------------------------------------------------- */

LsPhaseCost ls_cost_phase (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                           const LsPhaseLoad *load, LsProtocol protocol, gint64 bytes) {
  LsPhaseCost cost = {.wire = ls_cost_wire (protocol), .rate_cap = INFINITY};
  if (load->launches)
    cost.latency_s = ls_cost_launch_s (shape, algorithm, protocol);
  for (guint i = 0; i < load->n_latencies; i++) {
    const LsPhaseLatency *latency = &load->latencies[i];
    cost.latency_s +=
        latency->count * ls_cost_hop_s (shape, algorithm, latency->hop, latency->switched, protocol,
                                        latency->chunk * (double) bytes, bytes);
  }
  double share = ls_cost_link_share (shape, algorithm, load->in_network, protocol);
  if (share < 1 && isfinite (load->link_rate))
    cost.rate_cap = share * load->link_rate;
  cost.rate = MIN (cost.rate_cap, load->rate / cost.wire);
  return cost;
}

double ls_cost_phase_s (const LsPhaseLoad *load, const LsPhaseCost *cost, gint64 bytes) {
  double flow = load->flow * (double) bytes;
  return cost->latency_s + (flow > 0 ? flow / cost->rate : 0);
}

/* Two channels per link inside a node, two per adapter between nodes, 2 to 32.
 * source: NCCL @5067397 src/graph/search.cc doubles the rings that it finds; MAXCHANNELS 32 */
guint ls_cost_channels (const LsGroupShape *shape) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  guint paths = shape->n_nodes > 1 ? shape->n_nics[0] : shape->inside ? node->links : 1;
  return CLAMP (2 * paths, 2, 32);
}
