/* The depth of gathering; see gather_depth.h. O(layers x depth). */
#include "train/memory/gather_depth.h"

/* Parameters of the layers that are gathered, in forward order. */
static GArray *sizes_new (const LsStage *stage) {
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint run = 0; run < stage->n_runs; run++) {
    const LsLayerPlan *plan = stage->runs[run].plan;
    const gint64 size = plan->parameters + plan->expert_parameters + plan->frozen_parameters +
                        plan->frozen_expert_parameters;

    for (guint i = 0; size > 0 && i < stage->runs[run].count; i++)
      g_array_append_val (sizes, size);
  }
  return sizes;
}

/* Of place i of: forward, backward, forward. */
static gint64 size_at (const GArray *sizes, guint i) {
  const guint n = sizes->len, at = i % (2 * n);

  return g_array_index (sizes, gint64, at < n ? at : 2 * n - 1 - at);
}

static gboolean is_within (const GArray *sizes, guint depth, gint64 limit) {
  for (guint first = 0; first < 2 * sizes->len; first++) {
    gint64 sum = 0;

    for (guint i = first; i < first + depth; i++)
      sum += size_at (sizes, i);
    if (sum > limit)
      return FALSE;
  }
  return TRUE;
}

guint ls_gather_depth (const LsWorkload *workload, const LsStage *stage) {
  const LsZero *zero = &workload->zero;
  g_autoptr (GArray) sizes = sizes_new (stage);
  const guint ahead = zero->overlap ? (guint) CLAMP (zero->prefetch, 0, 1000) : 0;
  const guint most = MIN (ahead + 1, MAX (sizes->len, 1)); /* once each: no layer lives twice */
  guint depth = 1;

  if (zero->max_gathered == 0)
    return most;
  while (sizes->len > 0 && depth < most && is_within (sizes, depth + 1, zero->max_gathered))
    depth++;
  return depth;
}
