/* Concepts about what lies where: states, what fits, recomputation, ZeRO, resharding; see concepts.h. */
#include "cli/concepts.h"
#include "faults/reshard.h"

#define MIXED "workload.precision={compute: bf16, gradients: fp32, master: fp32, optimizer: fp32}"

/* --- bytes per parameter ------------------------------------------------------------------------ */

void ls_concept_sixteen_bytes (LsConceptRun *run) {
  static const char *const file = "concepts/sixteen-bytes.yaml";
  static const char *const fp32[] = {"workload.precision=fp32", NULL}, *const mixed[] = {MIXED,
                                                                                         NULL};
  g_autoptr (LsScenario) half = ls_concept_scenario (run, file, NULL);
  g_autoptr (LsScenario) full = ls_concept_scenario (run, file, fp32);
  g_autoptr (LsScenario) megatron = ls_concept_scenario (run, file, mixed);

  if (run->error != NULL)
    return;
  const gint64 n = 1000000;
  const LsStaticMemory a = ls_memory_static (half->workload, n),
                       b = ls_memory_static (full->workload, n);
  double in_half = (double) a.parameters_bytes / (double) n;
  double in_full = (double) b.parameters_bytes / (double) n;
  ls_concept_row (run, 4, 4, in_full, "B", "4", "weights in fp32, per parameter");
  ls_concept_row (run, 2, 2, in_half, "B", "2", "weights in bf16");
  ls_concept_row (run, 16, 16, ls_memory_bytes_per_parameter (full->workload), "B", "16",
                  "all states, fp32");
  ls_concept_row (run, 16, 16, ls_memory_bytes_per_parameter (half->workload), "B", "16",
                  "all states, bf16 with gradients in bf16");
  ls_concept_row (run, 18, 18, ls_memory_bytes_per_parameter (megatron->workload), "B", "18",
                  "all states, bf16 with gradients in fp32");
}

/* --- what fits ---------------------------------------------------------------------------------- */

void ls_concept_does_not_fit (LsConceptRun *run) {
  static const struct {
    const char *what, *textbook;
    gboolean fits;
    const char *sets[3];
  } ways[] = {
      {"as it is", "108 GB: no", FALSE, {NULL}},
      {"recomputing less", "more: no", FALSE, {"workload.recompute=none", NULL}},
      {"states sharded, ZeRO stage 3",
       "13.5 GB + activations",
       TRUE,
       {"workload.zero.stage=3", NULL}},
      {"layers split, tensor 8",
       "13.5 GB + activations",
       TRUE,
       {"workload.parallel.tensor=8", NULL}},
      {"layers dealt out, pipeline 8",
       "13.5 GB + activations",
       TRUE,
       {"workload.parallel.pipeline=8", NULL}},
      {"optimizer sharded, in the memory of the host",
       "27 GB + activations",
       TRUE,
       {"workload.zero={stage: 1, offload: optimizer}", NULL}},
      {"optimizer sharded and 80 GB",
       "37 GB + activations",
       TRUE,
       {"workload.zero.stage=1", "cluster.node=dgx-a100", NULL}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    g_autoptr (LsScenario) scenario =
        ls_concept_scenario (run, "concepts/does-not-fit.yaml", ways[i].sets);
    if (scenario == NULL)
      return;
    const LsMemoryEstimate estimate = ls_scenario_fullest (scenario, 0);
    double gb = (double) estimate.reserved_bytes / 1e9;
    double room = (double) estimate.capacity_bytes / 1e9;
    ls_concept_row (run, ways[i].fits ? 0 : room, ways[i].fits ? room : 1000, gb, "GB",
                    ways[i].textbook, "%s: needed of %.3g GB", ways[i].what, room);
    if (!ways[i].fits)
      continue;
    g_autoptr (LsSummary) summary =
        ls_concept_step (run, "concepts/does-not-fit.yaml", ways[i].sets);
    if (summary == NULL)
      return;
    ls_concept_row (run, 0, G_MAXDOUBLE, summary->step_time_s, "s", "-", "its step");
  }
}

/* --- recomputation ------------------------------------------------------------------------------ */

/* One step that recomputes every k layers; all is kept when k is 0. */
static gboolean with_k (LsConceptRun *run, const char *unit, gint64 k, LsSummary **summary,
                        double *bytes) {
  g_autofree char *every = g_strdup_printf (
      "workload.recompute={mode: full, unit: %s, every: %" G_GINT64_FORMAT "}", unit, MAX (k, 1));
  const char *sets[] = {k == 0 ? "workload.recompute=none" : every, NULL};

  *summary = ls_concept_step (run, "concepts/recompute.yaml", sets);
  if (*summary == NULL)
    return FALSE;
  *bytes = (double) (*summary)->memory.by_kind[LS_MEMORY_ACTIVATIONS];
  return TRUE;
}

#define N_LAYERS 16

void ls_concept_recompute (LsConceptRun *run) {
  static const gint64 ks[] = {1, 2, 4, 8, 16};
  static const char *const units[] = {"operation", "block"};
  LsSummary *base;
  double all, bytes;

  if (!with_k (run, "block", 0, &base, &all))
    return;
  for (guint u = 0; u < G_N_ELEMENTS (units); u++)
    for (guint i = 0; i < G_N_ELEMENTS (ks); i++) {
      gboolean chain = u == 0;
      double k = (double) ks[i];
      g_autofree char *stored = g_strdup_printf ("%.3g %%", 100 / k);
      g_autofree char *work = g_strdup_printf ("%.3g F", 2 - 1 / k);
      LsSummary *summary;
      if (!with_k (run, units[u], ks[i], &summary, &bytes))
        break;
      /* The whole law for a chain: N/k are stored and k - 1 of the segment are live too. The head is no part of it. */
      double share = 100 * bytes / all, law = 100 * (N_LAYERS / k + k - 1) / N_LAYERS;
      /* Backward is twice forward, and recompute all that hfu counts beyond mfu. */
      double forward = 3 * summary->hfu / summary->mfu - 2;
      ls_concept_row (run, chain ? law - 1 : 0, chain ? law + 3 : 101, share, "%",
                      chain || i > 0 ? stored : "-", "activations at the peak, %s, k = %d",
                      chain ? "chain" : "blocks", (int) k);
      ls_concept_row (run, chain ? 2 - 1 / k - 0.01 : 1.98, chain ? 2 - 1 / k + 0.01 : 2.01,
                      forward, "F", work, "forward work");
      ls_concept_row (run, 0.999, 4.0 / 3 + 0.02, summary->step_time_s / base->step_time_s, "x",
                      "<= 1.33", "step");
      ls_summary_free (summary);
    }
  ls_summary_free (base);
}

/* --- ZeRO --------------------------------------------------------------------------------------- */

void ls_concept_zero_states (LsConceptRun *run) {
  g_autoptr (LsScenario) scenario = ls_concept_scenario (run, "concepts/zero.yaml", NULL);
  const gint64 parameters =
      1024 * 1024 * 105; /* a multiple of all N, so that no shard is rounded */

  if (scenario == NULL)
    return;
  LsWorkload *w = scenario->workload;
  for (guint n = 2; n <= 1024; n *= n < 8 ? 2 : n < 64 ? 8 : 16) {
    double whole = 16.0 * (double) parameters;
    const double textbook[] = {1, 16 / (4 + 12.0 / n), 16 / (2 + 14.0 / n), n};
    w->layout.data = n;
    w->layout.ranks = n;
    for (int stage = 1; stage <= 3; stage++) {
      w->zero.stage = stage;
      const LsStaticMemory states = ls_memory_static (w, parameters);
      double ratio = whole / (double) (states.parameters_bytes + states.gradients_bytes +
                                       states.optimizer_bytes);
      g_autofree char *said =
          g_strdup_printf (textbook[stage] >= 1000 ? "%.0f" : "%.3g", textbook[stage]);
      ls_concept_row (run, textbook[stage] * (1 - 1e-6), textbook[stage] * (1 + 1e-6), ratio, "x",
                      said, "states, stage %d, N = %u", stage, n);
    }
  }
  /* Put back what the scenario owns. */
  w->layout.data = w->layout.ranks = 8;
  double before = 0;
  for (int stage = 0; stage <= 3; stage++) {
    g_autofree char *set = g_strdup_printf ("workload.zero.stage=%d", stage);
    g_autoptr (LsSummary) summary =
        ls_concept_step (run, "concepts/zero.yaml", (const char *[]){set, NULL});
    static const char *const said[] = {"1", "1.5-2", "2-3", "4-10"};
    if (summary == NULL)
      return;
    before = stage == 0 ? (double) summary->memory.peak_bytes : before;
    ls_concept_row (run, 0.999, 10, before / (double) summary->memory.peak_bytes, "x", said[stage],
                    "peak with activations, GPT-2 XL, stage %d, N = 8", stage);
  }
}

/* The same bytes, beside the next forward pass or at the end of the step. */
static void gather_ahead (LsConceptRun *run) {
  static const char *const sets[2][2] = {{"workload.zero.overlap_gather=false", NULL},
                                         {"workload.zero.overlap_gather=true", NULL}};
  g_autoptr (LsSummary) at_end = ls_concept_step (run, "concepts/zero.yaml", sets[0]);
  g_autoptr (LsSummary) ahead = ls_concept_step (run, "concepts/zero.yaml", sets[1]);

  if (at_end == NULL || ahead == NULL)
    return;
  ls_concept_row (run, 1 - 1e-6, 1 + 1e-6,
                  ahead->communication_bytes_per_gpu / at_end->communication_bytes_per_gpu, "x",
                  "1", "sent, stage 1, gathers beside the next forward");
  ls_concept_row (run, 0.5, 0.9999, ahead->step_time_s / at_end->step_time_s, "x", "< 1",
                  "step, stage 1, gathers beside the next forward");
}

void ls_concept_zero_traffic (LsConceptRun *run) {
  for (int m = 1; m <= 4; m += 3)
    for (int stage = 0; stage <= 3; stage++) {
      g_autofree char *set = g_strdup_printf ("workload.zero.stage=%d", stage);
      g_autofree char *batch = g_strdup_printf ("workload.batch.global=%d", 8 * m);
      const char *sets[] = {set, batch, NULL};
      g_autoptr (LsScenario) scenario = ls_concept_scenario (run, "concepts/zero.yaml", sets);
      g_autoptr (LsSummary) summary = ls_concept_step (run, "concepts/zero.yaml", sets);
      int times = stage < 2 ? 2 : stage == 2 ? m + 1 : 3 * m;
      if (scenario == NULL || summary == NULL)
        return;
      /* Of 16-bit parameters, sent by one rank: (N - 1) / N each time. */
      double unit = 2 * (double) ls_model_parameters (scenario->workload->model) * 7 / 8;
      double sent = summary->communication_bytes_per_gpu / unit;
      g_autofree char *said = g_strdup_printf ("%d", times);
      ls_concept_row (run, times * 0.95, times * 1.05, sent, "x (N-1)/N P", said,
                      "sent per step, stage %d, m = %d", stage, m);
    }
  gather_ahead (run);
}

void ls_concept_resharding (LsConceptRun *run) {
  static const struct {
    guint from, to;
    gboolean relabel;
    const char *textbook;
    double moves; /* per cent. source: exact arithmetic of flat shards */
  } rows[] = {{64, 32, FALSE, "98.4 %", 98.4},
              {64, 32, TRUE, "50 %", 50},
              {64, 56, FALSE, "93.8 %", 93.75},
              {64, 56, TRUE, "28.6 %", 28.57}};
  const gint64 bytes = 16 * G_GINT64_CONSTANT (1557611200); /* states of GPT-2 XL */

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const LsReshard r = ls_reshard (bytes, rows[i].from, rows[i].to, rows[i].relabel);
    double moves = 100 * (double) r.moves_bytes / (double) bytes;
    ls_concept_row (run, rows[i].moves - 0.1, rows[i].moves + 0.1, moves, "%", rows[i].textbook,
                    "states of GPT-2 XL that move, %u to %u ranks, %s", rows[i].from, rows[i].to,
                    rows[i].relabel ? "best places" : "by rank number");
    /* Adapters of 400 Gb/s, one per rank, in parallel. */
    ls_concept_row (run, 0, 1e6, (double) r.most_moved_bytes / 50e9 * 1e3, "ms", "-",
                    "at 400 Gb/s per rank");
  }
}
