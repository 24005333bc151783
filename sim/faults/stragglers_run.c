/* Stragglers at work, see stragglers_run.h. */
#include "faults/stragglers_run.h"

#include "base/assert.h"
#include "base/random.h"
#include "base/time.h"
#include "engine/fixed.h"

/* Operations of different streams of a rank draw apart: the stream is the low bits of the target. */
#define STREAM_BITS 8

/* One straggler on one device or link, while it has a time. */
typedef struct Process Process;
struct Process {
  LsStragglersRun *run;
  const LsStraggler *straggler;
  Process *next; /* on the same device or link */
  guint target;  /* engine device or resource */
  double factor; /* 0: stands still */
  gboolean slow;
  gsl_rng *rng; /* of its times; NULL: it has one interval */
  guint64 timer;
};

struct LsStragglersRun {
  const LsStragglers *stragglers;
  LsEngine *engine;
  const LsNet *net;
  guint n_places, n_ranks;
  guint *rank_of_place, *place_of_rank;
  gsl_rng *scratch;     /* whose state is set before each draw */
  gint64 *factors;      /* by place: of the run, for kernels */
  GArray **drawn;       /* by place: guint, stragglers that draw; NULL: none */
  guint64 *steps;       /* by place: that have ended */
  guint64 left;         /* ends of steps, over all places */
  GPtrArray *processes; /* owned */
  Process **of_device;  /* heads, by device and by resource; NULL: none */
  Process **of_resource;
  guint n_devices, n_resources;
};

void ls_stragglers_set_options (const LsStragglers *stragglers, LsSimulationOptions *options) {
  if (stragglers == NULL)
    return;
  options->factor_of_rank = stragglers->factor_of_rank;
  options->label_of_rank = stragglers->label_of_rank;
  if (stragglers->has_links)
    options->fold = FALSE;
}

/* --- factors ------------------------------------------------------------------------------------ */

static gint64 scaled (gint64 work_ps, double factor) {
  double ps = (double) work_ps * factor;

  return ps < (double) (G_MAXINT64 / 4) ? (gint64) (ps + 0.5) : G_MAXINT64 / 4;
}

static gint64 drawn_work (gpointer self, guint place, guint stream, gint64 ordinal, const LsOp *op,
                          gint64 work_ps) {
  const LsStragglersRun *run = self;
  LsStragglerPart part = op->kind == LS_OP_HOST ? LS_STRAGGLER_INPUT : LS_STRAGGLER_COMPUTE;
  double factor = 1;

  if (place >= run->n_places || (op->kind != LS_OP_KERNEL && op->kind != LS_OP_HOST))
    return work_ps;
  const guint64 rank = run->rank_of_place[place];
  const GArray *drawn = run->drawn[place];
  if (part == LS_STRAGGLER_COMPUTE && run->factors[place] != LS_USAGE_ONE) {
    LsInt128 product = (LsInt128) work_ps * run->factors[place];
    work_ps = (gint64) ((product + LS_USAGE_ONE / 2) >> LS_USAGE_BITS);
  }
  if (drawn == NULL)
    return work_ps;
  for (guint i = 0; i < drawn->len; i++) {
    const LsStraggler *straggler = &run->stragglers->all[g_array_index (drawn, guint, i)];
    if (straggler->part != part)
      continue;
    if (straggler->per == LS_STRAGGLER_PER_OPERATION)
      factor *= ls_straggler_factor (straggler, run->scratch, rank << STREAM_BITS | stream,
                                     (guint64) ordinal);
    else
      factor *=
          ls_straggler_factor (straggler, run->scratch, rank,
                               straggler->per == LS_STRAGGLER_PER_STEP ? run->steps[place] : 0);
  }
  return scaled (work_ps, factor);
}

/* Which stragglers each place asks; places that none concerns are not asked. */
static void add_drawn (LsStragglersRun *run) {
  const LsStragglers *stragglers = run->stragglers;
  guint n = run->n_places;

  run->drawn = g_new0 (GArray *, MAX (n, 1u));
  run->factors = g_new (gint64, MAX (n, 1u));
  for (guint place = 0; place < n; place++)
    run->factors[place] = stragglers->factor_of_rank[run->rank_of_place[place]];
  for (guint i = 0; i < stragglers->n; i++) {
    const LsStraggler *straggler = &stragglers->all[i];
    if (straggler->per == LS_STRAGGLER_PER_RUN && straggler->part != LS_STRAGGLER_INPUT)
      continue;
    for (guint k = 0; k < straggler->ranks->len; k++) {
      guint rank = g_array_index (straggler->ranks, guint, k);
      if (rank >= run->n_ranks)
        continue; /* a job that has shrunk */
      guint place = run->place_of_rank[rank];
      if (run->rank_of_place[place] != rank)
        continue;
      if (run->drawn[place] == NULL)
        run->drawn[place] = g_array_new (FALSE, FALSE, sizeof (guint));
      g_array_append_val (run->drawn[place], i);
    }
  }
  for (guint place = 0; place < n; place++)
    ls_engine_set_steady (run->engine, place,
                          run->drawn[place] == NULL && run->factors[place] == LS_USAGE_ONE);
  ls_engine_set_work_func (run->engine, drawn_work, run);
}

/* --- times -------------------------------------------------------------------------------------- */

static void set_device (LsStragglersRun *run, guint device) {
  double speed = 1;

  for (const Process *process = run->of_device[device]; process != NULL; process = process->next)
    if (process->slow)
      speed *= process->factor > 0 ? 1 / process->factor : 0;
  ls_engine_set_device_speed (run->engine, device, speed);
}

static void set_link (LsStragglersRun *run, guint resource) {
  double per_s = ls_net_resource_of (run->net, resource)->per_s;

  for (const Process *process = run->of_resource[resource]; process != NULL;
       process = process->next)
    if (process->slow)
      per_s /= process->factor;
  ls_engine_set_capacity (run->engine, resource, per_s);
}

static gint64 span_ps (const LsDistribution *span, gsl_rng *rng) {
  double s = MIN (ls_distribution_draw (span, rng), 1e6);

  return MAX (ls_time_ps_from_s_checked (s), 1);
}

static void change (gpointer self, LsEngine *engine);

static void schedule (Process *process, gint64 at_ps) {
  const LsStraggler *straggler = process->straggler;

  process->timer = 0;
  if (at_ps >= straggler->until_ps && process->slow)
    at_ps = straggler->until_ps;
  if (at_ps < G_MAXINT64 && at_ps <= straggler->until_ps)
    process->timer = ls_engine_schedule (process->run->engine, at_ps, 0, change, process);
}

static void apply (Process *process) {
  if (process->straggler->part == LS_STRAGGLER_NETWORK)
    set_link (process->run, process->target);
  else
    set_device (process->run, process->target);
}

/* From well to slow or back, and when it changes again. */
static void change (gpointer self, LsEngine *engine) {
  Process *process = self;
  const LsStraggler *straggler = process->straggler;
  gint64 now_ps = ls_engine_now_ps (engine);

  process->timer = 0;
  if (now_ps >= straggler->until_ps && !process->slow)
    return;
  process->slow = !process->slow;
  apply (process);
  if (process->rng != NULL)
    schedule (process, now_ps + span_ps (process->slow ? &straggler->slow : &straggler->normal,
                                         process->rng));
  else if (process->slow)
    schedule (process, straggler->until_ps);
}

static void add_process (LsStragglersRun *run, const LsStraggler *straggler, Process **heads,
                         guint target, guint64 entity) {
  Process *process = g_new0 (Process, 1);
  gint64 first_ps = straggler->from_ps;

  *process = (Process){.run = run,
                       .straggler = straggler,
                       .next = heads[target],
                       .target = target,
                       .factor = straggler->part == LS_STRAGGLER_HOST
                                     ? 0
                                     : ls_straggler_factor (straggler, run->scratch, entity, 0)};
  if (straggler->part != LS_STRAGGLER_HOST)
    process->factor = MAX (process->factor, 1); /* nothing is faster than nominal */
  heads[target] = process;
  g_ptr_array_add (run->processes, process);
  if (straggler->comes_and_goes) {
    process->rng = gsl_rng_alloc (ls_random_gsl_type ());
    *(LsRandom *) process->rng->state =
        (LsRandom){.key = ls_random_hash (straggler->key, entity, G_MAXUINT64)};
    first_ps += span_ps (&straggler->normal, process->rng);
  }
  if (straggler->is_timed) {
    schedule (process, first_ps);
    return;
  }
  process->slow = TRUE;
}

static void add_devices (LsStragglersRun *run, const LsStraggler *straggler) {
  for (guint k = 0; k < straggler->ranks->len; k++) {
    guint rank = g_array_index (straggler->ranks, guint, k);
    if (rank >= run->n_ranks)
      continue;
    guint place = run->place_of_rank[rank];
    if (run->rank_of_place[place] == rank)
      add_process (run, straggler, run->of_device, ls_engine_rank_device (run->engine, place),
                   rank);
  }
}

static void add_links (LsStragglersRun *run, const LsStraggler *straggler) {
  for (guint k = 0; k < straggler->links->len; k++) {
    guint link = g_array_index (straggler->links, guint, k);
    add_process (run, straggler, run->of_resource, ls_net_resource (run->net, link)->number, link);
  }
}

static void add_processes (LsStragglersRun *run) {
  for (guint place = 0; place < run->n_places; place++)
    run->n_devices = MAX (run->n_devices, ls_engine_rank_device (run->engine, place) + 1);
  run->n_resources = ls_engine_n_resources (run->engine);
  run->of_device = g_new0 (Process *, MAX (run->n_devices, 1u));
  run->of_resource = g_new0 (Process *, MAX (run->n_resources, 1u));
  for (guint i = 0; i < run->stragglers->n; i++) {
    const LsStraggler *straggler = &run->stragglers->all[i];
    if (straggler->is_timed && straggler->part != LS_STRAGGLER_NETWORK)
      add_devices (run, straggler);
    add_links (run, straggler);
  }
  /* Links that nothing could fill are not ample any more, even while they are well. */
  for (guint i = 0; i < run->n_resources; i++)
    if (run->of_resource[i] != NULL)
      set_link (run, i);
}

/* --- the run ------------------------------------------------------------------------------------ */

static void on_mark (gpointer self, guint place, const LsOp *op, const gint32 *counters,
                     gint64 t_ps) {
  LsStragglersRun *run = self;

  (void) op;
  (void) counters;
  (void) t_ps;
  if (place >= run->n_places)
    return;
  run->steps[place]++;
  if (--run->left > 0)
    return;
  for (guint i = 0; i < run->processes->len; i++) {
    Process *process = g_ptr_array_index (run->processes, i);
    if (process->timer != 0)
      ls_engine_cancel_timer (run->engine, process->timer);
    process->timer = 0;
    if (process->slow && process->straggler->is_timed) {
      process->slow = FALSE;
      apply (process);
    }
  }
}

/* Room for so many places and ranks; every field of the run is then to be filled by its maker. */
static LsStragglersRun *run_new (const LsStragglers *stragglers, LsEngine *engine, const LsNet *net,
                                 guint n_places, guint n_ranks) {
  LsStragglersRun *run = g_new0 (LsStragglersRun, 1);

  run->stragglers = stragglers;
  run->engine = engine;
  run->net = net;
  run->n_places = n_places;
  run->n_ranks = n_ranks;
  run->rank_of_place = g_new0 (guint, MAX (n_places, 1u));
  run->place_of_rank = g_new0 (guint, MAX (n_ranks, 1u));
  run->scratch = ls_random_gsl_new (0, "stragglers", 0);
  run->processes = g_ptr_array_new ();
  run->steps = g_new0 (guint64, MAX (n_places, 1u));
  return run;
}

static void start (LsStragglersRun *run, gboolean draws) {
  static const LsObserver observer = {.mark = on_mark};

  if (draws)
    add_drawn (run);
  if (run->stragglers->has_timers || run->stragglers->has_links)
    add_processes (run);
  ls_engine_add_observer (run->engine, &observer, run);
}

LsStragglersRun *ls_stragglers_install (const LsStragglers *stragglers, LsSimulation *simulation) {
  if (stragglers == NULL || !(stragglers->draws || stragglers->has_timers || stragglers->has_links))
    return NULL;
  LsStragglersRun *run =
      run_new (stragglers, ls_simulation_engine (simulation), ls_simulation_net (simulation),
               ls_simulation_n_places (simulation), ls_simulation_n_ranks (simulation));

  for (guint place = 0; place < run->n_places; place++)
    run->rank_of_place[place] = ls_simulation_rank (simulation, place);
  for (guint rank = 0; rank < run->n_ranks; rank++)
    run->place_of_rank[rank] = ls_simulation_place (simulation, rank);
  for (guint j = 0; j < ls_simulation_n_jobs (simulation); j++) {
    const LsJobRun *job = ls_simulation_job (simulation, j);
    run->left += (guint64) job->n_places * (guint64) job->workload->steps;
  }
  start (run, stragglers->draws);
  return run;
}

LsStragglersRun *ls_stragglers_install_updates (const LsStragglers *stragglers,
                                                LsUpdateRun *updates) {
  if (stragglers == NULL)
    return NULL;
  const LsLayout *layout = &ls_update_run_workload (updates)->layout;
  const guint per_worker = ls_update_run_gpus_per_worker (updates);
  g_autofree guint *filled = g_new0 (guint, layout->data);
  LsStragglersRun *run = run_new (stragglers, ls_update_run_engine (updates),
                                  ls_update_run_net (updates), layout->ranks, layout->ranks);

  /* As replicas are dealt: the ranks of worker w, in order, behind those of the workers before. */
  for (guint rank = 0; rank < layout->ranks; rank++) {
    const guint worker = ls_layout_coordinates (layout, rank).data;
    const guint place = worker * per_worker + filled[worker]++;

    run->rank_of_place[place] = rank;
    run->place_of_rank[rank] = place;
  }
  run->left = G_MAXUINT64; /* the policy ends the run, not the programs */
  start (run, TRUE);
  return run;
}

void ls_stragglers_run_free (LsStragglersRun *run) {
  if (run == NULL)
    return;
  for (guint i = 0; i < run->processes->len; i++) {
    Process *process = g_ptr_array_index (run->processes, i);
    g_clear_pointer (&process->rng, gsl_rng_free);
    g_free (process);
  }
  for (guint place = 0; run->drawn != NULL && place < run->n_places; place++)
    if (run->drawn[place] != NULL)
      g_array_unref (run->drawn[place]);
  g_free (run->drawn);
  g_free (run->factors);
  g_ptr_array_unref (run->processes);
  g_free (run->of_device);
  g_free (run->of_resource);
  g_free (run->steps);
  g_free (run->rank_of_place);
  g_free (run->place_of_rank);
  gsl_rng_free (run->scratch);
  g_free (run);
}
