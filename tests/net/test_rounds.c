/* Round tables: fluid = message = closed form on one switch, and what every table must keep. The message
 * model is evaluated by the recurrence of recurrence.h, without the engine. */
#include <check.h>
#include <math.h>

#include "base/time.h"
#include "recurrence.h"

#define N G_GINT64_CONSTANT (144403552893600) /* lcm (1 .. 33) */
#define RATE 10e9
#define ALPHA_S 3e-6
#define ALPHA_PS 3000000

static World world_of (guint nodes, guint gpus, double inside, double across, gint64 alpha_inside,
                       gint64 alpha_across) {
  TestCluster test = {.nodes = nodes,
                      .gpus = gpus,
                      .inside_bytes_per_s = inside,
                      .across_bytes_per_s = across,
                      .alpha_inside_ps = alpha_inside,
                      .alpha_across_ps = alpha_across,
                      .joint = LS_JOINT_SWITCH,
                      .in_network = TRUE,
                      .kind = LS_FABRIC_SINGLE_SWITCH};
  return world_new (test_cluster (&test));
}

/* --- one operation in both models ------------------------------------------------------------- */

typedef struct {
  double fluid_s, message_s;
  guint rounds;
  gboolean pipelined;
} Both;

static LsPlan *plan_of (LsGroupPlans *plans, World *world, const LsAlgorithmRecord *algorithm,
                        LsCollectiveOp op, gint64 bytes, const gint64 *splits, LsChoice *choice) {
  LsDescriptor what = {
      .op = op, .algorithm = algorithm->id, .bytes = bytes, .timed = TRUE, .splits = splits};
  *choice = ls_group_plans_choose (plans, &world->usages, &what);
  ck_assert_ptr_eq (choice->plan->algorithm, algorithm);
  return choice->plan;
}

static Both both_models (World *world, const guint *gpus, guint n,
                         const LsAlgorithmRecord *algorithm, LsCollectiveOp op, gint64 bytes,
                         const gint64 *splits) {
  LsGroupPlans *plans = ls_group_plans_new (world->topology, gpus, n);
  LsChoice choice;
  LsPlan *plan = plan_of (plans, world, algorithm, op, bytes, splits, &choice);
  LsMessages *messages =
      ls_messages_new (plans->shape, plans->place_of, plan, choice.protocol, bytes, &world->usages);
  const LsRoundTable *table = ls_messages_table (messages);
  Both both = {.fluid_s = choice.time_s,
               .message_s = recurrence_s (world, table, n, NULL),
               .rounds = table->n_rounds};
  g_autoptr (LsSchedule) schedule = ls_plan_schedule (plan, plans->shape);
  for (guint s = 0; s < schedule->segments->len; s++)
    both.pipelined |= ls_schedule_segment_at (schedule, s)->chunked;
  ls_messages_free (messages);
  ls_group_plans_free (plans);
  return both;
}

static void assert_near (double got, double expected, guint rounds, const char *what,
                         const LsAlgorithmRecord *algorithm, LsCollectiveOp op, guint n) {
  /* half a picosecond per round, and 1e-12 for what doubles hold of hours */
  double slack = 0.5e-12 * rounds + 1e-10 * expected;
  ck_assert_msg (fabs (got - expected) <= slack, "%s of %s on %u: %.12g s, %.12g expected (%s)",
                 ls_collective_op_name (op), algorithm->name, n, got, expected, what);
}

/* Fluid = closed form for every algorithm that has one, = message unless it is pipelined. */
static void check_one_switch (guint n, gboolean inside) {
  World world = world_of (inside ? 1 : n, inside ? n : 1, RATE, RATE, ALPHA_PS, ALPHA_PS);
  g_autofree guint *gpus = test_range (n);
  for (guint a = 0; a < ls_algorithm_count (); a++)
    for (guint op = 0; op <= LS_COLLECTIVE_BARRIER; op++) {
      const LsAlgorithmRecord *algorithm = ls_algorithm_get (a);
      if (algorithm->closed_form == NULL || (algorithm->ops & LS_OP_BIT (op)) == 0 ||
          op == LS_COLLECTIVE_ALL_TO_ALLV)
        continue;
      gint64 bytes = op == LS_COLLECTIVE_BARRIER ? 0 : N;
      Both both = both_models (&world, gpus, n, algorithm, (LsCollectiveOp) op, bytes, NULL);
      double closed =
          algorithm->closed_form ((LsCollectiveOp) op, n, (double) bytes, ALPHA_S, 1 / RATE);
      if (closed < 0)
        continue;
      assert_near (both.fluid_s, closed, both.rounds, "closed form", algorithm, (LsCollectiveOp) op,
                   n);
      if (!both.pipelined)
        assert_near (both.message_s, closed, both.rounds, "messages", algorithm,
                     (LsCollectiveOp) op, n);
      else
        ck_assert (both.message_s >= both.fluid_s * (1 - 1e-9));
    }
  world_clear (&world);
}

START_TEST (one_switch_of_equal_ports) {
  for (guint n = 2; n <= 33; n++)
    check_one_switch (n, TRUE);
  for (guint n = 2; n <= 33; n += 5)
    check_one_switch (n, FALSE);
}
END_TEST

/* Tiers: the fluid time is the sum of its phases by definition; here, with links inside as slow as
 * adapters and latencies of their own, messages of one round share no link in rings of one GPU per node
 * and in hierarchical groups, whose message time is no more than the fluid one and no less than the bytes
 * of the slowest port. The gap is what slack hides. */
START_TEST (tiers) {
  static const guint shapes[][2] = {{2, 2}, {4, 3}, {3, 5}, {8, 2}};
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    guint q = shapes[i][1], m = shapes[i][0], n = q * m;
    World world = world_of (q, m, 40e9, 5e9, 2000000, 9000000);
    g_autofree guint *gpus = test_range (n);
    const LsAlgorithmRecord *levels = ls_algorithm_find (LS_ALGORITHM_HIERARCHICAL);
    Both both = both_models (&world, gpus, n, levels, LS_COLLECTIVE_ALL_REDUCE, N, NULL);
    double a1 = 2e-6, a2 = 9e-6, bytes = (double) N;
    double sum = 2 * ((m - 1) * a1 + (m - 1.0) / m * bytes / 40e9 + (q - 1) * a2 +
                      (q - 1.0) / q * bytes / m / 5e9);
    assert_near (both.fluid_s, sum, both.rounds, "sum of phases", levels, LS_COLLECTIVE_ALL_REDUCE,
                 n);
    assert_near (both.message_s, sum, both.rounds, "messages", levels, LS_COLLECTIVE_ALL_REDUCE, n);
    world_clear (&world);
  }
}
END_TEST

/* No algorithm beats what any must pay: ceil (lg n) rounds where a member sends one message a round (k at
 * once: ceil (log_(k+1) n), Bruck et al. 1997), and for an all-reduce 2 (n-1)/n N, for all-gather and
 * reduce-scatter (n-1)/n N over a port; switches that reduce move N (NVLS: N) instead. */
static double port_bytes (LsCollectiveOp op, double n, double bytes, gboolean in_network) {
  switch (op) {
  case LS_COLLECTIVE_ALL_REDUCE:
    return in_network ? bytes : 2 * (n - 1) / n * bytes;
  case LS_COLLECTIVE_BROADCAST:
  case LS_COLLECTIVE_REDUCE:
  case LS_COLLECTIVE_SEND_RECV:
    return bytes;
  case LS_COLLECTIVE_BARRIER:
  case LS_COLLECTIVE_ALL_TO_ALLV:
    return 0;
  default:
    return (n - 1) / n * bytes;
  }
}

static guint most_at_once (const LsAlgorithmRecord *algorithm, guint n) {
  if (algorithm->in_network || algorithm->id == LS_ALGORITHM_DIRECT)
    return n - 1;
  return algorithm->id == LS_ALGORITHM_BIDIRECTIONAL || algorithm->id == LS_ALGORITHM_TREE ? 2 : 1;
}

START_TEST (lower_bounds) {
  static const gint64 sizes[] = {1, 7, 1000003, 1 << 30};
  static const guint members[] = {2, 3, 5, 8, 16, 33};
  for (guint m = 0; m < G_N_ELEMENTS (members); m++) {
    guint n = members[m];
    World world = world_of (1, n, RATE, RATE, ALPHA_PS, ALPHA_PS);
    g_autofree guint *gpus = test_range (n);
    g_autoptr (LsGroupShape) shape = ls_group_shape_new (world.topology, gpus, n);
    for (guint a = 0; a < ls_algorithm_count (); a++)
      for (guint op = 0; op <= LS_COLLECTIVE_BARRIER; op++)
        for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
          const LsAlgorithmRecord *algorithm = ls_algorithm_get (a);
          if (!ls_algorithm_applies (algorithm, shape, (LsCollectiveOp) op) ||
              op == LS_COLLECTIVE_ALL_TO_ALLV)
            continue;
          gint64 bytes = op == LS_COLLECTIVE_BARRIER ? 0 : sizes[s];
          Both both = both_models (&world, gpus, n, algorithm, (LsCollectiveOp) op, bytes, NULL);
          double ports = port_bytes ((LsCollectiveOp) op, n, (double) bytes, algorithm->in_network);
          double rounds = ceil (log (n) / log (most_at_once (algorithm, n) + 1) - 1e-9);
          if (op == LS_COLLECTIVE_SEND_RECV)
            rounds = 1;
          if (algorithm->in_network) /* a pass through the switches is half of an exchange */
            rounds = 0.5;
          /* whole bytes: a block may be one byte short */
          double least = MAX (rounds * ALPHA_S, (ports - n) / RATE) * (1 - 1e-9);
          /* messages through switches load the links of all: only the engine shares those rightly */
          gboolean messages = algorithm->in_network || both.message_s >= least;
          ck_assert_msg (both.fluid_s >= least && messages,
                         "%s by %s of %u, %" G_GINT64_FORMAT " B: %g and %g s, at least %g",
                         ls_collective_op_name ((LsCollectiveOp) op), algorithm->name, n, bytes,
                         both.fluid_s, both.message_s, least);
        }
    world_clear (&world);
  }
}
END_TEST

/* Splits: direct takes one latency and the fullest port; even splits are an all-to-all; what a member has
 * for itself costs nothing, and the order of ranks in the group decides whose splits are whose. */
START_TEST (splits) {
  World world = world_of (1, 4, RATE, RATE, ALPHA_PS, ALPHA_PS);
  static const gint64 matrix[] = {9, 1000, 2000, 3000, 0, 0, 500, 0, 0, 0, 5, 700, 4000, 0, 0, 1};
  guint gpus[] = {2, 0, 3, 1};
  const LsAlgorithmRecord *direct = ls_algorithm_find (LS_ALGORITHM_DIRECT);
  gint64 sum = 1000 + 2000 + 3000 + 500 + 700 + 4000;
  Both both = both_models (&world, gpus, 4, direct, LS_COLLECTIVE_ALL_TO_ALLV, sum, matrix);
  /* member 0 sends 6000 bytes, more than any other sends or receives */
  assert_near (both.fluid_s, ALPHA_S + 6000 / RATE, 1, "splits", direct, LS_COLLECTIVE_ALL_TO_ALLV,
               4);
  gint64 even[16];
  for (guint i = 0; i < 16; i++)
    even[i] = 250000;
  Both v = both_models (&world, gpus, 4, direct, LS_COLLECTIVE_ALL_TO_ALLV, 12 * 250000, even);
  Both same = both_models (&world, gpus, 4, direct, LS_COLLECTIVE_ALL_TO_ALL, 1000000, NULL);
  ck_assert (fabs (v.fluid_s - same.fluid_s) < 1e-15 &&
             fabs (v.message_s - same.message_s) < 1e-15);
  world_clear (&world);
}
END_TEST

/* Messages of any size add up: what members send over all rounds is what the table says, to the byte, for
 * sizes that no group divides, and everything sent is received. */
START_TEST (bytes_of_messages) {
  for (guint n = 2; n <= 12; n++) {
    World world = world_of (1, n, RATE, RATE, ALPHA_PS, ALPHA_PS);
    g_autofree guint *gpus = test_range (n);
    LsGroupPlans *plans = ls_group_plans_new (world.topology, gpus, n);
    gint64 bytes = 1000003;
    LsChoice choice;
    LsPlan *plan = plan_of (plans, &world, ls_algorithm_find (LS_ALGORITHM_RING),
                            LS_COLLECTIVE_ALL_GATHER, bytes, NULL, &choice);
    LsMessages *messages = ls_messages_new (plans->shape, plans->place_of, plan, choice.protocol,
                                            bytes, &world.usages);
    const LsRoundTable *table = ls_messages_table (messages);
    gint64 sent = 0;
    for (guint r = 0; r < table->n_rounds; r++)
      for (guint i = 0; i < n; i++) {
        LsRoundMessage message;
        for (guint k = 0; table->send (table->self, i, r, k, &message); k++)
          sent += message.bytes;
      }
    ck_assert_int_eq (sent, (n - 1) * bytes); /* every block goes to all others */
    ls_messages_free (messages);
    ls_group_plans_free (plans);
    world_clear (&world);
  }
}
END_TEST

/* The order of members after the first is of no account. */
START_TEST (order_changes_no_bit) {
  World world = world_of (3, 4, 40e9, 5e9, 2000000, 9000000);
  guint one[] = {0, 1, 4, 5, 8, 9}, two[] = {0, 9, 5, 1, 8, 4};
  for (guint a = 0; a < ls_algorithm_count (); a++)
    for (guint op = 0; op <= LS_COLLECTIVE_SCATTER; op++) {
      const LsAlgorithmRecord *algorithm = ls_algorithm_get (a);
      g_autoptr (LsGroupShape) shape = ls_group_shape_new (world.topology, one, 6);
      if (!ls_algorithm_applies (algorithm, shape, (LsCollectiveOp) op) ||
          op == LS_COLLECTIVE_ALL_TO_ALLV)
        continue;
      Both x = both_models (&world, one, 6, algorithm, (LsCollectiveOp) op, 999999, NULL);
      Both y = both_models (&world, two, 6, algorithm, (LsCollectiveOp) op, 999999, NULL);
      ck_assert (fabs (x.fluid_s - y.fluid_s) <= 0 && fabs (x.message_s - y.message_s) <= 0);
    }
  world_clear (&world);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net rounds");
  TCase *tests = tcase_create ("rounds");
  tcase_set_timeout (tests, 120);
  tcase_add_test (tests, one_switch_of_equal_ports);
  tcase_add_test (tests, tiers);
  tcase_add_test (tests, lower_bounds);
  tcase_add_test (tests, splits);
  tcase_add_test (tests, bytes_of_messages);
  tcase_add_test (tests, order_changes_no_bit);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
