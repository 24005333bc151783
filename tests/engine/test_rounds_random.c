/* Random small systems of collectives as messages, phases, copies and kernels, with links that change,
 * stop and come back.
 *
 * Each is run three times: as drawn; with ranks, resources and groups added in another order; and with
 * an observer of rates, under which no message is light, so that every one goes through the solver. The
 * times at which every operation ends must be the same picosecond, and ls_engine_check() must hold
 * at random moments.
 */
#include <string.h>

#include "toy_table.h"

#define MAX_N 8
#define MAX_ENDS 64
#define MAX_CHANGES 6

typedef struct {
  gint64 at_ps;
  guint kind, link; /* 0: check, 1: capacity of a link */
  double per_s;
} Change;

/* What is drawn; numbers of ranks and links are logical. Links: up of i is i, down MAX_N + i, trunk 2 MAX_N. */
typedef struct {
  guint n;
  double per_s[2 * MAX_N + 1];
  guint n_collectives[2]; /* of group 0 on the main streams, of group 1 on the second streams */
  guint8 fluid[2][4];     /* the k-th runs by phases */
  gint64 work_ps[MAX_N][4];
  double hbm[MAX_N][4];
  gboolean trunk[MAX_N][MAX_N];
  gint64 latency_ps[2];
  double sm_held;
  guint n_messages[2];
  ToyMessage messages[2][64];
  gint64 phase_bytes, phase_latency_ps, copy_bytes;
  guint n_changes;
  Change changes[MAX_CHANGES];
} Drawn;

typedef struct {
  const Drawn *drawn;
  LsEngine *engine;
  guint rank[MAX_N], device[MAX_N]; /* of logical ranks */
  guint link[2 * MAX_N + 1];
  guint group[2];
  Toy *toy[2];
  LsUsage usages[3 * MAX_N + 1];
  LsPhase phase, copy_phase;
  LsTransfer fluid, copy;
  guint n_ends[MAX_N];
  gint64 ends[MAX_N][MAX_ENDS];
} System;

static void draw_messages (Drawn *drawn, LsRandom *random, guint which) {
  guint rounds = 1 + (guint) ls_random_below (random, 4),
        n = 1 + (guint) ls_random_below (random, 3 * drawn->n);
  n = MIN (n, 64);
  for (guint i = 0; i < n; i++) {
    guint from = (guint) ls_random_below (random, drawn->n);
    guint to = (from + 1 + (guint) ls_random_below (random, drawn->n - 1)) % drawn->n;
    gint64 bytes =
        ls_random_below (random, 6) == 0 ? 0 : 1 + (gint64) ls_random_below (random, 40000);
    drawn->messages[which][i] =
        (ToyMessage){from, to, (guint32) ls_random_below (random, rounds), bytes};
  }
  drawn->n_messages[which] = n;
}

static void draw_changes (Drawn *drawn, LsRandom *random) {
  guint n = 0;
  while (n < MAX_CHANGES - 1 && ls_random_below (random, 4) != 0) {
    Change change = {.at_ps = (gint64) ls_random_below (random, 3000000),
                     .kind = (guint) ls_random_below (random, 2),
                     .link = (guint) ls_random_below (random, 2 * MAX_N + 1)};
    if (change.kind == 1) {
      gboolean stops = ls_random_below (random, 2) == 0;
      change.per_s = stops ? 0 : 1e10 * (double) (1 + ls_random_below (random, 20));
      drawn->changes[n++] = change;
      change.at_ps += 1 + (gint64) ls_random_below (random, 500000);
      change.per_s = drawn->per_s[change.link];
    }
    drawn->changes[n++] = change;
  }
  drawn->n_changes = n;
}

static void draw (Drawn *drawn, guint64 seed) {
  LsRandom random;
  ls_random_init (&random, seed, "test/rounds-random", 0);
  *drawn = (Drawn){.n = 2 + (guint) ls_random_below (&random, MAX_N - 1)};
  for (guint link = 0; link < G_N_ELEMENTS (drawn->per_s); link++)
    drawn->per_s[link] = 1e10 * (double) (1 + ls_random_below (&random, 20));
  for (guint which = 0; which < 2; which++) {
    drawn->n_collectives[which] = 1 + (guint) ls_random_below (&random, 3);
    drawn->latency_ps[which] =
        ls_random_below (&random, 4) == 0 ? 0 : (gint64) ls_random_below (&random, 200000);
    for (guint k = 0; k < 4; k++)
      drawn->fluid[which][k] = ls_random_below (&random, 4) == 0;
    draw_messages (drawn, &random, which);
  }
  for (guint i = 0; i < drawn->n; i++)
    for (guint k = 0; k < 4; k++) {
      drawn->work_ps[i][k] = (gint64) ls_random_below (&random, 400000);
      drawn->hbm[i][k] = ls_random_uniform (&random);
      drawn->trunk[i][k] = drawn->trunk[i][k + 4] = ls_random_below (&random, 3) == 0;
    }
  drawn->sm_held = ls_random_below (&random, 2) == 0 ? 0 : 0.1;
  drawn->phase_bytes = 1 + (gint64) ls_random_below (&random, 50000);
  drawn->phase_latency_ps = (gint64) ls_random_below (&random, 100000);
  drawn->copy_bytes = 1 + (gint64) ls_random_below (&random, 50000);
  draw_changes (drawn, &random);
}

static const LsTransfer *give_collective (gpointer self, guint group, guint descriptor) {
  System *system = self;
  return descriptor == 1 ? &system->fluid : &system->toy[group == system->group[1]]->transfer;
}

static const LsTransfer *give_copy (gpointer self, guint rank, guint descriptor) {
  (void) rank, (void) descriptor;
  return &((System *) self)->copy;
}

static const LsExpander expander = {.collective = give_collective, .copy = give_copy};

static void note_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                       gint64 t_ps) {
  System *system = self;
  (void) counters;
  for (guint i = 0; i < system->drawn->n; i++)
    if (system->rank[i] == rank) {
      /* Ends of one instant on the streams of a rank come in no order that matters. */
      ck_assert_uint_lt (system->n_ends[i], MAX_ENDS);
      system->ends[i][system->n_ends[i]++] = t_ps * 4 + op->kind % 4;
    }
}

static void note_rate (gpointer self, guint resource, gint64 t_ps, gint64 rate) {
  System *system = self;
  (void) t_ps;
  ck_assert_int_le (rate, ls_rate_from_per_s (ls_engine_resource_per_s (system->engine, resource)));
}

static const LsObserver mark_observer = {.mark = note_mark}, rate_observer = {.rate = note_rate};

typedef struct {
  System *system;
  const Change *change;
} Timer;

static void change_now (gpointer self, LsEngine *engine) {
  const Timer *timer = self;
  const Change *change = timer->change;
  if (change->kind == 1)
    ls_engine_set_capacity (engine, timer->system->link[change->link], change->per_s);
}

/* Main stream: a kernel, then a collective, some times. Second: collectives of the other group. Third: a copy. */
static LsProgram *make_program (const Drawn *drawn, guint i) {
  LsProgram *program = ls_program_new ("random");
  guint streams[3] = {ls_program_add_stream (program, "main"),
                      ls_program_add_stream (program, "second"),
                      ls_program_add_stream (program, "copy")};
  for (guint which = 0; which < 2; which++)
    for (guint k = 0; k < drawn->n_collectives[which]; k++) {
      LsOp kernel = bed_kernel (drawn->work_ps[i][k], 1 - drawn->hbm[i][k], drawn->hbm[i][k]);
      LsOp op = bed_op (LS_OP_COLLECTIVE, drawn->fluid[which][k], 0);
      kernel.flags = op.flags = LS_OP_MARK;
      op.slot = (guint16) which;
      op.claim_bytes = op.release_bytes = 100;
      if (which == 0)
        ls_program_add (program, streams[0], &kernel);
      ls_program_add (program, streams[which], &op);
    }
  LsOp copy = bed_op (LS_OP_COPY, 0, 0);
  copy.flags = LS_OP_MARK;
  ls_program_add (program, streams[2], &copy);
  bed_freeze (program);
  return program;
}

static void make_toy (System *system, guint which) {
  const Drawn *drawn = system->drawn;
  Toy *toy = toy_new (drawn->n, drawn->latency_ps[which]);
  for (guint i = 0; i < drawn->n_messages[which]; i++)
    g_array_append_val (toy->messages, drawn->messages[which][i]);
  for (guint i = 0; i < toy->messages->len; i++)
    toy->n_rounds = MAX (toy->n_rounds, drawn->messages[which][i].round + 1);
  for (guint a = 0; a < drawn->n; a++)
    for (guint b = 0; b < drawn->n; b++) {
      if (a == b)
        continue;
      toy_use (toy, a, b, system->link[a], 1);
      toy_use (toy, a, b, system->link[MAX_N + b], 1);
      if (drawn->trunk[a][b])
        toy_use (toy, a, b, system->link[2 * MAX_N], 0.25);
      else if (which == 0) /* the other group's messages go past the memory */
        toy_use (toy, a, b, ls_engine_device_memory (system->engine, system->device[b]), 2);
    }
  toy_finish (toy);
  toy->transfer.sm_held = ls_usage_from_double (drawn->sm_held);
  toy->transfer.beside_compute = which == 0 ? LS_USAGE_ONE : ls_usage_from_double (0.8);
  toy->table.launch_ps = which == 0 ? 0 : 1000;
  system->toy[which] = toy;
}

static void make_transfers (System *system) {
  const Drawn *drawn = system->drawn;
  guint n = 0;
  for (guint i = 0; i < drawn->n; i++)
    system->usages[n++] = (LsUsage){system->link[i], LS_USAGE_ONE};
  system->phase = (LsPhase){.latency_ps = drawn->phase_latency_ps,
                            .work_bytes = drawn->phase_bytes,
                            .n_usages = n,
                            .usages = system->usages};
  system->copy_phase =
      (LsPhase){.work_bytes = drawn->copy_bytes, .n_usages = 1, .usages = &system->usages[n]};
  system->usages[n] = (LsUsage){system->link[2 * MAX_N], LS_USAGE_ONE / 2};
  system->fluid = (LsTransfer){.n_phases = 1,
                               .phases = &system->phase,
                               .beside_compute = LS_USAGE_ONE,
                               .message_bytes = drawn->phase_bytes,
                               .wire_bytes = drawn->phase_bytes};
  system->copy = (LsTransfer){
      .n_phases = 1, .phases = &system->copy_phase, .message_bytes = drawn->copy_bytes};
}

static void build (System *system, const Drawn *drawn, gboolean backwards) {
  guint n = drawn->n, n_links = G_N_ELEMENTS (drawn->per_s);
  *system = (System){.drawn = drawn, .engine = ls_engine_new ()};
  ls_engine_count_holdings (system->engine, 1);
  for (guint k = 0; k < n_links; k++) {
    guint link = backwards ? n_links - 1 - k : k;
    system->link[link] = ls_engine_add_resource (system->engine, "link", drawn->per_s[link]);
  }
  for (guint k = 0; k < n; k++) {
    guint i = backwards ? n - 1 - k : k;
    g_autoptr (LsProgram) program = make_program (drawn, i);
    system->device[i] = ls_engine_add_device (system->engine, "gpu", 1e12);
    system->rank[i] = ls_engine_add_rank (system->engine, program, system->device[i], LS_NO_INDEX);
  }
  for (guint k = 0; k < 2; k++) {
    guint which = backwards ? 1 - k : k;
    system->group[which] = ls_engine_add_group (system->engine, system->rank, n, which);
    for (guint i = 0; i < n; i++)
      ls_engine_set_slot (system->engine, system->rank[i], which, system->group[which]);
    make_toy (system, which);
  }
  make_transfers (system);
  ls_engine_set_expander (system->engine, &expander, system);
  ls_engine_add_observer (system->engine, &mark_observer, system);
}

static void clear (System *system) {
  ls_engine_free (system->engine);
  toy_free (system->toy[0]);
  toy_free (system->toy[1]);
}

static gint compare_ends (gconstpointer a, gconstpointer b, gpointer none) {
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
  (void) none;
  return (x > y) - (x < y);
}

/* Runs it, stopping to check at the drawn moments. */
static void run (System *system, guint64 seed) {
  Timer timers[MAX_CHANGES];
  for (guint i = 0; i < system->drawn->n_changes; i++) {
    timers[i] = (Timer){system, &system->drawn->changes[i]};
    ls_engine_schedule (system->engine, timers[i].change->at_ps, 0, change_now, &timers[i]);
  }
  for (guint i = 0; i < system->drawn->n_changes; i++) {
    g_autoptr (GError) error = NULL;
    gint64 until_ps = system->drawn->changes[i].at_ps;
    if (until_ps < ls_engine_now_ps (system->engine))
      continue;
    gboolean good = ls_engine_run (system->engine, until_ps, NULL, &error);
    ck_assert_msg (good, "seed %" G_GUINT64_FORMAT ": %s", seed, error ? error->message : "");
    ls_engine_check (system->engine);
  }
  g_autoptr (GError) error = NULL;
  gboolean good = ls_engine_run (system->engine, G_MAXINT64, NULL, &error);
  ck_assert_msg (good, "seed %" G_GUINT64_FORMAT ": %s", seed, error ? error->message : "");
  ls_engine_check (system->engine);
  for (guint i = 0; i < system->drawn->n; i++)
    g_qsort_with_data (system->ends[i], (gint) system->n_ends[i], sizeof (gint64), compare_ends,
                       NULL);
}

static void compare (const System *a, const System *b, guint64 seed, const char *what) {
  for (guint i = 0; i < a->drawn->n; i++) {
    ck_assert_msg (a->n_ends[i] == b->n_ends[i], "seed %" G_GUINT64_FORMAT ", %s", seed, what);
    for (guint k = 0; k < a->n_ends[i]; k++)
      ck_assert_msg (a->ends[i][k] == b->ends[i][k],
                     "seed %" G_GUINT64_FORMAT ", %s: rank %u, end %u: %" G_GINT64_FORMAT
                     " and %" G_GINT64_FORMAT " ps",
                     seed, what, i, k, a->ends[i][k] / 4, b->ends[i][k] / 4);
    ck_assert_int_eq (ls_engine_bytes_sent (a->engine, a->rank[i]),
                      ls_engine_bytes_sent (b->engine, b->rank[i]));
    ck_assert_int_eq (ls_engine_memory_peak (a->engine, a->rank[i], NULL),
                      ls_engine_memory_peak (b->engine, b->rank[i], NULL));
  }
}

/* For how long the links held messages down: light ones count as those do that go through the solver. (Of links that hold a
 * message equally, the one that was added first is told.) */
static void compare_holdings (const System *a, const System *b, guint64 seed) {
  for (guint i = 0; i < G_N_ELEMENTS (a->link); i++) {
    const LsHolding x = ls_engine_holding (a->engine, LS_ALL_TAGS, a->link[i]),
                    y = ls_engine_holding (b->engine, LS_ALL_TAGS, b->link[i]);
    ck_assert_msg (x.saturates_ps == y.saturates_ps && x.contends_ps == y.contends_ps,
                   "seed %" G_GUINT64_FORMAT ": link %u holds for %" G_GINT64_FORMAT
                   " and %" G_GINT64_FORMAT " ps, contends for %" G_GINT64_FORMAT
                   " and %" G_GINT64_FORMAT,
                   seed, i, x.saturates_ps, y.saturates_ps, x.contends_ps, y.contends_ps);
  }
}

START_TEST (same_times_whatever_the_order_and_whoever_looks) {
  static System drawn_way, backwards, watched;
  static Drawn drawn;
  const guint n = bed_scaled (10000), from = n / 10 * (guint) _i, to = n / 10 * (guint) (_i + 1);
  for (guint64 seed = from; seed < to; seed++) {
    draw (&drawn, seed);
    build (&drawn_way, &drawn, FALSE);
    build (&backwards, &drawn, TRUE);
    build (&watched, &drawn, FALSE);
    ls_engine_add_observer (watched.engine, &rate_observer, &watched);
    run (&drawn_way, seed);
    run (&backwards, seed);
    run (&watched, seed);
    compare (&drawn_way, &backwards, seed, "added backwards");
    compare (&drawn_way, &watched, seed, "with rates observed");
    compare_holdings (&drawn_way, &watched, seed);
    ck_assert_uint_eq (ls_engine_n_events (drawn_way.engine), ls_engine_n_events (watched.engine));
    clear (&drawn_way);
    clear (&backwards);
    clear (&watched);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("engine/rounds_random");
  TCase *tcase = tcase_create ("rounds_random");
  tcase_add_loop_test (tcase, same_times_whatever_the_order_and_whoever_looks, 0, 10);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
