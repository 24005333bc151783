/* An SQLite file system whose n-th write fails, for tests of full and broken disks. */
#pragma once

#include <glib.h>

/* Registers the file system once per process and returns its name. Writes are counted from the next
 * failing_vfs_arm() on; number `at` (from 1) and all later ones fail with `code` (SQLITE_FULL,
 * SQLITE_IOERR_WRITE); 0: none. */
const char *failing_vfs_register (void);
void failing_vfs_arm (gint at, int code);
/* TRUE when a write has failed since failing_vfs_arm(). */
gboolean failing_vfs_tripped (void);
