/* Names of collectives and algorithms, and the bus bandwidth factors of nccl-tests. */
#include "net/collective.h"

#include "base/assert.h"

#define NAME_OF(id, name) name,
static const char *const op_names[] = {LS_COLLECTIVE_OPS (NAME_OF)};
static const char *const algorithm_names[] = {LS_COLLECTIVE_ALGORITHMS (NAME_OF)};
#undef NAME_OF

const char *ls_collective_op_name (LsCollectiveOp op) {
  LS_REQUIRE (op < LS_N_COLLECTIVE_OPS, "collective %d", (int) op);
  return op_names[op];
}

const char *ls_algorithm_name (LsAlgorithm algorithm) {
  LS_REQUIRE (algorithm < LS_N_ALGORITHMS, "algorithm %d", (int) algorithm);
  return algorithm_names[algorithm];
}

gboolean ls_collective_op_parse (const char *name, LsCollectiveOp *op) {
  for (guint i = 0; i < LS_N_COLLECTIVE_OPS; i++)
    if (g_str_equal (name, op_names[i])) {
      *op = (LsCollectiveOp) i;
      return TRUE;
    }
  return FALSE;
}

gboolean ls_algorithm_parse (const char *name, LsAlgorithm *algorithm) {
  for (guint i = 0; i < LS_N_ALGORITHMS; i++)
    if (g_str_equal (name, algorithm_names[i])) {
      *algorithm = (LsAlgorithm) i;
      return TRUE;
    }
  return FALSE;
}

gboolean ls_collective_is_group (LsCollectiveOp op) {
  return op <= LS_COLLECTIVE_SCATTER;
}

/* source: nccl-tests doc/PERFORMANCE.md */
double ls_collective_bus_factor (LsCollectiveOp op, guint n) {
  double p = n;
  switch (op) {
  case LS_COLLECTIVE_ALL_REDUCE:
    return 2 * (p - 1) / p;
  case LS_COLLECTIVE_REDUCE_SCATTER:
  case LS_COLLECTIVE_ALL_GATHER:
  case LS_COLLECTIVE_ALL_TO_ALL:
  case LS_COLLECTIVE_ALL_TO_ALLV:
  case LS_COLLECTIVE_GATHER:
  case LS_COLLECTIVE_SCATTER:
    return (p - 1) / p;
  default:
    return 1;
  }
}
