/* Synthetic data sets, a pure function of their options. See dataset.h. */
#include "base/assert.h"
#include "learn/dataset.h"
#include "learn/normal.h"

/* Standard deviation of feature j: squares run geometrically from 1 to 1 / condition. */
static double deviation (const LsGeneratorOptions *o, gsize j) {
  if (o->features < 2)
    return 1;
  return pow (o->condition, -0.5 * (double) j / (double) (o->features - 1));
}

static void normal_features (LsDataset *data, const LsGeneratorOptions *o) {
  guint64 key = ls_random_key (o->seed, "data-features", 0);

  for (gsize i = 0; i < data->rows * data->features; i++)
    data->x[i] = ls_normal_at (key, i) * deviation (o, i % data->features);
}

/* weights . row, with weights drawn so that the margin has unit scale per feature. */
static double margin (const LsDataset *data, const LsGeneratorOptions *o, gsize row) {
  guint64 key = ls_random_key (o->seed, "data-weights", 0);
  double sum = 0;

  for (gsize j = 0; j < data->features; j++)
    sum += data->x[row * data->features + j] * ls_normal_at (key, j);
  return sum;
}

static void make_linear (LsDataset *data, const LsGeneratorOptions *o) {
  guint64 key = ls_random_key (o->seed, "data-noise", 0);

  normal_features (data, o);
  for (gsize i = 0; i < data->rows; i++)
    data->y[i] = margin (data, o, i) + o->noise * ls_normal_at (key, i);
}

static void make_logistic (LsDataset *data, const LsGeneratorOptions *o) {
  guint64 key = ls_random_key (o->seed, "data-noise", 0);

  normal_features (data, o);
  for (gsize i = 0; i < data->rows; i++) {
    double p = 1 / (1 + exp (-margin (data, o, i)));

    data->y[i] = (double) (ls_random_hash (key, 1, i) >> 11) * 0x1p-53 < p ? 1 : 0;
  }
}

static void make_blobs (LsDataset *data, const LsGeneratorOptions *o) {
  guint64 centres = ls_random_key (o->seed, "data-centres", 0);
  guint64 key = ls_random_key (o->seed, "data-features", 0);

  for (gsize i = 0; i < data->rows; i++) {
    gsize c = i % o->classes;

    data->y[i] = (double) c;
    for (gsize j = 0; j < data->features; j++)
      data->x[i * data->features + j] = ls_normal_at (centres, c * data->features + j) +
                                        o->noise * ls_normal_at (key, i * data->features + j);
  }
}

static void make_bars (LsDataset *data, const LsGeneratorOptions *o) {
  guint64 place = ls_random_key (o->seed, "data-places", 0);
  guint64 key = ls_random_key (o->seed, "data-features", 0);
  gsize side = o->features;

  for (gsize i = 0; i < data->rows; i++) {
    gsize bar = (gsize) (ls_random_hash (place, 1, i) % side);

    data->y[i] = (double) (i % 2);
    for (gsize j = 0; j < side * side; j++) {
      gsize along = i % 2 == 0 ? j / side : j % side;

      data->x[i * side * side + j] =
          (along == bar ? 1 : 0) + o->noise * ls_normal_at (key, i * side * side + j);
    }
  }
}

LsDataset *ls_dataset_generate (const LsGeneratorOptions *o) {
  LsDataset *data = g_new0 (LsDataset, 1);

  LS_REQUIRE (o->rows > 0 && o->features > 0 && o->condition >= 1, "an empty data set");
  data->rows = o->rows;
  data->features = o->kind == LS_GENERATOR_BARS ? o->features * o->features : o->features;
  data->x = g_new0 (double, data->rows * data->features);
  data->y = g_new0 (double, data->rows);
  switch (o->kind) {
  case LS_GENERATOR_LINEAR:
    make_linear (data, o);
    break;
  case LS_GENERATOR_LOGISTIC:
    make_logistic (data, o);
    break;
  case LS_GENERATOR_BLOBS:
    make_blobs (data, o);
    break;
  case LS_GENERATOR_BARS:
    make_bars (data, o);
    data->channels = 1;
    data->height = data->width = (guint32) o->features;
    break;
  case LS_N_GENERATORS:
    break;
  }
  return data;
}
