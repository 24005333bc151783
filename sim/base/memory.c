/* Memory in large pieces: see memory.h. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((gsize) 1 << 20)
#define HUGE_BYTES ((gsize) 2 << 20) /* a large page of x86-64 and most others */

void ls_memory_advise (gpointer data, gsize bytes) {
#ifdef MADV_HUGEPAGE
  /* Whole pages around it, so that a mapping of its own stays one and can still be grown in place. */
  const gsize page = (gsize) sysconf (_SC_PAGESIZE), within = (gsize) data % page;
  if (bytes < LARGE_BYTES)
    return;
  /* A refusal (no huge pages in this kernel) is not a fault. */
  (void) madvise ((char *) data - within, (within + bytes + page - 1) / page * page, MADV_HUGEPAGE);
#else
  (void) data, (void) bytes;
#endif
}

void ls_memory_append (GArray *array, gconstpointer element) {
  const gsize size = g_array_get_element_size (array), before = array->len * size;
  const gpointer data = array->data;
  g_array_append_vals (array, element, 1);
  /* GLib doubles: the block reaches to the next power of two. */
  if (before + size >= LARGE_BYTES &&
      (array->data != data || g_bit_storage (before - 1) != g_bit_storage (before + size - 1)))
    ls_memory_advise (array->data, (gsize) 1 << g_bit_storage (before + size - 1));
}

void ls_memory_reserve (GArray *array, guint n) {
  const guint len = array->len;
  if (n <= len)
    return;
  g_array_set_size (array, n);
  array->len = len;
  ls_memory_advise (array->data, (gsize) n * g_array_get_element_size (array));
}

gpointer ls_memory_new (gsize n, gsize size) {
  const gsize bytes = n * size;
  gpointer data = NULL;
  /* Whole large pages: at the ragged ends of a block there would be some hundred small ones. */
  if (bytes >= LARGE_BYTES && bytes / size == n)
    data = aligned_alloc (HUGE_BYTES, (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES);
  if (data == NULL)
    return g_malloc_n (n, size); /* small, or more than there is: GLib says so */
  ls_memory_advise (data, bytes);
  return data;
}

gpointer ls_memory_new0 (gsize n, gsize size) {
  gpointer data = ls_memory_new (n, size);
  if (n * size > 0)
    memset (data, 0, n * size);
  return data;
}
