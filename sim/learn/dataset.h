/* Data sets in memory: rows of features with a target or a class each.
 *
 * Model:      features are dense doubles, row after row. Classes are 0 .. classes - 1; the labels of a
 *             file may be {-1, +1}, 0 .. C-1 or 1 .. C, and every class in between must occur.
 *             A *split* sets rows aside for tests; a *partition* deals the training rows to workers.
 * Invariants: every value is finite; every class of a training set has a row; every worker has a row.
 * Errors:     LS_ERROR_CONFIG with FILE:LINE:COL (FILE: byte N in IDX files); LS_ERROR_IO when a file
 *             cannot be read.
 * Bounds:     files of at most LS_DATA_MAX_BYTES (unpacked), LS_DATA_MAX_VALUES values.
 *
 * Ownership: a data set owns its arrays; it is not changed once made, and threads may share it.
 */
#pragma once

#include <glib.h>

/* source: choice; a gigabyte of text, two gigabytes of values: ten times MNIST as text. */
#define LS_DATA_MAX_BYTES ((gsize) 1 << 30)
#define LS_DATA_MAX_VALUES ((gsize) 1 << 28)
/* source: choice; more are a target, not a class. */
#define LS_DATA_MAX_CLASSES 10000

typedef struct {
  gsize rows, features;
  double *x;                       /* rows x features */
  double *y;                       /* the target, or the label as the file had it */
  guint32 *label;                  /* NULL: not made into classes */
  guint32 classes;                 /* 0: not made into classes */
  guint32 channels, height, width; /* of pictures; 0: none */
} LsDataset;

void ls_dataset_free (LsDataset *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsDataset, ls_dataset_free)

/* --- files ---------------------------------------------------------------------------------- */

/* A text or binary file, gzip or plain, whole (transfer full); a NUL byte follows it. */
char *ls_data_read_file (const char *path, gsize *length, GError **error);

typedef struct {
  gboolean header;   /* CSV: the first line names the columns */
  const char *label; /* CSV: name or number (from 0) of the column of labels; NULL: the last */
  gint64 features;   /* LIBSVM: their number; 0: the largest index */
  gboolean words;    /* CSV: labels may be names of classes */
} LsTextOptions;

LsDataset *ls_dataset_parse_csv (const char *name, const char *text, gsize length,
                                 const LsTextOptions *options, GError **error);
LsDataset *ls_dataset_parse_libsvm (const char *name, const char *text, gsize length,
                                    const LsTextOptions *options, GError **error);
/* Pictures (magic 0x803) and their labels (0x801), bytes. */
LsDataset *ls_dataset_parse_idx (const char *name, const char *pictures, gsize length,
                                 const char *label_name, const char *labels, gsize label_length,
                                 GError **error);

/* Makes classes of the labels. @name stands for the data in messages. */
gboolean ls_dataset_make_classes (LsDataset *data, const char *name, GError **error);

/* --- made ----------------------------------------------------------------------------------- */

#define LS_GENERATORS(X)                                                                        \
  X (LINEAR, "linear", "normal features, target = weights . features + noise")                  \
  X (LOGISTIC, "logistic", "normal features, class 1 with probability 1 / (1 + exp (-margin))") \
  X (BLOBS, "blobs", "one normal cloud per class, `noise` wide, around centres of unit spread") \
  X (BARS, "bars", "pictures of one bright row or column (two classes) under noise")

typedef enum {
#define LS_GENERATOR_ID(id, ...) LS_GENERATOR_##id,
  LS_GENERATORS (LS_GENERATOR_ID)
#undef LS_GENERATOR_ID
      LS_N_GENERATORS
} LsGenerator;

typedef struct {
  LsGenerator kind;
  gsize rows, features; /* BARS: features is the side of the square */
  guint32 classes;      /* BLOBS */
  double noise;         /* standard deviation */
  double condition;     /* of the covariance of the features (LINEAR, LOGISTIC); 1: round */
  guint64 seed;
} LsGeneratorOptions;

LsDataset *ls_dataset_generate (const LsGeneratorOptions *options);

/* --- split, scale, partition ---------------------------------------------------------------- */

/* Which rows are for tests: @share of them, the same for one data set always. Returns the rows of
 * training first, then those of test (transfer full); *n_train tells how many. */
guint32 *ls_dataset_split (const LsDataset *data, double share, gsize *n_train);

#define LS_SCALINGS(X)                                                      \
  X (NONE, "none", "features as they are")                                  \
  X (MAXIMUM, "maximum", "all features divided by the largest size of any") \
  X (STANDARD, "standard", "each feature to mean 0 and deviation 1 (constant: 0)")

typedef enum {
#define LS_SCALING_ID(id, ...) LS_SCALING_##id,
  LS_SCALINGS (LS_SCALING_ID)
#undef LS_SCALING_ID
      LS_N_SCALINGS
} LsScaling;

/* Scales by what the given rows (those of training) say. */
void ls_dataset_scale (LsDataset *data, LsScaling scaling, const guint32 *rows, gsize n);

#define LS_PARTITIONS(X)                                                    \
  X (SHARED, "shared", "every worker draws from all training rows")         \
  X (IID, "iid", "training rows are shuffled and dealt out evenly")         \
  X (LABEL, "label", "rows sorted by class, each worker a contiguous part") \
  X (DIRICHLET, "dirichlet", "shares of each class drawn from Dirichlet (alpha) over workers")

typedef enum {
#define LS_PARTITION_ID(id, ...) LS_PARTITION_##id,
  LS_PARTITIONS (LS_PARTITION_ID)
#undef LS_PARTITION_ID
      LS_N_PARTITIONS
} LsPartition;

/* Rows of worker w: rows[start[w]] .. rows[start[w + 1] - 1]; all of them when shared. */
typedef struct {
  guint32 *rows;
  gsize n;
  gsize *start; /* NULL: shared */
  guint32 workers;
} LsParts;

LsParts *ls_parts_new (const LsDataset *data, const guint32 *rows, gsize n, LsPartition kind,
                       double alpha, guint32 workers, guint64 seed, GError **error);
void ls_parts_free (LsParts *parts);
/* The rows that a worker draws from; *n tells how many. */
const guint32 *ls_parts_of (const LsParts *parts, guint32 worker, gsize *n);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsParts, ls_parts_free)
