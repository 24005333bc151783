/* Inside of the recorder, shared by its files. Private to sim/trace. */
#pragma once

#include "faults/campaign.h"
#include "trace/id_map.h"
#include "trace/recorder.h"
#include "trace/series.h"

/* A cause whose row has not come yet. */
typedef struct {
  guint32 event;
  guint32 rank;
  gint64 ordinal;
  guint16 stream;
} LsPendingCause;

struct LsRecorder {
  char *path;
  sqlite3 *db;
  const LsTraceMeta *meta;
  LsTraceSelection *selection;
  LsRecorderOptions options;
  LsObserver observer;
  LsTraceNames names;
  LsTraceWriter *writer;
  LsTraceSeries *series;
  guint32 n_events, n_collectives;   /* row ids so far */
  guint32 *old_events, *last_events; /* by job: where the ids of its last two steps ended */
  gint64 *next_step;                 /* by job: the step after the last one that ended */
  guint64 n_steps;
  gint64 n_updates;     /* rows of update_log so far */
  gint32 n_peer_sets;   /* sets written so far */
  LsIdMap **streams;    /* [rank][stream]: ordinal -> event; NULL for ranks without rows */
  LsIdMap *collectives; /* [group]: sequence -> collective */
  gboolean *group_seen;
  GArray *pending;                /* of LsPendingCause, in event order */
  gint64 *caused_wait_ps;         /* [rank], in the current step */
  GPtrArray *values;              /* of SQL statements, run at the end */
  const LsFailureSource *sources; /* of a campaign */
  gint64 n_faults, n_intervals;   /* rows so far */
  gboolean finished;
  double index_s;
};

/* recorder_ops.c: LsObserver.op and .message, and causes that came later. */
void ls_recorder_on_op (gpointer self, const LsOpRecord *record);
void ls_recorder_on_message (gpointer self, const LsMessageRecord *message);
void ls_recorder_settle_causes (LsRecorder *recorder);
