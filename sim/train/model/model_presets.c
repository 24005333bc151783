/* Model presets by name. The rows are in model_rows.c. */
#include "train/model/models.h"

#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"

#define MAX_PRESETS 256

guint ls_model_preset_count (void) {
  return ls_model_row_count;
}

const LsModelPreset *ls_model_preset_get (guint i) {
  return i < ls_model_row_count ? &ls_model_rows[i] : NULL;
}

const char *const *ls_model_preset_names (void) {
  static const char *names[MAX_PRESETS + 1];
  static gsize ready = 0;

  if (g_once_init_enter (&ready)) {
    LS_REQUIRE (ls_model_row_count <= MAX_PRESETS, "%u presets", ls_model_row_count);
    for (guint i = 0; i < ls_model_row_count; i++)
      names[i] = ls_model_rows[i].name;
    g_once_init_leave (&ready, 1);
  }
  return names;
}

LsModel *ls_model_new_preset (const char *name, GError **error) {
  const char *near = NULL;

  for (guint i = 0; i < ls_model_row_count; i++) {
    const LsModelPreset *preset = &ls_model_rows[i];

    if (g_ascii_strcasecmp (preset->name, name) != 0)
      continue;
    return preset->build != NULL ? preset->build (preset->name)
                                 : ls_model_new_transformer (preset->name, &preset->transformer);
  }
  near = ls_nearest (name, ls_model_preset_names ());
  g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
               "there is no model \"%s\"%s%s%s; `list models` shows all", name,
               near != NULL ? "; did you mean \"" : "", near != NULL ? near : "",
               near != NULL ? "\"" : "");
  return NULL;
}
