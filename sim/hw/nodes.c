/* Node shapes: finding rows, how devices are joined, and the provenance of the numbers. */
#include "hw/nodes.h"

#include "base/assert.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"
#include "hw/node_rows.h"

static const struct {
  const char *word;
  const char *meaning;
} joints[] = {
#define LS_JOINT_ROW(id, word, meaning) [LS_JOINT_##id] = {word, meaning},
    LS_JOINTS (LS_JOINT_ROW)
#undef LS_JOINT_ROW
};

/* NVLinks between the GPUs of the hybrid cube mesh: two quads, each fully joined, and every GPU to its
 * image in the other quad; six links each.
 * Source: `nvidia-smi topo -m` of DGX-1V, general knowledge; the row sums are tested. */
static const guint8 cube_mesh[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                       {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                       {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                       {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

const char *ls_joint_name (LsJoint joint) {
  LS_REQUIRE (joint < LS_N_JOINTS, "joint %d", (int) joint);
  return joints[joint].word;
}

const char *ls_joint_meaning (LsJoint joint) {
  LS_REQUIRE (joint < LS_N_JOINTS, "joint %d", (int) joint);
  return joints[joint].meaning;
}

int ls_node_links_between (LsJoint joint, int gpus, int links, int a, int b) {
  LS_REQUIRE (a >= 0 && a < gpus && b >= 0 && b < gpus, "devices %d and %d of %d", a, b, gpus);
  if (a == b)
    return 0;
  switch (joint) {
  case LS_JOINT_CUBE_MESH:
    return a < 8 && b < 8 ? cube_mesh[a][b] : 0;
  case LS_JOINT_FULL_MESH:
    return links / (gpus - 1);
  case LS_JOINT_BRIDGE:
    return a / 2 == b / 2 ? links : 0;
  default:
    return 0;
  }
}

guint ls_node_count (void) {
  return ls_node_n_rows;
}

const LsNode *ls_node_get (guint i) {
  LS_REQUIRE (i < ls_node_n_rows, "node %u", i);
  return &ls_node_rows[i];
}

const LsNode *ls_node_find (const char *name, GError **error) {
  int row = ls_catalogue_lookup (&ls_node_catalogue, name, error);
  return row < 0 ? NULL : &ls_node_rows[row];
}

char *ls_node_none (int gpus, const char *gpu) {
  g_autoptr (GString) sizes = g_string_new (NULL);
  int size = 0;

  for (;;) {
    int next = G_MAXINT;

    for (guint i = 0; i < ls_node_count (); i++)
      if (g_str_equal (ls_node_get (i)->gpu, gpu) && ls_node_get (i)->gpus > size)
        next = MIN (next, ls_node_get (i)->gpus);
    if (next == G_MAXINT)
      break;
    size = next;
    g_string_append_printf (sizes, "%s%d", sizes->len > 0 ? ", " : "", size);
  }
  return size == 0 ? g_strdup_printf ("no node preset has %s", gpu)
                   : g_strdup_printf ("no node preset has %d of %s; there are nodes of %s", gpus,
                                      gpu, sizes->str);
}

gboolean ls_node_fact (const LsNode *node, guint i, LsFact *fact) {
  const char *host_source =
      node->host_status == LS_FACT_RECALLED ? "general knowledge" : node->source;
  const struct {
    const char *field;
    double value;
    LsDimension dimension;
    gboolean host;
  } numbers[] = {
      {"gpus", node->gpus, LS_DIMENSION_COUNT, FALSE},
      {"switches", node->switches, LS_DIMENSION_COUNT, FALSE},
      {"nics", node->nics, LS_DIMENSION_COUNT, FALSE},
      {"pcie_generation", node->pcie_generation, LS_DIMENSION_COUNT, FALSE},
      {"gpus_per_pcie_root", node->gpus_per_pcie_root, LS_DIMENSION_COUNT, TRUE},
      {"hosts", MAX (1, node->hosts), LS_DIMENSION_COUNT, FALSE},
      {"host_sockets", node->host_sockets, LS_DIMENSION_COUNT, TRUE},
      {"host_cores", node->host_cores, LS_DIMENSION_COUNT, TRUE},
      {"host_memory", (double) node->host_memory_bytes, LS_DIMENSION_BYTES, TRUE},
      {"host_memory_rate", node->host_memory_bytes_per_s, LS_DIMENSION_BYTES_PER_S, TRUE},
      {"nvme_rate", node->nvme_bytes_per_s, LS_DIMENSION_BYTES_PER_S, TRUE},
      {"nvme", (double) node->nvme_bytes, LS_DIMENSION_BYTES, TRUE},
  };
  LsFactList list = {.n = 0};
  ls_fact_list_add_text (&list, "gpu", node->gpu, node->status, node->source);
  ls_fact_list_add_text (&list, "joint", ls_joint_name (node->joint), node->status, node->source);
  ls_fact_list_add_text (&list, "link", node->link, node->status, node->source);
  ls_fact_list_add_text (&list, "nic", node->nic, node->status, node->source);
  for (guint k = 0; k < G_N_ELEMENTS (numbers); k++)
    ls_fact_list_add (&list, numbers[k].field, numbers[k].dimension, numbers[k].value,
                      numbers[k].host ? node->host_status : node->status,
                      numbers[k].host ? host_source : node->source);
  return ls_fact_list_get (&list, i, fact);
}

/* The rows as a catalogue. */

static const char *row_name (guint row) {
  return ls_node_get (row)->name;
}

static const char *row_title (guint row) {
  return ls_node_get (row)->title;
}

static const char *row_aliases (guint row) {
  return ls_node_get (row)->aliases;
}

static const char *row_notes (guint row) {
  return ls_node_get (row)->notes;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  return ls_node_fact (ls_node_get (row), i, fact);
}

const LsCatalogue ls_node_catalogue = {.noun = "node preset",
                                       .kind = "nodes",
                                       .summary = "node shapes: devices, links, adapters, host",
                                       .count = ls_node_count,
                                       .name = row_name,
                                       .title = row_title,
                                       .aliases = row_aliases,
                                       .notes = row_notes,
                                       .fact = row_fact};
