/* The provided queries of this installation. */
#pragma once

#include <glib.h>

#include "trace/query.h"

G_BEGIN_DECLS

/* All of tools/queries in order of name: array of LsQuery * (transfer full). */
GPtrArray *ls_cli_queries (GError **error);

G_END_DECLS
