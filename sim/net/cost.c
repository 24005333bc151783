/* The cost model of cost.h. */
#include "net/cost.h"

#include <math.h>

#include "base/time.h"

/* Bytes on the wire per byte of payload. source: NCCL's formats: LL 4 of 8 bytes, LL128 120 of 128 */
static double wire_factor (LsProtocol protocol) {
  switch (protocol) {
  case LS_PROTOCOL_LL:
    return 2;
  case LS_PROTOCOL_LL128:
    return 128.0 / 120.0;
  default:
    return 1;
  }
}

static gboolean is_tree (const LsRun *run) {
  return run->pattern == LS_PATTERN_DOUBLE_TREE || run->pattern == LS_PATTERN_IN_NETWORK;
}

static const LsLinkTuning *tuning_of (const LsGroupShape *shape, const LsRunLoad *load) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  return ls_link_tuning_find (load->inside_hop == LS_HOP_PCIE ? NULL : node->link);
}

gboolean ls_cost_allows (const LsGroupShape *shape, const LsRunLoad *load, LsProtocol protocol) {
  gboolean ideal = ls_group_spec (shape, 0)->ideal;
  if (ideal != (protocol == LS_PROTOCOL_IDEAL))
    return FALSE;
  if (load->run.pattern == LS_PATTERN_IN_NETWORK)
    return ideal || protocol == LS_PROTOCOL_SIMPLE;
  return protocol != LS_PROTOCOL_LL128 || load->inside_hop != LS_HOP_PCIE;
}

/* Share of the links inside a node that this run reaches. */
static double link_share (const LsGroupShape *shape, const LsRunLoad *load,
                          const LsLinkTuning *tuning, LsProtocol protocol) {
  double share = 1;
  if (protocol == LS_PROTOCOL_IDEAL)
    return 1;
  if (load->run.pattern == LS_PATTERN_IN_NETWORK)
    return tuning->nvls_share.value > 0 ? tuning->nvls_share.value
                                        : 0.8; /* assumption: as NVLink 4, 5 */
  if (load->run.pattern == LS_PATTERN_DOUBLE_TREE)
    share = LS_TREE_SHARE;
  if (shape->n == 2)
    share *= tuning->pair_share.value;
  if (protocol == LS_PROTOCOL_LL)
    share *= tuning->ll_efficiency.value;
  else if (protocol == LS_PROTOCOL_LL128)
    share *= tuning->ll128_efficiency.value;
  return share;
}

/* One round inside a node; `chunk`: bytes that a member sends in it. */
static double inside_hop_s (const LsNodeSpec *node, const LsRunLoad *load,
                            const LsLinkTuning *tuning, LsProtocol protocol, double chunk,
                            gint64 bytes) {
  if (node->hop_ps >= 0)
    return ls_time_s_from_ps (node->hop_ps);
  if (protocol == LS_PROTOCOL_IDEAL)
    return 0;
  if (load->run.pattern == LS_PATTERN_IN_NETWORK)
    return tuning->nvls_hop_s.value + tuning->nvls_fill_s.value * (double) bytes /
                                          ((double) bytes + tuning->nvls_fill_bytes.value);
  double hop = is_tree (&load->run) ? tuning->tree_hop_s[protocol] : tuning->hop_s[protocol];
  hop *= tuning->hop_scale.value;
  if (protocol == LS_PROTOCOL_SIMPLE)
    hop += tuning->fill_s.value * chunk / (chunk + tuning->fill_bytes.value);
  return hop;
}

/* NCCL's network constants were taken on InfiniBand: only what an adapter adds over that counts. */
#define INFINIBAND_ADAPTER_S 0.6e-6 /* source: ConnectX-6, hw/nics.c */

static double across_hop_s (const LsGroupShape *shape, const LsRunLoad *load, LsProtocol protocol) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  const LsNicSet *set = ls_node_compute_nics (node);
  const LsFabricSpec *fabric = ls_cluster_fabric (shape->topology->cluster, set->fabric);
  if (fabric->hop_ps >= 0)
    return ls_time_s_from_ps (fabric->hop_ps);
  double hop = ls_time_s_from_ps (shape->path_ps);
  if (protocol == LS_PROTOCOL_IDEAL)
    return hop;
  hop += ls_protocol_net_hop_s (protocol, is_tree (&load->run));
  if (set->nic != NULL && set->nic->latency_s.value > INFINIBAND_ADAPTER_S)
    hop += 2 * (set->nic->latency_s.value - INFINIBAND_ADAPTER_S);
  return hop;
}

static double launch_s (const LsNodeSpec *node, const LsRunLoad *load, const LsLinkTuning *tuning,
                        LsProtocol protocol) {
  if (node->launch_ps >= 0)
    return ls_time_s_from_ps (node->launch_ps);
  return protocol == LS_PROTOCOL_IDEAL
             ? 0
             : tuning->launch_s.value + ls_protocol_base_s (protocol, is_tree (&load->run));
}

static guint in_flight (guint rounds, const LsRunLoad *load, LsProtocol protocol) {
  guint at_once =
      load->run.pattern == LS_PATTERN_PAIRS ? ls_protocol_peers_in_flight (protocol) : 1;
  return (rounds + at_once - 1) / at_once;
}

LsRunCost ls_cost_run (const LsGroupShape *shape, const LsRunLoad *load, LsProtocol protocol,
                       gint64 bytes) {
  const LsNodeSpec *node = ls_group_spec (shape, 0);
  const LsLinkTuning *tuning = tuning_of (shape, load);
  LsRunCost cost = {.wire = wire_factor (protocol), .rate_cap = INFINITY};
  double flow = load->run.flow * (double) bytes;
  double chunk = is_tree (&load->run) ? flow / shape->most : flow / MAX (1, load->run.rounds);
  guint inside = in_flight (load->inside_rounds, load, protocol);
  guint across = in_flight (load->across_rounds, load, protocol);
  if (load->run.launches)
    cost.latency_s = launch_s (node, load, tuning, protocol);
  if (inside > 0)
    cost.latency_s += inside * inside_hop_s (node, load, tuning, protocol, chunk, bytes);
  if (across > 0)
    cost.latency_s += across * across_hop_s (shape, load, protocol);
  double share = link_share (shape, load, tuning, protocol);
  if (share < 1 && isfinite (load->link_rate))
    cost.rate_cap = share * load->link_rate;
  cost.rate = MIN (cost.rate_cap, load->rate / cost.wire);
  return cost;
}

double ls_cost_run_s (const LsRunLoad *load, const LsRunCost *cost, gint64 bytes) {
  double flow = load->run.flow * (double) bytes;
  return cost->latency_s + (flow > 0 ? flow / cost->rate : 0);
}
