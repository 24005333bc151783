/* Update logs and settings for the learner's tests, see toy.h. */
#include "toy.h"

#include <check.h>
#include <string.h>

#include "config/tables.h"

#define TICK_PS G_GINT64_CONSTANT (1000000)

void toy_init (Toy *toy, LsLearner *learner, guint workers, gint64 samples) {
  *toy = (Toy){.learner = learner, .workers = workers, .samples = samples};
  toy->outstanding = g_new (gint64, workers);
  for (guint w = 0; w < workers; w++)
    toy->outstanding[w] = -1;
}

void toy_clear (Toy *toy) {
  g_free (toy->outstanding);
}

static LsUpdateRecord record_of (Toy *toy, LsUpdateOperation operation, gint worker) {
  return (LsUpdateRecord){.operation = operation,
                          .worker = worker,
                          .shard = -1,
                          .peer = -1,
                          .version = toy->version,
                          .peer_set = -1,
                          .gradient = -1,
                          .clock = -1,
                          .samples = -1,
                          .t_ps = toy->t_ps};
}

void toy_read (Toy *toy, guint worker) {
  LsUpdateRecord r = record_of (toy, LS_UPDATE_READ, (gint) worker);

  ls_learner_update (toy->learner, &r);
}

static gint64 evaluate (Toy *toy, LsUpdateOperation operation, guint worker) {
  LsUpdateRecord r = record_of (toy, operation, (gint) worker);

  r.gradient = toy->gradient++;
  r.samples = toy->samples;
  ls_learner_update (toy->learner, &r);
  return r.gradient;
}

gint64 toy_gradient (Toy *toy, guint worker) {
  return evaluate (toy, LS_UPDATE_GRADIENT, worker);
}

void toy_local_step (Toy *toy, guint worker) {
  evaluate (toy, LS_UPDATE_LOCAL_STEP, worker);
}

void toy_apply (Toy *toy, guint worker, gint64 gradient, gboolean closes) {
  LsUpdateRecord r = record_of (toy, LS_UPDATE_APPLY, (gint) worker);

  toy->t_ps += TICK_PS;
  r.t_ps = toy->t_ps;
  r.gradient = gradient;
  r.version = toy->version + 1;
  r.closes = closes;
  ls_learner_update (toy->learner, &r);
  toy->version += closes ? 1 : 0;
}

void toy_drop (Toy *toy, guint worker, gint64 gradient) {
  LsUpdateRecord r = record_of (toy, LS_UPDATE_DROP, (gint) worker);

  r.gradient = gradient;
  ls_learner_update (toy->learner, &r);
}

static void over_all (Toy *toy, LsUpdateOperation operation, gint worker) {
  LsUpdateRecord r = record_of (toy, operation, worker);
  g_autofree guint32 *members = g_new (guint32, toy->workers);

  toy->t_ps += TICK_PS;
  for (guint w = 0; w < toy->workers; w++)
    members[w] = w;
  r.version = ++toy->version;
  r.t_ps = toy->t_ps;
  if (worker < 0) {
    r.peer_set = 0;
    r.members = members;
    r.n_members = toy->workers;
  }
  ls_learner_update (toy->learner, &r);
}

void toy_average (Toy *toy) {
  over_all (toy, LS_UPDATE_AVERAGE, -1);
}

void toy_outer (Toy *toy) {
  over_all (toy, LS_UPDATE_OUTER_STEP, -1);
}

void toy_elastic_all (Toy *toy) {
  over_all (toy, LS_UPDATE_ELASTIC, -1);
}

void toy_elastic (Toy *toy, guint worker) {
  over_all (toy, LS_UPDATE_ELASTIC, (gint) worker);
}

/* --- schedules ------------------------------------------------------------------------------ */

void toy_sequential (Toy *toy, gint64 updates) {
  toy_round_robin (toy, updates);
}

void toy_k_sync (Toy *toy, guint k, gint64 updates, guint64 seed) {
  g_autofree guint *order = g_new (guint, toy->workers);
  LsRandom random;

  ls_random_init (&random, seed, "toy-order", 0);
  for (gint64 u = 0; u < updates; u++) {
    for (guint w = 0; w < toy->workers; w++) {
      guint j = (guint) ls_random_below (&random, w + 1);

      toy_read (toy, w);
      toy->outstanding[w] = toy_gradient (toy, w);
      order[w] = order[j];
      order[j] = w;
    }
    for (guint i = 0; i < k; i++)
      toy_apply (toy, order[i], toy->outstanding[order[i]], i + 1 == k);
    for (guint i = k; i < toy->workers; i++)
      toy_drop (toy, order[i], toy->outstanding[order[i]]);
  }
}

static void start_all (Toy *toy) {
  for (guint w = 0; w < toy->workers; w++)
    if (toy->outstanding[w] < 0) {
      toy_read (toy, w);
      toy->outstanding[w] = toy_gradient (toy, w);
    }
}

static void arrive (Toy *toy, guint worker, gboolean closes) {
  toy_apply (toy, worker, toy->outstanding[worker], closes);
  toy_read (toy, worker);
  toy->outstanding[worker] = toy_gradient (toy, worker);
}

void toy_round_robin (Toy *toy, gint64 updates) {
  start_all (toy);
  for (gint64 u = 0; u < updates; u++)
    arrive (toy, (guint) (toy->version % toy->workers), TRUE);
}

void toy_async (Toy *toy, guint k, gint64 updates, LsRandom *random) {
  start_all (toy);
  for (gint64 i = 0; i < updates * k; i++)
    arrive (toy, (guint) ls_random_below (random, toy->workers), (i + 1) % k == 0);
}

void toy_local_sgd (Toy *toy, guint steps, gint64 rounds) {
  for (gint64 r = 0; r < rounds; r++) {
    for (guint w = 0; w < toy->workers; w++)
      for (guint h = 0; h < steps; h++)
        toy_local_step (toy, w);
    toy_average (toy);
  }
}

/* --- settings ------------------------------------------------------------------------------- */

static LsLearnSettings *read_text (const char *yaml, LsConfigErrors *errors) {
  static const LsConfigKey *const tables[] = {ls_config_keys, ls_learn_keys, NULL};
  g_autoptr (LsConfigSchema) schema = ls_config_schema_new (tables);
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;
  LsLearnSettings *settings = NULL;

  ls_config_builder_add_text (builder, "test.yaml", yaml, -1);
  config = ls_config_builder_build (builder, errors);
  if (config == NULL || !ls_config_is_readable (config))
    return NULL;
  ls_config_get_int (config, "seed");
  settings = ls_learn_settings_new (config, errors);
  ls_config_warn_unused (config, errors);
  return settings;
}

char *lesson_messages (const char *yaml) {
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsLearnSettings) settings = read_text (yaml, errors);

  return ls_config_errors_text (errors);
}

void lesson_init (Lesson *lesson, const char *yaml) {
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_build_filename (
      g_getenv ("BUILD_DIR") != NULL ? g_getenv ("BUILD_DIR") : ".", "data", NULL);
  g_autofree char *source = g_build_filename (LS_TEST_SOURCE_DIR, "build", "data", NULL);
  const char *const folders[] = {folder, source, NULL};
  g_autofree char *text = NULL;

  lesson->settings = read_text (yaml, errors);
  text = ls_config_errors_text (errors);
  ck_assert_msg (lesson->settings != NULL, "%s", text);
  lesson->task = ls_learn_task_new (lesson->settings, folders, &error);
  ck_assert_msg (lesson->task != NULL, "%s", error != NULL ? error->message : "");
}

void lesson_clear (Lesson *lesson) {
  ls_learn_task_free (lesson->task);
  ls_learn_settings_free (lesson->settings);
}

LsLearner *lesson_learner (const Lesson *lesson, guint workers, guint shards, guint64 seed) {
  const LsLearnerOptions options = {.workers = workers, .shards = shards, .seed = seed};
  g_autoptr (GError) error = NULL;
  LsLearner *learner = ls_learner_new (lesson->settings, lesson->task, &options, &error);

  ck_assert_msg (learner != NULL, "%s", error != NULL ? error->message : "");
  return learner;
}
