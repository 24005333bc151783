/* Copying and clearing plans of updates, see update_plan.h. */
#include "train/update/update_plan.h"

void ls_update_plan_copy (LsUpdatePlan *to, const LsUpdatePlan *from) {
  *to = *from;
  to->server_nodes =
      g_memdup2 (from->server_nodes, from->n_server_nodes * sizeof *from->server_nodes);
  to->factors = g_memdup2 (from->factors,
                           from->factors != NULL ? from->spec.workers * sizeof *from->factors : 0);
  to->compute = ls_distribution_copy (&from->compute);
}

void ls_update_plan_clear (LsUpdatePlan *plan) {
  g_free (plan->server_nodes);
  g_free (plan->factors);
  ls_distribution_clear (&plan->compute);
  *plan = (LsUpdatePlan){0};
}
