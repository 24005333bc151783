/* The event queue: hold operations (take the next event, schedule another) with 10,000 pending, through
 * the engine's timers, beside a bare 4-ary heap of (time, sequence) that does nothing else. */
#include "bench.h"

#include "engine/engine.h"

#define PENDING 10000
#define HOLDS 2000000

/* xorshift64*: the same draws for both. */
static guint64 draw (guint64 *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * G_GUINT64_CONSTANT (2685821657736338717);
}

typedef struct {
  gint64 time;
  guint64 sequence;
} Entry;

static gboolean before (const Entry *a, const Entry *b) {
  return a->time < b->time || (a->time == b->time && a->sequence < b->sequence);
}

/* Replaces the root and restores the order: a bare hold. */
static void replace_root (Entry *heap, guint n, Entry entry) {
  guint i = 0;
  for (;;) {
    guint first = 4 * i + 1, best = first;
    if (first >= n)
      break;
    for (guint c = first + 1; c < MIN (first + 4, n); c++)
      if (before (&heap[c], &heap[best]))
        best = c;
    if (!before (&heap[best], &entry))
      break;
    heap[i] = heap[best];
    i = best;
  }
  heap[i] = entry;
}

static gint compare_entries (gconstpointer a, gconstpointer b, gpointer none) {
  (void) none;
  return before (a, b) ? -1 : 1;
}

static double bare_holds_per_s (void) {
  g_autofree Entry *heap = g_new (Entry, PENDING);
  guint64 state = 88172645463325252u, sequence = 0;

  for (guint i = 0; i < PENDING; i++)
    heap[i] = (Entry){(gint64) (draw (&state) % 1000000), sequence++};
  g_qsort_with_data (heap, PENDING, sizeof *heap, compare_entries, NULL);
  double start_s = bench_cpu_s ();
  for (guint i = 0; i < HOLDS; i++) {
    gint64 next = heap[0].time + 1 + (gint64) (draw (&state) % 1000000);
    replace_root (heap, PENDING, (Entry){next, sequence++});
  }
  return HOLDS / (bench_cpu_s () - start_s);
}

typedef struct {
  guint64 state;
  guint left;
} Hold;

static void hold (gpointer self, LsEngine *engine) {
  Hold *h = self;
  if (h->left == 0)
    return;
  h->left--;
  ls_engine_schedule (engine, ls_engine_now_ps (engine) + 1 + (gint64) (draw (&h->state) % 1000000),
                      1, hold, h);
}

static double engine_holds_per_s (void) {
  g_autoptr (LsEngine) engine = ls_engine_new ();
  Hold h = {88172645463325252u, HOLDS};

  for (guint i = 0; i < PENDING; i++)
    ls_engine_schedule (engine, (gint64) (draw (&h.state) % 1000000), 1, hold, &h);
  double start_s = bench_cpu_s ();
  ls_engine_run (engine, G_MAXINT64, NULL, NULL);
  return HOLDS / (bench_cpu_s () - start_s);
}

static void run (guint repeats) {
  g_autofree double *bare = g_new (double, repeats);
  g_autofree double *ours = g_new (double, repeats);

  for (guint i = 0; i < repeats; i++) {
    bare[i] = bare_holds_per_s ();
    ours[i] = engine_holds_per_s ();
  }
  double bare_rate = bench_median (bare, repeats), our_rate = bench_median (ours, repeats);
  bench_line ("bare 4-ary heap", bare_rate / 1e6, "M holds/s");
  bench_line ("engine, schedule and dispatch", our_rate / 1e6, "M holds/s");
  bench_ratio ("engine / bare", our_rate / bare_rate, 0.8, TRUE);
}

const BenchSection bench_queue = {
    "queue", "events scheduled and dispatched with 10,000 pending, beside a bare heap", run};
