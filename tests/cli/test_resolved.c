/* A resolved scenario (`check --resolved`, the `scenario` of a trace) is the same scenario: read back it says nothing that
 * was not said before, and answers the same.
 *
 * Model:      the small scenarios of tests/cli/effects, alone and with two legal values of each key of the schema on top,
 *             written with all defaults and read again. The defaults then stand as given: one that has no effect would
 *             warn, one that is asked for as "given?" would change the answer.
 * Left out:   the answer of most settings (the messages of all are compared; every 25th runs).
 */
#include <string.h>

#include "config/output.h"
#include "outcomes.h"
#include "suite.h"

#define MOST_VALUES 2
#define ANSWERED 25 /* of so many settings one runs */

static const char *const bases[] = {"dense", "zero3", "moe", "context", "async", "traffic"};

/* Lines without the reason: what has no effect may have another one now that it is given. */
static char **keys_said (const char *said) {
  char **lines = g_strsplit (said, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++) {
    char *reason = strstr (lines[i], " has no effect here");

    if (reason != NULL)
      *reason = 0;
  }
  return lines;
}

/* Is the key, or a map that holds it, among those said? A map of which nothing is used is said as a whole. */
static gboolean is_said (char **old, const char *line) {
  for (guint i = 0; old[i] != NULL; i++) {
    const gsize length = strlen (old[i]);

    if (g_str_equal (old[i], line) ||
        (length > 0 && g_str_has_prefix (line, old[i]) && line[length] == '.'))
      return TRUE;
  }
  return FALSE;
}

/* Lines of @after that @before lacks. */
static char *new_lines (const char *before, const char *after) {
  g_auto (GStrv) old = keys_said (before), lines = keys_said (after);
  GString *out = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    if (!is_said (old, lines[i]))
      g_string_append_printf (out, "%s\n", lines[i]);
  return g_string_free (out, FALSE);
}

/* Writes, reads, compares; FALSE: a refused scenario. */
static gboolean check_back (const char *base, const char *setting, gboolean answers,
                            GString *faults) {
  g_autoptr (LsScenario) scenario = outcome_scenario (base, setting);
  g_autoptr (LsScenario) back = NULL;
  g_autofree char *text = NULL, *said = NULL, *again = NULL, *added = NULL, *second = NULL;

  if (ls_config_errors_any (scenario->errors) || scenario->workload == NULL)
    return FALSE;
  text = ls_config_to_yaml (scenario->config, LS_CONFIG_WRITE_DEFAULTS);
  back = ls_scenario_from_text ("resolved.yaml", text);
  said = outcome_said (scenario);
  again = outcome_said (back);
  added = new_lines (said, again);
  if (added[0] != 0)
    g_string_append_printf (faults, "%s, %s read back: %s", base, setting, added);
  second = ls_config_to_yaml (back->config, LS_CONFIG_WRITE_DEFAULTS);
  if (strcmp (text, second) != 0)
    g_string_append_printf (faults, "%s, %s is written otherwise when read back\n", base, setting);
  if (answers) {
    g_autofree char *before = outcome_of (scenario), *after = outcome_of (back);

    if (g_strcmp0 (before, after) != 0)
      g_string_append_printf (faults, "%s, %s answers otherwise when read back:\n%s\n%s\n", base,
                              setting, before, after);
  }
  return TRUE;
}

/* Names in place of stars, as the scenarios have them; NULL: there is no such thing. */
static char *path_of (const LsConfigKey *key) {
  static const char *const stars[][2] = {{"groups.*", "groups.main"},
                                         {"fabrics.*", "fabrics.compute"},
                                         {"nics.*", "nics.compute"},
                                         {"stragglers.*", "stragglers.slow"}};
  g_autoptr (GString) path = g_string_new (key->path);

  for (guint i = 0; i < G_N_ELEMENTS (stars); i++)
    g_string_replace (path, stars[i][0], stars[i][1], 1);
  return strchr (path->str, '*') == NULL ? g_string_free (g_steal_pointer (&path), FALSE) : NULL;
}

START_TEST (resolved_is_the_same_scenario) {
  const char *base = bases[_i];
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autoptr (GString) faults = g_string_new (NULL);
  guint legal = 0;

  ck_assert (check_back (base, "seed=1", TRUE, faults));
  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (schema, i);
    g_autofree char *path = path_of (key);
    g_autoptr (GPtrArray) values = outcome_values (key);

    for (guint v = 0; path != NULL && v < MIN (values->len, MOST_VALUES); v++) {
      g_autofree char *setting = g_strdup_printf ("%s=%s", path, (char *) values->pdata[v]);

      legal += check_back (base, setting, (i + v) % ANSWERED == 0, faults) ? 1 : 0;
    }
  }
  ck_assert_str_eq (faults->str, "");
  ck_assert_uint_ge (legal, 300);
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_loop_test (tcase, resolved_is_the_same_scenario, 0, G_N_ELEMENTS (bases));
}

LS_TEST_MAIN ("resolved", add)
