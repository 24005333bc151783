/* Dense tables of comma-separated numbers, one column of which is the label or target.
 *
 * Strict: every line has as many fields as the first, every field is a finite number; empty lines
 * only at the end. Names in a header may be quoted; numbers are not. All faults are told at once.
 * Labels may be words where the problem has classes, all of them or none, as the first row has it: class 0 is the first
 * word by its bytes, whatever the order of the rows.
 */
#include "learn/read_text.h"

/* Columns that a message names. */
#define SHOWN_NAMES 12

typedef struct {
  LsTextCursor cursor;
  GArray *x, *y; /* double */
  guint columns; /* 0: not known yet */
  guint label;
  const LsTextOptions *options;
  /* Label -> number by appearance + 1; NULL: labels are numbers, or not known yet. */
  GHashTable *words;
  /* The labels by appearance, borrowed of the table. */
  GPtrArray *names;
} Reader;

/* A name without the quotes and blanks around it (transfer full). */
static char *unquoted (const char *from, const char *to) {
  char *name = g_strstrip (g_strndup (from, (gsize) (to - from)));
  const gsize length = strlen (name);

  if (length >= 2 && name[0] == '"' && name[length - 1] == '"') {
    name[length - 1] = 0;
    memmove (name, name + 1, length - 1);
  }
  return name;
}

static guint count_fields (const char *line, const char *end) {
  guint n = 1;
  gboolean quoted = FALSE;

  for (; line < end; line++) {
    if (*line == '"')
      quoted = !quoted;
    else if (*line == ',' && !quoted)
      n++;
  }
  return n;
}

/* The column of labels by number; FALSE when the option is a name. */
static gboolean label_number (const Reader *r, guint64 *number) {
  const char *text = r->options->label;

  return text != NULL && *text != 0 && strspn (text, "0123456789") == strlen (text) &&
         g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, number, NULL);
}

static gboolean set_columns (Reader *r, const char *line, const char *end) {
  guint64 number = 0;

  r->columns = count_fields (line, end);
  if (r->columns < 2)
    return ls_text_fault (
        &r->cursor, line,
        "one field only; a row needs a feature and a label, separated by a comma");
  r->label = r->columns - 1;
  if (label_number (r, &number)) {
    if (number >= r->columns)
      return ls_text_fault (&r->cursor, line,
                            "there is no column %s; the %u columns are numbered from 0",
                            r->options->label, r->columns);
    r->label = (guint) number;
  }
  return TRUE;
}

static const char *field_end (const char *from, const char *end) {
  gboolean quoted = FALSE;

  for (; from < end && (*from != ',' || quoted); from++)
    if (*from == '"')
      quoted = !quoted;
  return from;
}

static gboolean read_header (Reader *r, const char *line, const char *end) {
  gboolean found = r->options->label == NULL, numbers = TRUE;
  g_autoptr (GString) names = g_string_new (NULL);
  guint64 number;
  const char *at = line;

  if (!set_columns (r, line, end))
    return FALSE;
  found = found || label_number (r, &number);
  for (guint column = 0; column < r->columns; column++) {
    const char *to = field_end (at, end);
    g_autofree char *name = unquoted (at, to);
    double ignored;

    if (column < SHOWN_NAMES) {
      g_autofree char *quoted = ls_text_quote (name, name + strlen (name));
      g_string_append_printf (names, "%s%s", column > 0 ? ", " : "", quoted);
    }
    numbers = numbers && ls_text_number (NULL, at, to, "", &ignored);
    if (!found && g_strcmp0 (name, r->options->label) == 0) {
      r->label = column;
      found = TRUE;
    }
    at = to < end ? to + 1 : end;
  }
  if (numbers)
    return ls_text_fault (&r->cursor, line,
                          "the header holds numbers only; data.header: false if there is none");
  if (!found)
    return ls_text_fault (&r->cursor, line, "no column is named '%s'; there are %s%s",
                          r->options->label, names->str, r->columns > SHOWN_NAMES ? ", ..." : "");
  return TRUE;
}

static gboolean is_not_finite (const char *from, const char *to) {
  g_autofree char *word = unquoted (from, to);

  return g_ascii_strcasecmp (word, "nan") == 0 || g_ascii_strcasecmp (word, "inf") == 0;
}

/* A word, by the order in which words appear; sort_words() puts them in theirs. */
static gboolean read_word (Reader *r, const char *at, const char *to, double *value) {
  g_autofree char *word = unquoted (at, to);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (r->words, word));

  if (*word == 0)
    return ls_text_fault (&r->cursor, at, "the label is missing");
  if (is_not_finite (at, to))
    return ls_text_fault (&r->cursor, at, "the label '%s' is not finite", word);
  if (number == 0) {
    g_ptr_array_add (r->names, word);
    number = r->names->len;
    g_hash_table_insert (r->words, g_steal_pointer (&word), GUINT_TO_POINTER (number));
  }
  *value = number - 1;
  return TRUE;
}

static gboolean read_label (Reader *r, const char *at, const char *to, double *value) {
  if (r->words == NULL && r->y->len == 0 && r->options->words &&
      !ls_text_number (NULL, at, to, "", value) && at < to)
    r->words = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (r->words != NULL)
    return read_word (r, at, to, value);
  /* Words where targets are wanted: what to do is said once, not in every row. */
  if (r->y->len == 0 && !r->options->words && at < to && g_ascii_isalpha (*at) &&
      !is_not_finite (at, to) && !ls_text_number (NULL, at, to, "", value)) {
    g_autofree char *word = ls_text_quote (at, to);

    return ls_text_fault (&r->cursor, at,
                          "the label %s is no number; names of classes are for problems that have "
                          "classes: softmax, logistic, mlp, conv (learn.problem)",
                          word);
  }
  return ls_text_number (&r->cursor, at, to, "the label", value);
}

static gint by_bytes (gconstpointer a, gconstpointer b) {
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Labels by the order of their words. */
static void sort_words (Reader *r) {
  g_autofree double *place = g_new0 (double, r->names->len + 1);

  g_ptr_array_sort (r->names, by_bytes);
  for (guint i = 0; i < r->names->len; i++)
    place[GPOINTER_TO_UINT (g_hash_table_lookup (r->words, r->names->pdata[i])) - 1] = i;
  for (guint i = 0; i < r->y->len; i++)
    g_array_index (r->y, double, i) = place[(guint) g_array_index (r->y, double, i)];
}

static gboolean read_row (Reader *r, const char *line, const char *end) {
  const char *at = line;
  guint fields = count_fields (line, end);

  if (r->columns == 0 && !set_columns (r, line, end))
    return FALSE;
  if (fields != r->columns)
    return ls_text_fault (&r->cursor, line, "%u fields; the first line has %u", fields, r->columns);
  for (guint column = 0; column < r->columns; column++) {
    const char *to = field_end (at, end);
    double value = 0;

    if (column == r->label)
      read_label (r, at, to, &value);
    else
      ls_text_number (&r->cursor, at, to, "the value", &value);
    g_array_append_val (column == r->label ? r->y : r->x, value);
    at = to < end ? to + 1 : end;
  }
  if (r->x->len > LS_DATA_MAX_VALUES)
    return ls_text_fault (&r->cursor, line, "more than %d million values",
                          (int) (LS_DATA_MAX_VALUES / 1000000));
  return TRUE;
}

static gboolean is_text (const Reader *r, const char *line, const char *end) {
  const char *nul = memchr (line, 0, (gsize) (end - line));

  return nul == NULL || ls_text_fault (&r->cursor, nul, "a NUL byte; this is no text");
}

/* Nothing but ends of lines from here on? */
static gboolean is_rest_empty (const Reader *r) {
  return r->cursor.at + strspn (r->cursor.at, "\r\n") >= r->cursor.end;
}

/* Adds the faults of all lines; what cannot be read on ends it. */
static void read_all (Reader *r) {
  const char *line, *end;
  gboolean first = TRUE;
  guint64 number;

  if (r->options->label != NULL && !r->options->header && !label_number (r, &number)) {
    ls_text_faults_add (r->cursor.faults, 0, 0,
                        "without a header the column of labels is a number from 0, not '%s'",
                        r->options->label);
    return;
  }
  while (ls_text_next (&r->cursor, &line, &end)) {
    if (!is_text (r, line, end))
      return;
    if (line == end) {
      if (is_rest_empty (r))
        break;
      ls_text_fault (&r->cursor, line, "an empty line between rows");
      continue;
    }
    const gboolean good =
        first && r->options->header ? read_header (r, line, end) : read_row (r, line, end);
    if (!good && (r->columns < 2 || r->x->len > LS_DATA_MAX_VALUES))
      return;
    first = FALSE;
  }
  if (r->y->len == 0 && ls_text_faults_count (r->cursor.faults) == 0)
    ls_text_faults_add (r->cursor.faults, 0, 0, "there are no rows");
}

LsDataset *ls_dataset_parse_csv (const char *name, const char *text, gsize length,
                                 const LsTextOptions *options, GError **error) {
  Reader r = {.options = options,
              .x = g_array_new (FALSE, FALSE, sizeof (double)),
              .y = g_array_new (FALSE, FALSE, sizeof (double)),
              .names = g_ptr_array_new ()};
  g_autoptr (LsTextFaults) faults = ls_text_faults_new (name);
  LsDataset *data = NULL;

  ls_text_init (&r.cursor, faults, text, length);
  read_all (&r);
  if (r.words != NULL)
    sort_words (&r);
  if (ls_text_faults_check (faults, error)) {
    data = g_new0 (LsDataset, 1);
    data->rows = r.y->len;
    data->features = r.columns - 1;
    data->x = (double *) (gpointer) g_array_free (g_steal_pointer (&r.x), FALSE);
    data->y = (double *) (gpointer) g_array_free (g_steal_pointer (&r.y), FALSE);
  }
  if (r.x != NULL)
    g_array_unref (r.x);
  if (r.y != NULL)
    g_array_unref (r.y);
  g_clear_pointer (&r.words, g_hash_table_unref);
  g_ptr_array_unref (r.names);
  return data;
}
