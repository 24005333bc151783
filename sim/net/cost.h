/* What a phase, or one message, costs under a protocol: latency, bandwidth, bytes on the wire.
 *
 * Model:   T = launch + base + sum over rounds of their hops + flow x bytes / rate; launch and base once
 *          per kernel: once for all but hierarchical algorithms, whose levels are collectives in turn. Hops
 *          are those of protocol.h; a round across also passes the switches of its fabric and what its
 *          adapters add over InfiniBand's. A message has the hop of its own path and bytes.
 * Pure:    no clock, no state. This is the time alone; the engine gives the time in company.
 */
#pragma once

#include "net/algorithm.h"
#include "net/phases.h"

/* A tree inside a node reaches this share of the ring's bandwidth.
 * source: NCCL @5067397 src/graph/tuning.cc */
#define LS_TREE_SHARE 0.92

typedef struct {
  double latency_s;
  double wire;     /* bytes on a link per byte of payload, >= 1 */
  double rate_cap; /* bytes of flow per second; INFINITY: none */
  double rate;     /* alone, the cap included */
} LsPhaseCost;

/* May the protocol run this? In-network: Simple only; LL128: not over PCIe; IDEAL: only if the scenario
 * says so, and then alone. `algorithm` NULL: a single message. */
gboolean ls_cost_allows (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                         LsProtocol protocol);
LsPhaseCost ls_cost_phase (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                           const LsPhaseLoad *load, LsProtocol protocol, gint64 bytes);
/* latency + flow / rate */
double ls_cost_phase_s (const LsPhaseLoad *load, const LsPhaseCost *cost, gint64 bytes);

/* Launch and base latency of a kernel. */
double ls_cost_launch_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                         LsProtocol protocol);
/* One hop of a message of `chunk` bytes in a collective of `bytes`. */
double ls_cost_hop_s (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm, LsHop hop,
                      gboolean switched, LsProtocol protocol, double chunk, gint64 bytes);
/* Share of the links inside a node that payload reaches. */
double ls_cost_link_share (const LsGroupShape *shape, const LsAlgorithmRecord *algorithm,
                           gboolean switched, LsProtocol protocol);
/* Bytes on the wire per byte of payload. */
double ls_cost_wire (LsProtocol protocol);
/* Parallel rings or trees that NCCL would spread a large message over: for information, bandwidth comes
 * from links. */
guint ls_cost_channels (const LsGroupShape *shape);
