#pragma once
/* The table behind nodes.h; for the files of that catalogue only. */
#include "hw/nodes.h"

extern const LsNode ls_node_rows[];
extern const guint ls_node_n_rows;
