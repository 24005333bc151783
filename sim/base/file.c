/*
 * Reading a file until it ends or grows too large. Cost: one copy of the file, grown by doubling.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE_BYTES 65536

/* Reads all of @file; FALSE and *code, 0 when the file is too large. */
static gboolean read_pieces (int file, gsize max, GByteArray *bytes, int *code) {
  for (;;) {
    guint8 piece[PIECE_BYTES];
    gssize got = read (file, piece, sizeof piece);

    if (got < 0 && errno == EINTR)
      continue;
    *code = got < 0 ? errno : 0;
    if (got < 0 || bytes->len + (gsize) got > max)
      return FALSE;
    if (got == 0)
      return TRUE;
    g_byte_array_append (bytes, piece, (guint) got);
  }
}

gboolean ls_file_read (const char *path, gsize max, char **text, gsize *length, GError **error) {
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  int file = g_open (path, O_RDONLY | O_CLOEXEC, 0);
  int code = errno;
  gboolean whole = FALSE;

  if (file >= 0) {
    whole = read_pieces (file, max, bytes, &code);
    close (file);
  }
  if (!whole) {
    if (file >= 0 && code == 0)
      g_set_error (error, LS_ERROR, LS_ERROR_IO, "is larger than %" G_GSIZE_FORMAT " bytes", max);
    else
      g_set_error (error, LS_ERROR, LS_ERROR_IO, "cannot be read: %s", g_strerror (code));
    return FALSE;
  }
  if (length)
    *length = bytes->len;
  g_byte_array_append (bytes, (const guint8 *) "", 1);
  *text = (char *) g_byte_array_free (g_steal_pointer (&bytes), FALSE);
  return TRUE;
}
