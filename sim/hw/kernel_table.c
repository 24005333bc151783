/* Tables of measured kernels; see kernel_table.h. */
#include "hw/kernel_table.h"

#include <string.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/quantity.h"

#define COLUMNS(X) \
  X (OP, "op") X (SHAPE, "shape") X (FORMAT, "format") X (TIME, "time") X (GPU, "gpu")
enum {
#define COLUMN_ID(id, name) COLUMN_##id,
  COLUMNS (COLUMN_ID)
#undef COLUMN_ID
      N_COLUMNS
};
static const char *const columns[] = {
#define COLUMN_NAME(id, name) name,
    COLUMNS (COLUMN_NAME)
#undef COLUMN_NAME
};
#define LARGEST_SIZE (G_GINT64_CONSTANT (1) << 53)

static const struct {
  const char *name;
  guint least, most;
  const char *sizes;
} ops[] = {
#define OP_ROW(id, name, least, most, sizes) [LS_KERNEL_##id] = {name, least, most, sizes},
    LS_KERNEL_OPS (OP_ROW)
#undef OP_ROW
};

struct LsKernelTable {
  gint references;
  char *name;
  GArray *rows;      /* LsKernelRow */
  GHashTable *index; /* LsKernelRow (owned; what it matches), its place in rows + 1 */
};

const char *ls_kernel_op_name (LsKernelOp op) {
  LS_REQUIRE ((guint) op < LS_N_KERNEL_OPS, "kernel op %d", (int) op);
  return ops[op].name;
}

/* --- reading -------------------------------------------------------------------------------- */

typedef struct {
  guint line;
  /* Where each field of the line begins, and what is behind the last column. */
  guint place[N_COLUMNS + 1];
  int at[N_COLUMNS]; /* field of each column; -1: absent */
  guint n_fields;
  LsTextFaults *faults;
  LsKernelTable *table;
} Reader;

/* Where the fields of a line begin, white space before them left out; as many as a row may have. */
static void mark_places (Reader *r, const char *line) {
  const char *field = line;
  guint n = 0;

  while (field != NULL && n <= N_COLUMNS) {
    const char *comma = strchr (field, ',');

    r->place[n++] = ls_text_column (line, field + strspn (field, " \t"));
    field = comma != NULL ? comma + 1 : NULL;
  }
  while (n <= N_COLUMNS)
    r->place[n++] = ls_text_column (line, line + strlen (line));
}

#define FAULT(r, field, ...) \
  ls_text_faults_add ((r)->faults, (r)->line, (r)->place[MIN ((field), N_COLUMNS)], __VA_ARGS__)
/* A fault of what a column holds. */
#define FAULT_IN(r, column, ...) FAULT (r, (guint) (r)->at[column], __VA_ARGS__)

static void read_head (Reader *r, char **fields) {
  for (guint i = 0; i < N_COLUMNS; i++)
    r->at[i] = -1;
  for (guint f = 0; fields[f] != NULL; f++) {
    guint i = 0;

    while (i < N_COLUMNS && strcmp (g_strstrip (fields[f]), columns[i]) != 0)
      i++;
    if (i == N_COLUMNS)
      FAULT (r, f, "unknown column '%s'; columns are op, shape, format, time, gpu", fields[f]);
    else if (r->at[i] >= 0)
      FAULT (r, f, "column '%s' is there twice", fields[f]);
    else
      r->at[i] = (int) f;
    r->n_fields = f + 1;
  }
  for (guint i = 0; i < COLUMN_GPU; i++)
    if (r->at[i] < 0)
      FAULT (r, r->n_fields,
             "no column '%s'; columns are op, shape, format, time and, if wanted, gpu", columns[i]);
}

static gboolean read_op (Reader *r, const char *word, LsKernelOp *op) {
  g_autoptr (GString) all = g_string_new (NULL);

  for (guint i = 0; i < LS_N_KERNEL_OPS; i++) {
    if (strcmp (ops[i].name, word) == 0) {
      *op = (LsKernelOp) i;
      return TRUE;
    }
    g_string_append_printf (all, "%s%s", i > 0 ? ", " : "", ops[i].name);
  }
  FAULT_IN (r, COLUMN_OP, "unknown op '%s'; takes %s", word, all->str);
  return FALSE;
}

static gboolean read_shape (Reader *r, const char *text, LsKernelRow *row) {
  g_auto (GStrv) sizes = g_strsplit (text, "x", -1);
  const guint n = g_strv_length (sizes);

  for (guint i = 0; i < LS_KERNEL_SIZES; i++)
    row->size[i] = 1;
  if (n < ops[row->op].least || n > ops[row->op].most) {
    FAULT_IN (r, COLUMN_SHAPE, "'%s' is no shape of %s; takes %s", text, ops[row->op].name,
              ops[row->op].sizes);
    return FALSE;
  }
  for (guint i = 0; i < n; i++) {
    guint64 size = 0;

    if (!g_ascii_string_to_unsigned (g_strstrip (sizes[i]), 10, 1, (guint64) LARGEST_SIZE, &size,
                                     NULL)) {
      FAULT_IN (r, COLUMN_SHAPE, "'%s' in shape '%s' is no whole number from 1 to 2^53", sizes[i],
                text);
      return FALSE;
    }
    row->size[i] = (gint64) size;
  }
  return TRUE;
}

static gboolean read_time (Reader *r, const char *text, LsKernelRow *row) {
  g_autoptr (GError) error = NULL;

  if (!ls_quantity_parse (text, LS_DIMENSION_TIME, &row->time_s, &error))
    FAULT_IN (r, COLUMN_TIME, "time: %s", error->message);
  else if (row->time_s <= 0 || row->time_s > 1e5)
    FAULT_IN (r, COLUMN_TIME, "time '%s' is not between 0 and 100,000 s", text);
  else
    return TRUE;
  return FALSE;
}

/* What a row matches: operation, format, sizes and the part's name, so that a capped or partitioned
 * part goes by the name of its row. */
static guint row_hash (gconstpointer key) {
  const LsKernelRow *row = key;
  guint hash = (guint) row->op * 31 + (guint) row->format;

  for (guint i = 0; i < LS_KERNEL_SIZES; i++)
    hash = hash * 31 + g_int64_hash (&row->size[i]);
  return row->gpu != NULL ? hash * 31 + g_str_hash (row->gpu->name) : hash;
}

static gboolean row_equal (gconstpointer a, gconstpointer b) {
  const LsKernelRow *x = a, *y = b;

  return x->op == y->op && x->format == y->format &&
         memcmp (x->size, y->size, sizeof x->size) == 0 &&
         g_strcmp0 (x->gpu != NULL ? x->gpu->name : NULL, y->gpu != NULL ? y->gpu->name : NULL) ==
             0;
}

static LsKernelRow *find_same (const LsKernelTable *table, const LsKernelRow *row) {
  const guint place = GPOINTER_TO_UINT (g_hash_table_lookup (table->index, row));

  return place > 0 ? &g_array_index (table->rows, LsKernelRow, place - 1) : NULL;
}

static void add_row (Reader *r, const LsKernelRow *row) {
  const LsKernelRow *other = find_same (r->table, row);

  if (other != NULL) {
    FAULT_IN (r, COLUMN_OP, "the same kernel stands in line %u", other->line);
    return;
  }
  g_array_append_val (r->table->rows, *row);
  g_hash_table_insert (r->table->index, g_memdup2 (row, sizeof *row),
                       GUINT_TO_POINTER (r->table->rows->len));
}

static void read_row (Reader *r, char **fields) {
  const guint n = g_strv_length (fields);
  LsKernelRow row = {.line = r->line};
  g_autoptr (GError) error = NULL;
  gboolean good = TRUE;

  if (n != r->n_fields) {
    FAULT (r, MIN (n, r->n_fields), "%u field%s, but %u columns", n, n == 1 ? "" : "s",
           r->n_fields);
    return;
  }
  for (guint i = 0; i < n; i++)
    g_strstrip (fields[i]);
  good = read_op (r, fields[r->at[COLUMN_OP]], &row.op);
  good = good && read_shape (r, fields[r->at[COLUMN_SHAPE]], &row);
  if (!ls_format_parse (fields[r->at[COLUMN_FORMAT]], &row.format, &error)) {
    FAULT_IN (r, COLUMN_FORMAT, "format: %s", error->message);
    good = FALSE;
  }
  if (!read_time (r, fields[r->at[COLUMN_TIME]], &row))
    good = FALSE;
  if (r->at[COLUMN_GPU] >= 0 && *fields[r->at[COLUMN_GPU]] != '\0') {
    g_clear_error (&error);
    row.gpu = ls_accelerator_find (fields[r->at[COLUMN_GPU]], &error);
    if (row.gpu == NULL) {
      FAULT_IN (r, COLUMN_GPU, "gpu: %s", error->message);
      good = FALSE;
    }
  }
  if (good)
    add_row (r, &row);
}

static void read_line (Reader *r, char *line) {
  g_auto (GStrv) fields = NULL;

  g_strchomp (line);
  if (line[strspn (line, " \t")] == '\0' || line[strspn (line, " \t")] == '#')
    return;
  mark_places (r, line);
  fields = g_strsplit (line, ",", -1);
  if (r->n_fields > 0)
    read_row (r, fields);
  else
    read_head (r, fields);
}

/* Of several lines that are wrong all are told; a wrong heading is told alone. */
static void read_lines (Reader *r, char **lines) {
  for (guint i = 0; lines[i] != NULL; i++) {
    const gboolean headed = r->n_fields > 0;

    r->line = i + 1;
    read_line (r, lines[i]);
    if (!headed && ls_text_faults_count (r->faults) > 0)
      return;
  }
  if (r->n_fields == 0)
    ls_text_faults_add (r->faults, 1, 1,
                        "the table is empty; its first line is op,shape,format,time");
  else if (r->table->rows->len == 0 && ls_text_faults_count (r->faults) == 0)
    ls_text_faults_add (r->faults, r->line, 1, "the table has no rows below its heading");
}

LsKernelTable *ls_kernel_table_parse (const char *text, LsTextFaults *faults) {
  static const char byte_order_mark[] = "\357\273\277"; /* spreadsheets write one */
  const gsize skip = g_str_has_prefix (text, byte_order_mark) ? strlen (byte_order_mark) : 0;
  g_auto (GStrv) lines = g_strsplit (text + skip, "\n", -1);
  g_autoptr (LsKernelTable) table = g_new0 (LsKernelTable, 1);
  Reader reader = {.line = 1, .faults = faults, .table = table};

  table->references = 1;
  table->name = g_path_get_basename (ls_text_faults_name (faults));
  table->rows = g_array_new (FALSE, FALSE, sizeof (LsKernelRow));
  table->index = g_hash_table_new_full (row_hash, row_equal, g_free, NULL);
  read_lines (&reader, lines);
  return ls_text_faults_count (faults) == 0 ? g_steal_pointer (&table) : NULL;
}

LsKernelTable *ls_kernel_table_read (const char *path, LsTextFaults *faults) {
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length = 0;

  if (!ls_file_read (path, LS_FILE_MAX, &text, &length, &error)) {
    ls_text_faults_add (faults, 0, 0, "%s", error->message);
    return NULL;
  }
  if (!ls_text_check (faults, text, length))
    return NULL;
  return ls_kernel_table_parse (text, faults);
}

/* --- use ------------------------------------------------------------------------------------ */

LsKernelTable *ls_kernel_table_ref (LsKernelTable *table) {
  if (table != NULL)
    g_atomic_int_inc (&table->references);
  return table;
}

void ls_kernel_table_unref (LsKernelTable *table) {
  if (table == NULL || !g_atomic_int_dec_and_test (&table->references))
    return;
  g_array_unref (table->rows);
  g_hash_table_unref (table->index);
  g_free (table->name);
  g_free (table);
}

const char *ls_kernel_table_name (const LsKernelTable *table) {
  return table->name;
}

guint ls_kernel_table_size (const LsKernelTable *table) {
  return table->rows->len;
}

const LsKernelRow *ls_kernel_table_row (const LsKernelTable *table, guint i) {
  LS_REQUIRE (i < table->rows->len, "row %u", i);
  return &g_array_index (table->rows, LsKernelRow, i);
}

guint ls_kernel_table_n_used (const LsKernelTable *table) {
  guint n = 0;

  for (guint i = 0; i < table->rows->len; i++)
    n += g_array_index (table->rows, LsKernelRow, i).used > 0;
  return n;
}

char *ls_kernel_row_text (const LsKernelRow *row) {
  GString *text = g_string_new (ls_kernel_op_name (row->op));
  guint n = ops[row->op].most;

  while (n > ops[row->op].least && row->size[n - 1] == 1)
    n--;
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%c%" G_GINT64_FORMAT, i > 0 ? 'x' : ' ', row->size[i]);
  g_string_append_printf (text, " %s", ls_format_name (row->format));
  return g_string_free (text, FALSE);
}

LsKernelRow *ls_kernel_table_find (LsKernelTable *table, LsKernelOp op,
                                   const gint64 size[LS_KERNEL_SIZES], LsFormat format,
                                   const LsAccelerator *gpu) {
  LsKernelRow wanted = {.op = op, .format = format, .gpu = gpu};
  LsKernelRow *best;

  if (table == NULL)
    return NULL;
  memcpy (wanted.size, size, sizeof wanted.size);
  best = find_same (table, &wanted);
  if (best == NULL) { /* a row for this GPU goes before one for any */
    wanted.gpu = NULL;
    best = find_same (table, &wanted);
  }
  if (best != NULL)
    best->used++;
  return best;
}
