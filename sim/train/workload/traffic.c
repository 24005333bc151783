/* Words of traffic; see traffic.h. */
#include "train/workload/traffic.h"

#include "base/assert.h"

const char *ls_traffic_pattern_name (LsTrafficPattern pattern) {
#define NAME_OF(id, name) name,
  static const char *const names[] = {LS_TRAFFIC_PATTERNS (NAME_OF)};
#undef NAME_OF

  LS_REQUIRE ((guint) pattern < LS_N_TRAFFIC_PATTERNS, "pattern %d", (int) pattern);
  return names[pattern];
}

static gboolean may_run (LsCollectiveOp op) {
  /* An all-to-all of given sizes has no one size; a barrier moves nothing. */
  return op != LS_COLLECTIVE_BARRIER && op != LS_COLLECTIVE_ALL_TO_ALLV;
}

const char *const *ls_traffic_operations (void) {
  static const char *words[LS_N_COLLECTIVE_OPS + 1];
  static gsize once = 0;

  if (g_once_init_enter (&once)) {
    guint n = 0;
    for (guint op = 0; op < LS_N_COLLECTIVE_OPS; op++)
      if (may_run ((LsCollectiveOp) op))
        words[n++] = ls_collective_op_name ((LsCollectiveOp) op);
    g_once_init_leave (&once, 1);
  }
  return words;
}
