/* Comparing runs, see slowdown.h. */
#include "train/run/slowdown.h"

#include "base/time.h"

/* Picoseconds of kernels on the main stream of a place. */
static double own_ps (LsSimulation *simulation, guint place) {
  gint64 parts_ps[LS_MAX_PARTS];

  ls_engine_account (ls_simulation_engine (simulation), place, parts_ps);
  return (double) parts_ps[LS_PART_COMPUTE] + (double) parts_ps[LS_PART_MEMORY_BOUND] +
         (double) parts_ps[LS_PART_OPTIMIZER];
}

/* Keeps the list short and in order. */
static void insert (LsSlowdown *out, LsSlowRank row) {
  guint i = out->n_ranks;

  while (i > 0 && out->ranks[i - 1].caused_wait_s < row.caused_wait_s) {
    if (i < LS_SLOWDOWN_RANKS)
      out->ranks[i] = out->ranks[i - 1];
    i--;
  }
  if (i >= LS_SLOWDOWN_RANKS)
    return;
  out->ranks[i] = row;
  out->n_ranks = MIN (out->n_ranks + 1, LS_SLOWDOWN_RANKS);
}

static void add_ranks (LsSlowdown *out, LsSimulation *with, LsSimulation *without,
                       const LsJobRun *run, guint steps) {
  const LsFold *fold = ls_simulation_fold (with);
  LsInt128 all_ps = 0;

  for (guint i = 0; i < run->n_places; i++) {
    guint place = run->first_place + i, rank = ls_simulation_rank (with, place);
    gint64 caused_ps = ls_engine_caused_wait_ps (ls_simulation_engine (with), place);
    all_ps += ls_engine_all_caused_wait_ps (ls_simulation_engine (with), place);
    double before = own_ps (without, ls_simulation_place (without, rank));
    LsSlowRank row = {.rank = rank,
                      .alike = fold != NULL ? ls_fold_size (fold, place) : 1,
                      .caused_wait_s = ls_time_s_from_ps (caused_ps) / steps,
                      .slowdown = before > 0 ? own_ps (with, place) / before : 0};
    if (caused_ps > 0)
      insert (out, row);
  }
  out->caused_wait_s = (double) all_ps / (double) LS_PS_PER_S / steps;
  for (guint i = 0; i < out->n_ranks; i++)
    out->ranks[i].caused_share = out->ranks[i].caused_wait_s / out->caused_wait_s;
}

static gint compare_ratios (gconstpointer a, gconstpointer b) {
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

LsSlowdown ls_slowdown (LsSimulation *with, LsSimulation *without, guint job) {
  const LsJobRun *run = ls_simulation_job (with, job), *base = ls_simulation_job (without, job);
  guint n = MIN (run->step_ps->len, base->step_ps->len);
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (double));
  LsSlowdown out = {.known = n > 0};
  LsInt128 slow_ps = 0, fast_ps = 0;

  for (guint step = 0; step < n; step++) {
    gint64 slow = g_array_index (run->step_ps, gint64, step);
    gint64 fast = g_array_index (base->step_ps, gint64, step);
    double ratio = fast > 0 ? (double) slow / (double) fast : 1;
    slow_ps += slow;
    fast_ps += fast;
    g_array_append_val (ratios, ratio);
  }
  if (n == 0 || fast_ps == 0)
    return (LsSlowdown){0};
  g_array_sort (ratios, compare_ratios);
  out.slowdown = (double) slow_ps / (double) fast_ps;
  out.slowdown_p50 = g_array_index (ratios, double, (n - 1) / 2);
  out.slowdown_max = g_array_index (ratios, double, n - 1);
  out.without_s = (double) fast_ps / (double) LS_PS_PER_S / n;
  add_ranks (&out, with, without, run, run->step_ps->len);
  return out;
}
