/* Problems: functions of a parameter vector with exact mini-batch gradients.
 *
 * Model:      f (w) = mean over rows of loss (w, row) + l2/2 |weights|^2 (biases left out). The
 *             gradient of a mini-batch is exact for the mini-batch. The quadratic has no rows: its
 *             gradient is exact plus normal noise of variance sigma^2 / (size of the mini-batch).
 * Arithmetic: everything is computed on doubles; in fp64 nothing is rounded. Otherwise parameters,
 *             the activations after every layer, the gradients with respect to them and those of the
 *             parameters are rounded to their formats; matrix products sum in fp32 (learn/blas.h);
 *             functions of single elements and the loss are computed in double and rounded once.
 * Registry:   kinds are constant records; help, keys and tests iterate them.
 *
 * Ownership: a problem borrows its data set and is not changed once made: threads may share it. A
 * workspace belongs to one thread.
 */
#pragma once

#include "learn/blas.h"
#include "learn/dataset.h"
#include "learn/number.h"

#define LS_ACTIVATIONS(X)        \
  X (RELU, "relu", "max (0, x)") \
  X (TANH, "tanh", "hyperbolic tangent")

typedef enum {
#define LS_ACTIVATION_ID(id, ...) LS_ACTIVATION_##id,
  LS_ACTIVATIONS (LS_ACTIVATION_ID)
#undef LS_ACTIVATION_ID
      LS_N_ACTIVATIONS
} LsActivation;

#define LS_MAX_HIDDEN 32 /* source: choice; deeper ones do not train without normalisation */

typedef struct LsProblemKind LsProblemKind;

typedef struct {
  const LsProblemKind *kind;
  double l2;
  /* mlp, conv */
  guint hidden[LS_MAX_HIDDEN]; /* widths of layers, or channels of convolutions */
  guint n_hidden;
  LsActivation activation;
  guint kernel; /* side of a convolution */
  guint pool;   /* side of a pooling window; 1: none */
  /* quadratic */
  double *curvatures; /* eigenvalues of the Hessian, borrowed */
  gsize dimension;
  double noise;            /* sigma */
  double start;            /* every coordinate of w_0 */
  double optimum_spread;   /* deviation of a worker's own optimum */
  double curvature_spread; /* a worker's curvatures are those above x exp (spread x normal) */
  guint64 worker_seed;     /* of the workers' own optima and curvatures */
} LsProblemSettings;

/* The formats of one evaluation. */
typedef struct {
  LsNumber parameters, activations, gradients;
  double loss_scale;
} LsArithmetic;

/* fp64 everywhere, scale 1. */
extern const LsArithmetic ls_arithmetic_exact;

typedef struct {
  const guint32 *rows; /* of the data set; NULL where there is none */
  gsize n;
  gint64 worker;       /* whose own optimum counts; < 0: the mean problem */
  guint64 noise_key;   /* 0: without noise */
  guint64 noise_index; /* number of the mini-batch in the stream of the key */
} LsBatch;

typedef struct {
  LsNumberCounts parameters, activations, gradients;
} LsArithmeticCounts;

typedef struct LsProblem LsProblem;
typedef struct LsWorkspace LsWorkspace;

struct LsProblemKind {
  const char *name, *meaning;
  gboolean needs_data, needs_classes, needs_pictures;
  LsProblem *(*create) (const LsProblemSettings *settings, const LsDataset *data, GError **error);
};

/* All kinds, NULL-terminated; NULL when there is none of that name. */
const LsProblemKind *const *ls_problem_kinds (void);
const LsProblemKind *ls_problem_kind_find (const char *name);

/* @data is NULL for problems without. LS_ERROR_CONFIG when the two do not fit. */
LsProblem *ls_problem_new (const LsProblemSettings *settings, const LsDataset *data,
                           GError **error);
void ls_problem_free (LsProblem *problem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsProblem, ls_problem_free)

gsize ls_problem_n_parameters (const LsProblem *problem);
gboolean ls_problem_has_accuracy (const LsProblem *problem);
/* The parameters that training starts from. */
void ls_problem_start (const LsProblem *problem, guint64 seed, double *parameters);

LsWorkspace *ls_workspace_new (const LsProblem *problem);
void ls_workspace_free (LsWorkspace *workspace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsWorkspace, ls_workspace_free)
/* What rounding has lost in this workspace so far. */
const LsArithmeticCounts *ls_workspace_counts (const LsWorkspace *workspace);

/* Mean loss of the batch. @gradient (NULL: not wanted) gets the gradient x loss_scale; *correct (NULL
 * likewise) the number of rows whose largest output is their class. */
double ls_problem_evaluate (const LsProblem *problem, LsWorkspace *workspace,
                            const LsArithmetic *arithmetic, const double *parameters,
                            const LsBatch *batch, double *gradient, gsize *correct);
/* The same over many rows, block by block, without noise and rounding. */
double ls_problem_evaluate_all (const LsProblem *problem, LsWorkspace *workspace,
                                const double *parameters, const guint32 *rows, gsize n,
                                double *gradient, gsize *correct);
