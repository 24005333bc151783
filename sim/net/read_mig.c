/* `node.mig`: how the GPUs of a node are partitioned; see hw/mig.h.
 *
 * Model:   `mig` is of every GPU, `mig_gpus` of some by number instead. All GPUs of a node are under MIG or
 *          none; one that stays whole has its largest profile. Instances have neither links nor peers, so the
 *          joint of the node becomes PCIe. */
#include <string.h>

#include "base/assert.h"
#include "config/path.h"
#include "net/cluster_reader.h"

/* The highest number of a GPU in a word like "3-5": far above what any node has, so that ranges stay short. */
#define MOST_GPUS 1024

/* The instances that the list at BASE.NAME asks for; NULL after a fault. */
static GArray *read_places (LsClusterReader *reader, const char *base, const char *name,
                            const LsNodeSpec *node) {
  GError *error = NULL;
  g_auto (GStrv) items = ls_cluster_read_words (reader, base, name);
  GArray *places = ls_mig_place (node->gpu, (const char *const *) items, &error);
  if (places == NULL)
    ls_cluster_read_unknown (reader, base, name, error);
  return places;
}

/* "3" or "1-3" of a node's GPUs. */
static gboolean read_range (const char *text, guint n_gpus, guint *first, guint *last) {
  g_auto (GStrv) ends = g_strsplit (text, "-", 2);
  guint64 from, to;
  if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, MOST_GPUS, &from, NULL))
    return FALSE;
  to = from;
  if (ends[1] != NULL && !g_ascii_string_to_unsigned (ends[1], 10, 0, MOST_GPUS, &to, NULL))
    return FALSE;
  *first = (guint) from;
  *last = (guint) to;
  return from <= to && to < n_gpus;
}

/* Those of single GPUs, over those of all. */
static gboolean read_single (LsClusterReader *reader, const char *base, const LsNodeSpec *node,
                             GArray **places) {
  g_autofree char *map = ls_cluster_read_key (base, "mig_gpus");
  g_auto (GStrv) names = ls_config_get_names (reader->config, map);
  g_autofree gboolean *seen = g_new0 (gboolean, node->gpus);
  gboolean good = TRUE;
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *path = ls_cluster_read_below (map, names[i]);
    guint first, last;
    if (!read_range (names[i], node->gpus, &first, &last)) {
      ls_config_error_at (reader->config, reader->errors, path,
                          "'%s' names no GPUs of the node; takes N or N-M from 0 to %u", names[i],
                          node->gpus - 1);
      good = FALSE;
      continue;
    }
    GArray *own = read_places (reader, map, names[i], node);
    good = good && own != NULL;
    for (guint gpu = first; own != NULL && gpu <= last; gpu++) {
      if (seen[gpu])
        ls_config_error_at (reader->config, reader->errors, path, "GPU %u is given twice", gpu);
      good = good && !seen[gpu];
      seen[gpu] = TRUE;
      g_clear_pointer (&places[gpu], g_array_unref);
      places[gpu] = g_array_ref (own);
    }
    g_clear_pointer (&own, g_array_unref);
  }
  return good;
}

/* Every GPU has instances. */
static gboolean is_complete (LsClusterReader *reader, const char *base, const LsNodeSpec *node,
                             GArray *const *places) {
  for (guint gpu = 0; gpu < node->gpus; gpu++)
    if (places[gpu] == NULL) {
      ls_cluster_read_fault_take (
          reader, base, "mig_gpus",
          g_strdup_printf ("GPU %u has no instance; all GPUs of a node are under MIG or none: give "
                           "it the largest profile to keep it whole, or put whole GPUs in a group "
                           "of their own",
                           gpu));
      return FALSE;
    }
  return TRUE;
}

/* Instances are joined over PCIe only. */
static void drop_links (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  static const char *const keys[] = {"intra.kind", "intra.link", "intra.links",     "intra.rate",
                                     "intra.dims", "intra.wrap", "intra.in_network"};
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    ls_cluster_read_no_effect (reader, base, keys[i],
                               "MIG instances have no links and no peers; they are reached over "
                               "PCIe and the memory of the host");
  node->joint = LS_JOINT_NONE;
  node->link = NULL;
  node->links = 0;
  node->in_network = FALSE;
  node->n_dimensions = 0;
}

void ls_cluster_read_mig (LsClusterReader *reader, const char *base, LsNodeSpec *node) {
  gboolean all = ls_cluster_read_has (reader, base, "mig");
  gboolean some = ls_cluster_read_has (reader, base, "mig_gpus");
  if (!all && !some)
    return;
  if (node->gpus == 0) {
    ls_cluster_read_no_effect (reader, base, "mig", "the node has no GPUs");
    ls_cluster_read_no_effect (reader, base, "mig_gpus", "the node has no GPUs");
    return;
  }
  g_autofree GArray **places = g_new0 (GArray *, node->gpus);
  GArray *common = all ? read_places (reader, base, "mig", node) : NULL;
  gboolean good = !all || common != NULL;
  for (guint gpu = 0; common != NULL && gpu < node->gpus; gpu++)
    places[gpu] = g_array_ref (common);
  if (some)
    good = read_single (reader, base, node, places) && good;
  if (good && is_complete (reader, base, node, places)) {
    node->mig = ls_mig_new (node->gpu, places, node->gpus);
    node->gpus = node->mig->n;
    drop_links (reader, base, node);
  }
  for (guint gpu = 0; gpu < (node->mig != NULL ? node->mig->n_gpus : node->gpus); gpu++)
    g_clear_pointer (&places[gpu], g_array_unref);
  g_clear_pointer (&common, g_array_unref);
}
