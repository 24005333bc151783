/* Network adapters and switches, one row per product class.
 *
 * Rates are one direction of one port. An adapter's latency is what it adds to a message one way; the
 * end-to-end latency of a GPU to GPU message also has PCIe and software in it and belongs to sim/net. */
#include "hw/nics.h"

#include "base/assert.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"

#define STAS "stas00/ml-engineering @744d01e, network/README.md"
/* 400 Gb/s = 50e9 bytes/s. */
#define GBIT(x) ((x) *1e9 / 8)

#define SHARE_IB                                                              \
  {                                                                           \
    .value = 0.96, .status = LS_FACT_FOUND,                                   \
    .source = "NCCL @5067397 src/graph/topo.h: 12.0 of 12.5 GB/s at 100 Gb/s" \
  }
#define SHARE_ROCE                                        \
  {                                                       \
    .value = 0.92, .status = LS_FACT_ASSUMED,             \
    .source = "RoCE v2 headers at 4 KiB and flow control" \
  }
#define SHARE_CLOUD                                                                       \
  {                                                                                       \
    .value = 0.945, .status = LS_FACT_FITTED,                                             \
    .source = "bus bandwidth / line rate of large rings: 188.7 / 200 GB/s (GCP a3-mega)," \
              " 381.8 / 400 GB/s (AWS p6-b200)"                                           \
  }
/* NCCL 2.10.3 through the verbs interface (no PSM2 plugin, no GPUDirect), two channels: every ring sends by hfi1_3 and
 * receives by hfi1_1, as the log shows. */
#define OPA_RING                                                                        \
  "bigscience-workshop/bigscience, experiments/bandwidth/all_reduce_bench-a100-n4.txt " \
  "@358e3c8: bus bandwidth 40.5 Gb/s through one adapter, 4 GB over 32 A100 on Jean Zay"
#define LATENCY_HDR \
  { .value = 0.6e-6, .status = LS_FACT_FOUND, .source = STAS ": HDR adapter" }
#define LATENCY_EDR \
  { .value = 0.5e-6, .status = LS_FACT_FOUND, .source = STAS ": EDR adapter" }
#define LATENCY_LATER                                   \
  {                                                     \
    .value = 0.6e-6, .status = LS_FACT_ASSUMED,         \
    .source = "as HDR: NDR and later are not published" \
  }
#define LATENCY_CLOUD \
  { .value = 8e-6, .status = LS_FACT_ASSUMED, .source = "cloud transports, several microseconds" }

#define FITTED(x, from) \
  { .value = (x), .status = LS_FACT_FITTED, .source = "nccl-tests " from }
#define ON_P5 "all-reduce of 16 ranks on AWS P5 (two logs)"
#define ON_P6 "all-reduce of 32 ranks on AWS P6-B200"
#define ON_A3_MEGA "all-gather of 16 ranks on GCP A3 Mega"
#define ON_ALPS "all-reduce of 8 ranks on two nodes of Alps (CSCS)"
#define ON_A3_ULTRA "all-gather of 16 ranks on GCP A3 Ultra"

static const LsNic nics[] = {
    {.name = "cx5-100",
     .aliases = "connectx-5 cx5 edr",
     .title = "ConnectX-5 EDR, 100 Gb/s",
     .bytes_per_s = GBIT (100),
     .efficiency = SHARE_IB,
     .latency_s = LATENCY_EDR,
     .source = STAS,
     .status = LS_FACT_RECALLED},
    {.name = "cx6-200",
     .aliases = "connectx-6 cx6 hdr",
     .title = "ConnectX-6 HDR, 200 Gb/s",
     .bytes_per_s = GBIT (200),
     .efficiency = SHARE_IB,
     .latency_s = LATENCY_HDR,
     .source = STAS,
     .status = LS_FACT_RECALLED},
    {.name = "cx7-400",
     .aliases = "connectx-7 cx7 ndr",
     .title = "ConnectX-7 NDR, 400 Gb/s",
     .bytes_per_s = GBIT (400),
     .efficiency = SHARE_IB,
     .latency_s = LATENCY_LATER,
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "cx8-800",
     .aliases = "connectx-8 cx8 xdr",
     .title = "ConnectX-8 XDR, 800 Gb/s",
     .bytes_per_s = GBIT (800),
     .efficiency = SHARE_IB,
     .latency_s = LATENCY_LATER,
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "cx9-1600",
     .aliases = "connectx-9 cx9",
     .title = "ConnectX-9, 1.6 Tb/s",
     .bytes_per_s = GBIT (1600),
     .efficiency = SHARE_IB,
     .latency_s = LATENCY_LATER,
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "opa-100",
     .aliases = "omni-path omnipath",
     .title = "Omni-Path 100 Gb/s",
     .bytes_per_s = GBIT (100),
     .efficiency = {.value = 0.405, .status = LS_FACT_FOUND, .source = OPA_RING},
     .latency_s = {.value = 1e-6, .status = LS_FACT_ASSUMED, .source = "host-driven transport"},
     .source = "BigScience on Jean Zay, train_bigscience notes",
     .status = LS_FACT_FOUND},
    {.name = "roce-100",
     .aliases = "ethernet-100",
     .title = "RoCE adapter, 100 Gb/s",
     .bytes_per_s = GBIT (100),
     .efficiency = FITTED (0.955, "all-reduce of 16 ranks on OCI, 16 x 100 Gb/s"),
     .latency_s = LATENCY_LATER,
     .source = "line rate",
     .status = LS_FACT_DERIVED},
    {.name = "roce-200",
     .aliases = "ethernet-200",
     .title = "RoCE adapter, 200 Gb/s",
     .bytes_per_s = GBIT (200),
     .efficiency = SHARE_ROCE,
     .latency_s = LATENCY_LATER,
     .source = "line rate",
     .status = LS_FACT_DERIVED},
    {.name = "roce-400",
     .aliases = "ethernet-400",
     .title = "RoCE adapter, 400 Gb/s",
     .bytes_per_s = GBIT (400),
     .efficiency =
         FITTED (0.87, "all-gather on GCP A3 Ultra (82 %), all-reduce on OCI MI300X (88 %)"),
     .latency_s = LATENCY_LATER,
     .step_s = FITTED (36e-6, ON_A3_ULTRA),
     .source = "line rate",
     .status = LS_FACT_DERIVED},
    {.name = "efa-100",
     .aliases = "efa",
     .title = "AWS EFA, 100 Gb/s",
     .bytes_per_s = GBIT (100),
     .efficiency = SHARE_CLOUD,
     .latency_s = LATENCY_CLOUD,
     .step_s = FITTED (28e-6, ON_P5),
     .fill_s = FITTED (220e-6, ON_P5),
     .fill_bytes = FITTED (9e6, ON_P5),
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "efa-200",
     .aliases = "efa-v3",
     .title = "AWS EFA, 200 Gb/s",
     .bytes_per_s = GBIT (200),
     .efficiency = SHARE_CLOUD,
     .latency_s = LATENCY_CLOUD,
     .step_s = {.value = 28e-6, .status = LS_FACT_ASSUMED, .source = "as EFA 100"},
     .fill_s = {.value = 220e-6, .status = LS_FACT_ASSUMED, .source = "as EFA 100"},
     .fill_bytes = {.value = 9e6, .status = LS_FACT_ASSUMED, .source = "as EFA 100"},
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "efa-400",
     .aliases = "efa-v4",
     .title = "AWS EFA, 400 Gb/s",
     .bytes_per_s = GBIT (400),
     .efficiency = SHARE_CLOUD,
     .latency_s = LATENCY_CLOUD,
     .step_s = FITTED (80e-6, ON_P6),
     .fill_s = FITTED (25e-6, ON_P6),
     .fill_bytes = FITTED (10e6, ON_P6),
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "gvnic-200",
     .aliases = "gpudirect-tcpx",
     .title = "Google gVNIC, 200 Gb/s",
     .bytes_per_s = GBIT (200),
     .efficiency = SHARE_CLOUD,
     .latency_s = LATENCY_CLOUD,
     .step_s = FITTED (66e-6, ON_A3_MEGA),
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "slingshot-200",
     .aliases = "slingshot-11 cassini",
     .title = "HPE Slingshot-11 adapter, 200 Gb/s",
     .bytes_per_s = GBIT (200),
     .efficiency = SHARE_CLOUD,
     .latency_s = LATENCY_LATER,
     .fill_s = FITTED (60e-6, ON_ALPS),
     .fill_bytes = FITTED (20e3, ON_ALPS),
     .source = "line rate",
     .status = LS_FACT_DERIVED},
    {.name = "ethernet-25",
     .aliases = "25gbe",
     .title = "Ethernet adapter, 25 Gb/s",
     .bytes_per_s = GBIT (25),
     .efficiency = {.value = 0.90, .status = LS_FACT_ASSUMED, .source = "TCP"},
     .latency_s = {.value = 15e-6, .status = LS_FACT_ASSUMED, .source = "TCP through the kernel"},
     .source = "line rate",
     .status = LS_FACT_DERIVED},
    {.name = "ethernet-10",
     .aliases = "10gbe",
     .title = "Ethernet adapter, 10 Gb/s",
     .bytes_per_s = GBIT (10),
     .efficiency = {.value = 0.90, .status = LS_FACT_ASSUMED, .source = "TCP"},
     .latency_s = {.value = 15e-6, .status = LS_FACT_ASSUMED, .source = "TCP through the kernel"},
     .source = "line rate",
     .status = LS_FACT_DERIVED},
};

static const LsSwitch switches[] = {
    {.name = "sb7800",
     .aliases = "edr-switch",
     .title = "SB7800 EDR InfiniBand",
     .ports = 36,
     .port_bytes_per_s = GBIT (100),
     .latency_s = {.value = 0.09e-6, .status = LS_FACT_RECALLED, .source = "product brief"},
     .source = "product brief",
     .status = LS_FACT_RECALLED},
    {.name = "quantum",
     .aliases = "qm8700",
     .title = "Quantum QM8700 HDR InfiniBand",
     .ports = 40,
     .port_bytes_per_s = GBIT (200),
     .latency_s = {.value = 0.13e-6, .status = LS_FACT_RECALLED, .source = "product brief"},
     .source = "product brief",
     .status = LS_FACT_RECALLED},
    {.name = "quantum2",
     .aliases = "qm9700 quantum-2",
     .title = "Quantum-2 QM9700 NDR InfiniBand",
     .ports = 64,
     .port_bytes_per_s = GBIT (400),
     .latency_s = {.value = 0.33e-6,
                   .status = LS_FACT_FOUND,
                   .source = "yobitel.com: about 330 ns; router-switch.com says below 150 ns"},
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "quantum-x800",
     .aliases = "q3400",
     .title = "Quantum-X800 Q3400 XDR InfiniBand",
     .ports = 144,
     .port_bytes_per_s = GBIT (800),
     .latency_s = {.value = 0.33e-6, .status = LS_FACT_ASSUMED, .source = "as Quantum-2"},
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "spectrum4",
     .aliases = "sn5600 spectrum-4",
     .title = "Spectrum-4 SN5600 Ethernet",
     .ports = 64,
     .port_bytes_per_s = GBIT (800),
     .latency_s = {.value = 0.8e-6, .status = LS_FACT_ASSUMED, .source = "Ethernet switch class"},
     .source = STAS,
     .status = LS_FACT_FOUND},
    {.name = "slingshot11",
     .aliases = "rosetta slingshot-11",
     .title = "Slingshot-11 Rosetta",
     .ports = 64,
     .port_bytes_per_s = GBIT (200),
     .latency_s = {.value = 0.35e-6, .status = LS_FACT_RECALLED, .source = "HPE, per hop"},
     .source = "glennklockwood.com Slingshot",
     .status = LS_FACT_FOUND},
};

guint ls_nic_count (void) {
  return G_N_ELEMENTS (nics);
}

const LsNic *ls_nic_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (nics), "NIC %u", i);
  return &nics[i];
}

const LsNic *ls_nic_find (const char *name, GError **error) {
  int row = ls_catalogue_lookup (&ls_nic_catalogue, name, error);
  return row < 0 ? NULL : &nics[row];
}

gboolean ls_nic_fact (const LsNic *nic, guint i, LsFact *fact) {
  LsFactList list = {.n = 0};
  ls_fact_list_add (&list, "rate", LS_DIMENSION_BYTES_PER_S, nic->bytes_per_s, nic->status,
                    nic->source);
  ls_fact_list_add_sourced (&list, "efficiency", LS_DIMENSION_FRACTION, &nic->efficiency);
  ls_fact_list_add_sourced (&list, "latency", LS_DIMENSION_TIME, &nic->latency_s);
  if (nic->step_s.value > 0)
    ls_fact_list_add_sourced (&list, "step", LS_DIMENSION_TIME, &nic->step_s);
  if (nic->fill_s.value > 0) {
    ls_fact_list_add_sourced (&list, "fill", LS_DIMENSION_TIME, &nic->fill_s);
    ls_fact_list_add_sourced (&list, "fill_bytes", LS_DIMENSION_BYTES, &nic->fill_bytes);
  }
  return ls_fact_list_get (&list, i, fact);
}

guint ls_switch_count (void) {
  return G_N_ELEMENTS (switches);
}

const LsSwitch *ls_switch_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (switches), "switch %u", i);
  return &switches[i];
}

gboolean ls_switch_fact (const LsSwitch *row, guint i, LsFact *fact) {
  LsFactList list = {.n = 0};
  ls_fact_list_add (&list, "ports", LS_DIMENSION_COUNT, row->ports, row->status, row->source);
  ls_fact_list_add (&list, "port_rate", LS_DIMENSION_BYTES_PER_S, row->port_bytes_per_s,
                    row->status, row->source);
  ls_fact_list_add_sourced (&list, "latency", LS_DIMENSION_TIME, &row->latency_s);
  return ls_fact_list_get (&list, i, fact);
}

/* The rows as catalogues. */

static const char *nic_name (guint row) {
  return ls_nic_get (row)->name;
}

static const char *nic_title (guint row) {
  return ls_nic_get (row)->title;
}

static const char *nic_aliases (guint row) {
  return ls_nic_get (row)->aliases;
}

static const char *no_notes (guint row) {
  (void) row;
  return NULL;
}

static gboolean nic_fact (guint row, guint i, LsFact *fact) {
  return ls_nic_fact (ls_nic_get (row), i, fact);
}

const LsCatalogue ls_nic_catalogue = {.noun = "network adapter",
                                      .kind = "nics",
                                      .summary = "network adapters",
                                      .count = ls_nic_count,
                                      .name = nic_name,
                                      .title = nic_title,
                                      .aliases = nic_aliases,
                                      .notes = no_notes,
                                      .fact = nic_fact};

static const char *switch_name (guint row) {
  return ls_switch_get (row)->name;
}

static const char *switch_title (guint row) {
  return ls_switch_get (row)->title;
}

static const char *switch_aliases (guint row) {
  return ls_switch_get (row)->aliases;
}

static gboolean switch_fact (guint row, guint i, LsFact *fact) {
  return ls_switch_fact (ls_switch_get (row), i, fact);
}

const LsCatalogue ls_switch_catalogue = {.noun = "switch",
                                         .kind = "switches",
                                         .summary = "network switches",
                                         .count = ls_switch_count,
                                         .name = switch_name,
                                         .title = switch_title,
                                         .aliases = switch_aliases,
                                         .notes = no_notes,
                                         .fact = switch_fact};
