/* Creating the file of a trace: never over another file, and gone again when it cannot be finished.
 *
 * Model:      the file is created with O_EXCL before SQLite sees it. `force` replaces a regular file
 *             that is empty or an SQLite database, and nothing else: the new one grows beside it as
 *             PATH.new (PATH.new-2, ... where a killed run left that name) and takes its place in one
 *             rename() when it is closed, so that a run that fails leaves the old one as it was. The
 *             rollback journal keeps the
 *             file readable for others while it grows (they are locked out for the moment of a
 *             commit) and valid when the program is killed; there is never a WAL.
 * Left out:   surviving a power cut: nothing is synced (a trace can be made again).
 *
 * Ownership: a connection is closed with ls_database_close(); errors are LS_ERROR_IO unless said.
 */
#pragma once

#include <glib.h>
#include <sqlite3.h>

/* Bytes per page: large where millions of rows are appended, small where few are written. */
#define LS_DATABASE_PAGE_LARGE 65536
#define LS_DATABASE_PAGE_SMALL 4096

/* Creates `path`, its tables and views. `vfs` is NULL but in tests of failing disks. */
sqlite3 *ls_database_create (const char *path, gboolean force, const char *vfs, guint page_bytes,
                             GError **error);
/* Runs statements without results. */
gboolean ls_database_run (sqlite3 *db, const char *sql, GError **error);
/* Sets `error` from the connection's last error; returns FALSE. */
gboolean ls_database_fail (sqlite3 *db, GError **error);
/* Closes (NULL is legal) what ls_database_create() made for `path`; from then on it is at `path`. With
 * `discard` the file and its journal are removed, and what was at `path` before stays. FALSE: it is
 * finished, but it could not take the place of `path`; the error names where it lies. */
gboolean ls_database_close (sqlite3 *db, const char *path, gboolean discard, GError **error);
