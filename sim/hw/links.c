/* Links inside a node, one row per kind and generation.
 *
 * bytes_per_s is ONE link in ONE direction. Sources print the total of a device in both directions
 * ("900 GB/s"): halved and divided by the number of links here. */
#include "hw/links.h"

#include "base/assert.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"

#define STAS "stas00/ml-engineering @744d01e, network/README.md"
#define BOOK "jax-ml/scaling-book @0819a7d"
#define GIGA(x) ((x) *1e9)

#define NCCL_HOP                                                                       \
  {                                                                                    \
    .value = 0.6e-6, .status = LS_FACT_FOUND,                                          \
    .source = "NCCL @5067397 src/graph/tuning.cc: NVLink hop of the ring, LL protocol" \
  }
#define NCCL_PCIE_HOP                                                                \
  {                                                                                  \
    .value = 1.0e-6, .status = LS_FACT_FOUND,                                        \
    .source = "NCCL @5067397 src/graph/tuning.cc: PCIe hop of the ring, LL protocol" \
  }
#define ICI_HOP \
  { .value = 1.0e-6, .status = LS_FACT_FOUND, .source = BOOK " sharding.md: about 1 us per hop" }
#define NVLINK_SHARE(x)                                                                \
  {                                                                                    \
    .value = (x), .status = LS_FACT_FOUND,                                             \
    .source = "NCCL @5067397 src/graph/topo.h: rate it assumes per link and direction" \
  }
#define ASSUMED_SHARE(x, from) \
  { .value = (x), .status = LS_FACT_ASSUMED, .source = (from) }
#define PCIE_SHARE \
  { .value = 0.88, .status = LS_FACT_FOUND, .source = STAS ": 55.4 of 63 GB/s host to device" }

#define SOCKET_SHARE ASSUMED_SHARE (0.85, "cache coherence takes a part")
#define SOCKET_HOP \
  { .value = 0.1e-6, .status = LS_FACT_ASSUMED, .source = "about 100 ns more to the other socket" }

static const LsLink links[] = {
    {.name = "nvlink1",
     .aliases = "nvlink-1",
     .title = "NVLink 1 (P100)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (20),
     .efficiency = NVLINK_SHARE (0.80),
     .latency_s = NCCL_HOP,
     .source = STAS ": 160 GB/s by 4 links, both directions",
     .status = LS_FACT_FOUND},
    {.name = "nvlink2",
     .aliases = "nvlink-2",
     .title = "NVLink 2 (V100)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (25),
     .efficiency = NVLINK_SHARE (0.80),
     .latency_s = NCCL_HOP,
     .source = STAS ": 300 GB/s by 6 links, both directions",
     .status = LS_FACT_FOUND},
    {.name = "nvlink3",
     .aliases = "nvlink-3",
     .title = "NVLink 3 (A100)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (25),
     .efficiency = NVLINK_SHARE (0.80),
     .latency_s = NCCL_HOP,
     .source = STAS ": 600 GB/s by 12 links, both directions",
     .status = LS_FACT_FOUND},
    {.name = "nvlink3-ga102",
     .aliases = "nvlink-3-ga102",
     .title = "NVLink 3 (A40)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (14.0625),
     .efficiency = NVLINK_SHARE (0.80),
     .latency_s = NCCL_HOP,
     .source = "A40 data sheet: 112.5 GB/s by a bridge of 4 links, both directions",
     .status = LS_FACT_RECALLED},
    {.name = "nvlink4",
     .aliases = "nvlink-4",
     .title = "NVLink 4 (H100, H200)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (25),
     .efficiency = NVLINK_SHARE (0.824),
     .latency_s = NCCL_HOP,
     .source = STAS ": 900 GB/s by 18 links, both directions",
     .status = LS_FACT_FOUND},
    {.name = "nvlink5",
     .aliases = "nvlink-5",
     .title = "NVLink 5 (B200, GB200, B300)",
     .kind = LS_LINK_NVLINK,
     .bytes_per_s = GIGA (50),
     .efficiency = NVLINK_SHARE (0.802),
     .latency_s = NCCL_HOP,
     .source = STAS ": 1800 GB/s by 18 links, both directions",
     .status = LS_FACT_FOUND,
     .notes = "some manuals print 900 GB/s per link: wrong"},
    {.name = "nvlink-c2c",
     .aliases = "c2c",
     .title = "NVLink-C2C (Grace to Hopper or Blackwell)",
     .kind = LS_LINK_C2C,
     .bytes_per_s = GIGA (450),
     .efficiency = ASSUMED_SHARE (0.85, "as NVLink 4"),
     .latency_s = NCCL_HOP,
     .source = STAS ": 900 GB/s, both directions",
     .status = LS_FACT_FOUND},
    {.name = "xgmi3",
     .aliases = "infinity-fabric-3",
     .title = "Infinity Fabric (MI250X)",
     .kind = LS_LINK_XGMI,
     .bytes_per_s = GIGA (50),
     .efficiency = ASSUMED_SHARE (0.75, "as xGMI of MI300X"),
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 7 links of 50 GB/s each way",
     .status = LS_FACT_FOUND},
    {.name = "xgmi4",
     .aliases = "infinity-fabric-4",
     .title = "Infinity Fabric (MI300X, MI325X)",
     .kind = LS_LINK_XGMI,
     .bytes_per_s = GIGA (64),
     .efficiency = ASSUMED_SHARE (0.75, "about 48 of 64 GB/s between a pair"),
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 7 links of 64 GB/s each way",
     .status = LS_FACT_FOUND},
    {.name = "xgmi4-mi350",
     .aliases = "infinity-fabric-mi350",
     .title = "Infinity Fabric (MI355X)",
     .kind = LS_LINK_XGMI,
     .bytes_per_s = GIGA (76.5),
     .efficiency = ASSUMED_SHARE (0.75, "as xGMI of MI300X"),
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 7 links, 1071 GB/s in both directions",
     .status = LS_FACT_FOUND},
    {.name = "roce-gaudi2",
     .aliases = "gaudi2-roce",
     .title = "RoCE port of Gaudi 2, 100 Gb/s",
     .kind = LS_LINK_XGMI,
     .bytes_per_s = GIGA (12.5),
     .efficiency = ASSUMED_SHARE (0.90, "RoCE v2 headers and flow control"),
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 24 ports of 100 Gb/s",
     .status = LS_FACT_FOUND,
     .notes = "protocol constants are those of xGMI; of 24 ports 21 join the 8 of a node"},
    {.name = "roce-gaudi3",
     .aliases = "gaudi3-roce",
     .title = "RoCE port of Gaudi 3, 200 Gb/s",
     .kind = LS_LINK_XGMI,
     .bytes_per_s = GIGA (25),
     .efficiency = ASSUMED_SHARE (0.90, "RoCE v2 headers and flow control"),
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 24 ports of 200 Gb/s",
     .status = LS_FACT_FOUND,
     .notes = "protocol constants are those of xGMI; of 24 ports 21 join the 8 of a node"},
    {.name = "ici2",
     .aliases = "",
     .title = "TPU v2 interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (62),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = "Jouppi 2020: 496 Gb/s a link each way",
     .status = LS_FACT_RECALLED},
    {.name = "ici3",
     .aliases = "",
     .title = "TPU v3 interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (82),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = "Jouppi 2020: 656 Gb/s a link each way",
     .status = LS_FACT_RECALLED,
     .notes = BOOK " says 100 GB/s"},
    {.name = "ici4",
     .aliases = "",
     .title = "TPU v4 interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (45),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = BOOK " tpus.md",
     .status = LS_FACT_FOUND},
    {.name = "ici5e",
     .aliases = "",
     .title = "TPU v5e interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (45),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = BOOK " tpus.md",
     .status = LS_FACT_FOUND},
    {.name = "ici5p",
     .aliases = "",
     .title = "TPU v5p interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (90),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = BOOK " tpus.md",
     .status = LS_FACT_FOUND},
    {.name = "pcie3",
     .aliases = "pcie-3 pcie3-x16",
     .title = "PCIe 3.0 x16",
     .kind = LS_LINK_PCIE,
     .bytes_per_s = GIGA (15.75),
     .efficiency = {.value = 0.76,
                    .status = LS_FACT_FOUND,
                    .source = "NCCL @5067397 src/graph/topo.h: 12.0 GB/s"},
     .latency_s = NCCL_PCIE_HOP,
     .source = "8 GT/s x 16 x 128/130",
     .status = LS_FACT_DERIVED},
    {.name = "pcie4",
     .aliases = "pcie-4 pcie4-x16",
     .title = "PCIe 4.0 x16",
     .kind = LS_LINK_PCIE,
     .bytes_per_s = GIGA (31.5),
     .efficiency = PCIE_SHARE,
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 31 GB/s each way; 16 GT/s x 16 x 128/130",
     .status = LS_FACT_FOUND},
    {.name = "pcie5",
     .aliases = "pcie-5 pcie5-x16",
     .title = "PCIe 5.0 x16",
     .kind = LS_LINK_PCIE,
     .bytes_per_s = GIGA (63),
     .efficiency = PCIE_SHARE,
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 63 GB/s each way",
     .status = LS_FACT_FOUND},
    {.name = "pcie6",
     .aliases = "pcie-6 pcie6-x16",
     .title = "PCIe 6.0 x16",
     .kind = LS_LINK_PCIE,
     .bytes_per_s = GIGA (121),
     .efficiency = PCIE_SHARE,
     .latency_s = NCCL_PCIE_HOP,
     .source = STAS ": 121 GB/s each way",
     .status = LS_FACT_FOUND},
    {.name = "socket-pcie3",
     .aliases = "qpi upi",
     .title = "Between two sockets, hosts with PCIe 3",
     .kind = LS_LINK_SOCKET,
     .bytes_per_s = GIGA (41.6),
     .efficiency = SOCKET_SHARE,
     .latency_s = SOCKET_HOP,
     .source = "2 UPI links x 10.4 GT/s x 2 bytes (Skylake); QPI of Broadwell 38.4 GB/s",
     .status = LS_FACT_RECALLED},
    {.name = "socket-pcie4",
     .aliases = "xgmi2-socket",
     .title = "Between two sockets, hosts with PCIe 4",
     .kind = LS_LINK_SOCKET,
     .bytes_per_s = GIGA (128),
     .efficiency = SOCKET_SHARE,
     .latency_s = SOCKET_HOP,
     .source = "4 xGMI-2 links x 16 lanes x 16 GT/s (EPYC Rome)",
     .status = LS_FACT_RECALLED},
    {.name = "socket-pcie5",
     .aliases = "upi2 socket-pcie6",
     .title = "Between two sockets, hosts with PCIe 5 or 6",
     .kind = LS_LINK_SOCKET,
     .bytes_per_s = GIGA (144),
     .efficiency = SOCKET_SHARE,
     .latency_s = SOCKET_HOP,
     .source = "3 UPI 2.0 links x 24 lanes x 16 GT/s (Sapphire Rapids)",
     .status = LS_FACT_RECALLED},
    {.name = "ici6e",
     .aliases = "",
     .title = "TPU v6e interconnect",
     .kind = LS_LINK_ICI,
     .bytes_per_s = GIGA (90),
     .efficiency = ASSUMED_SHARE (0.95, "own engines, no software"),
     .latency_s = ICI_HOP,
     .source = BOOK " tpus.md: 90 GB/s a link one way",
     .status = LS_FACT_FOUND},
};

guint ls_link_count (void) {
  return G_N_ELEMENTS (links);
}

const LsLink *ls_link_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (links), "link %u", i);
  return &links[i];
}

const LsLink *ls_link_find (const char *name, GError **error) {
  int row = ls_catalogue_lookup (&ls_link_catalogue, name, error);
  return row < 0 ? NULL : &links[row];
}

const LsLink *ls_link_pcie (int generation) {
  char name[] = "pcie0";
  if (generation < 3 || generation > 6)
    return NULL;
  name[4] = (char) ('0' + generation);
  int row = ls_catalogue_row (&ls_link_catalogue, name);
  LS_REQUIRE (row >= 0, "no row %s", name);
  return &links[row];
}

const LsLink *ls_link_socket (int pcie_generation) {
  const char *name = pcie_generation <= 3   ? "socket-pcie3"
                     : pcie_generation == 4 ? "socket-pcie4"
                                            : "socket-pcie5";
  int row = ls_catalogue_row (&ls_link_catalogue, name);
  LS_REQUIRE (row >= 0, "no row %s", name);
  return &links[row];
}

gboolean ls_link_fact (const LsLink *link, guint i, LsFact *fact) {
  LsFactList list = {.n = 0};
  ls_fact_list_add (&list, "rate", LS_DIMENSION_BYTES_PER_S, link->bytes_per_s, link->status,
                    link->source);
  ls_fact_list_add_sourced (&list, "efficiency", LS_DIMENSION_FRACTION, &link->efficiency);
  ls_fact_list_add_sourced (&list, "latency", LS_DIMENSION_TIME, &link->latency_s);
  return ls_fact_list_get (&list, i, fact);
}

/* The rows as a catalogue. */

static const char *row_name (guint row) {
  return ls_link_get (row)->name;
}

static const char *row_title (guint row) {
  return ls_link_get (row)->title;
}

static const char *row_aliases (guint row) {
  return ls_link_get (row)->aliases;
}

static const char *row_notes (guint row) {
  return ls_link_get (row)->notes;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  return ls_link_fact (ls_link_get (row), i, fact);
}

const LsCatalogue ls_link_catalogue = {.noun = "link",
                                       .kind = "links",
                                       .summary = "links between the devices of a node",
                                       .count = ls_link_count,
                                       .name = row_name,
                                       .title = row_title,
                                       .aliases = row_aliases,
                                       .notes = row_notes,
                                       .fact = row_fact};
