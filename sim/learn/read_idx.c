/* IDX files of pictures and labels, as MNIST has them: big-endian, magic 0x803 with three sizes and
 * 0x801 with one, then bytes. source: the format's description on the MNIST page. */
#include "learn/dataset.h"

#include "base/error.h"

#define MAGIC_LABELS 0x801U
#define MAGIC_PICTURES 0x803U

static gboolean fault (GError **error, const char *name, gsize at, const char *text, guint64 found,
                       guint64 wanted) {
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "%s: byte %" G_GSIZE_FORMAT ": %s (found %" G_GUINT64_FORMAT
               ", wanted %" G_GUINT64_FORMAT ")",
               name, at, text, found, wanted);
  return FALSE;
}

static guint32 word_at (const char *bytes, gsize at) {
  const guint8 *b = (const guint8 *) bytes + at;

  return (guint32) b[0] << 24 | (guint32) b[1] << 16 | (guint32) b[2] << 8 | b[3];
}

/* Reads the head; sizes[] gets @dimensions numbers. */
static gboolean read_head (const char *name, const char *bytes, gsize length, guint32 magic,
                           guint dimensions, guint32 *sizes, GError **error) {
  gsize head = 4 + 4 * (gsize) dimensions, items = 1;

  if (length < 4)
    return fault (error, name, 0, "too short for an IDX file", length, head);
  if (word_at (bytes, 0) != magic)
    return fault (error, name, 0,
                  magic == MAGIC_LABELS ? "the magic number is not that of labels, 0x801"
                                        : "the magic number is not that of pictures, 0x803",
                  word_at (bytes, 0), magic);
  if (length < head)
    return fault (error, name, length, "the sizes are cut off", length, head);
  for (guint i = 0; i < dimensions; i++) {
    sizes[i] = word_at (bytes, 4 + 4 * (gsize) i);
    if (sizes[i] == 0)
      return fault (error, name, 4 + 4 * (gsize) i, "a size is 0", 0, 1);
    if (sizes[i] > LS_DATA_MAX_VALUES / items)
      return fault (error, name, 4 + 4 * (gsize) i, "more values than fit", sizes[i],
                    LS_DATA_MAX_VALUES / items);
    items *= sizes[i];
  }
  if (length != head + items)
    return fault (error, name, length < head + items ? length : head + items,
                  length < head + items ? "the file is cut off" : "more bytes than the sizes say",
                  length, head + items);
  return TRUE;
}

LsDataset *ls_dataset_parse_idx (const char *name, const char *pictures, gsize length,
                                 const char *label_name, const char *labels, gsize label_length,
                                 GError **error) {
  guint32 sizes[3], n_labels;
  LsDataset *data;

  if (!read_head (name, pictures, length, MAGIC_PICTURES, 3, sizes, error) ||
      !read_head (label_name, labels, label_length, MAGIC_LABELS, 1, &n_labels, error))
    return NULL;
  if (n_labels != sizes[0]) {
    fault (error, label_name, 4, "not as many labels as pictures", n_labels, sizes[0]);
    return NULL;
  }
  data = g_new0 (LsDataset, 1);
  data->rows = sizes[0];
  data->channels = 1;
  data->height = sizes[1];
  data->width = sizes[2];
  data->features = (gsize) sizes[1] * sizes[2];
  data->x = g_new (double, data->rows * data->features);
  data->y = g_new (double, data->rows);
  for (gsize i = 0; i < data->rows * data->features; i++)
    data->x[i] = (double) (guint8) pictures[16 + i];
  for (gsize i = 0; i < data->rows; i++)
    data->y[i] = (double) (guint8) labels[8 + i];
  return data;
}
