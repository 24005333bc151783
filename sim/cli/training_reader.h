/* What the files that read rows of training tables share: one row, and questions about its text. Short names, for no header
 * includes this one. Ownership: all borrowed. */
#pragma once

#include <string.h>

#include "cli/table_columns.h"
#include "cli/training_row.h"

typedef struct {
  const LsCsv *csv;
  guint row;
} Reader;

static inline const char *text (const Reader *reader, const char *column) {
  return ls_table_field (reader->csv, reader->row, LS_TABLE_TRAINING, column);
}

/* Does the column's text contain the word, whatever its case? */
static inline gboolean says (const Reader *reader, const char *column, const char *word) {
  g_autofree char *folded = g_ascii_strdown (text (reader, column), -1);

  return strstr (folded, word) != NULL;
}

/* Framework of the row; without such a column, what the source says. */
static inline const char *framework (const Reader *reader) {
  return *text (reader, "framework") ? "framework" : "source";
}

static inline gboolean of_megatron (const Reader *reader) {
  return says (reader, framework (reader), "megatron") || says (reader, framework (reader), "neox");
}

static inline gboolean of_torchtitan (const Reader *reader) {
  return says (reader, framework (reader), "torchtitan");
}

/* JAX: what is compiled is the whole step, so that of a layer that runs again only what gradients need does. */
static inline gboolean of_jax (const Reader *reader) {
  return says (reader, framework (reader), "maxtext") || says (reader, framework (reader), "pax") ||
         says (reader, framework (reader), "jax");
}

/* NVIDIA's implementation of an MLPerf benchmark on NVIDIA's accelerators, whatever the submission calls its containers ("NGC
 * MXNet 23.04, NGC PyTorch 23.04", "CUDA 12.0"), unless it says that it is another. */
static inline gboolean of_nvidia_mlperf (const Reader *reader) {
  const LsAccelerator *gpu = ls_accelerator_for_text (text (reader, "gpu"));

  return says (reader, "model", "mlperf") && gpu != NULL && g_str_equal (gpu->vendor, "NVIDIA") &&
         !says (reader, framework (reader), "deepspeed") &&
         !says (reader, framework (reader), "maxtext") &&
         !says (reader, framework (reader), "torchtitan");
}

static inline gboolean of_nemo (const Reader *reader) {
  /* MLPerf's submissions name the container of the framework: "PyTorch NVIDIA Release 25.09". AMD's implementation of
   * adapters is a port of NVIDIA's. */
  return says (reader, framework (reader), "nemo") || says (reader, framework (reader), "bridge") ||
         says (reader, framework (reader), "nvidia") || of_nvidia_mlperf (reader) ||
         (says (reader, "model", "lora") && says (reader, "model", "mlperf") &&
          !says (reader, framework (reader), "deepspeed"));
}

/* Formats and scaling of products, gradients and attention. */
void ls_training_read_precision (const Reader *reader, LsTrainingRow *out);
/* Sets the node (NULL: no preset is like it), its accelerators, and adapters and their rate where the row states them per node;
 * the accelerator, its counts and a rate per accelerator are read before. */
void ls_training_find_node (const Reader *reader, LsTrainingRow *out);
/* In 4 bits whatever the column says. */
gboolean ls_training_runs_in_fp4 (const Reader *reader);
/* One more reason why the row cannot be predicted, beside those that @error has. Returns FALSE. */
gboolean ls_training_skip (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The same with a reason that is freed. */
gboolean ls_training_skip_for (GError **error, char *reason);
/* A whole number of at least @least, of "50257 (padded to 51200)" the 51200; an empty field gives @fallback (-1: it must be
 * stated). FALSE adds a reason. */
gboolean ls_training_integer (const Reader *reader, const char *column, gint64 least,
                              gint64 fallback, gint64 *out, GError **error);
/* Number behind `word` in the column; `otherwise` if there is none. */
gint64 ls_training_number_behind (const Reader *reader, const char *column, const char *word,
                                  gint64 otherwise);
/* The model and its adapters. FALSE adds the reasons. */
gboolean ls_training_read_model (const Reader *reader, LsTrainingRow *out, GError **error);
