/* The fluid model of a round table: phases.
 *
 * Model:      a phase is a maximal run of rounds that load the same resources in equal proportion: the
 *             latencies of its rounds come first, then its bytes move at once over all its links. The
 *             latency of a round is that of its slowest hop; of a repeated round those that a block
 *             meets on its way around; of a pipeline that of the first chunk through
 *             all stages, the chunks behind it fill the links meanwhile. Rounds that carry nothing add
 *             their latency only. Messages in flight together share links by sender, not by message.
 * Cost:       O(moves + resources touched). Ownership: the caller frees with ls_phases_free().
 */
#pragma once

#include "net/ways.h"

typedef struct {
  LsHop hop;
  gboolean switched; /* reduced or copied by the switches of a node */
  guint count;
  double chunk; /* bytes of the largest move / N */
} LsPhaseLatency;

typedef struct {
  gboolean launches;   /* launch and base latency come first */
  gboolean in_network; /* its bytes are reduced or copied by switches */
  LsHop inside_hop;    /* LINK or PCIE: what joins the members of a node */
  double flow;         /* bytes of the largest move over the whole phase / N */
  guint n_latencies;
  LsPhaseLatency *latencies;
  guint n_amounts;
  LsAmount *amounts; /* per byte of flow */
  double sent;       /* bytes that a member sends per byte of flow, mean over members */
  /* Bytes of flow per second that links inside nodes allow; INFINITY: none used */
  double link_rate;
  double rate; /* that all resources allow, at most half of any memory */
} LsPhaseLoad;

/* `usages` must be empty, and is again afterwards (transfer full). */
LsPhaseLoad *ls_phases_new (const LsGroupShape *shape, LsCollectiveOp op,
                            const LsSchedule *schedule, LsUsages *usages, guint *n_phases);
void ls_phases_free (LsPhaseLoad *phases, guint n);
/* For a copy: takes what has been added to `usages` as a phase of one byte of flow per byte. */
void ls_phase_take (const LsTopology *topology, LsUsages *usages, LsPhaseLoad *phase);
/* The link or trunk that what has been laid fills first; LS_NO_NUMBER: it uses none. */
guint ls_phases_bottleneck (const LsTopology *topology, const LsUsages *usages);
/* From what was laid to what a byte of flow needs: `scale` is the weight of the largest move. */
void ls_phase_scale (LsPhaseLoad *phase, double scale, guint members);
/* Rates that amounts per byte of flow allow: `link` of links inside nodes (over PCIe with hop PCIE),
 * returned: of everything. */
double ls_amounts_rate (const LsTopology *topology, const LsAmount *amounts, guint n,
                        LsHop inside_hop, double *link);
/* Bytes that a member sends per byte of N, mean over members. */
double ls_schedule_sent (const LsSchedule *schedule, guint n);
