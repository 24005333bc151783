/* Reading distributions, see distribution_keys.h. */
#include <string.h>

#include "base/file.h"
#include "base/quantity.h"
#include "base/text_faults.h"
#include "train/read/distribution_keys.h"

/* Longest file of samples. */
#define FILE_MAX_BYTES (64u << 20)

static const char *const keys[] = {"value",  "mean",  "shift", "low",        "high",
                                   "median", "scale", "fast",  "slow",       "minimum",
                                   "sigma",  "shape", "file",  "slow_share", NULL};

/* A number a line; every line that holds none is told. */
static gboolean parse_samples (LsTextFaults *faults, const char *text, GArray *samples) {
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i] != NULL; i++) {
    const char *line = g_strchomp (lines[i]) + strspn (lines[i], " \t");
    double value = 0;

    if (line[0] == '\0' || line[0] == '#')
      continue;
    if (!ls_number_parse (line, &value) || value < 0)
      ls_text_faults_add (faults, i + 1, ls_text_column (lines[i], line),
                          "'%.40s' is no number >= 0", line);
    g_array_append_val (samples, value);
  }
  if (samples->len == 0)
    ls_text_faults_add (faults, 1, 1, "there is no number in this file");
  return ls_text_faults_count (faults) == 0;
}

static gboolean read_samples (LsConfig *config, LsConfigErrors *errors, const char *path,
                              LsDistribution *distribution) {
  g_autofree char *file_path = g_strconcat (path, ".file", NULL);
  g_autofree char *name = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) samples = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (LsTextFaults) faults = NULL;
  gsize length = 0;

  if (!ls_config_has (config, file_path)) {
    ls_config_error_at (config, errors, path, "an empirical distribution needs file");
    return FALSE;
  }
  name = ls_config_get_file (config, file_path);
  if (!ls_file_read (name, FILE_MAX_BYTES, &text, &length, &error)) {
    ls_config_error_at (config, errors, file_path, "%s %s", name, error->message);
    return FALSE;
  }
  faults = ls_text_faults_new (name);
  if (!ls_text_check (faults, text, length) || !parse_samples (faults, text, samples)) {
    ls_config_errors_add_text_faults (errors, faults);
    return FALSE;
  }
  *distribution =
      ls_distribution_empirical ((const double *) (gpointer) samples->data, samples->len);
  return TRUE;
}

static gboolean read_parameters (LsConfig *config, LsConfigErrors *errors, const char *path,
                                 gboolean factor, LsDistribution *d) {
  gboolean good = TRUE;

  for (guint i = 0; i < LS_DISTRIBUTION_PARAMETERS && d->kind->parameters[i].name != NULL; i++) {
    const LsDistributionParameter *p = &d->kind->parameters[i];
    g_autofree char *key = g_strconcat (path, ".", p->name, NULL);
    if (!ls_config_has (config, key)) {
      ls_config_error_at (config, errors, path, "%s needs %s: %s", d->kind->name, p->name,
                          p->meaning);
      good = FALSE;
      continue;
    }
    gboolean number = p->kind == LS_PARAMETER_NUMBER || (factor && p->kind == LS_PARAMETER_TIME);
    d->values[i] =
        number ? ls_config_get_number (config, key) : ls_config_get_quantity (config, key);
  }
  if (!good)
    return FALSE;
  g_autofree char *fault = ls_distribution_fault (d);
  if (fault != NULL)
    ls_config_error_at (config, errors, path, "%s: %s", d->kind->name, fault);
  return fault == NULL;
}

static gboolean read_any (LsConfig *config, LsConfigErrors *errors, const char *path,
                          gboolean factor, LsDistribution *distribution) {
  g_autofree char *dist = g_strconcat (path, ".dist", NULL);
  const LsDistributionKind *kind = ls_distribution_kind_find (ls_config_get_string (config, dist));

  *distribution = (LsDistribution){.kind = kind};
  for (guint i = 0; keys[i] != NULL; i++) {
    g_autofree char *key = g_strconcat (path, ".", keys[i], NULL);
    g_autofree char *reason = g_strdup_printf ("%s has none", kind->name);
    gboolean file = strcmp (keys[i], "file") == 0;
    if (file ? !kind->from_file : ls_distribution_parameter (kind, keys[i]) < 0)
      ls_config_no_effect (config, key, reason);
  }
  return kind->from_file ? read_samples (config, errors, path, distribution)
                         : read_parameters (config, errors, path, factor, distribution);
}

gboolean ls_distribution_read (LsConfig *config, LsConfigErrors *errors, const char *path,
                               LsDistribution *distribution) {
  return read_any (config, errors, path, FALSE, distribution);
}

gboolean ls_distribution_read_factor (LsConfig *config, LsConfigErrors *errors, const char *path,
                                      LsDistribution *distribution) {
  return read_any (config, errors, path, TRUE, distribution);
}
