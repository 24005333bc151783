/* What the files that read `cluster` share: cluster_read.c (all of it), read_fabric.c, read_graph.c and
 * read_node.c. Bases are paths of maps ("cluster.fabrics.compute"); names are keys below them. */
#pragma once

#include "net/cluster.h"

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  GArray *fabrics;  /* LsFabricSpec */
  GPtrArray *names; /* of fabrics; NULL ends them once all are read */
  GArray *groups;   /* LsNodeGroup, numbered when all are read */
} LsClusterReader;

char *ls_cluster_read_key (const char *base, const char *name);
gboolean ls_cluster_read_has (LsClusterReader *reader, const char *base, const char *name);
double ls_cluster_read_quantity (LsClusterReader *reader, const char *base, const char *name,
                                 double otherwise);
/* A whole number that has a default. */
guint ls_cluster_read_count (LsClusterReader *reader, const char *base, const char *name);
double ls_cluster_read_number (LsClusterReader *reader, const char *base, const char *name);
guint ls_cluster_read_integer (LsClusterReader *reader, const char *base, const char *name,
                               guint otherwise);
gboolean ls_cluster_read_bool (LsClusterReader *reader, const char *base, const char *name);
gint64 ls_cluster_read_time_ps (LsClusterReader *reader, const char *base, const char *name,
                                gint64 otherwise);
/* The text of a key, NULL when it was not given. */
const char *ls_cluster_read_text (LsClusterReader *reader, const char *base, const char *name);
/* A list of words (transfer full), empty when it was not given. */
char **ls_cluster_read_words (LsClusterReader *reader, const char *base, const char *name);
void ls_cluster_read_fault (LsClusterReader *reader, const char *base, const char *name,
                            const char *message);
/* The same with a message that it frees. */
void ls_cluster_read_fault_take (LsClusterReader *reader, const char *base, const char *name,
                                 char *message);
/* A catalogue's "unknown name" error becomes a fault at the key. */
void ls_cluster_read_unknown (LsClusterReader *reader, const char *base, const char *name,
                              GError *error);
void ls_cluster_read_no_effect (LsClusterReader *reader, const char *base, const char *name,
                                const char *reason);
/* The position of `word` in a list of words that the schema has checked already. */
guint ls_cluster_read_index_of (const char *word, const char *(*name) (guint), guint n);
/* Sizes and rings of a torus from `dims` and `wrap`; returns how many dimensions. */
guint ls_cluster_read_dimensions (LsClusterReader *reader, const char *base, guint *size,
                                  gboolean *wrap);

/* The fabric called `name`; a fault at BASE.fabric when there is none. */
guint ls_cluster_read_find_fabric (LsClusterReader *reader, const char *base, const char *name);
/* "BASE.NAME" with NAME quoted where it must be. */
char *ls_cluster_read_below (const char *base, const char *name);

/* read_fabric.c */
void ls_cluster_read_fabrics (LsClusterReader *reader);
/* Sizes that follow from the nodes, and whether they fit; groups are numbered. */
void ls_cluster_read_finish_fabrics (LsClusterReader *reader);
/* read_graph.c: vertices, edges and routes as given; ports once the groups are numbered. */
void ls_cluster_read_graph (LsClusterReader *reader, const char *base, LsFabricSpec *fabric);
void ls_cluster_read_finish_graph (LsClusterReader *reader, const char *base, guint fabric);
/* read_node.c */
gboolean ls_cluster_read_node (LsClusterReader *reader, const char *base, LsNodeSpec *node);
/* read_mig.c: after the links of whole GPUs. */
void ls_cluster_read_mig (LsClusterReader *reader, const char *base, LsNodeSpec *node);
/* cluster_settled.c: what keys of nodes that are left open came to, for --explain. */
void ls_cluster_reader_settled (LsConfig *config, const LsCluster *cluster);
/* read_links.c: overrides, then what only a topology can tell: names of links, reach, routes. */
void ls_cluster_read_links (LsClusterReader *reader, LsCluster *cluster);
