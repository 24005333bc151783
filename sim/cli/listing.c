/* Rows of `lockstep list`, gathered from the catalogues of all parts, see listing.h. */
#include "cli/listing.h"

#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/queries.h"
#include "cli/scenario.h"
#include "config/schema.h"
#include "hw/catalogue.h"
#include "net/collective.h"
#include "train/models.h"
#include "train/vocabulary.h"
#include "train/workload.h"

static void row_free (gpointer data) {
  LsListRow *row = data;

  g_free (row->name);
  g_free (row->title);
  g_free (row->aliases);
  g_free (row->notes);
  g_array_unref (row->facts);
  g_free (row);
}

static GPtrArray *rows_new (void) {
  return g_ptr_array_new_with_free_func (row_free);
}

static LsListRow *add (GPtrArray *rows, const char *name, const char *title) {
  LsListRow *row = g_new0 (LsListRow, 1);

  row->name = g_strdup (name);
  row->title = g_strdup (title ? title : "");
  row->aliases = g_strdup ("");
  row->facts = g_array_new (FALSE, FALSE, sizeof (LsFact));
  g_ptr_array_add (rows, row);
  return row;
}

static void add_number (LsListRow *row, const char *field, double value, LsDimension dimension,
                        const char *source) {
  LsFact fact = {.field = field,
                 .value = value,
                 .dimension = dimension,
                 .status = LS_FACT_FOUND,
                 .source = source};

  g_array_append_val (row->facts, fact);
}

static GPtrArray *catalogue_rows (const LsCatalogue *catalogue) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < catalogue->count (); i++) {
    LsListRow *row = add (rows, catalogue->name (i), catalogue->title (i));
    LsFact fact;

    g_free (row->aliases);
    row->aliases = g_strdup (catalogue->aliases (i) ? catalogue->aliases (i) : "");
    row->notes = g_strdup (catalogue->notes (i));
    for (guint k = 0; catalogue->fact (i, k, &fact); k++)
      g_array_append_val (row->facts, fact);
  }
  return rows;
}

static GPtrArray *model_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < ls_model_preset_count (); i++) {
    const LsModelPreset *preset = ls_model_preset_get (i);
    const LsTransformer *t = &preset->transformer;
    LsListRow *row = add (rows, preset->name, preset->title);
    const struct {
      const char *field;
      gint64 value;
    } sizes[] = {{"layers", t->layers},     {"hidden", t->hidden}, {"heads", t->heads},
                 {"kv_heads", t->kv_heads}, {"ffn", t->ffn},       {"vocab", t->vocab},
                 {"max_seq", t->max_seq}};

    for (guint k = 0; t->layers > 0 && k < G_N_ELEMENTS (sizes); k++)
      add_number (row, sizes[k].field, (double) sizes[k].value, LS_DIMENSION_NONE, preset->source);
    add_number (row, "published_parameters", preset->published_parameters, LS_DIMENSION_COUNT,
                preset->source);
  }
  return rows;
}

static GPtrArray *key_rows (void) {
  GPtrArray *rows = rows_new ();
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (schema, i);
    LsListRow *row = add (rows, key->path, key->meaning ? key->meaning : "");

    row->notes =
        key->later ? g_strdup_printf ("not yet: %s", key->later) : ls_config_key_takes (key);
  }
  return rows;
}

static GPtrArray *query_rows (void) {
  GPtrArray *rows = rows_new ();
  g_autoptr (GPtrArray) queries = ls_cli_queries (NULL);

  for (guint i = 0; queries && i < queries->len; i++) {
    const LsQuery *query = queries->pdata[i];

    add (rows, ls_query_name (query), ls_query_question (query));
  }
  return rows;
}

/* The YAML files of a data folder, described by their `title`. */
static GPtrArray *file_rows (const char *folder) {
  GPtrArray *rows = rows_new ();
  g_autofree char *root = ls_cli_data_dir ();
  g_autofree char *path = g_build_filename (root ? root : ".", folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_suffix (name, ".yaml"))
      g_ptr_array_add (names, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (names, ls_cli_compare_strings);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *file = g_build_filename (root, names->pdata[i], NULL);
    g_autofree char *title = ls_scenario_file_title (file);

    add (rows, names->pdata[i], title);
  }
  return rows;
}

static GPtrArray *topology_rows (void) {
  return file_rows ("topologies");
}

static GPtrArray *workload_rows (void) {
  return file_rows ("workloads");
}

#define WORD_ROW(ID, word, ...) add (rows, word, NULL);
#define WORD_KIND(name, list)      \
  static GPtrArray *name (void) {  \
    GPtrArray *rows = rows_new (); \
    list (WORD_ROW) return rows;   \
  }
WORD_KIND (operation_rows, LS_COLLECTIVE_OPS)
WORD_KIND (algorithm_rows, LS_COLLECTIVE_ALGORITHMS)
WORD_KIND (schedule_rows, LS_SCHEDULES)
WORD_KIND (recompute_rows, LS_RECOMPUTE_MODES)
WORD_KIND (optimizer_rows, LS_OPTIMIZERS)
WORD_KIND (part_rows, LS_PARTS)
WORD_KIND (memory_rows, LS_MEMORY)
WORD_KIND (kind_rows, LS_KINDS)

static GPtrArray *policy_rows (void) {
  GPtrArray *rows = rows_new ();

  add (rows, "sync", "every replica waits for all others at the end of each step");
  return rows;
}

static GPtrArray *command_rows (void) {
  GPtrArray *rows = rows_new ();

  for (const LsCommand *const *command = ls_commands (); *command; command++)
    add (rows, (*command)->name, (*command)->summary);
  return rows;
}

/* Kinds that are no catalogue of hardware. */
static const struct {
  const char *kind, *summary;
  GPtrArray *(*rows) (void);
} others[] = {
    {"models", "model presets", model_rows},
    {"topologies", "shipped cluster files", topology_rows},
    {"workloads", "shipped training job files", workload_rows},
    {"queries", "questions that `lockstep query` answers by name", query_rows},
    {"keys", "keys of scenario files", key_rows},
    {"collectives", "collective operations", operation_rows},
    {"algorithms", "collective algorithms", algorithm_rows},
    {"schedules", "pipeline schedules", schedule_rows},
    {"recompute", "modes of activation recomputation", recompute_rows},
    {"optimizers", "optimizers", optimizer_rows},
    {"policies", "update policies", policy_rows},
    {"parts", "parts that a step's time is split into", part_rows},
    {"memory", "kinds of memory", memory_rows},
    {"kinds", "kinds of traced operations", kind_rows},
    {"commands", "commands of this program", command_rows},
};

GPtrArray *ls_listing_kinds (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < ls_catalogue_count (); i++)
    add (rows, ls_catalogue_get (i)->kind, ls_catalogue_get (i)->summary);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    add (rows, others[i].kind, others[i].summary);
  return rows;
}

GPtrArray *ls_listing_rows (const char *kind, GError **error) {
  const LsCatalogue *catalogue = ls_catalogue_find (kind);
  g_autoptr (GPtrArray) kinds = NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;

  if (catalogue)
    return catalogue_rows (catalogue);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (others[i].kind, kind))
      return others[i].rows ();
  kinds = ls_listing_kinds ();
  for (guint i = 0; i < kinds->len; i++)
    g_ptr_array_add (names, ((LsListRow *) kinds->pdata[i])->name);
  g_ptr_array_add (names, NULL);
  near = ls_nearest (kind, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "nothing is called '%s'%s%s%s; 'lockstep list' shows what can be listed", kind,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return NULL;
}
