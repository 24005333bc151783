/* Test bed: an engine with a toy network, in which every closed form can be written down.
 *
 * Every rank has one device and two link resources, up and down, of `link_per_s`. The expander reads
 * descriptor d from bed.transfers: a collective of n members is one phase of latency_ps and bytes in
 * which each member's up and down links carry `usage` bytes per byte of progress; a message loads the
 * sender's up and the receiver's down link; a copy loads the rank's up link.
 */
#pragma once

#include <check.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/engine.h"

typedef struct {
  gint64 latency_ps, bytes;
  double usage, memory_usage;
  double sm_held, beside;
} BedTransfer;

typedef struct {
  LsEngine *engine;
  double link_per_s;
  guint n_ranks;
  guint up[64], down[64], device[64];
  BedTransfer transfers[16];
  GPtrArray *made; /* of gpointer to free */
} Bed;

static const LsTransfer *bed_make (Bed *bed, guint descriptor, const guint *ups, const guint *downs,
                                   const guint *devices, guint n) {
  const BedTransfer *wanted = &bed->transfers[descriptor];
  LsUsage *usages = g_new0 (LsUsage, 3 * n + 1);
  guint count = 0;
  gint64 usage = ls_usage_from_double (wanted->usage > 0 ? wanted->usage : 1);
  for (guint i = 0; i < n; i++) {
    if (ups)
      usages[count++] = (LsUsage){ups[i], usage};
    if (downs)
      usages[count++] = (LsUsage){downs[i], usage};
    if (devices && wanted->memory_usage > 0)
      usages[count++] = (LsUsage){ls_engine_device_memory (bed->engine, devices[i]),
                                  ls_usage_from_double (wanted->memory_usage)};
  }
  LsPhase *phase = g_new0 (LsPhase, 1);
  *phase = (LsPhase){.latency_ps = wanted->latency_ps,
                     .work_bytes = wanted->bytes,
                     .n_usages = count,
                     .usages = usages};
  LsTransfer *transfer = g_new0 (LsTransfer, 1);
  *transfer =
      (LsTransfer){.n_phases = 1,
                   .phases = phase,
                   .sm_held = ls_usage_from_double (wanted->sm_held),
                   .beside_compute = ls_usage_from_double (wanted->beside > 0 ? wanted->beside : 1),
                   .message_bytes = wanted->bytes,
                   .wire_bytes = wanted->bytes};
  g_ptr_array_add (bed->made, usages);
  g_ptr_array_add (bed->made, phase);
  g_ptr_array_add (bed->made, transfer);
  return transfer;
}

static const LsTransfer *bed_collective (gpointer self, guint group, guint descriptor) {
  Bed *bed = self;
  guint n = ls_engine_group_size (bed->engine, group), ups[64], downs[64], devices[64];
  const guint32 *ranks = ls_engine_group_ranks (bed->engine, group);
  for (guint i = 0; i < n; i++) {
    ups[i] = bed->up[ranks[i]];
    downs[i] = bed->down[ranks[i]];
    devices[i] = bed->device[ranks[i]];
  }
  return bed_make (bed, descriptor, ups, downs, devices, n);
}

static const LsTransfer *bed_message (gpointer self, guint from, guint to, guint descriptor) {
  Bed *bed = self;
  guint usages[2] = {bed->up[from], bed->down[to]},
        devices[2] = {bed->device[from], bed->device[to]};
  return bed_make (bed, descriptor, usages, NULL, devices, 2);
}

static const LsTransfer *bed_copy (gpointer self, guint rank, guint descriptor) {
  Bed *bed = self;
  return bed_make (bed, descriptor, &bed->up[rank], NULL, &bed->device[rank], 1);
}

static const LsExpander bed_expander = {bed_collective, bed_message, bed_copy};

/* `n` ranks that all run `program` unless programs differ: programs[i % n_programs]. One group of all in slot 0. */
static inline Bed *bed_new (guint n, double link_per_s, LsProgram *const *programs,
                            guint n_programs) {
  Bed *bed = g_new0 (Bed, 1);
  bed->engine = ls_engine_new ();
  bed->link_per_s = link_per_s;
  bed->n_ranks = n;
  bed->made = g_ptr_array_new_with_free_func (g_free);
  guint ranks[64];
  for (guint i = 0; i < n; i++) {
    g_autofree char *name = g_strdup_printf ("gpu%u", i);
    g_autofree char *up = g_strdup_printf ("gpu%u/up", i);
    g_autofree char *down = g_strdup_printf ("gpu%u/down", i);
    bed->device[i] = ls_engine_add_device (bed->engine, name, 1e12);
    bed->up[i] = ls_engine_add_resource (bed->engine, up, link_per_s);
    bed->down[i] = ls_engine_add_resource (bed->engine, down, link_per_s);
    ranks[i] =
        ls_engine_add_rank (bed->engine, programs[i % n_programs], bed->device[i], LS_NO_INDEX);
  }
  guint group = ls_engine_add_group (bed->engine, ranks, n, 1);
  for (guint i = 0; i < n; i++)
    ls_engine_set_slot (bed->engine, ranks[i], 0, group);
  ls_engine_set_expander (bed->engine, &bed_expander, bed);
  return bed;
}

static inline void bed_free (Bed *bed) {
  ls_engine_free (bed->engine);
  g_ptr_array_unref (bed->made);
  g_free (bed);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Bed, bed_free)

static inline LsOp bed_kernel (gint64 work_ps, double sm, double hbm) {
  LsOp op = LS_OP_INIT;
  op.kind = LS_OP_KERNEL;
  op.work_ps = work_ps;
  op.sm_usage = ls_usage_from_double (sm);
  op.hbm_usage = ls_usage_from_double (hbm);
  return op;
}

static inline LsOp bed_op (LsOpKind kind, guint16 descriptor, gint32 peer) {
  LsOp op = LS_OP_INIT;
  op.kind = (guint8) kind;
  op.slot = 0;
  op.descriptor = descriptor;
  op.peer = peer;
  op.part = 2;
  op.wait_part = 3;
  return op;
}

static inline void bed_freeze (LsProgram *program) {
  g_autoptr (GError) error = NULL;
  ck_assert_msg (ls_program_freeze (program, &error), "%s", error ? error->message : "");
}

static inline void bed_run (Bed *bed) {
  g_autoptr (GError) error = NULL;
  ck_assert_msg (ls_engine_run (bed->engine, G_MAXINT64, NULL, &error), "%s",
                 error ? error->message : "");
  ls_engine_check (bed->engine);
}

/* Scale of long random tests: sanitizer runs set LS_TEST_SCALE=0.1. */
static inline guint bed_scaled (guint n) {
  const char *scale = g_getenv ("LS_TEST_SCALE");
  return scale ? MAX ((guint) (n * g_ascii_strtod (scale, NULL)), 1u) : n;
}

static inline int bed_main (Suite *suite) {
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
