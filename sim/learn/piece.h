/* Pieces of parameter vectors that several owners share until one writes. Private to sim/learn.
 *
 * Model:      a piece holds one shard's parameters. Server, workers and gradients on their way hold
 *             references; who wants to write and is not alone gets a copy first. So the memory is one
 *             piece per version that somebody still holds: at most workers + gradients in flight + 1
 *             per shard, however long the log.
 * Cost:       O(1) to share, O(n) to write a shared one. Not for several threads.
 */
#pragma once

#include <glib.h>

typedef struct {
  guint references;
  gsize n;
  double values[];
} LsPiece;

LsPiece *ls_piece_new (gsize n); /* not filled */
LsPiece *ls_piece_ref (LsPiece *piece);
void ls_piece_unref (LsPiece *piece); /* NULL is legal */
/* Makes *place a reference to @piece. */
void ls_piece_set (LsPiece **place, LsPiece *piece);
/* Values of *place that may be written; *place becomes a copy when it is shared. */
double *ls_piece_write (LsPiece **place);
