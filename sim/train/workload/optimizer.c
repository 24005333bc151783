/* Optimizers; see optimizer.h. */
#include "train/workload/optimizer.h"

#include "base/assert.h"

guint ls_optimizer_moments (const LsOptimizer *optimizer) {
  switch (optimizer->kind) {
  case LS_OPTIMIZER_SGD:
  case LS_OPTIMIZER_LARS:
    return optimizer->momentum > 0 ? 1 : 0;
  case LS_OPTIMIZER_LION:
    return 1;
  case LS_OPTIMIZER_ADAFACTOR:
    return 0;
  default:
    return 2;
  }
}

const char *ls_optimizer_name (LsOptimizerKind kind) {
#define NAME_OF(id, name) name,
  static const char *const names[] = {LS_OPTIMIZERS (NAME_OF)};
#undef NAME_OF

  LS_REQUIRE ((guint) kind < LS_N_OPTIMIZERS, "optimizer %d", (int) kind);
  return names[kind];
}
