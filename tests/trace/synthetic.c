/* A made-up training run. See synthetic.h. */
#include "trace/synthetic.h"

#include "base/random.h"
#include "base/time.h"

#include <glib/gstdio.h>

enum { COMPUTE, RECV, SEND, DATA, N_STREAMS };
enum { NAME_KERNEL, NAME_RECV, NAME_SEND, NAME_REDUCE, NAME_BARRIER, N_NAMES };

static const char *const stream_names[] = {"compute", "pipeline_recv", "pipeline_send", "data"};
static const char *const op_names[] = {"mlp", "activations in", "activations out", "gradients",
                                       "step end"};
static const guint16 all_streams[] = {COMPUTE, RECV, SEND, DATA};
static const LsTransfer message = {.message_bytes = 8 << 20, .wire_bytes = 8 << 20};
static const LsTransfer reduce = {
    .message_bytes = 64 << 20, .wire_bytes = 96 << 20, .algorithm = "ring", .protocol = "simple"};

/* Per rank: where its streams are. */
typedef struct {
  gint64 ordinal[N_STREAMS];
  gint64 free_ps[N_STREAMS]; /* end of the stream's last operation */
  gint64 compute_ps, exposed_ps, reduce_end_ps;
  gint64 activation_bytes;
} RankState;

typedef struct {
  const Synthetic *run;
  const LsObserver *observer;
  LsRecorder *recorder;
  RankState *ranks;
  gint32 counters[2];
  gint64 reduce_sequence, barrier_sequence;
} Player;

LsTraceMeta *synthetic_meta_new (const Synthetic *run) {
  LsTraceMeta *meta = g_new0 (LsTraceMeta, 1);
  guint n = run->n_ranks, half = n / 2;
  LsTraceJob *job = g_new0 (LsTraceJob, 1);
  LsTraceNode *nodes = g_new0 (LsTraceNode, (n + 7) / 8);
  LsTraceRank *ranks = g_new0 (LsTraceRank, n);
  LsTraceResource *resources = g_new0 (LsTraceResource, n);
  LsTraceGroup *groups = g_new0 (LsTraceGroup, 3);
  guint32 *everyone = g_new (guint32, n);
  *job = (LsTraceJob){.name = "main", .policy = "sync", .gpus = n};
  for (guint i = 0; i < (n + 7) / 8; i++)
    nodes[i] = (LsTraceNode){
        .name = g_strdup_printf ("main[%u]", i), .group = "main", .gpu = "h100-sxm-80gb"};
  for (guint r = 0; r < n; r++) {
    everyone[r] = r;
    ranks[r] = (LsTraceRank){.job_rank = r,
                             .role = "worker",
                             .node = (gint) (r / 8),
                             .device = (gint) (r % 8),
                             .class_id = r / half,
                             .dp = (gint) (r % half),
                             .tp = 0,
                             .pp = (gint) (r / half),
                             .cp = LS_TRACE_ABSENT,
                             .ep = LS_TRACE_ABSENT,
                             .n_streams = N_STREAMS,
                             .streams = all_streams};
    ranks[r].static_bytes[LS_MEMORY_PARAMETERS] = 1 << 30;
    resources[r] = (LsTraceResource){.kind = "nic",
                                     .name = g_strdup_printf ("rank%u/nic", r),
                                     .node = (gint) (r / 8),
                                     .rank = (gint) r,
                                     .source = "gpu",
                                     .target = "leaf",
                                     .tier = "leaf",
                                     .capacity = 50e9,
                                     .unit = "B/s"};
  }
  groups[0] = (LsTraceGroup){.axis = LS_AXIS_DATA, .n_members = half, .members = everyone};
  groups[1] = (LsTraceGroup){.axis = LS_AXIS_DATA, .n_members = half, .members = everyone + half};
  groups[2] = (LsTraceGroup){.axis = LS_AXIS_DATA, .n_members = n, .members = everyone};
  *meta = (LsTraceMeta){.n_jobs = 1,
                        .n_nodes = (n + 7) / 8,
                        .n_ranks = n,
                        .n_resources = n,
                        .n_groups = 3,
                        .n_streams = N_STREAMS,
                        .n_strings = N_NAMES,
                        .jobs = job,
                        .nodes = nodes,
                        .ranks = ranks,
                        .resources = resources,
                        .groups = groups,
                        .streams = stream_names,
                        .strings = op_names};
  return meta;
}

void synthetic_meta_free (LsTraceMeta *meta) {
  for (guint i = 0; i < meta->n_nodes; i++)
    g_free ((gpointer) meta->nodes[i].name);
  for (guint i = 0; i < meta->n_resources; i++)
    g_free ((gpointer) meta->resources[i].name);
  g_free ((gpointer) meta->groups[0].members);
  g_free ((gpointer) meta->jobs);
  g_free ((gpointer) meta->nodes);
  g_free ((gpointer) meta->ranks);
  g_free ((gpointer) meta->resources);
  g_free ((gpointer) meta->groups);
  g_free (meta);
}

static LsOp op_of (LsOpKind kind, LsKind trace_kind, LsAxis axis, guint32 name) {
  LsOp op = LS_OP_INIT;
  op.kind = (guint8) kind;
  op.trace_kind = (guint16) trace_kind;
  op.axis = (guint8) axis;
  op.phase = LS_PHASE_FORWARD;
  op.name = name;
  op.microbatch = ls_label (0, 1, 1);
  return op;
}

static LsOpRecord record_of (Player *player, guint rank, guint stream, const LsOp *op,
                             gint64 ready_ps, gint64 start_ps, gint64 end_ps) {
  return (LsOpRecord){.rank = rank,
                      .stream = (guint16) stream,
                      .ordinal = player->ranks[rank].ordinal[stream],
                      .op = op,
                      .counters = player->counters,
                      .ready_ps = ready_ps,
                      .start_ps = start_ps,
                      .end_ps = end_ps,
                      .alone_ps = end_ps - start_ps,
                      .cause = {rank, (guint16) stream, player->ranks[rank].ordinal[stream] - 1},
                      .cause_resource = LS_NO_RESOURCE,
                      .bottleneck = LS_NO_RESOURCE,
                      .group = LS_NO_GROUP,
                      .last_rank = LS_NO_RANK,
                      .peer = LS_NO_RANK};
}

/* Hands the record over and moves the stream on. */
static void emit (Player *player, const LsOpRecord *record) {
  RankState *state = &player->ranks[record->rank];
  if (player->observer->op != NULL && ls_recorder_has_rank (player->recorder, record->rank))
    player->observer->op (player->recorder, record);
  state->ordinal[record->stream]++;
  state->free_ps[record->stream] = record->end_ps;
}

static void emit_memory (Player *player, guint rank, gint64 t_ps, gint64 change_bytes) {
  RankState *state = &player->ranks[rank];
  state->activation_bytes += change_bytes;
  if (player->observer->memory != NULL)
    player->observer->memory (player->recorder, rank, LS_MEMORY_ACTIVATIONS, t_ps,
                              state->activation_bytes);
}

static void emit_rate (Player *player, guint rank, gint64 t_ps, double per_s) {
  if (player->observer->rate != NULL)
    player->observer->rate (player->recorder, rank, t_ps, ls_rate_from_per_s (per_s));
}

/* The kernels of one micro-batch; the first waits for what came in (recv_end_ps, or 0). */
static void play_kernels (Player *player, guint rank, gint64 recv_end_ps) {
  RankState *state = &player->ranks[rank];
  LsOp op = op_of (LS_OP_KERNEL, LS_KIND_MATMUL, LS_AXIS_NONE, NAME_KERNEL);
  op.flops = 1e12;
  op.bytes = 3 << 20;
  for (guint k = 0; k < player->run->n_kernels; k++) {
    gint64 ready_ps = MAX (state->free_ps[COMPUTE], recv_end_ps);
    gint64 alone_ps =
        9 * LS_PS_PER_US + 617 +
        (gint64) (ls_random_hash (player->run->seed, rank, (guint64) state->ordinal[COMPUTE]) %
                  2000003);
    op.layer = ls_label ((gint32) k, 0, -1);
    LsOpRecord record = record_of (player, rank, COMPUTE, &op, ready_ps, ready_ps,
                                   ready_ps + alone_ps + (k == 0 ? 1234567 : 0));
    record.alone_ps = alone_ps;
    if (recv_end_ps > state->free_ps[COMPUTE])
      record.cause = (LsCause){rank, RECV, state->ordinal[RECV] - 1};
    emit_memory (player, rank, record.start_ps, 1 << 20);
    state->compute_ps += record.end_ps - record.start_ps;
    emit (player, &record);
  }
}

/* Stage 0 sends to stage 1 what it computed; the receiver has waited since its stream was free. */
static gint64 play_message (Player *player, guint from, guint to) {
  RankState *sender = &player->ranks[from];
  LsOp send = op_of (LS_OP_SEND, LS_KIND_SEND, LS_AXIS_PIPELINE, NAME_SEND);
  LsOp recv = op_of (LS_OP_RECV, LS_KIND_RECV, LS_AXIS_PIPELINE, NAME_RECV);
  gint64 start_ps = MAX (sender->free_ps[COMPUTE], sender->free_ps[SEND]);
  gint64 end_ps = start_ps + 3 * LS_PS_PER_US + 77;
  LsOpRecord record = record_of (player, from, SEND, &send, start_ps, start_ps, end_ps);
  if (sender->free_ps[COMPUTE] == start_ps)
    record.cause = (LsCause){from, COMPUTE, sender->ordinal[COMPUTE] - 1};
  LsOpRecord other =
      record_of (player, to, RECV, &recv, player->ranks[to].free_ps[RECV], start_ps, end_ps);
  other.cause = record.cause;
  record.transfer = other.transfer = &message;
  record.group = other.group = 2;
  record.peer = to;
  other.peer = from;
  other.exposed_ps = MIN (end_ps - start_ps, MAX (0, end_ps - player->ranks[to].free_ps[COMPUTE]));
  emit (player, &record);
  emit (player, &other);
  return end_ps;
}

/* A collective on `stream` of the ranks first..first+n-1; each arrives when its compute stream is free. */
static void play_collective (Player *player, guint group, guint first, guint n, guint stream,
                             LsOp *op, gint64 duration_ps, gint64 sequence) {
  gint64 first_ps = G_MAXINT64, last_ps = 0;
  guint last_rank = first;
  for (guint r = first; r < first + n; r++) {
    RankState *state = &player->ranks[r];
    gint64 ready_ps = MAX (state->free_ps[COMPUTE], state->free_ps[stream]);
    ready_ps = stream == COMPUTE ? MAX (ready_ps, state->free_ps[DATA]) : ready_ps;
    first_ps = MIN (first_ps, ready_ps);
    last_rank = ready_ps > last_ps ? r : last_rank;
    last_ps = MAX (last_ps, ready_ps);
  }
  guint last_stream =
      stream == COMPUTE && player->ranks[last_rank].free_ps[DATA] == last_ps ? DATA : COMPUTE;
  LsCause cause = {last_rank, (guint16) last_stream,
                   player->ranks[last_rank].ordinal[last_stream] - 1};
  for (guint r = first; r < first + n; r++) {
    RankState *state = &player->ranks[r];
    gint64 ready_ps = MAX (state->free_ps[COMPUTE], state->free_ps[stream]);
    LsOpRecord record = record_of (player, r, stream, op, ready_ps, last_ps, last_ps + duration_ps);
    record.cause = cause;
    record.transfer = &reduce;
    record.group = group;
    record.sequence = sequence;
    record.first_ready_ps = first_ps;
    record.last_ready_ps = last_ps;
    record.last_rank = last_rank;
    record.exposed_ps = stream == COMPUTE ? 0 : duration_ps;
    record.bottleneck = r;
    if (stream == DATA) {
      state->exposed_ps += duration_ps;
      emit_rate (player, r, last_ps, 40e9);
      emit_rate (player, r, last_ps + duration_ps, 0);
    }
    emit (player, &record);
  }
}

static gboolean play_step (Player *player, gint64 *end_ps, GError **error) {
  const Synthetic *run = player->run;
  guint half = run->n_ranks / 2;
  for (guint m = 0; m < run->n_microbatches; m++) {
    player->counters[1] = (gint32) m;
    for (guint r = 0; r < half; r++)
      play_kernels (player, r, 0);
    for (guint r = 0; r < half; r++)
      play_kernels (player, r + half, play_message (player, r, r + half));
  }
  LsOp gradients = op_of (LS_OP_COLLECTIVE, LS_KIND_ALL_REDUCE, LS_AXIS_DATA, NAME_REDUCE);
  LsOp barrier = op_of (LS_OP_COLLECTIVE, LS_KIND_BARRIER, LS_AXIS_NONE, NAME_BARRIER);
  gint64 sequence = player->reduce_sequence++;
  play_collective (player, 0, 0, half, DATA, &gradients, 51 * LS_PS_PER_US + 501, sequence);
  play_collective (player, 1, half, half, DATA, &gradients, 51 * LS_PS_PER_US + 501, sequence);
  play_collective (player, 2, 0, run->n_ranks, COMPUTE, &barrier, 1, player->barrier_sequence++);

  LsTraceStep step = {.step = player->counters[0], .start_ps = *end_ps, .tokens = 4096};
  g_autofree LsTraceStepRank *ranks = g_new0 (LsTraceStepRank, run->n_ranks);
  *end_ps = step.end_ps = player->ranks[0].free_ps[COMPUTE];
  for (guint r = 0; r < run->n_ranks; r++) {
    RankState *state = &player->ranks[r];
    gint64 rest_ps = step.end_ps - step.start_ps - state->compute_ps - state->exposed_ps;
    ranks[r] =
        (LsTraceStepRank){.rank = r, .caused_wait_ps = -1, .peak_bytes = state->activation_bytes};
    ranks[r].parts_ps[LS_PART_COMPUTE] = state->compute_ps;
    ranks[r].parts_ps[LS_PART_EXPOSED_DATA] = state->exposed_ps;
    ranks[r].parts_ps[LS_PART_PIPELINE_BUBBLE] = rest_ps / 3;
    ranks[r].parts_ps[LS_PART_STRAGGLER_WAIT] = rest_ps - rest_ps / 3;
    emit_memory (player, r, step.end_ps, -state->activation_bytes);
    state->compute_ps = state->exposed_ps = 0;
    for (guint s = 0; s < N_STREAMS; s++)
      state->free_ps[s] = MAX (state->free_ps[s], step.end_ps);
  }
  return ls_recorder_step (player->recorder, &step, ranks, run->n_ranks, error);
}

gboolean synthetic_play (const Synthetic *run, const LsTraceMeta *meta, LsRecorder *recorder,
                         const volatile gint *stop, gint64 *end_ps, GError **error) {
  Player player = {.run = run, .observer = ls_recorder_observer (recorder), .recorder = recorder};
  player.ranks = g_new0 (RankState, meta->n_ranks);
  *end_ps = 0;
  gboolean ok = TRUE;
  for (guint s = 0; ok && s < run->n_steps && (stop == NULL || *stop == 0); s++) {
    player.counters[0] = run->first_step + (gint32) s;
    ok = play_step (&player, end_ps, error);
  }
  g_free (player.ranks);
  return ok;
}

gboolean synthetic_record (const Synthetic *run, const char *path, const LsRecorderOptions *options,
                           GError **error) {
  LsTraceMeta *meta = synthetic_meta_new (run);
  gint64 end_ps = 0;
  gboolean ok = FALSE;
  LsRecorder *recorder = ls_recorder_new (path, meta, options, error);
  if (recorder != NULL) {
    ls_recorder_set_text (recorder, "scenario", "lockstep: 1\n");
    ls_recorder_set_text (recorder, "version", "test");
    ls_recorder_set_integer (recorder, "seed", (gint64) run->seed);
    ls_recorder_set_text (recorder, "summary", "{\"schema\": 1}");
    ls_recorder_set_real (recorder, "wall_s", (double) g_get_monotonic_time () / 1e6);
    ok = synthetic_play (run, meta, recorder, NULL, &end_ps, error) &&
         ls_recorder_finish (recorder, "complete", end_ps, error);
  }
  ls_recorder_free (recorder);
  synthetic_meta_free (meta);
  return ok;
}

char *synthetic_folder_new (void) {
  return g_dir_make_tmp ("lockstep-trace-XXXXXX", NULL);
}

void synthetic_folder_remove (char *folder) {
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;) {
    g_autofree char *path = g_build_filename (folder, name, NULL);
    if (g_unlink (path) != 0)
      g_rmdir (path);
  }
  g_rmdir (folder);
  g_free (folder);
}
