/* `lockstep query`: provided questions and the user's own SQL on a trace, read-only. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/data_files.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/queries.h"
#include "trace/query_run.h"

static const LsOption options[] = {
    {"param", 'p', LS_OPTION_LIST, "NAME=VALUE", "a parameter of the query; may be repeated", NULL},
    {"format", 0, LS_OPTION_STRING, "FORMAT", "table, csv, tsv, json or markdown",
     "table csv tsv json markdown"},
    {"limit", 0, LS_OPTION_INTEGER, "N", "at most so many rows", NULL},
    {"time-limit", 0, LS_OPTION_INTEGER, "SECONDS", "give up after so long", NULL},
    {"file", 'f', LS_OPTION_STRING, "FILE", "read the SQL from a file (- is standard input)",
     "@file"},
    {"show", 0, LS_OPTION_STRING, "NAME", "print the SQL of a provided query", "@queries"},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

GPtrArray *ls_cli_queries (GError **error) {
  g_autofree char *data = ls_data_dir ();
  g_autofree char *folder = data ? g_build_filename (data, "tools", "queries", NULL) : NULL;

  if (!folder) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_IO,
                         "the provided queries (tools/queries/*.sql) are not there");
    return NULL;
  }
  return ls_queries_load (folder, error);
}

static const LsQuery *find (const GPtrArray *queries, const char *name, GError **error) {
  const LsQuery *query = ls_queries_find (queries, name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;

  if (query)
    return query;
  for (guint i = 0; i < queries->len; i++)
    g_ptr_array_add (names, (gpointer) ls_query_name (queries->pdata[i]));
  g_ptr_array_add (names, NULL);
  near = ls_nearest (name, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no query '%s'%s%s%s; 'lockstep query' lists them",
               name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return NULL;
}

static void append_query (GString *out, const LsQuery *query) {
  g_string_append_printf (out, "%s\n    %s\n", ls_query_name (query), ls_query_question (query));
  for (guint i = 0; i < ls_query_n_parameters (query); i++) {
    const LsQueryParameter *parameter = ls_query_parameter (query, i);

    g_string_append_printf (out, "    --param %s=  %s\n", parameter->name, parameter->meaning);
  }
}

static int list_queries (LsCli *cli, const GPtrArray *queries, GError **error) {
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *document = NULL;
  LsJson *json;

  for (guint i = 0; i < queries->len; i++)
    append_query (out, queries->pdata[i]);
  if (!cli->json)
    return ls_cli_write (cli, out->str, error) ? 0 : 2;
  json = ls_json_new ();
  ls_json_open_array (json, NULL);
  for (guint i = 0; i < queries->len; i++) {
    const LsQuery *query = queries->pdata[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "name", ls_query_name (query));
    ls_json_string (json, "question", ls_query_question (query));
    ls_json_string (json, "reading", ls_query_reading (query));
    ls_json_open_object (json, "parameters");
    for (guint k = 0; k < ls_query_n_parameters (query); k++)
      ls_json_string (json, ls_query_parameter (query, k)->name,
                      ls_query_parameter (query, k)->meaning);
    ls_json_close (json);
    ls_json_close (json);
  }
  ls_json_close (json);
  document = ls_json_finish (json);
  return ls_cli_write (cli, document, error) ? 0 : 2;
}

static char *read_sql (const char *path, GError **error) {
  g_autoptr (GError) local = NULL;
  char *text = NULL;

  if (!ls_file_read (g_str_equal (path, "-") ? "/dev/stdin" : path, LS_FILE_MAX, &text, NULL,
                     &local))
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s: the SQL %s", path, local->message);
  return text;
}

/* The SQL that the line asks for (transfer full). */
static char *choose_sql (LsCli *cli, const GPtrArray *queries, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  const char *file = ls_args_string (cli->args, "file");
  const char *word = words->len > 1 ? words->pdata[1] : NULL;
  const LsQuery *query;

  if (words->len > 2) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "one query at a time; put SQL in quotes");
    return NULL;
  }
  if (file || (word && g_str_equal (word, "-")))
    return read_sql (file ? file : "-", error);
  LS_REQUIRE (word != NULL, "no query to choose");
  if (strpbrk (word, " \n\t;"))
    return g_strdup (word);
  query = find (queries, word, error);
  return query ? g_strdup (ls_query_sql (query)) : NULL;
}

static gboolean to_string (gpointer self, const char *text, gsize size) {
  g_string_append_len (self, text, (gssize) size);
  return TRUE;
}

static gboolean to_stdout (gpointer self, const char *text, gsize size) {
  (void) self;
  return fwrite (text, 1, size, stdout) == size;
}

/* What fills tables that most traces leave empty; events last, for every query of a trace of level `steps`. */
static const struct {
  const char *table, *lacks;
} filled[] = {
    {"interval", "campaign; a run with the section `campaign` records one"},
    {"metric", "learning; a run with the section `learn` records it"},
    {"gradient", "gradients of workers; a run with `workload.update` records them"},
    {"update_log", "updates of workers; a run with `workload.update` records them"},
    {"event", "operations; a run with --trace ops records them"},
};

/* Why a query found nothing (transfer full): the first empty table that it reads. */
static char *why_nothing (LsTraceDatabase *database, const char *sql) {
  for (guint i = 0; i < G_N_ELEMENTS (filled); i++) {
    g_autofree char *pattern = g_strdup_printf ("\\b%s\\b", filled[i].table);
    g_autofree char *ask = g_strdup_printf ("SELECT EXISTS (SELECT 1 FROM %s)", filled[i].table);
    g_autofree char *any = NULL;

    if (i + 1 < G_N_ELEMENTS (filled) && !g_regex_match_simple (pattern, sql, G_REGEX_CASELESS, 0))
      continue;
    any = ls_trace_database_text (database, ask, NULL);
    if (g_strcmp0 (any, "0") == 0)
      return g_strdup_printf ("(no rows: this trace holds no %s)", filled[i].lacks);
  }
  return g_strdup ("(no rows)");
}

/* Parameters of provided queries that name something which a trace has or lacks. */
static const struct { const char *name, *table; } named[] = {{"step", "step"}, {"rank", "rank"}};

/* Names of these that are not in the trace: an error with those that are. A trace without any has its own words. */
static gboolean check_named (LsTraceDatabase *database, const GPtrArray *parameters,
                             GError **error) {
  for (guint i = 0; i < parameters->len; i++) {
    const char *word = parameters->pdata[i], *value = strchr (word, '=');

    for (guint k = 0; value && k < G_N_ELEMENTS (named); k++) {
      const char *name = named[k].name, *table = named[k].table;
      gint64 number = -1;

      if (strlen (name) != (gsize) (value - word) || !g_str_has_prefix (word, name) ||
          value[1] == '\0')
        continue;
      const gboolean parsed =
          g_ascii_string_to_signed (value + 1, 10, 0, G_MAXINT64, &number, NULL);
      g_autofree char *there = g_strdup_printf (
          "SELECT EXISTS (SELECT 1 FROM %s WHERE %s = %" G_GINT64_FORMAT ")", table, name, number);
      g_autofree char *all =
          g_strdup_printf ("SELECT min(%s) || ' to ' || max(%s) FROM %s", name, name, table);
      g_autofree char *found = ls_trace_database_text (database, there, NULL);
      g_autofree char *range = ls_trace_database_text (database, all, NULL);

      if ((parsed && g_strcmp0 (found, "1") == 0) || (parsed && (!range || !*range)))
        continue;
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--param %s: no %s '%s'; this trace has %ss %s",
                   word, name, value + 1, name, range && *range ? range : "by number");
      return FALSE;
    }
  }
  return TRUE;
}

static int run_sql (LsCli *cli, const char *path, const char *sql, gboolean provided,
                    GError **error) {
  g_autofree char *file = ls_output_resolve (path, error);
  g_autoptr (LsTraceDatabase) database = file ? ls_trace_database_open (file, error) : NULL;
  g_autoptr (GPtrArray) parameters = ls_args_list (cli->args, "param");
  g_autoptr (GString) text = g_string_new (NULL);
  const char *format = ls_args_string (cli->args, "format");
  gboolean to_file = ls_args_has (cli->args, "output");
  LsQueryOptions how = {.format = cli->json ? LS_QUERY_JSON : LS_QUERY_TABLE,
                        .stop = ls_interrupt_flag ()};
  LsQueryResult result;

  /* A database named on the line and not there is bad input, as a scenario file would be. */
  if (!database) {
    if (error && *error)
      (*error)->code = LS_ERROR_USAGE;
    return 2;
  }
  if (provided && !check_named (database, parameters, error))
    return 2;
  if (format)
    ls_query_format_from_name (format, &how.format);
  how.limit = ls_args_integer (cli->args, "limit", 0);
  how.time_limit_s = (double) ls_args_integer (cli->args, "time-limit", 0);
  g_ptr_array_add (parameters, NULL);
  if (!ls_trace_database_query (database, sql, (const char *const *) parameters->pdata, &how,
                                to_file ? to_string : to_stdout, text, &result, error))
    return 2;
  if (to_file && !ls_cli_write (cli, text->str, error))
    return 2;
  if (fflush (stdout) != 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_IO, "standard output: cannot write");
    return 1;
  }
  if (result.n_rows == 0) {
    g_autofree char *why = why_nothing (database, sql);

    ls_cli_note (cli, "%s", why);
  }
  if (result.cut)
    ls_cli_note (cli, "(more rows; --limit %" G_GINT64_FORMAT " cut them)", how.limit);
  return 0;
}

/* A database that can be asked. */
static gboolean is_trace (const char *path, GError **error) {
  g_autofree char *file = ls_output_resolve (path, error);
  g_autoptr (LsTraceDatabase) database = file ? ls_trace_database_open (file, error) : NULL;

  if (!database && error && *error)
    (*error)->code = LS_ERROR_USAGE;
  return database != NULL;
}

static int run_query (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  g_autoptr (GPtrArray) queries = ls_cli_queries (error);
  const char *show = ls_args_string (cli->args, "show");
  g_autofree char *sql = NULL;
  gboolean provided;

  if (!queries)
    return 2;
  if (show) {
    const LsQuery *query = find (queries, show, error);

    return query && ls_cli_write (cli, ls_query_sql (query), error) ? 0 : 2;
  }
  if (words->len == 0)
    return list_queries (cli, queries, error);
  if (words->len == 1 && !ls_args_has (cli->args, "file"))
    return is_trace (words->pdata[0], error) ? list_queries (cli, queries, error) : 2;
  sql = choose_sql (cli, queries, error);
  provided = words->len == 2 && ls_queries_find (queries, words->pdata[1]) != NULL;
  return sql ? run_sql (cli, words->pdata[0], sql, provided, error) : 2;
}

const LsCommand ls_command_query = {
    .name = "query",
    .usage = "[DB [NAME | SQL | -]] [options]",
    .summary = "ask a trace a provided question, or one of your own in SQL",
    .description = "DB is a trace database; @last is that of the last run in this folder. Without "
                   "a name, lists the "
                   "provided questions and their parameters. A word with blanks is SQL. Databases "
                   "are opened read-only, "
                   "also while a run is still writing them.",
    .examples = "where did the time of the last run go\tlockstep query @last time_breakdown\n"
                "the slowest kernels of rank 3, for a spreadsheet\tlockstep query @last "
                "longest_operations -p rank=3 --format csv\n"
                "SQL of your own\tlockstep query @last \"SELECT kind, count(*) FROM events GROUP "
                "BY kind\"\n",
    .positional = "@file",
    .options = options,
    .run = run_query,
};
