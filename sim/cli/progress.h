/* A progress line on standard error: redrawn in place on a terminal, silent anywhere else.
 *
 * Ownership: freeing it clears the line.
 */
#pragma once

#include "cli/cli.h"

G_BEGIN_DECLS

typedef struct LsProgress LsProgress;

LsProgress *ls_progress_new (LsCli *cli, const char *title);
/* @share from 0 to 1; @detail may be NULL. Draws at most ten times a second. */
void ls_progress_update (LsProgress *progress, double share, const char *detail);
void ls_progress_free (LsProgress *progress);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsProgress, ls_progress_free)

G_END_DECLS
