/* Growing lists; see list.h. */
#include "engine/list.h"

#include "base/assert.h"

gpointer ls_list_grow (gpointer data, guint32 *size, gsize element) {
  LS_REQUIRE (*size <= G_MAXUINT32 / 2, "a list of more than 2^32 elements");
  *size = *size > 0 ? 2 * *size : 16;
  return g_realloc_n (data, *size, element);
}
