/* One network between nodes, as the scenario describes it: its kind and sizes, and for kinds that are
 * graphs its switches, cables, ports and routes.
 *
 * Rates are bytes per second in ONE direction, of the data sheet. Ownership: see cluster.h: a cluster
 * owns copies of everything.
 */
#pragma once

#include <glib.h>

/* id, word, meaning. */
#define LS_FABRIC_KINDS(X)                                                                       \
  X (FAT_TREE, "fat-tree", "two or three tiers of switches (Clos), one leaf per rail and nodes") \
  X (SINGLE_SWITCH, "single-switch", "one crossbar that never blocks inside")                    \
  X (DRAGONFLY, "dragonfly+", "groups of leaf and spine switches, cables between their spines")  \
  X (TORUS, "torus", "a router at each node, joined to its neighbours in every dimension")       \
  X (WAN, "wan", "links of long latency between sites, each with a fabric of its own")           \
  X (CUSTOM, "custom", "any graph of switches and links")

#define LS_ROUTINGS(X)                                                                        \
  X (SPRAY, "spray", "ideal spread over all shortest paths")                                  \
  X (ECMP, "ecmp", "one path per pair of adapters, chosen by a hash: collisions happen")      \
  X (RAIL, "rail", "as spray, but what must change rails does so over the links of its node") \
  X (STATIC, "static", "the routes given; other destinations each have one path of their own")

#define LS_ENUM_FABRIC(id, word, meaning) LS_FABRIC_##id,
typedef enum { LS_FABRIC_KINDS (LS_ENUM_FABRIC) LS_N_FABRIC_KINDS } LsFabricKind;
#define LS_ENUM_ROUTING(id, word, meaning) LS_ROUTING_##id,
typedef enum { LS_ROUTINGS (LS_ENUM_ROUTING) LS_N_ROUTINGS } LsRouting;

#define LS_MAX_DIMENSIONS 4

/* A switch of a custom graph, a site of a WAN. */
typedef struct {
  char *name;
  gint64 latency_ps; /* through it; < 0: the fabric's hop_latency */
  guint radix;       /* ports; 0: as many as needed */
  guint fabric;      /* WAN: the site's own fabric */
  char *gateway;     /* WAN: the switch of that fabric at which the link begins; NULL: its top */
} LsFabricVertex;

/* A cable (or `count` alike) between two of them. */
typedef struct {
  char *name;
  guint a, b; /* vertices */
  guint count;
  double bytes_per_s; /* of one */
  gint64 latency_ps;  /* of the cable, beside that of the switches */
} LsFabricEdge;

/* A cable from an adapter to a switch of a custom graph. */
typedef struct {
  guint node, port; /* port: number of the adapter among those of its node on this fabric */
  guint vertex;
  double bytes_per_s; /* 0: as the adapter */
  gint64 latency_ps;
} LsFabricPort;

/* A route of a person: from switch to switch through others. Of trees: `via` names a spine (and a
 * core). */
typedef struct {
  char *name;
  char *from, *to;
  char **via;
} LsFabricRoute;

typedef struct {
  char *name;
  LsFabricKind kind;
  LsRouting routing;
  double link_bytes_per_s;       /* one port; 0: as the adapter behind it */
  gint64 hop_latency_ps;         /* through one switch */
  guint rails;                   /* leaf groups that the adapters of a node are dealt to */
  gboolean rail_only;            /* no switch joins two rails */
  guint tiers;                   /* 2, 3; 0: as few as the radix allows */
  guint leaf_radix;              /* ports of a leaf switch */
  guint spine_radix;             /* of the switches above; 0: as many as needed */
  double oversubscription;       /* bandwidth to nodes / bandwidth to spines of a leaf */
  double spine_oversubscription; /* the same of a spine below a core */
  guint groups, group_leaves, group_spines, nodes_per_leaf, global_links; /* dragonfly+ */
  guint n_dimensions;                                                     /* torus */
  guint size[LS_MAX_DIMENSIONS];
  gboolean wrap[LS_MAX_DIMENSIONS];
  guint n_vertices, n_edges, n_ports, n_routes;
  LsFabricVertex *vertices;
  LsFabricEdge *edges;
  LsFabricPort *ports;
  LsFabricRoute *routes;
  gboolean single_links; /* every link of a tree is a resource of its own, whatever the routing */
  gboolean in_network;   /* the switches reduce and copy (SHARP) */
  double efficiency;     /* of adapters on it; 0: the adapter's own */
  gint64 hop_ps;         /* one round over it, all included; < 0: the protocol's plus the path */
  gint64 step_ps;        /* least time of a round of collectives at both ends; < 0: the adapter's */
  gboolean messages;     /* collectives over it run as single messages */
} LsFabricSpec;

const char *ls_fabric_kind_name (LsFabricKind kind);
const char *ls_fabric_kind_meaning (LsFabricKind kind);
const char *ls_routing_name (LsRouting routing);
const char *ls_routing_meaning (LsRouting routing);

/* A deep copy; what it owns is freed by ls_fabric_spec_clear(). */
LsFabricSpec ls_fabric_spec_copy (const LsFabricSpec *fabric);
void ls_fabric_spec_clear (LsFabricSpec *fabric);
/* Product of the sizes of a torus. */
guint ls_fabric_torus_size (const LsFabricSpec *fabric);
