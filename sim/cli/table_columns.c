/* The rows of table_columns.h. */
#include "cli/table_columns.h"

#include "base/assert.h"
#include "base/distance.h"
#include "cli/json.h"
#include "hw/catalogue.h"

static const LsTableColumn training[] = {
    {"row_id", LS_COLUMN_REQUIRED, "name of the row in what is printed"},
    {"gpu", LS_COLUMN_REQUIRED,
     "accelerator, as lockstep list gpus has it; a remark may follow in parentheses"},
    {"gpus", LS_COLUMN_REQUIRED, "accelerators of the job"},
    {"seq", LS_COLUMN_REQUIRED, "tokens of a sequence"},
    {"tp", LS_COLUMN_REQUIRED, "tensor-parallel ranks"},
    {"pp", LS_COLUMN_REQUIRED, "pipeline stages"},
    {"global_batch", LS_COLUMN_REQUIRED, "sequences of a step, over all replicas"},
    {"layers", LS_COLUMN_MODEL, "blocks; empty: those of the preset that model names"},
    {"hidden", LS_COLUMN_MODEL, "width; empty: the preset's"},
    {"heads", LS_COLUMN_MODEL, "attention heads; empty: the preset's"},
    {"model", LS_COLUMN_INPUT,
     "its name: a preset (lockstep list models), Llama, MoE, LoRA (rank N), MLPerf's"},
    {"arch", LS_COLUMN_INPUT, "family: Llama, MoE, dense layers"},
    {"ffn", LS_COLUMN_INPUT,
     "width of the feed-forward layer; empty: 4 hidden (gated: must stand)"},
    {"ffn_act", LS_COLUMN_INPUT, "SwiGLU, GeGLU, ReGLU or SiLU: gated, as Llama; else GELU"},
    {"kv_heads", LS_COLUMN_INPUT, "heads of keys and values; empty: heads"},
    {"vocab", LS_COLUMN_INPUT, "words of the vocabulary; empty: 51200"},
    {"tied_embeddings", LS_COLUMN_INPUT, "yes: the head is the embedding; empty: unless Llama"},
    {"precision", LS_COLUMN_INPUT,
     "number format of products: bf16, fp16, fp32, fp8, mxfp8, fp4 and its scaling"},
    {"framework", LS_COLUMN_INPUT, "name and release of the software (lockstep list software)"},
    {"source", LS_COLUMN_INPUT,
     "publication: stands in for framework, tells rounds of MLPerf and SimuMax's runs"},
    {"source_location", LS_COLUMN_INPUT,
     "place within it: the container's release, to tell rows apart in pairs"},
    {"other_config", LS_COLUMN_INPUT,
     "settings in words or as KEY=VALUE: mixed_precision, grads reduced fp32, "
     "overlap_param_gather, "
     "overlap_param_gather_with_optim_step, fp8_param_gather, fp8_params, fp8_recipe, fp8_act, "
     "fp8_activation, "
     "mcore_cuda_graph, full_cuda_graph, tp_comm_overlap, async_tp, lora"},
    {"gpus_per_node", LS_COLUMN_INPUT, "accelerators of a node; empty: 8"},
    {"inter_node_per_gpu_gbit_s", LS_COLUMN_INPUT,
     "network per accelerator, Gbit/s, one direction; empty: the node's"},
    {"inter_node", LS_COLUMN_INPUT,
     "the same as \"4x200 Gb/s HDR per node\", HDR and its like: of InfiniBand"},
    {"fabric", LS_COLUMN_INPUT, "network in words: Omni-Path chooses nodes with such adapters"},
    {"intra_node", LS_COLUMN_INPUT, "NVLink or NVL72: trays of four make a domain of up to 72"},
    {"dp", LS_COLUMN_INPUT, "replicas; empty: what the rest leaves"},
    {"cp", LS_COLUMN_INPUT, "context-parallel ranks; empty: 1"},
    {"ep", LS_COLUMN_INPUT, "expert-parallel ranks; empty: 1"},
    {"virtual_stages", LS_COLUMN_INPUT, "chunks of a rank; empty: see pp_schedule"},
    {"pp_schedule", LS_COLUMN_INPUT,
     "gpipe, 1F1B, interleaved, ZB-H1, ZBV and so on; empty: swept where the framework has it"},
    {"sequence_parallel", LS_COLUMN_INPUT, "yes or true; empty: as the framework"},
    {"tp_comm_overlap", LS_COLUMN_INPUT,
     "true: beside products in pieces, false: in bulk; empty: as the framework"},
    {"zero_stage", LS_COLUMN_INPUT,
     "what is sharded among replicas, 0-3; empty: by shard_strategy, else 3 under torchtitan, 1 "
     "under NeMo, 0"},
    {"shard_strategy", LS_COLUMN_INPUT,
     "hybrid or HSDP: sharded in each node, repeated over nodes; \"not resharded\": blocks of a "
     "pipeline stay gathered"},
    {"micro_batch", LS_COLUMN_INPUT,
     "sequences of a forward pass; empty: swept over powers of two"},
    {"recompute", LS_COLUMN_INPUT,
     "none, selective, full, as docs/validation.md says; empty: the lightest that fits"},
    {"mem_def", LS_COLUMN_INPUT,
     "what peak_mem_gb counts: allocated, reserved, or used (nvidia-smi)"},
    {"flops_def", LS_COLUMN_INPUT, "how tflops_per_gpu and mfu_pct were counted"},
    {"peak_tflops_used", LS_COLUMN_INPUT,
     "TFLOP/s that mfu_pct is counted against; empty: the data sheet's"},
    {"step_time_s", LS_COLUMN_MEASURED, "seconds of a step"},
    {"tokens_per_s_per_gpu", LS_COLUMN_MEASURED, "tokens per second and accelerator"},
    {"tflops_per_gpu", LS_COLUMN_MEASURED, "TFLOP/s per accelerator, counted as flops_def says"},
    {"mfu_pct", LS_COLUMN_MEASURED, "model FLOPs utilisation, percent"},
    {"peak_mem_gb", LS_COLUMN_MEASURED,
     "GB (10^9 bytes) of the fullest accelerator, counted as mem_def says"},
    {0},
};

static const LsTableColumn collective[] = {
    {"collective", LS_COLUMN_REQUIRED,
     "all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv, ..."},
    {"gpu", LS_COLUMN_REQUIRED, "accelerator, as lockstep list gpus has it"},
    {"ranks", LS_COLUMN_REQUIRED, "members of the collective"},
    {"size_bytes", LS_COLUMN_REQUIRED, "bytes, as nccl-tests counts them"},
    {"run_id", LS_COLUMN_INPUT,
     "name of the log: a row is called run_id:collective:size_bytes; empty: by gpu and ranks"},
    {"nodes", LS_COLUMN_INPUT, "nodes; empty: 1"},
    {"gpus_per_node", LS_COLUMN_INPUT, "members of a node; empty: ranks / nodes"},
    {"fabric", LS_COLUMN_INPUT,
     "network in words: a node preset, RoCE, \"8x400 Gbit/s per node\", NVLS_ENABLE=0, ring"},
    {"oop_time_us", LS_COLUMN_MEASURED, "microseconds, out of place; this or time_us must stand"},
    {"time_us", LS_COLUMN_MEASURED, "microseconds"},
    {0},
};

const LsTableColumn *ls_table_columns (LsTableKind kind) {
  return kind == LS_TABLE_TRAINING ? training : collective;
}

const char *ls_table_kind_name (LsTableKind kind) {
  return kind == LS_TABLE_TRAINING ? "training" : "collectives";
}

const char *ls_column_use_name (LsColumnUse use) {
  static const char *const words[] = {
#define X(NAME, WORD) WORD,
      LS_COLUMN_USES (X)
#undef X
  };

  return words[use];
}

static gboolean listed (LsTableKind kind, const char *column) {
  for (const LsTableColumn *c = ls_table_columns (kind); c->name != NULL; c++)
    if (g_str_equal (c->name, column))
      return TRUE;
  return FALSE;
}

const char *ls_table_field (const LsCsv *csv, guint row, LsTableKind kind, const char *column) {
  LS_REQUIRE (listed (kind, column), "column %s is not in sim/cli/table_columns.c", column);
  return ls_csv_field (csv, row, column);
}

static gboolean is_listed (LsTableKind kind, const char *name) {
  for (const LsTableColumn *c = ls_table_columns (kind); c->name != NULL; c++)
    if (g_str_equal (c->name, name))
      return TRUE;
  return FALSE;
}

/* Columns that nobody reads, of which one may be meant for another; NULL at the end (free the list alone). */
static const char **unread_columns (const LsCsv *csv, LsTableKind kind) {
  const GPtrArray *columns = ls_csv_columns (csv);
  const char **unread = g_new0 (const char *, columns->len + 1);

  for (guint i = 0, n = 0; i < columns->len; i++)
    if (!is_listed (kind, columns->pdata[i]))
      unread[n++] = columns->pdata[i];
  return unread;
}

char *ls_table_missing (const LsCsv *csv, LsTableKind kind) {
  g_autofree const char **unread = unread_columns (csv, kind);
  g_autoptr (GPtrArray) missing = g_ptr_array_new ();
  g_autoptr (GString) names = g_string_new (NULL);
  const gboolean named = ls_csv_column (csv, "model") >= 0;

  for (const LsTableColumn *c = ls_table_columns (kind); c->name != NULL; c++)
    if ((c->use == LS_COLUMN_REQUIRED || (c->use == LS_COLUMN_MODEL && !named)) &&
        ls_csv_column (csv, c->name) < 0)
      g_ptr_array_add (missing, (gpointer) c->name);
  g_ptr_array_add (missing, NULL);
  for (guint i = 0; i + 1 < missing->len; i++) {
    const char *name = missing->pdata[i], *near = ls_nearest (name, unread);
    /* Of several that one column may be, the one that it is nearest to. */
    const char *meant =
        near != NULL ? ls_nearest (near, (const char *const *) missing->pdata) : NULL;

    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", name);
    if (meant == name)
      g_string_append_printf (names, " (is %s it?)", near);
  }
  return names->len > 0 ? g_string_free (g_steal_pointer (&names), FALSE) : NULL;
}

static char *unknown (const char *what, const char *word, const char *where, const char *near) {
  return g_strdup_printf ("%s '%s' is not %s%s%s%s", what, word, where,
                          near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                          near != NULL ? "'?)" : "");
}

char *ls_table_unknown (const char *what, const char *word, const char *near) {
  return unknown (what, word, "known", near);
}

char *ls_table_unknown_gpu (const char *word) {
  g_autofree char *near = ls_catalogue_nearest (&ls_gpu_catalogue, word);

  return unknown ("gpu", word, "in the catalogue", near);
}

static char *as_csv (void) {
  GString *out = g_string_new ("table,column,use,meaning\n");

  for (guint kind = 0; kind < LS_N_TABLES; kind++)
    for (const LsTableColumn *c = ls_table_columns (kind); c->name != NULL; c++) {
      const char *const fields[] = {ls_table_kind_name (kind), c->name, ls_column_use_name (c->use),
                                    c->meaning};

      ls_csv_append_row (out, fields, G_N_ELEMENTS (fields));
    }
  return g_string_free (out, FALSE);
}

static char *as_json_text (void) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_open_array (json, "columns");
  for (guint kind = 0; kind < LS_N_TABLES; kind++)
    for (const LsTableColumn *c = ls_table_columns (kind); c->name != NULL; c++) {
      ls_json_open_object (json, NULL);
      ls_json_string (json, "table", ls_table_kind_name (kind));
      ls_json_string (json, "column", c->name);
      ls_json_string (json, "use", ls_column_use_name (c->use));
      ls_json_string (json, "meaning", c->meaning);
      ls_json_close (json);
    }
  ls_json_close (json);
  ls_json_close (json);
  return ls_json_finish (json);
}

char *ls_table_columns_text (gboolean as_json) {
  return as_json ? as_json_text () : as_csv ();
}
