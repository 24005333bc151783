/* Max-min sharing: closed forms, and a slow exact reference on random changes of random systems. */
#include "engine/sharing.h"

#include <math.h>

#include "bed.h"

static gint64 gb (double per_s) {
  return ls_rate_from_per_s (per_s * 1e9);
}

START_TEST (one_link_is_shared_equally) {
  /* C = 90 GB/s, three flows: 30 GB/s each (definition of max-min). Tolerance: one unit of rounding. */
  g_autoptr (LsSharing) sharing = ls_sharing_new ();
  guint32 link = ls_sharing_add_resource (sharing, gb (90));
  LsUsage usage = {link, LS_USAGE_ONE};
  guint32 flows[3];
  const LsRateChange *changes;
  for (guint i = 0; i < 3; i++)
    flows[i] = ls_sharing_add_flow (sharing, gb (90), link, 1, &usage, i);
  ck_assert_uint_eq (ls_sharing_solve (sharing, &changes), 3);
  for (guint i = 0; i < 3; i++)
    ck_assert_int_eq (ls_sharing_rate (sharing, flows[i]), gb (90) / 3);
}
END_TEST

START_TEST (classic_two_links) {
  /* Bertsekas & Gallager, Data Networks 6.5.2: a long flow over links of 1 and 2, short flows on each.
   * Link A (1): long, a -> 1/2 each; link B (2): long has 1/2, b gets 3/2. */
  g_autoptr (LsSharing) sharing = ls_sharing_new ();
  guint32 a = ls_sharing_add_resource (sharing, gb (1)),
          b = ls_sharing_add_resource (sharing, gb (2));
  LsUsage both[2] = {{a, LS_USAGE_ONE}, {b, LS_USAGE_ONE}};
  guint32 long_flow = ls_sharing_add_flow (sharing, gb (1), a, 2, both, 0);
  guint32 on_a = ls_sharing_add_flow (sharing, gb (1), a, 1, &both[0], 1);
  guint32 on_b = ls_sharing_add_flow (sharing, gb (2), b, 1, &both[1], 2);
  const LsRateChange *changes;
  ls_sharing_solve (sharing, &changes);
  ck_assert_int_eq (ls_sharing_rate (sharing, long_flow), gb (1) / 2);
  ck_assert_int_eq (ls_sharing_rate (sharing, on_a), gb (1) / 2);
  ck_assert_double_eq_tol (ls_rate_to_per_s (ls_sharing_rate (sharing, on_b)), 1.5e9, 1.5);
  ck_assert_uint_eq (ls_sharing_bottleneck (sharing, on_b), b);
  /* The long one leaves: a takes all of A. */
  ls_sharing_remove_flow (sharing, long_flow);
  ls_sharing_solve (sharing, &changes);
  ck_assert_int_eq (ls_sharing_rate (sharing, on_a), gb (1));
  ck_assert_int_eq (ls_sharing_rate (sharing, on_b), gb (2));
}
END_TEST

START_TEST (usage_counts_flows_on_a_link) {
  /* An all-to-all with 32 senders on an uplink counts as 32: beside one message it gets 1/33 each per flow. */
  g_autoptr (LsSharing) sharing = ls_sharing_new ();
  guint32 link = ls_sharing_add_resource (sharing, gb (33));
  LsUsage many = {link, 32 * LS_USAGE_ONE}, one = {link, LS_USAGE_ONE};
  const LsRateChange *changes;
  guint32 all = ls_sharing_add_flow (sharing, ls_sharing_alone_rate (sharing, 0, 1, &many, NULL),
                                     link, 1, &many, 0);
  guint32 message = ls_sharing_add_flow (sharing, gb (33), link, 1, &one, 1);
  ls_sharing_solve (sharing, &changes);
  ck_assert_double_eq_tol (ls_rate_to_per_s (ls_sharing_rate (sharing, all)), 1e9, 1);
  ck_assert_int_eq (ls_sharing_rate (sharing, all), ls_sharing_rate (sharing, message));
}
END_TEST

/* --- slow reference: progressive filling over the whole system in long double --- */

#define MAX_FLOWS 48u
#define MAX_RESOURCES 24u

typedef struct {
  gboolean live;
  guint32 id, n;
  LsUsage usages[MAX_RESOURCES];
  gint64 cap;
} RefFlow;

static void reference_rates (const RefFlow *flows, const gint64 *capacity, guint n_resources,
                             long double *rates) {
  gboolean fixed[MAX_FLOWS] = {FALSE};
  for (guint f = 0; f < MAX_FLOWS; f++)
    fixed[f] = !flows[f].live;
  for (;;) {
    long double left[MAX_RESOURCES], open[MAX_RESOURCES] = {0}, least = INFINITY;
    for (guint r = 0; r < n_resources; r++)
      left[r] = (long double) capacity[r];
    for (guint f = 0; f < MAX_FLOWS; f++)
      for (guint u = 0; flows[f].live && u < flows[f].n; u++) {
        long double usage = (long double) flows[f].usages[u].usage / LS_USAGE_ONE;
        if (fixed[f])
          left[flows[f].usages[u].resource] -= rates[f] * usage;
        else
          open[flows[f].usages[u].resource] += usage;
      }
    for (guint r = 0; r < n_resources; r++)
      if (open[r] > 0)
        least = MIN (least, left[r] / open[r]);
    gboolean any = FALSE;
    long double least_cap = INFINITY;
    for (guint f = 0; f < MAX_FLOWS; f++)
      if (!fixed[f])
        least_cap = MIN (least_cap, (long double) flows[f].cap);
    for (guint f = 0; f < MAX_FLOWS; f++) {
      if (fixed[f])
        continue;
      gboolean at = least_cap <= least && (long double) flows[f].cap <= least_cap;
      for (guint u = 0; least_cap > least && u < flows[f].n; u++) {
        guint32 r = flows[f].usages[u].resource;
        at = at || left[r] / open[r] <= least * (1 + 1e-15L);
      }
      if (at) {
        rates[f] = MIN (least, least_cap);
        fixed[f] = any = TRUE;
      }
    }
    if (!any)
      return;
  }
}

typedef struct {
  LsSharing *sharing;
  RefFlow flows[MAX_FLOWS];
  gint64 capacity[MAX_RESOURCES];
  guint n_resources;
  LsRandom random;
} Random;

static guint below (Random *state, guint n) {
  return (guint) (ls_random_u64 (&state->random) % n);
}

static void add_random_flow (Random *state, guint f) {
  RefFlow *flow = &state->flows[f];
  flow->n = 0;
  /* One in four is a collective over more than half of all resources. */
  guint wanted = below (state, 4) == 0 ? state->n_resources / 2 + 1
                                       : 1 + below (state, MIN (4, state->n_resources));
  for (guint r = 0; r < state->n_resources && flow->n < wanted; r++)
    if (below (state, state->n_resources - r) < wanted - flow->n)
      flow->usages[flow->n++] =
          (LsUsage){r, LS_USAGE_ONE / (1 + below (state, 4)) * (1 + below (state, 8))};
  gint64 cap =
      below (state, 3) == 0 ? 1 + (gint64) (ls_random_u64 (&state->random) % (guint64) gb (20)) : 0;
  guint32 bottleneck;
  flow->cap = ls_sharing_alone_rate (state->sharing, cap, flow->n, flow->usages, &bottleneck);
  flow->id = ls_sharing_add_flow (state->sharing, flow->cap, bottleneck, flow->n, flow->usages, f);
  flow->live = TRUE;
}

static void change_capacity (Random *state) {
  guint r = below (state, state->n_resources);
  state->capacity[r] = 1 + (gint64) (ls_random_u64 (&state->random) % (guint64) gb (100));
  ls_sharing_set_capacity (state->sharing, r, state->capacity[r]);
  for (guint f = 0; f < MAX_FLOWS; f++)
    for (guint u = 0; state->flows[f].live && u < state->flows[f].n; u++)
      if (state->flows[f].usages[u].resource == r) {
        RefFlow *flow = &state->flows[f];
        gint64 wanted = ls_sharing_alone_rate (state->sharing, 0, flow->n, flow->usages, NULL);
        flow->cap =
            MIN (flow->cap, wanted); /* only shrinks here: capacities grow back with new flows */
      }
}

static void check_against_reference (Random *state) {
  const LsRateChange *changes;
  ls_sharing_solve (state->sharing, &changes);
  ls_sharing_check (state->sharing);
  long double rates[MAX_FLOWS] = {0};
  reference_rates (state->flows, state->capacity, state->n_resources, rates);
  for (guint f = 0; f < MAX_FLOWS; f++)
    if (state->flows[f].live) {
      long double rate = (long double) ls_sharing_rate (state->sharing, state->flows[f].id);
      /* 1e-9 relative, plus the integer rounding of a few units of 1.4e-5 byte/s. */
      ck_assert_msg (fabsl (rate - rates[f]) <= 1e-9L * rates[f] + 64,
                     "flow %u: %Lg, reference %Lg", f, rate, rates[f]);
    }
}

START_TEST (agrees_with_the_reference) {
  /* 100,000 changes in all (10 loops of 10,000), sizes drawn anew every 500 changes. */
  Random state = {0};
  ls_random_init (&state.random, 20261201, "test/sharing", (guint64) _i);
  guint left = bed_scaled (10000);
  while (left > 0) {
    state.sharing = ls_sharing_new ();
    state.n_resources = 1 + below (&state, MAX_RESOURCES);
    memset (state.flows, 0, sizeof state.flows);
    for (guint r = 0; r < state.n_resources; r++) {
      state.capacity[r] = 1 + (gint64) (ls_random_u64 (&state.random) % (guint64) gb (100));
      ls_sharing_add_resource (state.sharing, state.capacity[r]);
    }
    for (guint step = 0; step < 500 && left > 0; step++, left--) {
      guint f = below (&state, MAX_FLOWS);
      if (state.flows[f].live) {
        ls_sharing_remove_flow (state.sharing, state.flows[f].id);
        state.flows[f].live = FALSE;
      } else {
        add_random_flow (&state, f);
      }
      if (below (&state, 3) > 0) /* several changes of one instant are solved at once */
        check_against_reference (&state);
    }
    ls_sharing_free (state.sharing);
  }
}
END_TEST

START_TEST (order_of_arrival_does_not_show) {
  /* The same flows added in two orders have the same rates, to the bit. */
  Random state = {0};
  ls_random_init (&state.random, 7, "test/order", (guint64) _i);
  g_autoptr (LsSharing) first = ls_sharing_new ();
  g_autoptr (LsSharing) second = ls_sharing_new ();
  state.n_resources = 12;
  for (guint r = 0; r < state.n_resources; r++) {
    gint64 capacity = 1 + (gint64) (ls_random_u64 (&state.random) % (guint64) gb (100));
    ls_sharing_add_resource (first, capacity);
    ls_sharing_add_resource (second, capacity);
  }
  state.sharing = first;
  const LsRateChange *changes;
  for (guint f = 0; f < 24; f++) {
    add_random_flow (&state, f);
    ls_sharing_solve (first, &changes);
  }
  guint32 ids[24];
  for (guint i = 0; i < 24; i++) {
    guint f = (i * 7 + 5) % 24;
    const RefFlow *flow = &state.flows[f];
    ids[f] =
        ls_sharing_add_flow (second, flow->cap, flow->usages[0].resource, flow->n, flow->usages, f);
  }
  ls_sharing_solve (second, &changes);
  for (guint f = 0; f < 24; f++)
    ck_assert_int_eq (ls_sharing_rate (first, state.flows[f].id), ls_sharing_rate (second, ids[f]));
}
END_TEST

START_TEST (capacity_changes_are_felt) {
  /* 10 GB/s shared by two; then 4 GB/s; then zero: 5, 2, 0 GB/s each. */
  g_autoptr (LsSharing) sharing = ls_sharing_new ();
  guint32 link = ls_sharing_add_resource (sharing, gb (10));
  LsUsage usage = {link, LS_USAGE_ONE};
  guint32 a = ls_sharing_add_flow (sharing, gb (10), link, 1, &usage, 0);
  guint32 b = ls_sharing_add_flow (sharing, gb (10), link, 1, &usage, 1);
  const LsRateChange *changes;
  const double capacities[] = {10, 4, 0, 10};
  for (guint i = 0; i < G_N_ELEMENTS (capacities); i++) {
    ls_sharing_set_capacity (sharing, link, gb (capacities[i]));
    ls_sharing_solve (sharing, &changes);
    ck_assert_int_eq (ls_sharing_rate (sharing, a), gb (capacities[i]) / 2);
    ck_assert_int_eq (ls_sharing_rate (sharing, b), gb (capacities[i]) / 2);
  }
  Random state = {.sharing = sharing, .n_resources = 1};
  ls_random_init (&state.random, 3, "test/capacity", 0);
  change_capacity (&state);
  ls_sharing_solve (sharing, &changes);
  ls_sharing_check (sharing);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("sharing");
  TCase *tcase = tcase_create ("max-min");
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, one_link_is_shared_equally);
  tcase_add_test (tcase, classic_two_links);
  tcase_add_test (tcase, usage_counts_flows_on_a_link);
  tcase_add_test (tcase, capacity_changes_are_felt);
  tcase_add_loop_test (tcase, agrees_with_the_reference, 0, 10);
  tcase_add_loop_test (tcase, order_of_arrival_does_not_show, 0, 50);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
