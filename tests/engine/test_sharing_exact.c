/* Max-min sharing against a slow solver that knows nothing of what was there before: the same bits after every
 * change of random systems, and on all small ones.
 *
 * The reference fills the whole system from level 0 in 128-bit integers with the rounding of sharing.h: levels
 * are rounded down; a cap at or below the least level is fixed first; the users of all resources at the least
 * level are fixed together, from the state before. No tolerance anywhere. */
#include "engine/sharing.h"

#include <string.h>

#include "bed.h"
#include "suite.h"

#define MAX_FLOWS 64u
#define MAX_RESOURCES 24u

typedef struct {
  gboolean live, fixed;
  guint32 id, n;
  LsUsage usages[MAX_RESOURCES];
  gint64 base_cap, cap;
  gint64 rate;
} RefFlow;

typedef struct {
  LsSharing *sharing;
  RefFlow flows[MAX_FLOWS];
  gint64 capacity[MAX_RESOURCES];
  guint n_resources, n_flows; /* in use */
  guint64 grain;              /* small: numbers are small, so that ties and rounding matter */
  LsRandom random;
} World;

static gint64 level_of (const World *world, guint32 resource) {
  LsInt128 left = (LsInt128) world->capacity[resource] << LS_USAGE_BITS, open = 0;
  for (guint f = 0; f < world->n_flows; f++) {
    const RefFlow *flow = &world->flows[f];
    for (guint u = 0; flow->live && u < flow->n; u++) {
      if (flow->usages[u].resource != resource)
        continue;
      if (flow->fixed)
        left -= (LsInt128) flow->rate * flow->usages[u].usage;
      else
        open += flow->usages[u].usage;
    }
  }
  ck_assert (left >= 0);
  return open > 0 ? (gint64) MIN (left / open, LS_RATE_MAX) : LS_RATE_MAX;
}

static gboolean uses_one_of (const RefFlow *flow, const gboolean *resources) {
  for (guint u = 0; u < flow->n; u++)
    if (resources[flow->usages[u].resource])
      return TRUE;
  return FALSE;
}

/* One round of progressive filling; FALSE: all flows are fixed. */
static gboolean fill_once (World *world) {
  gint64 levels[MAX_RESOURCES], least = LS_RATE_MAX, least_cap = LS_RATE_MAX;
  gboolean at_least[MAX_RESOURCES], any = FALSE;
  for (guint r = 0; r < world->n_resources; r++) {
    levels[r] = level_of (world, r);
    least = MIN (least, levels[r]);
  }
  for (guint r = 0; r < world->n_resources; r++)
    at_least[r] = levels[r] == least;
  for (guint f = 0; f < world->n_flows; f++)
    if (world->flows[f].live && !world->flows[f].fixed) {
      any = TRUE;
      least_cap = MIN (least_cap, world->flows[f].cap);
    }
  for (guint f = 0; f < world->n_flows; f++) {
    RefFlow *flow = &world->flows[f];
    if (!flow->live || flow->fixed)
      continue;
    if (least_cap <= least ? flow->cap == least_cap : uses_one_of (flow, at_least)) {
      flow->fixed = TRUE;
      flow->rate = MIN (least_cap, least);
    }
  }
  return any;
}

static void assert_equal_to_reference (World *world) {
  const LsRateChange *changes;
  gint64 before[MAX_FLOWS];
  for (guint f = 0; f < world->n_flows; f++) {
    before[f] = world->flows[f].rate;
    world->flows[f].fixed = FALSE;
  }
  guint n = ls_sharing_solve (world->sharing, &changes);
  while (fill_once (world))
    ;
  guint moved = 0;
  for (guint f = 0; f < world->n_flows; f++) {
    if (!world->flows[f].live)
      continue;
    gint64 rate = ls_sharing_rate (world->sharing, world->flows[f].id);
    ck_assert_msg (rate == world->flows[f].rate,
                   "flow %u: %" G_GINT64_FORMAT ", reference %" G_GINT64_FORMAT, f, rate,
                   world->flows[f].rate);
    moved += before[f] != rate;
  }
  /* Every flow whose rate moved is told, once (new ones too: their rate before is -1). */
  ck_assert_uint_eq (n, moved);
}

static guint below (World *world, guint n) {
  return (guint) (ls_random_u64 (&world->random) % n);
}

static gint64 draw_capacity (World *world) {
  return below (world, 12) == 0 ? 0 : (gint64) (ls_random_u64 (&world->random) % world->grain);
}

static gint64 cap_now (const World *world, gint64 base_cap, const RefFlow *flow) {
  gint64 cap = base_cap > 0 ? base_cap : LS_RATE_MAX;
  for (guint u = 0; u < flow->n; u++) {
    LsInt128 alone = ((LsInt128) world->capacity[flow->usages[u].resource] << LS_USAGE_BITS) /
                     flow->usages[u].usage;
    cap = (gint64) MIN (alone, cap);
  }
  return cap;
}

static void add_flow (World *world, guint f) {
  RefFlow *flow = &world->flows[f];
  flow->n = 0;
  /* One in eight is a collective over more than half of all resources. */
  guint wanted = below (world, 8) == 0 ? world->n_resources / 2 + 1
                                       : 1 + below (world, MIN (4, world->n_resources));
  for (guint r = 0; r < world->n_resources && flow->n < wanted; r++)
    if (below (world, world->n_resources - r) < wanted - flow->n)
      flow->usages[flow->n++] = (LsUsage){
          r, below (world, 3) > 0 ? LS_USAGE_ONE
                                  : LS_USAGE_ONE / (1 + below (world, 4)) * (1 + below (world, 8))};
  gint64 wish =
      below (world, 3) == 0 ? 1 + (gint64) (ls_random_u64 (&world->random) % world->grain) / 3 : 0;
  guint32 bottleneck;
  flow->cap = ls_sharing_alone_rate (world->sharing, wish, flow->n, flow->usages, &bottleneck);
  ck_assert_int_eq (flow->cap, cap_now (world, wish, flow));
  flow->base_cap = flow->cap;
  flow->id = ls_sharing_add_flow (world->sharing, flow->cap, bottleneck, flow->n, flow->usages, f);
  flow->live = TRUE;
  flow->rate = -1;
}

static void change_capacity (World *world) {
  guint r = below (world, world->n_resources);
  world->capacity[r] = draw_capacity (world);
  ls_sharing_set_capacity (world->sharing, r, world->capacity[r]);
  for (guint f = 0; f < world->n_flows; f++) {
    RefFlow *flow = &world->flows[f];
    if (!flow->live)
      continue;
    gint64 cap = flow->base_cap > 0 ? flow->base_cap : LS_RATE_MAX;
    for (guint u = 0; u < flow->n; u++) {
      LsInt128 alone = ((LsInt128) world->capacity[flow->usages[u].resource] << LS_USAGE_BITS) /
                       flow->usages[u].usage;
      cap = (gint64) MIN (alone, cap);
    }
    flow->cap = cap;
  }
}

static void change_something (World *world) {
  if (below (world, 16) == 0) {
    change_capacity (world);
    return;
  }
  guint f = below (world, world->n_flows);
  if (world->flows[f].live) {
    ls_sharing_remove_flow (world->sharing, world->flows[f].id);
    world->flows[f].live = FALSE;
  } else {
    add_flow (world, f);
  }
}

static void new_world (World *world) {
  /* Full size: up to 2^56 units/ps; small: a few units, where all levels tie or round. */
  static const guint64 grains[] = {G_GUINT64_CONSTANT (1) << 56, G_GUINT64_CONSTANT (1) << 20, 60,
                                   7};
  memset (world->flows, 0, sizeof world->flows);
  world->sharing = ls_sharing_new ();
  world->grain = grains[below (world, G_N_ELEMENTS (grains))];
  world->n_resources = 1 + below (world, MAX_RESOURCES);
  world->n_flows = 2 + below (world, MAX_FLOWS - 1);
  gboolean alike = below (world, 2) == 0; /* equal links: many ties */
  gint64 common = 1 + (gint64) (ls_random_u64 (&world->random) % world->grain);
  for (guint r = 0; r < world->n_resources; r++) {
    world->capacity[r] = alike ? common : draw_capacity (world);
    ls_sharing_add_resource (world->sharing, world->capacity[r]);
  }
}

START_TEST (every_change_gives_the_bits_of_a_full_solve) {
  /* 120,000 changes in all; up to four are solved at once. */
  World world = {0};
  ls_random_init (&world.random, 20261202, "test/sharing", (guint64) _i);
  guint left = bed_scaled (6000);
  while (left > 0) {
    new_world (&world);
    for (guint step = 0; step < 400 && left > 0; step++) {
      for (guint k = 1 + below (&world, 4) * below (&world, 2); k > 0 && left > 0; k--, left--)
        change_something (&world);
      assert_equal_to_reference (&world);
      if (step % 8 == 0)
        ls_sharing_check (world.sharing);
    }
    ls_sharing_free (world.sharing);
  }
}
END_TEST

START_TEST (order_and_history_do_not_show) {
  /* The same flows, added in another order to a solver that has seen others come and go, have the same rates
   * and the same bottlenecks; and a solve that begins from nothing changes no rate. */
  World world = {0};
  ls_random_init (&world.random, 7, "test/order", (guint64) _i);
  const LsRateChange *changes;
  new_world (&world);
  LsSharing *second = ls_sharing_new ();
  for (guint r = 0; r < world.n_resources; r++)
    ls_sharing_add_resource (second, world.capacity[r]);
  for (guint f = 0; f < world.n_flows; f++) {
    add_flow (&world, f);
    ls_sharing_solve (world.sharing, &changes);
  }
  guint32 ids[MAX_FLOWS];
  guint n = world.n_flows;
  for (guint round = 0; round < 2; round++)
    for (guint i = 0; i < n; i++) {
      guint f = n - 1 - i;
      const RefFlow *flow = &world.flows[f];
      guint32 bottleneck;
      if (round == 1) {
        ls_sharing_remove_flow (second, ids[f]);
        ls_sharing_solve (second, &changes);
      }
      ls_sharing_alone_rate (second, flow->cap + 1, flow->n, flow->usages, &bottleneck);
      ids[f] = ls_sharing_add_flow (second, flow->cap, bottleneck, flow->n, flow->usages, f);
      ls_sharing_solve (second, &changes);
    }
  for (guint f = 0; f < n; f++) {
    guint32 id = world.flows[f].id;
    gint64 rate = ls_sharing_rate (world.sharing, id);
    ck_assert_int_eq (rate, ls_sharing_rate (second, ids[f]));
    if (rate < world.flows[f].cap)
      ck_assert_uint_eq (ls_sharing_bottleneck (world.sharing, id),
                         ls_sharing_bottleneck (second, ids[f]));
  }
  ls_sharing_reopen (second);
  ck_assert_uint_eq (ls_sharing_solve (second, &changes), 0);
  ls_sharing_check (second);
  ls_sharing_free (second);
  ls_sharing_free (world.sharing);
}
END_TEST

START_TEST (all_small_systems) {
  /* Three resources of 0..4 units, three flows over every non-empty subset of them: all 125 x 7^3 systems, each
   * built one flow at a time and taken down again, in full after every change. */
  World world = {0};
  for (guint code = 0; code < 125; code++) {
    for (guint paths = code % test_stride (); paths < 343; paths += test_stride ()) {
      world.sharing = ls_sharing_new ();
      world.n_resources = world.n_flows = 3;
      memset (world.flows, 0, sizeof world.flows);
      for (guint r = 0, rest = code; r < 3; r++, rest /= 5) {
        world.capacity[r] = rest % 5;
        ls_sharing_add_resource (world.sharing, rest % 5);
      }
      for (guint f = 0, rest = paths; f < 3; f++, rest /= 7) {
        RefFlow *flow = &world.flows[f];
        for (guint r = 0; r < 3; r++)
          if (((rest % 7 + 1) >> r) & 1)
            flow->usages[flow->n++] = (LsUsage){r, LS_USAGE_ONE};
        flow->cap = cap_now (&world, 0, flow);
        flow->live = TRUE;
        flow->rate = -1;
        flow->id = ls_sharing_add_flow (world.sharing, flow->cap, flow->usages[0].resource, flow->n,
                                        flow->usages, f);
        assert_equal_to_reference (&world);
      }
      for (guint f = 0; f < 3; f++) {
        ls_sharing_remove_flow (world.sharing, world.flows[f].id);
        world.flows[f].live = FALSE;
        assert_equal_to_reference (&world);
      }
      ls_sharing_free (world.sharing);
    }
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("sharing_exact");
  TCase *tcase = tcase_create ("bits");
  tcase_set_timeout (tcase, 300);
  tcase_add_loop_test (tcase, every_change_gives_the_bits_of_a_full_solve, 0, 20);
  tcase_add_loop_test (tcase, order_and_history_do_not_show, 0, 200);
  tcase_add_test (tcase, all_small_systems);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
