/* Stragglers: ranks whose kernels take longer, all along, by a constant factor.
 *
 * Model:      every kernel of a target takes time_factor times what it takes alone; transfers, host work and
 *             fixed delays stay as they are. Factors of several stragglers on one rank multiply.
 * Left out:   factors that change or are drawn, and what slows links or memory: refused with "not yet".
 *             A link that is slow is an override of the cluster (cluster.links).
 */
#pragma once

#include "net/cluster.h"

/* The keys under `faults`; ends with a row whose path is NULL. */
extern const LsConfigKey ls_stragglers_keys[];

/* By rank, in usage fixed point (engine/fixed.h): LS_USAGE_ONE is as fast as all (transfer full). NULL: there
 * are no stragglers, or a fault was added to `errors`. */
gint64 *ls_stragglers_read (LsConfig *config, LsConfigErrors *errors, const LsCluster *cluster,
                            const guint *gpu_of_rank, guint n_ranks);
