/* Where databases of runs go, and which was the last.
 *
 * Default name: results/NAME-SEED.db under the working directory, then NAME-SEED-2.db, -3, ...: a run
 * never overwrites another. A name given with -o is used as it is, and only with --force if it exists.
 * The file results/last names the database that `@last` means.
 */
#pragma once

#include <glib.h>

#include "cli/cli.h"

G_BEGIN_DECLS

/* The path to write to; creates results/ for a default name (transfer full). */
char *ls_output_choose (LsCli *cli, const char *name, guint64 seed, GError **error);
/* Remembers the last run's database; failing to is no error. */
void ls_output_remember (const char *path);
/* "@last" as a path, anything else as it is (transfer full). */
char *ls_output_resolve (const char *path, GError **error);

G_END_DECLS
