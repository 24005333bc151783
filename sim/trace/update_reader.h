/* Reading an update log back from a trace, in its order.
 *
 * Model:      rows of `update_log`, with the mini-batches of `gradient` and the sets of `peer_set`, become
 *             the records that were written. A run without such rows whose steps are recorded is one of
 *             synchronous data parallelism: each step is one update of all its replicas
 *             (train/update/sync_log.h); the size of their mini-batches is then not in the trace (0).
 * Accuracy:   times are whole nanoseconds.
 * Errors:     LS_ERROR_USAGE when the trace holds neither; LS_ERROR_CONFIG for rows that cannot be.
 *
 * Ownership: a reader owns its connection; records are valid during the call only.
 */
#pragma once

#include <glib.h>

#include "train/update/update_log.h"

typedef struct LsUpdateReader LsUpdateReader;

typedef struct {
  guint workers, shards;
  gint64 n_records;       /* about, for progress */
  gboolean from_steps;    /* a synchronous run */
  gboolean from_campaign; /* its kept steps */
  const char *policy;     /* owned by the reader */
  gint64 seed;            /* of the run; 1 when not known */
} LsUpdateLogInfo;

LsUpdateReader *ls_update_reader_new (const char *path, GError **error);
void ls_update_reader_free (LsUpdateReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdateReader, ls_update_reader_free)

const LsUpdateLogInfo *ls_update_reader_info (const LsUpdateReader *reader);
/* A value of table `run` as text, NULL when there is none (transfer full). */
char *ls_update_reader_text (LsUpdateReader *reader, const char *key);
/* All records to the sink's `update`. LS_ERROR_INTERRUPTED when *stop becomes non-zero. */
gboolean ls_update_reader_run (LsUpdateReader *reader, const LsUpdateSink *sink, gpointer self,
                               void (*progress) (gpointer progress_self, double share),
                               gpointer progress_self, const volatile gint *stop, GError **error);
