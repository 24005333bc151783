/* Where the files that come with the program are: scenarios, queries, tables of measurements. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Where the shipped data lies (holds topologies/, workloads/, tools/queries/, tests/reference/): beside
 * an installed program, under the configured prefix, or in the source tree. NULL when nowhere.
 * (transfer full) */
char *ls_data_dir (void);
/* "PATH" if it exists; else the same under the data folder if it exists there; else PATH again.
 * (transfer full) */
char *ls_data_find_file (const char *path);

G_END_DECLS
