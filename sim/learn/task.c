/* From settings to data and a problem: files are read, rows split and scaled. See settings.h. */
#include "base/error.h"
#include "learn/settings.h"

/* Presets of data: name, meaning, file, and how to get it. */
typedef struct {
  const char *name, *meaning, *file, *source;
  guint32 channels, height, width;
} Preset;

static const Preset presets[] = {
    {.name = "digits",
     .meaning = "UCI handwritten digits: 1,797 pictures of 8 x 8 pixels (0 to 16), 10 classes",
     .file = "digits.csv.gz",
     .source = "Alpaydin, Kaynak 1998, UCI machine learning repository, CC BY 4.0; the file of "
               "Debian's python3-sklearn",
     .channels = 1,
     .height = 8,
     .width = 8},
    {0},
};

/* Where the file of a preset lies, NULL when nowhere (transfer full). */
static char *find_file (const Preset *preset, const char *const *folders) {
  const char *own = g_getenv ("LOCKSTEP_DATA");

  if (own != NULL && *own != 0) {
    g_autofree char *path = g_build_filename (own, preset->file, NULL);

    if (g_file_test (path, G_FILE_TEST_EXISTS))
      return g_steal_pointer (&path);
  }
  for (; folders != NULL && *folders != NULL; folders++) {
    g_autofree char *path = g_build_filename (*folders, preset->file, NULL);

    if (g_file_test (path, G_FILE_TEST_EXISTS))
      return g_steal_pointer (&path);
  }
  return NULL;
}

static const Preset *preset_of (const LsDataSettings *d) {
  const Preset *preset = presets;

  while (preset->name != NULL && !g_str_equal (preset->name, d->preset))
    preset++;
  return preset;
}

gboolean ls_learn_has_data (const LsLearnSettings *s, const char *const *folders) {
  g_autofree char *path = NULL;

  if (!s->needs_data || s->data.kind != LS_DATA_PRESET || s->data.file != NULL)
    return TRUE;
  path = find_file (preset_of (&s->data), folders);
  return path != NULL;
}

static LsDataset *read_preset (const LsDataSettings *d, const char *const *folders,
                               GError **error) {
  const Preset *preset = preset_of (d);
  g_autofree char *path = d->file != NULL ? g_strdup (d->file) : find_file (preset, folders);
  g_autofree char *text = NULL;
  const LsTextOptions options = {.header = FALSE};
  LsDataset *data;
  gsize length;

  if (path == NULL) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "learn.data: the file %s of data set %s is not on this machine; `tools/get-%s` "
                 "fetches it (57 kB, from Debian's python3-sklearn), or set LOCKSTEP_DATA to the "
                 "folder that holds it, or learn.data.file to the file",
                 preset->file, preset->name, preset->name);
    return NULL;
  }
  text = ls_data_read_file (path, &length, error);
  data = text != NULL ? ls_dataset_parse_csv (path, text, length, &options, error) : NULL;
  if (data != NULL) {
    data->channels = preset->channels;
    data->height = preset->height;
    data->width = preset->width;
  }
  return data;
}

static LsDataset *read_idx (const LsDataSettings *d, GError **error) {
  g_autofree char *pictures = NULL, *labels = NULL;
  gsize length, label_length;

  pictures = ls_data_read_file (d->file, &length, error);
  if (pictures == NULL)
    return NULL;
  labels = ls_data_read_file (d->labels, &label_length, error);
  if (labels == NULL)
    return NULL;
  return ls_dataset_parse_idx (d->file, pictures, length, d->labels, labels, label_length, error);
}

static LsDataset *read_text (const LsDataSettings *d, GError **error) {
  gsize length;
  g_autofree char *text = ls_data_read_file (d->file, &length, error);

  if (text == NULL)
    return NULL;
  return d->kind == LS_DATA_CSV ? ls_dataset_parse_csv (d->file, text, length, &d->text, error)
                                : ls_dataset_parse_libsvm (d->file, text, length, &d->text, error);
}

static const char *name_of (const LsDataSettings *d) {
  return d->kind == LS_DATA_SYNTHETIC ? "synthetic data" : d->file != NULL ? d->file : d->preset;
}

/* The rows as pictures, where the scenario says so. */
static gboolean set_shape (const LsDataSettings *d, LsDataset *data, GError **error) {
  if (d->height == 0)
    return TRUE;
  if ((guint64) d->height * d->width * d->channels != data->features) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s: rows have %" G_GSIZE_FORMAT " features, which are no picture of %u x %u with "
                 "%u channels (learn.data.height, width, channels)",
                 name_of (d), data->features, d->height, d->width, d->channels);
    return FALSE;
  }
  data->channels = d->channels;
  data->height = d->height;
  data->width = d->width;
  return TRUE;
}

static LsDataset *read_data (const LsLearnSettings *s, const char *const *folders, GError **error) {
  const LsDataSettings *d = &s->data;
  g_autoptr (LsDataset) data = NULL;

  if (d->kind == LS_DATA_PRESET)
    data = read_preset (d, folders, error);
  else if (d->kind == LS_DATA_IDX)
    data = read_idx (d, error);
  else if (d->kind == LS_DATA_SYNTHETIC)
    data = ls_dataset_generate (&d->generator);
  else
    data = read_text (d, error);
  if (data == NULL || !set_shape (d, data, error))
    return NULL;
  if (s->problem.kind->needs_classes && !ls_dataset_make_classes (data, name_of (d), error))
    return NULL;
  if (data->rows < 2) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s: one row only", name_of (d));
    return NULL;
  }
  return g_steal_pointer (&data);
}

/* Each class of the whole must be among the training rows. */
static gboolean check_training (const LsLearnTask *task, const char *name, GError **error) {
  g_autofree gboolean *seen = g_new0 (gboolean, task->data->classes + 1);

  for (gsize i = 0; i < task->n_train && task->data->label != NULL; i++)
    seen[task->data->label[task->rows[i]]] = TRUE;
  for (guint c = 0; c < task->data->classes; c++)
    if (!seen[c]) {
      g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                   "%s: all rows of class %u fell to the test share; a smaller learn.data.test",
                   name, c);
      return FALSE;
    }
  return TRUE;
}

LsLearnTask *ls_learn_task_new (const LsLearnSettings *s, const char *const *folders,
                                GError **error) {
  g_autoptr (LsLearnTask) task = g_new0 (LsLearnTask, 1);

  if (s->needs_data) {
    task->data = read_data (s, folders, error);
    if (task->data == NULL)
      return NULL;
    task->rows = ls_dataset_split (task->data, s->data.test_share, &task->n_train);
    task->n_test = task->data->rows - task->n_train;
    if (!check_training (task, name_of (&s->data), error))
      return NULL;
    ls_dataset_scale (task->data, s->data.scaling, task->rows, task->n_train);
  }
  task->problem = ls_problem_new (&s->problem, task->data, error);
  return task->problem != NULL ? g_steal_pointer (&task) : NULL;
}

void ls_learn_task_free (LsLearnTask *task) {
  if (task == NULL)
    return;
  ls_problem_free (task->problem);
  ls_dataset_free (task->data);
  g_free (task->rows);
  g_free (task);
}
