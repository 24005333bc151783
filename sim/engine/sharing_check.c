/* Whether the shares are right: the certificate of the solver, read off without solving.
 *
 * Model:      the shares of a set of flows are the only rates for which (1) every flow has the least of
 *             its cap and the levels of its resources and (2) every resource's level is the one at which
 *             it fills up when its users take their rates unless it holds them there. Proof: see
 *             sharing_solve.c.
 * Cost:       all users of all resources.
 */
#include "engine/sharing_private.h"

/* The sums that the solver keeps instead of looking at the users. */
static void check_sums (LsSharing *sharing, guint32 number) {
  LsResource *resource = ls_resource_at (sharing, number);
  const LsUser *users = ls_resource_users (resource);
  LsInt128 demand = 0, deficit = 0, total = 0, held = 0;
  guint32 hinted = 0;
  for (guint32 u = 0; u < resource->n_users; u++) {
    const LsFlow *flow = ls_flow_at (sharing, users[u].flow);
    demand += (LsInt128) flow->cap * users[u].amount;
    deficit += ((LsInt128) flow->cap - flow->rate) * users[u].amount;
    total += users[u].amount;
    if (flow->rate == resource->level && flow->rate < flow->cap)
      held += users[u].amount;
    hinted += flow->hint == number;
  }
  LS_REQUIRE (demand == resource->demand && deficit == resource->deficit &&
                  total == resource->total && held == resource->held &&
                  hinted == resource->n_hinted,
              "sums of resource %u", number);
}

static void check_flow (const LsSharing *sharing, guint32 number) {
  const LsFlow *flow = ls_flow_at (sharing, number);
  gint64 least = flow->cap;
  for (guint32 i = 0; i < flow->n_usages; i++) {
    const LsResource *resource = ls_resource_at (sharing, flow->usages[i].resource);
    LS_REQUIRE (flow->rate <= resource->level, "flow %u is faster than resource %u allows", number,
                flow->usages[i].resource);
    least = MIN (least, resource->level);
  }
  LS_REQUIRE (flow->rate == least, "nothing holds flow %u at its rate", number);
}

void ls_sharing_check (LsSharing *sharing) {
  for (guint32 r = 0; r < sharing->resources->len; r++)
    LS_REQUIRE (ls_sharing_load (sharing, r) <= ls_resource_at (sharing, r)->capacity,
                "resource %u above capacity", r);
  if (ls_sharing_is_dirty (sharing))
    return;
  for (guint32 r = 0; r < sharing->resources->len; r++)
    check_sums (sharing, r);
  for (guint32 r = 0; r < sharing->resources->len; r++)
    LS_REQUIRE (ls_sharing_measure (sharing, r, 0, NULL) == ls_resource_at (sharing, r)->level,
                "resource %u has a wrong level", r);
  for (guint32 f = 0; f < sharing->flows->len; f++)
    if (ls_flow_at (sharing, f)->live)
      check_flow (sharing, f);
}

void ls_sharing_reopen (LsSharing *sharing) {
  for (guint32 r = 0; r < sharing->resources->len; r++) {
    const LsResource *resource = ls_resource_at (sharing, r);
    if (resource->level != LS_LEVEL_NONE || ls_resource_overfilled (resource))
      ls_sharing_reach (sharing, r, TRUE);
  }
  for (guint32 f = 0; f < sharing->flows->len; f++)
    if (ls_flow_at (sharing, f)->live)
      ls_sharing_open (sharing, f);
}
