/* Protocols of collectives and what they cost: latency per round, share of the wire that is payload.
 *
 * Model:      time of a round trip through a group = launch + base + rounds x hop + bytes on links,
 *             with a hop of its own for links inside a node and for the network. LL sends flags with
 *             every word (little latency, little bandwidth), LL128 with every 128-byte line, Simple
 *             whole buffers; its hop grows with the bytes per round until the buffers are full:
 *             hop + fill x c / (c + fill_bytes), c = bytes that a member sends per round.
 *             "ideal" has the latencies that the scenario gives and nothing else: alpha-beta.
 * Bandwidth:  never from here: it comes from the links of the simulated cluster. A protocol only
 *             says how many bytes cross a link per byte of payload (1 / efficiency).
 * Ownership:  rows and strings are static.
 */
#pragma once

#include "hw/links.h"

#define LS_PROTOCOLS(X)                                                                     \
  X (LL, "LL", "8-byte words with flags: least latency, half of the wire at best")          \
  X (LL128, "LL128", "128-byte lines with flags, where the link keeps them whole (NVLink)") \
  X (SIMPLE, "Simple", "whole buffers and one flag each: all of the wire")                  \
  X (IDEAL, "ideal", "alpha-beta: the latencies given in the scenario, all of the wire")

#define LS_ENUM_PROTOCOL(id, name, summary) LS_PROTOCOL_##id,
typedef enum { LS_PROTOCOLS (LS_ENUM_PROTOCOL) LS_N_PROTOCOLS } LsProtocol;

const char *ls_protocol_name (LsProtocol protocol);
const char *ls_protocol_summary (LsProtocol protocol);

/* Constants of collectives inside a node, one row per kind of link. All times in seconds; those per
 * protocol are indexed LL, LL128, SIMPLE. */
typedef struct {
  const char *link; /* row of hw/links.h; the last row, NULL, serves all others */
  /* Of the data sheet rate that a ring's payload reaches; 0: the link's own efficiency */
  LsSourced share;
  LsSourced pair_share;    /* of that, between two devices alone */
  LsSourced launch_s;      /* from the call to the first byte, beside the protocol's base */
  LsSourced ll_efficiency; /* of the ring's bandwidth */
  LsSourced ll128_efficiency;
  double hop_s[3]; /* one round of a ring */
  double tree_hop_s[3];
  const char *hop_source;
  LsSourced hop_scale;                    /* on all hops of this link */
  LsSourced fill_s, fill_bytes;           /* SIMPLE, as above */
  LsSourced nvls_share;                   /* in-network: share of the ring's bandwidth; 0: none */
  LsSourced nvls_hop_s;                   /* latency of the whole exchange */
  LsSourced nvls_fill_s, nvls_fill_bytes; /* c here is the message */
} LsLinkTuning;

/* The row of a link; a row always exists. `link` NULL: PCIe. */
const LsLinkTuning *ls_link_tuning_find (const LsLink *link);

/* Base latency of a collective per protocol, in seconds: of ring and of tree. */
double ls_protocol_base_s (LsProtocol protocol, gboolean tree);
/* One round over the network, software at both ends included, switches not. */
double ls_protocol_net_hop_s (LsProtocol protocol, gboolean tree);
/* Peers whose messages of an all-to-all are in flight at once. */
guint ls_protocol_peers_in_flight (LsProtocol protocol);
