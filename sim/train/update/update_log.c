/* Names of the operations of update_log.h. */
#include "train/update/update_log.h"

#include "base/assert.h"

#define NAME_OF(id, name, meaning) name,
static const char *const names[] = {LS_UPDATE_OPERATIONS (NAME_OF)};

const char *ls_update_operation_name (LsUpdateOperation operation) {
  LS_REQUIRE (operation < LS_N_UPDATE_OPERATIONS, "update operation %d", (int) operation);
  return names[operation];
}

gboolean ls_update_operation_parse (const char *name, LsUpdateOperation *operation) {
  for (guint i = 0; i < LS_N_UPDATE_OPERATIONS; i++)
    if (g_str_equal (name, names[i])) {
      *operation = (LsUpdateOperation) i;
      return TRUE;
    }
  return FALSE;
}
