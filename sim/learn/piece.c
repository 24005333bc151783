/* Shared pieces of parameters, see piece.h. */
#include "learn/piece.h"

#include "base/assert.h"

#include <string.h>

LsPiece *ls_piece_new (gsize n) {
  LsPiece *piece = g_malloc (sizeof (LsPiece) + n * sizeof (double));

  piece->references = 1;
  piece->n = n;
  return piece;
}

LsPiece *ls_piece_ref (LsPiece *piece) {
  piece->references++;
  return piece;
}

void ls_piece_unref (LsPiece *piece) {
  if (piece == NULL)
    return;
  LS_ASSERT (piece->references > 0, "a piece of parameters is let go too often");
  if (--piece->references == 0)
    g_free (piece);
}

void ls_piece_set (LsPiece **place, LsPiece *piece) {
  LsPiece *old = *place;

  *place = piece != NULL ? ls_piece_ref (piece) : NULL;
  ls_piece_unref (old);
}

double *ls_piece_write (LsPiece **place) {
  LsPiece *copy;

  if ((*place)->references == 1)
    return (*place)->values;
  copy = ls_piece_new ((*place)->n);
  memcpy (copy->values, (*place)->values, copy->n * sizeof (double));
  ls_piece_unref (*place);
  *place = copy;
  return copy->values;
}
