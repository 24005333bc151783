/* The update log of synchronous steps: what a run without an update policy means to a learner.
 *
 * Model:      a step of data-parallel training reads the model, takes one gradient per replica, and makes
 *             one update with their mean. So step s is: all workers read version s at its start and take a
 *             gradient; at its end all gradients are applied.
 */
#pragma once

#include "train/update/update_log.h"

/* Zero but for the first four fields at first. */
typedef struct {
  guint workers;
  gint64 samples; /* of one worker's mini-batch; 0: not known */
  const LsUpdateSink *sink;
  gpointer self;
  gint64 version, gradient; /* next */
} LsSyncLog;

void ls_sync_log_step (LsSyncLog *log, gint64 start_ps, gint64 end_ps);
