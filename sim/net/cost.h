/* What a run of rounds costs under a protocol: latency, bandwidth, bytes on the wire.
 *
 * Model:   T = launch + base + sum over runs (rounds inside x hop inside + rounds across x hop across
 *          + flow x bytes / rate); launch and base once per
 *          kernel: once for all but hierarchical algorithms, whose levels are collectives in turn. Hops are those of protocol.h; a round across
 *          also passes the switches of its fabric and what its adapters add over InfiniBand's.
 * Pure:    no clock, no state. This is the time alone; the engine gives the time in company.
 */
#pragma once

#include "net/rounds.h"

/* A tree inside a node reaches this share of the ring's bandwidth.
 * source: NCCL @5067397 src/graph/tuning.cc */
#define LS_TREE_SHARE 0.92

typedef struct {
  double latency_s;
  double wire;     /* bytes on a link per byte of payload, >= 1 */
  double rate_cap; /* bytes of flow per second; INFINITY: none */
  double rate;     /* alone, the cap included */
} LsRunCost;

/* May the protocol run this? IN_NETWORK: Simple only; LL128: not over PCIe; IDEAL: only if the
 * scenario says so, and then alone. */
gboolean ls_cost_allows (const LsGroupShape *shape, const LsRunLoad *load, LsProtocol protocol);
LsRunCost ls_cost_run (const LsGroupShape *shape, const LsRunLoad *load, LsProtocol protocol,
                       gint64 bytes);
/* latency + flow / rate */
double ls_cost_run_s (const LsRunLoad *load, const LsRunCost *cost, gint64 bytes);
