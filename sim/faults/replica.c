/* One replication of a campaign: the job's life from event to event.
 *
 * Model:      training goes in stretches of equal steps, each up to the next thing that may change: a
 *             checkpoint that is due, a checkpoint that becomes durable, the end. An event inside a
 *             stretch cuts it: at once when the job stops, at the end of the step in progress when only
 *             the speed changes. Steps that are not yet covered by a durable checkpoint are *pending*;
 *             when a checkpoint becomes durable those before it are kept, when the job stops all are lost
 *             but those that a checkpoint in memory covers, if that memory is left: in the hosts while no
 *             node is lost, in peers while at most one is. What only memory covers stays pending.
 * Conventions: a checkpoint is due at the end of the step in which `interval` of training has passed. What is
 *             pending at the end of the campaign counts as kept, without a last checkpoint; the step in
 *             progress then counts as lost time.
 * Clock:      128-bit picoseconds inside; microseconds, rounded, outside.
 */
#include <math.h>

#include "base/assert.h"
#include "engine/fixed.h"
#include "faults/campaign.h"
#include "faults/failures.h"
#include "faults/seats.h"

#define PS_PER_US 1000000
#define NEVER (((LsInt128) G_MAXINT64) * PS_PER_US)

/* A stretch of equal steps that no durable checkpoint covers. */
typedef struct {
  gint64 steps, step_ps, tokens;
  LsInt128 start_ps;
  guint replicas;
  gboolean covered;   /* by the checkpoint that is being written */
  gboolean in_memory; /* of the hosts, and of peers */
} Stretch;

/* A node that computes slowly. */
typedef struct {
  guint source, component, node;
  guint percent;
} SlowNode;

/* A failure, kept for the trace until its price is known. */
typedef struct {
  LsFailure failure;
  LsInt128 lost_ps;
} Fault;

typedef enum { DONE, STOPPED, TIME_UP } Outcome;

typedef struct {
  const LsCampaignSpec *spec;
  const LsCampaignTrace *trace;
  LsReplica *out;
  LsFailures *failures;
  LsSeats *seats;
  GArray *pending; /* Stretch */
  GArray *slow;    /* SlowNode */
  GArray *faults;  /* Fault; NULL without a trace */
  LsInt128 now_ps, until_ps;
  LsInt128 parts_ps[LS_N_CAMPAIGN_PARTS];
  LsInt128 kept_ps;    /* of kept steps, as long as they took */
  LsInt128 idle_ps;    /* node-time of idle spares */
  LsInt128 trained_ps; /* since the last checkpoint */
  LsInt128 unsaved_ps; /* of training since the last checkpoint in memory */
  LsInt128 durable_ps; /* the checkpoint being written is durable then; NEVER: none is written */
  gint64 pending_steps, pending_tokens;
  gint64 healthy_ps; /* a step of the healthy full allocation */
  guint restored;    /* replicas of the last durable checkpoint */
  guint remembered;  /* and of the last one in memory */
  guint lost_nodes;  /* since the job last ran */
  gboolean waiting;  /* for nodes: there is no job that could stop */
  guint cause;       /* source of the failure that is being recovered from */
  gint64 fault;      /* its number */
  gint64 n_faults;
} Run;

static gint64 us_of (LsInt128 ps) {
  return (gint64) ((ps + PS_PER_US / 2) / PS_PER_US);
}

static LsInt128 ps_of (gint64 us) {
  return (LsInt128) us * PS_PER_US;
}

/* --- the clock -------------------------------------------------------------------------------- */

static void advance (Run *run, LsInt128 to_ps) {
  run->idle_ps += (to_ps - run->now_ps) * ls_seats_idle (run->seats);
  run->now_ps = to_ps;
}

static void record (Run *run, const char *kind, LsInt128 since_ps, gint64 steps, gint64 tokens,
                    gint64 fault) {
  const LsCampaignSpec *spec = run->spec;

  if (run->trace == NULL || run->trace->interval == NULL || since_ps == run->now_ps)
    return;
  guint gpus = ls_seats_used (run->seats) * spec->nodes_per_replica * spec->gpus_per_node;
  run->trace->interval (run->trace->self, kind, us_of (since_ps), us_of (run->now_ps), gpus,
                        ls_seats_idle (run->seats), steps, tokens, fault);
}

/* --- events ----------------------------------------------------------------------------------- */

static void drop_slow (Run *run, const LsFailure *failure) {
  for (guint i = 0; i < run->slow->len; i++) {
    const SlowNode *node = &g_array_index (run->slow, SlowNode, i);
    if (node->source == failure->source && node->component == failure->component) {
      g_array_remove_index (run->slow, i);
      return;
    }
  }
}

static void be_repaired (Run *run, const LsFailure *failure) {
  if (run->spec->sources[failure->source].effect == LS_EFFECT_SLOW) {
    drop_slow (run, failure);
    return;
  }
  if (run->spec->sources[failure->source].effect == LS_EFFECT_STOP)
    for (guint i = 0; i < failure->n_nodes; i++)
      ls_seats_up (run->seats, failure->first_node + i);
}

/* TRUE when the job has to stop. */
static gboolean be_stopped (Run *run, const LsFailure *failure) {
  gboolean stops = failure->n_nodes == 0;

  for (guint i = 0; i < failure->n_nodes; i++)
    if (ls_seats_down (run->seats, failure->first_node + i)) {
      stops = TRUE;
      run->lost_nodes++;
    }
  return stops;
}

static void be_slow (Run *run, const LsFailure *failure) {
  const LsFailureSource *source = &run->spec->sources[failure->source];
  SlowNode node = {.source = failure->source,
                   .component = failure->component,
                   .node = failure->first_node,
                   .percent = (guint) lround (source->slow_factor * 100)};

  g_array_append_val (run->slow, node);
}

typedef enum { NOTHING, SPEED, STOP, RETRY } Effect;

static gboolean is_stopped (const Run *run) {
  return run->spec->stop != NULL && *run->spec->stop != 0;
}

/* Takes the next event, whose time has come. */
static Effect take_event (Run *run, guint *source) {
  LsFailure failure;

  if (is_stopped (run)) /* the user's end is the campaign's */
    run->until_ps = run->now_ps;
  if (!ls_failures_take (run->failures, &failure))
    return NOTHING;
  const LsFailureSource *spec = &run->spec->sources[failure.source];
  *source = failure.source;
  if (failure.repaired) {
    be_repaired (run, &failure);
    return spec->effect == LS_EFFECT_SLOW ? SPEED : NOTHING;
  }
  if (run->waiting && failure.n_nodes == 0)
    return NOTHING;
  gboolean stops = spec->effect == LS_EFFECT_STOP && be_stopped (run, &failure) && !run->waiting;
  if (spec->effect == LS_EFFECT_SLOW)
    be_slow (run, &failure);
  run->out->failures++;
  run->out->failures_by_source[failure.source]++;
  if (run->faults != NULL) {
    Fault fault = {.failure = failure};
    g_array_append_val (run->faults, fault);
  }
  gint64 number = run->n_faults++;
  if (stops) {
    run->out->interruptions++;
    run->out->interruptions_by_source[failure.source]++;
    run->cause = failure.source;
    run->fault = number;
    return STOP;
  }
  if (spec->effect == LS_EFFECT_RETRY)
    return RETRY;
  return spec->effect == LS_EFFECT_SLOW ? SPEED : NOTHING;
}

/* Time that is lost to the failure that is being recovered from. */
static void charge (Run *run, guint source, gint64 fault, LsInt128 ps) {
  run->out->lost_us_by_source[source] += us_of (ps);
  if (run->faults != NULL && fault >= 0)
    g_array_index (run->faults, Fault, fault).lost_ps += ps;
}

static LsInt128 next_event_ps (Run *run) {
  gint64 us = ls_failures_next_us (run->failures);
  return us == G_MAXINT64 ? NEVER : ps_of (us);
}

/* Lets `ps` of something that is not training pass. */
static Outcome pass (Run *run, LsCampaignPart part, LsInt128 ps) {
  LsInt128 start_ps = run->now_ps, end_ps = MIN (run->now_ps + ps, run->until_ps);
  Outcome outcome = run->now_ps + ps > run->until_ps ? TIME_UP : DONE;
  gint64 fault = run->fault;
  guint source;

  while (next_event_ps (run) < end_ps) {
    advance (run, next_event_ps (run));
    if (take_event (run, &source) == STOP) {
      outcome = STOPPED;
      break;
    }
    if (is_stopped (run)) {
      end_ps = run->now_ps;
      outcome = TIME_UP;
    }
  }
  if (outcome != STOPPED)
    advance (run, end_ps);
  run->parts_ps[part] += run->now_ps - start_ps;
  record (run, ls_campaign_part_name (part), start_ps, 0, 0, fault);
  return outcome;
}

/* --- steps ------------------------------------------------------------------------------------ */

static LsHealth health_now (const Run *run) {
  LsHealth health = {.replicas = ls_seats_used (run->seats),
                     .slow_percent = 100,
                     .draining = run->durable_ps < NEVER};

  for (guint i = 0; i < run->slow->len; i++) {
    const SlowNode *node = &g_array_index (run->slow, SlowNode, i);
    guint replica = ls_seats_replica (run->seats, node->node);
    gboolean counted = replica == G_MAXUINT;
    for (guint j = 0; j < i && !counted; j++)
      counted =
          ls_seats_replica (run->seats, g_array_index (run->slow, SlowNode, j).node) == replica;
    health.slow += !counted;
    if (replica != G_MAXUINT)
      health.slow_percent = MAX (health.slow_percent, node->percent);
  }
  return health;
}

static gint64 tokens_of_step (const Run *run) {
  const LsCampaignSpec *spec = run->spec;

  if (!spec->scale_batch)
    return spec->tokens_per_step;
  return (gint64) ((LsInt128) spec->tokens_per_step * ls_seats_used (run->seats) / spec->replicas);
}

static void add_steps (Run *run, LsInt128 start_ps, gint64 steps, gint64 step_ps) {
  Stretch stretch = {.steps = steps,
                     .step_ps = step_ps,
                     .tokens = steps * tokens_of_step (run),
                     .start_ps = start_ps,
                     .replicas = ls_seats_used (run->seats)};

  if (steps == 0)
    return;
  g_array_append_val (run->pending, stretch);
  run->pending_steps += steps;
  run->pending_tokens += stretch.tokens;
  run->trained_ps += (LsInt128) steps * step_ps;
  run->unsaved_ps += (LsInt128) steps * step_ps;
}

/* For who learns from the campaign. */
static void report_kept (const Run *run, const Stretch *stretch) {
  const LsCampaignSpec *spec = run->spec;
  gint64 samples = spec->samples_per_step;

  if (run->trace == NULL || run->trace->kept == NULL)
    return;
  if (spec->scale_batch)
    samples = samples * stretch->replicas / spec->replicas;
  run->trace->kept (run->trace->self, us_of (stretch->start_ps),
                    us_of (stretch->start_ps + (LsInt128) stretch->steps * stretch->step_ps),
                    stretch->steps, stretch->replicas * spec->workers_per_replica, samples);
}

static void keep (Run *run, gboolean all) {
  guint n = 0;

  for (; n < run->pending->len; n++) {
    const Stretch *stretch = &g_array_index (run->pending, Stretch, n);
    if (!all && !stretch->covered)
      break;
    LsInt128 took_ps = (LsInt128) stretch->steps * stretch->step_ps;
    LsInt128 healthy_ps = (LsInt128) stretch->tokens * run->healthy_ps / run->spec->tokens_per_step;
    report_kept (run, stretch);
    run->kept_ps += took_ps;
    run->parts_ps[LS_CAMPAIGN_KEPT] += healthy_ps;
    run->parts_ps[LS_CAMPAIGN_SLOW] += took_ps - healthy_ps;
    run->out->kept_steps += stretch->steps;
    run->out->kept_tokens += stretch->tokens;
    run->pending_steps -= stretch->steps;
    run->pending_tokens -= stretch->tokens;
  }
  if (n > 0)
    g_array_remove_range (run->pending, 0, n);
}

static void become_durable (Run *run) {
  if (run->durable_ps > run->now_ps)
    return;
  keep (run, FALSE);
  run->durable_ps = NEVER;
}

/* Where the state of the job is still to be had, the nearest first. */
static LsCheckpointPlace place_left (const Run *run) {
  const LsCampaignSpec *spec = run->spec;

  if (run->lost_nodes == 0 && (spec->peer_memory || spec->memory_interval_us > 0))
    return LS_KEPT_IN_HOST;
  return run->lost_nodes <= 1 && spec->peer_memory ? LS_KEPT_IN_PEER : LS_KEPT_IN_STORAGE;
}

/* The job has stopped: steps are lost that nothing which is left covers. */
static void lose_pending (Run *run) {
  gboolean memory = run->spec->memory_interval_us > 0 && place_left (run) != LS_KEPT_IN_STORAGE;
  guint n = 0;

  become_durable (run);
  run->durable_ps = NEVER;
  run->pending_steps = run->pending_tokens = 0;
  run->trained_ps = run->unsaved_ps = 0;
  for (guint i = 0; i < run->pending->len; i++) {
    Stretch stretch = g_array_index (run->pending, Stretch, i);
    LsInt128 took_ps = (LsInt128) stretch.steps * stretch.step_ps;
    if (memory && stretch.in_memory) {
      stretch.covered = FALSE;
      run->pending_steps += stretch.steps;
      run->pending_tokens += stretch.tokens;
      run->trained_ps += took_ps;
      g_array_index (run->pending, Stretch, n++) = stretch;
      continue;
    }
    run->parts_ps[LS_CAMPAIGN_LOST] += took_ps;
    charge (run, run->cause, run->fault, took_ps);
    run->out->lost_steps += stretch.steps;
  }
  g_array_set_size (run->pending, n);
}

static gint64 divide_up (LsInt128 a, LsInt128 b) {
  return a <= 0 ? 0 : (gint64) ((a + b - 1) / b);
}

/* Steps of `step_ps` until something is due; at least 1. */
static gint64 plan (const Run *run, gint64 step_ps) {
  const LsCampaignSpec *spec = run->spec;
  LsInt128 steps = (run->until_ps - run->now_ps) / step_ps + 1;

  if (run->durable_ps < NEVER)
    steps = MIN (steps, divide_up (run->durable_ps - run->now_ps, step_ps));
  else if (spec->interval_us > 0)
    steps = MIN (steps, divide_up (ps_of (spec->interval_us) - run->trained_ps, step_ps));
  if (spec->memory_interval_us > 0)
    steps = MIN (steps, divide_up (ps_of (spec->memory_interval_us) - run->unsaved_ps, step_ps));
  if (spec->until_steps > 0)
    steps = MIN (steps, spec->until_steps - run->out->kept_steps - run->pending_steps);
  if (spec->until_tokens > 0)
    steps = MIN (steps, divide_up (spec->until_tokens - run->out->kept_tokens - run->pending_tokens,
                                   tokens_of_step (run)));
  return (gint64) MAX (1, steps);
}

static gboolean is_complete (const Run *run) {
  const LsCampaignSpec *spec = run->spec;

  return (spec->until_steps > 0 &&
          run->out->kept_steps + run->pending_steps >= spec->until_steps) ||
         (spec->until_tokens > 0 &&
          run->out->kept_tokens + run->pending_tokens >= spec->until_tokens);
}

/* Time that a step in progress took in vain. */
static void lose_time (Run *run, guint source, gint64 fault, LsInt128 ps) {
  run->parts_ps[LS_CAMPAIGN_LOST] += ps;
  charge (run, source, fault, ps);
}

/* Runs one stretch. */
static Outcome train (Run *run) {
  const LsHealth health = health_now (run);
  gint64 step_ps = run->spec->times.step_ps (run->spec->times.self, &health), steps;
  LsInt128 start_ps = run->now_ps;
  guint source = 0;

  LS_REQUIRE (step_ps > 0, "a step takes no time");
  steps = plan (run, step_ps);
  for (;;) {
    LsInt128 end_ps = start_ps + (LsInt128) steps * step_ps, event_ps = next_event_ps (run);
    if (event_ps >= MIN (end_ps, run->until_ps)) {
      gboolean up = end_ps > run->until_ps;
      gint64 whole = up ? (gint64) ((run->until_ps - start_ps) / step_ps) : steps;
      advance (run, up ? run->until_ps : end_ps);
      add_steps (run, start_ps, whole, step_ps);
      run->parts_ps[LS_CAMPAIGN_LOST] += run->now_ps - start_ps - (LsInt128) whole * step_ps;
      record (run, "train", start_ps, whole, whole * tokens_of_step (run), -1);
      return up ? TIME_UP : DONE;
    }
    advance (run, event_ps);
    LsInt128 passed_ps = event_ps - start_ps;
    gint64 whole = (gint64) (passed_ps / step_ps);
    Effect effect = take_event (run, &source);
    if (effect == SPEED)
      steps = MIN (steps, MAX (1, divide_up (passed_ps, step_ps)));
    if (effect != STOP && effect != RETRY)
      continue;
    add_steps (run, start_ps, whole, step_ps);
    record (run, "train", start_ps, whole, whole * tokens_of_step (run), -1);
    if (effect == STOP) {
      lose_time (run, run->cause, run->fault, passed_ps - (LsInt128) whole * step_ps);
      return STOPPED;
    }
    lose_time (run, source, run->n_faults - 1, passed_ps - (LsInt128) whole * step_ps);
    charge (run, source, run->n_faults - 1, ps_of (run->spec->sources[source].retry_us));
    return pass (run, LS_CAMPAIGN_LOST, ps_of (run->spec->sources[source].retry_us));
  }
}

/* --- checkpoints and recovery ----------------------------------------------------------------- */

static Outcome start_up (Run *run, guint from, LsCheckpointPlace place) {
  const LsCampaignSpec *spec = run->spec;
  Outcome outcome = pass (run, LS_CAMPAIGN_RESTART, ps_of (spec->restart_us));

  if (outcome == DONE)
    outcome = pass (
        run, LS_CAMPAIGN_RESTORE,
        ps_of (spec->times.restore_us (spec->times.self, from, ls_seats_used (run->seats), place)));
  return outcome;
}

/* Replicas to go on with; 0: wait. */
static guint wanted (const Run *run) {
  guint possible = ls_seats_possible (run->seats);

  if (run->spec->policy == LS_RECOVERY_ELASTIC)
    return possible >= MAX (1u, run->spec->least_replicas) ? possible : 0;
  return possible == run->spec->replicas ? possible : 0;
}

/* The job grows back to what is whole, from a checkpoint that is durable now. */
static Outcome grow (Run *run) {
  guint before = ls_seats_used (run->seats);

  ls_seats_fill (run->seats, wanted (run));
  run->fault = -1;
  Outcome outcome = pass (run, LS_CAMPAIGN_SWAP, ps_of (run->spec->swap_us));
  return outcome == DONE ? start_up (run, before, LS_KEPT_IN_STORAGE) : outcome;
}

/* All that is pending is in memory now. */
static void remember (Run *run) {
  for (guint i = 0; i < run->pending->len; i++)
    g_array_index (run->pending, Stretch, i).in_memory = TRUE;
  run->unsaved_ps = 0;
  run->remembered = ls_seats_used (run->seats);
}

static Outcome write_to_memory (Run *run) {
  const LsCampaignSpec *spec = run->spec;
  gint64 us = spec->times.memory_us (spec->times.self, ls_seats_used (run->seats));

  run->fault = -1;
  Outcome outcome = pass (run, LS_CAMPAIGN_CHECKPOINT, ps_of (us));
  if (outcome != DONE)
    return outcome;
  run->out->memory_checkpoints++;
  remember (run);
  return DONE;
}

static Outcome write_checkpoint (Run *run) {
  const LsCampaignSpec *spec = run->spec;
  guint replicas = ls_seats_used (run->seats);
  LsCheckpointCost cost = spec->times.checkpoint (spec->times.self, replicas);
  gboolean grows = spec->policy == LS_RECOVERY_ELASTIC && wanted (run) > replicas;

  run->fault = -1;
  for (guint i = 0; i < run->pending->len; i++)
    g_array_index (run->pending, Stretch, i).covered = TRUE;
  Outcome outcome =
      pass (run, LS_CAMPAIGN_CHECKPOINT, ps_of (cost.blocking_us + (grows ? cost.drain_us : 0)));
  if (outcome != DONE)
    return outcome;
  run->out->checkpoints++;
  run->trained_ps = 0;
  run->restored = replicas;
  remember (run);
  run->durable_ps = run->now_ps + (grows ? 0 : ps_of (cost.drain_us));
  become_durable (run);
  return grows ? grow (run) : DONE;
}

/* Waits until nodes enough are whole. */
static Outcome wait_for_nodes (Run *run) {
  LsInt128 start_ps = run->now_ps;
  Outcome outcome = DONE;
  guint source;

  run->waiting = TRUE;
  while (wanted (run) == 0) {
    if (next_event_ps (run) >= run->until_ps) {
      advance (run, run->until_ps);
      outcome = TIME_UP;
      break;
    }
    advance (run, next_event_ps (run));
    take_event (run, &source);
  }
  run->waiting = FALSE;
  run->parts_ps[LS_CAMPAIGN_WAIT] += run->now_ps - start_ps;
  record (run, "wait", start_ps, 0, 0, run->fault);
  return outcome;
}

/* From the failure to the first new step; failures in between begin it again. */
static Outcome recover (Run *run) {
  const LsCampaignSpec *spec = run->spec;
  Outcome outcome;

  do {
    LsInt128 start_ps = run->now_ps;
    guint cause = run->cause;
    gint64 fault = run->fault;
    lose_pending (run);
    outcome = pass (run, LS_CAMPAIGN_DETECT, ps_of (spec->detect_us));
    if (outcome == DONE)
      outcome = pass (run, LS_CAMPAIGN_DRAIN, ps_of (spec->drain_us));
    if (outcome == DONE)
      outcome = wait_for_nodes (run);
    if (outcome == DONE) {
      guint before = ls_seats_used (run->seats);
      gboolean anew = ls_seats_fill (run->seats, wanted (run));
      anew |= before != ls_seats_used (run->seats);
      if (anew && spec->policy != LS_RECOVERY_WAIT)
        outcome = pass (run, LS_CAMPAIGN_SWAP, ps_of (spec->swap_us));
      if (outcome == DONE)
        outcome = pass (run, LS_CAMPAIGN_RESCHEDULE, ps_of (spec->reschedule_us));
      if (outcome == DONE) {
        LsCheckpointPlace place = place_left (run);
        gboolean newer = spec->memory_interval_us > 0 && place != LS_KEPT_IN_STORAGE;
        outcome = start_up (run, newer ? run->remembered : run->restored, place);
      }
    }
    charge (run, cause, fault, run->now_ps - start_ps);
  } while (outcome == STOPPED);
  run->lost_nodes = 0;
  return outcome;
}

static void live (Run *run) {
  const LsCampaignSpec *spec = run->spec;
  Outcome outcome = DONE;

  while (outcome != TIME_UP && !is_complete (run) && !is_stopped (run)) {
    gboolean due = spec->interval_us > 0 && run->durable_ps == NEVER &&
                   run->trained_ps >= ps_of (spec->interval_us);
    gboolean soon =
        spec->memory_interval_us > 0 && run->unsaved_ps >= ps_of (spec->memory_interval_us);
    outcome = due ? write_checkpoint (run) : soon ? write_to_memory (run) : train (run);
    if (outcome == DONE)
      become_durable (run);
    if (outcome == STOPPED)
      outcome = recover (run);
  }
  keep (run, TRUE);
}

static void report_faults (const Run *run) {
  const LsCampaignSpec *spec = run->spec;
  double gpus = (double) spec->replicas * spec->nodes_per_replica * spec->gpus_per_node;

  for (guint i = 0; run->faults != NULL && i < run->faults->len; i++) {
    const Fault *fault = &g_array_index (run->faults, Fault, i);
    const LsFailure *failure = &fault->failure;
    run->trace->fault (run->trace->self, failure->source, failure->first_node, failure->n_nodes,
                       failure->t_us, failure->t_us + failure->repair_us,
                       (double) fault->lost_ps / 1e12 * gpus);
  }
}

/* --- results ---------------------------------------------------------------------------------- */

static void conclude (Run *run) {
  const LsCampaignSpec *spec = run->spec;
  LsReplica *out = run->out;
  guint nodes = spec->replicas * spec->nodes_per_replica + spec->spares;
  gint64 sum_us = 0;
  LsInt128 sum_ps = 0;

  out->wall_us = us_of (run->now_ps);
  for (guint part = 0; part < LS_N_CAMPAIGN_PARTS; part++) {
    sum_ps += run->parts_ps[part];
    out->parts_us[part] = us_of (run->parts_ps[part]);
    sum_us += part == LS_CAMPAIGN_KEPT ? 0 : out->parts_us[part];
  }
  LS_REQUIRE (sum_ps == run->now_ps, "the parts of the campaign do not sum to its time");
  out->parts_us[LS_CAMPAIGN_KEPT] = out->wall_us - sum_us;
  out->spare_node_s = (double) run->idle_ps / 1e12;
  out->gpu_hours = (double) run->now_ps / 1e12 / 3600 * nodes * spec->gpus_per_node;
  double wall_s = (double) run->now_ps / 1e12;
  double healthy_s = (double) run->healthy_ps / 1e12;
  double job = spec->replicas * spec->nodes_per_replica;
  if (wall_s <= 0)
    return;
  out->ettr = (double) run->kept_ps / (double) run->now_ps;
  out->goodput = (double) out->kept_tokens / (double) spec->tokens_per_step * healthy_s / wall_s *
                 (job / nodes);
}

void ls_campaign_run (const LsCampaignSpec *spec, guint replica, const LsCampaignTrace *trace,
                      LsReplica *result) {
  guint nodes = spec->replicas * spec->nodes_per_replica + spec->spares;
  Run run = {.spec = spec, .trace = trace, .out = result, .durable_ps = NEVER, .fault = -1};
  const LsHealth healthy = {.replicas = spec->replicas, .slow_percent = 100, .plain = TRUE};

  LS_REQUIRE (spec->until_us > 0 || spec->until_steps > 0 || spec->until_tokens > 0,
              "a campaign without an end");
  *result = (LsReplica){0};
  result->failures_by_source = g_new0 (guint, MAX (spec->n_sources, 1u));
  result->interruptions_by_source = g_new0 (guint, MAX (spec->n_sources, 1u));
  result->lost_us_by_source = g_new0 (gint64, MAX (spec->n_sources, 1u));
  gint64 horizon_us = spec->until_us > 0 ? spec->until_us : LS_CAMPAIGN_LONGEST_US;
  run.until_ps = ps_of (horizon_us);
  run.healthy_ps = spec->times.step_ps (spec->times.self, &healthy);
  run.restored = run.remembered = spec->replicas;
  run.pending = g_array_new (FALSE, FALSE, sizeof (Stretch));
  run.slow = g_array_new (FALSE, FALSE, sizeof (SlowNode));
  run.seats = ls_seats_new (nodes, spec->replicas, spec->nodes_per_replica);
  run.failures =
      ls_failures_new (spec->sources, spec->n_sources, nodes, spec->seed, replica, horizon_us);
  if (trace != NULL && trace->fault != NULL)
    run.faults = g_array_new (FALSE, FALSE, sizeof (Fault));
  live (&run);
  report_faults (&run);
  conclude (&run);
  ls_failures_free (run.failures);
  ls_seats_free (run.seats);
  g_array_unref (run.pending);
  g_array_unref (run.slow);
  g_clear_pointer (&run.faults, g_array_unref);
}

void ls_replica_clear (LsReplica *replica) {
  g_clear_pointer (&replica->failures_by_source, g_free);
  g_clear_pointer (&replica->interruptions_by_source, g_free);
  g_clear_pointer (&replica->lost_us_by_source, g_free);
}
