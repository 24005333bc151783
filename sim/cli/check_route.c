/* `lockstep check --route A B`: the resources that a byte from one GPU to another crosses. */
#include "base/error.h"
#include "base/time.h"
#include "cli/check_tables.h"
#include "net/route_list.h"

/* "5", "main[0]/gpu5" or "main[0]/5". */
static gboolean find_gpu (const LsCluster *cluster, const char *word, guint *gpu, GError **error) {
  guint64 number;

  if (g_ascii_string_to_unsigned (word, 10, 0, ls_cluster_n_gpus (cluster) - 1, &number, NULL)) {
    *gpu = (guint) number;
    return TRUE;
  }
  for (guint i = 0; i < ls_cluster_n_gpus (cluster); i++) {
    g_autofree char *node = ls_cluster_node_name (cluster, ls_cluster_gpu_node (cluster, i));
    g_autofree char *name = ls_cluster_device_name (cluster, i);

    if (g_str_equal (name, word)) {
      *gpu = i;
      return TRUE;
    }
  }
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "--route: no GPU '%s'; write a number from 0 to %u, or NODE/gpuN as in main[0]/gpu0",
               word, ls_cluster_n_gpus (cluster) - 1);
  return FALSE;
}

static char *as_json (const LsTopology *topology, const LsRouteList *list) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_open_array (json, "route");
  for (guint i = 0; i < list->hops->len; i++) {
    const LsRouteHop *hop = &g_array_index (list->hops, LsRouteHop, i);
    const LsNetResource *resource = ls_topology_resource (topology, hop->resource);
    g_autofree char *name = ls_topology_resource_name (topology, hop->resource);

    ls_json_open_object (json, NULL);
    ls_json_string (json, "resource", name);
    ls_json_string (json, "kind", ls_resource_kind_name (resource->kind));
    ls_json_string (json, "tier", ls_resource_kind_tier (resource->kind));
    ls_json_number (json, "share", hop->share);
    ls_json_number (json, "bytes_per_s", resource->per_s);
    ls_json_number (json, "latency_s", ls_time_s_from_ps (hop->latency_ps));
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_number (json, "latency_s", ls_time_s_from_ps (list->latency_ps));
  ls_json_number (json, "paths", list->n_paths);
  ls_json_number (json, "bytes_per_s", list->bytes_per_s);
  ls_json_close (json);
  return ls_json_finish (json);
}

char *ls_check_route (const LsScenario *scenario, const char *a, const char *b, gboolean json,
                      GError **error) {
  g_autoptr (LsTopology) topology = NULL;
  g_autoptr (LsRouteList) list = NULL;
  guint from, to;

  if (!find_gpu (scenario->cluster, a, &from, error) ||
      !find_gpu (scenario->cluster, b, &to, error))
    return NULL;
  if (from == to) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "--route: both ends are the same GPU");
    return NULL;
  }
  topology = ls_topology_new (scenario->cluster, NULL);
  if (!json)
    return ls_topology_describe_route (topology, from, to);
  list = ls_route_list_new (topology, from, to);
  return as_json (topology, list);
}
