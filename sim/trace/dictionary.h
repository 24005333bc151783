/* Writes the small tables of a trace: who and what the numbers in its rows are. Private to sim/trace. */
#pragma once

#include "trace/meta.h"
#include "trace/selection.h"

#include <sqlite3.h>

/* Names that the recorder itself needs in table `string`, after those of the programs. */
typedef struct {
  gint64 memory[LS_N_MEMORY]; /* "memory_parameters", ... */
  gint64 utilisation;         /* share of a resource's capacity in use, 0 to 1 */
  gint64 carried;             /* units that a resource has carried so far */
  gint64 message, messages;   /* name of a message, and number of the stream that they are on */
} LsTraceNames;

/* Fills every table but those of rows (event, sample, collective, comm_group, comm_member, step,
 * step_rank); fills `names`. `messages`: traced ranks have a stream for them. One transaction. */
gboolean ls_dictionary_write (sqlite3 *db, const LsTraceMeta *meta,
                              const LsTraceSelection *selection, gboolean messages,
                              LsTraceNames *names, GError **error);
