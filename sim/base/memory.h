/* Memory in large pieces: fewer page faults, which cost a first touch more than the work it is for.
 *
 * Model:      advice to the kernel (transparent huge pages). It changes no result and may do nothing.
 */
#pragma once

#include <glib.h>

/* For a program's main function, before it does anything: the heap is one large range, which the kernel may back
 * by large pages and which keeps what is freed, so that small blocks cost few page faults as well. On GNU libc;
 * elsewhere nothing happens. Threads beside the first have heaps of their own, which stay as they are. */
void ls_memory_prepare (void);
/* `data` of `bytes` will be written from end to end; nothing happens below 1 MB. */
void ls_memory_advise (gpointer data, gsize bytes);
/* `n` elements, in large pages where they are that many; _new0: of zeros. Freed with g_free (). */
gpointer ls_memory_new (gsize n, gsize size);
gpointer ls_memory_new0 (gsize n, gsize size);
/* `n` elements of zeros that will mostly stay so: no memory until they are written. Freed with ls_memory_free_sparse () of
 * the same sizes; NULL is legal there. */
gpointer ls_memory_new_sparse (gsize n, gsize size);
void ls_memory_free_sparse (gpointer data, gsize n, gsize size);
/* Room for `n` elements in all; the array does not clear what it grows by. */
void ls_memory_reserve (GArray *array, guint n);
/* Appends one element, and advises on the new block when the array has moved to a larger one. */
void ls_memory_append (GArray *array, gconstpointer element);
