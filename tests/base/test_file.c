/* Input files of bounded size: ordinary files, files that never end, files that are not there. */
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "suite.h"

/* Files up to the limit come back byte for byte, one byte more is refused. Sizes around the 64 KiB in
 * which files are read. */
START_TEST (files_up_to_the_limit) {
  static const gsize sizes[] = {0, 1, 65535, 65536, 65537, 200000};
  g_autofree char *folder = g_dir_make_tmp ("lockstep-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  gsize size = sizes[_i];
  g_autofree char *wrote = g_malloc (size + 1);
  g_autofree char *text = NULL;
  g_autofree char *none = NULL;
  g_autoptr (GError) error = NULL;
  gsize length = 99;

  for (gsize i = 0; i < size; i++)
    wrote[i] = (char) (i * 7);
  ck_assert (g_file_set_contents (path, wrote, (gssize) size, NULL));
  ck_assert (ls_file_read (path, size, &text, &length, &error));
  ck_assert_uint_eq (length, size);
  ck_assert_int_eq (memcmp (text, wrote, size), 0);
  ck_assert_int_eq (text[size], 0);
  if (size > 0) {
    ck_assert (!ls_file_read (path, size - 1, &none, NULL, &error));
    ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_IO));
    ck_assert (g_str_has_prefix (error->message, "is larger than "));
    ck_assert_ptr_null (none);
  }
  g_unlink (path);
  g_rmdir (folder);
}
END_TEST

/* A device that never ends has no size to look at: only counting stops it. */
START_TEST (endless_files_are_refused) {
  g_autofree char *text = NULL;
  g_autoptr (GError) error = NULL;

  ck_assert (!ls_file_read ("/dev/zero", 1 << 20, &text, NULL, &error));
  ck_assert_str_eq (error->message, "is larger than 1048576 bytes");
}
END_TEST

START_TEST (what_cannot_be_read_says_why) {
  g_autofree char *text = NULL;
  g_autoptr (GError) missing = NULL;
  g_autoptr (GError) folder = NULL;

  ck_assert (!ls_file_read ("nowhere/at-all", 10, &text, NULL, &missing));
  ck_assert_str_eq (missing->message, "cannot be read: No such file or directory");
  ck_assert (!ls_file_read ("/", 10, &text, NULL, &folder));
  ck_assert_str_eq (folder->message, "cannot be read: Is a directory");
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, files_up_to_the_limit, 0, 6);
  tcase_add_test (tcase, endless_files_are_refused);
  tcase_add_test (tcase, what_cannot_be_read_says_why);
}

LS_TEST_MAIN ("file", add)
