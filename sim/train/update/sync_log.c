/* The update log of synchronous steps, see sync_log.h. */
#include "train/update/sync_log.h"

static void tell (const LsSyncLog *log, LsUpdateOperation operation, guint worker, gint64 version,
                  gint64 gradient, gint64 t_ps) {
  const LsUpdateRecord record = {.operation = operation,
                                 .worker = (gint32) worker,
                                 .shard = -1,
                                 .peer = -1,
                                 .version = version,
                                 .peer_set = -1,
                                 .gradient = gradient,
                                 .clock = operation == LS_UPDATE_GRADIENT ? log->version : -1,
                                 .samples = operation == LS_UPDATE_GRADIENT ? log->samples : -1,
                                 .closes =
                                     operation == LS_UPDATE_APPLY && worker + 1 == log->workers,
                                 .t_ps = t_ps};

  log->sink->update (log->self, &record);
}

void ls_sync_log_step (LsSyncLog *log, gint64 start_ps, gint64 end_ps) {
  for (guint w = 0; w < log->workers; w++) {
    tell (log, LS_UPDATE_READ, w, log->version, -1, start_ps);
    tell (log, LS_UPDATE_GRADIENT, w, -1, log->gradient + w, start_ps);
  }
  for (guint w = 0; w < log->workers; w++)
    tell (log, LS_UPDATE_APPLY, w, log->version + 1, log->gradient + w, end_ps);
  log->gradient += log->workers;
  log->version++;
}
