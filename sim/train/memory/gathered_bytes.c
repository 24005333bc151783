/* Which of a layer's parameters are narrow on their way; see gathered_bytes.h. */
#include "train/memory/gathered_bytes.h"

/* As many of `n` as are left. */
static gint64 take (gint64 *left, gint64 n) {
  const gint64 taken = MIN (*left, n);

  *left -= taken;
  return taken;
}

LsGatheredBytes ls_gathered_bytes (const LsLayerPlan *plan, const LsPrecision *precision) {
  const gint64 maps = plan->frozen_map_parameters;
  const double frozen = ls_precision_frozen_gather_size (precision);
  /* Experts are linear maps. */
  gint64 left = plan->narrow_parameters;
  const gint64 of_experts = take (&left, plan->expert_parameters);

  take (&left, plan->frozen_expert_parameters + maps);
  return (LsGatheredBytes){
      .dense = ls_precision_gathered_bytes (
                   precision, plan->parameters + plan->frozen_parameters - maps, left) +
               (gint64) ((double) maps * frozen),
      .experts = ls_precision_gathered_bytes (precision, plan->expert_parameters, of_experts) +
                 (gint64) ((double) plan->frozen_expert_parameters * frozen)};
}
