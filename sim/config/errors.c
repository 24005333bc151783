/*
 * Collecting and writing the faults of a scenario.
 *
 * Faults are kept in order of adding and sorted when written: by file in the order in which files
 * were first named, then line, column and order of adding. Cost O(n log n) to write.
 */
#include "config/errors.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/text_faults.h"
#include "config/text.h"

#include <string.h>

typedef struct {
  LsConfigFaultKind kind;
  guint file_rank; /* how many other files were named before this one */
  guint sequence;
  char *file;
  int line;
  int column;
  char *message;
} Fault;

struct LsConfigErrors {
  GPtrArray *faults;
  GPtrArray *files; /* names in order of first use */
  guint counts[LS_CONFIG_FAULT_WARNING + 1];
};

static void fault_free (gpointer data) {
  Fault *fault = data;

  g_free (fault->file);
  g_free (fault->message);
  g_free (fault);
}

LsConfigErrors *ls_config_errors_new (void) {
  LsConfigErrors *errors = g_new0 (LsConfigErrors, 1);

  errors->faults = g_ptr_array_new_with_free_func (fault_free);
  errors->files = g_ptr_array_new_with_free_func (g_free);
  return errors;
}

void ls_config_errors_free (LsConfigErrors *errors) {
  if (errors == NULL)
    return;
  g_ptr_array_unref (errors->faults);
  g_ptr_array_unref (errors->files);
  g_free (errors);
}

static guint file_rank (LsConfigErrors *errors, const char *file) {
  const char *name = file != NULL ? file : "";

  for (guint i = 0; i < errors->files->len; i++)
    if (strcmp (errors->files->pdata[i], name) == 0)
      return i;
  g_ptr_array_add (errors->files, g_strdup (name));
  return errors->files->len - 1;
}

void ls_config_errors_know (LsConfigErrors *errors, const char *file) {
  file_rank (errors, file);
}

void ls_config_errors_add (LsConfigErrors *errors, LsConfigFaultKind kind,
                           LsConfigPosition position, const char *format, ...) {
  Fault *fault = g_new0 (Fault, 1);
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  fault->message = ls_text_plain (message, FALSE);
  fault->kind = kind;
  fault->file_rank = file_rank (errors, position.file);
  fault->sequence = errors->faults->len;
  fault->file = g_strdup (position.file);
  fault->line = position.line;
  fault->column = position.column;
  g_ptr_array_add (errors->faults, fault);
  errors->counts[kind]++;
}

void ls_config_errors_add_text_faults (LsConfigErrors *errors, const LsTextFaults *faults) {
  const guint n = ls_text_faults_count (faults), shown = MIN (n, LS_TEXT_FAULTS_SHOWN);
  LsConfigPosition at = {.file = ls_text_faults_name (faults)};

  for (guint i = 0; i < shown; i++) {
    const LsTextFault fault = ls_text_faults_get (faults, i);

    at.line = (int) fault.line;
    at.column = (int) fault.column;
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, at, "%s", fault.message);
  }
  if (n > shown)
    ls_config_errors_add (errors, LS_CONFIG_FAULT_ERROR, at, "%u more faults behind this one",
                          n - shown);
}

guint ls_config_errors_count (const LsConfigErrors *errors, LsConfigFaultKind kind) {
  return errors->counts[kind];
}

gboolean ls_config_errors_any (const LsConfigErrors *errors) {
  return ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) > 0;
}

guint ls_config_errors_length (const LsConfigErrors *errors) {
  return errors->faults->len;
}

LsConfigFault ls_config_errors_get (const LsConfigErrors *errors, guint index) {
  const Fault *fault;

  LS_REQUIRE (index < errors->faults->len, "fault %u of %u", index, errors->faults->len);
  fault = errors->faults->pdata[index];
  return (LsConfigFault){.kind = fault->kind,
                         .file = fault->file,
                         .line = fault->line,
                         .column = fault->column,
                         .message = fault->message};
}

static int compare_places (const Fault *a, const Fault *b) {
  if (a->file_rank != b->file_rank)
    return a->file_rank < b->file_rank ? -1 : 1;
  if (a->line != b->line)
    return a->line < b->line ? -1 : 1;
  if (a->column != b->column)
    return a->column < b->column ? -1 : 1;
  return 0;
}

static int compare_faults (gconstpointer a, gconstpointer b) {
  const Fault *left = *(const Fault *const *) a, *right = *(const Fault *const *) b;
  int order = compare_places (left, right);

  if (order != 0)
    return order;
  return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

void ls_config_errors_sort (LsConfigErrors *errors) {
  g_ptr_array_sort (errors->faults, compare_faults);
}

static guint hash_fault (gconstpointer data) {
  const Fault *fault = data;

  return g_str_hash (fault->message) + 31u * (guint) fault->line + 1009u * (guint) fault->column;
}

/* The same thing said of the same place. */
static gboolean equal_faults (gconstpointer a, gconstpointer b) {
  const Fault *left = a, *right = b;

  return compare_places (left, right) == 0 && left->kind == right->kind &&
         strcmp (left->message, right->message) == 0;
}

/* Sorted, without repetitions of the same message at the same place (transfer container). */
static GPtrArray *sorted (const LsConfigErrors *errors) {
  g_autoptr (GHashTable) seen = g_hash_table_new (hash_fault, equal_faults);
  GPtrArray *unique = g_ptr_array_new ();

  for (guint i = 0; i < errors->faults->len; i++)
    if (g_hash_table_add (seen, errors->faults->pdata[i]))
      g_ptr_array_add (unique, errors->faults->pdata[i]);
  g_ptr_array_sort (unique, compare_faults);
  return unique;
}

static const char *kind_word (LsConfigFaultKind kind) {
  return kind == LS_CONFIG_FAULT_ERROR ? "error" : "warning";
}

char *ls_config_errors_text (const LsConfigErrors *errors) {
  g_autoptr (GPtrArray) faults = sorted (errors);
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < faults->len; i++) {
    const Fault *fault = faults->pdata[i];
    LsConfigPosition position = {fault->file, fault->line, fault->column};
    g_autofree char *place = ls_config_position_text (position);

    g_string_append_printf (out, "%s: %s: %s\n", place, kind_word (fault->kind), fault->message);
  }
  return g_string_free (out, FALSE);
}

static void append_fault_json (GString *out, const char *code, const Fault *fault) {
  const char *split = strstr (fault->message, "; ");
  g_autofree char *message = split != NULL
                                 ? g_strndup (fault->message, (gsize) (split - fault->message))
                                 : g_strdup (fault->message);

  g_string_append_c (out, '{');
  ls_config_json_key (out, "code");
  ls_config_json_string (out, code);
  g_string_append (out, ", ");
  ls_config_json_key (out, "kind");
  ls_config_json_string (out, kind_word (fault->kind));
  g_string_append (out, ", ");
  ls_config_json_key (out, "file");
  if (fault->file != NULL)
    ls_config_json_string (out, fault->file);
  else
    g_string_append (out, "null");
  g_string_append_printf (out, ", \"line\": %d, \"column\": %d, ", fault->line, fault->column);
  ls_config_json_key (out, "message");
  ls_config_json_string (out, message);
  g_string_append (out, ", ");
  ls_config_json_key (out, "hint");
  if (split != NULL)
    ls_config_json_string (out, split + 2);
  else
    g_string_append (out, "null");
  g_string_append_c (out, '}');
}

char *ls_config_errors_json (const LsConfigErrors *errors, const char *code, int indent) {
  g_autoptr (GPtrArray) faults = sorted (errors);
  GString *out = g_string_new ("[");
  gboolean first = TRUE;

  for (guint i = 0; i < faults->len; i++) {
    ls_config_json_next (out, indent, 1, &first);
    append_fault_json (out, code, faults->pdata[i]);
  }
  if (faults->len > 0)
    ls_config_json_break (out, indent, 0);
  g_string_append_c (out, ']');
  return g_string_free (out, FALSE);
}

gboolean ls_config_errors_check (const LsConfigErrors *errors, GError **error) {
  g_autofree char *text = NULL;

  if (!ls_config_errors_any (errors))
    return TRUE;
  text = g_strchomp (ls_config_errors_text (errors));
  g_set_error_literal (error, LS_ERROR, LS_ERROR_CONFIG, text);
  return FALSE;
}
