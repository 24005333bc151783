/* An SQLite file system whose n-th write fails. See failing_vfs.h.
 *
 * Model: a copy of the default file system whose xOpen replaces the method table of each file by one
 * that is the same but for xWrite. State is global, as SQLite's registry of file systems is.
 */
#include "trace/failing_vfs.h"

#include <sqlite3.h>

static sqlite3_vfs vfs;
static sqlite3_vfs *below;
static sqlite3_io_methods methods;
static const sqlite3_io_methods *methods_below;
static gint fail_at, n_writes, fail_code;

static int failing_write (sqlite3_file *file, const void *bytes, int n, sqlite3_int64 offset) {
  gint number = g_atomic_int_add (&n_writes, 1) + 1;
  if (fail_at > 0 && number >= fail_at)
    return fail_code;
  return methods_below->xWrite (file, bytes, n, offset);
}

static int failing_open (sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags,
                         int *out) {
  int rc = below->xOpen (below, name, file, flags, out);
  if (rc != SQLITE_OK || file->pMethods == NULL ||
      (methods_below != NULL && file->pMethods != methods_below))
    return rc;
  methods_below = file->pMethods;
  methods = *methods_below;
  methods.xWrite = failing_write;
  file->pMethods = &methods;
  (void) self;
  return rc;
}

const char *failing_vfs_register (void) {
  if (below == NULL) {
    below = sqlite3_vfs_find (NULL);
    vfs = *below;
    vfs.zName = "failing";
    vfs.pNext = NULL;
    vfs.xOpen = failing_open;
    sqlite3_vfs_register (&vfs, 0);
  }
  return "failing";
}

void failing_vfs_arm (gint at, int code) {
  fail_at = at;
  fail_code = code;
  g_atomic_int_set (&n_writes, 0);
}

gboolean failing_vfs_tripped (void) {
  return fail_at > 0 && g_atomic_int_get (&n_writes) >= fail_at;
}
