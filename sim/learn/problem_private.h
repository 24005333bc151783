/* What a kind of problem implements. Private to sim/learn.
 *
 * A problem begins with an LsProblem, a workspace with an LsWorkspace. */
#pragma once

#include "learn/problem.h"

typedef struct {
  void (*free) (LsProblem *problem);
  void (*start) (const LsProblem *problem, guint64 seed, double *parameters);
  LsWorkspace *(*workspace_new) (const LsProblem *problem);
  void (*workspace_free) (LsWorkspace *workspace);
  double (*evaluate) (const LsProblem *problem, LsWorkspace *workspace,
                      const LsArithmetic *arithmetic, const double *parameters,
                      const LsBatch *batch, double *gradient, gsize *correct);
} LsProblemClass;

struct LsProblem {
  const LsProblemClass *class;
  LsProblemSettings settings;
  const LsDataset *data;
  gsize n_parameters;
  gboolean has_accuracy;
};

struct LsWorkspace {
  const LsProblem *problem;
  LsBlas blas;
  LsArithmeticCounts counts;
};

extern const LsProblemKind ls_problem_quadratic, ls_problem_linear, ls_problem_logistic,
    ls_problem_softmax, ls_problem_mlp, ls_problem_conv;
