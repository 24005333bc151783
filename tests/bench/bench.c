/* lockstep-bench: how fast the simulator is, section by section; see bench.h.
 *
 *   lockstep-bench [--section NAME]... [--repeats N] [--list] */
#include "bench.h"

#include <sys/resource.h>
#include <time.h>

#include "base/memory.h"

static const BenchSection *const sections[] = {
    &bench_queue, &bench_step,     &bench_fsdp,    &bench_gpt3,     &bench_memory,
    &bench_trace, &bench_campaign, &bench_churn,   &bench_messages, &bench_ring,
    &bench_learn, &bench_topology, &bench_updates, &bench_fold};

double bench_cpu_s (void) {
  struct timespec now;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

double bench_wall_s (void) {
  return (double) g_get_monotonic_time () * 1e-6;
}

gint64 bench_peak_bytes (void) {
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss * (gint64) 1024;
}

static gint compare_doubles (gconstpointer a, gconstpointer b) {
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

double bench_median (double *values, guint n) {
  g_qsort_with_data (values, (gint) n, sizeof *values,
                     (GCompareDataFunc) (gpointer) compare_doubles, NULL);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void bench_line (const char *name, double value, const char *unit) {
  g_print ("  %-52s %12.4g %s\n", name, value, unit);
}

void bench_ratio (const char *name, double value, double wanted, gboolean low) {
  gboolean good = low ? value >= wanted : value <= wanted;
  g_print ("  %-52s %12.4g (%s %.4g: %s)\n", name, value, low ? "at least" : "at most", wanted,
           good ? "yes" : "NO");
}

int main (int argc, char **argv) {
  g_auto (GStrv) wanted = NULL;
  gint repeats = 5;
  gboolean list = FALSE;
  const GOptionEntry entries[] = {
      {"section", 's', 0, G_OPTION_ARG_STRING_ARRAY, &wanted, "only this section", "NAME"},
      {"repeats", 'r', 0, G_OPTION_ARG_INT, &repeats, "measurements per figure (5)", "N"},
      {"list", 'l', 0, G_OPTION_ARG_NONE, &list, "name the sections", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  ls_memory_prepare (); /* as the program does */
  g_autoptr (GOptionContext) context = g_option_context_new ("- measure the simulator");
  g_autoptr (GError) error = NULL;
  gboolean found = FALSE;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || repeats < 1) {
    g_printerr ("lockstep-bench: %s\n", error ? error->message : "--repeats is at least 1");
    return 2;
  }
  if (argc > 1) {
    g_printerr ("lockstep-bench: '%s'? a section is named by --section\n", argv[1]);
    return 2;
  }
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++) {
    if (list)
      g_print ("%-10s %s\n", sections[i]->name, sections[i]->summary);
    if (list || (wanted && !g_strv_contains ((const char *const *) wanted, sections[i]->name)))
      continue;
    found = TRUE;
    g_print ("%s: %s\n", sections[i]->name, sections[i]->summary);
    sections[i]->run ((guint) repeats);
  }
  if (!found && !list)
    g_printerr ("lockstep-bench: no such section; --list names them\n");
  return found || list ? 0 : 2;
}
