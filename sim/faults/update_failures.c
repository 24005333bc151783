/* Failures of workers; see update_failures.h. */
#include "faults/update_failures.h"

#define PS_PER_US 1000000
/* Half of what the clock can hold. */
#define LONGEST_US (G_MAXINT64 / PS_PER_US / 2)

struct LsUpdateFailures {
  const LsFailureSource *sources;
  LsUpdateRun *run;
  LsFailures *failures;
  GArray *nodes;  /* guint: the cluster's numbers of nodes with workers, ascending */
  guint *down;    /* by place in `nodes`: components that are down */
  guint *node_of; /* by worker: place in `nodes` */
  GArray *list;   /* LsFailure */
  guint64 timer;  /* 0: nothing is to come */
};

static gint compare_nodes (gconstpointer a, gconstpointer b) {
  const guint x = *(const guint *) a, y = *(const guint *) b;

  return (x > y) - (x < y);
}

static void find_nodes (LsUpdateFailures *f) {
  const LsUpdateSpec *spec = ls_update_spec (ls_update_run_update (f->run));
  const LsCluster *cluster = ls_update_run_cluster (f->run);
  g_autoptr (GHashTable) place = g_hash_table_new (NULL, NULL);

  f->nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  f->node_of = g_new (guint, spec->workers);
  for (guint w = 0; w < spec->workers; w++) {
    guint node = ls_cluster_gpu_node (cluster, ls_update_run_gpus (f->run, w)[0]);
    if (g_hash_table_add (place, GUINT_TO_POINTER (node)))
      g_array_append_val (f->nodes, node);
  }
  g_array_sort (f->nodes, compare_nodes);
  for (guint i = 0; i < f->nodes->len; i++)
    g_hash_table_insert (place, GUINT_TO_POINTER (g_array_index (f->nodes, guint, i)),
                         GUINT_TO_POINTER (i));
  for (guint w = 0; w < spec->workers; w++) {
    guint node = ls_cluster_gpu_node (cluster, ls_update_run_gpus (f->run, w)[0]);
    f->node_of[w] = GPOINTER_TO_UINT (g_hash_table_lookup (place, GUINT_TO_POINTER (node)));
  }
  f->down = g_new0 (guint, f->nodes->len);
}

/* One component more or less of a node is down. */
static void change_node (LsUpdateFailures *f, guint node, gboolean repaired) {
  LsUpdate *update = ls_update_run_update (f->run);

  f->down[node] += repaired ? -1u : 1u;
  if (f->down[node] != (repaired ? 0 : 1))
    return;
  for (guint w = 0; w < ls_update_spec (update)->workers; w++) {
    if (f->node_of[w] != node)
      continue;
    if (repaired)
      ls_update_return (update, w);
    else
      ls_update_leave (update, w);
  }
}

static void on_event (gpointer self, LsEngine *engine);

static void schedule (LsUpdateFailures *f) {
  gint64 us = ls_failures_next_us (f->failures);

  f->timer =
      us == G_MAXINT64 || us > LONGEST_US
          ? 0
          : ls_engine_schedule (ls_update_run_engine (f->run), us * PS_PER_US, 0, on_event, f);
}

static void on_event (gpointer self, LsEngine *engine) {
  LsUpdateFailures *f = self;
  LsFailure failure;

  (void) engine;
  f->timer = 0;
  if (ls_failures_take (f->failures, &failure) &&
      f->sources[failure.source].effect == LS_EFFECT_STOP) {
    for (guint i = 0; i < failure.n_nodes; i++)
      change_node (f, failure.first_node + i, failure.repaired);
    if (!failure.repaired) {
      failure.first_node = g_array_index (f->nodes, guint, failure.first_node);
      g_array_append_val (f->list, failure);
    }
  }
  schedule (f);
}

LsUpdateFailures *ls_update_failures_new (const LsFailureSource *sources, guint n_sources,
                                          LsUpdateRun *run) {
  LsUpdateFailures *f = g_new0 (LsUpdateFailures, 1);
  gint64 stop_ps = ls_update_spec (ls_update_run_update (run))->stop_ps;

  f->sources = sources;
  f->run = run;
  f->list = g_array_new (FALSE, FALSE, sizeof (LsFailure));
  find_nodes (f);
  f->failures = ls_failures_new (sources, n_sources, f->nodes->len, ls_update_run_seed (run), 0,
                                 stop_ps >= 0 ? stop_ps / PS_PER_US + 1 : LONGEST_US);
  schedule (f);
  return f;
}

void ls_update_failures_free (LsUpdateFailures *f) {
  if (f == NULL)
    return;
  ls_failures_free (f->failures);
  g_array_unref (f->nodes);
  g_array_unref (f->list);
  g_free (f->down);
  g_free (f->node_of);
  g_free (f);
}

const LsFailure *ls_update_failures_list (const LsUpdateFailures *f, guint *n) {
  *n = f->list->len;
  return (const LsFailure *) (gconstpointer) f->list->data;
}
