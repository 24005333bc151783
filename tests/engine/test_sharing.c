/* Max-min sharing: closed forms. test_sharing_exact.c has a slow exact reference on random systems. */
#include "engine/sharing.h"

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
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
