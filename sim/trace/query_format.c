/* Names of formats; see query_format.h. */
#include "trace/query_format.h"

#include <string.h>

#define FORMAT_NAME(id, name, looks) name,
static const char *const format_names[] = {LS_QUERY_FORMATS (FORMAT_NAME)};

gboolean ls_query_format_from_name (const char *name, LsQueryFormat *format) {
  for (guint i = 0; i < LS_N_QUERY_FORMATS; i++)
    if (strcmp (name, format_names[i]) == 0) {
      *format = (LsQueryFormat) i;
      return TRUE;
    }
  return FALSE;
}

const char *ls_query_format_name (LsQueryFormat format) {
  return format < LS_N_QUERY_FORMATS ? format_names[format] : NULL;
}
