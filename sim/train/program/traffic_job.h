/* From a traffic workload to programs and groups: every rank sends and receives as its pattern says (traffic.h).
 *
 * Cost:       one small program per distinct set of peers.
 *
 * Ownership: as job.h.
 */
#pragma once

#include "train/program/job.h"

/* The job of a workload whose `traffic` is set. Errors as ls_job_build(). */
LsJob *ls_traffic_job_new (const LsWorkload *workload, const LsAccelerator *const *accelerators,
                           LsTables *tables, GError **error);
