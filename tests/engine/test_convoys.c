/* Convoys (sim/engine/convoy.c) against the engine that runs one event at a time: random programs of kernels and
 * collectives, with copies that come in between, stops in the middle, and changes from outside. Durations are small
 * multiples of one step, so that very many things happen at the same instant. All that can be read is compared, to the
 * bit. */
#include "bed.h"

#define STEP G_GINT64_CONSTANT (1000)

typedef struct {
  LsRandom random;
  Bed *bed;
  GArray *seen; /* gint64: whatever was read, in order */
} Watch;

static gint64 steps (LsRandom *random, guint most) {
  return (gint64) (1 + ls_random_below (random, most)) * STEP;
}

static LsMark add_kernel (LsProgram *program, LsRandom *random, gint64 claim, gint64 release) {
  LsOp kernel = bed_kernel (steps (random, 4), 1, ls_random_below (random, 2) ? 0.5 : 0.9);
  kernel.part = (guint8) (4 + ls_random_below (random, 3));
  kernel.flops = 7;
  kernel.claim_bytes = claim;
  kernel.release_bytes = release;
  kernel.claim_kind = (guint8) ls_random_below (random, 2);
  kernel.release_kind = kernel.claim_kind;
  return ls_program_add (program, 0, &kernel);
}

/* A layer: kernels, a collective beside them for which the next kernels wait (mostly), as tensor parallelism has it. */
static LsMark add_layer (LsProgram *program, LsRandom *random, guint stream) {
  gint64 bytes = (gint64) ls_random_below (random, 3) * 100;
  LsMark last = add_kernel (program, random, bytes, 0);
  for (guint64 k = ls_random_below (random, 3); k > 0; k--)
    last = add_kernel (program, random, 50, 50);
  for (guint64 n = 1 + ls_random_below (random, 2); n > 0; n--) {
    LsOp op = bed_op (LS_OP_COLLECTIVE, (guint16) ls_random_below (random, 3), 0);
    op.part = (guint8) (7 + ls_random_below (random, 2));
    LsMark met = ls_program_add (program, stream, &op);
    if (stream != 0)
      ls_program_wait_same (program, met, last);
    last = add_kernel (program, random, 0, 0);
    if (stream != 0 && ls_random_below (random, 8) > 0)
      ls_program_wait_same (program, last, met);
  }
  if (bytes > 0 && ls_random_below (random, 4) > 0) {
    LsOp freed = bed_kernel (STEP, 0.5, 0);
    freed.part = 4;
    ls_program_add (program, 0, &freed);
  }
  return last;
}

static LsProgram *new_program (LsRandom *random) {
  LsProgram *program = ls_program_new ("random");
  ls_program_add_stream (program, "compute");
  ls_program_add_stream (program, "tensor");
  guint copies = ls_program_add_stream (program, "copies");
  guint stream = ls_random_below (random, 4) > 0 ? 1 : 0;
  gint64 rounds = 1 + (gint64) ls_random_below (random, 6),
         layers = 1 + (gint64) ls_random_below (random, 9);
  for (guint s = 0; s < 3; s++)
    ls_program_repeat (program, s, rounds);
  ls_program_repeat (program, 0, layers);
  if (stream == 1)
    ls_program_repeat (program, 1, layers);
  LsMark last = add_layer (program, random, stream);
  if (ls_random_below (random, 2))
    last = add_layer (program, random, stream);
  ls_program_end_repeat (program, 0);
  if (stream == 1)
    ls_program_end_repeat (program, 1);
  LsOp copy = bed_op (LS_OP_COPY, 4, 0);
  copy.claim_bytes = copy.release_bytes = 30;
  LsMark copied = ls_program_add (program, copies, &copy);
  if (ls_random_below (random, 3) > 0)
    ls_program_wait_same (program, copied, last);
  LsOp tail = bed_kernel (steps (random, 3), 1, 0.5);
  tail.flags = ls_random_below (random, 2) ? LS_OP_MARK : 0;
  LsMark end = ls_program_add (program, 0, &tail);
  if (ls_random_below (random, 3) == 0)
    ls_program_wait_same (program, end, copied);
  for (guint s = 0; s < 3; s++)
    ls_program_end_repeat (program, s);
  bed_freeze (program);
  return program;
}

static void see (Watch *watch, gint64 value) {
  g_array_append_val (watch->seen, value);
}

static void look (Watch *watch) {
  LsEngine *e = watch->bed->engine;
  see (watch, ls_engine_now_ps (e));
  for (guint rank = 0; rank < watch->bed->n_ranks; rank++) {
    gint64 parts[LS_MAX_PARTS], kinds[LS_MEMORY_KINDS];
    ls_engine_account (e, rank, parts);
    for (guint p = 0; p < LS_MAX_PARTS; p++)
      see (watch, parts[p]);
    see (watch, ls_engine_memory_peak (e, rank, kinds));
    for (guint k = 0; k < LS_MEMORY_KINDS; k++)
      see (watch, kinds[k]);
    see (watch, ls_engine_memory_now (e, rank, 0));
    see (watch, ls_engine_bytes_sent (e, rank));
    see (watch, (gint64) ls_engine_flops (e, rank));
    see (watch, ls_engine_caused_wait_ps (e, rank));
    see (watch, (gint64) ls_engine_rank_operations (e, rank));
  }
  for (guint r = 0; r < ls_engine_n_resources (e); r++) {
    LsHolding holding = ls_engine_holding (e, LS_ALL_TAGS, r);
    see (watch, holding.saturates_ps);
    see (watch, holding.contends_ps);
    see (watch, (gint64) ls_engine_resource_carried (e, r));
  }
}

static void note_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                       gint64 t_ps) {
  (void) op;
  see (self, (gint64) rank);
  see (self, counters[0]);
  see (self, t_ps);
  look (self);
}

/* Slower links and devices, and back; or only a look. */
static void interfere (gpointer self, LsEngine *e) {
  Watch *watch = self;
  guint rank = (guint) ls_random_below (&watch->random, watch->bed->n_ranks);
  look (watch);
  switch (ls_random_below (&watch->random, 4)) {
  case 0:
    ls_engine_set_capacity (e, watch->bed->up[rank],
                            ls_random_below (&watch->random, 2) ? 5e9 : 1e10);
    break;
  case 1:
    ls_engine_set_device_speed (e, watch->bed->device[rank],
                                ls_random_below (&watch->random, 2) ? 0.5 : 1);
    break;
  default:
    break;
  }
}

static GArray *run (LsProgram *program, guint64 seed, gboolean convoys, guint64 *events) {
  static const LsObserver observer = {.mark = note_mark};
  Watch watch = {.seen = g_array_new (FALSE, FALSE, sizeof (gint64))};
  ls_random_init (&watch.random, seed, "test/outside", 0);
  g_autoptr (GError) error = NULL;
  guint n = 1 + (guint) ls_random_below (&watch.random, 4);
  g_autoptr (Bed) bed = bed_new (n, 1e10, &program, 1);
  watch.bed = bed;
  for (guint d = 0; d < 5; d++)
    bed->transfers[d] = (BedTransfer){.latency_ps = steps (&watch.random, 3) - (d == 2 ? STEP : 0),
                                      .bytes = 10 * (gint64) ls_random_below (&watch.random, 6),
                                      .memory_usage = d == 1 ? 5 : 0,
                                      .sm_held = d < 2 ? 0.2 : 0,
                                      .beside = d == 0 ? 0.9 : 0};
  ls_engine_count_holdings (bed->engine, 1);
  ls_engine_set_convoys (bed->engine, convoys);
  ls_engine_add_observer (bed->engine, &observer, &watch);
  for (guint64 i = ls_random_below (&watch.random, 6); i > 0; i--)
    ls_engine_schedule (bed->engine, steps (&watch.random, 400), 1, interfere, &watch);
  for (guint64 i = ls_random_below (&watch.random, 6), t = 0; i > 0; i--) {
    t += (guint64) steps (&watch.random, 60) + ls_random_below (&watch.random, 2);
    ck_assert (ls_engine_run (bed->engine, (gint64) t, NULL, &error));
    look (&watch);
  }
  bed_run (bed);
  look (&watch);
  *events += ls_engine_n_events (bed->engine);
  return watch.seen;
}

START_TEST (random_programs_are_the_same) {
  const char *wanted = g_getenv ("LS_CONVOY_SEEDS");
  guint64 n = wanted ? g_ascii_strtoull (wanted, NULL, 10) : bed_scaled (500);
  guint64 events[2] = {0, 0};
  for (guint64 seed = 0; seed < n; seed++) {
    LsRandom random;
    ls_random_init (&random, seed, "test/convoys", 0);
    g_autoptr (LsProgram) program = new_program (&random);
    g_autoptr (GArray) one = run (program, seed, FALSE, &events[0]);
    g_autoptr (GArray) other = run (program, seed, TRUE, &events[1]);
    ck_assert_uint_eq (one->len, other->len);
    for (guint i = 0; i < one->len; i++)
      ck_assert_msg (g_array_index (one, gint64, i) == g_array_index (other, gint64, i),
                     "seed %" G_GUINT64_FORMAT ", value %u of %u: %" G_GINT64_FORMAT
                     ", in convoy %" G_GINT64_FORMAT,
                     seed, i, one->len, g_array_index (one, gint64, i),
                     g_array_index (other, gint64, i));
  }
  ck_assert_uint_lt (events[1], events[0]);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("engine/convoys");
  TCase *tcase = tcase_create ("all");
  tcase_set_timeout (tcase, 600);
  tcase_add_test (tcase, random_programs_are_the_same);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
