/* One piece of work for each number, on all cores. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef void (*LsParallelFunc) (guint index, gpointer self);

/* Calls @func once for each index below @n, from several threads, begun in ascending order; returns when all are done. */
void ls_parallel (guint n, LsParallelFunc func, gpointer self);

G_END_DECLS
