/* The learner: a softmax update on 784 features, 10 classes and a mini-batch of 32 beside its two matrix
 * products alone (the same BLAS, the same sizes); and updates per second on data of the size of digits. */
#include "bench.h"

#include <math.h>

#include "config/tables.h"
#include "learn/learner.h"

#define BATCH 32

/* Settings from the text of a `learn` section. */
static LsLearnSettings *settings_of (const char *yaml) {
  static const LsConfigKey *const tables[] = {ls_config_keys, ls_learn_keys, NULL};
  g_autoptr (LsConfigSchema) schema = ls_config_schema_new (tables);
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;

  ls_config_builder_add_text (builder, "bench", yaml, -1);
  config = ls_config_builder_build (builder, errors);
  return ls_learn_settings_new (config, errors);
}

/* CPU seconds of @updates sequential updates, measurements apart. */
static double updates_s (const char *yaml, gint64 batch, gint64 updates) {
  g_autoptr (LsLearnSettings) settings = settings_of (yaml);
  g_autoptr (LsLearnTask) task = ls_learn_task_new (settings, NULL, NULL);
  const LsLearnerOptions options = {.workers = 1, .shards = 1, .seed = 1};
  g_autoptr (LsLearner) learner = ls_learner_new (settings, task, &options, NULL);
  LsUpdateRecord record = {
      .shard = -1, .peer = -1, .peer_set = -1, .samples = batch, .closes = TRUE};
  double start = bench_cpu_s ();

  for (gint64 u = 0; u < updates; u++) {
    record.operation = LS_UPDATE_READ;
    record.version = u;
    ls_learner_update (learner, &record);
    record.operation = LS_UPDATE_GRADIENT;
    record.gradient = u;
    ls_learner_update (learner, &record);
    record.operation = LS_UPDATE_APPLY;
    record.version = u + 1;
    ls_learner_update (learner, &record);
  }
  return bench_cpu_s () - start;
}

/* CPU seconds of the products alone: outputs from inputs and weights, gradient from inputs and outputs. */
static double products_s (gsize features, gsize classes, gsize batch, gint64 times) {
  g_autofree double *x = g_new (double, batch *features), *w = g_new (double, features *classes);
  g_autofree double *z = g_new0 (double, batch *classes), *g = g_new (double, features *classes);
  LsBlas blas = {0};
  double start, end;

  for (gsize i = 0; i < batch * features; i++)
    x[i] = sin ((double) i);
  for (gsize i = 0; i < features * classes; i++)
    w[i] = cos ((double) i) * 1e-3;
  start = bench_cpu_s ();
  for (gint64 t = 0; t < times; t++) {
    ls_blas_product (&blas, FALSE, FALSE, batch, classes, features, x, w, FALSE, z);
    ls_blas_product (&blas, TRUE, FALSE, features, classes, batch, x, z, FALSE, g);
  }
  end = bench_cpu_s ();
  ls_blas_clear (&blas);
  return end - start;
}

static void run (guint repeats) {
  static const char large[] = "learn: {problem: softmax, optimizer: {lr: 0.01}, evaluate: 1000000, "
                              "data: {kind: synthetic, rows: 2000, features: 784, classes: 10}}";
  static const char small[] = "learn: {problem: softmax, optimizer: {lr: 0.01}, evaluate: 1000000, "
                              "data: {kind: synthetic, rows: 1800, features: 64, classes: 10}}";
  g_autofree double *ratios = g_new (double, repeats), *alone = g_new (double, repeats);
  const gint64 updates = 2000;

  for (guint r = 0; r < repeats; r++) {
    alone[r] = products_s (784, 10, BATCH, updates);
    ratios[r] = updates_s (large, BATCH, updates) / alone[r];
  }
  bench_line ("matrix products of a 784 x 10 softmax, batch 32",
              bench_median (alone, repeats) * 1e6 / (double) updates, "us");
  bench_ratio ("an update of the learner / its products", bench_median (ratios, repeats), 1.3,
               FALSE);
  bench_line ("updates on 64 x 10, batch 32", 20000 / updates_s (small, 32, 20000), "1/s");
  bench_line ("updates on 64 x 10, batch 1", 50000 / updates_s (small, 1, 50000), "1/s");
}

const BenchSection bench_learn = {"learn", "updates of the learner beside their matrix products",
                                  run};
