/* Names and descriptors of a job, each stored once.
 *
 * Cost: a name is one hash lookup; a descriptor is a walk over the few dozen there are, at build
 * time only. The hash table is never iterated, so its order shows nowhere.
 */
#include "train/program/tables.h"

#include "base/assert.h"

struct LsTables {
  guint references;
  GPtrArray *names;
  GHashTable *number_of_name;
  GArray *descriptors;
};

LsTables *ls_tables_new (void) {
  LsTables *tables = g_new0 (LsTables, 1);

  tables->references = 1;
  tables->names = g_ptr_array_new_with_free_func (g_free);
  tables->number_of_name = g_hash_table_new (g_str_hash, g_str_equal);
  tables->descriptors = g_array_new (FALSE, FALSE, sizeof (LsDescriptor));
  return tables;
}

LsTables *ls_tables_ref (LsTables *tables) {
  tables->references++;
  return tables;
}

void ls_tables_free (LsTables *tables) {
  if (tables == NULL || --tables->references > 0)
    return;
  g_hash_table_unref (tables->number_of_name);
  g_ptr_array_unref (tables->names);
  g_array_unref (tables->descriptors);
  g_free (tables);
}

guint32 ls_tables_name (LsTables *tables, const char *name) {
  gpointer found = NULL;

  LS_REQUIRE (name != NULL);
  if (g_hash_table_lookup_extended (tables->number_of_name, name, NULL, &found))
    return GPOINTER_TO_UINT (found);
  char *copy = g_strdup (name);
  guint number = tables->names->len;
  g_ptr_array_add (tables->names, copy);
  g_hash_table_insert (tables->number_of_name, copy, GUINT_TO_POINTER (number));
  return number;
}

guint16 ls_tables_descriptor (LsTables *tables, LsCollectiveOp op, gint64 bytes) {
  return ls_tables_descriptor_by (tables, op, LS_ALGORITHM_AUTO, bytes);
}

guint16 ls_tables_descriptor_by (LsTables *tables, LsCollectiveOp op, LsAlgorithm algorithm,
                                 gint64 bytes) {
  LsDescriptor wanted = {.op = op, .algorithm = algorithm, .bytes = bytes};

  LS_REQUIRE (bytes >= 0, "a %s of %" G_GINT64_FORMAT " bytes", ls_collective_op_name (op), bytes);
  for (guint i = 0; i < tables->descriptors->len; i++) {
    const LsDescriptor *have = &g_array_index (tables->descriptors, LsDescriptor, i);
    if (have->op == op && have->algorithm == algorithm && have->bytes == bytes)
      return (guint16) i;
  }
  g_array_append_val (tables->descriptors, wanted);
  LS_REQUIRE (tables->descriptors->len < G_MAXUINT16, "too many kinds of messages");
  return (guint16) (tables->descriptors->len - 1);
}

guint16 ls_tables_add_splits (LsTables *tables, guint n) {
  const LsDescriptor one = {.op = LS_COLLECTIVE_ALL_TO_ALLV, .algorithm = LS_ALGORITHM_AUTO};
  const guint first = tables->descriptors->len;

  LS_REQUIRE (first + n < G_MAXUINT16, "too many kinds of messages");
  for (guint i = 0; i < n; i++)
    g_array_append_val (tables->descriptors, one);
  return (guint16) first;
}

void ls_tables_set_splits (LsTables *tables, guint16 number, const gint64 *splits, gint64 bytes) {
  LsDescriptor *one = &g_array_index (tables->descriptors, LsDescriptor, number);

  LS_REQUIRE (number < tables->descriptors->len && one->op == LS_COLLECTIVE_ALL_TO_ALLV,
              "descriptor %u has no splits", number);
  one->splits = splits;
  one->bytes = bytes;
}

guint ls_tables_n_names (const LsTables *tables) {
  return tables->names->len;
}

const char *ls_tables_get_name (const LsTables *tables, guint number) {
  LS_REQUIRE (number < tables->names->len, "name %u of %u", number, tables->names->len);
  return g_ptr_array_index (tables->names, number);
}

guint ls_tables_n_descriptors (const LsTables *tables) {
  return tables->descriptors->len;
}

const LsDescriptor *ls_tables_descriptors (const LsTables *tables) {
  return (const LsDescriptor *) (gconstpointer) tables->descriptors->data;
}
