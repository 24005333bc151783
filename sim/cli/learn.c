/* `lockstep learn`: replays real learning on the timing that a trace holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "cli/data_files.h"
#include "cli/interrupt.h"
#include "cli/learning.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario.h"
#include "trace/update_reader.h"

/* Learning rates of one grid at most. source: choice */
#define RATES_MAX 200

static const LsOption options[] = {
    {"csv", 0, LS_OPTION_STRING, "FILE", "write every measurement as CSV (- is standard output)",
     "@file"},
    {"lr-grid", 0, LS_OPTION_STRING, "GRID",
     "learning rates to try: a list 0.1,1 or FROM:TO:log10, FROM:TO:log2, FROM:TO:N (the key "
     "learn.lr_grid)",
     NULL},
    {"replications", 0, LS_OPTION_INTEGER, "N", "seeds to run (the key learn.replications)", NULL},
    {"threads", 0, LS_OPTION_INTEGER, "N", "threads; as many as cores without it", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* --- arguments ------------------------------------------------------------------------------ */

static gboolean grid_fault (const char *text, GError **error) {
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "--lr-grid %s: write 0.01,0.1,1 or 0.001:1:log10 (each ten times the one before), "
               "0.001:1:log2, or 0.001:1:7 (seven, evenly in the logarithm)",
               text);
  return FALSE;
}

/* "[0.001, 0.01, ...]" of a grid; NULL and LS_ERROR_USAGE. */
static char *grid_list (const char *text, GError **error) {
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  g_autoptr (GString) list = g_string_new ("[");
  double from, to, factor = 1;
  guint64 n = 0;

  if (strchr (text, ':') == NULL)
    return g_strdup_printf ("[%s]", text);
  if (g_strv_length (parts) != 3 || !ls_number_parse (parts[0], &from) ||
      !ls_number_parse (parts[1], &to) || !(from > 0) || !(to >= from)) {
    grid_fault (text, error);
    return NULL;
  }
  if (g_str_equal (parts[2], "log10") || g_str_equal (parts[2], "log2")) {
    factor = g_str_equal (parts[2], "log10") ? 10 : 2;
    /* To the end, which rounding must not cut off. */
    n = (guint64) MIN (floor (log (to / from) / log (factor) + 1e-9) + 1, 1e6);
  } else if (g_ascii_string_to_unsigned (parts[2], 10, 1, RATES_MAX, &n, NULL))
    factor = n > 1 ? pow (to / from, 1 / (double) (n - 1)) : 1;
  if (n == 0 || n > RATES_MAX) {
    grid_fault (text, error);
    return NULL;
  }
  for (guint64 i = 0; i < n; i++)
    g_string_append_printf (list, "%s%.6g", i > 0 ? ", " : "", from * pow (factor, (double) i));
  g_string_append_c (list, ']');
  return g_string_free (g_steal_pointer (&list), FALSE);
}

/* A database by its first bytes; what cannot be opened goes by its name. */
static gboolean is_database (const char *path) {
  char start[16] = {0};
  FILE *file = fopen (path, "rb");
  gsize got;

  if (file == NULL)
    return g_str_has_suffix (path, ".db") || g_str_equal (path, "@last");
  got = fread (start, 1, sizeof start, file);
  fclose (file);
  return got == sizeof start && memcmp (start, "SQLite format 3", 16) == 0;
}

/* --- the scenario --------------------------------------------------------------------------- */

typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfig *config;
  LsLearnSettings *settings;
  LsLearnTask *task;
  GPtrArray *databases; /* char * */
  GPtrArray *files;     /* char *, borrowed */
} Lesson;

static void lesson_clear (Lesson *lesson) {
  ls_learn_task_free (lesson->task);
  ls_learn_settings_free (lesson->settings);
  ls_config_free (lesson->config);
  if (lesson->errors)
    ls_config_errors_free (lesson->errors);
  if (lesson->schema)
    ls_config_schema_free (lesson->schema);
  if (lesson->databases)
    g_ptr_array_unref (lesson->databases);
  if (lesson->files)
    g_ptr_array_unref (lesson->files);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Lesson, lesson_clear)

static gboolean sort_arguments (LsCli *cli, Lesson *lesson, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);

  lesson->databases = g_ptr_array_new_with_free_func (g_free);
  lesson->files = g_ptr_array_new ();
  for (guint i = 0; i < words->len; i++) {
    g_autofree char *path = ls_output_resolve (words->pdata[i], error);

    if (!path)
      return FALSE;
    if (is_database (path) && !g_file_test (path, G_FILE_TEST_EXISTS)) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s: No such file", path);
      return FALSE;
    }
    if (is_database (path))
      g_ptr_array_add (lesson->databases, g_steal_pointer (&path));
    else
      g_ptr_array_add (lesson->files, words->pdata[i]);
  }
  if (lesson->databases->len > 0)
    return TRUE;
  g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                       "no trace database given; `lockstep run` writes one, and @last means the "
                       "last one");
  return FALSE;
}

/* Without files, the learn section that the first run had itself. */
static gboolean add_own_section (Lesson *lesson, LsConfigBuilder *builder, GError **error) {
  g_autoptr (LsUpdateReader) reader = ls_update_reader_new (lesson->databases->pdata[0], error);
  g_autofree char *scenario = NULL;

  if (!reader)
    return FALSE;
  scenario = ls_update_reader_text (reader, "scenario");
  if (scenario)
    ls_config_builder_add_text (builder, lesson->databases->pdata[0], scenario, -1);
  return TRUE;
}

static gboolean add_options (LsCli *cli, LsConfigBuilder *builder, GError **error) {
  const GPtrArray *settings = ls_args_settings (cli->args);
  const char *grid = ls_args_string (cli->args, "lr-grid");
  const char *seed = ls_args_string (cli->args, "seed");
  gint64 replications = ls_args_integer (cli->args, "replications", -1);

  for (guint i = 0; i < settings->len; i++) {
    const LsSetting *setting = settings->pdata[i];

    if (setting->unset)
      ls_config_builder_unset (builder, setting->text);
    else
      ls_config_builder_set (builder, setting->text);
  }
  if (grid) {
    g_autofree char *list = grid_list (grid, error);

    if (!list)
      return FALSE;
    ls_config_builder_set_as (builder, "--lr-grid", "learn.lr_grid", list);
  }
  if (replications >= 0) {
    g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, replications);

    ls_config_builder_set_as (builder, "--replications", "learn.replications", text);
  }
  if (seed)
    ls_config_builder_set_as (builder, "--seed", "seed", seed);
  return TRUE;
}

/* Only what is said of learning counts here; the rest of a scenario is not read. */
static gboolean report (LsCli *cli, const Lesson *lesson) {
  const gboolean fine = !ls_config_errors_any (lesson->errors);
  g_autoptr (LsConfigErrors) said = ls_config_errors_new ();
  g_autofree char *text = NULL;

  for (guint i = 0; i < ls_config_errors_length (lesson->errors); i++) {
    const LsConfigFault fault = ls_config_errors_get (lesson->errors, i);
    const LsConfigPosition at = {fault.file, fault.line, fault.column};

    if (fault.kind == LS_CONFIG_FAULT_WARNING && !g_str_has_prefix (fault.message, "learn"))
      continue;
    if (fine)
      ls_cli_warn_at (cli, fault.file, fault.line, fault.column, fault.message);
    else
      ls_config_errors_add (said, fault.kind, at, "%s", fault.message);
  }
  if (fine)
    return TRUE;
  text = ls_config_errors_text (said);
  fputs (text, stderr);
  return FALSE;
}

/* What a key is for may differ from one timing to another: only one alone says what has no effect. */
static void mark_policy (Lesson *lesson) {
  g_autoptr (LsUpdateReader) reader =
      lesson->databases->len == 1 ? ls_update_reader_new (lesson->databases->pdata[0], NULL) : NULL;

  if (reader != NULL)
    ls_learning_mark (lesson->config, ls_update_reader_info (reader)->policy);
}

static gboolean read_lesson (LsCli *cli, Lesson *lesson, GError **error) {
  g_autoptr (LsConfigBuilder) builder = NULL;

  if (!sort_arguments (cli, lesson, error))
    return FALSE;
  lesson->schema = ls_scenario_schema ();
  lesson->errors = ls_config_errors_new ();
  builder = ls_config_builder_new (lesson->schema);
  ls_config_builder_optional (builder, "cluster");
  ls_config_builder_optional (builder, "workload");
  for (guint i = 0; i < lesson->files->len; i++) {
    g_autofree char *path = ls_data_find_file (lesson->files->pdata[i]);

    ls_config_builder_add_file (builder, path);
  }
  if ((lesson->files->len == 0 && !add_own_section (lesson, builder, error)) ||
      !add_options (cli, builder, error))
    return FALSE;
  lesson->config = ls_config_builder_build (builder, lesson->errors);
  if (lesson->config && ls_config_is_readable (lesson->config)) {
    if (!ls_config_has (lesson->config, "learn")) {
      g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                           "no learn section: give a file that has one, or --set "
                           "learn.problem=softmax");
      return FALSE;
    }
    lesson->settings = ls_learn_settings_new (lesson->config, lesson->errors);
    mark_policy (lesson);
    ls_config_warn_unused (lesson->config, lesson->errors);
  }
  if (!report (cli, lesson))
    return FALSE;
  lesson->task = ls_learning_task (lesson->settings, error);
  return lesson->task != NULL;
}

/* --- the replay ----------------------------------------------------------------------------- */

static void on_progress (gpointer self, double share) {
  ls_progress_update (self, share, NULL);
}

static LsLearning *replay (LsCli *cli, const Lesson *lesson, const char *path, GError **error) {
  g_autoptr (LsUpdateReader) reader = ls_update_reader_new (path, error);
  g_autoptr (LsLearning) learning = NULL;
  g_autoptr (LsProgress) progress = NULL;
  const LsUpdateLogInfo *info;
  guint64 seed;

  LS_REQUIRE (lesson->settings != NULL, "a lesson without settings");
  if (!reader)
    return NULL;
  info = ls_update_reader_info (reader);
  if (info->from_steps && !info->from_campaign && lesson->settings->batch == 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: a trace of synchronous steps does not say how many samples a replica's step "
                 "had; give learn.batch",
                 path);
    return NULL;
  }
  seed = ls_config_has (lesson->config, "seed")
             ? (guint64) ls_config_get_int (lesson->config, "seed")
             : (guint64) info->seed;
  learning = ls_learning_new (lesson->settings, lesson->task, path, info->policy, info->workers,
                              info->shards, seed, (guint) ls_args_integer (cli->args, "threads", 0),
                              error);
  if (!learning)
    return NULL;
  g_autofree char *price = ls_update_reader_text (reader, "usd_per_s");
  if (price != NULL)
    ls_learning_set_price (learning, g_ascii_strtod (price, NULL));
  progress = ls_progress_new (cli, "learning");
  ls_ensemble_set_stop (ls_learning_ensemble (learning), ls_interrupt_flag ());
  if (!ls_update_reader_run (reader, &ls_ensemble_sink, ls_learning_ensemble (learning),
                             on_progress, progress, ls_interrupt_flag (), error))
    return NULL;
  if (ls_learning_finish (learning))
    return g_steal_pointer (&learning);
  g_set_error (error, LS_ERROR, LS_ERROR_INTERRUPTED, "%s: interrupted; nothing is written", path);
  return NULL;
}

static gboolean write_csv (LsCli *cli, const GPtrArray *learnings, GError **error) {
  const char *path = ls_args_string (cli->args, "csv");
  g_autoptr (GString) csv = g_string_new (NULL);

  if (!path)
    return TRUE;
  ls_learning_csv_header (csv);
  for (guint i = 0; i < learnings->len; i++)
    ls_learning_csv (learnings->pdata[i], csv);
  if (g_str_equal (path, "-")) {
    fputs (csv->str, stdout);
    return TRUE;
  }
  return ls_cli_write_file (cli, path, csv->str, error);
}

static gboolean write_results (LsCli *cli, const GPtrArray *learnings, GError **error) {
  const char *csv = ls_args_string (cli->args, "csv");
  g_autofree char *text = NULL;

  if (!write_csv (cli, learnings, error))
    return FALSE;
  if (g_strcmp0 (csv, "-") == 0)
    return TRUE;
  if (cli->json) {
    LsJson *json = ls_json_new ();

    ls_json_open_object (json, NULL);
    ls_json_open_array (json, "runs");
    for (guint i = 0; i < learnings->len; i++)
      ls_learning_json (learnings->pdata[i], json, NULL);
    ls_json_close (json);
    ls_json_strings (json, "warnings", cli->warnings);
    ls_json_close (json);
    text = ls_json_finish (json);
  } else {
    GString *out = g_string_new (NULL);

    for (guint i = 0; i < learnings->len && !cli->quiet; i++) {
      g_string_append (out, i > 0 ? "\n" : "");
      ls_learning_text (learnings->pdata[i], out);
    }
    text = g_string_free (out, FALSE);
  }
  return ls_cli_write (cli, text, error);
}

static void free_learning (gpointer learning) {
  ls_learning_free (learning);
}

static int run_learn (LsCli *cli, GError **error) {
  g_auto (Lesson) lesson = {0};
  g_autoptr (GPtrArray) learnings = g_ptr_array_new_with_free_func (free_learning);
  const char *csv = ls_args_string (cli->args, "csv");

  if (csv && !g_str_equal (csv, "-") && !ls_cli_may_write (cli, csv, error))
    return 2;
  if (!read_lesson (cli, &lesson, error))
    return 2;
  for (guint i = 0; i < lesson.databases->len; i++) {
    LsLearning *learning = replay (cli, &lesson, lesson.databases->pdata[i], error);

    if (!learning)
      return 1;
    g_ptr_array_add (learnings, learning);
  }
  return write_results (cli, learnings, error) ? 0 : 1;
}

const LsCommand ls_command_learn = {
    .name = "learn",
    .usage = "DB... [FILE...] [options]",
    .summary = "replay real learning on the timing that traces hold",
    .description =
        "Replays the update log of each trace (or, for a synchronous run, its steps) with a real "
        "problem: the `learn` section of the files and settings given, without files that of the "
        "first trace's own scenario. Several traces (policies) learn the same problem on the same "
        "mini-batches.\nEvery run is repeated for learn.replications seeds and for each learning "
        "rate of learn.lr_grid; shown is the best rate, with 95 % bands. --csv writes all "
        "measurements of all of them. What the keys mean: docs/learning.md and docs/scenario.md.",
    .examples =
        "another problem on the last run\tlockstep learn @last --set learn.problem=softmax\n"
        "tuned rates, ten seeds, as CSV\tlockstep learn sync.db async.db lesson.yaml "
        "--lr-grid 0.001:1:log10 --replications 10 --csv out.csv\n",
    .positional = "@db @file",
    .options = options,
    .takes_scenario = TRUE,
    .run = run_learn,
};
