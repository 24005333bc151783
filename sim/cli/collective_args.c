/* Reading the arguments of `lockstep collective`; see collective_args.h. */
#include "cli/collective_args.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/quantity.h"
#include "base/text_faults.h"

/* Rows of a table that somebody still reads; a step of one byte would ask for millions. */
#define MOST_SIZES 4096
/* Of one buffer, and of all splits together: far above any memory, and exact in a double. */
#define MOST_BYTES G_GINT64_CONSTANT (1000000000000000)

/* --- sizes ------------------------------------------------------------------------------------ */

/* One size; FALSE without an error when it is none. */
static gboolean parse_size (const char *text, gint64 *bytes) {
  static const char units[] = "KMGT";
  g_autofree char *word = g_strstrip (g_strdup (text));
  gsize length = strlen (word);
  double factor = 1, value;
  const char *unit = length > 0 ? strchr (units, g_ascii_toupper (word[length - 1])) : NULL;

  if (unit != NULL && *unit != '\0') {
    factor = pow (1024, (double) (unit - units) + 1);
    word[length - 1] = '\0';
  }
  if (!ls_number_parse (word, &value)) {
    if (factor > 1 || !ls_quantity_parse (word, LS_DIMENSION_BYTES, &value, NULL))
      return FALSE;
  }
  value *= factor;
  if (value < 0 || value > (double) MOST_BYTES || fabs (value - round (value)) > 0)
    return FALSE;
  *bytes = (gint64) value;
  return TRUE;
}

static gboolean size_at (const char *text, const char *from, gsize length, gint64 *bytes,
                         GError **error) {
  g_autofree char *word = g_strndup (from, length);

  if (parse_size (word, bytes))
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "--sizes, column %d: '%s' is no size; write 1K:8G:2x (from, to, times), 1M:8M:1M "
               "(from, to, step) or 4K,1M,1G",
               (int) (from - text) + 1, word);
  return FALSE;
}

static gboolean add_range (GArray *sizes, const char *text, GError **error) {
  const char *colon = strchr (text, ':'), *second = strchr (colon + 1, ':');
  const char *step = second ? second + 1 : NULL;
  gsize length = step ? strlen (step) : 0;
  gint64 from, to, by = 0;
  double times = 2;

  if (!size_at (text, text, (gsize) (colon - text), &from, error) ||
      !size_at (text, colon + 1, second ? (gsize) (second - colon - 1) : strlen (colon + 1), &to,
                error))
    return FALSE;
  if (length > 0 && (step[length - 1] == 'x' || step[length - 1] == 'X')) {
    g_autofree char *word = g_strndup (step, length - 1);
    if (!ls_number_parse (word, &times) || times <= 1) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                   "--sizes, column %d: '%s' must be a factor above 1, as in 2x",
                   (int) (step - text) + 1, step);
      return FALSE;
    }
  } else if (step && !size_at (text, step, length, &by, error))
    return FALSE;
  gboolean adds = step != NULL && length > 0 && g_ascii_toupper (step[length - 1]) != 'X';
  if (step && (length == 0 || (adds && by == 0))) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--sizes, column %d: '%s' must be a size above 0, or a factor as in 2x",
                 (int) (step - text) + 1, step);
    return FALSE;
  }
  if (to < from || (from == 0 && by == 0)) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--sizes, column %d: the range %s is empty or begins at 0",
                 (int) (colon - text) + 2, text);
    return FALSE;
  }
  double at = (double) from;
  while (at <= (double) to) {
    gint64 bytes = (gint64) at;
    if (sizes->len == MOST_SIZES) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                   "--sizes: the range %s has more than %d sizes; a factor ends in x, as in 2x",
                   text, MOST_SIZES);
      return FALSE;
    }
    g_array_append_val (sizes, bytes);
    at = by > 0 ? at + (double) by : MAX (at + 1, floor (at * times));
  }
  return TRUE;
}

GArray *ls_collective_sizes (const char *text, GError **error) {
  g_autoptr (GArray) sizes = g_array_new (FALSE, FALSE, sizeof (gint64));

  if (strchr (text, ':') != NULL)
    return add_range (sizes, text, error) ? g_steal_pointer (&sizes) : NULL;
  for (const char *at = text; at != NULL;) {
    const char *comma = strchr (at, ',');
    gint64 bytes;

    if (!size_at (text, at, comma ? (gsize) (comma - at) : strlen (at), &bytes, error))
      return NULL;
    g_array_append_val (sizes, bytes);
    at = comma ? comma + 1 : NULL;
  }
  return g_steal_pointer (&sizes);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static gboolean add_ranks (GArray *ranks, guint8 *taken, const char *word, guint n_gpus,
                           GError **error) {
  char *end;
  guint64 first = g_ascii_strtoull (word, &end, 10), last = first, step = 1;
  gboolean good = g_ascii_isdigit (*word);

  if (good && *end == '-') {
    good = g_ascii_isdigit (end[1]);
    last = g_ascii_strtoull (end + 1, &end, 10);
  }
  if (good && *end == ':') {
    good = g_ascii_isdigit (end[1]);
    step = g_ascii_strtoull (end + 1, &end, 10);
  }
  if (!good || *end != '\0' || step == 0 || last < first) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--ranks: '%s' is no range of GPUs; write 0-63, 0,8,16 or 0-63:8 (every eighth)",
                 word);
    return FALSE;
  }
  if (last >= n_gpus) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--ranks: %s goes beyond the cluster, whose GPUs are 0 to %u", word, n_gpus - 1);
    return FALSE;
  }
  for (guint64 gpu = first; gpu <= last; gpu += step) {
    guint number = (guint) gpu;
    if (taken[number]) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--ranks: GPU %u is named twice", number);
      return FALSE;
    }
    taken[number] = 1;
    g_array_append_val (ranks, number);
  }
  return TRUE;
}

GArray *ls_collective_ranks (const char *text, guint n_gpus, GError **error) {
  g_autoptr (GArray) ranks = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree guint8 *taken = g_new0 (guint8, n_gpus);
  g_autofree char *all = g_strdup_printf ("0-%u", n_gpus - 1);
  g_auto (GStrv) words = g_strsplit (text ? text : all, ",", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (!add_ranks (ranks, taken, g_strstrip (words[i]), n_gpus, error))
      return NULL;
  return g_steal_pointer (&ranks);
}

/* --- splits ----------------------------------------------------------------------------------- */

/* Adds @bytes to @sum; FALSE when all of a file are more than the largest size of a buffer. */
static gboolean add_bytes (gint64 *sum, gint64 bytes) {
  *sum += bytes;
  return *sum <= MOST_BYTES;
}

static void read_row (LsTextFaults *faults, const char *line, guint number, guint n, gint64 *row,
                      gint64 *sum) {
  g_auto (GStrv) words = g_strsplit_set (line, ", \t\r", -1);
  const char *at = line;
  guint count = 0;

  for (guint i = 0; words[i] != NULL; at += strlen (words[i++]) + 1) {
    const guint column = ls_text_column (line, at);

    if (*words[i] == '\0')
      continue;
    if (count < n && !parse_size (words[i], &row[count]))
      ls_text_faults_add (faults, number, column, "'%s' is no size in bytes", words[i]);
    else if (count < n && *sum <= MOST_BYTES && !add_bytes (sum, row[count]))
      ls_text_faults_add (faults, number, column, "all sizes together are more than 1e15 bytes");
    count++;
  }
  if (count != n)
    ls_text_faults_add (faults, number, 1, "%u sizes for %u ranks", count, n);
}

gint64 *ls_collective_splits (const char *path, guint n, GError **error) {
  g_autofree char *text = NULL;
  g_autofree gint64 *splits = g_new0 (gint64, (gsize) n * n);
  g_autoptr (GError) unread = NULL;
  g_autoptr (LsTextFaults) faults = ls_text_faults_new (path);
  guint rows = 0;
  gint64 sum = 0;
  gsize length;

  if (!ls_file_read (path, LS_FILE_MAX, &text, &length, &unread)) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: %s", path, unread->message);
    return NULL;
  }
  if (!ls_text_check (faults, text, length)) {
    ls_text_faults_check (faults, error);
    return NULL;
  }
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    const char *start = lines[i] + strspn (lines[i], " \t\r");
    if (*start == '\0' || *start == '#')
      continue;
    if (rows < n)
      read_row (faults, lines[i], i + 1, n, splits + (gsize) rows * n, &sum);
    rows++;
  }
  if (!ls_text_faults_check (faults, error))
    return NULL;
  if (rows != n && rows != 1) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: %u rows for %u ranks; write one row for each, or one for all", path, rows, n);
    return NULL;
  }
  for (guint i = 1; i < n && rows == 1; i++)
    memcpy (splits + (gsize) i * n, splits, n * sizeof (gint64));
  if (rows == 1 && sum > MOST_BYTES / n) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: the row of all %u ranks makes more than 1e15 bytes", path, n);
    return NULL;
  }
  return g_steal_pointer (&splits);
}
