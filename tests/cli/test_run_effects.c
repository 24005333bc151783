/* No key of what goes on around a step is silently ignored: learning, campaigns, failures, prices, traces. Given a legal
 * value that is not its default, each changes what a run prints or writes, or is told to have no effect.
 *
 * Model:      small scenarios of tests/cli/effects run by the program itself; the answer is its JSON without the time it
 *             took, the rows of each table of its trace, and its warnings. Values as in test_effects.c, which walks what a
 *             step is made of.
 * Left out:   keys whose value must name something (files, presets of data that may not be here).
 */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "outcomes.h"
#include "suite.h"

static const char *const bases[] = {"lesson", "rounds", "valley", "months"};

static const char *const parts[] = {"learn.", "campaign.", "faults.failures.",
                                    "cost.",  "trace.",    NULL};
static const char *const stars[][2] = {
    {"failures.*", "failures.chips"}, {"gpu.*", "gpu.main"}, {NULL, NULL}};

/* Does it show in the trace alone? */
static gboolean is_traced (const char *setting) {
  return g_str_has_prefix (setting, "trace") || g_str_has_prefix (setting, "learn.evaluate");
}

/* How many rows each table has. */
static void append_rows (GString *out, const char *path) {
  static const char *const tables =
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
  sqlite3 *db = NULL;
  sqlite3_stmt *names = NULL;

  if (sqlite3_open_v2 (path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2 (db, tables, -1, &names, NULL) == SQLITE_OK)
    while (sqlite3_step (names) == SQLITE_ROW) {
      const char *table = (const char *) sqlite3_column_text (names, 0);
      g_autofree char *sql = g_strdup_printf ("SELECT count(*) FROM \"%s\"", table);
      sqlite3_stmt *count = NULL;

      if (sqlite3_prepare_v2 (db, sql, -1, &count, NULL) == SQLITE_OK &&
          sqlite3_step (count) == SQLITE_ROW)
        g_string_append_printf (out, "%s %d\n", table, sqlite3_column_int (count, 0));
      sqlite3_finalize (count);
    }
  sqlite3_finalize (names);
  sqlite3_close (db);
}

/* Without the line of the wall time. */
static void append_json (GString *out, const char *json) {
  g_auto (GStrv) lines = g_strsplit (json, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++) {
    char *wall = strstr (lines[i], "\"wall_s\": ");
    if (wall != NULL) {
      const char *rest = strstr (wall + 1, ", \"");
      g_string_append_len (out, lines[i], wall - lines[i]);
      g_string_append (out, rest != NULL ? rest : "");
    } else
      g_string_append_printf (out, "%s\n", lines[i]);
  }
}

/* What a run of a scenario with one setting prints, and writes where the setting is of the trace (writing takes longer
 * than all else); NULL: it is refused. */
static char *outcome (const char *base, const char *setting) {
  g_autoptr (LsScenario) scenario = outcome_scenario (base, setting);
  g_autofree char *path =
      g_strdup_printf ("%s/tests/cli/effects/%s.yaml", LS_TEST_SOURCE_DIR, base);
  g_autofree char *trace = g_strdup_printf ("run-effects-%d.db", (int) getpid ());
  g_autofree char *out = NULL, *err = NULL;
  gboolean traced = is_traced (setting);
  const char *argv[] = {LS_TEST_PROGRAM,
                        "run",
                        path,
                        "--json",
                        "--set",
                        setting,
                        "--no-progress",
                        traced ? "-o" : "--trace",
                        traced ? trace : "none",
                        traced ? "--force" : NULL,
                        NULL};
  GString *all;
  gint status;

  /* Half of the values are: no process is needed to hear it. */
  if (outcome_is_refused (scenario))
    return NULL;
  ck_assert (g_spawn_sync (NULL, (char **) argv, NULL, 0, NULL, NULL, &out, &err, &status, NULL));
  if (!g_spawn_check_wait_status (status, NULL)) {
    g_unlink (trace);
    return NULL;
  }
  all = g_string_new (err);
  append_json (all, out);
  if (traced)
    append_rows (all, trace);
  g_unlink (trace);
  return g_string_free (all, FALSE);
}

/* Why a key may be silent in a scenario. */
static const OutcomeInert inert[] = {
    {NULL, "trace.ranks", "two or three ranks"},
    {NULL, "learn.data.kind", "other kinds name a file"},
    {NULL, "learn.problem.kind", "other ones need data"},
    {NULL, "learn.precision.parameters", "fp64, which does not mix, is given"},
    {NULL, "learn.precision.activations", "fp64, which does not mix, is given"},
    {NULL, "learn.precision.gradients", "fp64, which does not mix, is given"},
    {NULL, "faults.failures.chips.lifetime.dist", "other ones need more keys"},
    {NULL, "faults.failures.chips.repair.dist", "other ones need more keys"},
    {NULL, "campaign.precision", "goodput is known better than by half"},
    {"rounds", "learn.data.generator", "pictures, which only bars makes"},
    {NULL, NULL, NULL},
};

/* Does the scenario have the part that the key is of? Another part would only be warned about. */
static gboolean has_part (const LsScenario *scenario, const char *path) {
  g_auto (GStrv) segments = g_strsplit (path, ".", 2);
  const char *part = g_str_has_prefix (path, "faults.") ? "faults.failures" : segments[0];

  return g_str_equal (part, "trace") || ls_config_has (scenario->config, part);
}

START_TEST (no_key_is_ignored_in_silence) {
  const char *base = bases[_i];
  g_autoptr (LsScenario) scenario = outcome_scenario (base, NULL);
  g_autoptr (GString) silent = g_string_new (NULL);
  g_autofree char *before = outcome (base, "seed=1"), *traced = outcome (base, "trace.level=ops");
  guint keys = 0;

  ck_assert_msg (before != NULL, "%s is refused", base);
  for (guint i = 0; i < ls_config_schema_size (scenario->schema); i += test_stride ()) {
    const LsConfigKey *key = ls_config_schema_row (scenario->schema, i);
    g_autofree char *path = outcome_path (key, parts, stars);
    g_autoptr (GPtrArray) values = outcome_values (key);

    if (path == NULL || values->len == 0 || !has_part (scenario, path))
      continue;
    keys++;
    if (!outcome_is_heard (outcome, base, is_traced (path) ? traced : before, path, values) &&
        !outcome_may_be_silent (inert, base, path))
      g_string_append_printf (silent, "%s in %s\n", path, base);
  }
  ck_assert_str_eq (silent->str, "");
  ck_assert_uint_ge (keys * test_stride (), 40);
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_loop_test (tcase, no_key_is_ignored_in_silence, 0, G_N_ELEMENTS (bases));
}

LS_TEST_MAIN ("run_effects", add)
