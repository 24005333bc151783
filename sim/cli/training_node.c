/* The node that a row of a training table ran on, see docs/validation.md.
 *
 * Model:      of the presets with the row's accelerator and count, the one whose adapters are those that the row names, else
 *             nearest in rate to what it states; parts of nodes where no whole one has that count; racks dealt in equal parts.
 * Leaves out: nodes that no preset is like (the row is skipped, with a reason).
 */
#include <math.h>

#include "base/quantity.h"
#include "cli/training_reader.h"

/* Chips of the cubes that slices of v4 and v5p are made of, and the most that a node may have. */
#define CUBE 64
#define LARGEST_TORUS 1024
/* GPUs of a tray of a rack. */
#define NVL72_TRAY 4
/* Letters of a name that no other word has in it. */
#define LEAST_NAME 8

/* Do the words on the network name the adapter ("4x Omni-Path 100 Gbit/s per node")? */
static gboolean named_in (const LsNic *nic, const char *fabric) {
  g_auto (GStrv) words = g_strsplit (nic != NULL ? nic->aliases : "", " ", -1);

  for (guint i = 0; words[i]; i++)
    if (strlen (words[i]) >= LEAST_NAME && strstr (fabric, words[i]))
      return TRUE;
  return FALSE;
}

/* Does the row name a generation of InfiniBand as what joins its nodes? */
static gboolean on_infiniband (const Reader *reader) {
  static const char *const names[] = {"infiniband", " edr", " hdr", " ndr", " xdr"};

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (says (reader, "inter_node", names[i]))
      return TRUE;
  return FALSE;
}

/* Has the node as many accelerators as the row says? Or, of a part of a node, more, on links of their own each: four H100
 * of eight. */
static gboolean has_count (const LsNode *node, gint64 gpus, gboolean part) {
  if (part)
    return node->gpus > gpus && node->joint != LS_JOINT_CUBE_MESH && node->joint != LS_JOINT_TORUS;
  return node->gpus == gpus || node->gpus == LS_NVL72_GPUS;
}

/* The node preset with that GPU and count (or of more, @part) whose adapters the fabric names, else are nearest to the stated
 * rate per GPU, and of the stated kind; the first of equals, so catalogue order decides when no rate is stated. */
static const LsNode *find_node (const LsTrainingRow *row, const char *fabric, gboolean infiniband,
                                gboolean part) {
  g_autofree char *lower = g_ascii_strdown (fabric, -1);
  const LsNode *best = NULL;
  double best_gap = G_MAXDOUBLE;

  for (guint i = 0; i < ls_node_count (); i++) {
    const LsNode *node = ls_node_get (i);
    const LsNic *nic = node->nic ? ls_nic_find (node->nic, NULL) : NULL;
    double gbit_s = nic ? nic->bytes_per_s * 8e-9 * node->nics / node->gpus : 0;
    double gap = named_in (nic, lower) ? -1
                 : row->nic_gbit_s > 0 ? fabs (gbit_s - row->nic_gbit_s)
                                       : 0;

    if (!g_str_equal (node->gpu, row->gpu->name) || !has_count (node, row->gpus_per_node, part) ||
        (infiniband && (nic == NULL || !g_str_has_prefix (nic->name, "cx"))))
      continue;
    if (gap < best_gap) {
      best = node;
      best_gap = gap;
    }
  }
  return best;
}

/* "4x200 Gb/s HDR per node": adapters and Gbit/s per GPU; nothing is set when the field reads otherwise. */
static void read_node_rate (const char *field, LsTrainingRow *out) {
  g_auto (GStrv) words = g_strsplit (field, " ", 2);
  g_auto (GStrv) factors = words[0] ? g_strsplit (words[0], "x", 2) : NULL;
  double count, rate;

  if (!factors || !factors[0] || !factors[1] || !words[1] || !g_str_has_prefix (words[1], "Gb/s") ||
      !strstr (words[1], "per node") || !ls_number_parse (factors[0], &count) ||
      !ls_number_parse (factors[1], &rate) || count < 1 || count > 1024 || count != floor (count) ||
      rate <= 0)
    return;
  out->nics = (gint64) count;
  out->nic_gbit_s = count * rate / (double) out->gpus_per_node;
}

/* Trays of 4 in a rack-wide NVLink domain: the job takes equal parts of as few domains as it can, as their
 * schedulers do (256 GPUs: 4 x 64 of 72). */
static void widen_to_domain (const Reader *reader, LsTrainingRow *out) {
  gint64 domain = 0;

  for (guint i = 0; i < ls_node_count (); i++)
    if (g_str_equal (ls_node_get (i)->gpu, out->gpu->name) &&
        ls_node_get (i)->gpus == LS_NVL72_GPUS)
      domain = LS_NVL72_GPUS;
  if (domain == 0 || out->gpus_per_node != NVL72_TRAY ||
      !(says (reader, "intra_node", "nvl72") || says (reader, "gpu", "nvl72") ||
        says (reader, "intra_node", "nvlink")))
    return;
  for (gint64 size = domain; size >= NVL72_TRAY; size -= NVL72_TRAY)
    if (out->gpus % size == 0 || out->gpus <= size) {
      out->gpus_per_node = MIN (size, out->gpus);
      return;
    }
}

/* The preset with the largest torus of that accelerator; NULL: it has none. */
static const LsNode *find_slice (const LsAccelerator *gpu) {
  const LsNode *slice = NULL;

  for (guint i = 0; i < ls_node_count (); i++) {
    const LsNode *node = ls_node_get (i);

    if (node->joint == LS_JOINT_TORUS && g_str_equal (node->gpu, gpu->name) &&
        (slice == NULL || node->gpus > slice->gpus))
      slice = node;
  }
  return slice;
}

/* Sides of the torus of `chips` that is nearest to a cube (a square: `flat`), the least first; of whole cubes of 4 x 4 x 4 where
 * there are, as slices are made of (docs.cloud.google.com/tpu/docs/v4, v5p: topologies). */
static void shape_torus (gint64 chips, gboolean flat, int side[3]) {
  const gint64 step = !flat && chips % CUBE == 0 ? 4 : 1;
  gint64 least = G_MAXINT64;

  for (gint64 x = step; x * x * x <= chips && !(flat && x > 1); x += step)
    for (gint64 y = MAX (x, step); x * y * y <= chips; y += step)
      if (chips % (x * y) == 0 && chips / (x * y) % step == 0 && x + y + chips / (x * y) < least) {
        least = x + y + chips / (x * y);
        side[0] = (int) x, side[1] = (int) y, side[2] = (int) (chips / (x * y));
      }
}

/* Hosts of a torus are no nodes: their chips are joined to those of the next host as to each other. A job has one slice, or
 * several whole pods where those are squares (v5e, v6e), which the hosts' network joins. */
static void find_torus (const LsNode *slice, LsTrainingRow *out) {
  const gboolean flat = slice->torus[2] == 0;

  out->gpus_per_node = flat && out->gpus % slice->gpus == 0 ? slice->gpus : out->gpus;
  if (out->gpus_per_node > LARGEST_TORUS || (flat && out->gpus_per_node > slice->gpus))
    return;
  out->node = slice;
  shape_torus (out->gpus_per_node, flat, out->torus);
}

/* Gbit/s per GPU of the B300 machines of Megatron-Bridge's tables, which leave their network open (NDR or XDR): as much as
 * B200's. INFERRED from mbridge-26.02-518 and -519 of train_nvidia_nemo_mbridge.csv: one layout whose all-to-alls over nodes
 * bound it takes as long on either, 9.80 and 10.18 s; with 800 the former would take 6.6. */
#define BRIDGE_B300_GBIT_S 400

void ls_training_find_node (const Reader *reader, LsTrainingRow *out) {
  const gint64 stated_gpus = out->gpus_per_node;
  const LsNode *slice = find_slice (out->gpu);

  if (slice != NULL) {
    find_torus (slice, out);
    return;
  }
  if (*text (reader, "inter_node_per_gpu_gbit_s") == '\0')
    read_node_rate (text (reader, "inter_node"), out);
  widen_to_domain (reader, out);
  if (out->gpus_per_node != stated_gpus)
    out->nics = 0;
  /* Whole nodes before parts, and of either those of the kind of network before others. */
  for (guint i = 0; i < 4 && !out->node; i++)
    out->node =
        find_node (out, text (reader, "fabric"), i % 2 == 0 && on_infiniband (reader), i >= 2);
  if (out->nic_gbit_s == 0 && says (reader, "framework", "bridge") &&
      g_str_equal (out->gpu->name, "b300-sxm-288gb"))
    out->nic_gbit_s = BRIDGE_B300_GBIT_S;
}
