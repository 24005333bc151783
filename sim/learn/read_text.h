/* What the readers of text data share: a cursor over lines, numbers, and errors with their place.
 * Private to sim/learn. */
#pragma once

#include "learn/dataset.h"

#include <string.h>

#include "base/error.h"

typedef struct {
  const char *name;
  const char *at, *end; /* what is left of the text */
  const char *line_start;
  guint line; /* of `at`, from 1 */
} LsTextCursor;

void ls_text_init (LsTextCursor *cursor, const char *name, const char *text, gsize length);
/* Cuts off the next line (without its end); FALSE at the end of the text. */
gboolean ls_text_next (LsTextCursor *cursor, const char **line, const char **line_end);
/* A fault at a place in the current line; returns FALSE. */
gboolean ls_text_fault (const LsTextCursor *cursor, const char *place, GError **error,
                        const char *format, ...) G_GNUC_PRINTF (4, 5);
/* One finite decimal number that fills from..to (white space around it allowed). */
gboolean ls_text_number (const LsTextCursor *cursor, const char *from, const char *to,
                         const char *what, double *value, GError **error);
/* A piece of text for messages: at most 20 bytes of it, made printable (transfer full). */
char *ls_text_quote (const char *from, const char *to);
