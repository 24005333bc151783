/* Several learners on one log, see ensemble.h. */
#include "learn/ensemble.h"

#include "base/assert.h"
#include "base/time.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Records per block: at most a few megabytes, and so many that learning them takes about BLOCK_US, since whoever
 * interrupts waits for a block. source: choice */
#define BLOCK_RECORDS 32768
#define BLOCK_RECORDS_FIRST 64
#define BLOCK_US (G_USEC_PER_SEC / 4)

struct LsEnsemble {
  guint n_rates, n_replications, n_threads;
  double *rates;
  LsLearner **learners;      /* [rate][replication] */
  GArray *records;           /* LsUpdateRecord; `members` is an offset into `members` */
  GArray *members;           /* guint32 */
  guint block;               /* records that are gathered before they are learned */
  gint next;                 /* the next learner to go through a block */
  const volatile gint *stop; /* NULL: nobody stops it */
};

LsEnsemble *ls_ensemble_new (const LsLearnSettings *settings, const LsLearnTask *task,
                             guint workers, guint shards, guint64 seed, guint threads,
                             GError **error) {
  g_autoptr (LsEnsemble) e = g_new0 (LsEnsemble, 1);

  e->n_rates = settings->n_rates;
  e->n_replications = settings->replications;
  e->n_threads = threads > 0 ? threads : g_get_num_processors ();
  e->n_threads = MIN (e->n_threads, e->n_rates * e->n_replications);
  e->rates = g_memdup2 (settings->rates, e->n_rates * sizeof (double));
  e->learners = g_new0 (LsLearner *, (gsize) e->n_rates * e->n_replications);
  e->records = g_array_new (FALSE, FALSE, sizeof (LsUpdateRecord));
  e->members = g_array_new (FALSE, FALSE, sizeof (guint32));
  e->block = BLOCK_RECORDS_FIRST;
  for (guint i = 0; i < e->n_rates * e->n_replications; i++) {
    const LsLearnerOptions options = {.workers = workers,
                                      .shards = shards,
                                      .seed = seed + i % e->n_replications,
                                      .lr = e->rates[i / e->n_replications]};

    e->learners[i] = ls_learner_new (settings, task, &options, error);
    if (e->learners[i] == NULL)
      return NULL;
  }
  return g_steal_pointer (&e);
}

void ls_ensemble_free (LsEnsemble *e) {
  if (e == NULL)
    return;
  for (guint i = 0; e->learners != NULL && i < e->n_rates * e->n_replications; i++)
    ls_learner_free (e->learners[i]);
  g_free (e->learners);
  g_free (e->rates);
  g_array_unref (e->records);
  g_array_unref (e->members);
  g_free (e);
}

/* --- blocks --------------------------------------------------------------------------------- */

static gboolean is_stopped (const LsEnsemble *e) {
  return e->stop != NULL && *e->stop != 0;
}

static void run_block (LsEnsemble *e, LsLearner *learner) {
  for (guint i = 0; i < e->records->len && !is_stopped (e); i++) {
    LsUpdateRecord record = g_array_index (e->records, LsUpdateRecord, i);

    if (record.members != NULL)
      record.members = &g_array_index (e->members, guint32, GPOINTER_TO_SIZE (record.members) - 1);
    ls_learner_update (learner, &record);
  }
}

static gpointer run_some (gpointer data) {
  LsEnsemble *e = data;
  guint i;

  while ((i = (guint) g_atomic_int_add (&e->next, 1)) < e->n_rates * e->n_replications)
    run_block (e, e->learners[i]);
  return NULL;
}

/* The next block from the time that one took; it doubles at most. What is learned does not depend on it. */
static guint next_block (guint records, gint64 took_us) {
  const gint64 fits = (gint64) records * BLOCK_US / MAX (took_us, 1);

  return (guint) CLAMP (MIN (fits, 2 * (gint64) records), BLOCK_RECORDS_FIRST, BLOCK_RECORDS);
}

/* The gathered records through all learners; this thread works too. */
static void flush (LsEnsemble *e) {
  g_autofree GThread **threads = g_new0 (GThread *, e->n_threads);
  const gint64 start_us = g_get_monotonic_time ();

  if (e->records->len == 0)
    return;
  g_atomic_int_set (&e->next, 0);
  for (guint t = 1; t < e->n_threads; t++)
    threads[t] = g_thread_try_new ("learn", run_some, e, NULL); /* NULL: the others do its work */
  run_some (e);
  for (guint t = 1; t < e->n_threads; t++)
    if (threads[t] != NULL)
      g_thread_join (threads[t]);
  e->block = next_block (e->records->len, g_get_monotonic_time () - start_us);
  g_array_set_size (e->records, 0);
  g_array_set_size (e->members, 0);
}

static void on_update (gpointer self, const LsUpdateRecord *record) {
  LsEnsemble *e = self;
  LsUpdateRecord copy = *record;

  if (e->n_rates * e->n_replications == 1) {
    ls_learner_update (e->learners[0], record);
    return;
  }
  if (record->members != NULL) {
    /* An offset + 1, since the array may move while it grows. */
    copy.members = GSIZE_TO_POINTER ((gsize) e->members->len + 1);
    g_array_append_vals (e->members, record->members, record->n_members);
  }
  g_array_append_val (e->records, copy);
  if (e->records->len >= e->block)
    flush (e);
}

const LsUpdateSink ls_ensemble_sink = {.update = on_update};

void ls_ensemble_set_stop (LsEnsemble *e, const volatile gint *stop) {
  e->stop = stop;
}

gboolean ls_ensemble_finish (LsEnsemble *e) {
  flush (e);
  for (guint i = 0; i < e->n_rates * e->n_replications && !is_stopped (e); i++)
    ls_learner_finish (e->learners[i]);
  return !is_stopped (e);
}

/* --- results -------------------------------------------------------------------------------- */

guint ls_ensemble_n_rates (const LsEnsemble *e) {
  return e->n_rates;
}

guint ls_ensemble_n_replications (const LsEnsemble *e) {
  return e->n_replications;
}

double ls_ensemble_rate (const LsEnsemble *e, guint rate) {
  LS_REQUIRE (rate < e->n_rates, "rate %u of %u", rate, e->n_rates);
  return e->rates[rate];
}

const LsLearner *ls_ensemble_learner (const LsEnsemble *e, guint rate, guint replication) {
  LS_REQUIRE (rate < e->n_rates && replication < e->n_replications, "learner %u of rate %u",
              replication, rate);
  return e->learners[rate * e->n_replications + replication];
}

LsBand ls_band (const double *values, guint n) {
  LsBand band = {0, (double) NAN, (double) NAN};
  double sum = 0, squares = 0, low = (double) INFINITY, high = -(double) INFINITY;

  for (guint i = 0; i < n; i++)
    if (isfinite (values[i])) {
      sum += values[i];
      low = MIN (low, values[i]);
      high = MAX (high, values[i]);
      band.n++;
    }
  if (band.n == 0)
    return band;
  band.mean = low == high ? low : sum / band.n; /* equal values have no width, to the last bit */
  for (guint i = 0; i < n; i++)
    if (isfinite (values[i]))
      squares += (values[i] - band.mean) * (values[i] - band.mean);
  if (band.n > 1)
    band.half_width =
        gsl_cdf_tdist_Pinv (0.975, band.n - 1) * sqrt (squares / ((double) (band.n - 1) * band.n));
  return band;
}

guint ls_ensemble_n_rows (const LsEnsemble *e, guint rate) {
  guint most = 0;

  for (guint i = 0; i < e->n_replications; i++)
    most = MAX (most, ls_learner_n_rows (ls_ensemble_learner (e, rate, i)));
  return most;
}

LsBand ls_ensemble_band (const LsEnsemble *e, guint rate, guint row, LsRowFunc value) {
  g_autofree double *values = g_new (double, e->n_replications);
  guint n = 0;

  for (guint i = 0; i < e->n_replications; i++) {
    const LsLearner *learner = ls_ensemble_learner (e, rate, i);

    if (!ls_learner_result (learner).diverged && row < ls_learner_n_rows (learner))
      values[n++] = value (ls_learner_row (learner, row));
  }
  return ls_band (values, n);
}

LsEnsembleResult ls_ensemble_result (const LsEnsemble *e, guint rate) {
  LsEnsembleResult out = {0};
  const guint n = e->n_replications;
  g_autofree double *values = g_new (double, 5 * (gsize) n);
  double *loss = values, *accuracy = values + n, *seconds = values + 2 * (gsize) n;
  double *updates = values + 3 * (gsize) n, *samples = values + 4 * (gsize) n;

  for (guint i = 0; i < n; i++) {
    const LsLearnResult r = ls_learner_result (ls_ensemble_learner (e, rate, i));

    out.diverged += r.diverged ? 1 : 0;
    loss[i] = r.final_loss;
    accuracy[i] = r.final_accuracy;
    seconds[i] = updates[i] = samples[i] = (double) NAN;
    if (!r.reached)
      continue;
    out.reached++;
    seconds[i] = ls_time_s_from_ps (r.target_ps);
    updates[i] = (double) r.target_updates;
    samples[i] = (double) r.target_samples;
  }
  out.final_loss = ls_band (loss, n);
  out.final_accuracy = ls_band (accuracy, n);
  out.target_s = ls_band (seconds, n);
  out.target_updates = ls_band (updates, n);
  out.target_samples = ls_band (samples, n);
  return out;
}

/* Is a better than b? A NaN is worse than any number. */
static gboolean better (const LsEnsembleResult *a, const LsEnsembleResult *b) {
  if (a->reached != b->reached)
    return a->reached > b->reached;
  if ((a->diverged > 0) != (b->diverged > 0))
    return a->diverged == 0;
  if (a->reached > 0)
    return a->target_s.mean < b->target_s.mean;
  return a->final_loss.mean < b->final_loss.mean ||
         (isnan (b->final_loss.mean) && !isnan (a->final_loss.mean));
}

guint ls_ensemble_best (const LsEnsemble *e) {
  guint best = 0;
  LsEnsembleResult of_best = ls_ensemble_result (e, 0);

  for (guint rate = 1; rate < e->n_rates; rate++) {
    const LsEnsembleResult r = ls_ensemble_result (e, rate);

    if (better (&r, &of_best)) {
      best = rate;
      of_best = r;
    }
  }
  return best;
}
