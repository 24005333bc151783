/* Settings from a scenario: values, then which keys have no effect beside them. See settings.h. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "learn/settings.h"

#define L "learn."
#define PROBLEM L "problem."
#define DATA L "data."
#define NAME_2(id, name, ...) name,

static const char *const activations[] = {LS_ACTIVATIONS (NAME_2) NULL};
static const char *const data_kinds[] = {LS_DATA_KINDS (NAME_2) NULL};
static const char *const generators[] = {LS_GENERATORS (NAME_2) NULL};
static const char *const scalings[] = {LS_SCALINGS (NAME_2) NULL};
static const char *const partitions[] = {LS_PARTITIONS (NAME_2) NULL};
static const char *const samplings[] = {LS_SAMPLINGS (NAME_2) NULL};
static const char *const optimizers[] = {LS_LEARN_OPTIMIZERS (NAME_2) NULL};
static const char *const rates[] = {LS_RATE_SCHEDULES (NAME_2) NULL};
static const char *const stale_rates[] = {LS_STALE_RATES (NAME_2) NULL};
static const char *const compensations[] = {LS_COMPENSATIONS (NAME_2) NULL};
static const char *const corrections[] = {LS_MOMENTUM_CORRECTIONS (NAME_2) NULL};
static const char *const clips[] = {LS_CLIPS (NAME_2) NULL};
static const char *const averagings[] = {LS_AVERAGINGS (NAME_2) NULL};
static const char *const pulls[] = {LS_PULLS (NAME_2) NULL};
static const char *const loss_scales[] = {LS_LOSS_SCALES (NAME_2) NULL};

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  LsLearnSettings *s;
  gboolean fine;
} Reader;

/* Position of the word among names. */
static guint word (Reader *r, const char *path, const char *const *names) {
  const char *text = ls_config_get_string (r->config, path);
  guint i = 0;

  while (names[i] != NULL && g_strcmp0 (text, names[i]) != 0)
    i++;
  LS_REQUIRE (names[i] != NULL, "%s: '%s' passed the schema", path, text);
  return i;
}

static double number (Reader *r, const char *path) {
  return ls_config_get_number (r->config, path);
}

static double number_or (Reader *r, const char *path, double otherwise) {
  return ls_config_has (r->config, path) ? ls_config_get_number (r->config, path) : otherwise;
}

static gint64 whole_or (Reader *r, const char *path, gint64 otherwise) {
  return ls_config_has (r->config, path) ? ls_config_get_int (r->config, path) : otherwise;
}

static void fault (Reader *r, const char *path, const char *text) {
  ls_config_error_at (r->config, r->errors, path, "%s", text);
  r->fine = FALSE;
}

/* Which keys matter with which kinds; in any other they have no effect. */
typedef struct {
  const char *key;
  const char *kinds; /* words with spaces around */
} KeyOfKind;

static void mark (Reader *r, const char *base, const char *kind, const char *selector,
                  const KeyOfKind *keys, guint n) {
  g_autofree char *needle = g_strdup_printf (" %s ", kind);

  for (guint i = 0; i < n; i++) {
    g_autofree char *path = g_strconcat (base, keys[i].key, NULL);
    g_autofree char *reason = NULL, *kinds = NULL;

    if (strstr (keys[i].kinds, needle) != NULL)
      continue;
    kinds = g_strstrip (g_strdup (keys[i].kinds));
    reason = g_strdup_printf ("only with %s %s; it is %s", selector, kinds, kind);
    ls_config_no_effect (r->config, path, reason);
  }
}

/* --- problem -------------------------------------------------------------------------------- */

static const KeyOfKind problem_keys[] = {
    {"hidden", " mlp conv "},
    {"activation", " mlp conv "},
    {"kernel", " conv "},
    {"pool", " conv "},
    {"curvatures", " quadratic "},
    {"dimension", " quadratic "},
    {"condition", " quadratic "},
    {"curvature", " quadratic "},
    {"noise", " quadratic "},
    {"start", " quadratic "},
    {"optimum_spread", " quadratic "},
    {"curvature_spread", " quadratic "},
};

static void read_hidden (Reader *r) {
  LsProblemSettings *p = &r->s->problem;
  guint n = ls_config_get_length (r->config, PROBLEM "hidden");

  if (n > LS_MAX_HIDDEN) {
    fault (r, PROBLEM "hidden", "more than 32 hidden layers");
    return;
  }
  p->n_hidden = n;
  for (guint i = 0; i < n; i++) {
    g_autofree char *path = g_strdup_printf (PROBLEM "hidden.%u", i);

    p->hidden[i] = (guint) ls_config_get_int (r->config, path);
  }
  if (n > 0)
    return;
  p->hidden[0] = g_str_equal (p->kind->name, "conv") ? 8 : 64;
  p->hidden[1] = 16;
  p->n_hidden = g_str_equal (p->kind->name, "conv") ? 2 : 1;
}

static void read_spectrum (Reader *r) {
  LsProblemSettings *p = &r->s->problem;
  guint n = ls_config_get_length (r->config, PROBLEM "curvatures");
  double largest = number (r, PROBLEM "curvature"), condition = number (r, PROBLEM "condition");

  p->dimension = n > 0 ? n : (gsize) ls_config_get_int (r->config, PROBLEM "dimension");
  p->curvatures = g_new (double, p->dimension);
  for (gsize i = 0; i < p->dimension; i++) {
    double share = p->dimension > 1 ? (double) i / (double) (p->dimension - 1) : 0;
    g_autofree char *path = NULL;

    p->curvatures[i] = largest * pow (condition, -share);
    if (n == 0)
      continue;
    path = g_strdup_printf (PROBLEM "curvatures.%u", (guint) i);
    p->curvatures[i] = number (r, path);
  }
  if (n > 0) {
    const char *const others[] = {"dimension", "condition", "curvature"};

    for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
      g_autofree char *path = g_strconcat (PROBLEM, others[i], NULL);

      ls_config_no_effect (r->config, path, "curvatures are given one by one");
    }
  }
}

static void read_problem (Reader *r) {
  LsProblemSettings *p = &r->s->problem;
  const char *kind = ls_config_get_string (r->config, PROBLEM "kind");

  p->kind = ls_problem_kind_find (kind);
  LS_REQUIRE (p->kind != NULL, "problem '%s' passed the schema", kind);
  r->s->needs_data = p->kind->needs_data;
  p->l2 = number (r, L "l2");
  if (!r->s->needs_data)
    ls_config_no_effect (r->config, L "l2", "a quadratic has its curvatures");
  p->activation = (LsActivation) word (r, PROBLEM "activation", activations);
  p->kernel = (guint) ls_config_get_int (r->config, PROBLEM "kernel");
  p->pool = (guint) ls_config_get_int (r->config, PROBLEM "pool");
  if (p->kernel % 2 == 0)
    fault (r, PROBLEM "kernel", "the side of a convolution is an odd number here");
  read_hidden (r);
  if (!r->s->needs_data)
    read_spectrum (r);
  p->noise = number (r, PROBLEM "noise");
  p->start = number (r, PROBLEM "start");
  p->optimum_spread = number (r, PROBLEM "optimum_spread");
  p->curvature_spread = number (r, PROBLEM "curvature_spread");
  p->worker_seed = (guint64) ls_config_get_int (r->config, "seed");
  mark (r, PROBLEM, kind, "problem.kind", problem_keys, G_N_ELEMENTS (problem_keys));
}

/* --- data ----------------------------------------------------------------------------------- */

static const KeyOfKind data_keys[] = {
    {"preset", " preset "},       {"file", " csv libsvm idx preset "},
    {"labels", " idx "},          {"header", " csv "},
    {"label", " csv "},           {"features", " libsvm synthetic "},
    {"channels", " csv libsvm "}, {"height", " csv libsvm "},
    {"width", " csv libsvm "},    {"generator", " synthetic "},
    {"rows", " synthetic "},      {"classes", " synthetic "},
    {"noise", " synthetic "},     {"condition", " synthetic "},
    {"seed", " synthetic "},
};

static void read_generator (Reader *r) {
  LsGeneratorOptions *g = &r->s->data.generator;
  gint64 features = whole_or (r, DATA "features", 10);

  *g = (LsGeneratorOptions){
      .kind = (LsGenerator) word (r, DATA "generator", generators),
      .rows = (gsize) ls_config_get_int (r->config, DATA "rows"),
      .features = (gsize) features,
      .classes = (guint32) ls_config_get_int (r->config, DATA "classes"),
      .noise = number (r, DATA "noise"),
      .condition = number (r, DATA "condition"),
      .seed = (guint64) ls_config_get_int (r->config, DATA "seed"),
  };
  if (r->s->data.kind != LS_DATA_SYNTHETIC)
    return;
  if (g->kind == LS_GENERATOR_BARS && features > 1000)
    fault (r, DATA "features", "the side of a picture of bars is at most 1000");
  else if (g->rows * (g->kind == LS_GENERATOR_BARS ? g->features * g->features : g->features) >
           LS_DATA_MAX_VALUES)
    fault (r, DATA "rows", "more than 268 million values");
  if (g->kind == LS_GENERATOR_BLOBS && g->rows < g->classes)
    fault (r, DATA "rows", "fewer rows than classes");
  if (g->kind == LS_GENERATOR_LINEAR && r->s->problem.kind->needs_classes)
    fault (r, DATA "generator", "linear data has no classes; logistic, blobs and bars do");
  if (g->kind != LS_GENERATOR_BLOBS)
    ls_config_no_effect (r->config, DATA "classes", "only with data.generator blobs");
  if (g->kind == LS_GENERATOR_LOGISTIC)
    ls_config_no_effect (r->config, DATA "noise", "labels are drawn by their probability");
  if (g->kind == LS_GENERATOR_BLOBS || g->kind == LS_GENERATOR_BARS)
    ls_config_no_effect (r->config, DATA "condition", "only with data.generator linear, logistic");
}

static void read_files (Reader *r) {
  LsDataSettings *d = &r->s->data;

  d->preset = g_strdup (ls_config_get_string (r->config, DATA "preset"));
  d->file = ls_config_get_file (r->config, DATA "file");
  d->labels = ls_config_get_file (r->config, DATA "labels");
  d->text.words = r->s->problem.kind->needs_classes;
  d->text.header = ls_config_get_bool (r->config, DATA "header");
  d->text.label = d->label = g_strdup (ls_config_get_string (r->config, DATA "label"));
  d->text.features = d->kind == LS_DATA_LIBSVM ? whole_or (r, DATA "features", 0) : 0;
  d->channels = (guint32) ls_config_get_int (r->config, DATA "channels");
  d->height = (guint32) whole_or (r, DATA "height", 0);
  d->width = (guint32) whole_or (r, DATA "width", 0);
  if (!r->s->needs_data)
    return;
  if (d->file == NULL && d->kind != LS_DATA_PRESET && d->kind != LS_DATA_SYNTHETIC)
    fault (r, DATA "kind", "a file is wanted; give data.file");
  if (d->labels == NULL && d->kind == LS_DATA_IDX)
    fault (r, DATA "kind", "pictures need labels; give data.labels");
  if ((d->height == 0) != (d->width == 0))
    fault (r, d->height == 0 ? DATA "width" : DATA "height", "height and width go together");
}

static void read_data (Reader *r) {
  LsDataSettings *d = &r->s->data;
  guint i = 0;
  const char *scale = ls_config_get_string (r->config, DATA "scale");

  d->kind = (LsDataKind) word (r, DATA "kind", data_kinds);
  read_files (r);
  read_generator (r);
  while (scalings[i] != NULL && !g_str_equal (scale, scalings[i]))
    i++;
  d->scaling = scalings[i] != NULL                                   ? (LsScaling) i
               : d->kind == LS_DATA_PRESET || d->kind == LS_DATA_IDX ? LS_SCALING_MAXIMUM
                                                                     : LS_SCALING_NONE;
  d->test_share = ls_config_get_quantity (r->config, DATA "test");
  d->partition = (LsPartition) word (r, DATA "partition.kind", partitions);
  d->alpha = number (r, DATA "partition.alpha");
  if (d->partition != LS_PARTITION_DIRICHLET)
    ls_config_no_effect (r->config, DATA "partition.alpha", "only with partition.kind dirichlet");
  d->sampling = (LsSampling) word (r, DATA "sampling", samplings);
  mark (r, DATA, data_kinds[d->kind], "data.kind", data_keys, G_N_ELEMENTS (data_keys));
  if (!r->s->needs_data)
    ls_config_no_effect (r->config, L "data", "a quadratic needs no data");
  else if (!r->s->problem.kind->needs_classes &&
           (d->partition == LS_PARTITION_LABEL || d->partition == LS_PARTITION_DIRICHLET))
    fault (r, DATA "partition.kind",
           "targets of a linear regression are no classes; use iid or "
           "shared");
}

/* --- optimiser ------------------------------------------------------------------------------ */

static const KeyOfKind optimizer_keys[] = {
    {"momentum", " momentum nesterov "},
    {"beta1", " adam adamw "},
    {"beta2", " adam adamw "},
    {"epsilon", " adam adamw "},
};

static void read_optimizer (Reader *r, const char *base, LsDescentSettings *o) {
  g_autofree char *kind = g_strconcat (base, "kind", NULL), *lr = g_strconcat (base, "lr", NULL);
  g_autofree char *momentum = g_strconcat (base, "momentum", NULL);
  g_autofree char *beta1 = g_strconcat (base, "beta1", NULL);
  g_autofree char *beta2 = g_strconcat (base, "beta2", NULL);
  g_autofree char *epsilon = g_strconcat (base, "epsilon", NULL);
  g_autofree char *decay = g_strconcat (base, "weight_decay", NULL);
  gboolean adam;

  o->kind = (LsDescent) word (r, kind, optimizers);
  adam = o->kind == LS_DESCENT_ADAM || o->kind == LS_DESCENT_ADAMW;
  o->lr = ls_config_get_number (r->config, lr);
  if (o->lr <= 0) /* not given, and without a default */
    o->lr = adam ? 0.001 : 0.1;
  o->momentum = number (r, momentum);
  o->beta1 = number (r, beta1);
  o->beta2 = number (r, beta2);
  o->epsilon = number (r, epsilon);
  o->weight_decay = number (r, decay);
  if (o->momentum >= 1)
    fault (r, momentum, "a momentum is below 1");
  if (o->beta1 >= 1)
    fault (r, beta1, "a decay is below 1");
  if (o->beta2 >= 1)
    fault (r, beta2, "a decay is below 1");
  mark (r, base, optimizers[o->kind], "optimizer.kind", optimizer_keys,
        G_N_ELEMENTS (optimizer_keys));
}

static const KeyOfKind rate_keys[] = {
    {"every", " step inverse-sqrt "},
    {"updates", " cosine linear ramp "},
    {"factor", " step "},
    {"floor", " cosine linear ramp "},
};

static void read_rates (Reader *r) {
  LsLearnSettings *s = r->s;

  s->schedule = (LsRateSchedule){
      .kind = (LsRateKind) word (r, L "schedule.kind", rates),
      .warmup = ls_config_get_int (r->config, L "schedule.warmup"),
      .every = ls_config_get_int (r->config, L "schedule.every"),
      .updates = ls_config_get_int (r->config, L "schedule.updates"),
      .factor = number (r, L "schedule.factor"),
      .floor = number (r, L "schedule.floor"),
  };
  mark (r, L "schedule.", rates[s->schedule.kind], "schedule.kind", rate_keys,
        G_N_ELEMENTS (rate_keys));
  s->stale_rate = (LsStaleRateSettings){
      .kind = (LsStaleRate) word (r, L "lr_by_staleness.kind", stale_rates),
      .rate = number (r, L "lr_by_staleness.rate"),
      .c = number (r, L "lr_by_staleness.c"),
  };
  if (s->stale_rate.kind != LS_STALE_RATE_EXPONENTIAL)
    ls_config_no_effect (r->config, L "lr_by_staleness.rate",
                         "only with lr_by_staleness.kind exponential");
  if (s->stale_rate.kind != LS_STALE_RATE_DISTANCE)
    ls_config_no_effect (r->config, L "lr_by_staleness.c",
                         "only with lr_by_staleness.kind distance");
  s->n_rates = ls_config_get_length (r->config, L "lr_grid");
  s->rates = g_new (double, MAX (s->n_rates, 1));
  s->rates[0] = s->optimizer.lr;
  for (guint i = 0; i < s->n_rates; i++) {
    g_autofree char *path = g_strdup_printf (L "lr_grid.%u", i);

    s->rates[i] = number (r, path);
  }
  s->n_rates = MAX (s->n_rates, 1);
}

static void read_mitigations (Reader *r) {
  LsLearnSettings *s = r->s;
  gboolean moves =
      s->optimizer.kind == LS_DESCENT_MOMENTUM || s->optimizer.kind == LS_DESCENT_NESTEROV;

  s->compensation = (LsCompensation){
      .kind = (LsCompensationKind) word (r, L "delay_compensation.kind", compensations),
      .lambda = number (r, L "delay_compensation.lambda"),
      .decay = number (r, L "delay_compensation.decay"),
  };
  if (s->compensation.kind == LS_COMPENSATION_NONE)
    ls_config_no_effect (r->config, L "delay_compensation.lambda", "without compensation");
  if (s->compensation.kind != LS_COMPENSATION_ADAPTIVE)
    ls_config_no_effect (r->config, L "delay_compensation.decay",
                         "only with delay_compensation.kind adaptive");
  s->momentum_correction = (LsMomentumCorrection) word (r, L "momentum_correction", corrections);
  if (!moves && s->momentum_correction != LS_MOMENTUM_CORRECTION_NONE)
    ls_config_no_effect (r->config, L "momentum_correction",
                         "only with optimizer.kind momentum nesterov");
  s->clip_norm = ls_config_get_number (r->config, L "clip.norm");
  s->clip = s->clip_norm > 0 ? (LsClip) word (r, L "clip.at", clips) : LS_CLIP_NONE;
  if (s->clip == LS_CLIP_NONE)
    ls_config_no_effect (r->config, L "clip.at", "clip.norm is not given");
  s->averaging = (LsAveraging) word (r, L "averaging.kind", averagings);
  s->average_decay = number (r, L "averaging.decay");
  s->average_start = ls_config_get_int (r->config, L "averaging.start");
  s->average_every = ls_config_get_int (r->config, L "averaging.every");
  if (s->averaging != LS_AVERAGING_EMA)
    ls_config_no_effect (r->config, L "averaging.decay", "only with averaging.kind ema");
  if (s->averaging != LS_AVERAGING_SWA) {
    ls_config_no_effect (r->config, L "averaging.start", "only with averaging.kind swa");
    ls_config_no_effect (r->config, L "averaging.every", "only with averaging.kind swa");
  }
  s->elastic_alpha = ls_config_get_number (r->config, L "elastic.alpha");
  s->elastic_beta = number (r, L "elastic.beta");
  if (s->elastic_alpha > 0)
    ls_config_no_effect (r->config, L "elastic.beta", "elastic.alpha is given");
  s->pull = (LsPull) word (r, L "elastic.pull", pulls);
}

/* --- formats and measurements --------------------------------------------------------------- */

static LsNumber format (Reader *r, const char *path, LsNumber otherwise) {
  LsNumber found = otherwise;

  if (ls_config_has (r->config, path) || g_str_equal (path, L "precision.format")) {
    gboolean known = ls_number_from_name (ls_config_get_string (r->config, path), &found);

    LS_REQUIRE (known, "%s passed the schema", path);
  }
  return found;
}

static void read_precision (Reader *r) {
  LsLearnPrecision *p = &r->s->precision;
  LsNumber all = format (r, L "precision.format", LS_NUMBER_FP64);
  gboolean exact;

  p->parameters = format (r, L "precision.parameters", all);
  p->activations = format (r, L "precision.activations", all);
  p->gradients = format (r, L "precision.gradients", all);
  exact = p->parameters == LS_NUMBER_FP64 && p->activations == LS_NUMBER_FP64 &&
          p->gradients == LS_NUMBER_FP64;
  if (!exact && (p->parameters == LS_NUMBER_FP64 || p->activations == LS_NUMBER_FP64 ||
                 p->gradients == LS_NUMBER_FP64))
    fault (r, L "precision",
           "fp64 does not mix with other formats, because sums are then in fp32; use fp32");
  p->master = ls_config_get_bool (r->config, L "precision.master");
  if (exact)
    ls_config_no_effect (r->config, L "precision.master", "nothing is rounded in fp64");
  p->optimizer = exact ? LS_NUMBER_FP64 : LS_NUMBER_FP32;
}

static const KeyOfKind scale_keys[] = {
    {"initial", " static dynamic "},
    {"growth", " dynamic "},
    {"backoff", " dynamic "},
    {"interval", " dynamic "},
};

static void read_loss_scale (Reader *r) {
  LsLossScaleSettings *s = &r->s->loss_scale;

  s->kind = (LsLossScaleKind) word (r, L "loss_scaling.kind", loss_scales);
  s->initial = number (r, L "loss_scaling.initial");
  s->growth = number (r, L "loss_scaling.growth");
  s->backoff = number (r, L "loss_scaling.backoff");
  s->interval = ls_config_get_int (r->config, L "loss_scaling.interval");
  if (r->s->precision.gradients == LS_NUMBER_FP64) { /* and so all the others */
    s->kind = LS_LOSS_SCALE_NONE;
    ls_config_no_effect (r->config, L "loss_scaling.kind",
                         "no gradient rounds to 0 in precision.format fp64");
  }
  if (s->growth < 1)
    fault (r, L "loss_scaling.growth", "a growth is at least 1");
  mark (r, L "loss_scaling.", loss_scales[s->kind], "loss_scaling.kind", scale_keys,
        G_N_ELEMENTS (scale_keys));
}

static void read_measurements (Reader *r) {
  LsLearnSettings *s = r->s;

  s->batch = ls_config_is_word (r->config, L "batch", "auto")
                 ? 0
                 : ls_config_get_int (r->config, L "batch");
  s->evaluate_every = ls_config_get_int (r->config, L "evaluate.every");
  s->evaluate_rows = ls_config_is_word (r->config, L "evaluate.rows", "all")
                         ? 0
                         : ls_config_get_int (r->config, L "evaluate.rows");
  if (!s->needs_data)
    ls_config_no_effect (r->config, L "evaluate.rows", "a quadratic has no rows");
  s->target_loss = number_or (r, L "target.loss", (double) NAN);
  s->target_accuracy = number_or (r, L "target.accuracy", (double) NAN);
  if (!s->problem.kind->needs_classes)
    ls_config_no_effect (r->config, L "target.accuracy", "the problem has no classes");
  s->diverged_above = number (r, L "diverged_above");
  s->replications = (guint) ls_config_get_int (r->config, L "replications");
}

LsLearnSettings *ls_learn_settings_new (LsConfig *config, LsConfigErrors *errors) {
  g_autoptr (LsLearnSettings) s = g_new0 (LsLearnSettings, 1);
  Reader r = {config, errors, s, TRUE};

  LS_REQUIRE (ls_config_has (config, "learn"), "there is no learn section");
  read_problem (&r);
  read_data (&r);
  read_optimizer (&r, L "optimizer.", &s->optimizer);
  read_optimizer (&r, L "outer.", &s->outer);
  read_rates (&r);
  read_mitigations (&r);
  read_precision (&r);
  read_loss_scale (&r);
  read_measurements (&r);
  return r.fine ? g_steal_pointer (&s) : NULL;
}

void ls_learn_settings_free (LsLearnSettings *s) {
  if (s == NULL)
    return;
  g_free (s->problem.curvatures);
  g_free (s->data.preset);
  g_free (s->data.file);
  g_free (s->data.labels);
  g_free (s->data.label);
  g_free (s->rates);
  g_free (s);
}
