/* Pauses between steps: evaluation and logging.
 *
 * Model:      after every n-th step all ranks stand still for a given time, charged to `other`. Without a time,
 *             an evaluation step lasts as long as the kernels of the forward passes of a step on the rank's
 *             stage: (m + p - 1) of them, as a pipeline fills once; no exposed communication, no update.
 */
#pragma once

#include "train/program/builder.h"

void ls_pauses_write (LsBuilder *builder);
