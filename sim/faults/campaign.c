/* Many replications on all cores, and what they say together. */
#include "faults/campaign.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/assert.h"

#define WORD_OF(id, word, meaning) word,
#define MEANING_OF(id, word, meaning) meaning,
#define NAME_FUNCTIONS(type, stem, list, count)                        \
  const char *ls_##stem##_name (type value) {                          \
    static const char *const words[] = {list (WORD_OF)};               \
    LS_REQUIRE ((guint) value < (count), "%s %d", #stem, (int) value); \
    return words[value];                                               \
  }                                                                    \
  const char *ls_##stem##_meaning (type value) {                       \
    static const char *const meanings[] = {list (MEANING_OF)};         \
    LS_REQUIRE ((guint) value < (count), "%s %d", #stem, (int) value); \
    return meanings[value];                                            \
  }

NAME_FUNCTIONS (LsComponent, component, LS_COMPONENTS, LS_N_COMPONENTS)
NAME_FUNCTIONS (LsFaultEffect, fault_effect, LS_FAULT_EFFECTS, LS_N_EFFECTS)
NAME_FUNCTIONS (LsRecoveryPolicy, recovery, LS_RECOVERIES, LS_N_RECOVERIES)
NAME_FUNCTIONS (LsCampaignPart, campaign_part, LS_CAMPAIGN_PARTS, LS_N_CAMPAIGN_PARTS)

LsEstimate ls_estimate (const double *values, guint n, double confidence) {
  LsEstimate estimate = {.half_width = INFINITY};

  LS_REQUIRE (n > 0 && confidence > 0 && confidence < 1, "estimate of %u values at %g", n,
              confidence);
  estimate.mean = gsl_stats_mean (values, 1, n);
  gsl_stats_minmax (&estimate.least, &estimate.greatest, values, 1, n);
  if (n > 1)
    estimate.half_width = gsl_cdf_tdist_Pinv (0.5 + confidence / 2, n - 1) *
                          gsl_stats_sd_m (values, 1, n, estimate.mean) / sqrt (n);
  return estimate;
}

typedef struct {
  const LsCampaignSpec *spec;
  LsReplica *replicas;
  guint end;
  gint next;
  gint done;
  GThread *caller;
  const volatile gint *stop;
} Batch;

static void tell (Batch *batch) {
  guint done = (guint) g_atomic_int_add (&batch->done, 1) + 1;

  if (batch->spec->tell != NULL && g_thread_self () == batch->caller)
    batch->spec->tell (batch->spec->tell_self, done, batch->end);
}

static gpointer work (gpointer data) {
  Batch *batch = data;

  for (;;) {
    guint i = (guint) g_atomic_int_add (&batch->next, 1);
    if (i >= batch->end || (batch->stop != NULL && *batch->stop != 0))
      return NULL;
    ls_campaign_run (batch->spec, i, NULL, &batch->replicas[i]);
    tell (batch);
    if (batch->stop != NULL && *batch->stop != 0) {
      /* Perhaps it was cut short: as if it had not begun. */
      ls_replica_clear (&batch->replicas[i]);
      batch->replicas[i].wall_us = 0;
    }
  }
}

/* Replications [first, end). */
static void run_batch (const LsCampaignSpec *given, LsReplica *replicas, guint first, guint end,
                       guint threads, const volatile gint *stop) {
  LsCampaignSpec spec = *given;
  Batch batch = {.spec = &spec,
                 .replicas = replicas,
                 .end = end,
                 .next = (gint) first,
                 .done = (gint) first,
                 .caller = g_thread_self (),
                 .stop = stop};
  guint n = MIN (MAX (threads, 1u), end - first) - 1;
  g_autofree GThread **others = g_new0 (GThread *, n + 1);

  spec.stop = stop;
  for (guint i = 0; i < n; i++)
    others[i] = g_thread_new ("campaign", work, &batch);
  work (&batch);
  for (guint i = 0; i < n; i++)
    g_thread_join (others[i]);
}

static gboolean is_precise (const LsCampaignResult *result, double precision, double confidence) {
  g_autofree double *goodput = g_new (double, result->n);

  for (guint i = 0; i < result->n; i++)
    goodput[i] = result->replicas[i].goodput;
  LsEstimate estimate = ls_estimate (goodput, result->n, confidence);
  return estimate.half_width <= precision * fabs (estimate.mean);
}

/* Batches double, whatever the number of threads, so that the number of replications is the same. */
LsCampaignResult *ls_campaign_replicate (const LsCampaignSpec *spec, guint least, guint most,
                                         double precision, double confidence, guint threads,
                                         const volatile gint *stop) {
  LsCampaignResult *result = g_new0 (LsCampaignResult, 1);

  LS_REQUIRE (least > 0 && most >= least, "%u to %u replications", least, most);
  result->replicas = g_new0 (LsReplica, most);
  for (guint end = least; result->n < most; end = MIN (2 * end, most)) {
    run_batch (spec, result->replicas, result->n, end, threads, stop);
    result->n = end;
    if ((stop != NULL && *stop != 0) || precision <= 0 || end == most ||
        is_precise (result, precision, confidence))
      break;
  }
  /* Interrupted: only what is complete, in order. */
  if (stop != NULL && *stop != 0)
    for (guint i = 0; i < result->n; i++)
      if (result->replicas[i].wall_us == 0) {
        for (guint j = i; j < result->n; j++)
          ls_replica_clear (&result->replicas[j]);
        result->n = i;
      }
  return result;
}

void ls_campaign_result_free (LsCampaignResult *result) {
  if (result == NULL)
    return;
  for (guint i = 0; i < result->n; i++)
    ls_replica_clear (&result->replicas[i]);
  g_free (result->replicas);
  g_free (result);
}
