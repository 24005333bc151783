/* `lockstep list KIND [NAME]`: the catalogues, as text or JSON. */
#include <string.h>

#include "base/error.h"
#include "base/prose.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/listing.h"

static const LsOption options[] = {
    {"verbose", 'v', LS_OPTION_FLAG, NULL, "every number with its source", NULL},
    {"names", 0, LS_OPTION_FLAG, NULL, "bare names, one a line (for scripts and completion)", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* Columns of a row's facts, and where their sources begin. */
#define FACT_WIDTH 120
#define SOURCE_COLUMN 46
/* Narrower text than this is left to the terminal to fold. */
#define LEAST_COLUMN 24

static char *fact_value (const LsFact *fact) {
  if (fact->text)
    return g_strdup (fact->text);
  if (fact->dimension == LS_DIMENSION_NONE)
    return g_strdup_printf ("%.6g", fact->value);
  return ls_quantity_format (fact->value, fact->dimension);
}

static void append_facts (GString *out, const LsListRow *row) {
  if (*row->aliases)
    g_string_append_printf (out, "    also: %s\n", row->aliases);
  for (guint i = 0; i < row->facts->len; i++) {
    const LsFact *fact = &g_array_index (row->facts, LsFact, i);
    const LsFact *before = i > 0 ? fact - 1 : NULL;
    gboolean same =
        before && before->status == fact->status && g_strcmp0 (before->source, fact->source) == 0;
    g_autofree char *value = fact_value (fact);

    /* Neighbours mostly share a source: it is written once, then " means the same. */
    g_autofree char *source = same ? g_strdup ("\"")
                                   : g_strdup_printf ("%s: %s", ls_fact_status_name (fact->status),
                                                      fact->source ? fact->source : "");
    const gsize line = out->len;

    g_string_append_printf (out, "    %-26s %-13s  ", fact->field, value);
    ls_prose_append (out, source, FACT_WIDTH, SOURCE_COLUMN, (guint) (out->len - line));
  }
  if (row->notes)
    g_string_append_printf (out, "    note: %s\n", row->notes);
}

/* A row and what it is: a line, which a terminal has folded under what it is. */
static void append_row (GString *out, const LsListRow *row, int width, guint columns) {
  const guint indent = (guint) width + 2;

  g_string_append_printf (out, "%-*s  ", width, row->name);
  if (columns > indent + LEAST_COLUMN && strlen (row->name) <= (gsize) width)
    ls_prose_append (out, row->title, columns, indent, indent);
  else
    g_string_append_printf (out, "%s\n", row->title);
}

static char *as_text (const GPtrArray *rows, gboolean names, gboolean verbose, guint columns) {
  GString *out = g_string_new (NULL);
  int width = 0, title = 0;

  for (guint i = 0; i < rows->len; i++) {
    const LsListRow *row = rows->pdata[i];

    width = MAX (width, (int) strlen (row->name));
    title = MAX (title, row->figures ? (int) strlen (row->title) : 0);
  }
  for (guint i = 0; i < rows->len; i++) {
    const LsListRow *row = rows->pdata[i];

    if (names || !*row->title)
      g_string_append_printf (out, "%s\n", row->name);
    else if (row->figures && *row->figures)
      g_string_append_printf (out, "%-*s  %-*s  %s\n", MIN (width, 44), row->name, title,
                              row->title, row->figures);
    else
      append_row (out, row, MIN (width, 44), columns);
    if (verbose)
      append_facts (out, row);
  }
  return g_string_free (out, FALSE);
}

static void append_json_fact (LsJson *json, const LsFact *fact) {
  ls_json_open_object (json, fact->field);
  if (fact->text)
    ls_json_string (json, "value", fact->text);
  else
    ls_json_number (json, "value", fact->value);
  if (!fact->text)
    ls_json_string (json, "unit", ls_dimension_base_unit (fact->dimension));
  ls_json_string (json, "status", ls_fact_status_name (fact->status));
  ls_json_string (json, "source", fact->source);
  ls_json_close (json);
}

static char *as_json (const char *kind, const GPtrArray *rows) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_string (json, "kind", kind);
  ls_json_open_array (json, "rows");
  for (guint i = 0; i < rows->len; i++) {
    const LsListRow *row = rows->pdata[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "name", row->name);
    ls_json_string (json, "title", row->title);
    if (row->figures)
      ls_json_string (json, "figures", row->figures);
    if (*row->aliases)
      ls_json_string (json, "aliases", row->aliases);
    if (row->notes)
      ls_json_string (json, "notes", row->notes);
    if (row->facts->len > 0) {
      ls_json_open_object (json, "facts");
      for (guint k = 0; k < row->facts->len; k++)
        append_json_fact (json, &g_array_index (row->facts, LsFact, k));
      ls_json_close (json);
    }
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
  return ls_json_finish (json);
}

/* A row that is asked for by name, and keys: what they take is half of what they are. */
static gboolean some_in_full (const char *kind, const GPtrArray *some) {
  return some != NULL && (some->len == 1 || g_str_equal (kind, "keys"));
}

static int run_list (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  const char *kind = words->len > 0 ? words->pdata[0] : "kinds of things";
  g_autoptr (GPtrArray) rows = NULL;
  g_autoptr (GPtrArray) some = NULL;
  g_autofree char *text = NULL;

  if (words->len > 2) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "one kind and one name at a time");
    return 2;
  }
  rows = words->len > 0 ? ls_listing_rows (kind, error) : ls_listing_kinds ();
  if (!rows)
    return 2;
  if (words->len > 1)
    some = ls_listing_choose (rows, kind, words->pdata[1], error);
  if (words->len > 1 && !some)
    return 2;
  if (cli->json)
    text = as_json (kind, some ? some : rows);
  else
    text = as_text (some ? some : rows, ls_args_has (cli->args, "names"),
                    some_in_full (kind, some) || ls_args_has (cli->args, "verbose"),
                    ls_cli_columns (cli));
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

const LsCommand ls_command_list = {
    .name = "list",
    .usage = "[KIND [NAME]] [--verbose | --names]",
    .summary = "show what is in the catalogue, with the source of every number",
    .description =
        "Without KIND, lists the kinds. With NAME (or an alias) that row, and with "
        "--verbose all of them, are shown with every number, its source and how well it "
        "is known: found (read there), recalled (general knowledge), derived, fitted (to "
        "named measurements) or assumed; \" means the source of the line before. A NAME that is a "
        "part "
        "of several names lists those, and a key those below it, with the values that they take.",
    .examples = "accelerators that a scenario may name\tlockstep list gpus\n"
                "what the numbers of one rest on\tlockstep list gpus h100\n"
                "where the numbers of network cards come from\tlockstep list nics --verbose\n"
                "all scenario keys, for a script\tlockstep list keys --json\n",
    .positional = "@",
    .options = options,
    .run = run_list,
};
