/* All catalogues behind one interface: listing, and finding a row by any of its names.
 *
 * Names compare without case, and '_', ' ' and '-' are the same. A name is unique over all names and
 * aliases of its catalogue (a test walks them). Cost of a search: O(rows). */
#include "hw/catalogue.h"

#include <string.h>

#include "base/assert.h"
#include "base/distance.h"
#include "base/error.h"

static const LsCatalogue *const catalogues[] = {
    &ls_gpu_catalogue,    &ls_node_catalogue,   &ls_link_catalogue,     &ls_nic_catalogue,
    &ls_switch_catalogue, &ls_format_catalogue, &ls_software_catalogue, &ls_mig_catalogue,
};

guint ls_catalogue_count (void) {
  return G_N_ELEMENTS (catalogues);
}

const LsCatalogue *ls_catalogue_get (guint i) {
  LS_REQUIRE (i < G_N_ELEMENTS (catalogues), "catalogue %u", i);
  return catalogues[i];
}

const LsCatalogue *ls_catalogue_find (const char *kind) {
  for (guint i = 0; i < G_N_ELEMENTS (catalogues); i++)
    if (g_ascii_strcasecmp (catalogues[i]->kind, kind) == 0)
      return catalogues[i];
  return NULL;
}

static char canonical (char c) {
  return c == '_' || c == ' ' ? '-' : g_ascii_tolower (c);
}

/* TRUE when the first `length` characters of `candidate` spell `name`. */
static gboolean spells (const char *candidate, gsize length, const char *name) {
  if (strlen (name) != length)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (canonical (candidate[i]) != canonical (name[i]))
      return FALSE;
  return TRUE;
}

/* TRUE when `name` is one of the space-separated words. */
static gboolean among (const char *words, const char *name) {
  while (words != NULL && *words != '\0') {
    gsize length = strcspn (words, " ");
    if (spells (words, length, name))
      return TRUE;
    words += length + strspn (words + length, " ");
  }
  return FALSE;
}

int ls_catalogue_row (const LsCatalogue *catalogue, const char *name) {
  guint n = catalogue->count ();
  for (guint i = 0; i < n; i++) {
    const char *own = catalogue->name (i);
    if (spells (own, strlen (own), name) || among (catalogue->aliases (i), name))
      return (int) i;
  }
  return -1;
}

/* Every name and alias of the catalogue, names first. */
static GPtrArray *all_names (const LsCatalogue *catalogue) {
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  guint n = catalogue->count ();
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (names, g_strdup (catalogue->name (i)));
  for (guint i = 0; i < n; i++) {
    g_auto (GStrv) words = g_strsplit (catalogue->aliases (i), " ", -1);
    for (char **word = words; *word != NULL; word++)
      if (**word != '\0')
        g_ptr_array_add (names, g_strdup (*word));
  }
  g_ptr_array_add (names, NULL);
  return names;
}

char *ls_catalogue_nearest (const LsCatalogue *catalogue, const char *name) {
  g_autoptr (GPtrArray) names = all_names (catalogue);

  return g_strdup (ls_nearest (name, (const char *const *) names->pdata));
}

int ls_catalogue_lookup (const LsCatalogue *catalogue, const char *name, GError **error) {
  int row = ls_catalogue_row (catalogue, name);
  if (row >= 0)
    return row;
  g_autofree char *near = ls_catalogue_nearest (catalogue, name);
  if (near != NULL)
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "unknown %s '%s'; 'lockstep list %s' shows what is known; did you mean '%s'?",
                 catalogue->noun, name, catalogue->kind, near);
  else
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "unknown %s '%s'; 'lockstep list %s' shows what is known", catalogue->noun, name,
                 catalogue->kind);
  return -1;
}
