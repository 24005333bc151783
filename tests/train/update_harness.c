/* See update_harness.h. */
#include "update_harness.h"

LsUpdateSpec update_spec (const char *policy, guint n, guint k, gint64 updates) {
  return (LsUpdateSpec){.policy = ls_update_policy_find (policy),
                        .workers = n,
                        .k = k,
                        .local_steps = 1,
                        .staleness_bound = -1,
                        .discard_above = -1,
                        .shards = 1,
                        .samples = 1,
                        .stop_updates = updates,
                        .stop_samples = -1,
                        .stop_ps = -1};
}

UpdateCase update_case_on (const LsUpdateSpec *spec, const LsDistribution *compute,
                           const double *factors, guint64 seed, const LsUpdateSink *sink,
                           gpointer sink_self, LsEngine *engine, const LsUpdateHost *host) {
  UpdateCase run = {.engine = engine};
  g_autoptr (GError) error = NULL;
  LsUpdateHost own = {0};

  ck_assert_ptr_nonnull (spec->policy);
  if (host != NULL)
    own = *host;
  run.timed = ls_timed_workers_new (compute, factors, spec->workers, seed);
  own.compute = ls_timed_workers_compute;
  own.abandon = ls_timed_workers_abandon;
  own.self = run.timed;
  run.update = ls_update_new (spec, run.engine, &own);
  if (sink != NULL)
    ls_update_add_sink (run.update, sink, sink_self);
  ls_update_begin (run.update);
  ck_assert_msg (ls_update_run (run.update, NULL, NULL, NULL, &error), "%s: %s", spec->policy->name,
                 error != NULL ? error->message : "");
  ls_update_finish (run.update);
  run.totals = ls_update_totals (run.update);
  return run;
}

UpdateCase update_case (const LsUpdateSpec *spec, const LsDistribution *compute,
                        const double *factors, guint64 seed, const LsUpdateSink *sink,
                        gpointer sink_self) {
  return update_case_on (spec, compute, factors, seed, sink, sink_self, ls_engine_new (), NULL);
}

void update_case_clear (UpdateCase *run) {
  ls_update_free (run->update);
  ls_timed_workers_free (run->timed);
  ls_engine_free (run->engine);
  *run = (UpdateCase){0};
}

void update_log_line (gpointer text, const LsUpdateRecord *r) {
  g_string_append_printf (text,
                          "%s w%d s%d p%d v%" G_GINT64_FORMAT " g%" G_GINT64_FORMAT
                          " c%" G_GINT64_FORMAT " %d t%" G_GINT64_FORMAT "\n",
                          ls_update_operation_name (r->operation), r->worker, r->shard, r->peer,
                          r->version, r->gradient, r->clock, r->closes, r->t_ps);
}

const LsUpdateSink update_log_sink = {.update = update_log_line};
