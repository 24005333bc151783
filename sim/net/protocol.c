/* The constants of protocol.h with their sources.
 *
 * "NCCL" is src/graph/tuning.cc and src/graph/topo.h of NVIDIA/nccl at commit 5067397. Fitted values
 * minimise the mean absolute log error of this very model on the named runs (docs/network.md and
 * tests/net/test_measured.c, which holds the error), one set per kind of link. */
#include "net/protocol.h"

#include "base/assert.h"

#define NAME_OF(id, name, summary) name,
static const char *const names[] = {LS_PROTOCOLS (NAME_OF)};
#undef NAME_OF
#define SUMMARY_OF(id, name, summary) summary,
static const char *const summaries[] = {LS_PROTOCOLS (SUMMARY_OF)};
#undef SUMMARY_OF

#define US(x) ((x) *1e-6)
#define FITTED(x, from) \
  { .value = (x), .status = LS_FACT_FITTED, .source = (from) }
#define ASSUMED(x, from) \
  { .value = (x), .status = LS_FACT_ASSUMED, .source = (from) }

#define ON_A100                                                                             \
  "nccl-tests on 8 x A100 (Azure, Slurm and vTrain logs): all-reduce of 2, 4, 5, 8 ranks, " \
  "all-gather, reduce-scatter, broadcast"
#define ON_V100 "all-reduce of 2, 4, 8 x V100 on NVLink 2 (vTrain log), 1 MiB and up"
#define ON_H100 "nccl-tests on 8 x H100 (DGX H100, AWS P5) and 4 to 8 x H200, ring and NVLS"
#define ON_B200 "nccl-tests on 4 to 8 x B200, 8 GiB, ring and NVLS"
#define RINGS_B200                                                                         \
  "all-gather and reduce-scatter of nccl-tests on 8 x B200, as MooreThreads/SimuMax fits " \
  "them (configs/system/b200_bf16_ceperm.json @e691807)"
#define NVLINK_HOPS                                                                       \
  .hop_s = {US (0.6), US (1.9), US (3.4)}, .tree_hop_s = {US (0.6), US (1.25), US (4.0)}, \
  .hop_source = "NCCL, hardware latencies of NVLink"
#define PCIE_HOPS                                                                        \
  .hop_s = {US (1.0), US (2.5), US (5.7)}, .tree_hop_s = {US (1.0), US (1.9), US (4.0)}, \
  .hop_source = "NCCL, hardware latencies of PCIe"

static const LsLinkTuning tunings[] = {
    {.link = "nvlink2",
     NVLINK_HOPS,
     .share = FITTED (0.9035, ON_V100),
     .pair_share = FITTED (1, ON_V100),
     .launch_s = FITTED (0, ON_V100),
     .ll_efficiency = FITTED (0.184, ON_V100),
     .ll128_efficiency = FITTED (0.608, ON_V100),
     .hop_scale = FITTED (2.31, ON_V100),
     .fill_s = FITTED (0, ON_V100),
     .fill_bytes = FITTED (1, ON_V100)},
    {.link = "nvlink3",
     NVLINK_HOPS,
     .share = FITTED (0.7776, ON_A100),
     .pair_share = FITTED (0.828, ON_A100),
     .launch_s = FITTED (US (19.6), ON_A100),
     .ll_efficiency = FITTED (0.094, ON_A100),
     .ll128_efficiency = FITTED (0.846, ON_A100),
     .hop_scale = FITTED (1.967, ON_A100),
     .fill_s = FITTED (US (16.25), ON_A100),
     .fill_bytes = FITTED (56.3e6, ON_A100)},
    {.link = "nvlink4",
     NVLINK_HOPS,
     .share = FITTED (0.808, ON_H100),
     .pair_share = ASSUMED (1, "no log of two ranks"),
     .launch_s = FITTED (US (0.7), ON_H100),
     .ll_efficiency = FITTED (0.087, ON_H100),
     .ll128_efficiency = FITTED (0.21, ON_H100),
     .hop_scale = FITTED (1.1, ON_H100),
     .fill_s = FITTED (US (0.82), ON_H100),
     .fill_bytes = FITTED (85e3, ON_H100),
     .nvls_share = FITTED (0.8475, ON_H100),
     .nvls_hop_s = FITTED (US (9.4), ON_H100),
     .nvls_fill_s = FITTED (US (79), ON_H100),
     .nvls_fill_bytes = FITTED (12e6, ON_H100)},
    {.link = "nvlink5",
     NVLINK_HOPS,
     .share = FITTED (0.755, ON_B200),
     .pair_share = ASSUMED (1, "as NVLink 4"),
     .launch_s = FITTED (US (15), RINGS_B200 ": 23.1 and 25.6 us less the base of Simple"),
     .ll_efficiency = ASSUMED (0.087, "as NVLink 4"),
     .ll128_efficiency = ASSUMED (0.21, "as NVLink 4"),
     .hop_scale = FITTED (2.5, RINGS_B200 ": 9.2 and 8.0 us a step"),
     .fill_s = ASSUMED (US (0.82), "as NVLink 4"),
     .fill_bytes = ASSUMED (85e3, "as NVLink 4"),
     .nvls_share = FITTED (0.795, ON_B200),
     .nvls_hop_s = ASSUMED (US (9.4), "as NVLink 4"),
     .nvls_fill_s = ASSUMED (US (79), "as NVLink 4"),
     .nvls_fill_bytes = ASSUMED (12e6, "as NVLink 4")},
    {.link = "pcie",
     PCIE_HOPS,
     .share = ASSUMED (0, "the link's own efficiency"),
     .pair_share = ASSUMED (1, "no log"),
     .launch_s = ASSUMED (US (5), "between A100 and H100"),
     .ll_efficiency = ASSUMED (0.5, "NCCL"),
     .ll128_efficiency = ASSUMED (0.5, "NCCL: not over PCIe"),
     .hop_scale = ASSUMED (1, "NCCL"),
     .fill_s = ASSUMED (US (0.82), "as NVLink 4"),
     .fill_bytes = ASSUMED (85e3, "as NVLink 4")},
    {.link = NULL,
     PCIE_HOPS,
     .share = ASSUMED (0, "the link's own efficiency"),
     .pair_share = ASSUMED (1, "no log"),
     .launch_s = ASSUMED (US (5), "between A100 and H100"),
     .ll_efficiency = ASSUMED (0.5, "NCCL"),
     .ll128_efficiency = ASSUMED (0.92, "NCCL"),
     .hop_scale = ASSUMED (1, "NCCL"),
     .fill_s = ASSUMED (US (0.82), "as NVLink 4"),
     .fill_bytes = ASSUMED (85e3, "as NVLink 4")},
};

const char *ls_protocol_name (LsProtocol protocol) {
  LS_REQUIRE (protocol < LS_N_PROTOCOLS, "protocol %d", (int) protocol);
  return names[protocol];
}

const char *ls_protocol_summary (LsProtocol protocol) {
  LS_REQUIRE (protocol < LS_N_PROTOCOLS, "protocol %d", (int) protocol);
  return summaries[protocol];
}

const LsLinkTuning *ls_link_tuning_find (const LsLink *link) {
  const char *name = link == NULL || link->kind == LS_LINK_PCIE ? "pcie" : link->name;
  guint i = 0;
  while (tunings[i].link != NULL && !g_str_equal (tunings[i].link, name))
    i++;
  return &tunings[i];
}

/* source: NCCL, base latencies: ring 6.6/14/8.4 us, tree 6.8/14/8.4 us */
double ls_protocol_base_s (LsProtocol protocol, gboolean tree) {
  static const double ring_base_s[] = {US (6.6), US (14), US (8.4), 0};
  static const double tree_base_s[] = {US (6.8), US (14), US (8.4), 0};
  return tree ? tree_base_s[protocol] : ring_base_s[protocol];
}

/* source: NCCL, hardware latencies of the network: ring 2.7/4/14 us, tree 5/8.5/14 us */
double ls_protocol_net_hop_s (LsProtocol protocol, gboolean tree) {
  static const double ring_hop_s[] = {US (2.7), US (4), US (14), 0};
  static const double tree_hop_s[] = {US (5), US (8.5), US (14), 0};
  return tree ? tree_hop_s[protocol] : ring_hop_s[protocol];
}

/* source: NCCL batches the sends and receives of 8 peers per channel */
guint ls_protocol_peers_in_flight (LsProtocol protocol) {
  return protocol == LS_PROTOCOL_IDEAL ? 1 : 8;
}
