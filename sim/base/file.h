/*
 * Whole input files, of bounded size.
 *
 * Every file that a user names is read through here: a size can only be trusted once the bytes have
 * been counted, because devices and pipes report none and some never end (/dev/zero). Ordinary
 * files, pipes (`<(...)` of a shell, /dev/stdin) and devices all read the same way.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Largest table or SQL text. source: choice, a hundred times the largest published table in use,
 * and small beside any machine's memory. */
#define LS_FILE_MAX (64 * 1024 * 1024)

/* Reads @path to its end. *text (transfer full) gets a NUL byte after its *length bytes; @length
 * may be NULL. A file that cannot be read or holds more than @max bytes is LS_ERROR_IO, with a
 * message that goes on after the file's name ("cannot be read: ...", "is larger than ..."). Reads at
 * most @max + 1 bytes. */
gboolean ls_file_read (const char *path, gsize max, char **text, gsize *length, GError **error);

G_END_DECLS
