/* Collectives as messages: closed forms, recurrences, contention, and everything around them. */
#include <math.h>
#include <string.h>

#include "toy_table.h"

#define US G_GINT64_CONSTANT (1000000)
#define MAX_RANKS 64

/* An engine whose descriptor 0 of group 0 is a round table; others are the bed's. */
typedef struct {
  Bed *bed;
  Toy *toy;
  gint64 end_ps[MAX_RANKS]; /* of the last mark */
  guint n_marks[MAX_RANKS];
} Scene;

static const LsTransfer *scene_collective (gpointer self, guint group, guint descriptor) {
  Scene *scene = self;
  if (descriptor == 0)
    return &scene->toy->transfer;
  return bed_collective (scene->bed, group, descriptor);
}

static const LsTransfer *scene_message (gpointer self, guint from, guint to, guint descriptor) {
  return bed_message (((Scene *) self)->bed, from, to, descriptor);
}

static const LsTransfer *scene_copy (gpointer self, guint rank, guint descriptor) {
  return bed_copy (((Scene *) self)->bed, rank, descriptor);
}

static const LsExpander scene_expander = {scene_collective, scene_message, scene_copy};

static void note_mark (gpointer self, guint rank, const LsOp *op, const gint32 *counters,
                       gint64 t_ps) {
  Scene *scene = self;
  (void) op, (void) counters;
  scene->end_ps[rank] = t_ps;
  scene->n_marks[rank]++;
}

static const LsObserver scene_observer = {.mark = note_mark};

static void scene_new (Scene *scene, guint n, double link_per_s, LsProgram *const *programs,
                       guint n_programs, Toy *toy) {
  *scene = (Scene){.bed = bed_new (n, link_per_s, programs, n_programs), .toy = toy};
  ls_engine_set_expander (scene->bed->engine, &scene_expander, scene);
  ls_engine_add_observer (scene->bed->engine, &scene_observer, scene);
}

static LsOp marked_collective (void) {
  LsOp op = bed_op (LS_OP_COLLECTIVE, 0, 0);
  op.flags = LS_OP_MARK;
  return op;
}

/* `times` collectives of descriptor 0 after a kernel of `work_ps`. */
static LsProgram *simple_program (gint64 work_ps, guint times) {
  LsProgram *program = ls_program_new ("collective");
  guint stream = ls_program_add_stream (program, "main");
  LsOp kernel = bed_kernel (work_ps, 1, 0), op = marked_collective ();
  if (work_ps > 0)
    ls_program_add (program, stream, &kernel);
  for (guint i = 0; i < times; i++)
    ls_program_add (program, stream, &op);
  bed_freeze (program);
  return program;
}

/* When the last of n members ends, on one switch of 100 GB/s ports (0.1 bytes per ps). */
static gint64 time_on_switch (Toy *toy, gint64 *first_ps) {
  g_autoptr (LsProgram) program = simple_program (0, 1);
  Scene scene;
  scene_new (&scene, toy->n, 1e11, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  toy_switch (toy, bed);
  toy_finish (toy);
  bed_run (bed);
  gint64 last_ps = 0;
  if (first_ps)
    *first_ps = G_MAXINT64;
  for (guint i = 0; i < toy->n; i++) {
    ck_assert_uint_eq (scene.n_marks[i], 1);
    last_ps = MAX (last_ps, scene.end_ps[i]);
    if (first_ps)
      *first_ps = MIN (*first_ps, scene.end_ps[i]);
  }
  return last_ps;
}

static guint log2_ceil (guint n) {
  guint k = 0;
  while ((1u << k) < n)
    k++;
  return k;
}

/* Alpha-beta on one switch of equal ports, to half a picosecond per round (the end of each message is
 * rounded to a whole one). */
static void check_form (const char *what, guint p, gint64 got_ps, double wanted_ps, guint rounds) {
  ck_assert_msg (fabs ((double) got_ps - wanted_ps) <= 0.5 * rounds + 1e-6 * wanted_ps * 1e-6,
                 "%s of %u: %" G_GINT64_FORMAT " ps, closed form %.3f ps", what, p, got_ps,
                 wanted_ps);
}

START_TEST (closed_forms) {
  const gint64 share = 123457, latency_ps = 2 * US;
  const double alpha = 2e6, beta = 10; /* ps, ps per byte */
  for (guint p = 2; p <= 33; p++) {
    double one = alpha + (double) share * beta;
    g_autoptr (Toy) ring = toy_new (p, latency_ps);
    toy_ring (ring, share);
    check_form ("ring", p, time_on_switch (ring, NULL), 2 * (p - 1) * one, 2 * (p - 1));

    g_autoptr (Toy) direct = toy_new (p, latency_ps);
    toy_direct (direct, share);
    check_form ("direct", p, time_on_switch (direct, NULL), alpha + (p - 1) * (double) share * beta,
                1);

    g_autoptr (Toy) pairwise = toy_new (p, latency_ps);
    toy_pairwise (pairwise, share);
    check_form ("pairwise", p, time_on_switch (pairwise, NULL), (p - 1) * one, p - 1);

    g_autoptr (Toy) binomial = toy_new (p, latency_ps);
    toy_binomial (binomial, share);
    check_form ("binomial", p, time_on_switch (binomial, NULL), log2_ceil (p) * one, log2_ceil (p));

    g_autoptr (Toy) bruck = toy_new (p, latency_ps);
    toy_bruck (bruck, share);
    check_form ("Bruck", p, time_on_switch (bruck, NULL),
                log2_ceil (p) * alpha + (p - 1) * (double) share * beta, log2_ceil (p));
  }
}
END_TEST

START_TEST (members_end_one_by_one) {
  /* Binomial broadcast to 5: the root sends in three rounds, member 4 receives in the last, members 1, 2
   * and 3 are done after the second. */
  g_autoptr (Toy) toy = toy_new (5, US);
  toy_binomial (toy, 100000); /* 1 us at 0.1 bytes per ps */
  gint64 first_ps;
  ck_assert_int_eq (time_on_switch (toy, &first_ps), 6 * US);
  ck_assert_int_eq (first_ps, 4 * US);
}
END_TEST

/* (max, +) over the rounds: a member's round r + 1 begins when its round r has, its sends of r have
 * ended, and what it receives in r has come. Written from the definition in engine/transfer.h. */
static void recurrence (const Toy *toy, const gint64 *bytes_ps, gint64 *end_ps) {
  g_autofree gint64 *begin = g_new0 (gint64, toy->n);
  for (guint round = 0; round < toy->n_rounds; round++) {
    memcpy (end_ps, begin, sizeof *begin * toy->n);
    for (guint i = 0; i < toy->messages->len; i++) {
      const ToyMessage *message = &g_array_index (toy->messages, ToyMessage, i);
      if (message->round != round)
        continue;
      guint pair = message->from * toy->n + message->to;
      gint64 arrives =
          begin[message->from] + toy->latencies[pair] + message->bytes * bytes_ps[pair];
      end_ps[message->from] = MAX (end_ps[message->from], arrives);
      end_ps[message->to] = MAX (end_ps[message->to], arrives);
    }
    memcpy (begin, end_ps, sizeof *begin * toy->n);
  }
}

/* A random table in which every pair has a link of its own of 1, 1/2 or 1/4 bytes per ps, so that every
 * duration is a whole number of ps. */
static void check_recurrence (guint64 seed) {
  LsRandom random;
  ls_random_init (&random, seed, "test/rounds", 0);
  guint n = 2 + (guint) ls_random_below (&random, 9),
        rounds = 1 + (guint) ls_random_below (&random, 12);
  g_autoptr (LsProgram) program = simple_program (0, 1);
  g_autoptr (Toy) toy = toy_new (n, 0);
  Scene scene;
  scene_new (&scene, n, 1e12, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  g_autofree gint64 *latencies = g_new0 (gint64, (gsize) n * n),
                    *bytes_ps = g_new0 (gint64, (gsize) n * n);
  toy->latencies = latencies;
  for (guint pair = 0; pair < n * n; pair++) {
    latencies[pair] =
        ls_random_below (&random, 4) == 0 ? 0 : (gint64) ls_random_below (&random, 5000);
    bytes_ps[pair] = 1 << ls_random_below (&random, 3);
    guint link = ls_engine_add_resource (bed->engine, "link", 1e12 / (double) bytes_ps[pair]);
    toy_use (toy, pair / n, pair % n, link, 1);
  }
  for (guint round = 0; round < rounds; round++)
    for (guint pair = 0; pair < n * n; pair++)
      if (pair / n != pair % n && ls_random_below (&random, n) == 0)
        toy_add (toy, pair / n, pair % n, round,
                 ls_random_below (&random, 8) == 0 ? 0 : (gint64) ls_random_below (&random, 20000));
  toy_finish (toy);
  bed_run (bed);
  gint64 wanted_ps[MAX_RANKS] = {0};
  recurrence (toy, bytes_ps, wanted_ps);
  for (guint i = 0; i < n; i++)
    ck_assert_int_eq (scene.end_ps[i], wanted_ps[i]);
}

START_TEST (recurrence_without_shared_links) {
  for (guint64 seed = 0; seed < bed_scaled (3000); seed++)
    check_recurrence (seed);
}
END_TEST

START_TEST (two_share_an_uplink) {
  /* Messages of 10,000 and 30,000 bytes over an uplink of 0.1 bytes per ps: both at half rate until the
   * short one has ended at 200 ns; the other has 20,000 left, alone: 400 ns. Latency 50 ns before. */
  g_autoptr (LsProgram) program = simple_program (0, 1);
  g_autoptr (Toy) toy = toy_new (4, 50000);
  Scene scene;
  scene_new (&scene, 4, 1e12, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  guint uplink = ls_engine_add_resource (bed->engine, "leaf0/up", 1e11);
  toy_use (toy, 0, 2, uplink, 1);
  toy_use (toy, 1, 3, uplink, 1);
  toy_add (toy, 0, 2, 0, 10000);
  toy_add (toy, 1, 3, 0, 30000);
  toy_finish (toy);
  bed_run (bed);
  ck_assert_int_eq (scene.end_ps[0], 250000);
  ck_assert_int_eq (scene.end_ps[2], 250000);
  ck_assert_int_eq (scene.end_ps[1], 450000);
  ck_assert_int_eq (scene.end_ps[3], 450000);
  ck_assert_double_eq (ls_engine_resource_carried (bed->engine, uplink), 40000);
}
END_TEST

START_TEST (flow_beside_an_all_to_all) {
  /* 32 senders on an uplink and one flow beside them: the flow gets 1/33. */
  g_autoptr (LsProgram) with = ls_program_new ("with"), without = ls_program_new ("without");
  LsOp collective = bed_op (LS_OP_COLLECTIVE, 0, 0), copy = bed_op (LS_OP_COPY, 1, 0);
  copy.flags = LS_OP_MARK;
  ls_program_add (without, ls_program_add_stream (without, "main"), &collective);
  ls_program_add (with, ls_program_add_stream (with, "main"), &collective);
  ls_program_add (with, ls_program_add_stream (with, "copy"), &copy);
  bed_freeze (with);
  bed_freeze (without);
  LsProgram *programs[64];
  for (guint i = 0; i < 64; i++)
    programs[i] = i == 0 ? with : without;
  g_autoptr (Toy) toy = toy_new (64, 0);
  Scene scene;
  scene_new (&scene, 64, 1e11, programs, 64, toy);
  g_autoptr (Bed) bed = scene.bed;
  /* The copy of rank 0 loads its "up" link of 0.1 bytes per ps: that is the uplink. */
  for (guint i = 0; i < 32; i++)
    for (guint j = 32; j < 64; j++) {
      toy_use (toy, i, j, bed->up[0], 1);
      toy_add (toy, i, j, (j - 32 + 32 - i) % 32, 100000);
    }
  toy_finish (toy);
  bed->transfers[1] = (BedTransfer){.bytes = 10000};
  bed_run (bed);
  ck_assert_int_eq (scene.end_ps[0], 33 * 100000);
}
END_TEST

START_TEST (members_that_come_late) {
  /* All start when the last has come, 30 us; two ring all-reduces follow each other without a gap. */
  LsProgram *programs[4];
  for (guint i = 0; i < 4; i++)
    programs[i] = simple_program ((gint64) (10 * i + (i == 0 ? 1 : 0)) * US, 2);
  g_autoptr (Toy) toy = toy_new (4, US);
  Scene scene;
  scene_new (&scene, 4, 1e11, programs, 4, toy);
  g_autoptr (Bed) bed = scene.bed;
  toy_switch (toy, bed);
  toy_ring (toy, 100000);
  toy_finish (toy);
  bed_run (bed);
  for (guint i = 0; i < 4; i++) {
    ck_assert_uint_eq (scene.n_marks[i], 2);
    ck_assert_int_eq (scene.end_ps[i], 30 * US + 2 * 6 * 2 * US);
    ck_assert_int_eq (ls_engine_bytes_sent (bed->engine, i), 2 * 6 * 100000);
    ck_assert_int_eq (ls_engine_bytes_received (bed->engine, i), 2 * 6 * 100000);
    ck_assert_double_eq (ls_engine_resource_carried (bed->engine, bed->up[i]), 2 * 6 * 100000);
    ls_program_unref (programs[i]);
  }
  /* The last was waited for by the three others: 29, 20 and 10 us. */
  ck_assert_int_eq (ls_engine_caused_wait_ps (bed->engine, 3), (29 + 20 + 10) * US);
}
END_TEST

START_TEST (next_collective_gathers_while_members_are_left) {
  /* Member 1 gets its message after 2 us and comes to the next collective at once; member 2 gets its
   * own after 3 us: the second begins then. */
  g_autoptr (LsProgram) program = simple_program (0, 2);
  g_autoptr (Toy) toy = toy_new (3, US);
  Scene scene;
  scene_new (&scene, 3, 1e11, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  toy_switch (toy, bed);
  toy_add (toy, 0, 1, 0, 100000);
  toy_add (toy, 1, 2, 1, 0);
  toy_finish (toy);
  bed_run (bed);
  ck_assert_int_eq (scene.end_ps[0], 5 * US); /* 2, then 3 + 2 */
  ck_assert_int_eq (scene.end_ps[1], 6 * US);
  ck_assert_int_eq (scene.end_ps[2], 6 * US);
  /* The lowest of those that came last made member 0 wait. */
  ck_assert_int_eq (ls_engine_caused_wait_ps (bed->engine, 1), US);
}
END_TEST

START_TEST (kernel_beside_messages) {
  /* The collective holds a quarter of the SMs for 2 rounds of 2 us; a compute-bound kernel of 10 us
   * alone: 4 us at 3/4, then 7 us: 11 us. Its messages use 300 GB/s of 1 TB/s of device memory at each
   * end while they load (1 us of 2): a memory-bound one of 10 us loses 2 x 0.6 us. */
  for (guint by_memory = 0; by_memory < 2; by_memory++) {
    g_autoptr (LsProgram) program = ls_program_new ("beside");
    LsOp kernel = bed_kernel (10 * US, by_memory ? 0.5 : 1, by_memory ? 1 : 0);
    LsOp op = bed_op (LS_OP_COLLECTIVE, 0, 0);
    kernel.flags = LS_OP_MARK;
    ls_program_add (program, ls_program_add_stream (program, "main"), &kernel);
    ls_program_add (program, ls_program_add_stream (program, "network"), &op);
    bed_freeze (program);
    g_autoptr (Toy) toy = toy_new (2, US);
    Scene scene;
    scene_new (&scene, 2, 1e11, &program, 1, toy);
    g_autoptr (Bed) bed = scene.bed;
    toy_switch (toy, bed);
    for (guint a = 0; a < 2; a++) {
      toy_use (toy, a, 1 - a, ls_engine_device_memory (bed->engine, bed->device[0]), 1.5);
      toy_use (toy, a, 1 - a, ls_engine_device_memory (bed->engine, bed->device[1]), 1.5);
    }
    toy_ring (toy, 100000);
    toy_finish (toy);
    if (!by_memory)
      toy->transfer.sm_held = ls_usage_from_double (0.25);
    bed_run (bed);
    for (guint i = 0; i < 2; i++)
      ck_assert_int_eq (scene.end_ps[i], by_memory ? 10 * US + 600000 : 11 * US);
  }
}
END_TEST

typedef struct {
  guint resource;
  double per_s;
} Change;

static void set_now (gpointer self, LsEngine *engine) {
  const Change *change = self;
  ls_engine_set_capacity (engine, change->resource, change->per_s);
}

START_TEST (link_stands_still_and_comes_back) {
  /* The first message (1 us latency, 1 us of load) has moved half when its link stops for 3 us. */
  g_autoptr (LsProgram) program = simple_program (0, 1);
  g_autoptr (Toy) toy = toy_new (2, US);
  Scene scene;
  scene_new (&scene, 2, 1e11, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  toy_switch (toy, bed);
  toy_add (toy, 0, 1, 0, 100000);
  toy_finish (toy);
  Change stop = {.resource = bed->up[0]}, go = {.resource = bed->up[0], .per_s = 1e11};
  ls_engine_schedule (bed->engine, US + US / 2, 0, set_now, &stop);
  ls_engine_schedule (bed->engine, 4 * US + US / 2, 0, set_now, &go);
  bed_run (bed);
  ck_assert_int_eq (scene.end_ps[1], 5 * US);
}
END_TEST

START_TEST (deadlock_names_the_message) {
  g_autoptr (LsProgram) program = simple_program (0, 1);
  g_autoptr (Toy) toy = toy_new (3, US);
  Scene scene;
  scene_new (&scene, 3, 1e11, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  g_autoptr (GError) error = NULL;
  toy_switch (toy, bed);
  toy_ring (toy, 100000);
  toy_finish (toy);
  ls_engine_set_capacity (bed->engine, bed->down[2], 0);
  ck_assert (!ls_engine_run (bed->engine, G_MAXINT64, NULL, &error));
  ck_assert_msg (strstr (error->message, "the message from rank 1 to rank 2 stands still "
                                         "(gpu2/down has no capacity)") != NULL,
                 "%s", error->message);
  ls_engine_check (bed->engine);
}
END_TEST

typedef struct {
  guint n;
  gint64 bytes, start_ps, end_ps;
  gint64 alone_ps;
  guint32 bottleneck;
} Seen;

static void note_message (gpointer self, const LsMessageRecord *record) {
  Seen *seen = self;
  seen->n++;
  seen->bytes += record->bytes;
  ck_assert_uint_eq (record->to, (record->from + 1) % 3);
  ck_assert_int_eq (record->start_ps, 2 * US * (gint64) record->round);
  ck_assert_int_eq (record->end_ps, record->start_ps + 2 * US);
  ck_assert_int_eq (record->sequence, 0);
}

static void note_op (gpointer self, const LsOpRecord *record) {
  Seen *seen = self;
  seen->start_ps = record->start_ps;
  seen->end_ps = record->end_ps;
  seen->alone_ps = record->alone_ps;
  seen->bottleneck = record->bottleneck;
}

START_TEST (observers_see_messages) {
  static const LsObserver observer = {.message = note_message, .op = note_op};
  g_autoptr (LsProgram) program = simple_program (0, 1);
  g_autoptr (Toy) toy = toy_new (3, US);
  Scene scene;
  scene_new (&scene, 3, 1e11, &program, 1, toy);
  g_autoptr (Bed) bed = scene.bed;
  Seen seen = {0};
  toy_switch (toy, bed);
  toy_ring (toy, 100000);
  toy_finish (toy);
  ls_engine_add_observer (bed->engine, &observer, &seen);
  ls_engine_observe_rank (bed->engine, 1, TRUE);
  bed_run (bed);
  ck_assert_uint_eq (seen.n, 4); /* of rank 1 alone, one per round */
  ck_assert_int_eq (seen.bytes, 400000);
  ck_assert_int_eq (seen.start_ps, 0);
  ck_assert_int_eq (seen.end_ps, 8 * US);
  ck_assert_int_eq (seen.alone_ps, 8 * US);
  ck_assert_uint_eq (seen.bottleneck,
                     bed->up[0]); /* the last it took part in came from rank 0, or went from it */
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("engine/rounds");
  TCase *tcase = tcase_create ("rounds");
  tcase_add_test (tcase, closed_forms);
  tcase_add_test (tcase, members_end_one_by_one);
  tcase_add_test (tcase, recurrence_without_shared_links);
  tcase_add_test (tcase, two_share_an_uplink);
  tcase_add_test (tcase, flow_beside_an_all_to_all);
  tcase_add_test (tcase, members_that_come_late);
  tcase_add_test (tcase, next_collective_gathers_while_members_are_left);
  tcase_add_test (tcase, kernel_beside_messages);
  tcase_add_test (tcase, link_stands_still_and_comes_back);
  tcase_add_test (tcase, deadlock_names_the_message);
  tcase_add_test (tcase, observers_see_messages);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
