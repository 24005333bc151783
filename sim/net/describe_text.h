/* Pieces of text that the files which describe clusters share. */
#pragma once

#include "net/topology.h"

/* "50 GB/s", "500 ns" (transfer full). */
char *ls_describe_rate (double bytes_per_s);
char *ls_describe_time (gint64 ps);

/* describe_node.c: a node of a group. */
void ls_describe_group (GString *text, const LsCluster *cluster, guint group);
/* describe_fabric.c: a fabric with its tiers, counts, bisection. */
void ls_describe_fabric (GString *text, const LsTopology *topology, guint fabric);
