/* Data sets: what all sources share, and classes from labels. See dataset.h. */
#include "learn/dataset.h"

#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#define CHUNK_BYTES (256 * 1024)

void ls_dataset_free (LsDataset *data) {
  if (data == NULL)
    return;
  g_free (data->x);
  g_free (data->y);
  g_free (data->label);
  g_free (data);
}

/* gzread reads plain files as they are. */
char *ls_data_read_file (const char *path, gsize *length, GError **error) {
  gzFile file = gzopen (path, "rb");
  GString *text;
  int got = 0, status = Z_OK;

  if (file == NULL) {
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: cannot be read: %s", path, g_strerror (errno));
    return NULL;
  }
  gzbuffer (file, CHUNK_BYTES);
  text = g_string_new (NULL);
  do {
    gsize before = text->len;

    g_string_set_size (text, before + CHUNK_BYTES);
    got = gzread (file, text->str + before, CHUNK_BYTES);
    g_string_set_size (text, before + (gsize) MAX (got, 0));
  } while (got > 0 && text->len <= LS_DATA_MAX_BYTES);
  if (got < 0)
    gzerror (file, &status);
  got = gzclose (file);
  status = status == Z_OK ? got : status;
  if (status == Z_OK && text->len <= LS_DATA_MAX_BYTES) {
    *length = text->len;
    return g_string_free (text, FALSE);
  }
  if (status == Z_ERRNO)
    g_set_error (error, LS_ERROR, LS_ERROR_IO, "%s: cannot be read: %s", path, g_strerror (errno));
  else if (status != Z_OK)
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: is a damaged or cut gzip file", path);
  else
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: is larger than %d MB", path,
                 (int) (LS_DATA_MAX_BYTES >> 20));
  g_string_free (text, TRUE);
  return NULL;
}

/* Labels are whole numbers from 0 or 1 up, or -1 and +1. */
static gboolean range_of_labels (const LsDataset *data, const char *name, double *low, double *high,
                                 GError **error) {
  *low = *high = data->y[0];
  for (gsize i = 0; i < data->rows; i++) {
    double y = data->y[i];

    if (y != floor (y) || fabs (y) > LS_DATA_MAX_CLASSES) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "%s: the label %g of row %" G_GSIZE_FORMAT " is no class; labels are whole "
                   "numbers 0 .. C-1 or 1 .. C (C up to %d), or -1 and +1",
                   name, y, i + 1, LS_DATA_MAX_CLASSES);
      return FALSE;
    }
    *low = MIN (*low, y);
    *high = MAX (*high, y);
  }
  return TRUE;
}

static gboolean check_classes (const LsDataset *data, const char *name, double low, double high,
                               GError **error) {
  g_autofree gsize *count = g_new0 (gsize, data->classes);

  for (gsize i = 0; i < data->rows; i++)
    count[data->label[i]]++;
  for (guint c = 0; c < data->classes; c++)
    if (count[c] == 0) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "%s: no row has the label %g, though labels go from %g to %g; every class needs "
                   "a row",
                   name, low + c, low, high);
      return FALSE;
    }
  return TRUE;
}

gboolean ls_dataset_make_classes (LsDataset *data, const char *name, GError **error) {
  double low, high;
  gboolean signs;

  if (!range_of_labels (data, name, &low, &high, error))
    return FALSE;
  signs = low == -1 && high == 1;
  if (low == high || (low < 0 && !signs) || low > 1) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: labels go from %g to %g; they must be 0 .. C-1, 1 .. C, or -1 and +1, of two "
                 "classes or more",
                 name, low, high);
    return FALSE;
  }
  data->label = g_new (guint32, data->rows);
  data->classes = signs ? 2 : (guint32) (high - low) + 1;
  for (gsize i = 0; i < data->rows; i++) {
    if (signs && data->y[i] == 0) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "%s: row %" G_GSIZE_FORMAT " has the label 0 among -1 and +1", name, i + 1);
      return FALSE;
    }
    data->label[i] = signs ? (data->y[i] > 0 ? 1 : 0) : (guint32) (data->y[i] - low);
  }
  return check_classes (data, name, low, high, error);
}
