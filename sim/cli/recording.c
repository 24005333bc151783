/* From a simulation to the metadata of its trace, see recording.h. Cost O(ranks + resources). */
#include "cli/recording.h"

#include <string.h>

#include "cli/inventory.h"

struct LsRecording {
  LsSimulation *simulation;
  LsRecorder *recorder;
  LsInventory all;
  LsTraceJob *jobs;
  LsTraceRank *ranks;
  LsTraceResource *resources;
  LsTraceGroup *groups;
  const char **strings;
  guint n_kinds;     /* of ranks, over all jobs; those of a job follow those of the one before */
  guint *first_kind; /* by job */
  guint16 *stream_numbers; /* of all kinds of rank, LS_MAX_STREAMS each */
  GArray *step_ranks;      /* LsTraceStepRank */
  GHashTable *real_ranks;  /* place, group, class -> rank + 1: RealKey; folded only */
};

static void describe_streams (LsRecording *recording) {
  guint n_jobs = ls_simulation_n_jobs (recording->simulation);

  recording->first_kind = g_new0 (guint, n_jobs);
  for (guint j = 0; j < n_jobs; j++) {
    recording->first_kind[j] = recording->n_kinds;
    recording->n_kinds += ls_simulation_job (recording->simulation, j)->job->n_kinds;
  }
  recording->stream_numbers = g_new0 (guint16, recording->n_kinds * LS_MAX_STREAMS);
  for (guint j = 0; j < n_jobs; j++) {
    const LsJob *job = ls_simulation_job (recording->simulation, j)->job;

    for (guint kind = 0; kind < job->n_kinds; kind++)
      for (guint i = 0; i < ls_program_n_streams (job->kinds[kind].program); i++)
        recording->stream_numbers[(recording->first_kind[j] + kind) * LS_MAX_STREAMS + i] =
            ls_inventory_stream (&recording->all,
                                 ls_program_stream_name (job->kinds[kind].program, i));
  }
}

static void describe_rank (LsRecording *recording, guint rank) {
  const LsCluster *cluster = ls_simulation_cluster (recording->simulation);
  guint number = ls_simulation_job_of_rank (recording->simulation, rank);
  const LsJobRun *run = ls_simulation_job (recording->simulation, number);
  const LsJob *job = run->job;
  LsTraceRank *out = &recording->ranks[rank];
  guint job_rank = rank - run->first_rank, kind = job->kind_of_rank[job_rank],
        gpu = job->gpu_of_rank[job_rank];

  out->job = number;
  out->job_rank = job_rank;
  out->role = "worker";
  ls_inventory_place (&recording->all, cluster, gpu, out);
  out->class_id = ls_simulation_is_folded (recording->simulation)
                      ? ls_simulation_place (recording->simulation, rank)
                      : recording->first_kind[number] + kind;
  out->dp = (gint) job->coordinates[job_rank].data;
  out->tp = (gint) job->coordinates[job_rank].tensor;
  out->pp = (gint) job->coordinates[job_rank].stage;
  out->cp = out->ep = LS_TRACE_ABSENT;
  out->n_streams = ls_program_n_streams (job->kinds[kind].program);
  out->streams =
      &recording->stream_numbers[(recording->first_kind[number] + kind) * LS_MAX_STREAMS];
}

static void describe_ranks (LsRecording *recording) {
  guint n = ls_simulation_n_ranks (recording->simulation);

  recording->ranks = g_new0 (LsTraceRank, n);
  for (guint rank = 0; rank < n; rank++)
    describe_rank (recording, rank);
  recording->all.meta.n_ranks = n;
  recording->all.meta.ranks = recording->ranks;
}

/* The rank on each GPU, or LS_TRACE_ABSENT (transfer full). */
static gint *ranks_by_gpu (const LsRecording *recording) {
  guint n = ls_cluster_n_gpus (ls_simulation_cluster (recording->simulation));
  gint *rank_of_gpu = g_new (gint, MAX (n, 1u));

  for (guint gpu = 0; gpu < n; gpu++)
    rank_of_gpu[gpu] = LS_TRACE_ABSENT;
  for (guint j = 0; j < ls_simulation_n_jobs (recording->simulation); j++) {
    const LsJobRun *run = ls_simulation_job (recording->simulation, j);

    for (guint rank = 0; rank < run->job->n_ranks; rank++)
      rank_of_gpu[run->job->gpu_of_rank[rank]] = (gint) (run->first_rank + rank);
  }
  return rank_of_gpu;
}

/* In the engine's numbering, so that rows and records agree. */
static void describe_resources (LsRecording *recording) {
  LsEngine *engine = ls_simulation_engine (recording->simulation);
  const LsNet *net = ls_simulation_net (recording->simulation);
  const LsTopology *topology = ls_net_topology (net);
  guint n = ls_engine_n_resources (engine);
  g_autofree gint *rank_of_gpu = ranks_by_gpu (recording);

  recording->resources = g_new0 (LsTraceResource, n);
  for (guint i = 0; i < n; i++) {
    guint index = ls_simulation_resource (recording->simulation, i);
    const LsNetResource *resource = index != LS_NO_NUMBER ? ls_net_resource (net, index) : NULL;
    LsTraceResource *out = &recording->resources[i];

    *out = ls_inventory_resource (&recording->all, engine, i, topology, index, resource);
    if (resource != NULL && resource->gpu >= 0)
      out->rank = rank_of_gpu[resource->gpu];
  }
  recording->all.meta.n_resources = n;
  recording->all.meta.resources = recording->resources;
}

static void describe_groups (LsRecording *recording) {
  LsEngine *engine = ls_simulation_engine (recording->simulation);
  const LsFold *fold = ls_simulation_fold (recording->simulation);
  guint n = ls_engine_n_groups (engine);

  recording->groups = g_new0 (LsTraceGroup, n);
  for (guint i = 0; i < n; i++) {
    LsTraceGroup *out = &recording->groups[i];

    out->axis = ls_engine_group_axis (engine, i);
    if (fold != NULL) {
      out->members = ls_fold_group_ranks (fold, i, &out->n_members);
    } else {
      out->n_members = ls_engine_group_size (engine, i);
      out->members = ls_engine_group_ranks (engine, i);
    }
    out->job = ls_simulation_job_of_rank (recording->simulation, out->members[0]);
  }
  recording->all.meta.n_groups = n;
  recording->all.meta.groups = recording->groups;
}

static void describe_strings (LsRecording *recording) {
  const LsTables *tables = ls_simulation_job (recording->simulation, 0)->job->tables;
  guint n = ls_tables_n_names (tables);

  recording->strings = g_new0 (const char *, n);
  for (guint i = 0; i < n; i++)
    recording->strings[i] = ls_tables_get_name (tables, i);
  recording->all.meta.n_strings = n;
  recording->all.meta.strings = recording->strings;
}

static void describe_jobs (LsRecording *recording) {
  guint n = ls_simulation_n_jobs (recording->simulation);

  recording->jobs = g_new0 (LsTraceJob, n);
  for (guint j = 0; j < n; j++) {
    const LsJobRun *run = ls_simulation_job (recording->simulation, j);

    recording->jobs[j] = (LsTraceJob){
        .name = run->name, .policy = "sync", .gpus = run->job->n_ranks, .start_ps = run->start_ps};
  }
  recording->all.meta.n_jobs = n;
  recording->all.meta.jobs = recording->jobs;
}

static LsRecording *describe (LsSimulation *simulation) {
  LsRecording *recording = g_new0 (LsRecording, 1);

  recording->simulation = simulation;
  recording->step_ranks = g_array_new (FALSE, TRUE, sizeof (LsTraceStepRank));
  ls_inventory_init (&recording->all, ls_simulation_cluster (simulation));
  describe_jobs (recording);
  describe_streams (recording);
  describe_ranks (recording);
  describe_resources (recording);
  describe_groups (recording);
  describe_strings (recording);
  return recording;
}

/* --- folded runs: the engine's ranks are classes -------------------------------------------------- */

typedef struct {
  guint32 place, group, class_number;
} RealKey;

static guint real_hash (gconstpointer data) {
  const RealKey *key = data;

  return key->place * 2654435761u ^ key->group * 40503u ^ key->class_number * 97u;
}

static gboolean real_equal (gconstpointer a, gconstpointer b) {
  return memcmp (a, b, sizeof (RealKey)) == 0;
}

/* The rank of a class that meets the lowest rank of `place` in its group like `group`. */
static guint32 real_rank (LsRecording *recording, guint32 place, guint32 group,
                          guint32 class_number) {
  const LsSimulation *simulation = recording->simulation;
  RealKey key = {place, group, class_number};
  guint rank = LS_NO_RANK;

  if (class_number == LS_NO_RANK)
    return LS_NO_RANK;
  if (class_number == place && group == LS_NO_GROUP)
    return ls_simulation_rank (simulation, place);
  gpointer known = g_hash_table_lookup (recording->real_ranks, &key);
  if (known != NULL)
    return GPOINTER_TO_UINT (known) - 1;
  if (group != LS_NO_GROUP)
    rank = ls_fold_member (ls_simulation_fold (simulation), ls_simulation_rank (simulation, place),
                           group, class_number);
  if (rank == LS_NO_RANK)
    rank = ls_simulation_rank (simulation, class_number);
  g_hash_table_insert (recording->real_ranks, g_memdup2 (&key, sizeof key),
                       GUINT_TO_POINTER (rank + 1));
  return rank;
}

static void on_op (gpointer self, const LsOpRecord *record) {
  LsRecording *recording = self;
  guint32 place = record->rank, group = record->group;
  LsOpRecord real = *record;

  real.rank = ls_simulation_rank (recording->simulation, place);
  real.cause.rank = record->cause.rank == place && record->last_rank == LS_NO_RANK
                        ? real.rank
                        : real_rank (recording, place, group, record->cause.rank);
  real.last_rank = real_rank (recording, place, group, record->last_rank);
  real.peer = real_rank (recording, place, group, record->peer);
  ls_recorder_observer (recording->recorder)->op (recording->recorder, &real);
}

static void on_memory (gpointer self, guint place, guint kind, gint64 t_ps, gint64 bytes) {
  LsRecording *recording = self;

  ls_recorder_observer (recording->recorder)
      ->memory (recording->recorder, ls_simulation_rank (recording->simulation, place), kind, t_ps,
                bytes);
}

static void on_rate (gpointer self, guint resource, gint64 t_ps, gint64 rate) {
  LsRecording *recording = self;

  ls_recorder_observer (recording->recorder)->rate (recording->recorder, resource, t_ps, rate);
}

static void observe (LsRecording *recording) {
  static const LsObserver translated = {.op = on_op, .memory = on_memory, .rate = on_rate};
  LsEngine *engine = ls_simulation_engine (recording->simulation);
  const LsObserver *observer = ls_recorder_observer (recording->recorder);

  if (!ls_simulation_is_folded (recording->simulation)) {
    ls_engine_add_observer (engine, observer, recording->recorder);
    return;
  }
  recording->real_ranks = g_hash_table_new_full (real_hash, real_equal, g_free, NULL);
  if (observer->op != NULL)
    ls_engine_add_observer (engine, &translated, recording);
}

LsRecording *ls_recording_new (const char *path, LsSimulation *simulation,
                               const LsRecorderOptions *options, GError **error) {
  g_autoptr (LsRecording) recording = describe (simulation);
  LsEngine *engine = ls_simulation_engine (simulation);

  recording->recorder = ls_recorder_new (path, &recording->all.meta, options, error);
  if (!recording->recorder)
    return NULL;
  observe (recording);
  for (guint place = 0; place < ls_engine_n_ranks (engine); place++)
    if (options->level >= LS_TRACE_OPS &&
        ls_recorder_has_rank (recording->recorder, ls_simulation_rank (simulation, place)))
      ls_engine_observe_rank (engine, place, TRUE);
  return g_steal_pointer (&recording);
}

void ls_recording_free (LsRecording *recording) {
  if (!recording)
    return;
  ls_recorder_free (recording->recorder);
  g_free (recording->jobs);
  g_free (recording->first_kind);
  g_free (recording->ranks);
  g_free (recording->resources);
  g_free (recording->groups);
  g_free (recording->strings);
  g_free (recording->stream_numbers);
  ls_inventory_clear (&recording->all);
  g_array_unref (recording->step_ranks);
  g_clear_pointer (&recording->real_ranks, g_hash_table_unref);
  g_free (recording);
}

LsRecorder *ls_recording_recorder (LsRecording *recording) {
  return recording->recorder;
}

gboolean ls_recording_step (gpointer self, const LsStepResult *step, GError **error) {
  LsRecording *recording = self;
  const LsWorkload *workload = ls_simulation_job (recording->simulation, step->job)->workload;
  LsTraceStep row = {.job = step->job,
                     .step = step->step,
                     .start_ps = step->start_ps,
                     .end_ps = step->end_ps,
                     .tokens = -1};

  if (ls_model_has_tokens (workload->model))
    row.tokens = workload->global_batch * workload->seq_len;
  g_array_set_size (recording->step_ranks, step->n_places);
  for (guint rank = 0; rank < step->n_places; rank++) {
    LsTraceStepRank *out = &g_array_index (recording->step_ranks, LsTraceStepRank, rank);

    out->rank = step->ranks[rank];
    out->weight = step->sizes[rank];
    memcpy (out->parts_ps, &step->parts_ps[rank * LS_N_PARTS], sizeof out->parts_ps);
    out->caused_wait_ps = step->caused_wait_ps[rank];
    out->peak_bytes = step->peak_bytes[rank];
  }
  return ls_recorder_step (recording->recorder, &row,
                           (const LsTraceStepRank *) (gpointer) recording->step_ranks->data,
                           step->n_places, error);
}

/* Steps of a job with rows. */
static gint64 recorded_steps (const LsJobRun *run, const LsRecorderOptions *options) {
  gint64 recorded = 0;

  for (gint64 step = 0; step < run->workload->steps; step++)
    recorded += ls_recorder_has_step (options, step) ? 1 : 0;
  return recorded;
}

LsRecordingSize ls_recording_size (LsSimulation *simulation, const LsRecorderOptions *options) {
  g_autoptr (LsRecording) recording = describe (simulation);
  g_autoptr (LsTraceSelection) selection = ls_trace_selection_new (
      &recording->all.meta, options->all_ranks, options->ranks, options->n_ranks);
  gint64 fixed = ls_trace_estimate_bytes (options->level, 0, 0, 0, 0);
  LsRecordingSize size = {.bytes = fixed};

  if (options->level == LS_TRACE_NONE)
    return size;
  for (guint j = 0; j < ls_simulation_n_jobs (simulation); j++) {
    const LsJobRun *run = ls_simulation_job (simulation, j);
    gint64 recorded = recorded_steps (run, options), events = 0;

    for (guint rank = 0; rank < run->job->n_ranks && options->level >= LS_TRACE_OPS; rank++)
      if (ls_trace_selection_has (selection, run->first_rank + rank))
        events += ls_program_n_executed (ls_job_kind (run->job, rank)->program) /
                  run->workload->steps * recorded;
    size.events += events;
    size.bytes += ls_trace_estimate_bytes (options->level, events, run->job->n_ranks,
                                           j == 0 ? recording->all.meta.n_resources : 0, recorded) -
                  fixed;
  }
  return size;
}
