/* Learning for commands, see learning.h. */
#include "cli/learning.h"

#include <math.h>

#include "base/quantity.h"
#include "base/time.h"
#include "cli/csv.h"
#include "cli/data_files.h"
#include "train/update/update_policy.h"

/* Measurements that the text shows at most, first and last among them. */
#define ROWS_SHOWN 11
/* The histogram of staleness in JSON goes up to the largest that occurred, and no farther than this. */
#define BINS_SHOWN 256

struct LsLearning {
  double usd_per_s; /* 0: not known */
  const LsLearnSettings *settings;
  const LsLearnTask *task;
  char *run, *policy;
  guint workers;
  guint64 seed;
  LsEnsemble *ensemble;
};

/* Where data sets may lie (transfer full: g_strfreev). */
static char **folders (void) {
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program ? g_path_get_dirname (program) : g_strdup (".");
  g_autofree char *shipped = ls_data_dir ();
  char **all = g_new0 (char *, 4);

  all[0] = g_build_filename (folder, "data", NULL);
  if (shipped) {
    all[1] = g_build_filename (shipped, "data", NULL);
    all[2] = g_build_filename (shipped, "build", "data", NULL);
  }
  return all;
}

LsLearnTask *ls_learning_task (const LsLearnSettings *settings, GError **error) {
  g_auto (GStrv) all = folders ();

  return ls_learn_task_new (settings, (const char *const *) all, error);
}

gboolean ls_learning_has_data (const LsLearnSettings *settings) {
  g_auto (GStrv) all = folders ();

  return ls_learn_has_data (settings, (const char *const *) all);
}

gboolean ls_learning_deal (const LsLearnSettings *settings, const LsLearnTask *task, guint workers,
                           guint64 seed, GError **error) {
  for (guint i = 0; task->data != NULL && i < settings->replications; i++) {
    LsParts *parts = ls_parts_new (task->data, task->rows, task->n_train, settings->data.partition,
                                   settings->data.alpha, workers, seed + i, error);

    if (parts == NULL)
      return FALSE;
    ls_parts_free (parts);
  }
  return TRUE;
}

/* What weighs gradients by their age, where none has any. */
static void mark_ages (LsConfig *config, const char *policy) {
  static const char *const keys[] = {"learn.lr_by_staleness", "learn.delay_compensation",
                                     "learn.momentum_correction"};
  const LsUpdatePolicy *known = ls_update_policy_find (policy);
  gboolean corrects = g_str_equal (ls_config_get_string (config, keys[2]), "asynchrony");

  if (known == NULL || known->stale)
    return;
  for (guint i = 0; i < (corrects ? 3 : 2); i++) {
    g_autofree char *reason =
        g_strdup_printf (known->local ? "update.policy %s sends models, and no gradient grows old"
                                      : "no gradient is older than the model with update.policy %s",
                         policy);

    ls_config_no_effect (config, keys[i], reason);
  }
}

void ls_learning_mark (LsConfig *config, const char *policy) {
  if (!g_str_equal (policy, "diloco"))
    ls_config_no_effect (config, "learn.outer", "only with update.policy diloco");
  if (!g_str_has_prefix (policy, "easgd"))
    ls_config_no_effect (config, "learn.elastic", "only with update.policy easgd, easgd-sync");
  mark_ages (config, policy);
}

LsLearning *ls_learning_new (const LsLearnSettings *settings, const LsLearnTask *task,
                             const char *run, const char *policy, guint workers, guint shards,
                             guint64 seed, guint threads, GError **error) {
  g_autoptr (LsLearning) learning = g_new0 (LsLearning, 1);

  learning->settings = settings;
  learning->task = task;
  learning->run = g_strdup (run);
  learning->policy = g_strdup (policy);
  learning->workers = workers;
  learning->seed = seed;
  learning->ensemble = ls_ensemble_new (settings, task, workers, shards, seed, threads, error);
  return learning->ensemble ? g_steal_pointer (&learning) : NULL;
}

void ls_learning_free (LsLearning *learning) {
  if (!learning)
    return;
  ls_ensemble_free (learning->ensemble);
  g_free (learning->run);
  g_free (learning->policy);
  g_free (learning);
}

void ls_learning_set_price (LsLearning *l, double usd_per_s) {
  l->usd_per_s = usd_per_s;
}

LsEnsemble *ls_learning_ensemble (LsLearning *learning) {
  return learning->ensemble;
}

gboolean ls_learning_finish (LsLearning *learning) {
  return ls_ensemble_finish (learning->ensemble);
}

/* --- text ----------------------------------------------------------------------------------- */

static double row_loss (const LsLearnRow *row) {
  return row->loss;
}

static double row_accuracy (const LsLearnRow *row) {
  return row->accuracy;
}

static double row_norm (const LsLearnRow *row) {
  return row->grad_norm;
}

static double row_staleness (const LsLearnRow *row) {
  return row->staleness;
}

/* "0.1234 +- 0.0012" in @width columns, blank where there is nothing. */
static void append_band (GString *out, LsBand band, int width) {
  g_autofree char *text = band.n == 0 ? g_strdup ("-")
                          : band.n == 1 || band.half_width <= 0 /* all are the same */
                              ? g_strdup_printf ("%.4g", band.mean)
                              : g_strdup_printf ("%.4g +- %.2g", band.mean, band.half_width);

  g_string_append_printf (out, " %*s", width, text);
}

static void append_row (const LsLearning *l, guint rate, guint index, GString *out) {
  const LsEnsemble *e = l->ensemble;
  const LsLearnRow *row = NULL;
  g_autofree char *time = NULL;
  int width = ls_ensemble_n_replications (e) > 1 ? 19 : 9;

  for (guint i = 0; i < ls_ensemble_n_replications (e) && !row; i++)
    if (index < ls_learner_n_rows (ls_ensemble_learner (e, rate, i)))
      row = ls_learner_row (ls_ensemble_learner (e, rate, i), index);
  time = ls_quantity_format_seconds (ls_time_s_from_ps (row->t_ps));
  g_string_append_printf (out, "%9" G_GINT64_FORMAT " %11" G_GINT64_FORMAT " %10s", row->updates,
                          row->samples, time);
  if (l->usd_per_s > 0)
    g_string_append_printf (out, " %10.4g", l->usd_per_s * ls_time_s_from_ps (row->t_ps));
  append_band (out, ls_ensemble_band (e, rate, index, row_loss), width);
  if (ls_problem_has_accuracy (l->task->problem))
    append_band (out, ls_ensemble_band (e, rate, index, row_accuracy), width);
  append_band (out, ls_ensemble_band (e, rate, index, row_norm), width);
  append_band (out, ls_ensemble_band (e, rate, index, row_staleness), width);
  g_string_append_c (out, '\n');
}

static void append_table (const LsLearning *l, guint rate, GString *out) {
  guint n = ls_ensemble_n_rows (l->ensemble, rate);
  guint shown = MIN (n, ROWS_SHOWN);
  int width = ls_ensemble_n_replications (l->ensemble) > 1 ? 19 : 9;

  g_string_append_printf (out, "%9s %11s %10s", "update", "samples", "time");
  if (l->usd_per_s > 0)
    g_string_append_printf (out, " %10s", "USD");
  g_string_append_printf (out, " %*s", width, "loss");
  if (ls_problem_has_accuracy (l->task->problem))
    g_string_append_printf (out, " %*s", width, "accuracy");
  g_string_append_printf (out, " %*s %*s\n", width, "grad norm", width, "staleness");
  for (guint i = 0; i < shown; i++)
    append_row (l, rate, shown > 1 ? (guint) ((guint64) i * (n - 1) / (shown - 1)) : 0, out);
  g_string_append_printf (out, "loss over training rows%s",
                          ls_problem_has_accuracy (l->task->problem) ? ", accuracy over test rows"
                                                                     : "");
  if (shown < n)
    g_string_append_printf (
        out, "; %u of %u measurements, all are in `lockstep learn DB --csv FILE`", shown, n);
  g_string_append_c (out, '\n');
}

static void append_formats (const LsLearning *l, guint rate, GString *out) {
  const LsLearnPrecision *p = &l->settings->precision;
  const LsLearner *learner = ls_ensemble_learner (l->ensemble, rate, 0);
  const LsLearnRow *last = ls_learner_row (learner, ls_learner_n_rows (learner) - 1);
  const LsArithmeticCounts counts = ls_learner_result (learner).counts;

  if (p->optimizer == LS_NUMBER_FP64)
    return;
  g_string_append_printf (
      out, "formats    parameters %s%s, activations %s, gradients %s, sums in fp32\n",
      ls_number_name (p->parameters), p->master ? " (master fp32)" : "",
      ls_number_name (p->activations), ls_number_name (p->gradients));
  g_string_append_printf (
      out,
      "rounding   gradients: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
      " became 0, %" G_GUINT64_FORMAT " infinite; activations: %" G_GUINT64_FORMAT
      " and %" G_GUINT64_FORMAT "; changes lost in the parameters: %" G_GUINT64_FORMAT "\n",
      counts.gradients.underflows, counts.gradients.values, counts.gradients.overflows,
      counts.activations.underflows, counts.activations.overflows, last->lost);
  if (l->settings->loss_scale.kind != LS_LOSS_SCALE_NONE)
    g_string_append_printf (out, "loss scale %g at the end, %" G_GINT64_FORMAT " steps skipped\n",
                            last->loss_scale, last->skipped);
}

static void append_target (const LsLearning *l, const LsEnsembleResult *r, GString *out) {
  const LsLearnSettings *s = l->settings;

  if (isnan (s->target_loss) && isnan (s->target_accuracy))
    return;
  g_string_append (out, "target    ");
  if (!isnan (s->target_loss))
    g_string_append_printf (out, " loss <= %g", s->target_loss);
  if (!isnan (s->target_accuracy))
    g_string_append_printf (out, " accuracy >= %g", s->target_accuracy);
  if (r->reached == 0)
    g_string_append (out, ": not reached");
  else {
    g_autofree char *time = ls_quantity_format (r->target_s.mean, LS_DIMENSION_TIME);

    g_string_append_printf (out, ": after %s, %.0f updates, %.0f samples", time,
                            r->target_updates.mean, r->target_samples.mean);
  }
  g_string_append_printf (out, " (%u of %u)\n", r->reached, s->replications);
}

static void append_rates (const LsLearning *l, guint best, GString *out) {
  const guint n = ls_ensemble_n_rates (l->ensemble);

  g_string_append_printf (out, "rate       %g", ls_ensemble_rate (l->ensemble, best));
  if (n > 1) {
    g_string_append_printf (out, ", the best of %u:", n);
    for (guint i = 0; i < n; i++) {
      const LsEnsembleResult r = ls_ensemble_result (l->ensemble, i);

      g_string_append_printf (out, "%s %g ", i > 0 ? "," : "", ls_ensemble_rate (l->ensemble, i));
      if (r.final_loss.n == 0)
        g_string_append (out, "diverged");
      else
        g_string_append_printf (out, "%.4g", r.final_loss.mean);
    }
    if (best == 0 || best + 1 == n)
      g_string_append (out, "; it is at the end of the grid, widen it");
  }
  g_string_append_c (out, '\n');
}

void ls_learning_text (const LsLearning *l, GString *out) {
  const guint best = ls_ensemble_best (l->ensemble);
  const LsEnsembleResult r = ls_ensemble_result (l->ensemble, best);
  const LsLearnTask *task = l->task;

  g_string_append_printf (out, "learning   %s, %u workers: %s, %" G_GSIZE_FORMAT " parameters",
                          l->policy, l->workers, l->settings->problem.kind->name,
                          ls_problem_n_parameters (task->problem));
  if (task->data)
    g_string_append_printf (out, ", %" G_GSIZE_FORMAT " rows to train, %" G_GSIZE_FORMAT " to test",
                            task->n_train, task->n_test);
  g_string_append_printf (out, "; %s, BLAS %s\n", ls_descent_name (l->settings->optimizer.kind),
                          ls_blas_name ());
  append_rates (l, best, out);
  append_table (l, best, out);
  append_formats (l, best, out);
  append_target (l, &r, out);
  if (l->settings->replications > 1)
    g_string_append_printf (out, "bands      95 %% over %u replications\n",
                            l->settings->replications - r.diverged);
  if (r.diverged > 0)
    g_string_append_printf (out, "diverged   %u of %u replications; they are in no mean\n",
                            r.diverged, l->settings->replications);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_band (LsJson *json, const char *key, LsBand band) {
  if (band.n == 0)
    return;
  ls_json_open_object (json, key);
  ls_json_number (json, "mean", band.mean);
  if (band.n > 1)
    ls_json_number (json, "half_width_95", band.half_width);
  ls_json_integer (json, "n", band.n);
  ls_json_close (json);
}

static void json_rate (const LsLearning *l, LsJson *json, guint rate) {
  const LsEnsembleResult r = ls_ensemble_result (l->ensemble, rate);

  ls_json_open_object (json, NULL);
  ls_json_number (json, "lr", ls_ensemble_rate (l->ensemble, rate));
  json_band (json, "loss", r.final_loss);
  json_band (json, "accuracy", r.final_accuracy);
  ls_json_integer (json, "diverged", r.diverged);
  if (!isnan (l->settings->target_loss) || !isnan (l->settings->target_accuracy)) {
    ls_json_integer (json, "reached", r.reached);
    json_band (json, "target_s", r.target_s);
    json_band (json, "target_updates", r.target_updates);
    json_band (json, "target_samples", r.target_samples);
  }
  ls_json_close (json);
}

static void json_staleness (const LsLearner *learner, LsJson *json) {
  guint n, last = 0;
  const guint64 *bins = ls_learner_staleness (learner, -1, &n);

  for (guint i = 0; i < MIN (n, BINS_SHOWN); i++)
    if (bins[i] > 0)
      last = i + 1;
  ls_json_open_array (json, "staleness_histogram");
  for (guint i = 0; i < last; i++)
    ls_json_integer (json, NULL, (gint64) bins[i]);
  ls_json_close (json);
}

void ls_learning_json (const LsLearning *l, LsJson *json, const char *key) {
  const guint best = ls_ensemble_best (l->ensemble);
  const LsLearner *learner = ls_ensemble_learner (l->ensemble, best, 0);
  const LsLearnResult first = ls_learner_result (learner);

  ls_json_open_object (json, key);
  ls_json_string (json, "run", l->run);
  ls_json_string (json, "policy", l->policy);
  ls_json_string (json, "problem", l->settings->problem.kind->name);
  ls_json_string (json, "optimizer", ls_descent_name (l->settings->optimizer.kind));
  ls_json_string (json, "blas", ls_blas_name ());
  ls_json_integer (json, "parameters", (gint64) ls_problem_n_parameters (l->task->problem));
  ls_json_integer (json, "workers", l->workers);
  ls_json_integer (json, "replications", l->settings->replications);
  ls_json_integer (json, "updates", first.updates);
  ls_json_integer (json, "samples", first.samples);
  ls_json_integer (json, "gradients_applied", first.applied);
  ls_json_integer (json, "gradients_dropped", first.dropped);
  ls_json_integer (json, "gradients_in_flight", first.in_flight);
  ls_json_number (json, "sim_seconds", ls_time_s_from_ps (first.t_ps));
  ls_json_number (json, "best_lr", ls_ensemble_rate (l->ensemble, best));
  if (l->settings->precision.optimizer != LS_NUMBER_FP64) {
    const LsLearnRow *last = ls_learner_row (learner, ls_learner_n_rows (learner) - 1);

    ls_json_integer (json, "overflows", (gint64) last->overflows);
    ls_json_integer (json, "underflows", (gint64) last->underflows);
    ls_json_integer (json, "lost_changes", (gint64) last->lost);
    ls_json_integer (json, "skipped_steps", last->skipped);
  }
  json_staleness (learner, json);
  ls_json_open_array (json, "rates");
  for (guint i = 0; i < ls_ensemble_n_rates (l->ensemble); i++)
    json_rate (l, json, i);
  ls_json_close (json);
  ls_json_close (json);
}

/* --- CSV and metrics ------------------------------------------------------------------------ */

void ls_learning_csv_header (GString *out) {
  g_string_append (out, "run,policy,problem,optimizer,blas,seed,lr,best,update,sim_seconds,samples,"
                        "loss,test_loss,accuracy,grad_norm,rate,staleness,staleness_max,"
                        "loss_scale,skipped,overflows,underflows,lost,diverged,usd\n");
}

/* Empty where it does not apply; digits that read back as the same double. */
static void append_real (GString *out, double value) {
  if (isfinite (value))
    ls_quantity_append_shortest (out, value);
  g_string_append_c (out, ',');
}

static void csv_row (const LsLearning *l, GString *out, guint rate, guint replication, guint best,
                     const LsLearnRow *row, gboolean diverged) {
  g_autoptr (GString) names = g_string_new (NULL);
  const char *const fields[] = {l->run, l->policy, l->settings->problem.kind->name,
                                ls_descent_name (l->settings->optimizer.kind), ls_blas_name ()};

  ls_csv_append_row (names, fields, G_N_ELEMENTS (fields));
  g_string_truncate (names, names->len - 1); /* the line's end */
  g_string_append_printf (out, "%s,%" G_GUINT64_FORMAT ",", names->str, l->seed + replication);
  append_real (out, ls_ensemble_rate (l->ensemble, rate));
  g_string_append_printf (out, "%d,%" G_GINT64_FORMAT ",", rate == best ? 1 : 0, row->updates);
  append_real (out, ls_time_s_from_ps (row->t_ps));
  g_string_append_printf (out, "%" G_GINT64_FORMAT ",", row->samples);
  append_real (out, row->loss);
  append_real (out, row->test_loss);
  append_real (out, row->accuracy);
  append_real (out, row->grad_norm);
  append_real (out, row->lr);
  append_real (out, row->staleness);
  g_string_append_printf (out, "%" G_GINT64_FORMAT ",", row->staleness_max);
  append_real (out, row->loss_scale);
  g_string_append_printf (out,
                          "%" G_GINT64_FORMAT ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT
                          ",%" G_GUINT64_FORMAT ",%d,",
                          row->skipped, row->overflows, row->underflows, row->lost, diverged);
  append_real (out, l->usd_per_s > 0 ? l->usd_per_s * ls_time_s_from_ps (row->t_ps) : NAN);
  out->str[out->len - 1] = '\n';
}

void ls_learning_csv (const LsLearning *l, GString *out) {
  const guint best = ls_ensemble_best (l->ensemble);

  for (guint rate = 0; rate < ls_ensemble_n_rates (l->ensemble); rate++)
    for (guint i = 0; i < ls_ensemble_n_replications (l->ensemble); i++) {
      const LsLearner *learner = ls_ensemble_learner (l->ensemble, rate, i);
      const gboolean diverged = ls_learner_result (learner).diverged;

      for (guint row = 0; row < ls_learner_n_rows (learner); row++)
        csv_row (l, out, rate, i, best, ls_learner_row (learner, row), diverged);
    }
}

void ls_learning_metrics (const LsLearning *l, LsMetricFunc func, gpointer self) {
  const guint best = ls_ensemble_best (l->ensemble);

  for (guint i = 0; i < ls_ensemble_n_replications (l->ensemble); i++) {
    const LsLearner *learner = ls_ensemble_learner (l->ensemble, best, i);

    for (guint r = 0; r < ls_learner_n_rows (learner); r++) {
      const LsLearnRow *row = ls_learner_row (learner, r);
      const struct {
        const char *name;
        double value;
      } metrics[] = {{"accuracy", row->accuracy},
                     {"grad_norm", row->grad_norm},
                     {"loss", row->loss},
                     {"loss_scale", row->loss_scale},
                     {"lr", row->lr},
                     {"skipped_steps", (double) row->skipped},
                     {"staleness", row->staleness},
                     {"test_loss", row->test_loss}};

      for (guint m = 0; m < G_N_ELEMENTS (metrics); m++)
        if (isfinite (metrics[m].value))
          func (self, i, metrics[m].name, row->updates, row->samples, row->t_ps, metrics[m].value);
    }
  }
}

double ls_learning_loss (const LsLearning *l) {
  return ls_ensemble_result (l->ensemble, ls_ensemble_best (l->ensemble)).final_loss.mean;
}

double ls_learning_accuracy (const LsLearning *l) {
  return ls_ensemble_result (l->ensemble, ls_ensemble_best (l->ensemble)).final_accuracy.mean;
}
