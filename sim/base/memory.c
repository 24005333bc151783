/* Memory in large pieces: see memory.h. */
#include "base/memory.h"

#include "base/assert.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((gsize) 1 << 20)
#define HUGE_BYTES ((gsize) 2 << 20) /* a large page of x86-64 and most others */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* of linux/mman.h from 6.1 on; older kernels refuse it: no harm */
#endif

#define HEAP_BYTES ((gsize) 1 << 30) /* of addresses: what is not written costs nothing */
#define MAPPED_BYTES \
  ((gsize) 8 << 20) /* a block of so much is a mapping, which grows without a copy */

void ls_memory_prepare (void) {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE) && !defined(__SANITIZE_ADDRESS__)
  /* From a whole large page on: before it there would be some hundred small ones. malloc() copes with others who
   * move the break. */
  const gsize rest = HUGE_BYTES - (gsize) sbrk (0) % HUGE_BYTES;
  if (mallopt (M_MMAP_THRESHOLD, (int) MAPPED_BYTES) == 0 ||
      mallopt (M_TRIM_THRESHOLD, G_MAXINT) == 0 || mallopt (M_TOP_PAD, (int) HEAP_BYTES) == 0)
    return;
  (void) sbrk ((intptr_t) rest);
  /* One growth by all of it, never given back. */
  char *begin = sbrk (0), *block = g_malloc (LARGE_BYTES), *end = sbrk (0);
  if (block >= begin && block < end) {
    ls_memory_advise (begin, (gsize) (end - begin));
    (void) madvise (begin, HUGE_BYTES, MADV_COLLAPSE); /* malloc() has written there already */
  }
  g_free (block);
  (void) mallopt (M_TOP_PAD, (int) LARGE_BYTES);
#endif
}

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

/* Whole large pages. */
static gsize whole_bytes (gsize bytes) {
  return (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
}

gpointer ls_memory_new (gsize n, gsize size) {
  const gsize bytes = n * size;
  gpointer data = NULL;
  /* Whole large pages: at the ragged ends of a block there would be some hundred small ones. Smaller blocks share
   * the pages of the heap with others. */
  if (bytes >= MAPPED_BYTES && bytes / size == n)
    data = aligned_alloc (HUGE_BYTES, whole_bytes (bytes));
  if (data == NULL)
    data = g_malloc_n (n, size); /* small, or more than there is: GLib says so */
  ls_memory_advise (data, bytes);
  return data;
}

gpointer ls_memory_new0 (gsize n, gsize size) {
  gpointer data = ls_memory_new (n, size);
  if (n * size > 0)
    memset (data, 0, n * size);
  return data;
}

/* A mapping of its own, which begins with a large page: the heap would have to clear what it has used before. */
gpointer ls_memory_new_sparse (gsize n, gsize size) {
  const gsize bytes = n * size, whole = whole_bytes (bytes);
  if (bytes < LARGE_BYTES || bytes / size != n)
    return g_malloc0_n (n, size);
  char *data =
      mmap (NULL, whole + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LS_REQUIRE ((gpointer) data != MAP_FAILED, "no room for %" G_GSIZE_FORMAT " bytes", bytes);
  const gsize before = (HUGE_BYTES - (gsize) data % HUGE_BYTES) % HUGE_BYTES;
  if (before > 0)
    munmap (data, before);
  munmap (data + before + whole, HUGE_BYTES - before);
  ls_memory_advise (data + before, whole);
  return data + before;
}

void ls_memory_free_sparse (gpointer data, gsize n, gsize size) {
  if (n * size < LARGE_BYTES)
    g_free (data);
  else if (data != NULL)
    munmap (data, whole_bytes (n * size));
}
