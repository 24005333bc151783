/* The trace: a run recorded at level ops, beside the same run without a trace and beside bare prepared
 * inserts of the rows it wrote (bare_inserts.h). Wall times, since a second thread writes; building the
 * indexes at the end is told apart, in both. */
#include "bare_inserts.h"
#include "bench.h"
#include "bench_scene.h"

#include <glib/gstdio.h>

#include "base/assert.h"
#include "cli/recording.h"

#define RANKS 64

typedef struct {
  double none_s, ops_s, index_s; /* ops without its indexes */
  double rows;
  double bare_rows_per_s, bare_index_s;
} Measure;

static double wall_of_run (BenchScene *scene, const LsRunOptions *options) {
  g_autoptr (GError) error = NULL;
  double start_s = bench_wall_s ();
  gboolean good = ls_simulation_run (scene->simulation, options, &error);

  LS_REQUIRE (good, "%s", error ? error->message : "");
  return bench_wall_s () - start_s;
}

static void record (const char *path, Measure *measure) {
  const LsRecorderOptions options = {.level = LS_TRACE_OPS, .force = TRUE};
  g_autoptr (GError) error = NULL;
  BenchScene scene;

  bench_scene_fsdp (&scene, RANKS, TRUE);
  LsRecording *recording = ls_recording_new (path, scene.simulation, &options, &error);
  LS_REQUIRE (recording != NULL, "%s", error ? error->message : "");
  const LsRunOptions how = {.step = ls_recording_step, .step_self = recording};
  LsRecorder *recorder = ls_recording_recorder (recording);
  measure->ops_s = wall_of_run (&scene, &how);
  double start_s = bench_wall_s ();
  gboolean good = ls_recorder_finish (
      recorder, "complete", ls_engine_now_ps (ls_simulation_engine (scene.simulation)), &error);
  LS_REQUIRE (good, "%s", error ? error->message : "");
  LsRecorderStats stats = ls_recorder_stats (recorder);
  measure->index_s = stats.index_s;
  measure->ops_s += bench_wall_s () - start_s - stats.index_s;
  measure->rows = (double) (stats.events + stats.samples + stats.collectives);
  ls_recording_free (recording);
  bench_scene_clear (&scene);
}

static void measure_once (const char *folder, Measure *measure) {
  g_autofree char *path = g_build_filename (folder, "trace.db", NULL);
  g_autofree char *scratch = g_build_filename (folder, "bare.db", NULL);
  g_autoptr (GError) error = NULL;
  BenchScene scene;

  bench_scene_fsdp (&scene, RANKS, TRUE);
  measure->none_s = wall_of_run (&scene, NULL);
  bench_scene_clear (&scene);
  record (path, measure);
  gboolean good =
      bench_bare_insert_rate (path, scratch, (gint64) measure->rows, &measure->bare_rows_per_s,
                              &measure->bare_index_s, &error);
  LS_REQUIRE (good, "%s", error ? error->message : "");
  g_unlink (path);
}

/* Median of one field over the measurements. */
static double median_of (const Measure *measures, guint n, gsize offset) {
  g_autofree double *values = g_new (double, n);

  for (guint i = 0; i < n; i++)
    values[i] = G_STRUCT_MEMBER (double, &measures[i], offset);
  return bench_median (values, n);
}
#define MEDIAN(field) median_of (measures, repeats, G_STRUCT_OFFSET (Measure, field))

static void run (guint repeats) {
  g_autofree Measure *measures = g_new0 (Measure, repeats);
  g_autofree char *folder = g_dir_make_tmp ("lockstep-bench-XXXXXX", NULL);

  LS_REQUIRE (folder != NULL, "no folder for temporary files");
  for (guint i = 0; i < repeats; i++)
    measure_once (folder, &measures[i]);
  g_rmdir (folder);
  double rows = measures[0].rows, bare = MEDIAN (bare_rows_per_s), ops_s = MEDIAN (ops_s);
  bench_line ("rows", rows / 1e6, "M");
  bench_line ("bare prepared inserts of event rows", bare / 1e6, "M rows/s");
  bench_line ("recorded beside the simulation", rows / ops_s / 1e6, "M rows/s");
  bench_ratio ("recorded / bare", rows / ops_s / bare, 0.8, TRUE);
  bench_line ("wall time without a trace", MEDIAN (none_s), "s");
  bench_line ("wall time at level ops, without indexes", ops_s, "s");
  bench_ratio ("level ops / larger of none and rows / bare",
               ops_s / MAX (MEDIAN (none_s), rows / bare), 1.2, FALSE);
  bench_line ("building the indexes", MEDIAN (index_s), "s");
  bench_line ("bare building of the same indexes", MEDIAN (bare_index_s), "s");
}

const BenchSection bench_trace = {"trace", "trace rows per second beside bare SQLite inserts", run};
