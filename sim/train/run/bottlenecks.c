/* Ranking what held transfers down; see bottlenecks.h. */
#include "train/run/bottlenecks.h"

#include <math.h>

/* Shares that differ by less are the same to a reader: half a percent of the time. source: choice */
#define ALIKE 0.005

typedef struct {
  guint number; /* of the engine */
  LsHolding holding;
} Found;

static gint compare (gconstpointer a, gconstpointer b) {
  const Found *x = a, *y = b;

  if (x->holding.saturates_ps != y->holding.saturates_ps)
    return x->holding.saturates_ps > y->holding.saturates_ps ? -1 : 1;
  if (x->holding.contends_ps != y->holding.contends_ps)
    return x->holding.contends_ps > y->holding.contends_ps ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static void bottleneck_free (gpointer data) {
  LsBottleneck *bottleneck = data;

  g_free (bottleneck->resource);
  g_free (bottleneck);
}

/* From start to end of a job, or of the run. */
static gint64 span_ps (LsSimulation *simulation, guint job) {
  gint64 end_ps = 0;

  if (job != LS_ALL_TAGS)
    return ls_simulation_job (simulation, job)->end_ps -
           ls_simulation_job (simulation, job)->start_ps;
  for (guint j = 0; j < ls_simulation_n_jobs (simulation); j++)
    end_ps = MAX (end_ps, ls_simulation_job (simulation, j)->end_ps);
  return end_ps;
}

static LsBottleneck *describe (LsSimulation *simulation, const Found *found, guint index,
                               gint64 job_ps, gint64 run_ps) {
  LsEngine *engine = ls_simulation_engine (simulation);
  const LsNet *net = ls_simulation_net (simulation);
  const LsNetResource *resource = ls_net_resource (net, index);
  LsBottleneck *out = g_new0 (LsBottleneck, 1);
  double capacity = ls_engine_resource_per_s (engine, found->number);

  out->resource = ls_topology_resource_name (ls_net_topology (net), index);
  out->kind = ls_resource_kind_name (resource->kind);
  out->tier = ls_resource_kind_tier (resource->kind);
  out->limiting_share = (double) found->holding.saturates_ps / (double) job_ps;
  out->contended_share = (double) found->holding.contends_ps / (double) job_ps;
  out->bytes = ls_engine_resource_carried (engine, found->number);
  if (capacity > 0 && run_ps > 0)
    out->utilisation = out->bytes / capacity / ((double) run_ps / 1e12);
  return out;
}

/* The same link of another GPU, adapter or node? Names are equal but for their numbers. */
static gboolean same_but_for_numbers (const char *a, const char *b) {
  while (*a != '\0' && *b != '\0') {
    if (g_ascii_isdigit (*a) && g_ascii_isdigit (*b)) {
      for (; g_ascii_isdigit (*a); a++)
        ;
      for (; g_ascii_isdigit (*b); b++)
        ;
    } else if (*a++ != *b++)
      return FALSE;
  }
  return *a == *b;
}

static gboolean is_alike (const LsBottleneck *a, const LsBottleneck *b) {
  return fabs (a->limiting_share - b->limiting_share) < ALIKE &&
         fabs (a->contended_share - b->contended_share) < ALIKE &&
         same_but_for_numbers (a->resource, b->resource);
}

/* Is one like it listed already? */
static gboolean stands_for (const GPtrArray *listed, const LsBottleneck *next) {
  for (guint i = 0; i < listed->len; i++)
    if (is_alike (listed->pdata[i], next))
      return TRUE;
  return FALSE;
}

GPtrArray *ls_bottlenecks_new (LsSimulation *simulation, guint job, guint limit) {
  LsEngine *engine = ls_simulation_engine (simulation);
  GPtrArray *out = g_ptr_array_new_with_free_func (bottleneck_free);
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Found));
  gint64 job_ps = span_ps (simulation, job), run_ps = span_ps (simulation, LS_ALL_TAGS);

  for (guint i = 0; i < ls_engine_n_resources (engine) && job_ps > 0; i++) {
    Found found = {i, ls_engine_holding (engine, job, i)};

    if (found.holding.saturates_ps > 0 && ls_simulation_resource (simulation, i) != LS_NO_NUMBER)
      g_array_append_val (all, found);
  }
  g_array_sort (all, compare);
  for (guint i = 0; i < all->len && out->len < limit; i++) {
    const Found *found = &g_array_index (all, Found, i);
    LsBottleneck *next = describe (
        simulation, found, ls_simulation_resource (simulation, found->number), job_ps, run_ps);

    if (stands_for (out, next))
      bottleneck_free (next);
    else
      g_ptr_array_add (out, next);
  }
  return out;
}
