/* A node drawn in text: links above the devices, PCIe and sockets below, adapters last. */
#include <string.h>

#include "base/assert.h"
#include "net/describe_text.h"

/* "gpu0 .. gpu7", "gpu3". */
static char *range (const char *stem, guint first, guint n) {
  return n == 1 ? g_strdup_printf ("%s%u", stem, first)
                : g_strdup_printf ("%s%u .. %s%u", stem, first, stem, first + n - 1);
}

/* Links between each two GPUs of a mesh, as `nvidia-smi topo -m` shows them. */
static void draw_mesh (GString *text, const LsNodeSpec *node) {
  if (node->gpus > 16)
    return;
  g_string_append (text, "    links ");
  for (guint b = 0; b < node->gpus; b++)
    g_string_append_printf (text, " gpu%-2u", b);
  for (guint a = 0; a < node->gpus; a++) {
    g_string_append_printf (text, "\n    gpu%-2u ", a);
    for (guint b = 0; b < node->gpus; b++) {
      int links = ls_node_links_between (node->joint, (int) node->gpus, (int) node->links, (int) a,
                                         (int) b);
      if (links > 0)
        g_string_append_printf (text, "%5d ", links);
      else
        g_string_append (text, a == b ? "    - " : "    . ");
    }
  }
  g_string_append_c (text, '\n');
}

/* The first plane of a torus: devices, links, and the way round. */
static void draw_torus (GString *text, const LsNodeSpec *node) {
  guint n = node->n_dimensions, columns = node->size[n - 1], rows = n > 1 ? node->size[n - 2] : 1;
  GString *sizes = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (sizes, "%s%u%s", i > 0 ? " x " : "", node->size[i],
                            node->wrap[i] ? " (ring)" : " (line)");
  g_string_append_printf (text, "    torus %s%s\n", sizes->str, n > 2 ? "; one plane:" : "");
  g_string_free (sizes, TRUE);
  for (guint row = 0; row < MIN (rows, 8); row++) {
    const char *end = node->wrap[n - 1] && columns > 1 ? "--(first)" : "";
    g_string_append (text, "    ");
    for (guint column = 0; column < MIN (columns, 8); column++)
      g_string_append_printf (text, "%s%4u", column > 0 ? " --" : "", row * columns + column);
    g_string_append_printf (text, "%s %s\n", columns > 8 ? " -- ..." : "", end);
    if (row + 1 < MIN (rows, 8)) {
      g_string_append (text, "    ");
      for (guint column = 0; column < MIN (columns, 8); column++)
        g_string_append (text, column > 0 ? "      |" : "   |");
      g_string_append_c (text, '\n');
    }
  }
  if (rows > 8)
    g_string_append (text, "    ...\n");
}

static void draw_links (GString *text, const LsNodeSpec *node) {
  g_autofree char *one = ls_describe_rate (node->link_bytes_per_s);
  g_autofree char *all = ls_describe_rate (node->links * node->link_bytes_per_s);
  g_autofree char *gpus = range ("gpu", 0, node->gpus);
  double share = ls_node_link_efficiency (node) * 100;
  const char *name = node->link != NULL ? node->link->title : "link";
  switch (node->joint) {
  case LS_JOINT_NONE:
    return;
  case LS_JOINT_SWITCH: {
    int chips = node->preset != NULL ? node->preset->switches : 0;
    g_autofree char *count = chips > 0 ? g_strdup_printf ("%d ", chips) : g_strdup ("");
    g_string_append_printf (text, "    [ %sswitches%s, non-blocking ]\n", count,
                            node->in_network ? " that reduce and copy" : "");
    g_string_append_printf (text, "     |   |   |   %u x %s each: %s each way, %.1f %% reached\n",
                            node->links, name, all, share);
    g_string_append_printf (text, "    %s\n", gpus);
    return;
  }
  case LS_JOINT_TORUS:
    g_string_append_printf (text, "    %s: %s: %s per link each way, %.1f %% reached\n", gpus, name,
                            one, share);
    draw_torus (text, node);
    return;
  default:
    g_string_append_printf (text,
                            "    %s: %s of %u x %s: %s per link each way, %s in all, %.1f %% "
                            "reached\n",
                            gpus, ls_joint_name (node->joint), node->links, name, one, all, share);
    draw_mesh (text, node);
  }
}

/* Every socket with what hangs on it (the first two of many), and the links between. */
static void draw_sockets (GString *text, const LsNodeSpec *node) {
  const LsNicSet *nics = ls_node_compute_nics (node);
  guint per_host = node->sockets / MAX (1, node->hosts);
  g_autofree char *between = ls_describe_rate (node->socket_bytes_per_s);
  for (guint s = 0; s < node->sockets; s++) {
    guint first = G_MAXUINT, n = 0, first_nic = G_MAXUINT, n_nics = 0;
    if (s == 4 && node->sockets > 5) {
      g_string_append_printf (text, "    ... %u sockets in all\n", node->sockets);
      break;
    }
    for (guint k = 0; k < ls_node_n_physical (node); k++)
      if (ls_node_gpu_socket (node, ls_node_first_device (node, k)) == s) {
        first = MIN (first, k);
        n++;
      }
    for (guint k = 0; nics != NULL && k < nics->count; k++)
      if (ls_node_nic_socket (node, nics, k) == s) {
        first_nic = MIN (first_nic, k);
        n_nics++;
      }
    g_autofree char *gpus = n > 0 ? range ("gpu", first, n) : g_strdup ("no gpu");
    g_autofree char *adapters = n_nics > 0 ? range ("nic", first_nic, n_nics) : g_strdup ("no nic");
    g_string_append_printf (text, "    socket%u --- PCIe --- %s, %s\n", s, gpus, adapters);
    if (per_host > 1 && s % per_host + 1 < per_host)
      g_string_append_printf (text, "       |  %s each way between sockets\n", between);
  }
}

static void draw_host (GString *text, const LsNodeSpec *node) {
  g_autofree char *pcie = ls_describe_rate (node->pcie_bytes_per_s);
  g_autofree char *memory =
      ls_quantity_format ((double) node->host_memory_bytes, LS_DIMENSION_BYTES);
  g_autofree char *dram = ls_describe_rate (node->host_memory_bytes_per_s);
  g_autofree char *nvme = ls_describe_rate (node->nvme_bytes_per_s);
  g_string_append_printf (text, "     |   |   |   PCIe: %s each way, %.1f %% reached", pcie,
                          node->pcie_efficiency * 100);
  if (node->gpus_per_pcie_root > 1)
    g_string_append_printf (text, "; %u GPUs behind a switch share one link to the host",
                            node->gpus_per_pcie_root);
  g_string_append_c (text, '\n');
  if (node->sockets > 1)
    draw_sockets (text, node);
  g_string_append_printf (text, "    [ %s: %u cores, %s of memory at %s",
                          node->hosts > 1 ? "hosts" : "host", node->host_cores, memory, dram);
  if (node->nvme_bytes_per_s > 0)
    g_string_append_printf (text, ", drives at %s", nvme);
  if (node->hosts > 1 && node->gpus > 0)
    g_string_append_printf (text, "; %u machines of %u GPUs", node->hosts,
                            ls_node_n_physical (node) / node->hosts);
  g_string_append (text, " ]\n");
}

/* The instances of each GPU; GPUs like the one before are not drawn again. */
static void draw_instances (GString *text, const LsNodeSpec *node) {
  g_autofree char *before = NULL;
  for (guint gpu = 0; gpu < node->mig->n_gpus; gpu++) {
    g_autoptr (GString) line = g_string_new (NULL);
    for (guint i = ls_mig_first (node->mig, gpu);
         i < node->mig->n && node->mig->instances[i].gpu == gpu; i++) {
      const LsMigInstance *one = &node->mig->instances[i];
      g_autofree char *hbm =
          ls_quantity_format ((double) one->accelerator->hbm_bytes, LS_DIMENSION_BYTES);
      g_string_append_printf (line, "      mig%u: %s at memory slice %u: %d SMs, %s\n", one->number,
                              one->profile->profile, one->start, one->accelerator->sms, hbm);
    }
    if (g_strcmp0 (line->str, before) == 0)
      continue;
    g_string_append_printf (text, "    gpu%u:\n%s", gpu, line->str);
    g_free (before);
    before = g_strdup (line->str);
  }
  g_string_append (
      text, "    (a GPU that is not drawn is cut as the one before; no links between instances)\n");
}

void ls_describe_group (GString *text, const LsCluster *cluster, guint g) {
  const LsNodeGroup *group = ls_cluster_group (cluster, g);
  const LsNodeSpec *node = &group->node;
  g_string_append_printf (text, "%s: %u node%s of ", group->name, group->nodes,
                          group->nodes == 1 ? "" : "s");
  if (node->gpu != NULL) {
    g_autofree char *hbm = ls_quantity_format ((double) node->gpu->hbm_bytes, LS_DIMENSION_BYTES);
    g_string_append_printf (text, "%u x %s (%s)", ls_node_n_physical (node), node->gpu->title, hbm);
  } else {
    g_string_append (text, "a host without GPUs");
  }
  g_string_append_printf (text, "%s%s\n", node->preset != NULL ? ", shape " : "",
                          node->preset != NULL ? node->preset->name : "");
  draw_links (text, node);
  if (node->mig != NULL)
    draw_instances (text, node);
  else if (node->joint == LS_JOINT_NONE && node->gpus > 0) {
    g_autofree char *gpus = range ("gpu", 0, node->gpus);
    g_string_append_printf (text, "    %s\n", gpus);
  }
  draw_host (text, node);
  for (guint i = 0; i < node->n_nic_sets; i++) {
    const LsNicSet *set = &node->nic_sets[i];
    g_autofree char *per_s = ls_describe_rate (set->bytes_per_s);
    g_string_append_printf (text,
                            "     |   |   |   %s: %u x %s at %s each way, %.1f %% reached\n"
                            "    ( fabric %s )\n",
                            set->name, set->count, set->nic != NULL ? set->nic->title : "adapter",
                            per_s, ls_nic_set_efficiency (cluster, node, set) * 100,
                            ls_cluster_fabric (cluster, set->fabric)->name);
  }
}
