/* Release of the software that a measured row states: what tells two rows of one framework apart in time.
 *
 * Model:      the versions, years and commits in what the row calls its framework and in the place within the source
 *             (a container's number stands in either), and the round or month in the name of the source. The commit at
 *             which a source was read ("@...") says nothing of the software and is not looked at; neither is wording.
 * Left out:   the order of releases, and what a release changed: sim/hw/software.h has generations.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The stated releases, each once and in order of their characters, between spaces: "25.04 5.1" of "NeMo Framework
 * Release 25.04" in mlcommons/training_results_v5.1; "" when none is stated (transfer full). */
char *ls_release_of (const char *framework, const char *source, const char *location);

G_END_DECLS
