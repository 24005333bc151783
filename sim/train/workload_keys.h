/* The keys of `workload.*` and how they become an LsWorkload.
 *
 * One static table states every key with type, unit, default and meaning; reading, help and the
 * documentation come from it. Keys of later features are in it, marked as such, and refused.
 *
 * Ownership: the workload is the caller's.
 */
#pragma once

#include "train/workload.h"

typedef struct LsConfig LsConfig;
typedef struct LsConfigErrors LsConfigErrors;
typedef struct LsCluster LsCluster;

/* Reads the workload of the (only) job. Every fault found is added to `errors` with its position, and
 * so are warnings on keys without effect; NULL when there was a fault. */
LsWorkload *ls_workload_new (LsConfig *config, const LsCluster *cluster, LsConfigErrors *errors);
