/* LIBSVM's sparse text: `label index:value index:value ...`, one row a line, # begins a comment.
 *
 * Strict: indexes count from 1 and ascend within a line (a repeated or unsorted one is a fault),
 * values are finite. Rows are stored dense, what is absent is 0. All faults are told at once.
 */
#include "learn/read_text.h"

#define LARGEST_INDEX 10000000 /* source: choice; dense rows of more would not fit anyway */

typedef struct {
  guint32 row, index; /* index from 0 */
  double value;
} Entry;

typedef struct {
  LsTextCursor cursor;
  GArray *entries, *y;
  guint32 largest; /* index, from 1 */
  const LsTextOptions *options;
} Reader;

static const char *skip_blanks (const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t'))
    at++;
  return at;
}

static const char *word_end (const char *at, const char *end) {
  while (at < end && *at != ' ' && *at != '\t')
    at++;
  return at;
}

static gboolean read_index (Reader *r, const char *from, const char *colon, guint32 before,
                            guint32 *index) {
  g_autofree char *word = g_strndup (from, (gsize) (colon - from));
  g_autofree char *quoted = ls_text_quote (from, colon);
  guint64 value;

  if (!g_ascii_string_to_unsigned (word, 10, 0, G_MAXUINT64, &value, NULL))
    return ls_text_fault (&r->cursor, from, "the index %s is no whole number", quoted);
  if (value == 0)
    return ls_text_fault (&r->cursor, from, "the index 0; indexes count from 1");
  if (value > LARGEST_INDEX)
    return ls_text_fault (&r->cursor, from, "the index %s is larger than %d", quoted,
                          LARGEST_INDEX);
  if (r->options->features > 0 && value > (guint64) r->options->features)
    return ls_text_fault (&r->cursor, from,
                          "the index %s; there are %" G_GINT64_FORMAT " features (data.features)",
                          quoted, r->options->features);
  if (value == before)
    return ls_text_fault (&r->cursor, from, "the index %s stands twice", quoted);
  if (value < before)
    return ls_text_fault (&r->cursor, from, "the index %s after %u; they must ascend", quoted,
                          before);
  *index = (guint32) value;
  return TRUE;
}

static gboolean read_entry (Reader *r, const char *from, const char *to, guint32 *before) {
  const char *colon = memchr (from, ':', (gsize) (to - from));
  Entry entry = {.row = r->y->len - 1};

  if (colon == NULL) {
    g_autofree char *quoted = ls_text_quote (from, to);

    return ls_text_fault (&r->cursor, from, "%s is no index:value", quoted);
  }
  if (!read_index (r, from, colon, *before, &entry.index) ||
      !ls_text_number (&r->cursor, colon + 1, to, "the value", &entry.value))
    return FALSE;
  *before = entry.index;
  r->largest = MAX (r->largest, entry.index);
  entry.index--;
  g_array_append_val (r->entries, entry);
  return TRUE;
}

/* FALSE: what follows is no text either. */
static gboolean read_line (Reader *r, const char *line, const char *end) {
  const char *comment = memchr (line, '#', (gsize) (end - line));
  const char *at, *to;
  guint32 before = 0;
  double label = 0;

  if (memchr (line, 0, (gsize) (end - line)) != NULL)
    return ls_text_fault (&r->cursor, memchr (line, 0, (gsize) (end - line)),
                          "a NUL byte; this is no text");
  end = comment != NULL ? comment : end;
  at = skip_blanks (line, end);
  if (at == end) {
    if (comment == NULL)
      ls_text_fault (&r->cursor, line, "an empty line");
    return TRUE;
  }
  to = word_end (at, end);
  ls_text_number (&r->cursor, at, to, "the label", &label);
  g_array_append_val (r->y, label);
  for (at = skip_blanks (to, end); at < end; at = skip_blanks (to, end)) {
    to = word_end (at, end);
    read_entry (r, at, to, &before);
  }
  return TRUE;
}

static LsDataset *make_dense (const Reader *r) {
  LsDataset *data;
  gsize features = r->options->features > 0 ? (gsize) r->options->features : r->largest;

  if (r->y->len == 0 || features == 0) {
    ls_text_faults_add (r->cursor.faults, 0, 0, "there are no %s",
                        r->y->len == 0 ? "rows" : "features");
    return NULL;
  }
  if (features * r->y->len > LS_DATA_MAX_VALUES) {
    ls_text_faults_add (r->cursor.faults, 0, 0,
                        "%u rows of %" G_GSIZE_FORMAT " features are more than %d million values",
                        r->y->len, features, (int) (LS_DATA_MAX_VALUES / 1000000));
    return NULL;
  }
  data = g_new0 (LsDataset, 1);
  data->rows = r->y->len;
  data->features = features;
  data->x = g_new0 (double, data->rows *features);
  data->y = g_memdup2 (r->y->data, data->rows * sizeof (double));
  for (guint i = 0; i < r->entries->len; i++) {
    const Entry *entry = &g_array_index (r->entries, Entry, i);

    data->x[entry->row * features + entry->index] = entry->value;
  }
  return data;
}

LsDataset *ls_dataset_parse_libsvm (const char *name, const char *text, gsize length,
                                    const LsTextOptions *options, GError **error) {
  Reader r = {.options = options,
              .entries = g_array_new (FALSE, FALSE, sizeof (Entry)),
              .y = g_array_new (FALSE, FALSE, sizeof (double))};
  LsDataset *data = NULL;
  const char *line, *end;
  g_autoptr (LsTextFaults) faults = ls_text_faults_new (name);
  gboolean fine = TRUE;

  ls_text_init (&r.cursor, faults, text, length);
  while (fine && ls_text_next (&r.cursor, &line, &end))
    fine = read_line (&r, line, end);
  if (ls_text_faults_count (faults) == 0)
    data = make_dense (&r);
  ls_text_faults_check (faults, error);
  g_array_unref (r.entries);
  g_array_unref (r.y);
  return data;
}
