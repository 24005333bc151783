/* The keys of updates and of timed workers, and how they become an LsUpdatePlan. */
#pragma once

#include "train/read/workload_reader.h"

/* Rows under `workload`; ends with a row whose path is NULL. */
extern const LsConfigKey ls_update_keys[];

/* After model, layout and batch of r->workload are known: fills r->workload->update. */
void ls_update_read (LsWorkloadReader *r);
/* A timed model: parallel.data, batch, precision and stop too, in place of everything else. */
void ls_update_read_timed (LsWorkloadReader *r);
/* The model itself, from `workload.model`. */
LsModel *ls_update_read_timed_model (LsConfig *config, LsConfigErrors *errors);
