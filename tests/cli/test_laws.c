/* Laws that a step obeys whatever the layout: which way its time moves when one thing is changed.
 *
 * Layouts are drawn at random: model, batch, tensor, pipeline, data, ZeRO stage, recompute, nodes, kind of node. Each law
 * says for which of them it is true, and why; a law that holds only without contention says so and keeps to layouts with
 * one axis of communication and nothing beside compute. Times are compared to SLACK, for ends are rounded to the ps and
 * rates to 2^-60 units per ps; equalities that are exact say so. LS_TEST_SCALE multiplies the draws. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "cli/scenario.h"
#include "study/sensitivity.h"
#include "suite.h"

#define SLACK 1e-6
#define DRAWS 8

/* A layout in numbers, so that one of them can be changed. */
typedef struct {
  const char *node;
  guint nodes, gpus; /* per node */
  gint64 layers, hidden, heads, seq, micro, microbatches;
  guint tensor, pipeline;
  int zero;
  gboolean overlap;
  const char *recompute, *precision, *placement;
  guint steps;
  const char *extra;              /* of the cluster's node: ", mig: ..." */
  const char *schedule, *offload; /* NULL: 1F1B; nothing */
  guint vocab;                    /* 0: 4096 */
} Layout;

static guint data_of (const Layout *x) {
  return x->nodes * x->gpus / x->tensor / x->pipeline;
}

static char *yaml_of (const Layout *x, guint data) {
  guint ranks = x->tensor * x->pipeline * data;
  return g_strdup_printf (
      "lockstep: 1\n"
      "cluster:\n"
      "  nodes: %u\n"
      "  node: {preset: %s, gpus: %u, nics: %u%s}\n"
      "  fabric: {kind: single-switch}\n"
      "workload:\n"
      "  model: {kind: transformer, layers: %" G_GINT64_FORMAT ", hidden: %" G_GINT64_FORMAT
      ", heads: %" G_GINT64_FORMAT ", ffn: %" G_GINT64_FORMAT
      ", vocab: %u, max_seq: 65536, tied_embeddings: false}\n"
      "  precision: %s\n"
      "  batch: {global: %" G_GINT64_FORMAT ", micro: %" G_GINT64_FORMAT
      ", seq_len: %" G_GINT64_FORMAT "}\n"
      "  parallel: {tensor: %u, pipeline: %u, data: %u%s%s}\n"
      "  zero: {stage: %d, overlap: %s, offload: %s}\n"
      "  recompute: {mode: %s}\n"
      "%s%s"
      "  stop: {steps: %u}\n"
      "# %u ranks\n",
      x->nodes, x->node, x->gpus, x->gpus, x->extra != NULL ? x->extra : "", x->layers, x->hidden,
      x->heads, 4 * x->hidden, x->vocab > 0 ? x->vocab : 4096, x->precision,
      x->micro * x->microbatches * data, x->micro, x->seq, x->tensor, x->pipeline, data,
      x->pipeline > 1 ? ", schedule: " : "",
      x->pipeline > 1 ? (x->schedule != NULL ? x->schedule : "1f1b") : "", x->zero,
      x->overlap ? "true" : "false", x->offload != NULL ? x->offload : "none", x->recompute,
      x->placement != NULL ? "  placement: " : "", x->placement != NULL ? x->placement : "",
      x->steps, ranks);
}

static LsScenario *scenario_of (const Layout *x, guint data) {
  g_autofree char *yaml = yaml_of (x, data);
  LsScenario *scenario = ls_scenario_from_text ("law", yaml);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  ck_assert_msg (scenario->workload != NULL && !ls_config_errors_any (scenario->errors), "%s\n%s",
                 faults, yaml);
  return scenario;
}

static const double as_it_is[LS_N_KNOBS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
G_STATIC_ASSERT (LS_N_KNOBS == 10);
/* For laws on sizes of kernels: a library that splits a product into two launches does not know what gaps and launches
 * cost, so that a larger product, not split, may be up to 2 % of a step faster. Without them it never is. */
static const double no_launches[] = {
    [LS_KNOB_COMPUTE] = 1, [LS_KNOB_HBM] = 1,    [LS_KNOB_LINK] = 1,    [LS_KNOB_PCIE] = 1,
    [LS_KNOB_NIC] = 1,     [LS_KNOB_TRUNK] = 1,  [LS_KNOB_LATENCY] = 1, [LS_KNOB_SOFTWARE] = 1e6,
    [LS_KNOB_HOST] = 1,    [LS_KNOB_STORAGE] = 1};

static LsSummary *summary_of (const LsScenario *scenario, const double *speedup) {
  LsSimulationJob one = {.workload = scenario->workload};
  const LsScene scene = {.cluster = scenario->cluster, .jobs = &one, .n_jobs = 1};
  g_autoptr (GError) error = NULL;
  LsSummary *summary = ls_scene_run (&scene, speedup, NULL, &error);
  ck_assert_msg (summary != NULL, "%s", error != NULL ? error->message : "");
  return summary;
}

static LsSummary *run_with (const Layout *x, const double *speedup) {
  g_autoptr (LsScenario) scenario = scenario_of (x, data_of (x));
  return summary_of (scenario, speedup);
}

static double step_with (const Layout *x, const double *speedup) {
  g_autoptr (LsSummary) summary = run_with (x, speedup);
  return summary->step_time_s;
}

static double step_of (const Layout *x) {
  return step_with (x, as_it_is);
}

#define PICK(random, list) (list)[ls_random_below ((random), G_N_ELEMENTS (list))]

/* A layout that is legal on its cluster. */
static Layout draw (LsRandom *random) {
  static const char *const nodes[] = {"dgx-a100", "dgx-h100", "hgx-mi300x"};
  static const char *const modes[] = {"none", "selective", "full"};
  static const guint sizes[] = {1, 2, 4};
  Layout x = {.node = PICK (random, nodes), .precision = "bf16", .steps = 2};
  if (ls_node_find (x.node, NULL) == NULL)
    x.node = "dgx-h100";
  x.nodes = 1 + (guint) ls_random_below (random, 2);
  x.gpus = 4;
  x.tensor = PICK (random, sizes);
  x.pipeline = x.tensor == 4 ? 1 : PICK (random, sizes);
  if (x.tensor * x.pipeline > x.nodes * x.gpus)
    x.pipeline = 1;
  x.heads = 8;
  x.hidden = 512 * (1 + (gint64) ls_random_below (random, 3));
  x.layers = 4 * (1 + (gint64) ls_random_below (random, 2));
  x.seq = 256 * (1 + (gint64) ls_random_below (random, 3));
  x.micro = 1 + (gint64) ls_random_below (random, 2);
  x.microbatches = 1 + (gint64) ls_random_below (random, 4);
  x.zero = (int) ls_random_below (random, x.pipeline > 1 ? 2 : 4);
  x.overlap = ls_random_below (random, 2) == 0;
  x.recompute = PICK (random, modes);
  return x;
}

/* One axis of communication and nothing beside compute: whatever runs, runs alone. */
static Layout draw_alone (LsRandom *random) {
  Layout x = draw (random);
  x.overlap = FALSE;
  x.pipeline = 1;
  if (ls_random_below (random, 2) == 0) {
    x.tensor = 1;
  } else {
    x.nodes = 1;
    x.tensor = 4;
  }
  return x;
}

static void stream_of (LsRandom *random) {
  ls_random_init (random, 3 + test_seed (), "laws", 0);
}

#define EACH(draw_one) \
  LsRandom random;     \
  stream_of (&random); \
  for (guint draw_i = 0; draw_i < test_scaled (DRAWS); draw_i++)

static void not_faster (double base, double changed, const Layout *x, const char *law) {
  g_autofree char *yaml = yaml_of (x, data_of (x));
  ck_assert_msg (changed >= base * (1 - SLACK), "%s: %.9g s is less than %.9g s\n%s", law, changed,
                 base, yaml);
}

static void same (double a, double b, const Layout *x, const char *law) {
  g_autofree char *yaml = yaml_of (x, data_of (x));
  ck_assert_msg (fabs (a / b - 1) < SLACK, "%s: %.9g s and %.9g s\n%s", law, a, b, yaml);
}

/* 1: all capacities times f and all times over f: the step over f. */
START_TEST (everything_faster) {
  EACH (draw) {
    Layout x = draw (&random);
    double f = 2 + (double) ls_random_below (&random, 3), all[LS_N_KNOBS];
    for (guint k = 0; k < LS_N_KNOBS; k++)
      all[k] = f;
    same (step_with (&x, all) * f, step_of (&x), &x, "everything faster");
  }
}
END_TEST

/* A product that is split is two launches, the second in the driver alone, whose time is the driver's own: it was left as it
 * is where all else was faster, and this layout took 32 us longer than its share. */
START_TEST (the_driver_is_faster_too) {
  const Layout x = {.node = "dgx-h100",
                    .nodes = 1,
                    .gpus = 4,
                    .layers = 8,
                    .hidden = 512,
                    .heads = 8,
                    .seq = 768,
                    .micro = 2,
                    .microbatches = 4,
                    .tensor = 2,
                    .pipeline = 1,
                    .zero = 3,
                    .recompute = "selective",
                    .precision = "bf16",
                    .steps = 2};
  double all[LS_N_KNOBS];
  for (guint k = 0; k < LS_N_KNOBS; k++)
    all[k] = 3;
  same (step_with (&x, all) * 3, step_of (&x), &x, "everything faster");
}
END_TEST

/* 2-11: any one thing faster never makes a step slower, without contention (with it, it can). */
START_TEST (one_thing_faster) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random);
    double base = step_with (&x, no_launches), speedup[LS_N_KNOBS];
    for (guint k = 0; k < LS_N_KNOBS; k++)
      speedup[k] = no_launches[k] * (k == (guint) _i ? 1.5 : 1);
    not_faster (step_with (&x, speedup), base, &x, ls_knob_name ((LsKnob) _i));
  }
}
END_TEST

/* 12: and never by more than its factor. */
START_TEST (no_more_than_the_factor) {
  EACH (draw) {
    Layout x = draw (&random);
    double speedup[LS_N_KNOBS];
    guint knob = (guint) ls_random_below (&random, LS_N_KNOBS);
    for (guint k = 0; k < LS_N_KNOBS; k++)
      speedup[k] = k == knob ? 1.5 : 1;
    not_faster (step_of (&x) / 1.5, step_with (&x, speedup), &x, "no more than the factor");
  }
}
END_TEST

/* 13: more layers. */
START_TEST (more_layers) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    y.layers += 4;
    not_faster (step_of (&x), step_of (&y), &y, "more layers");
  }
}
END_TEST

/* 14: wider layers. */
START_TEST (wider_layers) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    y.hidden *= 2;
    not_faster (step_with (&x, no_launches), step_with (&y, no_launches), &y, "wider layers");
  }
}
END_TEST

/* 15: longer sequences, without contention. With it a longer kernel can set gathers and reductions apart that met on the
 * adapters before: 8 layers of 1,024 under ZeRO 3 with overlap, 2 x 4 H100, 256 tokens: 16.7 ms, and 512: 16.4. */
START_TEST (longer_sequences) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x;
    y.seq *= 2;
    not_faster (step_with (&x, no_launches), step_with (&y, no_launches), &y, "longer sequences");
  }
}
END_TEST

/* 16: more micro-batches. */
START_TEST (more_microbatches) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    y.microbatches += 1 + (gint64) ls_random_below (&random, 3);
    not_faster (step_of (&x), step_of (&y), &y, "more micro-batches");
  }
}
END_TEST

/* 17: a larger micro-batch takes no less time than a small one, and no more than as many small ones. */
START_TEST (larger_microbatch) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x, many = x;
    x.tensor = y.tensor = many.tensor = 1;
    x.zero = y.zero = many.zero = 0;
    y.micro *= 2;
    many.microbatches *= 2;
    not_faster (step_with (&x, no_launches), step_with (&y, no_launches), &y,
                "a larger micro-batch");
    not_faster (step_of (&y), step_of (&many), &many, "as many small ones");
  }
}
END_TEST

/* 18: recomputing takes no less time and needs no more memory at its peak, where nothing runs beside it. */
START_TEST (recomputing) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x;
    x.recompute = "none";
    y.recompute = "full";
    g_autoptr (LsSummary) a = run_with (&x, as_it_is);
    g_autoptr (LsSummary) b = run_with (&y, as_it_is);
    not_faster (a->step_time_s, b->step_time_s, &y, "recomputing");
    ck_assert_int_le (b->memory.peak_bytes, a->memory.peak_bytes);
    ck_assert (b->hfu * (1 + SLACK) >= b->mfu);
  }
}
END_TEST

static LsMemoryEstimate estimate_with (const Layout *x, double share) {
  g_autoptr (LsScenario) scenario = scenario_of (x, data_of (x));
  LsAccelerator gpu = *ls_cluster_gpu (scenario->cluster, 0);
  LsMemoryEstimate estimate;
  gpu.hbm_bytes = (gint64) (share * (double) gpu.hbm_bytes);
  ls_memory_estimate (scenario->workload, 0, &gpu, &estimate);
  return estimate;
}

/* 19: less memory never makes an unfit layout fit, nor changes what it needs. */
START_TEST (less_memory) {
  EACH (draw) {
    Layout x = draw (&random);
    double more = 0.2 * ls_random_uniform (&random), less = more * ls_random_uniform (&random);
    LsMemoryEstimate a = estimate_with (&x, more), b = estimate_with (&x, less);
    ck_assert (a.fits || !b.fits);
    ck_assert_int_eq (a.reserved_bytes, b.reserved_bytes);
  }
}
END_TEST

static LsMemoryEstimate fullest_of (const Layout *x) {
  g_autoptr (LsScenario) scenario = scenario_of (x, data_of (x));
  const LsAccelerator *gpus[8];
  LsMemoryEstimate estimate;

  ck_assert_uint_le (x->pipeline, G_N_ELEMENTS (gpus));
  for (guint stage = 0; stage < x->pipeline; stage++)
    gpus[stage] = ls_cluster_gpu (scenario->cluster, 0);
  ls_memory_fullest (scenario->workload, gpus, &estimate);
  return estimate;
}

/* Of any schedule and ZeRO stage, with embeddings that may outweigh the layers. */
static Layout draw_claims (LsRandom *random) {
  static const char *const schedules[] = {"gpipe", "1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipev"};
  static const char *const offloads[] = {"none", "none", "optimizer"};
  static const guint vocabs[] = {512, 4096, 65536};
  Layout x = draw (random);

  x.zero = (int) ls_random_below (random, 4);
  x.vocab = PICK (random, vocabs);
  if (x.zero > 0)
    x.offload = PICK (random, offloads);
  if (x.pipeline > 1)
    x.schedule = PICK (random, schedules);
  if (x.layers % (2 * x.pipeline) != 0 && ls_random_below (random, 2) == 0)
    x.layers = 2 * x.pipeline;
  if (x.layers % (2 * x.pipeline) != 0)
    x.schedule = "1f1b";
  else if (x.schedule != NULL)
    x.microbatches = 2 * x.pipeline;
  return x;
}

/* What check counts is what the run's ledger claims at its fullest. Beside the passes more, up to a third, where gathers or
 * reductions are so short that the buffers which are added up never meet: it knows no clock. Never less. */
static void counts_what_is_claimed (const Layout *x) {
  g_autofree char *yaml = yaml_of (x, data_of (x));
  g_autoptr (LsSummary) summary = run_with (x, as_it_is);
  double ratio = (double) fullest_of (x).allocated_bytes / (double) summary->memory.peak_bytes;
  double most = x->zero >= 2 && x->overlap ? 1.35 : 1 + SLACK;

  ck_assert_msg (ratio >= 1 - SLACK && ratio <= most, "counted / claimed = %.4f\n%s", ratio, yaml);
}

START_TEST (counted_memory) {
  EACH (draw) {
    Layout x = draw_claims (&random);
    counts_what_is_claimed (&x);
  }
}
END_TEST

/* Embeddings that outweigh all else, where what is gathered or reduced over the end of a pass is most of what there is:
 * gradients on their way to the host, of single layers too; layers gathered ahead for other passes than the next of the
 * same micro-batch. */
START_TEST (counted_memory_at_ends_of_passes) {
  static const struct {
    int zero;
    const char *offload, *schedule;
    guint pipeline;
  } cases[] = {
      {2, "optimizer", NULL, 1}, {2, "optimizer", "zb-h2", 2}, {2, "optimizer", "zb-v", 2},
      {3, "optimizer", NULL, 1}, {3, "none", "1f1b", 2},       {3, "none", "zb-h2", 2},
      {3, "none", "zb-v", 2},    {3, "none", "dualpipev", 2},  {3, "optimizer", "gpipe", 4},
  };
  const Layout x = {.node = "dgx-h100",
                    .nodes = 1,
                    .gpus = 8,
                    .layers = 8,
                    .hidden = 512,
                    .heads = 8,
                    .seq = 128,
                    .micro = 1,
                    .microbatches = 8,
                    .tensor = 1,
                    .pipeline = cases[_i].pipeline,
                    .zero = cases[_i].zero,
                    .overlap = TRUE,
                    .recompute = "none",
                    .precision = "bf16",
                    .steps = 2,
                    .schedule = cases[_i].schedule,
                    .offload = cases[_i].offload,
                    .vocab = 131072};

  counts_what_is_claimed (&x);
}
END_TEST

/* 20: a higher ZeRO stage never needs more for states; more replicas neither. */
START_TEST (zero_states) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random);
    gint64 before = G_MAXINT64;
    for (x.zero = 0; x.zero <= 3; x.zero++) {
      g_autoptr (LsScenario) scenario = scenario_of (&x, data_of (&x));
      LsStaticMemory states = ls_memory_static (scenario->workload, 1000000);
      gint64 sum = states.parameters_bytes + states.gradients_bytes + states.optimizer_bytes;
      ck_assert_int_le (sum, before);
      before = sum;
    }
  }
}
END_TEST

/* 21: names of ranks mean nothing: the same GPUs in another order, on nodes that are alike. The order of tensor
 * ranks on a switch, of replicas over nodes. Exact where folding makes the same classes; here to SLACK. */
START_TEST (renamed_ranks) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    x.nodes = y.nodes = 2;
    x.placement = "{gpus: [\"main[0]/gpu0-3\", \"main[1]/gpu0-3\"]}\n";
    y.placement = ls_random_below (&random, 2) == 0
                      ? "{gpus: [\"main[1]/gpu0-3\", \"main[0]/gpu0-3\"]}\n"
                      : "{gpus: [\"main[0]/gpu3,2,1,0\", \"main[1]/gpu3,2,1,0\"]}\n";
    same (step_of (&x), step_of (&y), &y, "renamed ranks");
  }
}
END_TEST

/* 22: GPUs that nobody uses change nothing. */
START_TEST (idle_nodes) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    x.placement = y.placement = x.nodes == 2 ? "\"main[0-1]\"\n" : "\"main[0]\"\n";
    y.nodes += 2;
    g_autoptr (LsScenario) a = scenario_of (&x, data_of (&x));
    g_autoptr (LsScenario) b = scenario_of (&y, data_of (&x));
    g_autoptr (LsSummary) p = summary_of (a, as_it_is);
    g_autoptr (LsSummary) q = summary_of (b, as_it_is);
    ck_assert (p->step_time_s == q->step_time_s);
    ck_assert_uint_eq (q->gpus_idle, 8);
  }
}
END_TEST

/* 23: twice the replicas for the same batch never more than halve a step: compute halves, the rest does not. */
START_TEST (no_superlinear_replicas) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x;
    x.tensor = y.tensor = 1;
    x.zero = y.zero = 0;
    x.nodes = 1;
    y.nodes = 2;
    x.microbatches = 2 * y.microbatches;
    not_faster (step_of (&x) / 2, step_of (&y), &y, "replicas");
  }
}
END_TEST

/* 24: twice the replicas, each with its own batch, never make a step shorter. */
START_TEST (weak_scaling) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x;
    x.tensor = y.tensor = 1;
    x.zero = y.zero = 0;
    x.nodes = 1;
    y.nodes = 2;
    not_faster (step_of (&x), step_of (&y), &y, "weak scaling");
  }
}
END_TEST

/* 25: folding changes cost, never the answer: equal to the bit. */
START_TEST (folding) {
  EACH (draw) {
    Layout x = draw (&random);
    g_autoptr (LsScenario) scenario = scenario_of (&x, data_of (&x));
    g_autoptr (LsJob) job = ls_job_build (scenario->workload, scenario->cluster, NULL);
    g_autoptr (LsSimulation) whole =
        ls_simulation_new (scenario->cluster, scenario->workload, job, 0);
    g_autoptr (LsSummary) folded = summary_of (scenario, as_it_is);
    ck_assert (ls_simulation_run (whole, NULL, NULL));
    g_autoptr (LsSummary) summary = ls_summary_new (whole);
    ck_assert (summary->step_time_s == folded->step_time_s);
  }
}
END_TEST

/* 26: a rank that is slower never makes a step shorter, and at most as long as if all were. Without contention. */
START_TEST (stragglers) {
  EACH (draw_alone) {
    Layout x = draw_alone (&random);
    g_autoptr (LsScenario) scenario = scenario_of (&x, data_of (&x));
    g_autoptr (LsJob) job = ls_job_build (scenario->workload, scenario->cluster, NULL);
    double steps[3];
    for (guint k = 0; k < 3; k++) { /* none, one, all */
      g_autofree gint64 *factors = g_new (gint64, job->n_ranks);
      for (guint rank = 0; rank < job->n_ranks; rank++)
        factors[rank] =
            k == 2 || (k == 1 && rank == job->n_ranks / 2) ? LS_USAGE_ONE * 3 / 2 : LS_USAGE_ONE;
      const LsSimulationJob one = {.workload = scenario->workload, .job = job};
      const LsSimulationOptions how = {.fold = TRUE, .factor_of_rank = factors};
      g_autoptr (LsSimulation) run = ls_simulation_new_with (scenario->cluster, &one, 1, 0, &how);
      ck_assert (ls_simulation_run (run, NULL, NULL));
      g_autoptr (LsSummary) summary = ls_summary_new (run);
      steps[k] = summary->step_time_s;
    }
    not_faster (steps[0], steps[1], &x, "one straggler");
    not_faster (steps[1], steps[2], &x, "all as slow");
    not_faster (steps[2], steps[0] * 1.5, &x, "no more than its factor");
  }
}
END_TEST

/* 27: what a step takes does not depend on how many follow it, and the second is as the third. */
START_TEST (steps_are_alike) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    x.steps = 3;
    y.steps = 4;
    g_autoptr (LsSummary) a = run_with (&x, as_it_is);
    g_autoptr (LsSummary) b = run_with (&y, as_it_is);
    /* Three and four steps: the sum grows by a step like the ones before. */
    double fourth = 4 * b->step_time_s - 3 * a->step_time_s;
    same (fourth, b->step_time_p50_s, &y, "steps are alike");
  }
}
END_TEST

/* 28: a slice of a GPU is never faster than the GPU. */
START_TEST (slices) {
  static const char *const profiles[] = {"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"};
  EACH (draw_alone) {
    Layout x = draw_alone (&random), y = x;
    g_autofree char *mig = g_strdup_printf (", mig: \"1*%s\"", PICK (&random, profiles));
    x.node = y.node = "dgx-h100";
    x.tensor = y.tensor = 1;
    x.nodes = y.nodes = 1;
    y.extra = mig;
    not_faster (step_of (&x), step_of (&y), &y, "slices");
  }
}
END_TEST

/* 29: utilisation is a share, and parts sum to the step. */
START_TEST (shares) {
  EACH (draw) {
    Layout x = draw (&random);
    g_autoptr (LsSummary) summary = run_with (&x, as_it_is);
    double sum = 0;
    for (guint part = 0; part < LS_N_PARTS; part++)
      sum += summary->parts_s[part];
    ck_assert (summary->mfu > 0 && summary->mfu < 1 && summary->hfu >= summary->mfu * (1 - SLACK));
    ck_assert (fabs (sum / summary->step_time_s - 1) < 1e-9);
  }
}
END_TEST

/* 30: bf16 and fp16 are equally fast where both are native at one rate. */
START_TEST (sixteen_bits) {
  EACH (draw) {
    Layout x = draw (&random), y = x;
    x.node = y.node = "dgx-a100";
    x.precision =
        "{compute: bf16, gradients: fp32, master: fp32, optimizer: fp32, communication: fp32}";
    y.precision =
        "{compute: fp16, gradients: fp32, master: fp32, optimizer: fp32, communication: fp32}";
    g_autoptr (LsScenario) a = scenario_of (&x, data_of (&x));
    g_autoptr (LsScenario) b = scenario_of (&y, data_of (&y));
    double p = a->workload->precision.compute == LS_FORMAT_BF16 ? 1 : 0;
    ck_assert (p == 1 && b->workload->precision.compute == LS_FORMAT_FP16);
    g_autoptr (LsSummary) s = summary_of (a, as_it_is);
    g_autoptr (LsSummary) t = summary_of (b, as_it_is);
    /* Loss scaling adds its flag and its skipped steps, never to what computes. */
    not_faster (s->step_time_s, t->step_time_s, &y, "sixteen bits");
    same (s->parts_s[LS_PART_COMPUTE], t->parts_s[LS_PART_COMPUTE], &y, "sixteen bits");
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 3600);
  tcase_add_test (tcase, everything_faster);
  tcase_add_loop_test (tcase, one_thing_faster, 0, LS_N_KNOBS);
  tcase_add_test (tcase, the_driver_is_faster_too);
  tcase_add_test (tcase, no_more_than_the_factor);
  tcase_add_test (tcase, more_layers);
  tcase_add_test (tcase, wider_layers);
  tcase_add_test (tcase, longer_sequences);
  tcase_add_test (tcase, more_microbatches);
  tcase_add_test (tcase, larger_microbatch);
  tcase_add_test (tcase, recomputing);
  tcase_add_test (tcase, less_memory);
  tcase_add_test (tcase, counted_memory);
  tcase_add_loop_test (tcase, counted_memory_at_ends_of_passes, 0, 9);
  tcase_add_test (tcase, zero_states);
  tcase_add_test (tcase, renamed_ranks);
  tcase_add_test (tcase, idle_nodes);
  tcase_add_test (tcase, no_superlinear_replicas);
  tcase_add_test (tcase, weak_scaling);
  tcase_add_test (tcase, folding);
  tcase_add_test (tcase, stragglers);
  tcase_add_test (tcase, steps_are_alike);
  tcase_add_test (tcase, slices);
  tcase_add_test (tcase, shares);
  tcase_add_test (tcase, sixteen_bits);
}

LS_TEST_MAIN ("laws", add)
