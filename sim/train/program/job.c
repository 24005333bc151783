/* Compiling a workload: kinds of ranks and their programs. Groups are in job_groups.c. */
#include "train/program/job.h"

#include "base/assert.h"
#include "train/program/job_groups.h"
#include "train/program/rank_program.h"
#include "train/program/traffic_job.h"

/* The kind of rank like `wanted`; a new one without a program when there is none yet. */
static guint find_kind (GArray *kinds, const LsRankKind *wanted) {
  for (guint i = 0; i < kinds->len; i++) {
    const LsRankKind *kind = &g_array_index (kinds, LsRankKind, i);
    if (kind->stage_index == wanted->stage_index && kind->accelerator == wanted->accelerator &&
        kind->microbatches == wanted->microbatches && kind->host_cores == wanted->host_cores &&
        kind->host_bytes_per_s == wanted->host_bytes_per_s)
      return i;
  }
  g_array_append_val (kinds, *wanted);
  return kinds->len - 1;
}

/* Kinds in order of the lowest rank of each. */
static void assign_kinds (LsJob *job, const LsWorkload *workload, const LsJobSource *source) {
  GArray *kinds = g_array_new (FALSE, TRUE, sizeof (LsRankKind));

  for (guint rank = 0; rank < job->n_ranks; rank++) {
    job->coordinates[rank] = ls_layout_coordinates (&workload->layout, rank);
    job->gpu_of_rank[rank] = workload->gpu_of_rank[rank];
    const guint gpu = job->gpu_of_rank[rank];
    const LsRankKind kind = {
        .stage_index = job->coordinates[rank].stage,
        .accelerator = source->accelerators[gpu],
        .microbatches = ls_workload_microbatches (workload, job->coordinates[rank].data),
        .host_cores = source->cores_of_gpu != NULL ? source->cores_of_gpu[gpu] : source->host_cores,
        .host_bytes_per_s = source->host_bytes_per_s_of_gpu != NULL
                                ? source->host_bytes_per_s_of_gpu[gpu]
                                : source->host_bytes_per_s,
    };
    job->kind_of_rank[rank] = find_kind (kinds, &kind);
  }
  job->n_kinds = kinds->len;
  job->kinds = (LsRankKind *) (gpointer) g_array_free (kinds, FALSE);
}

/* A stage of the model, on whichever kind of rank holds it. */
static const LsStage *find_stage (const LsJob *job, const LsWorkload *workload, guint number) {
  const guint n = ls_workload_n_parts (workload);

  for (guint i = 0; i < job->n_kinds; i++)
    for (guint part = 0; part < n; part++)
      if (ls_workload_stage_of (workload, job->kinds[i].stage_index, part) == number)
        return n == 1 ? job->kinds[i].stage : job->kinds[i].stage->parts[part];
  LS_REQUIRE (FALSE, "nobody holds stage %u", number);
  return NULL;
}

/* By part, the stage before it, whose boundary it receives; NULL for the first (transfer container). */
static const LsStage **stages_before (const LsJob *job, const LsWorkload *workload, guint device) {
  const guint n = ls_workload_n_parts (workload);
  const LsStage **before = g_new0 (const LsStage *, n);

  for (guint part = 0; part < n; part++) {
    guint number = ls_workload_stage_of (workload, device, part);
    before[part] = number > 0 ? find_stage (job, workload, number - 1) : NULL;
  }
  return before;
}

static gboolean build_program (LsJob *job, LsRankKind *kind, const LsWorkload *of_job,
                               GError **error) {
  LsWorkload own = *of_job;
  const LsWorkload *workload = &own;
  g_autofree const LsStage **before = stages_before (job, of_job, kind->stage_index);
  LsDevice device;

  own.microbatches = kind->microbatches;
  ls_device_init (&device, kind->accelerator, LS_CLOCK_SUSTAINED, workload->software);
  device.kernels = workload->kernels;
  const LsProgramSpec spec = {
      .workload = workload,
      .stage = kind->stage,
      .index = kind->stage_index,
      .before = before,
      .device = &device,
      .load = job->load,
      .host_cores = kind->host_cores,
      .host_bytes_per_s = kind->host_bytes_per_s,
      .embedding_shared = workload->layout.pipeline > 1,
  };
  g_autofree char *name = g_strdup_printf ("stage %u", kind->stage_index);

  kind->program = ls_rank_program_new (&spec, job->tables, name, error);
  return kind->program != NULL;
}

/* Bytes of the rows that one rank sends to experts, 0: it sends none. */
static gint64 row_bytes (const LsJob *job) {
  for (guint i = 0; i < job->n_kinds; i++)
    for (guint r = 0; r < job->kinds[i].stage->n_runs; r++) {
      const LsLayerPlan *plan = job->kinds[i].stage->runs[r].plan;
      for (guint k = 0; k < plan->n_forward; k++)
        if (plan->forward[k].is_collective && plan->forward[k].by_load)
          return plan->forward[k].collective_bytes;
    }
  return 0;
}

LsJob *ls_job_build_from (const LsWorkload *workload, const LsJobSource *source, GError **error) {
  g_autoptr (LsJob) job = g_new0 (LsJob, 1);

  LS_REQUIRE (workload->layout.ranks > 0 && workload->microbatches > 0 && workload->steps > 0,
              "the workload is not resolved");
  job->name = g_strdup (workload->name != NULL ? workload->name : "main");
  job->n_ranks = workload->layout.ranks;
  job->kind_of_rank = g_new0 (guint, job->n_ranks);
  job->gpu_of_rank = g_new0 (guint, job->n_ranks);
  job->coordinates = g_new0 (LsCoordinates, job->n_ranks);
  job->tables = source->tables != NULL ? ls_tables_ref (source->tables) : ls_tables_new ();
  assign_kinds (job, workload, source);
  for (guint i = 0; i < job->n_kinds; i++) {
    LsWorkload own = *workload;
    own.microbatches = job->kinds[i].microbatches;
    job->kinds[i].stage = source->new_stage (source->self, &own, job->kinds[i].stage_index,
                                             job->kinds[i].accelerator);
  }
  job->load = ls_expert_load_new (workload, row_bytes (job), job->tables);
  for (guint i = 0; i < job->n_kinds; i++)
    if (!build_program (job, &job->kinds[i], workload, error))
      return NULL;
  ls_job_add_groups (job, workload);
  return g_steal_pointer (&job);
}

static LsStage *plan_stage (gpointer self, const LsWorkload *workload, guint stage,
                            const LsAccelerator *accelerator) {
  (void) self;
  return ls_stage_new (workload, stage, accelerator);
}

LsJob *ls_job_build (const LsWorkload *workload, const LsCluster *cluster, GError **error) {
  return ls_job_build_with (workload, cluster, NULL, error);
}

LsJob *ls_job_build_with (const LsWorkload *workload, const LsCluster *cluster, LsTables *tables,
                          GError **error) {
  guint n = ls_cluster_n_gpus (cluster);
  g_autofree const LsAccelerator **accelerators = g_new0 (const LsAccelerator *, MAX (n, 1u));
  g_autofree double *cores = g_new0 (double, MAX (n, 1u)), *memory = g_new0 (double, MAX (n, 1u));
  const LsJobSource source = {.accelerators = accelerators,
                              .cores_of_gpu = cores,
                              .host_bytes_per_s_of_gpu = memory,
                              .new_stage = plan_stage,
                              .tables = tables};

  for (guint gpu = 0; gpu < n; gpu++) {
    accelerators[gpu] = ls_cluster_gpu (cluster, gpu);
    const LsNodeSpec *node = ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, gpu));
    cores[gpu] = MAX (node->host_cores, 1u);
    memory[gpu] = node->host_memory_bytes_per_s * ls_cluster_scale (cluster)->host;
  }
  if (workload->traffic != NULL)
    return ls_traffic_job_new (workload, accelerators, tables, error);
  return ls_job_build_from (workload, &source, error);
}

void ls_job_free (LsJob *job) {
  if (job == NULL)
    return;
  for (guint i = 0; i < job->n_kinds; i++) {
    g_clear_pointer (&job->kinds[i].program, ls_program_unref);
    ls_stage_free (job->kinds[i].stage);
  }
  for (guint i = 0; i < job->n_groups; i++)
    g_free (job->groups[i].ranks);
  ls_expert_load_free (job->load);
  g_clear_pointer (&job->tables, ls_tables_free);
  g_free (job->kinds);
  g_free (job->groups);
  g_free (job->kind_of_rank);
  g_free (job->gpu_of_rank);
  g_free (job->coordinates);
  g_free (job->name);
  g_free (job);
}

void ls_job_install (const LsJob *job, LsEngine *engine, const guint *device_of_gpu,
                     const guint *host_of_gpu) {
  guint first = ls_engine_n_ranks (engine);

  for (guint rank = 0; rank < job->n_ranks; rank++) {
    guint gpu = job->gpu_of_rank[rank];
    ls_engine_add_rank (engine, ls_job_kind (job, rank)->program, device_of_gpu[gpu],
                        host_of_gpu != NULL ? host_of_gpu[gpu] : LS_NO_INDEX);
  }
  for (guint i = 0; i < job->n_groups; i++) {
    const LsJobGroup *group = &job->groups[i];
    g_autofree guint *ranks = g_new (guint, group->n_ranks);
    for (guint k = 0; k < group->n_ranks; k++)
      ranks[k] = first + group->ranks[k];
    guint number = ls_engine_add_group (engine, ranks, group->n_ranks, group->axis);
    for (guint k = 0; k < group->n_ranks; k++)
      ls_engine_set_slot_at (engine, ranks[k], k == 0 ? group->first_slot : group->slot, number, k);
  }
}

const LsRankKind *ls_job_kind (const LsJob *job, guint rank) {
  LS_REQUIRE (rank < job->n_ranks, "rank %u of %u", rank, job->n_ranks);
  return &job->kinds[job->kind_of_rank[rank]];
}

gint64 ls_job_n_operations (const LsJob *job) {
  gint64 sum = 0;

  for (guint rank = 0; rank < job->n_ranks; rank++)
    sum += ls_program_n_executed (ls_job_kind (job, rank)->program);
  return sum;
}
