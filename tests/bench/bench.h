/* Sections of the benchmark program lockstep-bench: a name, what it measures against what, a function.
 *
 * Every figure that matters is a ratio of two things measured in the same run, so that it holds on
 * any machine. Times are CPU seconds of the whole process unless a line says wall. */
#pragma once

#include <glib.h>

typedef struct {
  const char *name;
  const char *summary;
  void (*run) (guint repeats);
} BenchSection;

extern const BenchSection bench_learn, bench_queue, bench_step, bench_fsdp, bench_gpt3,
    bench_memory, bench_trace, bench_campaign, bench_churn, bench_messages, bench_ring,
    bench_updates, bench_fold;
extern const BenchSection bench_topology;

double bench_cpu_s (void);
double bench_wall_s (void);
/* Most memory the process has held, in bytes. */
gint64 bench_peak_bytes (void);
/* Median of n measurements; sorts them. */
double bench_median (double *values, guint n);
/* "NAME  VALUE UNIT", aligned. */
void bench_line (const char *name, double value, const char *unit);
/* The same for a ratio with what it should be; `low`: it should be at least that, else at most. */
void bench_ratio (const char *name, double value, double wanted, gboolean low);
