/* How unequally tokens are spread over experts, and what that makes of the work and the messages of each rank.
 *
 * Model:      for every layer and step the E experts get shares p_e of all routed rows, sum 1, drawn anew:
 *               ratio r          one expert, drawn, has r / E, the others the rest equally
 *               exponent s       Zipf: p ~ rank^-s over a random order of the experts
 *               concentration a  Dirichlet (a, ..., a): gammas over their sum
 *             No share exceeds 1 / k, because a token goes to k different experts; what is above is dealt to
 *             the others in proportion. The rows of each sender follow the same shares. A rank with a set S
 *             of experts has f = e sum of p over S times the mean load of e expert ranks: its kernels between
 *             dispatch and combine take f times as long, and every rank sends it that share of its rows
 *             (all-to-allv). Balanced (none of the three): nothing is drawn, all-to-all.
 * Invariants: the mean of f over the ranks of a group is 1; one named random stream per layer and step, so
 *             that draws do not depend on the rest of the scenario.
 * Left out:   more tokens per expert are computed a little more efficiently than in proportion; memory is
 *             that of the mean load; collectives between ranks that split an expert are those of the mean.
 *             Draws repeat after as many as fit 64 MiB of splits.
 *
 * Ownership: a load owns its draws and splits; the tables borrow the splits.
 */
#pragma once

#include "base/random.h"
#include "train/program/tables.h"
#include "train/workload/workload.h"

typedef struct LsExpertLoad LsExpertLoad;

/* Fills `shares` of `n` experts; each is at most 1 / top_k. */
void ls_expert_shares (const LsSkew *skew, guint n, gint64 top_k, gsl_rng *rng, double *shares);

/* NULL when the load is balanced or makes no difference (one expert rank, padded capacity). Reserves its
 * descriptors in the tables. `row_bytes`: of all rows that one rank sends. */
LsExpertLoad *ls_expert_load_new (const LsWorkload *workload, gint64 row_bytes, LsTables *tables);
void ls_expert_load_free (LsExpertLoad *load);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsExpertLoad, ls_expert_load_free)
/* Draws for a seed; before a net is given the tables' descriptors. */
void ls_expert_load_draw (LsExpertLoad *load, guint64 seed);

/* The descriptor of the first draw: of dispatch (to experts) or combine (back); add the draw's number. */
guint16 ls_expert_load_descriptor (const LsExpertLoad *load, gboolean back);
guint ls_expert_load_number (const LsExpertLoad *load, gint64 step, gint64 layer);
/* Load over the mean of the rank at that position of its expert group, in a draw (LS_USAGE_ONE: mean). */
gint64 ls_expert_load_factor (const LsExpertLoad *load, guint draw, guint position);
/* Mean share of routed rows that find no slot with capacity factor `c`, over `draws` draws. */
double ls_expert_dropped (const LsExperts *experts, guint64 seed, guint draws);
