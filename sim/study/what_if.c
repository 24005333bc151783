/* Scaled copies of clusters and workloads; see what_if.h. */
#include "study/what_if.h"

#include "base/assert.h"

struct LsWhatIf {
  double speedup[LS_N_KNOBS];
  LsCluster *cluster;
  GPtrArray *owned;        /* of g_free: accelerators, tuning and software records */
  GHashTable *of_row;      /* const LsAccelerator * of the catalogue -> the scaled one */
  GHashTable *of_software; /* const LsSoftware * -> the scaled one */
};

#define KNOB_NAME(id, word, what, times) word,
#define KNOB_WHAT(id, word, what, times) what,
#define KNOB_TIMES(id, word, what, times) times,

const char *ls_knob_name (LsKnob knob) {
  static const char *const names[] = {LS_KNOBS (KNOB_NAME)};
  LS_REQUIRE ((guint) knob < LS_N_KNOBS, "knob %d", (int) knob);
  return names[knob];
}

const char *ls_knob_what (LsKnob knob) {
  static const char *const whats[] = {LS_KNOBS (KNOB_WHAT)};
  LS_REQUIRE ((guint) knob < LS_N_KNOBS, "knob %d", (int) knob);
  return whats[knob];
}

gboolean ls_knob_is_of_times (LsKnob knob) {
  static const gboolean times[] = {LS_KNOBS (KNOB_TIMES)};
  LS_REQUIRE ((guint) knob < LS_N_KNOBS, "knob %d", (int) knob);
  return times[knob];
}

/* --- accelerators ----------------------------------------------------------------------------- */

static const LsAccelerator *scaled_gpu (LsWhatIf *w, const LsAccelerator *row) {
  if (row == NULL)
    return NULL;
  LsAccelerator *gpu = g_hash_table_lookup (w->of_row, row);
  if (gpu != NULL)
    return gpu;
  gpu = g_memdup2 (row, sizeof *row);
  LsTuning *tuning = g_memdup2 (row->tuning, sizeof *row->tuning);
  g_ptr_array_add (w->owned, gpu);
  g_ptr_array_add (w->owned, tuning);
  for (guint f = 0; f < LS_N_FORMATS; f++)
    gpu->peak_flops_per_s[f] *= w->speedup[LS_KNOB_COMPUTE];
  gpu->vector_flops_per_s *= w->speedup[LS_KNOB_COMPUTE];
  gpu->sm_speedup = (row->sm_speedup > 0 ? row->sm_speedup : 1) * w->speedup[LS_KNOB_COMPUTE];
  gpu->hbm_bytes_per_s *= w->speedup[LS_KNOB_HBM];
  gpu->link_bytes_per_s *= w->speedup[LS_KNOB_LINK];
  tuning->kernel_overhead_s.value /= w->speedup[LS_KNOB_SOFTWARE];
  gpu->tuning = tuning;
  g_hash_table_insert (w->of_row, (gpointer) row, gpu);
  return gpu;
}

/* The same instances on scaled GPUs. */
static LsMig *scaled_mig (const LsMig *mig, const LsAccelerator *gpu) {
  g_autofree GArray **places = g_new0 (GArray *, mig->n_gpus);
  for (guint g = 0; g < mig->n_gpus; g++)
    places[g] = g_array_new (FALSE, FALSE, sizeof (LsMigPlace));
  for (guint i = 0; i < mig->n; i++) {
    LsMigPlace place = {mig->instances[i].profile, mig->instances[i].start};
    g_array_append_val (places[mig->instances[i].gpu], place);
  }
  LsMig *scaled = ls_mig_new (gpu, places, mig->n_gpus);
  for (guint g = 0; g < mig->n_gpus; g++)
    g_array_unref (places[g]);
  return scaled;
}

/* --- the cluster ------------------------------------------------------------------------------ */

static LsClusterScale scale_of (const LsWhatIf *w, const LsClusterScale *now) {
  const double *by = w->speedup;
  return (LsClusterScale){.link = now->link * by[LS_KNOB_LINK],
                          .pcie = now->pcie * by[LS_KNOB_PCIE],
                          .nic = now->nic * by[LS_KNOB_NIC],
                          .trunk = now->trunk * by[LS_KNOB_TRUNK],
                          .host = now->host * by[LS_KNOB_HOST],
                          .storage = now->storage * by[LS_KNOB_STORAGE],
                          .latency = now->latency / by[LS_KNOB_LATENCY]};
}

static void copy_cluster (LsWhatIf *w, const LsCluster *cluster) {
  guint n_groups = ls_cluster_n_groups (cluster), n_fabrics = ls_cluster_n_fabrics (cluster);
  g_autofree LsNodeGroup *groups = g_new0 (LsNodeGroup, n_groups);
  g_autofree LsFabricSpec *fabrics = g_new0 (LsFabricSpec, n_fabrics + 1);
  for (guint g = 0; g < n_groups; g++) {
    LsNodeSpec *node = &groups[g].node;
    groups[g] = *ls_cluster_group (cluster, g);
    node->gpu = scaled_gpu (w, node->gpu);
    if (node->gpu != NULL)
      ls_device_init (&node->device, node->gpu, LS_CLOCK_SUSTAINED, NULL);
    node->mig = node->mig != NULL ? scaled_mig (node->mig, node->gpu) : NULL;
  }
  for (guint f = 0; f < n_fabrics; f++)
    fabrics[f] = *ls_cluster_fabric (cluster, f);
  w->cluster =
      ls_cluster_new_from (groups, n_groups, fabrics, n_fabrics, ls_cluster_storage (cluster));
  for (guint g = 0; g < n_groups; g++)
    ls_mig_unref (groups[g].node.mig);
  for (guint i = 0; i < ls_cluster_n_overrides (cluster); i++)
    ls_cluster_add_override (w->cluster, ls_cluster_override (cluster, i));
  const LsClusterScale scale = scale_of (w, ls_cluster_scale (cluster));
  ls_cluster_set_scale (w->cluster, &scale);
}

LsWhatIf *ls_what_if_new (const LsCluster *cluster, const double speedup[LS_N_KNOBS]) {
  LsWhatIf *w = g_new0 (LsWhatIf, 1);
  for (guint k = 0; k < LS_N_KNOBS; k++) {
    LS_REQUIRE (speedup[k] > 0, "%s x %g", ls_knob_name ((LsKnob) k), speedup[k]);
    w->speedup[k] = speedup[k];
  }
  w->owned = g_ptr_array_new_with_free_func (g_free);
  w->of_row = g_hash_table_new (NULL, NULL);
  w->of_software = g_hash_table_new (NULL, NULL);
  copy_cluster (w, cluster);
  return w;
}

void ls_what_if_free (LsWhatIf *w) {
  if (w == NULL)
    return;
  ls_cluster_free (w->cluster);
  g_hash_table_unref (w->of_row);
  g_hash_table_unref (w->of_software);
  g_ptr_array_unref (w->owned);
  g_free (w);
}

const LsCluster *ls_what_if_cluster (const LsWhatIf *w) {
  return w->cluster;
}

/* --- workloads -------------------------------------------------------------------------------- */

static const LsSoftware *scaled_software (LsWhatIf *w, const LsSoftware *row) {
  LsSoftware *software = g_hash_table_lookup (w->of_software, row);
  if (software != NULL)
    return software;
  software = g_memdup2 (row, sizeof *row);
  LsSourced *times[] = {
      &software->gap_s,       &software->host_launch_s, &software->host_backward_launch_s,
      &software->host_step_s, &software->host_pair_s,   &software->host_pair_8_s,
      &software->zero_piece_s};
  for (guint i = 0; i < G_N_ELEMENTS (times); i++)
    times[i]->value /= w->speedup[LS_KNOB_SOFTWARE];
  software->speedup = (row->speedup > 0 ? row->speedup : 1) * w->speedup[LS_KNOB_SOFTWARE];
  g_ptr_array_add (w->owned, software);
  g_hash_table_insert (w->of_software, (gpointer) row, software);
  return software;
}

LsWorkload *ls_what_if_workload (LsWhatIf *w, const LsWorkload *workload) {
  LsWorkload *copy = ls_workload_copy (workload);
  copy->software = scaled_software (w, workload->software);
  copy->input.cpu_s_per_sample /= w->speedup[LS_KNOB_HOST];
  return copy;
}
