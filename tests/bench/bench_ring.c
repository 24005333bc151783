/* All-reduce of 1 GB on a ring, every rank present, on an ideal switch with an up and a down port per
 * rank: in the fluid model (one phase) and in the message model (2 (p - 1) rounds of p messages).
 *
 * CPU seconds from building resources, ranks and group to the end of the run; the bounds are three to
 * seventy times what a bare prototype of the same models takes (3.6, 14 and 450 ms fluid; 0.16 and 3.5 s
 * of messages). */
#include "bench.h"

#include <malloc.h>

#include "base/assert.h"
#include "engine/engine.h"

#define BYTES 1000000000
#define PORT_PER_S 50e9
#define LATENCY_PS 1000000

typedef struct {
  guint n;
  LsUsage *usages; /* up and down of each rank: messages use those of sender and receiver */
  LsUsage *pairs;  /* up of each and down of the next */
  LsPhase phase;
  LsRoundTable table;
  LsTransfer transfer;
} Ring;

static gboolean ring_send (gconstpointer self, guint32 from, guint32 round, guint32 k,
                           LsRoundMessage *message) {
  const Ring *ring = self;
  (void) round;
  if (k > 0)
    return FALSE;
  message->to = from + 1 < ring->n ? from + 1 : 0;
  message->bytes = BYTES / ring->n;
  return TRUE;
}

static guint32 ring_receives (gconstpointer self, guint32 to, guint32 round) {
  (void) self, (void) to, (void) round;
  return 1;
}

static void ring_path (gconstpointer self, guint32 from, guint32 to, guint32 round, gint64 bytes,
                       LsPhase *path) {
  const Ring *ring = self;
  (void) to, (void) round, (void) bytes;
  path->latency_ps = LATENCY_PS;
  path->n_usages = 2;
  path->usages = &ring->pairs[2 * (gsize) from];
}

static const LsTransfer *ring_transfer (gpointer self, guint group, guint descriptor) {
  (void) group, (void) descriptor;
  return &((Ring *) self)->transfer;
}

static const LsExpander ring_expander = {.collective = ring_transfer};

static LsProgram *ring_program (void) {
  LsProgram *program = ls_program_new ("ring");
  LsOp op = LS_OP_INIT;
  op.kind = LS_OP_COLLECTIVE;
  op.slot = 0;
  op.descriptor = 0;
  ls_program_add (program, ls_program_add_stream (program, "main"), &op);
  gboolean good = ls_program_freeze (program, NULL);
  LS_REQUIRE (good, "the program of a ring");
  return program;
}

static void ring_fill (Ring *ring, LsEngine *engine, gboolean messages) {
  const guint n = ring->n;
  ring->usages = g_new (LsUsage, 2 * (gsize) n);
  for (guint i = 0; i < n; i++) {
    ring->usages[2 * i] =
        (LsUsage){ls_engine_add_resource (engine, NULL, PORT_PER_S), LS_USAGE_ONE};
    ring->usages[2 * i + 1] =
        (LsUsage){ls_engine_add_resource (engine, NULL, PORT_PER_S), LS_USAGE_ONE};
  }
  ring->transfer = (LsTransfer){.beside_compute = LS_USAGE_ONE,
                                .message_bytes = BYTES,
                                .wire_bytes = BYTES / n * 2 * (n - 1)};
  if (!messages) {
    ring->phase = (LsPhase){.latency_ps = (gint64) LATENCY_PS * 2 * (n - 1),
                            .work_bytes = BYTES / n * 2 * (n - 1),
                            .n_usages = 2 * n,
                            .usages = ring->usages};
    ring->transfer.n_phases = 1;
    ring->transfer.phases = &ring->phase;
    return;
  }
  ring->pairs = g_new (LsUsage, 2 * (gsize) n);
  for (guint i = 0; i < n; i++) {
    ring->pairs[2 * i] = ring->usages[2 * i];
    ring->pairs[2 * i + 1] = ring->usages[2 * ((i + 1) % n) + 1];
  }
  ring->table = (LsRoundTable){.n_rounds = 2 * (n - 1),
                               .send = ring_send,
                               .receives = ring_receives,
                               .path = ring_path,
                               .self = ring};
  ring->transfer.rounds = &ring->table;
}

typedef struct {
  double cpu_s;
  gint64 bytes; /* of the heap, held at the end: without what is mapped and never written */
  gint64 end_ps;
} RingRun;

static RingRun ring_run (guint n, gboolean messages) {
  g_autoptr (LsProgram) program = ring_program ();
  Ring ring = {.n = n};
  struct mallinfo2 before = mallinfo2 ();
  double start_s = bench_cpu_s ();
  LsEngine *engine = ls_engine_new ();
  g_autofree guint *ranks = g_new (guint, n);
  ring_fill (&ring, engine, messages);
  for (guint i = 0; i < n; i++)
    ranks[i] = ls_engine_add_rank (engine, program, LS_NO_INDEX, LS_NO_INDEX);
  guint group = ls_engine_add_group (engine, ranks, n, 0);
  for (guint i = 0; i < n; i++)
    ls_engine_set_slot_at (engine, ranks[i], 0, group, i);
  ls_engine_set_expander (engine, &ring_expander, &ring);
  gboolean good = ls_engine_run (engine, G_MAXINT64, NULL, NULL);
  RingRun run = {.cpu_s = bench_cpu_s () - start_s, .end_ps = ls_engine_now_ps (engine)};
  LS_REQUIRE (good, "the ring of %u", n);
  struct mallinfo2 after = mallinfo2 ();
  run.bytes = (gint64) (after.uordblks + after.hblkhd) - (gint64) (before.uordblks + before.hblkhd);
  ls_engine_free (engine);
  g_free (ring.usages);
  g_free (ring.pairs);
  return run;
}

/* Median of the repeats; prints time against its bound, the time, and bytes per rank. */
static RingRun ring_measure (guint n, gboolean messages, guint repeats, double wanted_s) {
  g_autofree double *seconds = g_new (double, repeats);
  g_autofree char *name =
      g_strdup_printf ("%s, %u ranks: CPU s", messages ? "messages" : "fluid", n);
  g_autofree char *bytes_name =
      g_strdup_printf ("%s, %u ranks: bytes per rank", messages ? "messages" : "fluid", n);
  RingRun run = {0};
  for (guint i = 0; i < repeats; i++) {
    run = ring_run (n, messages);
    seconds[i] = run.cpu_s;
  }
  run.cpu_s = bench_median (seconds, repeats);
  bench_ratio (name, run.cpu_s, wanted_s, FALSE);
  bench_line (bytes_name, (double) run.bytes / n, "B");
  return run;
}

static const guint sizes[] = {1024, 4096, 131072};

static void run_fluid (guint repeats) {
  static const double wanted_s[] = {0.004, 0.016, 0.5};
  RingRun fluid[G_N_ELEMENTS (sizes)];

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    fluid[i] = ring_measure (sizes[i], FALSE, repeats, wanted_s[i]);
  bench_line ("4,096 / 1,024 ranks (4 is linear)", fluid[1].cpu_s / fluid[0].cpu_s, "");
  bench_line ("131,072 / 4,096 ranks (32 is linear)", fluid[2].cpu_s / fluid[1].cpu_s, "");
}

static void run_messages (guint repeats) {
  static const double wanted_s[] = {0.5, 10}, wanted_bytes[] = {50e6, 200e6};
  RingRun messages[2];

  for (guint i = 0; i < G_N_ELEMENTS (messages); i++) {
    double n = sizes[i];
    gint64 fluid_ps = ring_run (sizes[i], FALSE).end_ps;
    messages[i] = ring_measure (sizes[i], TRUE, i == 0 ? repeats : 1, wanted_s[i]);
    bench_line ("  ns per message", messages[i].cpu_s / (2 * n * (n - 1)) * 1e9, "ns");
    bench_ratio ("  bytes in all", (double) messages[i].bytes, wanted_bytes[i], FALSE);
    LS_REQUIRE (ABS (messages[i].end_ps - fluid_ps) <= (gint64) sizes[i],
                "the two models differ: %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ps", fluid_ps,
                messages[i].end_ps);
  }
  bench_line ("4,096 / 1,024 ranks (16 times as many messages)",
              messages[1].cpu_s / messages[0].cpu_s, "");
}

const BenchSection bench_ring = {
    "ring", "all-reduce on a ring of 1,024, 4,096 and 131,072 ranks, fluid model", run_fluid};
const BenchSection bench_messages = {
    "messages", "all-reduce on a ring of 1,024 and 4,096 ranks, message model", run_messages};
