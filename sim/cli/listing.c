/* Rows of `lockstep list`, gathered from the catalogues of all parts, see listing.h. */
#include "cli/listing.h"

#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/data_files.h"
#include "cli/meanings.h"
#include "cli/queries.h"
#include "cli/scenario.h"
#include "config/output.h"
#include "config/schema.h"
#include "faults/fault_presets.h"
#include "hw/catalogue.h"
#include "net/algorithm.h"
#include "net/protocol.h"
#include "train/model/models.h"
#include "train/vocabulary.h"
#include "train/workload/workload.h"

static void row_free (gpointer data) {
  LsListRow *row = data;

  g_free (row->name);
  g_free (row->title);
  g_free (row->aliases);
  g_free (row->notes);
  g_free (row->figures);
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

static const LsFact *find_fact (const LsListRow *row, const char *field) {
  for (guint i = 0; i < row->facts->len; i++)
    if (g_str_equal (g_array_index (row->facts, LsFact, i).field, field))
      return &g_array_index (row->facts, LsFact, i);
  return NULL;
}

/* "989.4 TFLOP/s bf16, 80 GB at 3.35 TB/s" of the data sheet; NULL for a row that has no such facts. */
static char *gpu_figures (const LsListRow *row) {
  const LsFact *bf16 = find_fact (row, "peak.bf16");
  const LsFact *peak = bf16 ? bf16 : find_fact (row, "peak.fp16");
  const LsFact *size = find_fact (row, "hbm_nominal_bytes"),
               *rate = find_fact (row, "hbm_bytes_per_s");
  g_autofree char *flops = NULL, *bytes = NULL, *speed = NULL;

  if (!peak || !size || !rate)
    return NULL;
  flops = ls_quantity_format (peak->value, peak->dimension);
  bytes = ls_quantity_format (size->value, size->dimension);
  speed = ls_quantity_format (rate->value, rate->dimension);
  return g_strdup_printf ("%s %s, %s at %s", flops, bf16 ? "bf16" : "fp16", bytes, speed);
}

/* Bits, range and who computes in it; NULL for a row that is no number format. */
static char *format_figures (const LsListRow *row) {
  const LsFact *bits = find_fact (row, "bits"), *native = find_fact (row, "native");
  double range[4];
  static const char *const fields[] = {"max", "min_normal", "min_subnormal", "epsilon"};

  if (!bits || !native)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++) {
    const LsFact *fact = find_fact (row, fields[i]);

    range[i] = fact ? fact->value : 0;
  }
  return g_strdup_printf (
      "%2.0f bits  max %-12.6g normal %-12.6g subnormal %-12.6g eps %-10.6g native: %s",
      bits->value, range[0], range[1], range[2], range[3], native->text);
}

/* "16 SMs, 1 of 8 memory slices, from 0 to 6, at most 7"; NULL for a row that is no MIG profile. */
static char *mig_figures (const LsListRow *row) {
  const LsFact *memory = find_fact (row, "memory_slices"),
               *of = find_fact (row, "of_memory_slices");
  const LsFact *sms = find_fact (row, "sms"), *starts = find_fact (row, "starts_at_memory_slice");
  const LsFact *most = find_fact (row, "most_per_gpu");

  if (!memory || !of || !sms || !starts || !most)
    return NULL;
  return g_strdup_printf ("%3.0f SMs, %.0f of %.0f memory slices from %s, at most %.0f", sms->value,
                          memory->value, of->value, starts->text, most->value);
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
    row->figures = gpu_figures (row);
    if (!row->figures)
      row->figures = mig_figures (row);
    if (!row->figures)
      row->figures = format_figures (row);
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
    if (preset->published_active > 0)
      add_number (row, "active_parameters", preset->published_active, LS_DIMENSION_COUNT,
                  preset->source);
    g_autofree char *size = ls_quantity_format (preset->published_parameters, LS_DIMENSION_COUNT);
    row->figures = t->layers > 0
                       ? g_strdup_printf ("%s parameters, %d layers of %d, sequences up to %d",
                                          size, (int) t->layers, (int) t->hidden, (int) t->max_seq)
                       : g_strdup_printf ("%s parameters", size);
  }
  return rows;
}

static GPtrArray *key_rows (void) {
  GPtrArray *rows = rows_new ();
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (schema, i);
    LsListRow *row = add (rows, key->path, key->meaning ? key->meaning : "");

    g_autofree char *takes = ls_config_key_takes (key);
    row->notes = key->later ? g_strdup_printf ("not yet: %s", key->later)
                            : g_strdup_printf ("takes %s%s%s", takes,
                                               key->default_text ? "; if not given " : "",
                                               key->default_text ? key->default_text : "");
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
/* Files of a folder and of the folders in it, one deep. */
static void find_files (GPtrArray *names, const char *root, const char *folder, gboolean deeper) {
  g_autofree char *path = g_build_filename (root, folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *inside = g_build_filename (folder, name, NULL);

    if (g_str_has_suffix (name, ".yaml"))
      g_ptr_array_add (names, g_steal_pointer (&inside));
    else if (deeper)
      find_files (names, root, inside, FALSE);
  }
}

static GPtrArray *file_rows (const char *folder) {
  GPtrArray *rows = rows_new ();
  g_autofree char *root = ls_data_dir ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);

  find_files (names, root ? root : ".", folder, TRUE);
  g_ptr_array_sort (names, ls_cli_compare_strings);
  for (guint i = 0; i < names->len; i++) {
    g_autofree char *file = g_build_filename (root ? root : ".", names->pdata[i], NULL);
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

/* Rows of an X-macro's words with their meanings. */
#define WORD_ROWS(name, list, row) \
  static GPtrArray *name (void) {  \
    GPtrArray *rows = rows_new (); \
    list (row) return rows;        \
  }
#define SCHEDULE_ROW(ID, word) add (rows, word, ls_meaning_schedule (LS_SCHEDULE_##ID));
#define RECOMPUTE_ROW(ID, word) add (rows, word, ls_meaning_recompute (LS_RECOMPUTE_##ID));
#define OPTIMIZER_ROW(ID, word) add (rows, word, ls_meaning_optimizer (LS_OPTIMIZER_##ID));
#define PART_ROW(ID, word) add (rows, word, ls_meaning_part (LS_PART_##ID));
#define MEMORY_ROW(ID, word) add (rows, word, ls_meaning_memory (LS_MEMORY_##ID));
#define KIND_ROW(ID, word, class) add (rows, word, ls_meaning_kind (LS_KIND_##ID));
WORD_ROWS (schedule_rows, LS_SCHEDULES, SCHEDULE_ROW)
WORD_ROWS (recompute_rows, LS_RECOMPUTE_MODES, RECOMPUTE_ROW)
WORD_ROWS (optimizer_rows, LS_OPTIMIZERS, OPTIMIZER_ROW)
WORD_ROWS (part_rows, LS_PARTS, PART_ROW)
WORD_ROWS (memory_rows, LS_MEMORY, MEMORY_ROW)
WORD_ROWS (kind_rows, LS_KINDS, KIND_ROW)

/* How nccl-tests turn a time into bus bandwidth; NULL: not theirs. */
static char *bus_factor (LsCollectiveOp op) {
  if (op == LS_COLLECTIVE_ALL_REDUCE)
    return g_strdup ("busbw = size / time x 2 (n-1)/n");
  if (ls_collective_is_group (op) && ls_collective_bus_factor (op, 2) < 1)
    return g_strdup ("busbw = size / time x (n-1)/n");
  return ls_collective_is_group (op) || op == LS_COLLECTIVE_SEND_RECV
             ? g_strdup ("busbw = size / time")
             : NULL;
}

static GPtrArray *operation_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint op = 0; op < LS_N_COLLECTIVE_OPS; op++) {
    LsListRow *row = add (rows, ls_collective_op_name ((LsCollectiveOp) op),
                          ls_meaning_collective ((LsCollectiveOp) op));

    row->figures = bus_factor ((LsCollectiveOp) op);
    if (row->figures)
      row->notes = g_strdup ("bus bandwidth as in nccl-tests, doc/PERFORMANCE.md");
  }
  return rows;
}

static GPtrArray *algorithm_rows (void) {
  GPtrArray *rows = rows_new ();
  LsListRow *first = add (rows, ls_algorithm_name (LS_ALGORITHM_AUTO),
                          "whichever NCCL would take: the one predicted fastest");

  first->figures = g_strdup ("");
  for (guint i = 0; i < ls_algorithm_count (); i++) {
    const LsAlgorithmRecord *algorithm = ls_algorithm_get (i);
    LsListRow *row = add (rows, algorithm->name, algorithm->summary);
    LsFact fact = {.field = "formula",
                   .text = algorithm->formula,
                   .status = LS_FACT_FOUND,
                   .source = algorithm->source};
    g_autofree char *ops = ls_algorithm_ops (algorithm);

    row->figures = g_strdup (algorithm->formula);
    row->notes = g_strdup_printf ("operations: %s", ops);
    g_array_append_val (row->facts, fact);
  }
  return rows;
}

static GPtrArray *protocol_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < LS_N_PROTOCOLS; i++)
    add (rows, ls_protocol_name ((LsProtocol) i), ls_protocol_summary ((LsProtocol) i));
  return rows;
}

#define FABRIC_ROW(ID, word, meaning) add (rows, word, meaning);
WORD_ROWS (fabric_rows, LS_FABRIC_KINDS, FABRIC_ROW)
WORD_ROWS (routing_rows, LS_ROUTINGS, FABRIC_ROW)
WORD_ROWS (joint_rows, LS_JOINTS, FABRIC_ROW)

static void add_source (LsListRow *row, const char *field, const char *text, const char *source) {
  LsFact fact = {.field = field, .text = text, .status = LS_FACT_FOUND, .source = source};

  g_array_append_val (row->facts, fact);
}

static GPtrArray *policy_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < ls_update_policy_count (); i++) {
    const LsUpdatePolicy *policy = ls_update_policy_get (i);
    LsListRow *row = add (rows, policy->name, policy->title);

    add_source (row, "definition", policy->definition, policy->source);
  }
  return rows;
}

static GPtrArray *distribution_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < ls_distribution_kind_count (); i++) {
    const LsDistributionKind *kind = ls_distribution_kind_get (i);
    GString *notes = g_string_new (kind->from_file ? "takes file" : "takes ");
    LsListRow *row = add (rows, kind->name, kind->use);

    for (guint p = 0; p < LS_DISTRIBUTION_PARAMETERS && kind->parameters[p].name; p++)
      g_string_append_printf (notes, "%s%s (%s)", p > 0 ? ", " : "", kind->parameters[p].name,
                              kind->parameters[p].meaning);
    row->notes = g_string_free (notes, FALSE);
    add_source (row, "law", kind->law, kind->source);
  }
  return rows;
}

static void add_repair (LsListRow *row, const char *field, double median_h, const char *source) {
  LsFact repair = {.field = field,
                   .value = 3600 * median_h,
                   .dimension = LS_DIMENSION_TIME,
                   .status = LS_FACT_FOUND,
                   .source = source};

  g_array_append_val (row->facts, repair);
}

/* Median times of repair: of all causes, and of those that have their own. */
static void add_repairs (LsListRow *row, const LsFaultPreset *preset) {
  add_repair (row, "repair", preset->repair_median_h, preset->repair_source);
  for (guint c = 0; c < preset->n_causes; c++) {
    g_autofree char *field = g_strconcat (preset->causes[c].name, ", repair", NULL);

    if (preset->causes[c].repair_median_h > 0)
      add_repair (row, g_intern_string (field), preset->causes[c].repair_median_h,
                  preset->repair_source);
  }
}

/* Published failure rates, cause by cause, as mean lifetimes of a component. */
static GPtrArray *fault_rows (void) {
  GPtrArray *rows = rows_new ();

  for (guint i = 0; i < ls_fault_preset_count (); i++) {
    const LsFaultPreset *preset = ls_fault_preset_get (i);
    LsListRow *row = add (rows, preset->name, preset->summary);

    row->notes = g_strdup ("mean time between failures of one such component (GPU, node, ...; of "
                           "the whole job for software); repair times are lognormal: median here, "
                           "with their own one where a cause has it");
    for (guint c = 0; c < preset->n_causes; c++) {
      LsFailureSource source = ls_fault_preset_source (preset, c, preset->gpus_per_node);
      LsFact lifetime = {.field = preset->causes[c].name,
                         .value = ls_distribution_mean (&source.lifetime),
                         .dimension = LS_DIMENSION_TIME,
                         .status = LS_FACT_DERIVED,
                         .source = preset->source};
      g_array_append_val (row->facts, lifetime);
    }
    add_repairs (row, preset);
  }
  return rows;
}

#define MEANING_ROW(ID, word, meaning) add (rows, word, meaning);
WORD_ROWS (component_rows, LS_COMPONENTS, MEANING_ROW)
WORD_ROWS (recovery_rows, LS_RECOVERIES, MEANING_ROW)
WORD_ROWS (campaign_part_rows, LS_CAMPAIGN_PARTS, MEANING_ROW)

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
    {"topologies", "shipped cluster files; kinds: fabrics, joints", topology_rows},
    {"fabrics", "kinds of networks between nodes", fabric_rows},
    {"joints", "how the devices of a node are joined", joint_rows},
    {"routings", "how flows are laid over equal paths", routing_rows},
    {"workloads", "shipped files of jobs, campaigns, stragglers, traffic and studies",
     workload_rows},
    {"queries", "questions that `lockstep query` answers by name", query_rows},
    {"keys", "keys of scenario files", key_rows},
    {"collectives", "collective operations", operation_rows},
    {"algorithms", "collective algorithms", algorithm_rows},
    {"protocols", "protocols of collectives", protocol_rows},
    {"schedules", "pipeline schedules", schedule_rows},
    {"recompute", "modes of activation recomputation", recompute_rows},
    {"optimizers", "optimizers", optimizer_rows},
    {"policies", "update policies", policy_rows},
    {"distributions", "distributions of times", distribution_rows},
    {"faults", "published failure rates", fault_rows},
    {"components", "components that fail", component_rows},
    {"recoveries", "what a job does after a failure", recovery_rows},
    {"campaign-parts", "parts that a campaign's time is split into", campaign_part_rows},
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

/* The rows of a kind; NULL: there is none (transfer full). */
static GPtrArray *rows_of (const char *kind) {
  const LsCatalogue *catalogue = ls_catalogue_find (kind);

  if (catalogue)
    return catalogue_rows (catalogue);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (others[i].kind, kind))
      return others[i].rows ();
  return NULL;
}

static const LsListRow *find (const GPtrArray *rows, const char *kind, const char *name) {
  const LsCatalogue *catalogue = ls_catalogue_find (kind);
  int found = catalogue ? ls_catalogue_row (catalogue, name) : -1;

  for (guint i = 0; i < rows->len && found < 0; i++)
    if (g_ascii_strcasecmp (((LsListRow *) rows->pdata[i])->name, name) == 0)
      found = (int) i;
  return found >= 0 ? rows->pdata[found] : NULL;
}

/* What to write instead of an unknown kind: one that is spelt alike, or where a row of that name is (transfer full). */
static char *hint_of (const char *word) {
  g_autoptr (GPtrArray) kinds = ls_listing_kinds ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < kinds->len; i++)
    g_ptr_array_add (names, ((LsListRow *) kinds->pdata[i])->name);
  g_ptr_array_add (names, NULL);
  const char *near = ls_nearest (word, (const char *const *) names->pdata);
  if (near != NULL)
    return g_strdup_printf ("; did you mean '%s'?", near);
  for (guint i = 0; i < kinds->len; i++) {
    const char *kind = ((LsListRow *) kinds->pdata[i])->name;
    g_autoptr (GPtrArray) rows = rows_of (kind);

    if (find (rows, kind, word) != NULL)
      return g_strdup_printf ("; did you mean 'lockstep list %s %s'?", kind, word);
  }
  return g_strdup ("");
}

GPtrArray *ls_listing_rows (const char *kind, GError **error) {
  GPtrArray *rows = rows_of (kind);

  if (rows == NULL) {
    g_autofree char *hint = hint_of (kind);

    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "nothing is called '%s'%s; 'lockstep list' shows what can be listed", kind, hint);
  }
  return rows;
}

/* Adds rows below the key @name ("cost.gpu" below "cost"), or all that have @name in theirs. */
static void add_related (GPtrArray *out, const GPtrArray *rows, const char *name, gboolean below) {
  g_autofree char *part = g_ascii_strdown (name, -1);
  gsize length = strlen (part);

  for (guint i = 0; i < rows->len; i++) {
    g_autofree char *whole = g_ascii_strdown (((LsListRow *) rows->pdata[i])->name, -1);

    if (below ? g_str_has_prefix (whole, part) && whole[length] == '.'
              : length >= 2 && strstr (whole, part) != NULL)
      g_ptr_array_add (out, rows->pdata[i]);
  }
}

/* Adds the key that others call @name: workload.parallel.tensor for tp. */
static void add_meant (GPtrArray *out, const GPtrArray *rows, const char *name) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *path = ls_config_find_key (schema, name);
  const LsConfigKey *key = path != NULL ? ls_config_schema_find (schema, path) : NULL;

  for (guint i = 0; key != NULL && i < rows->len; i++)
    if (g_str_equal (((LsListRow *) rows->pdata[i])->name, key->path) &&
        !g_ptr_array_find (out, rows->pdata[i], NULL))
      g_ptr_array_insert (out, 0, rows->pdata[i]);
}

/* Adds the key written as scenarios write it, by a short form ("cluster.node.host"), and those below it. */
static void add_written (GPtrArray *out, const GPtrArray *rows, const char *name) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  const LsConfigKey *key = ls_config_schema_find (schema, name);
  const LsListRow *row = key != NULL ? find (rows, "keys", key->path) : NULL;

  if (row == NULL)
    return;
  g_ptr_array_add (out, (gpointer) row);
  add_related (out, rows, key->path, TRUE);
}

GPtrArray *ls_listing_choose (const GPtrArray *rows, const char *kind, const char *name,
                              GError **error) {
  g_autoptr (GPtrArray) out = g_ptr_array_new ();
  const LsListRow *row = find (rows, kind, name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *near;

  if (row != NULL)
    g_ptr_array_add (out, (gpointer) row);
  if (row == NULL || g_str_equal (kind, "keys"))
    add_related (out, rows, name, row != NULL);
  if (row == NULL && g_str_equal (kind, "keys"))
    add_meant (out, rows, name);
  if (out->len == 0 && g_str_equal (kind, "keys"))
    add_written (out, rows, name);
  if (out->len > 0)
    return g_steal_pointer (&out);
  for (guint i = 0; i < rows->len; i++)
    g_ptr_array_add (names, ((LsListRow *) rows->pdata[i])->name);
  g_ptr_array_add (names, NULL);
  near = ls_nearest (name, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "no '%s' among %s%s%s%s; 'lockstep list %s' shows them", name, kind,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", kind);
  return NULL;
}
