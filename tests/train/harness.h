/* Running programs of made-up layers on a made-up network, for closed forms.
 *
 * Layers are given as times and bytes; the network is either free or one latency and one rate per
 * message, without shared links. */
#pragma once

#include <check.h>

#include "train/program/job.h"

typedef struct {
  gint64 forward_ps, backward_ps; /* of one layer */
  gint64 weight_ps;               /* of backward_ps, what may be put off */
  gint64 put_off_bytes;           /* held for it */
  gint64 saved_bytes;             /* per layer, in two halves: the second is the attention core */
  gint64 input_bytes;
  gint64 parameters; /* per layer */
  guint matrices;    /* of them; 0 counts as 1 */
  gint64 boundary_bytes;
  gint64 gather_piece_ps;  /* a map in `tensor` pieces behind a gather of boundary_bytes; 0: none */
  gint64 scatter_piece_ps; /* the same before a reduce-scatter */
  /* Of each of four all-to-alls of experts: before and behind the core, and the gradient */
  gint64 exchange_bytes;
  /* Of the kernel that orders rows with each of them, on so many SMs; 0: none */
  gint64 order_ps, order_sms;
  /* Kernels of its core and of its gradient. */
  int forward_launches, backward_launches;
  gboolean tensor_collectives; /* one all-reduce of boundary_bytes per layer and direction */
} TestLayer;

typedef struct {
  gint64 latency_ps;
  double bytes_per_s; /* 0: everything is free */
} TestNet;

typedef struct {
  LsWorkload *workload;
  TestLayer layer;
  TestNet net;
  LsJob *job;
  LsEngine *engine;
  GPtrArray *transfers;
} TestRun;

/* t x d x p ranks, `layers` layers in all, m micro-batches; 16-bit parameters, fp32 gradients and
 * Adam: fields may be changed before test_run(). */
LsWorkload *test_workload (guint tensor, guint data, guint pipeline, guint layers, gint64 m);
/* Another schedule; the workload's layers are dealt evenly to its stages. */
void test_set_schedule (LsWorkload *workload, LsScheduleKind kind, guint virtual_stages);
/* Builds and runs to the end; takes the workload. */
TestRun *test_run (LsWorkload *workload, const TestLayer *layer, const TestNet *net);
/* The same with steps that overflow: `skips` has one entry per step and outlives the run. */
TestRun *test_run_skipping (LsWorkload *workload, const TestLayer *layer, const TestNet *net,
                            const guint8 *skips);
void test_run_free (TestRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestRun, test_run_free)

/* Time of the rank's main stream charged to a part, over all steps. */
gint64 test_part_ps (const TestRun *run, guint rank, LsPart part);
/* Most bytes of all kinds but parameters, gradients and optimizer that the rank held. */
gint64 test_peak_activations (const TestRun *run, guint rank);
/* Check's main for a suite of one case. */
int test_main (const char *name, const TTest *const *tests, guint n);
