/* Every shipped topology: it is read without a fault or a warning, can be drawn, every GPU is reached; and
 * every number in it counts: 10 % more moves an answer, or a warning says why not. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "net/route.h"
#include "scenario_text.h"

/* Large clusters are made smaller for the tests below: three tiers remain. */
static const char *size_of (const char *file) {
  return strstr (file, "three-tier") != NULL ? "cluster.nodes=1100" : NULL;
}

/* Files of one node use no network: several show what its numbers do. */
static const char *size_for_numbers (const char *file) {
  TestScenario scenario = test_scenario (file, NULL, NULL);
  gboolean one = scenario.cluster != NULL && ls_cluster_n_nodes (scenario.cluster) == 1;
  test_scenario_clear (&scenario);
  return one ? "cluster.nodes=50" : size_of (file);
}

static GPtrArray *shipped (void) {
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *folder = g_build_filename (LS_TEST_SOURCE_DIR, "topologies", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".yaml"))
      g_ptr_array_add (files, g_build_filename ("topologies", name, NULL));
  g_ptr_array_sort_with_data (files, (GCompareDataFunc) (gpointer) strcmp, NULL);
  return files;
}

START_TEST (all_are_good) {
  g_autoptr (GPtrArray) files = shipped ();
  ck_assert_uint_ge (files->len, 25);
  for (guint i = 0; i < files->len; i++) {
    const char *sets[] = {size_of (files->pdata[i]), NULL};
    TestScenario scenario = test_scenario (files->pdata[i], NULL, sets);
    g_autofree char *faults = test_scenario_faults (&scenario);
    ck_assert_msg (scenario.cluster != NULL, "%s: %s", (char *) files->pdata[i], faults);
    if (strstr (files->pdata[i], "pcie-workstation") == NULL)
      ck_assert_msg (faults[0] == '\0', "%s: %s", (char *) files->pdata[i], faults);
    g_autofree char *text = ls_net_describe (scenario.cluster);
    for (guint g = 0; g < ls_cluster_n_groups (scenario.cluster); g++)
      ck_assert_ptr_nonnull (
          strstr (text, ls_cluster_group (scenario.cluster, g)->node.gpu->title));
    g_autoptr (LsTopology) topology = ls_topology_new (scenario.cluster, NULL);
    guint n = topology->n_gpus, step = MAX (1, n / 40);
    for (guint gpu = step; gpu < n; gpu += step)
      ck_assert (ls_route_reaches (topology, 0, gpu) && ls_route_reaches (topology, gpu, 0));
    test_scenario_clear (&scenario);
  }
}
END_TEST

/* --- every number counts ---------------------------------------------------------------------- */

/* Answers that numbers should move: times of operations alone, bisections, latencies of paths. */
static double answers_of (const LsCluster *cluster) {
  static const LsDescriptor all[] = {
      {.op = LS_COLLECTIVE_ALL_REDUCE, .bytes = 1 << 26},
      {.op = LS_COLLECTIVE_ALL_TO_ALL, .bytes = 1 << 26},
      {.op = LS_COLLECTIVE_HOST_TO_DEVICE, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_STORAGE_READ, .bytes = 1 << 28},
      {.op = LS_COLLECTIVE_STORAGE_WRITE, .bytes = 1 << 28},
  };
  g_autoptr (LsNet) net = ls_net_new (cluster, NULL);
  const LsTopology *topology = ls_net_topology (net);
  guint n = ls_cluster_n_gpus (cluster), few = MIN (n, 32), gpus[32];
  double sum = n;
  for (guint spaced = 0; spaced < 2; spaced++) {
    for (guint i = 0; i < few; i++)
      gpus[i] = spaced ? (guint) ((guint64) i * n / few) : i;
    for (guint i = 0; i < G_N_ELEMENTS (all); i++)
      sum += ls_net_estimate (net, gpus, few, &all[i]).time_s * 1e3;
    for (guint i = 1; i < few; i++) {
      LsDescriptor message = {.op = LS_COLLECTIVE_SEND_RECV, .bytes = 1 << 24};
      guint pair[] = {gpus[0], gpus[i]};
      sum += ls_net_estimate (net, pair, 2, &message).time_s * 1e3;
      sum += (double) ls_route_latency_ps (topology, gpus[0], gpus[i]) * 1e-9;
    }
  }
  for (guint f = 0; f < ls_cluster_n_fabrics (cluster); f++) {
    double sent;
    sum += ls_topology_bisection (topology, f, &sent) * 1e-12;
    sum += sent * 1e-12;
  }
  return sum;
}

typedef struct {
  const char *file, *path;
  const char *base; /* a first set, or NULL */
} Number;

/* Answers with the key set to `value`; NAN: refused, or a warning names the key. */
static double answers_with (const Number *number, const char *value) {
  g_autofree char *set = g_strdup_printf ("%s=%s", number->path, value);
  const char *sets[] = {number->base != NULL ? number->base : set, set, NULL};
  TestScenario scenario = test_scenario (number->file, NULL, sets);
  g_autofree char *faults = test_scenario_faults (&scenario);
  double sum = NAN;
  if (scenario.cluster != NULL && strstr (faults, strrchr (number->path, '.') + 1) == NULL)
    sum = answers_of (scenario.cluster);
  test_scenario_clear (&scenario);
  return sum;
}

static gboolean moves (const Number *number, const char *before, const char *after) {
  double a = answers_with (number, before), b = answers_with (number, after);
  return isnan (a) || isnan (b) || fabs (b / a - 1) > 1e-9;
}

/* A number 10 % up; if others are slower (or faster) and hide it, the same at a hundredth of it, or at thirty
 * and a hundred times: what counts only in another range still counts. */
static gboolean number_moves (const Number *number, const char *unit, double value) {
  static const double factors[] = {1, 0.01, 100, 30};
  for (guint i = 0; i < G_N_ELEMENTS (factors); i++) {
    double v = value * factors[i];
    g_autofree char *before = g_strdup_printf ("%.9g%s%s", v, *unit ? " " : "", unit);
    g_autofree char *after = g_strdup_printf ("%.9g%s%s", v * 1.1, *unit ? " " : "", unit);
    gboolean legal = *unit != '\0' || v >= 1; /* oversubscription is at least 1 */
    if (legal && moves (number, before, after))
      return TRUE;
  }
  return FALSE;
}

/* A count 10 % up and down, rounded away from it, or cut down to one, or a hundred times: limits show when they are reached. */
static gboolean count_moves (const Number *number, gint64 value) {
  gint64 step = (value + 9) / 10;
  gint64 others[] = {value + step, value - step, 1, 2, 100 * value};
  g_autofree char *before = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autofree char *after = g_strdup_printf ("%" G_GINT64_FORMAT, others[i]);
    if (others[i] != value && others[i] > 0 && moves (number, before, after))
      return TRUE;
  }
  return FALSE;
}

/* Keys that these answers do not show: cores and memory (host work and `check --memory`), how many machines a
 * node is made of (a picture), how many sockets (routes: test_topologies.c; their links are fast). */
static gboolean is_exempt (const char *path) {
  static const char *const ends[] = {".host.cores", ".host.memory", ".host.count", ".host.sockets"};
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    if (g_str_has_suffix (path, ends[i]))
      return TRUE;
  return FALSE;
}

static guint check_number (LsConfig *config, const LsConfigKey *key, const char *file,
                           const char *path) {
  Number number = {.file = file, .path = path, .base = size_for_numbers (file)};
  gboolean moved = TRUE;
  if (!ls_config_has (config, path) || (key->flags & LS_CONFIG_LIST) || is_exempt (path))
    return 0;
  if (key->choices != NULL && ls_config_is_word (config, path, key->choices[0]))
    return 0;
  if (g_str_equal (path, "cluster.groups.main.nodes") && number.base != NULL)
    return 0;
  if (key->type == LS_CONFIG_INTEGER)
    moved = count_moves (&number, ls_config_get_int (config, path));
  else if (key->type == LS_CONFIG_NUMBER) {
    moved = number_moves (&number, "", ls_config_get_number (config, path));
  } else if (key->type == LS_CONFIG_QUANTITY && !ls_config_is_percent (config, path)) {
    const char *word = ls_config_get_string (config, path);
    if (g_str_has_prefix (word, "pcie"))
      return 0;
    double value = key->dimension == LS_DIMENSION_TIME
                       ? (double) ls_config_get_time_ps (config, path) * 1e-12
                       : ls_config_get_quantity (config, path);
    moved = number_moves (&number, ls_dimension_base_unit (key->dimension), value);
  } else
    return 0;
  ck_assert_msg (moved, "%s: %s moves nothing", file, path);
  return 1;
}

/* All real paths of a row: every `*` takes the names there. */
static guint check_row (LsConfig *config, const LsConfigKey *key, const char *file,
                        const char *path) {
  const char *star = strchr (path, '*');
  guint n = 0;
  if (star == NULL)
    return check_number (config, key, file, path);
  g_autofree char *map = g_strndup (path, (gsize) (star - path - 1));
  if (!ls_config_has (config, map))
    return 0;
  g_auto (GStrv) names = ls_config_get_names (config, map);
  for (guint i = 0; names[i] != NULL; i++) {
    g_autofree char *quoted = ls_config_path (names[i], NULL);
    g_autofree char *next = g_strdup_printf ("%s.%s%s", map, quoted, star + 1);
    n += check_row (config, key, file, next);
  }
  return n;
}

START_TEST (every_number_counts) {
  g_autoptr (GPtrArray) files = shipped ();
  guint n = 0;
  for (guint i = 0; i < files->len; i++) {
    TestScenario scenario = test_scenario (files->pdata[i], NULL, NULL);
    for (const LsConfigKey *key = ls_cluster_keys; key->path != NULL; key++)
      if (key->type == LS_CONFIG_INTEGER || key->type == LS_CONFIG_NUMBER ||
          key->type == LS_CONFIG_QUANTITY)
        n += check_row (scenario.config, key, files->pdata[i], key->path);
    test_scenario_clear (&scenario);
  }
  ck_assert_uint_gt (n, 100);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("net shipped");
  TCase *tests = tcase_create ("shipped");
  tcase_add_test (tests, all_are_good);
  tcase_add_test (tests, every_number_counts);
  suite_add_tcase (suite, tests);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
