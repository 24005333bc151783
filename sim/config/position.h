/*
 * Where something was written: file (or "--set #2"), line and column, both from 1.
 *
 * The file name belongs to the document that the position came from, or is a literal.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  const char *file; /* as the user named it; NULL: nowhere */
  int line;         /* 0: the file as a whole; for options, always 0 */
  int column;
} LsConfigPosition;

/* "FILE:LINE:COL", "--set #2:COL", "FILE", or "scenario" for nowhere (transfer full). */
char *ls_config_position_text (LsConfigPosition position);

G_END_DECLS
