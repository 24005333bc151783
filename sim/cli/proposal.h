/* The scenario that `lockstep new` proposes: its text from a few choices, and the layout by comparison.
 *
 * Model:      a layout is tensor x pipeline x expert ranks with the lightest recomputation that fits in memory
 *             (train/memory/memory.h). Layouts are tried by how much they split (tensor x pipeline), least first, and the
 *             first few that fit in each mode of recomputation are simulated for one step; the fastest is
 *             proposed, of equals the first. Optimizer states are sharded over replicas (ZeRO stage 1); where so
 *             nothing fits, gradients and parameters are too (stage 3).
 * Cost:       a static estimate for each layout, at most LS_PROPOSAL_RUNS simulations for each mode.
 * Left out:   context ranks, ZeRO stage 2, states on the host, interleaving, other batches.
 */
#pragma once

#include "hw/nodes.h"
#include "train/model/models.h"

G_BEGIN_DECLS

/* Layouts of each mode of recomputation that are run. source: assumption, a second's work. */
#define LS_PROPOSAL_RUNS 6

/* Of every count. source: that of keys of the type count (docs/scenario.md). */
#define LS_PROPOSAL_MAX 1000000000

typedef struct {
  const LsNode *node;
  gint64 nodes;
  gint64 gpus; /* of each node, those of its preset or fewer */
  const LsModelPreset *model;
  gboolean tokens;
  gint64 batch, micro, seq_len;
  gint64 tensor, pipeline, expert, zero; /* 0 (zero: -1): to be chosen */
  const char *precision;
  const char *recompute; /* NULL: to be chosen */
} LsProposal;

/* The scenario as commented YAML, of a complete proposal (transfer full). */
char *ls_proposal_text (const LsProposal *proposal);
/* Chooses what is open and returns the text; *fits tells whether it has room in memory. When nothing fits, it is
 * the layout that lacks the least; when nothing is valid, what was asked for, whose faults a reader will name. */
char *ls_proposal_choose (LsProposal *proposal, gboolean *fits);

G_END_DECLS
