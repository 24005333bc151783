/* Update logs made by hand, so that the learner's tests need no simulator: sequential, synchronous,
 * round robin (constant delay), asynchronous with exponential workers, local steps, elastic, outer. */
#pragma once

#include <glib.h>

#include "base/random.h"
#include "learn/learner.h"

typedef struct {
  LsLearner *learner;
  gint64 gradient; /* next number */
  gint64 version;
  gint64 t_ps;
  gint64 samples;      /* of every mini-batch */
  gint64 *outstanding; /* gradient that each worker computes */
  guint workers;
} Toy;

void toy_init (Toy *toy, LsLearner *learner, guint workers, gint64 samples);
void toy_clear (Toy *toy);
void toy_read (Toy *toy, guint worker);
gint64 toy_gradient (Toy *toy, guint worker);
void toy_apply (Toy *toy, guint worker, gint64 gradient, gboolean closes);
void toy_drop (Toy *toy, guint worker, gint64 gradient);
void toy_local_step (Toy *toy, guint worker);
void toy_average (Toy *toy);
void toy_outer (Toy *toy);
void toy_elastic_all (Toy *toy);
void toy_elastic (Toy *toy, guint worker);

/* Whole schedules. */
void toy_sequential (Toy *toy, gint64 updates);
/* All workers, the first k of a random order count. */
void toy_k_sync (Toy *toy, guint k, gint64 updates, guint64 seed);
/* Worker 0, 1, ..., n - 1, 0, ...: staleness n - 1 once all have started. */
void toy_round_robin (Toy *toy, gint64 updates);
/* The next to finish is any of the workers with equal probability: exponential service. With k > 1 an
 * update per k arrivals (k-batch-async). */
void toy_async (Toy *toy, guint k, gint64 updates, LsRandom *random);
void toy_local_sgd (Toy *toy, guint steps, gint64 rounds);

/* Settings from the text of a `learn` section; aborts the test on any fault. */
typedef struct {
  LsLearnSettings *settings;
  LsLearnTask *task;
} Lesson;

void lesson_init (Lesson *lesson, const char *yaml);
void lesson_clear (Lesson *lesson);
/* Declared before learners and workspaces, it is cleared after them. */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Lesson, lesson_clear)
LsLearner *lesson_learner (const Lesson *lesson, guint workers, guint shards, guint64 seed);
/* Messages of reading such a text ("" when it is fine), transfer full. */
char *lesson_messages (const char *yaml);
