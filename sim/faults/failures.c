/* Renewal processes of components; see failures.h. */
#include "faults/failures.h"

#include <math.h>

#include "base/assert.h"
#include "base/random.h"
#include "engine/event_queue.h"

enum { EVENT_CANDIDATE = 1, EVENT_FAIL, EVENT_REPAIR };

typedef struct {
  guint n;         /* components */
  guint8 *down;    /* by component */
  double per_us;   /* of all candidates; 0: one process per component */
  double keep;     /* lemons: chance that a candidate that is no lemon counts */
  guint64 lives;   /* key of the components' streams */
  guint64 lemons;  /* key of who is a lemon */
  LsRandom random; /* of candidates and repairs */
  guint busy;      /* crews */
  GQueue waiting;  /* Waiting *, with limited crews */
} Source;

/* A component that waits for a crew. */
typedef struct {
  guint component, life;
  gint64 repair_us;
} Waiting;

struct LsFailures {
  const LsFailureSource *specs;
  guint n_sources, n_nodes;
  gint64 horizon_us;
  Source *sources;
  LsEventQueue *queue;
};

guint ls_failures_components (const LsFailureSource *source, guint n_nodes) {
  if (source->per_node > 0)
    return n_nodes * source->per_node;
  LS_REQUIRE (source->nodes_per_domain > 0, "source %s belongs to nothing", source->name);
  return (n_nodes + source->nodes_per_domain - 1) / source->nodes_per_domain;
}

/* Seconds to whole microseconds, at least 1; beyond the horizon: just beyond. */
static gint64 to_us (const LsFailures *failures, double s) {
  double us = s * 1e6;
  if (!(us < (double) failures->horizon_us))
    return failures->horizon_us + 1;
  return MAX (1, (gint64) llround (us));
}

static double draw_s (LsRandom *random, const LsDistribution *distribution) {
  gsl_rng rng = {ls_random_gsl_type (), random};
  return ls_distribution_draw (distribution, &rng);
}

static void schedule (LsFailures *failures, guint kind, guint source, guint component,
                      gint64 t_us) {
  if (t_us <= failures->horizon_us || kind == EVENT_REPAIR)
    ls_event_queue_push (failures->queue, t_us, 0, (LsEvent){kind | source << 2, component, 0});
}

static void next_candidate (LsFailures *failures, guint number, gint64 now_us) {
  Source *source = &failures->sources[number];
  double gap_us = -log1p (-ls_random_uniform (&source->random)) / source->per_us;
  if (gap_us < (double) (failures->horizon_us - now_us))
    schedule (failures, EVENT_CANDIDATE, number, 0, now_us + MAX (1, (gint64) llround (gap_us)));
}

/* The k-th life of a component comes from its own stream, whatever happened to others. */
static void next_life (LsFailures *failures, guint number, guint component, guint life,
                       gint64 now_us) {
  Source *source = &failures->sources[number];
  LsRandom random = {ls_random_hash (source->lives, component, life), 0};
  double s = draw_s (&random, &failures->specs[number].lifetime);
  gint64 us = to_us (failures, s);
  if (us <= failures->horizon_us - now_us)
    ls_event_queue_push (failures->queue, now_us + us, 0,
                         (LsEvent){EVENT_FAIL | number << 2, component, life});
}

static void start_source (LsFailures *failures, guint number, guint64 seed, guint replica) {
  const LsFailureSource *spec = &failures->specs[number];
  Source *source = &failures->sources[number];
  g_autofree char *purpose = g_strdup_printf ("failure/%s", spec->name);
  g_autofree char *lives = g_strdup_printf ("failure/%s/lives", spec->name);
  g_autofree char *lemons = g_strdup_printf ("failure/%s/lemons", spec->name);

  source->n = ls_failures_components (spec, failures->n_nodes);
  source->down = g_new0 (guint8, MAX (source->n, 1u));
  source->lives = ls_random_key (seed, lives, replica);
  source->lemons = ls_random_key (seed, lemons, replica);
  ls_random_init (&source->random, seed, purpose, replica);
  if (g_str_equal (spec->lifetime.kind->name, "exponential")) {
    double factor = spec->lemon_share > 0 ? spec->lemon_factor : 1;
    source->per_us = source->n * factor / ls_distribution_mean (&spec->lifetime) / 1e6;
    source->keep = 1 / factor;
    next_candidate (failures, number, 0);
    return;
  }
  for (guint component = 0; component < source->n; component++)
    next_life (failures, number, component, 0, 0);
}

LsFailures *ls_failures_new (const LsFailureSource *sources, guint n_sources, guint n_nodes,
                             guint64 seed, guint replica, gint64 horizon_us) {
  LsFailures *failures = g_new0 (LsFailures, 1);

  failures->specs = sources;
  failures->n_sources = n_sources;
  failures->n_nodes = n_nodes;
  failures->horizon_us = horizon_us;
  failures->sources = g_new0 (Source, MAX (n_sources, 1u));
  failures->queue = ls_event_queue_new ();
  for (guint i = 0; i < n_sources; i++)
    start_source (failures, i, seed, replica);
  return failures;
}

void ls_failures_free (LsFailures *failures) {
  if (failures == NULL)
    return;
  for (guint i = 0; i < failures->n_sources; i++) {
    g_free (failures->sources[i].down);
    g_queue_clear_full (&failures->sources[i].waiting, g_free);
  }
  g_free (failures->sources);
  ls_event_queue_free (failures->queue);
  g_free (failures);
}

gint64 ls_failures_next_us (LsFailures *failures) {
  return ls_event_queue_is_empty (failures->queue) ? G_MAXINT64
                                                   : ls_event_queue_peek_time (failures->queue);
}

/* The component that a candidate falls on; FALSE: none. */
static gboolean pick_victim (LsFailures *failures, guint number, guint *component) {
  const LsFailureSource *spec = &failures->specs[number];
  Source *source = &failures->sources[number];

  *component = (guint) ls_random_below (&source->random, source->n);
  if (source->keep < 1) {
    double mark = (double) (ls_random_hash (source->lemons, *component, 0) >> 11) * 0x1.0p-53;
    double luck = ls_random_uniform (&source->random);
    if (mark >= spec->lemon_share && luck >= source->keep)
      return FALSE;
  }
  return !source->down[*component];
}

static void start_repair (LsFailures *failures, guint number, const Waiting *what, gint64 now_us) {
  failures->sources[number].busy++;
  ls_event_queue_push (failures->queue, now_us + what->repair_us, 0,
                       (LsEvent){EVENT_REPAIR | number << 2, what->component, what->life + 1});
}

static void fail (LsFailures *failures, guint number, guint component, guint life,
                  LsFailure *failure) {
  const LsFailureSource *spec = &failures->specs[number];
  Source *source = &failures->sources[number];
  gint64 repair_us = MAX (1, (gint64) llround (draw_s (&source->random, &spec->repair) * 1e6));
  const Waiting what = {.component = component, .life = life, .repair_us = repair_us};

  source->down[component] = 1;
  failure->repair_us = repair_us;
  if (spec->crews == 0 || source->busy < spec->crews)
    start_repair (failures, number, &what, failure->t_us);
  else
    g_queue_push_tail (&source->waiting, g_memdup2 (&what, sizeof what));
}

static void end_repair (LsFailures *failures, guint number, guint component, guint life,
                        gint64 now_us) {
  Source *source = &failures->sources[number];
  g_autofree Waiting *next = g_queue_pop_head (&source->waiting);

  source->down[component] = 0;
  source->busy--;
  if (next != NULL)
    start_repair (failures, number, next, now_us);
  if (source->per_us <= 0)
    next_life (failures, number, component, life, now_us);
}

static void locate (const LsFailures *failures, LsFailure *failure) {
  const LsFailureSource *spec = &failures->specs[failure->source];

  if (spec->keeps_nodes)
    return;
  if (spec->per_node > 0) {
    failure->first_node = failure->component / spec->per_node;
    failure->n_nodes = 1;
    return;
  }
  failure->first_node = failure->component * spec->nodes_per_domain;
  failure->n_nodes = MIN (spec->nodes_per_domain, failures->n_nodes - failure->first_node);
}

gboolean ls_failures_take (LsFailures *failures, LsFailure *failure) {
  guint32 slot;
  gint64 t_us = ls_event_queue_peek_time (failures->queue);
  LsEvent event = ls_event_queue_pop (failures->queue, &slot);
  guint number = event.kind >> 2, component = event.a;

  *failure = (LsFailure){.t_us = t_us, .source = number};
  switch (event.kind & 3) {
  case EVENT_CANDIDATE: {
    gboolean hit = pick_victim (failures, number, &component);
    if (hit)
      fail (failures, number, component, 0, failure);
    next_candidate (failures, number, t_us);
    if (!hit)
      return FALSE;
    break;
  }
  case EVENT_FAIL:
    fail (failures, number, component, event.b, failure);
    break;
  default:
    failure->repaired = TRUE;
    end_repair (failures, number, component, event.b, t_us);
  }
  failure->component = component;
  locate (failures, failure);
  return TRUE;
}
