/* Computing a summary from a run; see summary.h. */
#include "train/run/summary.h"

#include "base/assert.h"
#include "base/time.h"
#include "train/layer/chunk.h"
#include "train/memory/recompute.h"
#include "train/workload/traffic.h"

/* Resources that a summary names. */
#define BOTTLENECKS 8

static gint compare_times (gconstpointer a, gconstpointer b) {
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that at least `share` of the steps do not exceed. */
static double percentile_s (const GArray *sorted, double share) {
  guint n = sorted->len, rank = 0;

  while (rank + 1 < n && (double) (rank + 1) < share * n)
    rank++;
  return ls_time_s_from_ps (g_array_index (sorted, gint64, rank));
}

static void add_times (LsSummary *summary, const LsJobRun *run) {
  g_autoptr (GArray) sorted = g_array_new (FALSE, FALSE, sizeof (gint64));
  guint n = run->step_ps->len;
  LsInt128 sum_ps = 0;

  for (guint step = 0; step < n; step++) {
    gint64 step_ps = g_array_index (run->step_ps, gint64, step);
    sum_ps += step_ps;
    g_array_append_val (sorted, step_ps);
  }
  g_array_sort (sorted, compare_times);
  summary->steps = n;
  summary->step_time_s = (double) sum_ps / (double) LS_PS_PER_S / n;
  summary->step_time_p50_s = percentile_s (sorted, 0.50);
  summary->step_time_p99_s = percentile_s (sorted, 0.99);
  for (guint part = 0; part < LS_N_PARTS; part++)
    summary->parts_s[part] =
        (double) run->parts_ps[part] / (double) LS_PS_PER_S / n / summary->gpus;
}

static void add_loss_scale (LsSummary *summary, LsSimulation *simulation, const LsJobRun *run) {
  LsLossScale end;
  g_autofree guint8 *skips =
      ls_loss_scaling_skips (&run->workload->loss_scaling, run->step_ps->len,
                             ls_simulation_seed (simulation), run->name, &end);

  summary->scaled = skips != NULL;
  summary->loss_scale = end.scale;
  summary->skipped_steps = (guint) end.skipped;
}

/* What this scenario can be charged for; parts with time always show. */
static void add_applicable (LsSummary *summary, const LsWorkload *workload) {
  const LsLayout *layout = &workload->layout;
  gboolean *applies = summary->applies;

  applies[LS_PART_COMPUTE] = applies[LS_PART_MEMORY_BOUND] = TRUE;
  applies[LS_PART_OPTIMIZER] = applies[LS_PART_OTHER] = TRUE;
  applies[LS_PART_EXPOSED_TENSOR] = layout->tensor > 1;
  applies[LS_PART_EXPOSED_DATA] =
      ls_layout_copies (layout) > 1 &&
      (workload->zero.stage == 0 || ls_workload_shards (workload) < ls_layout_copies (layout));
  applies[LS_PART_EXPOSED_ZERO] = ls_workload_shards (workload) > 1 && workload->zero.stage > 0;
  applies[LS_PART_EXPOSED_PIPELINE] = applies[LS_PART_PIPELINE_BUBBLE] = layout->pipeline > 1;
  applies[LS_PART_EXPOSED_CONTEXT] = layout->context > 1;
  applies[LS_PART_EXPOSED_EXPERT] = ls_workload_has_experts (workload) && layout->expert > 1;
  applies[LS_PART_STRAGGLER_WAIT] = layout->ranks > 1;
  applies[LS_PART_EXPOSED_OFFLOAD] =
      workload->zero.offload != LS_OFFLOAD_NONE || workload->recompute.offload;
  applies[LS_PART_INPUT] = workload->input.threads > 0;
  for (guint part = 0; part < LS_N_PARTS; part++)
    applies[part] = applies[part] || summary->parts_s[part] > 0;
}

/* FLOPs of a step on all ranks with what is run again, in the convention of the model's. */
static double hardware_flops (const LsJob *job, const LsWorkload *workload) {
  double flops = ls_workload_model_flops (workload);
  g_autofree guint *ranks = g_new0 (guint, job->n_kinds);

  for (guint rank = 0; rank < job->n_ranks; rank++)
    ranks[job->kind_of_rank[rank]]++;
  for (guint i = 0; i < job->n_kinds; i++) {
    const LsRankKind *kind = &job->kinds[i];
    g_autoptr (LsChunks) chunks = ls_chunks_new (kind->stage, &workload->recompute);
    LsPipelineSize size = ls_workload_pipeline_size (workload);
    /* Ranks that run one micro-batch together. */
    guint groups = ranks[i] / (workload->layout.tensor * workload->layout.context);

    size.microbatches = kind->microbatches;
    flops += ls_chunks_recomputed_flops (chunks, workload) * groups *
             (double) ls_pipeline_part_microbatches (ls_workload_pipeline (workload), &size);
  }
  return flops;
}

/* Formats in which the job's ranks really multiply, in order of rank, each once (transfer full). */
static char *formats_text (const LsJob *job, const LsWorkload *workload) {
  const LsFormat wanted = ls_precision_matmul (&workload->precision);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint rank = 0; rank < job->n_ranks; rank++) {
    const LsAccelerator *accelerator = ls_job_kind (job, rank)->accelerator;
    const char *name = ls_format_name (ls_accelerator_effective_format (accelerator, wanted, NULL));

    if (!g_ptr_array_find (names, name, NULL))
      g_ptr_array_add (names, (gpointer) name);
  }
  g_ptr_array_add (names, NULL);
  return g_strjoinv (" and ", (char **) names->pdata);
}

/* Threads of a rank, or the cores of its host if they are fewer; of the slowest replica, which all wait for. A model that
 * is fed from both ends (DualPipe) has two loaders. */
static double decoded_samples_per_s (const LsJob *job, const LsWorkload *workload) {
  const LsInput *input = &workload->input;
  const gboolean both_ends = ls_workload_pipeline (workload)->shape == LS_SHAPE_MIRROR;
  double threads = (double) input->threads;

  if (input->threads == 0 || input->cpu_s_per_sample <= 0 || workload->microbatches_of != NULL)
    return 0;
  for (guint i = 0; i < job->n_kinds; i++)
    if (job->kinds[i].stage_index == 0)
      threads = MIN (threads, job->kinds[i].host_cores);
  return threads / input->cpu_s_per_sample * workload->layout.data * (both_ends ? 2 : 1);
}

static void add_rates (LsSummary *summary, const LsJobRun *run) {
  const LsWorkload *workload = run->workload;
  const LsJob *job = run->job;
  double peak = 0;
  double seconds = summary->step_time_s, gpus = summary->gpus;

  for (guint rank = 0; rank < job->n_ranks; rank++)
    peak += ls_workload_peak_flops_per_s (workload, ls_job_kind (job, rank)->accelerator);
  summary->has_tokens = ls_model_has_tokens (workload->model);
  summary->samples_per_s = (double) workload->global_batch / seconds;
  summary->decoded_samples_per_s = decoded_samples_per_s (job, workload);
  summary->tokens_per_s = summary->samples_per_s * (double) workload->seq_len;
  summary->tokens_per_s_per_gpu = summary->tokens_per_s / gpus;
  summary->format = formats_text (job, workload);
  summary->peak_tflops_per_gpu = peak / gpus / 1e12;
  summary->model_tflops_per_gpu = ls_workload_model_flops (workload) / seconds / gpus / 1e12;
  summary->hardware_tflops_per_gpu = hardware_flops (job, workload) / seconds / gpus / 1e12;
  summary->mfu = summary->model_tflops_per_gpu / summary->peak_tflops_per_gpu;
  summary->hfu = summary->hardware_tflops_per_gpu / summary->peak_tflops_per_gpu;
  summary->communication_bytes_per_gpu = run->sent_bytes / summary->steps / gpus;
}

/* The rank with the least room left, the lowest of equals. */
static void add_memory (LsSummary *summary, LsSimulation *simulation, const LsJobRun *run) {
  const LsJob *job = run->job;
  LsMemorySummary *memory = &summary->memory;
  guint communicators = ls_memory_communicators (run->workload);

  for (guint place = run->first_place; place < run->first_place + run->n_places; place++) {
    guint rank = ls_simulation_rank (simulation, place) - run->first_rank;
    gint64 by_kind[LS_MEMORY_KINDS];
    gint64 peak = ls_engine_memory_peak (ls_simulation_engine (simulation), place, by_kind);
    gint64 capacity = ls_memory_capacity (ls_job_kind (job, rank)->accelerator, communicators) -
                      run->workload->others_bytes;
    gint64 reserved =
        ls_memory_held (run->workload, ls_job_kind (job, rank)->stage, peak, capacity);
    if (rank > 0 && capacity - reserved >= memory->capacity_bytes - memory->reserved_bytes)
      continue;
    *memory = (LsMemorySummary){.peak_bytes = peak,
                                .reserved_bytes = reserved,
                                .capacity_bytes = capacity,
                                .fits = reserved <= capacity,
                                .rank = run->first_rank + rank};
    for (guint kind = 0; kind < LS_N_MEMORY; kind++)
      memory->by_kind[kind] = by_kind[kind];
  }
}

/* What lies on hosts is no part of the ledger: it stays where it is from the first step to the last. */
static void add_host_memory (LsSummary *summary, const LsJobRun *run) {
  LsMemorySummary *memory = &summary->memory;

  for (guint i = 0; i < run->job->n_kinds; i++) {
    const LsRankKind *kind = &run->job->kinds[i];
    const gint64 bytes = ls_memory_host_bytes (run->workload, kind->stage_index, kind->stage);

    memory->host_bytes = MAX (memory->host_bytes, bytes);
    memory->drives_bytes =
        MAX (memory->drives_bytes, ls_memory_drives_bytes (run->workload, kind->stage));
  }
  memory->host_capacity_bytes = memory->host_bytes > 0 ? run->workload->host_bytes : 0;
  memory->drives_capacity_bytes = memory->drives_bytes > 0 ? run->workload->nvme_bytes : 0;
  if (memory->host_capacity_bytes > 0 && memory->host_bytes > memory->host_capacity_bytes)
    memory->fits = FALSE;
  if (memory->drives_capacity_bytes > 0 && memory->drives_bytes > memory->drives_capacity_bytes)
    memory->fits = FALSE;
}

/* When the run's own ledger does not fit: what is how large and what would help, from the model. */
static void add_verdict (LsSummary *summary, const LsJobRun *run) {
  const LsWorkload *workload = run->workload;
  const LsJob *job = run->job;
  guint stages = workload->layout.pipeline;
  g_autofree const LsAccelerator **accelerators = g_new0 (const LsAccelerator *, stages);
  LsMemoryEstimate estimate;

  if (workload->recompute.fitted)
    summary->recompute = ls_recompute_text (&workload->recompute);
  if (summary->memory.fits)
    return;
  for (guint rank = job->n_ranks; rank > 0; rank--)
    accelerators[job->coordinates[rank - 1].stage] = ls_job_kind (job, rank - 1)->accelerator;
  ls_memory_fullest (workload, accelerators, &estimate);
  summary->memory_verdict = ls_memory_verdict (workload, accelerators, &estimate);
}

static void add_traffic (LsSummary *summary, const LsJobRun *run) {
  const LsTraffic *traffic = run->workload->traffic;
  LsTrafficSummary *out = &summary->traffic;
  double gap_s = ls_time_s_from_ps (traffic->gap_ps);

  *out = (LsTrafficSummary){
      .operation = ls_collective_op_name (traffic->operation),
      .size_bytes = traffic->bytes,
      .groups = traffic->groups,
      .group_size = traffic->group_size,
      .time_s = summary->step_time_s - gap_s,
      .time_p50_s = summary->step_time_p50_s - gap_s,
      .time_p99_s = summary->step_time_p99_s - gap_s,
      .sent_bytes = run->sent_bytes / summary->steps,
  };
  if (traffic->operation == LS_COLLECTIVE_SEND_RECV)
    out->pattern = ls_traffic_pattern_name (traffic->pattern);
  if (out->time_s > 0)
    out->algbw_bytes_per_s = (double) traffic->bytes / out->time_s;
  out->busbw_bytes_per_s = out->algbw_bytes_per_s *
                           (ls_collective_is_group (traffic->operation)
                                ? ls_collective_bus_factor (traffic->operation, traffic->group_size)
                                : 1);
  summary->memory.fits = TRUE;
  summary->communication_bytes_per_gpu = out->sent_bytes / summary->gpus;
  for (guint part = 0; part < LS_N_PARTS; part++)
    summary->applies[part] = summary->parts_s[part] > 0;
}

/* What one job came to; only its name and GPUs while no step has ended. */
static void add_job (LsSummary *summary, LsSimulation *simulation, guint job) {
  const LsJobRun *run = ls_simulation_job (simulation, job);

  summary->gpus = run->job->n_ranks;
  summary->gpus_idle = run->workload->gpus - summary->gpus;
  summary->start_s = ls_time_s_from_ps (run->start_ps);
  summary->end_s = ls_time_s_from_ps (run->end_ps);
  summary->memory.fits = TRUE;
  if (run->step_ps->len == 0)
    return;
  add_times (summary, run);
  if (run->workload->traffic != NULL) {
    add_traffic (summary, run);
    return;
  }
  add_applicable (summary, run->workload);
  add_loss_scale (summary, simulation, run);
  add_rates (summary, run);
  add_memory (summary, simulation, run);
  add_host_memory (summary, run);
  add_verdict (summary, run);
}

/* Each job in a summary of its own; above them what may be added up. */
static void add_jobs (LsSummary *summary, LsSimulation *simulation) {
  const LsMemorySummary *least = NULL;

  summary->n_jobs = ls_simulation_n_jobs (simulation);
  summary->jobs = g_new0 (LsSummary *, summary->n_jobs);
  for (guint j = 0; j < summary->n_jobs; j++) {
    LsSummary *job = g_new0 (LsSummary, 1);
    summary->jobs[j] = job;
    job->name = g_strdup (ls_simulation_job (simulation, j)->name);
    job->warnings = g_ptr_array_new_with_free_func (g_free);
    job->bottlenecks = ls_bottlenecks_new (simulation, j, BOTTLENECKS);
    add_job (job, simulation, j);
    summary->gpus += job->gpus;
    summary->steps += job->steps;
    summary->end_s = MAX (summary->end_s, job->end_s);
    if (job->memory.capacity_bytes > 0 &&
        (least == NULL || job->memory.capacity_bytes - job->memory.reserved_bytes <
                              least->capacity_bytes - least->reserved_bytes))
      least = &job->memory;
    if (job->memory_verdict != NULL && summary->memory_verdict == NULL)
      summary->memory_verdict = g_strdup_printf ("job %s: %s", job->name, job->memory_verdict);
  }
  summary->memory = least != NULL ? *least : (LsMemorySummary){.fits = TRUE};
}

/* Devices with a rank: jobs may share them. */
static guint count_gpus (const LsSimulation *simulation) {
  guint n = ls_cluster_n_gpus (ls_simulation_cluster (simulation)), sum = 0;
  g_autofree gboolean *used = g_new0 (gboolean, MAX (n, 1u));

  for (guint j = 0; j < ls_simulation_n_jobs (simulation); j++) {
    const LsJob *job = ls_simulation_job (simulation, j)->job;
    for (guint rank = 0; rank < job->n_ranks; rank++)
      used[job->gpu_of_rank[rank]] = TRUE;
  }
  for (guint gpu = 0; gpu < n; gpu++)
    sum += used[gpu] ? 1 : 0;
  return sum;
}

LsSummary *ls_summary_new (LsSimulation *simulation) {
  LsEngine *engine = ls_simulation_engine (simulation);
  LsSummary *summary = g_new0 (LsSummary, 1);

  summary->warnings = g_ptr_array_new_with_free_func (g_free);
  summary->bottlenecks = ls_bottlenecks_new (simulation, LS_ALL_TAGS, BOTTLENECKS);
  summary->seed = ls_simulation_seed (simulation);
  if (ls_simulation_n_jobs (simulation) == 1)
    add_job (summary, simulation, 0);
  else
    add_jobs (summary, simulation);
  LS_REQUIRE (summary->steps > 0, "a summary of no step");
  summary->gpus = count_gpus (simulation);
  summary->gpus_idle = ls_cluster_n_gpus (ls_simulation_cluster (simulation)) - summary->gpus;
  summary->instances = ls_cluster_n_instances (ls_simulation_cluster (simulation));
  summary->events = ls_engine_n_events (engine);
  summary->operations = ls_simulation_n_ended (simulation);
  summary->wall_s = ls_simulation_wall_s (simulation);
  return summary;
}

void ls_summary_compare (LsSummary *summary, LsSimulation *with, LsSimulation *without) {
  if (summary->n_jobs == 0)
    summary->stragglers = ls_slowdown (with, without, 0);
  for (guint j = 0; j < summary->n_jobs; j++)
    summary->jobs[j]->stragglers = ls_slowdown (with, without, j);
}

void ls_summary_free (LsSummary *summary) {
  if (summary == NULL)
    return;
  for (guint j = 0; j < summary->n_jobs; j++)
    ls_summary_free (summary->jobs[j]);
  g_free (summary->jobs);
  g_free (summary->name);
  g_free (summary->version);
  g_free (summary->trace);
  g_free (summary->title);
  g_free (summary->memory_verdict);
  g_free (summary->recompute);
  g_free (summary->format);
  g_ptr_array_unref (summary->bottlenecks);
  g_ptr_array_unref (summary->warnings);
  g_free (summary);
}
