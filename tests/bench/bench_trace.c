/* The trace: rows through the recorder beside bare prepared inserts of the same table. */
#include "bench.h"
#include "bench_scene.h"

static void run (guint repeats) {
  (void) repeats;
}

const BenchSection bench_trace = {"trace", "trace rows per second beside bare SQLite inserts", run};
