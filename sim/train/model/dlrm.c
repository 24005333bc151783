/* DLRM on Criteo's terabyte: 26 embedding tables, two MLPs, and the dot products of all pairs between them.
 *
 * Model:      13 numbers pass the bottom MLP 512-256-128; 26 categories are looked up in tables of 128 columns
 *             (at most 40 million rows each, 187,767,399 in all); the 27 vectors' 351 dot products and the
 *             bottom's output are the 479 inputs of the top MLP 1024-1024-512-256-1.
 *             source: Naumov et al. 2019 (arXiv 1906.00091); MLPerf Training, recommendation reference
 *             (max-ind-range 40,000,000); table sizes as printed by NVIDIA's DLRM for that data set.
 */
#include "train/model/dlrm.h"

#define DENSE_INPUTS 13
#define WIDTH 128

static const gint64 rows[] = {39884406, 39043,  17289,    7420,    20263,  3,        7120,
                              1543,     63,     38532951, 2953546, 403346, 10,       2208,
                              11938,    155,    4,        976,     14,     39979771, 25641295,
                              39664984, 585935, 12972,    108,     36};

static void append (LsModel *model, const char *block, LsElementKind kind, gint64 in, gint64 out,
                    guint number) {
  g_autofree char *name = g_strdup_printf ("%s.%s%u", block, ls_element_name (kind), number);
  const LsElement element = {.kind = kind,
                             .name = name,
                             .block = (char *) block,
                             .in_channels = in,
                             .out_channels = out,
                             .in_height = 1,
                             .in_width = 1,
                             .out_height = 1,
                             .out_width = 1,
                             .kernel_height = 1,
                             .kernel_width = 1,
                             .stride = 1,
                             .groups = 1,
                             .bias = kind == LS_ELEMENT_LINEAR};

  ls_model_append (model, &element);
}

static void append_mlp (LsModel *model, const char *block, gint64 in, const gint64 *widths,
                        guint n) {
  for (guint i = 0; i < n; i++) {
    append (model, block, LS_ELEMENT_LINEAR, in, widths[i], i + 1);
    if (widths[i] > 1)
      append (model, block, LS_ELEMENT_RELU, widths[i], widths[i], i + 1);
    in = widths[i];
  }
}

LsModel *ls_dlrm_new (const char *name) {
  static const gint64 bottom[] = {512, 256, WIDTH}, top[] = {1024, 1024, 512, 256, 1};
  const gint64 tables = G_N_ELEMENTS (rows), features = tables + 1;
  LsModel *model = ls_model_new_layers (name);
  LsElement *element = NULL;

  append_mlp (model, "bottom", DENSE_INPUTS, bottom, G_N_ELEMENTS (bottom));
  append (model, "tables", LS_ELEMENT_EMBEDDING_TABLES, tables, tables * WIDTH, 1);
  element = &model->elements[model->n_elements - 1];
  element->tables = tables;
  element->width = WIDTH;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    element->rows += rows[i];
  append (model, "interaction", LS_ELEMENT_INTERACTION, features * WIDTH,
          features * (features - 1) / 2 + WIDTH, 1);
  element = &model->elements[model->n_elements - 1];
  element->tables = features;
  element->width = WIDTH;
  append_mlp (model, "top", element->out_channels, top, G_N_ELEMENTS (top));
  append (model, "top", LS_ELEMENT_CROSS_ENTROPY, 1, 1, 1);
  return model;
}
