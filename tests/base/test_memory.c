/* Memory in large pieces: what it is for is fewer page faults, so these are counted. */
#include <check.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "suite.h"

#define BYTES ((gsize) 64 << 20)

static glong faults (void) {
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/* Does this kernel give large pages to those who ask? */
static gboolean has_large_pages (void) {
  g_autofree char *text = NULL;
  return g_file_get_contents ("/sys/kernel/mm/transparent_hugepage/enabled", &text, NULL, NULL) &&
         strstr (text, "[never]") == NULL;
}

/* 64 MB in blocks of 2 KB and as a whole: without large pages a fault for each page that is written, 16,384 of
 * 4 KB; with them 32, and a few hundred of everything else. Half of them would be no use. */
START_TEST (blocks_cost_few_page_faults) {
  const gsize size = 2048, n = BYTES / size;
  const glong pages = (glong) (BYTES / (gsize) sysconf (_SC_PAGESIZE));
  g_autofree gpointer *blocks = g_new (gpointer, n);
#ifdef __SANITIZE_ADDRESS__
  return; /* its own malloc() */
#endif
  if (!has_large_pages ())
    return;
  ls_memory_prepare ();
  glong before = faults ();
  for (gsize i = 0; i < n; i++)
    blocks[i] = memset (g_malloc (size), (int) (i & 0x7f), size);
  ck_assert_int_lt (faults () - before, pages / 2);
  for (gsize i = 0; i < n; i++) {
    const char *block = blocks[i];
    ck_assert_int_eq (block[0], (int) (i & 0x7f));
    ck_assert_int_eq (block[size - 1], (int) (i & 0x7f));
    g_free (blocks[i]);
  }
  before = faults ();
  g_free (ls_memory_new0 (BYTES, 1));
  ck_assert_int_lt (faults () - before, pages / 2);
}
END_TEST

/* What is freed is used again: a second round costs no page at all, but for odds and ends. */
START_TEST (freed_blocks_are_kept) {
#ifdef __SANITIZE_ADDRESS__
  return;
#endif
  ls_memory_prepare ();
  for (guint round = 0; round < 3; round++) {
    g_autoptr (GPtrArray) blocks = g_ptr_array_new_with_free_func (g_free);
    glong before = faults ();
    for (gsize i = 0; i < 1000; i++)
      g_ptr_array_add (blocks, memset (g_malloc (16384), 1, 16384));
    if (round > 0)
      ck_assert_int_lt (faults () - before, 400); /* of 4,000 pages */
  }
}
END_TEST

/* Growing by one element keeps all before, across the sizes at which a block moves. */
START_TEST (arrays_keep_what_they_hold) {
  const guint n = 1 << 20;
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint32));
  ls_memory_prepare ();
  for (guint32 i = 0; i < n; i++)
    ls_memory_append (numbers, &i);
  ls_memory_reserve (numbers, 2 * n);
  ck_assert_uint_eq (numbers->len, n);
  for (guint32 i = 0; i < n; i++)
    if (g_array_index (numbers, guint32, i) != i)
      ck_abort_msg ("number %u", i);
}
END_TEST

/* Zeros of any size, which are no memory before they are written. */
START_TEST (sparse_zeros_are_zeros) {
  const gsize sizes[] = {0, 1, 4096, 1 << 20, 64 << 20};
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    char *zeros = ls_memory_new_sparse (sizes[i], 1);
    for (gsize k = 0; k < sizes[i]; k += 1 << 19)
      ck_assert_int_eq (zeros[k]++, 0);
    ls_memory_free_sparse (zeros, sizes[i], 1);
  }
  ls_memory_free_sparse (NULL, 64 << 20, 1);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, blocks_cost_few_page_faults);
  tcase_add_test (tcase, freed_blocks_are_kept);
  tcase_add_test (tcase, sparse_zeros_are_zeros);
  tcase_add_test (tcase, arrays_keep_what_they_hold);
}

LS_TEST_MAIN ("memory", add_tests)
