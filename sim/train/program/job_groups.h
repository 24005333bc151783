/* The groups of a job (internal to job.c). */
#pragma once

#include "train/program/job.h"

/* Fills job->groups for the workload's layout; axes of size 1 have none, the world always has one. */
void ls_job_add_groups (LsJob *job, const LsWorkload *workload);
