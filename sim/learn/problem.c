/* Problems: the registry and what all kinds share. See problem.h. */
#include "learn/problem_private.h"

#include "base/assert.h"
#include "base/error.h"

#include <string.h>

/* Rows per block of an evaluation over all: bounds the workspace. source: choice */
#define BLOCK_ROWS 256

const LsArithmetic ls_arithmetic_exact = {LS_NUMBER_FP64, LS_NUMBER_FP64, LS_NUMBER_FP64, 1};

static const LsProblemKind *const kinds[] = {
    &ls_problem_quadratic,
    &ls_problem_linear,
    &ls_problem_logistic,
    &ls_problem_softmax,
    &ls_problem_mlp,
    &ls_problem_conv,
    NULL,
};

const LsProblemKind *const *ls_problem_kinds (void) {
  return kinds;
}

const LsProblemKind *ls_problem_kind_find (const char *name) {
  for (const LsProblemKind *const *kind = kinds; *kind != NULL; kind++)
    if (g_strcmp0 ((*kind)->name, name) == 0)
      return *kind;
  return NULL;
}

LsProblem *ls_problem_new (const LsProblemSettings *settings, const LsDataset *data,
                           GError **error) {
  const LsProblemKind *kind = settings->kind;

  LS_REQUIRE (kind->needs_data == (data != NULL), "%s and its data", kind->name);
  LS_REQUIRE (!kind->needs_classes || (data != NULL && data->classes > 1), "%s needs classes",
              kind->name);
  if (kind->needs_pictures && data != NULL && data->height == 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "problem %s needs pictures, and the data has plain rows; give data.height and "
                 "data.width",
                 kind->name);
    return NULL;
  }
  return kind->create (settings, data, error);
}

void ls_problem_free (LsProblem *problem) {
  if (problem != NULL)
    problem->class->free (problem);
}

gsize ls_problem_n_parameters (const LsProblem *problem) {
  return problem->n_parameters;
}

gboolean ls_problem_has_accuracy (const LsProblem *problem) {
  return problem->has_accuracy;
}

void ls_problem_start (const LsProblem *problem, guint64 seed, double *parameters) {
  problem->class->start (problem, seed, parameters);
}

LsWorkspace *ls_workspace_new (const LsProblem *problem) {
  LsWorkspace *workspace = problem->class->workspace_new (problem);

  workspace->problem = problem;
  return workspace;
}

void ls_workspace_free (LsWorkspace *workspace) {
  if (workspace == NULL)
    return;
  ls_blas_clear (&workspace->blas);
  workspace->problem->class->workspace_free (workspace);
}

const LsArithmeticCounts *ls_workspace_counts (const LsWorkspace *workspace) {
  return &workspace->counts;
}

double ls_problem_evaluate (const LsProblem *problem, LsWorkspace *workspace,
                            const LsArithmetic *arithmetic, const double *parameters,
                            const LsBatch *batch, double *gradient, gsize *correct) {
  LS_REQUIRE (workspace->problem == problem, "the workspace of another problem");
  LS_REQUIRE (batch->n > 0, "an empty mini-batch");
  workspace->blas.single = arithmetic->activations != LS_NUMBER_FP64;
  return problem->class->evaluate (problem, workspace, arithmetic, parameters, batch, gradient,
                                   correct);
}

double ls_problem_evaluate_all (const LsProblem *problem, LsWorkspace *workspace,
                                const double *parameters, const guint32 *rows, gsize n,
                                double *gradient, gsize *correct) {
  g_autofree double *part = NULL;
  double loss = 0;
  gsize right = 0, n_blocks = problem->data == NULL ? 1 : (n + BLOCK_ROWS - 1) / BLOCK_ROWS;

  if (gradient != NULL) {
    part = g_new (double, problem->n_parameters);
    memset (gradient, 0, problem->n_parameters * sizeof *gradient);
  }
  for (gsize block = 0; block < n_blocks; block++) {
    gsize first = block * BLOCK_ROWS;
    LsBatch batch = {.rows = rows + first, .n = MIN (n - first, BLOCK_ROWS), .worker = -1};
    double share;

    if (problem->data == NULL)
      batch = (LsBatch){.n = 1, .worker = -1};
    share = problem->data == NULL ? 1 : (double) batch.n / (double) n;
    loss += share * ls_problem_evaluate (problem, workspace, &ls_arithmetic_exact, parameters,
                                         &batch, part, correct != NULL ? &right : NULL);
    for (gsize i = 0; gradient != NULL && i < problem->n_parameters; i++)
      gradient[i] += share * part[i];
    if (correct != NULL)
      *correct = (block > 0 ? *correct : 0) + right;
  }
  return loss;
}
