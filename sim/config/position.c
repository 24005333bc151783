/*
 * Positions as text.
 */
#include "config/position.h"

char *ls_config_position_text (LsConfigPosition position) {
  if (position.file == NULL)
    return g_strdup ("scenario");
  if (position.line > 0)
    return g_strdup_printf ("%s:%d:%d", position.file, position.line, position.column);
  if (position.column > 0)
    return g_strdup_printf ("%s:%d", position.file, position.column);
  return g_strdup (position.file);
}
