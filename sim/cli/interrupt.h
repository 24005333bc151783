/* Ctrl-C and broken pipes.
 *
 * The first SIGINT, SIGTERM or SIGHUP sets a flag that long commands look at between events; they then stop
 * in good order and exit with 130. A second one ends the process at once, and so does the first while nobody has asked
 * for the flag yet (a scenario is read from a pipe that nobody writes to, `check` lays out a cluster).
 * SIGPIPE is left at its
 * default, so that `lockstep query ... | head` ends quietly.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

void ls_interrupt_install (void);
/* The flag itself, non-zero once the user has asked to stop, for loops that take one. */
volatile gint *ls_interrupt_flag (void);
/* Has the user asked to stop? Safe from any thread. */
gboolean ls_interrupt_requested (void);

G_END_DECLS
