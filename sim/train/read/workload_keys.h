/* The keys of `workload.*` and how they become an LsWorkload.
 *
 * One static table states every key with type, unit, default and meaning; reading, help and the
 * documentation come from it. Keys of later features are in it, marked as such, and refused.
 *
 * Ownership: the table is static; the workload is the caller's.
 */
#pragma once

#include "config/config.h"
#include "net/cluster.h"
#include "train/workload/workload.h"

/* `workload` and its model, its number formats, and the other keys under it; each ends with a row whose path is NULL. */
extern const LsConfigKey ls_model_keys[], ls_precision_keys[], ls_workload_keys[];

/* Reads and checks the workload of the (only) job. Every fault found is added to `errors` with its
 * position, and so are warnings on keys without effect; NULL when there was a fault (transfer full).
 * `config` must be readable. `cluster` may be NULL when it was faulty itself: then the workload is
 * checked as far as that goes, and the result is NULL. */
LsWorkload *ls_workload_new (LsConfig *config, const LsCluster *cluster, LsConfigErrors *errors);

/* The same for one of several jobs, at jobs.NAME.workload. */
LsWorkload *ls_workload_new_job (LsConfig *config, const char *name, const LsCluster *cluster,
                                 LsConfigErrors *errors);
/* The model alone, from `workload.model` (transfer full); NULL after adding faults. */
LsModel *ls_workload_read_model (LsConfig *config, LsConfigErrors *errors);
