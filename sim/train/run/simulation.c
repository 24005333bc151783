/* Jobs on an engine; see simulation.h. */
#include "train/run/simulation.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/time.h"
#include "train/run/drawn.h"
#include "train/run/folding.h"

/* Between two reports of progress, on the wall. */
#define REPORT_WALL_US 50000

struct LsSimulation {
  const LsCluster *cluster;
  guint64 seed;
  LsEngine *engine;
  LsNet *net;             /* the fold's when there is one */
  LsFolding *folding;     /* NULL: every rank runs */
  const char *why;        /* it is not folded; NULL: nobody asked */
  guint32 *ranks, *sizes; /* by place: the lowest rank there, and how many it stands for */
  gint64 *factors;        /* by place; NULL: none */
  LsDrawn *drawn;
  const LsRunOptions *options; /* while running */
  guint n_jobs, n_ranks, n_places;
  LsJobRun *jobs;
  guint *job_of_rank;
  /* The step that runs, per job: when it began, ranks that have met its end. */
  gint64 *step_start_ps;
  guint *ended;
  /* Per rank of the engine (place): its account at the start of its job's step, what the step came to. */
  gint64 *marked_ps; /* of each place, when its last step ended, and */
  gint64 *own_ps;    /* how long it took there */
  gint64 *before_ps, *parts_ps;
  gint64 *before_caused_ps, *caused_ps, *peak_bytes;
  double wall_s;
  /* While somebody asks for progress: when to report next, on the wall, and operations in all. */
  gint64 report_us;
  double n_to_run;
  GError *error;
};

static void install_folded (LsSimulation *simulation) {
  LsFold *fold = simulation->folding->fold;

  ls_fold_install (fold, simulation->engine);
  for (guint place = 0; place < simulation->n_places; place++) {
    gint64 start_ps = simulation->jobs[simulation->job_of_rank[simulation->ranks[place]]].start_ps;
    if (start_ps > 0)
      ls_engine_set_start (simulation->engine, place, start_ps);
  }
  ls_engine_set_idle_part (simulation->engine, LS_PART_OTHER);
}

/* Work and descriptors that follow the load of experts: see expert_load.h. Never folded, so that a rank of the
 * engine is one of a job. */
static gint64 draw (gpointer self, guint rank, const LsOp *op, const gint32 *counters) {
  const LsSimulation *simulation = self;
  const LsJobRun *run = &simulation->jobs[ls_simulation_job_of_rank (simulation, rank)];
  const guint number =
      ls_expert_load_number (run->job->load, counters[0], ls_label_value (&op->layer, counters));
  if (op->kind == LS_OP_COLLECTIVE)
    return op->descriptor + number;
  const guint position = run->job->coordinates[rank - run->first_rank].expert;
  const gint64 factor = ls_expert_load_factor (run->job->load, number, position);
  return (gint64) (((LsInt128) op->work_ps * factor) >> LS_USAGE_BITS);
}

/* Of all jobs whose experts are not equally loaded, before the network reads the splits. */
static void draw_loads (LsSimulation *simulation) {
  for (guint j = 0; j < simulation->n_jobs; j++)
    if (simulation->jobs[j].job->load != NULL) {
      ls_expert_load_draw (simulation->jobs[j].job->load, simulation->seed);
      ls_engine_set_draw_func (simulation->engine, draw, simulation);
    }
}

static void install (LsSimulation *simulation) {
  const LsTables *tables = simulation->jobs[0].job->tables;
  guint n = ls_cluster_n_gpus (simulation->cluster);
  g_autofree guint *devices = g_new (guint, MAX (n, 1u));
  g_autofree guint *hosts = g_new (guint, MAX (n, 1u));
  g_autofree guint *gpus = g_new (guint, MAX (simulation->n_ranks, 1u));

  for (guint gpu = 0; gpu < n; gpu++) {
    devices[gpu] = gpu;
    hosts[gpu] =
        ls_net_host_device (simulation->net, ls_cluster_gpu_node (simulation->cluster, gpu));
  }
  for (guint j = 0; j < simulation->n_jobs; j++) {
    const LsJobRun *run = &simulation->jobs[j];
    LS_REQUIRE (run->job->tables == tables, "the jobs of one engine share their tables");
    ls_job_install (run->job, simulation->engine, devices, hosts);
    memcpy (&gpus[run->first_rank], run->job->gpu_of_rank, run->job->n_ranks * sizeof *gpus);
    for (guint rank = 0; rank < run->job->n_ranks && run->start_ps > 0; rank++)
      ls_engine_set_start (simulation->engine, run->first_rank + rank, run->start_ps);
  }
  draw_loads (simulation);
  ls_net_set_ranks (simulation->net, gpus, simulation->n_ranks);
  ls_net_set_descriptors (simulation->net, ls_tables_descriptors (tables),
                          ls_tables_n_descriptors (tables));
  ls_engine_set_expander (simulation->engine, ls_net_expander (), simulation->net);
  ls_engine_set_idle_part (simulation->engine, LS_PART_OTHER);
}

/* A rank of the engine has met the end of its job's step: its account since the last one. */
static void take_account (LsSimulation *simulation, guint job, guint rank) {
  LsJobRun *run = &simulation->jobs[job];
  gint64 now_ps[LS_MAX_PARTS], *before_ps = &simulation->before_ps[rank * LS_N_PARTS];
  gint64 *parts_ps = &simulation->parts_ps[rank * LS_N_PARTS], sum_ps = 0;
  gint64 step_ps = ls_engine_now_ps (simulation->engine) - simulation->marked_ps[rank];

  simulation->marked_ps[rank] = ls_engine_now_ps (simulation->engine);
  simulation->own_ps[rank] = step_ps;
  ls_engine_account (simulation->engine, rank, now_ps);
  for (guint part = 0; part < LS_N_PARTS; part++) {
    parts_ps[part] = now_ps[part] - before_ps[part];
    before_ps[part] = now_ps[part];
    sum_ps += parts_ps[part];
    run->parts_ps[part] += (LsInt128) parts_ps[part] * simulation->sizes[rank];
  }
  LS_REQUIRE (sum_ps == step_ps,
              "rank %u: the parts of step %u sum to %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
              " ps",
              rank, run->step_ps->len, sum_ps, step_ps);
  gint64 caused_ps = ls_engine_caused_wait_ps (simulation->engine, rank);
  simulation->caused_ps[rank] = caused_ps - simulation->before_caused_ps[rank];
  simulation->before_caused_ps[rank] = caused_ps;
  simulation->peak_bytes[rank] = ls_engine_memory_peak (simulation->engine, rank, NULL);
}

/* Where devices end a step one after another (zero-bubble schedules with post-validation), a rank's own window is
 * the step's, shifted: what it lacks or has too much at the edges is charged to its largest part. Over all steps the
 * differences of a rank sum to nothing. */
static void align_windows (LsSimulation *simulation, const LsJobRun *run, gint64 step_ps) {
  for (guint place = run->first_place; place < run->first_place + run->n_places; place++) {
    gint64 *parts_ps = &simulation->parts_ps[place * LS_N_PARTS];
    guint largest = 0;

    for (guint part = 1; part < LS_N_PARTS; part++)
      largest = parts_ps[part] > parts_ps[largest] ? part : largest;
    parts_ps[largest] += step_ps - simulation->own_ps[place];
  }
}

static void end_step (LsSimulation *simulation, guint job) {
  LsJobRun *run = &simulation->jobs[job];
  guint first = run->first_place;
  gint64 now_ps = ls_engine_now_ps (simulation->engine);
  gint64 step_ps = now_ps - simulation->step_start_ps[job];
  const LsStepResult result = {.job = job,
                               .step = run->step_ps->len,
                               .start_ps = simulation->step_start_ps[job],
                               .end_ps = now_ps,
                               .n_places = run->n_places,
                               .ranks = &simulation->ranks[first],
                               .sizes = &simulation->sizes[first],
                               .parts_ps = &simulation->parts_ps[first * LS_N_PARTS],
                               .caused_wait_ps = &simulation->caused_ps[first],
                               .peak_bytes = &simulation->peak_bytes[first]};
  const LsRunOptions *options = simulation->options;

  align_windows (simulation, run, step_ps);
  /* Sums of integers, so that folding does not show in them. */
  LsInt128 flops = 0, sent = 0;
  for (guint place = first; place < first + run->n_places; place++) {
    flops += (LsInt128) ls_engine_flops (simulation->engine, place) * simulation->sizes[place];
    sent += (LsInt128) ls_engine_bytes_sent (simulation->engine, place) * simulation->sizes[place];
  }
  run->flops = (double) flops;
  run->sent_bytes = (double) sent;
  g_array_append_val (run->step_ps, step_ps);
  run->end_ps = now_ps;
  simulation->step_start_ps[job] = now_ps;
  simulation->ended[job] = 0;
  if (options != NULL && options->step != NULL && simulation->error == NULL &&
      !options->step (options->step_self, &result, &simulation->error))
    ls_engine_halt (simulation->engine);
}

static void on_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                     gint64 t_ps) {
  LsSimulation *simulation = self;
  guint job = simulation->job_of_rank[simulation->ranks[rank]];

  (void) t_ps;
  /* A mark that takes no time opens a step and so ends the one before; the first opens only. */
  if (op->kind == LS_OP_MEMORY && counters[0] == 0)
    return;
  take_account (simulation, job, rank);
  if (++simulation->ended[job] == simulation->jobs[job].n_places)
    end_step (simulation, job);
}

static void add_jobs (LsSimulation *simulation, const LsSimulationJob *jobs, guint n_jobs) {
  simulation->n_jobs = n_jobs;
  simulation->jobs = g_new0 (LsJobRun, n_jobs);
  simulation->step_start_ps = g_new0 (gint64, n_jobs);
  simulation->ended = g_new0 (guint, n_jobs);
  for (guint j = 0; j < n_jobs; j++) {
    simulation->jobs[j] =
        (LsJobRun){.name = jobs[j].name != NULL ? jobs[j].name : jobs[j].job->name,
                   .workload = jobs[j].workload,
                   .job = jobs[j].job,
                   .first_rank = simulation->n_ranks,
                   .start_ps = jobs[j].start_ps,
                   .end_ps = jobs[j].start_ps,
                   .step_ps = g_array_new (FALSE, FALSE, sizeof (gint64))};
    simulation->step_start_ps[j] = jobs[j].start_ps;
    simulation->n_ranks += jobs[j].job->n_ranks;
  }
}

static void number_jobs (LsSimulation *simulation) {
  simulation->job_of_rank = g_new0 (guint, simulation->n_ranks);
  for (guint j = 0; j < simulation->n_jobs; j++)
    for (guint i = 0; i < simulation->jobs[j].job->n_ranks; i++)
      simulation->job_of_rank[simulation->jobs[j].first_rank + i] = j;
}

/* Which ranks run: all, or the lowest of each class; those of a job follow those of the job before. */
static void choose_places (LsSimulation *simulation) {
  const LsFold *fold = ls_simulation_fold (simulation);
  guint n = simulation->n_places = fold != NULL ? ls_fold_n_classes (fold) : simulation->n_ranks;

  simulation->ranks = g_new (guint32, MAX (n, 1u));
  simulation->sizes = g_new (guint32, MAX (n, 1u));
  for (guint place = 0; place < n; place++) {
    simulation->ranks[place] = fold != NULL ? ls_fold_rank (fold, place) : place;
    simulation->sizes[place] = fold != NULL ? ls_fold_size (fold, place) : 1;
    LsJobRun *run = &simulation->jobs[simulation->job_of_rank[simulation->ranks[place]]];
    if (run->n_places++ == 0)
      run->first_place = place;
  }
}

/* Before its job starts, a rank is idle: the account that the first step begins with. */
static void add_ranks (LsSimulation *simulation) {
  gsize n = simulation->n_places;

  simulation->marked_ps = g_new0 (gint64, n);
  simulation->own_ps = g_new0 (gint64, n);
  simulation->before_ps = g_new0 (gint64, n * LS_N_PARTS);
  simulation->parts_ps = g_new0 (gint64, n * LS_N_PARTS);
  simulation->before_caused_ps = g_new0 (gint64, n);
  simulation->caused_ps = g_new0 (gint64, n);
  simulation->peak_bytes = g_new0 (gint64, n);
  for (guint j = 0; j < simulation->n_jobs; j++) {
    const LsJobRun *run = &simulation->jobs[j];
    for (guint place = run->first_place; place < run->first_place + run->n_places; place++) {
      simulation->before_ps[place * LS_N_PARTS + LS_PART_OTHER] = run->start_ps;
      simulation->marked_ps[place] = run->start_ps;
    }
  }
}

/* Which steps of each job overflow is known before it runs: it depends on the seed alone. */
static void choose_skips (LsSimulation *simulation) {
  for (guint j = 0; j < simulation->n_jobs; j++) {
    LsJobRun *run = &simulation->jobs[j];

    run->skips = ls_loss_scaling_skips (&run->workload->loss_scaling, run->workload->steps,
                                        simulation->seed, run->name, NULL);
    for (guint place = 0; place < run->n_places && run->skips != NULL; place++)
      ls_engine_set_skips (simulation->engine, run->first_place + place, run->skips);
  }
}

/* Kernels of slowed ranks; others are not asked. To nearest, and pure. */
static gint64 slowed_work (gpointer self, guint rank, guint stream, gint64 ordinal, const LsOp *op,
                           gint64 work_ps) {
  const LsSimulation *simulation = self;

  (void) stream;
  (void) ordinal;
  if (op->kind != LS_OP_KERNEL)
    return work_ps;
  LsInt128 product = (LsInt128) work_ps * simulation->factors[rank];
  return (gint64) ((product + LS_USAGE_ONE / 2) >> LS_USAGE_BITS);
}

static void slow_ranks (LsSimulation *simulation, const gint64 *factor_of_rank) {
  simulation->factors = g_new (gint64, MAX (simulation->n_places, 1u));
  for (guint place = 0; place < simulation->n_places; place++) {
    simulation->factors[place] = factor_of_rank[simulation->ranks[place]];
    ls_engine_set_steady (simulation->engine, place, simulation->factors[place] == LS_USAGE_ONE);
  }
  ls_engine_set_work_func (simulation->engine, slowed_work, simulation);
}

LsSimulation *ls_simulation_new_with (const LsCluster *cluster, const LsSimulationJob *jobs,
                                      guint n_jobs, guint64 seed,
                                      const LsSimulationOptions *options) {
  const gint64 *factor_of_rank = options != NULL ? options->factor_of_rank : NULL;
  static const LsObserver observer = {.mark = on_mark};
  LsSimulation *simulation = g_new0 (LsSimulation, 1);

  LS_REQUIRE (n_jobs > 0, "a simulation of no job");
  simulation->cluster = cluster;
  simulation->seed = seed;
  simulation->engine = ls_engine_new ();
  add_jobs (simulation, jobs, n_jobs);
  number_jobs (simulation);
  if (options != NULL && options->fold)
    simulation->folding =
        ls_folding_new (cluster, simulation->jobs, simulation->n_jobs, options, &simulation->why);
  choose_places (simulation);
  add_ranks (simulation);
  if (simulation->folding != NULL) {
    simulation->net = ls_fold_net (simulation->folding->fold);
    install_folded (simulation);
  } else {
    simulation->net = ls_net_new (cluster, simulation->engine);
    install (simulation);
  }
  choose_skips (simulation);
  simulation->drawn = ls_drawn_new (simulation);
  if (factor_of_rank != NULL)
    slow_ranks (simulation, factor_of_rank);
  ls_engine_add_observer (simulation->engine, &observer, simulation);
  ls_engine_count_holdings (simulation->engine, n_jobs);
  for (guint place = 0; place < simulation->n_places; place++)
    ls_engine_set_tag (simulation->engine, place,
                       simulation->job_of_rank[simulation->ranks[place]]);
  return simulation;
}

LsSimulation *ls_simulation_new (const LsCluster *cluster, const LsWorkload *workload,
                                 const LsJob *job, guint64 seed) {
  const LsSimulationJob one = {.workload = workload, .job = job};

  return ls_simulation_new_with (cluster, &one, 1, seed, NULL);
}

void ls_simulation_free (LsSimulation *simulation) {
  if (simulation == NULL)
    return;
  /* In this order: the engine uses the net's templates. */
  ls_engine_free (simulation->engine);
  if (simulation->folding != NULL)
    ls_folding_free (simulation->folding);
  else
    ls_net_free (simulation->net);
  ls_drawn_free (simulation->drawn);
  g_free (simulation->ranks);
  g_free (simulation->sizes);
  g_free (simulation->factors);
  for (guint j = 0; j < simulation->n_jobs; j++) {
    g_array_unref (simulation->jobs[j].step_ps);
    g_free (simulation->jobs[j].skips);
  }
  g_free (simulation->jobs);
  g_free (simulation->job_of_rank);
  g_free (simulation->step_start_ps);
  g_free (simulation->ended);
  g_free (simulation->before_ps);
  g_free (simulation->marked_ps);
  g_free (simulation->own_ps);
  g_free (simulation->parts_ps);
  g_free (simulation->before_caused_ps);
  g_free (simulation->caused_ps);
  g_free (simulation->peak_bytes);
  g_clear_error (&simulation->error);
  g_free (simulation);
}

/* Operations that the engine executes in all. */
static gint64 n_to_run (const LsSimulation *simulation) {
  gint64 sum = 0;

  for (guint place = 0; place < simulation->n_places; place++)
    sum += ls_program_n_executed (ls_engine_rank_program (simulation->engine, place));
  return sum;
}

static void watch (gpointer self, const LsEngine *engine) {
  LsSimulation *simulation = self;
  const LsRunOptions *options = simulation->options;
  gint64 wall_us = g_get_monotonic_time ();

  if (wall_us < simulation->report_us)
    return;
  simulation->report_us = wall_us + REPORT_WALL_US;
  options->progress (options->progress_self,
                     MIN ((double) ls_engine_n_operations (engine) / simulation->n_to_run, 1.0));
}

static gboolean run_watched (LsSimulation *simulation, GError **error) {
  const LsRunOptions *options = simulation->options;

  if (options->progress != NULL) {
    simulation->n_to_run = (double) n_to_run (simulation);
    simulation->report_us = g_get_monotonic_time () + REPORT_WALL_US;
    ls_engine_set_watch (simulation->engine, watch, simulation);
  }
  gboolean good = ls_engine_run_programs (simulation->engine, options->stop, error);
  ls_engine_set_watch (simulation->engine, NULL, NULL);
  if (good && simulation->error == NULL && options->progress != NULL)
    options->progress (options->progress_self, 1.0);
  return good && simulation->error == NULL;
}

static void check_bytes (const LsSimulation *simulation) {
  LsInt128 sent = 0, received = 0;

  for (guint place = 0; place < simulation->n_places; place++) {
    LsInt128 size = simulation->sizes[place];
    sent += size * ls_engine_bytes_sent (simulation->engine, place);
    received += size * ls_engine_bytes_received (simulation->engine, place);
  }
  LS_REQUIRE (sent == received, "bytes sent and received differ");
}

/* With several jobs a deadlock is of those that have steps left. */
static void name_jobs (const LsSimulation *simulation, GError **error) {
  g_autoptr (GString) text = g_string_new (NULL);

  if (simulation->n_jobs == 1 || !g_error_matches (*error, LS_ERROR, LS_ERROR_RUN))
    return;
  for (guint j = 0; j < simulation->n_jobs; j++) {
    const LsJobRun *run = &simulation->jobs[j];
    if (run->step_ps->len < run->workload->steps)
      g_string_append_printf (text, "%sjob %s (ranks %u-%u) after %u of %" G_GINT64_FORMAT " steps",
                              text->len > 0 ? ", " : "", run->name, run->first_rank,
                              run->first_rank + run->job->n_ranks - 1, run->step_ps->len,
                              run->workload->steps);
  }
  g_prefix_error (error, "%s: ", text->str);
}

gboolean ls_simulation_run (LsSimulation *simulation, const LsRunOptions *options, GError **error) {
  static const LsRunOptions none = {0};
  gint64 wall_us = g_get_monotonic_time ();
  g_autoptr (GError) fault = NULL;

  simulation->options = options != NULL ? options : &none;
  gboolean good = run_watched (simulation, &fault);
  simulation->options = NULL;
  simulation->wall_s += (double) (g_get_monotonic_time () - wall_us) / 1e6;
  if (fault != NULL)
    name_jobs (simulation, &fault);
  if (simulation->error != NULL)
    g_propagate_error (error, g_steal_pointer (&simulation->error));
  else if (fault != NULL)
    g_propagate_error (error, g_steal_pointer (&fault));
  if (!good)
    return FALSE;
  check_bytes (simulation);
  ls_engine_check (simulation->engine);
  return TRUE;
}

LsEngine *ls_simulation_engine (LsSimulation *simulation) {
  return simulation->engine;
}

LsNet *ls_simulation_net (LsSimulation *simulation) {
  return simulation->net;
}

const LsCluster *ls_simulation_cluster (const LsSimulation *simulation) {
  return simulation->cluster;
}

guint64 ls_simulation_seed (const LsSimulation *simulation) {
  return simulation->seed;
}

gboolean ls_simulation_is_folded (const LsSimulation *simulation) {
  return simulation->folding != NULL;
}

const char *ls_simulation_unfolded_why (const LsSimulation *simulation) {
  return simulation->folding == NULL ? simulation->why : NULL;
}

const LsFold *ls_simulation_fold (const LsSimulation *simulation) {
  return simulation->folding != NULL ? simulation->folding->fold : NULL;
}

guint ls_simulation_n_places (const LsSimulation *simulation) {
  return simulation->n_places;
}

guint ls_simulation_rank (const LsSimulation *simulation, guint place) {
  LS_REQUIRE (place < simulation->n_places, "place %u of %u", place, simulation->n_places);
  return simulation->ranks[place];
}

guint ls_simulation_place (const LsSimulation *simulation, guint rank) {
  LS_REQUIRE (rank < simulation->n_ranks, "rank %u of %u", rank, simulation->n_ranks);
  const LsFold *fold = ls_simulation_fold (simulation);
  return fold != NULL ? ls_fold_class_of_rank (fold)[rank] : rank;
}

guint ls_simulation_resource (const LsSimulation *simulation, guint number) {
  const LsFold *fold = ls_simulation_fold (simulation);
  return fold != NULL ? ls_fold_resource (fold, number)
                      : ls_net_resource_index (simulation->net, number);
}

guint64 ls_simulation_n_ended (const LsSimulation *simulation) {
  guint64 sum = 0;

  for (guint place = 0; place < simulation->n_places; place++)
    sum += ls_engine_rank_operations (simulation->engine, place) * simulation->sizes[place];
  return sum;
}

guint ls_simulation_n_jobs (const LsSimulation *simulation) {
  return simulation->n_jobs;
}

const LsJobRun *ls_simulation_job (const LsSimulation *simulation, guint job) {
  LS_REQUIRE (job < simulation->n_jobs, "job %u of %u", job, simulation->n_jobs);
  return &simulation->jobs[job];
}

guint ls_simulation_n_ranks (const LsSimulation *simulation) {
  return simulation->n_ranks;
}

guint ls_simulation_job_of_rank (const LsSimulation *simulation, guint rank) {
  LS_REQUIRE (rank < simulation->n_ranks, "rank %u of %u", rank, simulation->n_ranks);
  return simulation->job_of_rank[rank];
}

gint64 ls_simulation_n_operations (const LsSimulation *simulation) {
  gint64 sum = 0;

  for (guint j = 0; j < simulation->n_jobs; j++)
    sum += ls_job_n_operations (simulation->jobs[j].job);
  return sum;
}

guint ls_simulation_n_steps (const LsSimulation *simulation, guint job) {
  return ls_simulation_job (simulation, job)->step_ps->len;
}

double ls_simulation_wall_s (const LsSimulation *simulation) {
  return simulation->wall_s;
}
