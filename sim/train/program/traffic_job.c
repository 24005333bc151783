/* From a traffic workload to programs and groups; see traffic_job.h. */
#include "train/program/traffic_job.h"

#include "base/assert.h"
#include "base/random.h"

/* --- what each rank does -------------------------------------------------------------------- */

/* Receivers and senders of every position of a group: rows of a program's messages. */
typedef struct {
  guint n;
  guint *to;   /* [position]: whom it sends to; G_MAXUINT: nobody, G_MAXUINT - 1: everybody */
  guint *from; /* likewise */
} Peers;

#define NOBODY G_MAXUINT
#define EVERYBODY (G_MAXUINT - 1)

/* Sattolo's algorithm: a random permutation of one cycle, so nobody sends to itself. */
static void draw (guint *to, guint n, guint64 seed, guint group) {
  LsRandom random;

  ls_random_init (&random, seed, "traffic permutation", group);
  for (guint i = 0; i < n; i++)
    to[i] = i;
  for (guint i = n; i-- > 1;) {
    guint k = (guint) ls_random_below (&random, i), kept = to[i];
    to[i] = to[k];
    to[k] = kept;
  }
}

static void fill_peers (Peers *peers, const LsTraffic *traffic, guint group) {
  guint n = peers->n;

  for (guint i = 0; i < n; i++) {
    peers->from[i] = NOBODY;
    switch (traffic->pattern) {
    case LS_TRAFFIC_PAIRS:
      peers->to[i] = i < n / 2 ? i + n / 2 : NOBODY;
      break;
    case LS_TRAFFIC_SHIFT:
      peers->to[i] = (i + traffic->shift) % n;
      break;
    case LS_TRAFFIC_INCAST:
      peers->to[i] = i > 0 ? 0 : NOBODY;
      break;
    case LS_TRAFFIC_OUTCAST:
      peers->to[i] = i > 0 ? NOBODY : EVERYBODY;
      break;
    case LS_TRAFFIC_RANDOM:
    case LS_N_TRAFFIC_PATTERNS:
      peers->to[i] = NOBODY; /* drawn below */
      break;
    }
  }
  if (traffic->pattern == LS_TRAFFIC_RANDOM)
    draw (peers->to, n, traffic->seed, group);
  for (guint i = 0; i < n; i++)
    if (peers->to[i] < n)
      peers->from[peers->to[i]] = i;
    else if (peers->to[i] == EVERYBODY)
      for (guint k = 1; k < n; k++)
        peers->from[k] = i;
  if (traffic->pattern == LS_TRAFFIC_INCAST)
    peers->from[0] = EVERYBODY;
}

/* --- programs ------------------------------------------------------------------------------- */

/* What a traffic job's time is charged to: the axis that such operations have in training. */
static void charge (LsOp *op, LsCollectiveOp collective) {
  static const struct {
    guint8 axis, part, kind;
  } rows[LS_N_COLLECTIVE_OPS] = {
      [LS_COLLECTIVE_ALL_REDUCE] = {LS_AXIS_DATA, LS_PART_EXPOSED_DATA, LS_KIND_ALL_REDUCE},
      [LS_COLLECTIVE_REDUCE_SCATTER] = {LS_AXIS_ZERO, LS_PART_EXPOSED_ZERO, LS_KIND_REDUCE_SCATTER},
      [LS_COLLECTIVE_ALL_GATHER] = {LS_AXIS_ZERO, LS_PART_EXPOSED_ZERO, LS_KIND_ALL_GATHER},
      [LS_COLLECTIVE_BROADCAST] = {LS_AXIS_DATA, LS_PART_EXPOSED_DATA, LS_KIND_BROADCAST},
      [LS_COLLECTIVE_REDUCE] = {LS_AXIS_DATA, LS_PART_EXPOSED_DATA, LS_KIND_REDUCE},
      [LS_COLLECTIVE_ALL_TO_ALL] = {LS_AXIS_EXPERT, LS_PART_EXPOSED_EXPERT, LS_KIND_ALL_TO_ALL},
      [LS_COLLECTIVE_GATHER] = {LS_AXIS_DATA, LS_PART_EXPOSED_DATA, LS_KIND_GATHER},
      [LS_COLLECTIVE_SCATTER] = {LS_AXIS_DATA, LS_PART_EXPOSED_DATA, LS_KIND_SCATTER},
      [LS_COLLECTIVE_SEND_RECV] = {LS_AXIS_PIPELINE, LS_PART_EXPOSED_PIPELINE, LS_KIND_SEND},
      [LS_COLLECTIVE_HOST_TO_DEVICE] = {LS_AXIS_NONE, LS_PART_INPUT, LS_KIND_HOST_COPY},
      [LS_COLLECTIVE_DEVICE_TO_HOST] = {LS_AXIS_NONE, LS_PART_INPUT, LS_KIND_HOST_COPY},
      [LS_COLLECTIVE_STORAGE_READ] = {LS_AXIS_NONE, LS_PART_INPUT, LS_KIND_STORAGE_READ},
      [LS_COLLECTIVE_STORAGE_WRITE] = {LS_AXIS_CHECKPOINT, LS_PART_CHECKPOINT,
                                       LS_KIND_STORAGE_WRITE},
      [LS_COLLECTIVE_NVME_READ] = {LS_AXIS_OFFLOAD, LS_PART_EXPOSED_OFFLOAD, LS_KIND_STORAGE_READ},
      [LS_COLLECTIVE_NVME_WRITE] = {LS_AXIS_OFFLOAD, LS_PART_EXPOSED_OFFLOAD,
                                    LS_KIND_STORAGE_WRITE},
  };

  op->axis = rows[collective].axis;
  op->part = rows[collective].part;
  op->trace_kind = rows[collective].kind;
  op->wait_part = LS_PART_STRAGGLER_WAIT;
}

typedef struct {
  const LsTraffic *traffic;
  LsTables *tables;
  LsProgram *program;
  guint stream;
} Writer;

static LsOp operation (Writer *w, guint8 kind, const char *name) {
  const LsTraffic *traffic = w->traffic;
  LsOp op = LS_OP_INIT;

  charge (&op, traffic->operation);
  op.kind = kind;
  op.name = ls_tables_name (w->tables, name);
  op.slot = LS_SLOT_DATA;
  op.descriptor =
      ls_tables_descriptor_by (w->tables, traffic->operation, traffic->algorithm, traffic->bytes);
  op.bytes = traffic->bytes;
  return op;
}

/* All peers but itself, or the one. */
static guint count_peers (guint peer, guint n) {
  return peer == NOBODY ? 0 : peer == EVERYBODY ? n - 1 : 1;
}

static void add_peers (Writer *w, guint8 kind, guint peer, guint own, guint n) {
  LsOp op = operation (w, kind, kind == LS_OP_SEND ? "send" : "recv");

  op.trace_kind = kind == LS_OP_SEND ? LS_KIND_SEND : LS_KIND_RECV;
  for (guint i = 0; i < n; i++)
    if (peer == EVERYBODY ? i != own : i == peer) {
      op.peer = (gint32) i;
      ls_program_add (w->program, w->stream, &op);
    }
}

static void add_messages (Writer *w, const Peers *peers, guint own) {
  guint to = peers->to[own], from = peers->from[own];
  guint count = count_peers (to, peers->n) + count_peers (from, peers->n);
  LsOp bundle = operation (w, LS_OP_BUNDLE, "messages");

  LS_REQUIRE (count < LS_NO_INDEX, "a rank of a traffic job has %u messages in a step", count);
  if (count == 0)
    return;
  bundle.descriptor = (guint16) count;
  bundle.slot = LS_NO_INDEX;
  if (count > 1)
    ls_program_add (w->program, w->stream, &bundle);
  add_peers (w, LS_OP_SEND, to, own, peers->n);
  add_peers (w, LS_OP_RECV, from, own, peers->n);
}

static void add_gap (Writer *w) {
  LsOp op = LS_OP_INIT;

  if (w->traffic->gap_ps == 0)
    return;
  op.kind = LS_OP_DELAY;
  op.name = ls_tables_name (w->tables, "gap");
  op.trace_kind = LS_KIND_DELAY;
  op.part = LS_PART_OTHER;
  op.wait_part = LS_PART_OTHER;
  op.work_ps = w->traffic->gap_ps;
  ls_program_add (w->program, w->stream, &op);
}

static void add_end (Writer *w) {
  LsOp op = LS_OP_INIT;

  op.kind = LS_OP_COLLECTIVE;
  op.flags = LS_OP_MARK;
  op.name = ls_tables_name (w->tables, "step_end");
  op.trace_kind = LS_KIND_BARRIER;
  op.part = LS_PART_OTHER;
  op.wait_part = LS_PART_STRAGGLER_WAIT;
  op.slot = LS_SLOT_WORLD;
  op.descriptor = ls_tables_descriptor (w->tables, LS_COLLECTIVE_BARRIER, 0);
  ls_program_add (w->program, w->stream, &op);
}

/* `peers` NULL: a collective or a copy. */
static LsProgram *write_program (const LsWorkload *workload, LsTables *tables, const Peers *peers,
                                 guint own, GError **error) {
  const LsTraffic *traffic = workload->traffic;
  g_autoptr (LsProgram) program = ls_program_new ("traffic");
  Writer w = {traffic, tables, program, ls_program_add_stream (program, "traffic")};

  ls_program_repeat (program, w.stream, workload->steps);
  add_gap (&w);
  if (peers != NULL) {
    add_messages (&w, peers, own);
  } else {
    gboolean group = ls_collective_is_group (traffic->operation);
    LsOp op = operation (&w, group ? LS_OP_COLLECTIVE : LS_OP_COPY,
                         ls_collective_op_name (traffic->operation));
    ls_program_add (program, w.stream, &op);
  }
  add_end (&w);
  ls_program_end_repeat (program, w.stream);
  return ls_program_freeze (program, error) ? g_steal_pointer (&program) : NULL;
}

/* --- the job -------------------------------------------------------------------------------- */

static guint rank_at (const LsTraffic *traffic, guint group, guint position) {
  return traffic->interleaved ? position * traffic->groups + group
                              : group * traffic->group_size + position;
}

/* What tells kinds of ranks apart beside the accelerator. */
typedef struct {
  guint to, from;
} KindPeers;

typedef struct {
  GArray *kinds; /* LsRankKind */
  GArray *peers; /* KindPeers of each */
} Kinds;

/* The kind of a rank; a new one with its program when there is none yet; G_MAXUINT after an error. */
static guint find_kind (Kinds *kinds, const LsWorkload *workload, LsTables *tables,
                        const Peers *peers, guint position, const LsAccelerator *accelerator,
                        GError **error) {
  KindPeers own = {NOBODY, NOBODY};
  LsRankKind made = {.accelerator = accelerator, .microbatches = 1, .host_cores = 1};

  if (peers != NULL)
    own = (KindPeers){peers->to[position], peers->from[position]};
  for (guint i = 0; i < kinds->kinds->len; i++) {
    const KindPeers *have = &g_array_index (kinds->peers, KindPeers, i);

    if (have->to == own.to && have->from == own.from &&
        g_array_index (kinds->kinds, LsRankKind, i).accelerator == accelerator)
      return i;
  }
  made.program = write_program (workload, tables, peers, position, error);
  if (made.program == NULL)
    return G_MAXUINT;
  g_array_append_val (kinds->kinds, made);
  g_array_append_val (kinds->peers, own);
  return kinds->kinds->len - 1;
}

static gboolean assign (LsJob *job, const LsWorkload *workload,
                        const LsAccelerator *const *accelerators, GError **error) {
  const LsTraffic *traffic = workload->traffic;
  gboolean messages = traffic->operation == LS_COLLECTIVE_SEND_RECV, good = TRUE;
  Kinds kinds = {g_array_new (FALSE, TRUE, sizeof (LsRankKind)),
                 g_array_new (FALSE, TRUE, sizeof (KindPeers))};
  Peers peers = {.n = traffic->group_size};

  peers.to = g_new (guint, peers.n);
  peers.from = g_new (guint, peers.n);
  for (guint group = 0; group < traffic->groups && good; group++) {
    if (messages)
      fill_peers (&peers, traffic, group);
    for (guint position = 0; position < traffic->group_size && good; position++) {
      guint rank = rank_at (traffic, group, position);

      job->kind_of_rank[rank] = find_kind (&kinds, workload, job->tables, messages ? &peers : NULL,
                                           position, accelerators[job->gpu_of_rank[rank]], error);
      good = job->kind_of_rank[rank] != G_MAXUINT;
    }
  }
  job->n_kinds = kinds.kinds->len;
  job->kinds = (LsRankKind *) (gpointer) g_array_free (kinds.kinds, FALSE);
  g_array_unref (kinds.peers);
  g_free (peers.to);
  g_free (peers.from);
  return good;
}

static void add_groups (LsJob *job, const LsTraffic *traffic) {
  LsOp op = LS_OP_INIT;
  guint n = traffic->group_size > 1 ? traffic->groups : 0;

  charge (&op, traffic->operation);
  job->n_groups = 1 + n;
  job->groups = g_new0 (LsJobGroup, job->n_groups);
  job->groups[0] = (LsJobGroup){LS_AXIS_NONE, LS_SLOT_WORLD, LS_SLOT_WORLD, job->n_ranks,
                                g_new (guint, job->n_ranks)};
  for (guint rank = 0; rank < job->n_ranks; rank++)
    job->groups[0].ranks[rank] = rank;
  for (guint group = 0; group < n; group++) {
    LsJobGroup *out = &job->groups[1 + group];

    *out = (LsJobGroup){(LsAxis) op.axis, LS_SLOT_DATA, LS_SLOT_DATA, traffic->group_size,
                        g_new (guint, traffic->group_size)};
    for (guint position = 0; position < traffic->group_size; position++)
      out->ranks[position] = rank_at (traffic, group, position);
  }
}

LsJob *ls_traffic_job_new (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                           LsTables *tables, GError **error) {
  g_autoptr (LsJob) job = g_new0 (LsJob, 1);

  job->name = g_strdup (workload->name);
  job->n_ranks = workload->layout.ranks;
  job->kind_of_rank = g_new0 (guint, job->n_ranks);
  job->gpu_of_rank = g_memdup2 (workload->gpu_of_rank, job->n_ranks * sizeof (guint));
  job->coordinates = g_new0 (LsCoordinates, job->n_ranks);
  for (guint rank = 0; rank < job->n_ranks; rank++)
    job->coordinates[rank] = ls_layout_coordinates (&workload->layout, rank);
  job->tables = tables != NULL ? ls_tables_ref (tables) : ls_tables_new ();
  if (!assign (job, workload, accelerators, error))
    return NULL;
  add_groups (job, workload->traffic);
  return g_steal_pointer (&job);
}
