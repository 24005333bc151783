/* Rows of a result as text, in the formats of query_format.h. Private to sim/trace. */
#pragma once

#include "trace/query_format.h"

#include <sqlite3.h>

typedef struct LsQueryOutput LsQueryOutput;

/* Columns are those of `statement`. */
LsQueryOutput *ls_query_output_new (sqlite3_stmt *statement, LsQueryFormat format, LsQuerySink sink,
                                    gpointer self);
/* The current row; FALSE when the sink wants no more. */
gboolean ls_query_output_row (LsQueryOutput *output);
/* What comes last. */
gboolean ls_query_output_end (LsQueryOutput *output);
void ls_query_output_free (LsQueryOutput *output);
