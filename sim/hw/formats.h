#pragma once
/* Number formats as a catalogue: the rows of base/number_format.h, who computes in them, and messages.
 *
 * Ownership: all strings are static. */
#include <glib.h>

#include "base/number_format.h"

/* Looks a name or alias up; unknown names set LS_ERROR_CONFIG with a suggestion and the list. */
gboolean ls_format_parse (const char *name, LsFormat *format, GError **error);
