/* Timed workers; see update_timed.h. */
#include "train/update/update_timed.h"

#include "base/assert.h"
#include "base/random.h"
#include "base/time.h"

typedef struct {
  LsUpdate *update;
  gsl_rng *rng;
  double factor_ps; /* ps per second drawn */
  guint64 timer;
  guint number;
} TimedWorker;

struct LsTimedWorkers {
  LsDistribution compute;
  guint n;
  TimedWorker *workers;
};

LsTimedWorkers *ls_timed_workers_new (const LsDistribution *compute, const double *factors,
                                      guint n_workers, guint64 seed) {
  LsTimedWorkers *timed = g_new0 (LsTimedWorkers, 1);

  timed->compute = ls_distribution_copy (compute);
  timed->n = n_workers;
  timed->workers = g_new0 (TimedWorker, n_workers);
  for (guint w = 0; w < n_workers; w++)
    timed->workers[w] =
        (TimedWorker){.number = w,
                      .rng = ls_random_gsl_new (seed, "update-compute", w),
                      .factor_ps = (factors != NULL ? factors[w] : 1) * (double) LS_PS_PER_S};
  return timed;
}

void ls_timed_workers_free (LsTimedWorkers *timed) {
  if (timed == NULL)
    return;
  for (guint w = 0; w < timed->n; w++)
    gsl_rng_free (timed->workers[w].rng);
  g_free (timed->workers);
  ls_distribution_clear (&timed->compute);
  g_free (timed);
}

static void step_ended (gpointer self, LsEngine *engine) {
  TimedWorker *worker = self;

  (void) engine;
  worker->timer = 0;
  ls_update_computed (worker->update, worker->number);
}

void ls_timed_workers_compute (gpointer self, LsUpdate *update, guint number) {
  LsTimedWorkers *timed = self;
  TimedWorker *worker = &timed->workers[number];
  LsEngine *engine = ls_update_engine (update);
  double ps = ls_distribution_draw (&timed->compute, worker->rng) * worker->factor_ps;
  gint64 now_ps = ls_engine_now_ps (engine);
  /* Steps beyond the clock end with it: a heavy tail must not wrap around. */
  gint64 step_ps = ps < 0x1p61 ? MAX (1, (gint64) (ps + 0.5)) : (gint64) 1 << 61;

  worker->update = update;
  if (step_ps > G_MAXINT64 / 2 - now_ps)
    step_ps = MAX (1, G_MAXINT64 / 2 - now_ps);
  worker->timer = ls_engine_schedule (engine, now_ps + step_ps, 1, step_ended, worker);
}

void ls_timed_workers_abandon (gpointer self, LsUpdate *update, guint number) {
  TimedWorker *worker = &((LsTimedWorkers *) self)->workers[number];

  LS_REQUIRE (worker->timer != 0, "worker %u computes nothing", number);
  ls_engine_cancel_timer (ls_update_engine (update), worker->timer);
  worker->timer = 0;
}
