/* An update log out of a damaged file is refused at the first record that cannot be (the learner aborted on it). */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "train/update/update_check.h"

/* Operation, worker, shard, version, gradient, and the rest by name. */
#define R(OP, WORKER, SHARD, VERSION, GRADIENT, ...) \
  ((LsUpdateRecord){.operation = LS_UPDATE_##OP,     \
                    .worker = WORKER,                \
                    .shard = SHARD,                  \
                    .version = VERSION,              \
                    .peer_set = -1,                  \
                    .gradient = GRADIENT,            \
                    __VA_ARGS__})

/* Two workers, two shards: two gradients make version 1 of both shards, one of a third is dropped. */
static const LsUpdateRecord good[] = {
    R (READ, 0, -1, 0, -1, .t_ps = 0),
    R (READ, 1, -1, 0, -1, .t_ps = 0),
    R (GRADIENT, 0, -1, -1, 0, .samples = 8, .t_ps = 1),
    R (GRADIENT, 1, -1, -1, 1, .samples = 8, .t_ps = 1),
    R (APPLY, 0, 0, 1, 0, .t_ps = 2),
    R (APPLY, 1, 0, 1, 1, .t_ps = 2, .closes = TRUE),
    R (APPLY, 0, 1, 1, 0, .t_ps = 3, .closes = TRUE),
    R (APPLY, 1, 1, 2, 1, .t_ps = 3, .closes = TRUE),
    R (READ, 0, 0, 1, -1, .t_ps = 4),
    R (GRADIENT, 0, -1, -1, 2, .samples = 8, .t_ps = 4),
    R (DROP, 0, -1, -1, 2, .t_ps = 5),
    R (LOCAL_STEP, 1, -1, -1, 3, .samples = 8, .t_ps = 5),
    R (AVERAGE, -1, -1, 9, -1, .t_ps = 6),
    R (PAIR_AVERAGE, 0, -1, -1, -1, .t_ps = 6, .peer = 1),
    R (READ, 0, -1, 9, -1, .t_ps = 7),
    R (ELASTIC, 0, 0, 10, -1, .t_ps = 8),
    R (ELASTIC, 1, 0, 11, -1, .t_ps = 8),
    R (ELASTIC, 0, 1, 10, -1, .t_ps = 9),
};

static const struct {
  guint at; /* record that stands there instead */
  LsUpdateRecord record;
  const char *says;
} wrong[] = {
    {8, R (READ, 0, 0, 1, -1, .t_ps = 1), "is of the past"},
    {0, R (READ, 2, -1, 0, -1, .t_ps = 0), "names a worker or shard"},
    {0, R (READ, 0, 2, 0, -1, .t_ps = 0), "names a worker or shard"},
    {0, R (READ, -1, -1, 0, -1, .t_ps = 0), "names no worker"},
    {1, R (READ, 1, -1, 1, -1, .t_ps = 0), "reads a version"},
    {3, R (GRADIENT, 1, -1, -1, 5, .samples = 8, .t_ps = 1), "another gradient"},
    {3, R (GRADIENT, 1, 1, -1, 1, .samples = 8, .t_ps = 1), "of one shard"},
    {11, R (LOCAL_STEP, 1, 1, -1, 3, .samples = 8, .t_ps = 5), "of one shard"},
    {3, R (GRADIENT, 1, -1, -1, 1, .t_ps = 1, .samples = 0), "no samples"},
    {3, R (GRADIENT, 1, -1, -1, 1, .t_ps = 1, .samples = G_MAXINT64), "no samples"},
    {5, R (APPLY, 1, 0, 2, 1, .t_ps = 2, .closes = TRUE), "another version"},
    {5, R (APPLY, 1, 0, 1, 0, .t_ps = 2, .closes = TRUE),
     "not on its way"},                                      /* twice in an update */
    {5, R (DROP, 1, 0, -1, 0, .t_ps = 2), "not on its way"}, /* of an update that is not closed */
    {5, R (APPLY, 1, 0, 1, 7, .t_ps = 2), "not on its way"},
    {11, R (DROP, 0, -1, -1, 2, .t_ps = 5), "not on its way"}, /* again */
    {12, R (DROP, 1, -1, -1, 3, .t_ps = 5), "not on its way"}, /* of a local step */
    {12, R (AVERAGE, -1, -1, 1, -1, .t_ps = 6), "a version that has been"},
    {13, R (PAIR_AVERAGE, 0, -1, -1, -1, .t_ps = 6, .peer = 0), "no two workers"},
    {13, R (PAIR_AVERAGE, 0, -1, -1, -1, .t_ps = 6, .peer = 2), "names a worker or shard"},
    {13, R (PAIR_AVERAGE, 0, -1, -1, -1, .t_ps = 6, .peer = -1), "no two workers"},
    {16, R (ELASTIC, 1, 0, 10, -1, .t_ps = 8), "a version that has been"}, /* of this shard */
    {17, R (ELASTIC, 0, 0, 10, -1, .t_ps = 9), "a version that has been"}, /* of the other */
    {8, R (APPLY, 0, 0, 1, 0, .t_ps = 4), "not on its way"},               /* closed before */
    {8, R (APPLY, 1, 1, 2, 1, .t_ps = 4), "not on its way"},
};

START_TEST (a_good_log_passes) {
  g_autoptr (LsUpdateCheck) check = ls_update_check_new (2, 2);

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    ck_assert_msg (ls_update_check_next (check, &good[i]) == NULL, "record %u", i);
}
END_TEST

START_TEST (what_cannot_be_is_refused) {
  g_autoptr (LsUpdateCheck) check = ls_update_check_new (2, 2);
  const char *says;

  for (guint i = 0; i < wrong[_i].at; i++)
    ck_assert_ptr_null (ls_update_check_next (check, &good[i]));
  says = ls_update_check_next (check, &wrong[_i].record);
  ck_assert_msg (says != NULL && strstr (says, wrong[_i].says) != NULL, "%s: %s", wrong[_i].says,
                 says != NULL ? says : "nothing");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, a_good_log_passes);
  tcase_add_loop_test (tcase, what_cannot_be_is_refused, 0, G_N_ELEMENTS (wrong));
}

LS_TEST_MAIN ("update check", add)
