/* What the readers of text data share: a cursor over lines, numbers, and faults with their place. A reader adds the
 * faults of a row and goes on with the next; LsTextFaults tells all of them at once.
 * Private to sim/learn. */
#pragma once

#include "learn/dataset.h"

#include <string.h>

#include "base/error.h"
#include "base/text_faults.h"

typedef struct {
  LsTextFaults *faults;
  const char *at, *end; /* what is left of the text */
  const char *line_start;
  guint line; /* of `at`, from 1 */
} LsTextCursor;

void ls_text_init (LsTextCursor *cursor, LsTextFaults *faults, const char *text, gsize length);
/* Cuts off the next line (without its end); FALSE at the end of the text. */
gboolean ls_text_next (LsTextCursor *cursor, const char **line, const char **line_end);
/* A fault at a place in the current line; returns FALSE. @cursor NULL: says nothing. */
gboolean ls_text_fault (const LsTextCursor *cursor, const char *place, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* One finite decimal number that fills from..to (white space around it allowed); @cursor as above. */
gboolean ls_text_number (const LsTextCursor *cursor, const char *from, const char *to,
                         const char *what, double *value);
/* A piece of text for messages: at most 20 bytes of it, made printable (transfer full). */
char *ls_text_quote (const char *from, const char *to);
