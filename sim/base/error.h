/*
 * The error domain of Lockstep.
 *
 * Bad input and failures of the outside world travel up as GError in this domain. Each code says
 * who has to act: the caller of the command, the author of a scenario, or nobody (a run that
 * failed). Bugs are assertions (base/assert.h) and simulated failures are ordinary data; neither
 * ever becomes a GError. Exit codes of the program follow from the code, see ls_error_exit_status().
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* X (NAME, exit status, meaning) */
#define LS_ERROR_MAP(X)                                                 \
  X (USAGE, 2, "wrong use of a command or option")                      \
  X (CONFIG, 2, "a scenario or another input file is wrong")            \
  X (RUN, 1, "a run failed")                                            \
  X (IO, 1, "a file could not be read or written")                      \
  X (UNSUPPORTED, 2, "known, but not supported here")                   \
  X (OVERFLOW, 1, "a value leaves the range that can be computed with") \
  X (INTERRUPTED, 130, "stopped by the user")

typedef enum {
#define X(NAME, STATUS, MEANING) LS_ERROR_##NAME,
  LS_ERROR_MAP (X)
#undef X
} LsError;

#define LS_ERROR (ls_error_quark ())

GQuark ls_error_quark (void);

/* The name of a code in lower case ("usage", "config", ...), for JSON. */
const char *ls_error_name (LsError code);

/* What a code means, in one line. */
const char *ls_error_meaning (LsError code);

/* Exit status of a command that ends with @error: the table above for this domain, 1 for others. */
int ls_error_exit_status (const GError *error);

G_END_DECLS
