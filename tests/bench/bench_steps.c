/* Whole training steps, every rank simulated, no trace: operations per CPU second; GPT-3 on 1,024 GPUs; memory
 * of programs and ranks. */
#include "bench.h"
#include "bench_scene.h"

static double operations_per_s (BenchScene *scene) {
  double cpu_s = bench_scene_run (scene);
  return (double) ls_engine_n_operations (ls_simulation_engine (scene->simulation)) / cpu_s;
}

/* Median rate of a scene that `make` builds anew each time. */
static double median_rate (void (*make) (BenchScene *, guint), guint ranks, guint repeats) {
  g_autofree double *rates = g_new (double, repeats);

  for (guint i = 0; i < repeats; i++) {
    BenchScene scene;
    make (&scene, ranks);
    rates[i] = operations_per_s (&scene);
    bench_scene_clear (&scene);
  }
  return bench_median (rates, repeats);
}

static void make_step (BenchScene *scene, guint ranks) {
  bench_scene_gpt (scene, "gpt3-175b", 8, ranks / 64, 8, ranks > 64 ? 24 : 96, TRUE);
}

static void run_step (guint repeats) {
  static const guint ranks[] = {64, 1024};

  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++) {
    g_autofree char *name =
        g_strdup_printf ("tensor 8 x pipeline 8 x data %u: %u ranks", ranks[i] / 64, ranks[i]);
    bench_ratio (name, median_rate (make_step, ranks[i], repeats) / 1e6, 6, TRUE);
  }
  g_print ("  (M operations per CPU second)\n");
}

const BenchSection bench_step = {
    "step", "operations of a training step per CPU second, every rank, no trace", run_step};

static void make_fsdp (BenchScene *scene, guint ranks) {
  bench_scene_fsdp (scene, ranks, TRUE);
}

static void run_fsdp (guint repeats) {
  double small = median_rate (make_fsdp, 64, repeats);
  double large = median_rate (make_fsdp, 1024, repeats);

  bench_ratio ("64 ranks, M operations per CPU second", small / 1e6, 3, TRUE);
  bench_line ("1,024 ranks", large / 1e6, "M operations per CPU second");
  bench_ratio ("cost per operation, 1,024 ranks / 64 ranks", small / large, 2, FALSE);
}

const BenchSection bench_fsdp = {
    "fsdp", "ZeRO-3 with gathers beside kernels, every rank's kernels jittered, no symmetry",
    run_fsdp};

static void run_gpt3 (guint repeats) {
  BenchScene scene;
  double start_s = bench_cpu_s ();

  (void) repeats;
  bench_scene_gpt (&scene, "gpt3-175b", 8, 16, 8, 96, TRUE);
  double built_s = bench_cpu_s () - start_s;
  double run_s = bench_scene_run (&scene);
  LsEngine *engine = ls_simulation_engine (scene.simulation);
  bench_line ("operations", (double) ls_engine_n_operations (engine) / 1e6, "M");
  bench_line ("events", (double) ls_engine_n_events (engine) / 1e6, "M");
  bench_line ("building programs and engine", built_s, "CPU s");
  bench_ratio ("one step, CPU s", built_s + run_s, 8, FALSE);
  bench_ratio ("peak memory of the process, MB", (double) bench_peak_bytes () / 1e6, 500, FALSE);
  bench_scene_clear (&scene);
}

const BenchSection bench_gpt3 = {
    "gpt3", "GPT-3 175B on 1,024 A100, batch 1536, full recompute, one step, every rank", run_gpt3};

static void run_memory (guint repeats) {
  static const gint64 microbatches[] = {8, 96};

  (void) repeats;
  for (guint i = 0; i < G_N_ELEMENTS (microbatches); i++) {
    BenchScene scene;
    gsize programs = 0;
    bench_scene_gpt (&scene, "gpt3-175b", 8, 1, 8, microbatches[i], TRUE);
    for (guint kind = 0; kind < scene.job->n_kinds; kind++)
      programs = MAX (programs, ls_program_size_bytes (scene.job->kinds[kind].program));
    g_autofree char *largest =
        g_strdup_printf ("largest program, %d micro-batches", (int) microbatches[i]);
    bench_line (largest, (double) programs / 1e3, "kB");
    bench_line ("run-time state per rank",
                (double) ls_engine_rank_size_bytes (ls_simulation_engine (scene.simulation)) / 1e3,
                "kB");
    bench_scene_clear (&scene);
  }
}

const BenchSection bench_memory = {"memory", "memory per rank and per program", run_memory};
