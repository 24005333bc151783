/* Jobs as the input of a fold; see folding.h. */
#include "train/run/folding.h"

#include "base/memory.h"
#include "engine/refine.h"
#include "train/run/drawn.h"

static void add_groups (LsFolding *folding, const LsJobRun *run, LsFoldGroup *out) {
  const LsJob *job = run->job;

  for (guint g = 0; g < job->n_groups; g++) {
    const LsJobGroup *group = &job->groups[g];
    const guint *ranks = group->ranks;
    if (run->first_rank > 0) {
      guint *shifted = g_new (guint, group->n_ranks);
      for (guint i = 0; i < group->n_ranks; i++)
        shifted[i] = run->first_rank + group->ranks[i];
      g_ptr_array_add (folding->members, shifted);
      ranks = shifted;
    }
    out[g] = (LsFoldGroup){.n = group->n_ranks,
                           .ranks = ranks,
                           .axis = group->axis,
                           .slot = group->slot,
                           .first_slot = group->first_slot};
  }
}

static void add_ranks (LsFolding *folding, const LsJobRun *run, guint job_number, guint first_kind,
                       const LsSimulationOptions *options) {
  const LsJob *job = run->job;

  for (guint i = 0; i < job->n_ranks; i++) {
    guint rank = run->first_rank + i;
    guint64 label = ls_refinement_mix (job_number, (guint64) run->start_ps);
    if (ls_workload_packs (run->workload))
      label = ls_refinement_mix (label, job->coordinates[i].data + 1u);
    if (options->factor_of_rank != NULL)
      label = ls_refinement_mix (label, (guint64) options->factor_of_rank[rank]);
    if (options->label_of_rank != NULL)
      label = ls_refinement_mix (label, options->label_of_rank[rank]);
    folding->gpu_of_rank[rank] = job->gpu_of_rank[i];
    folding->kind_of_rank[rank] = first_kind + job->kind_of_rank[i];
    folding->label_of_rank[rank] = label;
  }
}

/* Ranks of several jobs on one device. */
static gboolean is_shared (const LsJobRun *jobs, guint n_jobs, const char **why) {
  for (guint j = 0; j < n_jobs; j++)
    if (jobs[j].workload->share != LS_SHARE_NONE) {
      *why = "jobs share GPUs";
      return TRUE;
    }
  return FALSE;
}

LsFolding *ls_folding_new (const LsCluster *cluster, const LsJobRun *jobs, guint n_jobs,
                           const LsSimulationOptions *options, const char **why) {
  LsFolding *folding = g_new0 (LsFolding, 1);
  guint n_ranks = 0, n_kinds = 0, n_groups = 0;

  for (guint j = 0; j < n_jobs; j++) {
    n_ranks += jobs[j].job->n_ranks;
    n_kinds += jobs[j].job->n_kinds;
    n_groups += jobs[j].job->n_groups;
  }
  if (is_shared (jobs, n_jobs, why)) {
    g_free (folding);
    return NULL;
  }
  folding->members = g_ptr_array_new_with_free_func (g_free);
  folding->gpu_of_rank = g_new (guint, n_ranks);
  folding->kind_of_rank = g_new (guint, n_ranks);
  folding->label_of_rank = g_new (guint64, n_ranks);
  folding->programs = g_new (LsProgram *, n_kinds);
  folding->groups = ls_memory_new (n_groups, sizeof (LsFoldGroup));
  for (guint j = 0, kind = 0, group = 0; j < n_jobs; j++) {
    const LsJob *job = jobs[j].job;
    add_ranks (folding, &jobs[j], j, kind, options);
    add_groups (folding, &jobs[j], &folding->groups[group]);
    for (guint i = 0; i < job->n_kinds; i++)
      folding->programs[kind + i] = job->kinds[i].program;
    kind += job->n_kinds;
    group += job->n_groups;
  }
  const LsTables *tables = jobs[0].job->tables;
  folding->input = (LsFoldInput){.n_ranks = n_ranks,
                                 .gpu_of_rank = folding->gpu_of_rank,
                                 .kind_of_rank = folding->kind_of_rank,
                                 .label_of_rank = folding->label_of_rank,
                                 .n_kinds = n_kinds,
                                 .programs = folding->programs,
                                 .n_groups = n_groups,
                                 .groups = folding->groups,
                                 .n_descriptors = ls_tables_n_descriptors (tables),
                                 .descriptors = ls_tables_descriptors (tables)};
  folding->fold = ls_fold_new (cluster, &folding->input, why);
  if (folding->fold != NULL)
    return folding;
  ls_folding_free (folding);
  return NULL;
}

void ls_folding_free (LsFolding *folding) {
  if (folding == NULL)
    return;
  ls_fold_free (folding->fold);
  g_free (folding->gpu_of_rank);
  g_free (folding->kind_of_rank);
  g_free (folding->label_of_rank);
  g_free (folding->programs);
  g_free (folding->groups);
  g_ptr_array_unref (folding->members);
  g_free (folding);
}
