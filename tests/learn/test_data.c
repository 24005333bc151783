/* Readers of data sets: what is right, and every kind of file that is wrong, with its place. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "learn/dataset.h"
#include "suite.h"

typedef struct {
  const char *text;
  const char *message; /* a part of it */
} Bad;

static LsDataset *csv (const char *text, gboolean header, const char *label, GError **error) {
  const LsTextOptions options = {.header = header, .label = label};

  return ls_dataset_parse_csv ("t.csv", text, strlen (text), &options, error);
}

static LsDataset *libsvm (const char *text, gint64 features, GError **error) {
  const LsTextOptions options = {.features = features};

  return ls_dataset_parse_libsvm ("t.svm", text, strlen (text), &options, error);
}

START_TEST (csv_is_read) {
  g_autoptr (LsDataset) plain = csv ("1,2,0\r\n3, 4.5e1 ,1\n\n", FALSE, NULL, NULL);
  g_autoptr (LsDataset) named = csv ("\xEF\xBB\xBFy,\"a,b\",c\n1,2,3\n", TRUE, "y", NULL);
  g_autoptr (LsDataset) numbered = csv ("9,2,3\n", FALSE, "1", NULL);

  ck_assert_uint_eq (plain->rows, 2);
  ck_assert_uint_eq (plain->features, 2);
  ck_assert (plain->x[3] == 45 && plain->y[1] == 1);
  ck_assert (named->y[0] == 1 && named->x[0] == 2 && named->x[1] == 3);
  ck_assert (numbered->y[0] == 2 && numbered->x[0] == 9 && numbered->x[1] == 3);
}
END_TEST

/* Names of classes: numbered by their bytes, whatever order they come in; quotes and blanks do not count. */
START_TEST (words_are_classes) {
  const LsTextOptions options = {.header = TRUE, .words = TRUE};
  const char *const text = "x,kind\n1,dog\n2, cat \n3,\"ant\"\n4,dog\n";
  const char *const numbers = "x,kind\n1,2\n2,dog\n", *const none = "x,kind\n1,dog\n2,nan\n";
  g_autoptr (GError) error = NULL, other = NULL;
  g_autoptr (LsDataset) data = ls_dataset_parse_csv ("t", text, strlen (text), &options, NULL);

  ck_assert_uint_eq (data->rows, 4);
  ck_assert (data->y[0] == 2 && data->y[1] == 1 && data->y[2] == 0 && data->y[3] == 2);
  ck_assert_ptr_null (ls_dataset_parse_csv ("t", numbers, strlen (numbers), &options, &error));
  ck_assert_msg (strstr (error->message, "t:3:3: error: the label 'dog' is no number") != NULL,
                 "%s", error->message);
  ck_assert_ptr_null (ls_dataset_parse_csv ("t", none, strlen (none), &options, &other));
  ck_assert_msg (strstr (other->message, "t:3:3: error: the label 'nan' is not finite") != NULL,
                 "%s", other->message);
}
END_TEST

/* Said once, with what to do, and not in every row. */
START_TEST (words_are_no_targets) {
  const LsTextOptions options = {.header = TRUE};
  const char *const text = "x,kind\n1,dog\n2,cat\n", *const numbers = "x,kind\n1,2\n";
  g_autoptr (GError) error = NULL, other = NULL;

  ck_assert_ptr_null (ls_dataset_parse_csv ("t", text, strlen (text), &options, &error));
  ck_assert_str_eq (error->message,
                    "t:2:3: error: the label 'dog' is no number; names of classes are for problems "
                    "that have classes: softmax, logistic, mlp, conv (learn.problem)\n"
                    "t:3:3: error: the label 'cat' is no number");
  ck_assert_ptr_null (csv (numbers, TRUE, "sort", &other));
  ck_assert_str_eq (other->message,
                    "t.csv:1:1: error: no column is named 'sort'; there are 'x', 'kind'");
}
END_TEST

START_TEST (libsvm_is_read) {
  g_autoptr (LsDataset) data =
      libsvm ("+1 1:0.5 3:-2 # a comment\n# another\n-1\t2:1e-3\n", 0, NULL);

  ck_assert_uint_eq (data->rows, 2);
  ck_assert_uint_eq (data->features, 3);
  ck_assert (data->x[0] == 0.5 && data->x[1] == 0 && data->x[2] == -2);
  ck_assert (data->x[4] == 1e-3 && data->y[0] == 1 && data->y[1] == -1);
}
END_TEST

static const Bad bad_csv[] = {
    {"", "t.csv: error: there are no rows"},
    {"\n", "there are no rows"},
    {"5\n", "t.csv:1:1: error: one field only"},
    {"1,2\n1\n", "t.csv:2:1: error: 1 fields; the first line has 2"},
    {"1,2\n1,2,3\n", "t.csv:2:1: error: 3 fields"},
    {"1,x\n", "t.csv:1:3: error: the label 'x' is no number"},
    {"1,2\n1,\n", "t.csv:2:3: error: the label is missing"},
    {",2\n", "t.csv:1:1: error: the value is missing"},
    {"1,nan\n", "t.csv:1:3: error: the label 'nan' is not finite"},
    {"-inf,1\n", "t.csv:1:1: error: the value '-inf' is not finite"},
    {"1e999,1\n", "t.csv:1:1: error: the value '1e999' is too large"},
    {"0x10,1\n", "t.csv:1:1: error: the value '0x10' is no number"},
    {"1.2.3,1\n", "'1.2.3' is no number"},
    {"1,2\n\n3,4\n", "t.csv:2:1: error: an empty line between rows"},
    {"1;2\n", "one field only"},
    {"\"1\",2\n", "is no number"},
    {"1 2,3\n", "t.csv:1:1: error: the value '1 2' is no number"},
    {"1111111111111111111111111111111111111111111111111111111111111111111111,2\n", "too long"},
};

static const Bad bad_libsvm[] = {
    {"", "t.svm: error: there are no rows"},
    {"# only a comment\n", "there are no rows"},
    {"1\n", "there are no features"},
    {"1 1:1\n\n1 1:1\n", "t.svm:2:1: error: an empty line"},
    {"x 1:1\n", "t.svm:1:1: error: the label 'x' is no number"},
    {"nan 1:1\n", "the label 'nan' is not finite"},
    {"1 0:1\n", "t.svm:1:3: error: the index 0; indexes count from 1"},
    {"1 -1:1\n", "the index '-1' is no whole number"},
    {"1 a:1\n", "the index 'a' is no whole number"},
    {"1 :1\n", "the index '' is no whole number"},
    {"1 1.5:1\n", "the index '1.5' is no whole number"},
    {"1 2\n", "t.svm:1:3: error: '2' is no index:value"},
    {"1 1:1 1:2\n", "t.svm:1:7: error: the index '1' stands twice"},
    {"1 2:1 1:2\n", "t.svm:1:7: error: the index '1' after 2; they must ascend"},
    {"1 1:\n", "t.svm:1:5: error: the value is missing"},
    {"1 1:y\n", "t.svm:1:5: error: the value 'y' is no number"},
    {"1 1:inf\n", "the value 'inf' is not finite"},
    {"1 1:1e400\n", "too large"},
    {"1 99999999999:1\n", "is larger than 10000000"},
    {"1 18446744073709551616:1\n", "is no whole number"},
    {"1 1:1:1\n", "is no number"},
};

/* @error points to what the call that made @data has set. */
static void refuses (LsDataset *data, GError *const *error, const Bad *bad) {
  ck_assert_msg (data == NULL, "'%s' was read", bad->text);
  ck_assert_msg (*error != NULL && strstr ((*error)->message, bad->message) != NULL, "'%s': %s",
                 bad->text, *error != NULL ? (*error)->message : "no error");
}

START_TEST (wrong_text_is_refused_with_its_place) {
  /* Forty and more in all: these, ten changed bytes and every cut of an IDX file, seven sets of labels, three
   * headers. */
  ck_assert_uint_ge (G_N_ELEMENTS (bad_csv) + G_N_ELEMENTS (bad_libsvm) + 10 + 7 + 3, 40);
  for (guint i = 0; i < G_N_ELEMENTS (bad_csv); i++) {
    g_autoptr (GError) error = NULL;

    refuses (csv (bad_csv[i].text, FALSE, NULL, &error), &error, &bad_csv[i]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad_libsvm); i++) {
    g_autoptr (GError) error = NULL;

    refuses (libsvm (bad_libsvm[i].text, 0, &error), &error, &bad_libsvm[i]);
  }
}
END_TEST

START_TEST (wrong_headers_nul_bytes_and_widths_are_refused) {
  static const Bad cases[] = {{"1,2\n3,4\n", "the header holds numbers only"},
                              {"a,b\n3,4\n", "no column is named 'y'"},
                              {"a,y\n", "there are no rows"}};
  const LsTextOptions options = {0};
  g_autoptr (GError) nul = NULL, far = NULL, word = NULL, wide = NULL, svm_nul = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;

    refuses (csv (cases[i].text, TRUE, "y", &error), &error, &cases[i]);
  }
  ck_assert_ptr_null (ls_dataset_parse_csv ("t.csv", "1,\0002\n", 5, &options, &nul));
  ck_assert_str_eq (nul->message, "t.csv:1:3: error: a NUL byte; this is no text");
  ck_assert_ptr_null (ls_dataset_parse_libsvm ("t.svm", "1 1:\0002\n", 7, &options, &svm_nul));
  ck_assert_ptr_nonnull (strstr (svm_nul->message, "NUL"));
  ck_assert_ptr_null (csv ("1,2\n", FALSE, "7", &far));
  ck_assert_ptr_nonnull (strstr (far->message, "there is no column 7"));
  ck_assert_ptr_null (csv ("1,2\n", FALSE, "label", &word));
  ck_assert_ptr_nonnull (strstr (word->message, "without a header"));
  ck_assert_ptr_null (libsvm ("1 5:1\n", 4, &wide));
  ck_assert_ptr_nonnull (strstr (wide->message, "there are 4 features"));
}
END_TEST

/* Two pictures of 2 x 3 and their labels. */
static const char pictures[] = "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03"
                               "\x00\x01\x02\x03\x04\x05\xfa\xfb\xfc\xfd\xfe\xff";
static const char labels[] = "\0\0\x08\x01\0\0\0\x02\x07\x01";
#define N_PICTURES (sizeof pictures - 1)
#define N_LABELS (sizeof labels - 1)

static LsDataset *idx (const char *p, gsize np, const char *l, gsize nl, GError **error) {
  return ls_dataset_parse_idx ("p.idx", p, np, "l.idx", l, nl, error);
}

START_TEST (idx_is_read) {
  g_autoptr (LsDataset) data = idx (pictures, N_PICTURES, labels, N_LABELS, NULL);

  ck_assert_uint_eq (data->rows, 2);
  ck_assert_uint_eq (data->features, 6);
  ck_assert (data->height == 2 && data->width == 3 && data->channels == 1);
  ck_assert (data->x[5] == 5 && data->x[11] == 255 && data->y[0] == 7);
}
END_TEST

START_TEST (wrong_idx_is_refused_with_its_byte) {
  /* Each change of one byte, and every length short of the whole. */
  static const struct {
    gsize at;
    char value;
    gboolean in_labels;
    const char *message;
  } cases[] = {{0, 1, FALSE, "p.idx: byte 0: the magic number"},
               {2, 9, FALSE, "the magic number is not that of pictures"},
               {3, 1, FALSE, "the magic number is not that of pictures"},
               {7, 3, FALSE, "the file is cut off"},
               {7, 1, FALSE, "more bytes than the sizes say"},
               {7, 0, FALSE, "p.idx: byte 4: a size is 0"},
               {11, 0, FALSE, "p.idx: byte 8: a size is 0"},
               {4, 0x7f, FALSE, "more values than fit"},
               {3, 3, TRUE, "l.idx: byte 0: the magic number is not that of labels"},
               {7, 3, TRUE, "l.idx: byte 10: the file is cut off"}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *p = g_memdup2 (pictures, N_PICTURES), *l = g_memdup2 (labels, N_LABELS);
    g_autoptr (GError) error = NULL;
    const Bad bad = {"idx", cases[i].message};

    (cases[i].in_labels ? l : p)[cases[i].at] = cases[i].value;
    refuses (idx (p, N_PICTURES, l, N_LABELS, &error), &error, &bad);
  }
  for (gsize n = 0; n < N_PICTURES; n++) {
    g_autoptr (GError) error = NULL;

    ck_assert_ptr_null (idx (pictures, n, labels, N_LABELS, &error));
    ck_assert_ptr_nonnull (error);
  }
  {
    const char one[] = "\0\0\x08\x01\0\0\0\x01\x07";
    g_autoptr (GError) error = NULL;
    const Bad bad = {"idx", "not as many labels as pictures"};

    refuses (idx (pictures, N_PICTURES, one, sizeof one - 1, &error), &error, &bad);
  }
}
END_TEST

START_TEST (labels_become_classes_or_are_refused) {
  static const Bad cases[] = {
      {"1,0\n1,2\n", "no row has the label 1, though labels go from 0 to 2"},
      {"1,0\n1,0\n", "labels go from 0 to 0"},
      {"1,2\n1,3\n", "labels go from 2 to 3"},
      {"1,-1\n1,0\n1,1\n", "row 2 has the label 0 among -1 and +1"},
      {"1,-2\n1,1\n", "labels go from -2 to 1"},
      {"1,0.5\n1,1\n", "the label 0.5 of row 1 is no class"},
      {"1,0\n1,99999\n", "the label 99999 of row 2 is no class"}};
  g_autoptr (LsDataset) signs = csv ("1,-1\n1,+1\n", FALSE, NULL, NULL);
  g_autoptr (LsDataset) ones = csv ("1,3\n1,1\n1,2\n", FALSE, NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (LsDataset) data = csv (cases[i].text, FALSE, NULL, NULL);
    gboolean made = ls_dataset_make_classes (data, "t.csv", &error);

    refuses (made ? data : NULL, &error, &cases[i]);
  }
  ck_assert (ls_dataset_make_classes (signs, "t", NULL));
  ck_assert (signs->classes == 2 && signs->label[0] == 0 && signs->label[1] == 1);
  ck_assert (ls_dataset_make_classes (ones, "t", NULL));
  ck_assert (ones->classes == 3 && ones->label[0] == 2 && ones->label[1] == 0);
}
END_TEST

START_TEST (files_are_read_plain_and_gzip_and_cut_ones_refused) {
  g_autofree char *folder = g_dir_make_tmp ("lockstep-data-XXXXXX", NULL);
  g_autofree char *plain = g_build_filename (folder, "plain", NULL);
  g_autofree char *packed = g_build_filename (folder, "packed.gz", NULL);
  g_autofree char *cut = g_build_filename (folder, "cut.gz", NULL);
  g_autofree char *text = NULL, *bytes = NULL, *got = NULL, *again = NULL;
  g_autoptr (GError) missing = NULL, damaged = NULL, directory = NULL;
  GString *rows = g_string_new (NULL);
  gsize length, packed_length;
  gzFile out = gzopen (packed, "wb");

  for (guint i = 0; i < 30000; i++)
    g_string_append_printf (rows, "%u,%u,%u\n", i * 7919 % 10007, i, i % 3);
  length = rows->len;
  text = g_string_free (rows, FALSE);
  ck_assert_int_eq (gzwrite (out, text, (unsigned) length), (int) length);
  gzclose (out);
  ck_assert (g_file_set_contents (plain, text, (gssize) length, NULL));
  got = ls_data_read_file (plain, &packed_length, NULL);
  ck_assert_uint_eq (packed_length, length);
  ck_assert_str_eq (got, text);
  again = ls_data_read_file (packed, &packed_length, NULL);
  ck_assert_str_eq (again, text);
  ck_assert (g_file_get_contents (packed, &bytes, &packed_length, NULL));
  ck_assert (g_file_set_contents (cut, bytes, (gssize) packed_length / 2, NULL));
  ck_assert_ptr_null (ls_data_read_file (cut, &length, &damaged));
  ck_assert_ptr_nonnull (strstr (damaged->message, "damaged or cut gzip"));
  ck_assert_ptr_null (ls_data_read_file ("/nowhere/at/all", &length, &missing));
  ck_assert_ptr_nonnull (strstr (missing->message, "cannot be read"));
  ck_assert_ptr_null (ls_data_read_file (folder, &length, &directory));
  g_remove (plain);
  g_remove (packed);
  g_remove (cut);
  g_rmdir (folder);
}
END_TEST

START_TEST (any_cut_of_a_text_is_read_or_refused_never_worse) {
  const char text[] = "+1 1:0.5 3:-2 # c\n-1 2:1e-3\n";
  const char table[] = "a,b,y\n1,2,0\n3,4,1\n";
  const LsTextOptions header = {.header = TRUE}, none = {0};

  for (gsize n = 0; n <= sizeof text - 1; n++) {
    g_autoptr (LsDataset) data = ls_dataset_parse_libsvm ("t", text, n, &none, NULL);
  }
  for (gsize n = 0; n <= sizeof table - 1; n++) {
    g_autoptr (LsDataset) data = ls_dataset_parse_csv ("t", table, n, &header, NULL);
  }
}
END_TEST

/* --- splits and partitions ------------------------------------------------------------------ */

static LsDataset *blobs (gsize rows, guint32 classes) {
  const LsGeneratorOptions options = {.kind = LS_GENERATOR_BLOBS,
                                      .rows = rows,
                                      .features = 3,
                                      .classes = classes,
                                      .noise = 1,
                                      .condition = 1,
                                      .seed = 4};
  LsDataset *data = ls_dataset_generate (&options);

  ck_assert (ls_dataset_make_classes (data, "blobs", NULL));
  return data;
}

START_TEST (a_split_keeps_every_row_once) {
  g_autoptr (LsDataset) data = blobs (1000, 5);
  gsize n;
  g_autofree guint32 *rows = ls_dataset_split (data, 0.2, &n);
  g_autofree guint32 *again = ls_dataset_split (data, 0.2, &n);
  g_autofree guint8 *seen = g_new0 (guint8, 1000);

  ck_assert_uint_eq (n, 800);
  for (guint i = 0; i < 1000; i++)
    seen[rows[i]]++;
  for (guint i = 0; i < 1000; i++)
    ck_assert_uint_eq (seen[i], 1);
  ck_assert_int_eq (memcmp (rows, again, 1000 * sizeof *rows), 0);
}
END_TEST

START_TEST (partitions_deal_every_row_to_one_worker) {
  /* i.i.d.: even to one row. By label: a worker of 5 with 5 classes of nearly the same size has at most 3. Dirichlet:
   * with alpha 0.05 the largest class of a worker makes up most of it; with alpha 1e6 a fifth. */
  static const LsPartition kinds[] = {LS_PARTITION_IID, LS_PARTITION_LABEL, LS_PARTITION_DIRICHLET,
                                      LS_PARTITION_DIRICHLET};
  static const double alphas[] = {1, 1, 0.05, 1e6};
  g_autoptr (LsDataset) data = blobs (1000, 5);
  gsize n, n_train;
  g_autofree guint32 *rows = ls_dataset_split (data, 0.1, &n_train);

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++) {
    g_autoptr (LsParts) parts = ls_parts_new (data, rows, n_train, kinds[k], alphas[k], 5, 9, NULL);
    g_autofree guint8 *seen = g_new0 (guint8, 1000);
    double top_share = 0;

    for (guint w = 0; w < 5; w++) {
      const guint32 *own = ls_parts_of (parts, w, &n);
      guint count[5] = {0}, classes = 0, top = 0;

      ck_assert_uint_ge (n, 1);
      for (gsize i = 0; i < n; i++) {
        seen[own[i]]++;
        count[data->label[own[i]]]++;
      }
      for (guint c = 0; c < 5; c++) {
        classes += count[c] > 0 ? 1 : 0;
        top = MAX (top, count[c]);
      }
      top_share += (double) top / (double) n / 5;
      if (kinds[k] == LS_PARTITION_IID)
        ck_assert_uint_eq (n, 180);
      if (kinds[k] == LS_PARTITION_LABEL)
        ck_assert_uint_le (classes, 3);
    }
    for (gsize i = 0; i < n_train; i++)
      ck_assert_uint_eq (seen[rows[i]], 1);
    if (k == 2)
      ck_assert_double_gt (top_share, 0.6);
    if (k == 3)
      ck_assert_double_lt (top_share, 0.25);
  }
}
END_TEST

START_TEST (too_many_workers_are_refused) {
  g_autoptr (LsDataset) data = blobs (10, 2);
  gsize n, n_train;
  g_autofree guint32 *rows = ls_dataset_split (data, 0, &n_train);
  g_autoptr (GError) error = NULL;
  g_autoptr (LsParts) shared =
      ls_parts_new (data, rows, n_train, LS_PARTITION_SHARED, 1, 50, 1, NULL);

  ck_assert_ptr_null (ls_parts_new (data, rows, n_train, LS_PARTITION_IID, 1, 11, 1, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "cannot be dealt to 11 workers"));
  ls_parts_of (shared, 49, &n);
  ck_assert_uint_eq (n, 10);
}
END_TEST

START_TEST (scaling_does_what_it_says) {
  g_autoptr (LsDataset) a = csv ("1,5,0\n-4,5,1\n3,5,1\n", FALSE, NULL, NULL);
  g_autoptr (LsDataset) b = csv ("1,5,0\n-4,5,1\n3,5,1\n", FALSE, NULL, NULL);
  const guint32 rows[] = {0, 1, 2};
  double mean = 0, square = 0;

  ls_dataset_scale (a, LS_SCALING_MAXIMUM, rows, 3);
  ck_assert (a->x[0] == 0.2 && a->x[2] == -0.8 && a->x[1] == 1);
  ls_dataset_scale (b, LS_SCALING_STANDARD, rows, 3);
  for (guint i = 0; i < 3; i++) {
    mean += b->x[2 * i];
    square += b->x[2 * i] * b->x[2 * i];
    ck_assert (b->x[2 * i + 1] == 0); /* a constant feature */
  }
  ck_assert_double_eq_tol (mean, 0, 1e-14);
  ck_assert_double_eq_tol (square, 3, 1e-14);
}
END_TEST

/* One look at a file is enough: every fault of it, each at its own place, and the rows after it are still read. */
START_TEST (all_faults_of_a_text_are_told_at_once) {
  const LsTextOptions plain = {0};
  static const char *const csv = "1,2,x\n1,2\n4,\303\244,nan\n\n5,6,7\n", *const svm =
                                                                              "1 1:1 1:2 b\n"
                                                                              "y 2:z 3:1\n"
                                                                              "1 0:1\n";
  g_autoptr (GError) of_csv = NULL, of_svm = NULL;

  ck_assert_ptr_null (ls_dataset_parse_csv ("t.csv", csv, (gsize) strlen (csv), &plain, &of_csv));
  ck_assert_str_eq (
      of_csv->message,
      "t.csv:1:5: error: the label 'x' is no number; names of classes are for problems that have "
      "classes: softmax, logistic, mlp, conv (learn.problem)\n"
      "t.csv:2:1: error: 2 fields; the first line has 3\n"
      "t.csv:3:3: error: the value '?\?' is no number\n"
      "t.csv:3:5: error: the label 'nan' is not finite\n"
      "t.csv:4:1: error: an empty line between rows");
  ck_assert_ptr_null (
      ls_dataset_parse_libsvm ("t.svm", svm, (gsize) strlen (svm), &plain, &of_svm));
  ck_assert_str_eq (of_svm->message, "t.svm:1:7: error: the index '1' stands twice\n"
                                     "t.svm:1:11: error: 'b' is no index:value\n"
                                     "t.svm:2:1: error: the label 'y' is no number\n"
                                     "t.svm:2:5: error: the value 'z' is no number\n"
                                     "t.svm:3:3: error: the index 0; indexes count from 1");
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, all_faults_of_a_text_are_told_at_once);
  tcase_add_test (tcase, csv_is_read);
  tcase_add_test (tcase, words_are_classes);
  tcase_add_test (tcase, words_are_no_targets);
  tcase_add_test (tcase, libsvm_is_read);
  tcase_add_test (tcase, wrong_text_is_refused_with_its_place);
  tcase_add_test (tcase, wrong_headers_nul_bytes_and_widths_are_refused);
  tcase_add_test (tcase, idx_is_read);
  tcase_add_test (tcase, wrong_idx_is_refused_with_its_byte);
  tcase_add_test (tcase, labels_become_classes_or_are_refused);
  tcase_add_test (tcase, files_are_read_plain_and_gzip_and_cut_ones_refused);
  tcase_add_test (tcase, any_cut_of_a_text_is_read_or_refused_never_worse);
  tcase_add_test (tcase, a_split_keeps_every_row_once);
  tcase_add_test (tcase, partitions_deal_every_row_to_one_worker);
  tcase_add_test (tcase, too_many_workers_are_refused);
  tcase_add_test (tcase, scaling_does_what_it_says);
}

LS_TEST_MAIN ("data", add_tests)
