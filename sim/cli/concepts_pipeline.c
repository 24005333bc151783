/* A concept about who waits: the bubble of a pipeline; see concepts.h.
 *
 * Model:      share of the pipeline's time, in percent: bubble / (step - optimizer - host). p stages, m micro-batches,
 *             v stages on each device: (p - 1) / (v m + p - 1), for equal stages and messages that cost nothing.
 *             ZB-H1 leaves (p - 1)(F + I - W) idle: a third, at F = I = W.
 *             source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2; Qi et al. 2023, section 2.
 */
#include "cli/concepts.h"

#define N_STAGES 4

typedef struct {
  const char *schedule;
  guint microbatches, virtual_stages;
  double idle; /* of the stages' forwards and backwards of one micro-batch on one device */
} Way;

static void bubble_row (LsConceptRun *run, const Way *way) {
  g_autofree char *stages = way->virtual_stages > 1
                                ? g_strdup_printf (", virtual_stages: %u", way->virtual_stages)
                                : NULL;
  g_autofree char *layout = g_strdup_printf ("workload.parallel={pipeline: %d, schedule: %s%s}",
                                             N_STAGES, way->schedule, stages != NULL ? stages : "");
  g_autofree char *batch = g_strdup_printf ("workload.batch.global=%u", way->microbatches);
  const char *const sets[] = {layout, batch, NULL};
  g_autoptr (LsSummary) step = ls_concept_step (run, "concepts/bubble.yaml", sets);

  if (step == NULL)
    return;
  double law = 100 * way->idle / (way->microbatches + way->idle);
  double own = step->step_time_s - step->parts_s[LS_PART_OPTIMIZER] - step->parts_s[LS_PART_OTHER];
  g_autofree char *textbook = g_strdup_printf ("%.1f %%", law);
  g_autofree char *each =
      way->virtual_stages > 1 ? g_strdup_printf (", v = %u", way->virtual_stages) : g_strdup ("");
  ls_concept_row (run, 0.95 * law, 1.05 * law, 100 * step->parts_s[LS_PART_PIPELINE_BUBBLE] / own,
                  "%", textbook, "idle, %s, m = %u%s", way->schedule, way->microbatches, each);
}

void ls_concept_bubble (LsConceptRun *run) {
  const double idle = N_STAGES - 1;
  const Way ways[] = {
      {"1f1b", 4, 1, idle},
      {"1f1b", 8, 1, idle},
      {"1f1b", 16, 1, idle},
      {"1f1b", 64, 1, idle},
      {"gpipe", 8, 1, idle},
      {"interleaved-1f1b", 8, 2, idle / 2},
      {"interleaved-1f1b", 8, 4, idle / 4},
      {"zb-h1", 8, 1, idle / 3},
  };

  for (guint i = 0; i < G_N_ELEMENTS (ways) && run->error == NULL; i++)
    bubble_row (run, &ways[i]);
}
