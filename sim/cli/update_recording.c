/* From a run of updates to the metadata of its trace; see update_recording.h.
 *
 * Workers that run programs have the streams of these, and one more for how the policy spends their
 * time; timed workers have that one only. */
#include "cli/update_recording.h"

#include "base/assert.h"
#include "cli/inventory.h"

#define SPAN_STREAM "update"

struct LsUpdateRecording {
  LsUpdateRun *run;
  LsRecorder *recorder;
  LsInventory all;
  LsTraceJob job;
  LsTraceRank *ranks;
  LsTraceResource *resources;
  LsTraceGroup *groups;
  LsTables *tables; /* of names */
  const char **strings;
  LsOp span_ops[LS_N_SPANS];
  gint64 *ordinals; /* of each worker's spans */
};

/* The program of a rank; NULL: it is timed, or a server. */
static const LsProgram *program_of (const LsUpdateRecording *recording, guint rank) {
  LsReplicas *replicas = ls_update_run_replicas (recording->run);
  guint per_worker = ls_update_run_gpus_per_worker (recording->run);

  if (replicas == NULL ||
      rank / per_worker >= ls_update_run_workload (recording->run)->update.spec.workers)
    return NULL;
  return ls_job_kind (ls_replicas_job (replicas, rank / per_worker), rank % per_worker)->program;
}

/* The streams of the rank's program, and last the worker's own. */
static void describe_streams (LsUpdateRecording *recording, guint rank) {
  const LsProgram *program = program_of (recording, rank);
  guint n = program != NULL ? ls_program_n_streams (program) : 0;
  guint16 *numbers = g_new (guint16, n + 1);

  g_ptr_array_add (recording->all.owned, numbers);
  for (guint i = 0; i < n; i++)
    numbers[i] = ls_inventory_stream (&recording->all, ls_program_stream_name (program, i));
  numbers[n] = ls_inventory_stream (&recording->all, SPAN_STREAM);
  recording->ranks[rank].n_streams = n + 1;
  recording->ranks[rank].streams = numbers;
}

static void describe_ranks (LsUpdateRecording *recording) {
  LsUpdateRun *run = recording->run;
  const LsCluster *cluster = ls_update_run_cluster (run);
  const LsUpdatePlan *plan = &ls_update_run_workload (run)->update;
  guint per_worker = ls_update_run_gpus_per_worker (run);
  guint workers = plan->spec.workers, n = workers * per_worker + plan->n_server_nodes;

  recording->ranks = g_new0 (LsTraceRank, n);
  for (guint rank = 0; rank < n; rank++) {
    LsTraceRank *out = &recording->ranks[rank];
    gboolean server = rank >= workers * per_worker;
    *out = (LsTraceRank){.role = server ? "server" : "worker",
                         .job_rank = server ? rank - workers * per_worker : rank,
                         .class_id = rank,
                         .device = LS_TRACE_ABSENT,
                         .dp = LS_TRACE_ABSENT,
                         .tp = LS_TRACE_ABSENT,
                         .pp = LS_TRACE_ABSENT,
                         .cp = LS_TRACE_ABSENT,
                         .ep = LS_TRACE_ABSENT};
    describe_streams (recording, rank);
    if (server) {
      out->node = (gint) plan->server_nodes[rank - workers * per_worker];
      continue;
    }
    guint gpu = ls_update_run_gpus (run, rank / per_worker)[rank % per_worker];
    ls_inventory_place (&recording->all, cluster, gpu, out);
    out->dp = (gint) (rank / per_worker);
    if (ls_update_run_replicas (run) != NULL) {
      const LsJob *job = ls_replicas_job (ls_update_run_replicas (run), rank / per_worker);
      out->tp = (gint) job->coordinates[rank % per_worker].tensor;
      out->pp = (gint) job->coordinates[rank % per_worker].stage;
    }
  }
  recording->all.meta.n_ranks = n;
  recording->all.meta.ranks = recording->ranks;
}

static void describe_resources (LsUpdateRecording *recording) {
  const LsNet *net = ls_update_run_net (recording->run);
  LsEngine *engine = ls_update_run_engine (recording->run);
  guint n = ls_engine_n_resources (engine);

  recording->resources = g_new0 (LsTraceResource, n);
  for (guint i = 0; i < n; i++)
    recording->resources[i] =
        ls_inventory_resource (&recording->all, engine, i, ls_net_topology (net),
                               ls_net_resource_index (net, i), ls_net_resource_of (net, i));
  recording->all.meta.n_resources = n;
  recording->all.meta.resources = recording->resources;
}

static void describe_spans (LsUpdateRecording *recording) {
  static const LsKind kinds[LS_N_SPANS] = {
      [LS_SPAN_COMPUTE] = LS_KIND_STEP,       [LS_SPAN_PUSH] = LS_KIND_PUSH,
      [LS_SPAN_WAIT] = LS_KIND_DELAY,         [LS_SPAN_PULL] = LS_KIND_PULL,
      [LS_SPAN_AVERAGE] = LS_KIND_ALL_REDUCE, [LS_SPAN_AWAY] = LS_KIND_DELAY};

  for (guint span = 0; span < LS_N_SPANS; span++) {
    recording->span_ops[span] = LS_OP_INIT;
    recording->span_ops[span].kind = LS_OP_DELAY;
    recording->span_ops[span].name =
        ls_tables_name (recording->tables, ls_update_span_name ((LsUpdateSpan) span));
    recording->span_ops[span].trace_kind = (guint16) kinds[span];
    recording->span_ops[span].part = (guint8) ls_update_span_part ((LsUpdateSpan) span);
    if (span == LS_SPAN_PUSH || span == LS_SPAN_PULL)
      recording->span_ops[span].axis = LS_AXIS_SERVER;
    if (span == LS_SPAN_AVERAGE)
      recording->span_ops[span].axis = LS_AXIS_DATA;
  }
  guint n = ls_tables_n_names (recording->tables);
  recording->strings = g_new0 (const char *, n);
  for (guint i = 0; i < n; i++)
    recording->strings[i] = ls_tables_get_name (recording->tables, i);
  recording->all.meta.n_strings = n;
  recording->all.meta.strings = recording->strings;
}

static void describe_groups (LsUpdateRecording *recording) {
  LsEngine *engine = ls_update_run_engine (recording->run);
  guint n = ls_engine_n_groups (engine);

  recording->groups = g_new0 (LsTraceGroup, n + 1);
  for (guint i = 0; i < n; i++)
    recording->groups[i] = (LsTraceGroup){.axis = ls_engine_group_axis (engine, i),
                                          .n_members = ls_engine_group_size (engine, i),
                                          .members = ls_engine_group_ranks (engine, i)};
  recording->all.meta.n_groups = n;
  recording->all.meta.groups = recording->groups;
}

static void on_span (gpointer self, guint worker, LsUpdateSpan span, gint64 clock, gint64 start_ps,
                     gint64 end_ps) {
  LsUpdateRecording *recording = self;
  guint rank = worker * ls_update_run_gpus_per_worker (recording->run);
  const gint32 counters[1] = {(gint32) clock};
  gint64 ordinal = recording->ordinals[worker]++;
  guint16 stream = (guint16) (recording->ranks[rank].n_streams - 1);
  LsOpRecord record = {.rank = rank,
                       .stream = stream,
                       .ordinal = ordinal,
                       .op = &recording->span_ops[span],
                       .counters = counters,
                       .ready_ps = start_ps,
                       .start_ps = start_ps,
                       .end_ps = end_ps,
                       .alone_ps = end_ps - start_ps,
                       .cause = {rank, stream, ordinal - 1},
                       .cause_resource = LS_NO_RESOURCE,
                       .bottleneck = LS_NO_RESOURCE,
                       .group = LS_NO_GROUP,
                       .last_rank = LS_NO_RANK,
                       .peer = LS_NO_RANK};

  ls_recorder_observer (recording->recorder)->op (recording->recorder, &record);
}

LsUpdateRecording *ls_update_recording_new (const char *path, LsUpdateRun *run,
                                            const LsRecorderOptions *options, GError **error) {
  g_autoptr (LsUpdateRecording) recording = g_new0 (LsUpdateRecording, 1);
  LsUpdate *update = ls_update_run_update (run);
  const LsUpdateSpec *spec = ls_update_spec (update);

  recording->run = run;
  ls_inventory_init (&recording->all, ls_update_run_cluster (run));
  recording->ordinals = g_new0 (gint64, spec->workers);
  recording->job = (LsTraceJob){.name = "main",
                                .policy = spec->policy->name,
                                .gpus = spec->workers * ls_update_run_gpus_per_worker (run)};
  recording->tables = ls_update_run_replicas (run) != NULL
                          ? ls_tables_ref (ls_replicas_tables (ls_update_run_replicas (run)))
                          : ls_tables_new ();
  recording->all.meta.n_jobs = 1;
  recording->all.meta.jobs = &recording->job;
  describe_spans (recording);
  describe_ranks (recording);
  describe_groups (recording);
  describe_resources (recording);
  recording->recorder = ls_recorder_new (path, &recording->all.meta, options, error);
  if (recording->recorder == NULL)
    return NULL;
  ls_update_add_sink (update, &ls_recorder_update_sink, recording->recorder);
  if (options->level >= LS_TRACE_OPS) {
    ls_engine_add_observer (ls_update_run_engine (run), ls_recorder_observer (recording->recorder),
                            recording->recorder);
    ls_update_set_span_func (update, on_span, recording);
    for (guint rank = 0; rank < ls_engine_n_ranks (ls_update_run_engine (run)); rank++)
      ls_engine_observe_rank (ls_update_run_engine (run), rank,
                              ls_recorder_has_rank (recording->recorder, rank));
  }
  return g_steal_pointer (&recording);
}

void ls_update_recording_free (LsUpdateRecording *recording) {
  if (recording == NULL)
    return;
  ls_recorder_free (recording->recorder);
  g_free (recording->ranks);
  g_free (recording->resources);
  g_free (recording->groups);
  g_free (recording->strings);
  ls_tables_free (recording->tables);
  g_free (recording->ordinals);
  ls_inventory_clear (&recording->all);
  g_free (recording);
}

LsRecorder *ls_update_recording_recorder (LsUpdateRecording *recording) {
  return recording->recorder;
}
