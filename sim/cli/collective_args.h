/* What `lockstep collective` is told: sizes, ranks, splits. */
#pragma once

#include "net/net.h"

G_BEGIN_DECLS

/* "1K:8G:2x" (from, to, times), "1M:8M:1M" (from, to, step), "4K,1M,1G" or "64M": bytes in ascending
 * order of writing. K, M, G and T are powers of 1024 as in nccl-tests; units as in scenarios are taken
 * too. Faults name the column (gint64 array, transfer full). */
GArray *ls_collective_sizes (const char *text, GError **error);
/* "0-63", "0,8,16", "0-63:8" (every eighth): distinct numbers below `n_gpus`; NULL text: all (guint
 * array, transfer full). */
GArray *ls_collective_ranks (const char *text, guint n_gpus, GError **error);
/* Reads a table of n x n sizes, row i what member i sends to each, or of one row that all members
 * share; numbers or sizes with units, separated by commas or blanks (n x n gint64, transfer full). */
gint64 *ls_collective_splits (const char *path, guint n, GError **error);

G_END_DECLS
