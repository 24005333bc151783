/* Small readers that the files of cluster_reader.h share. */
#include "net/cluster_reader.h"

#include "base/assert.h"
#include "base/distance.h"

char *ls_cluster_read_key (const char *base, const char *name) {
  return g_strconcat (base, ".", name, NULL);
}

gboolean ls_cluster_read_has (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_has (reader->config, path);
}

double ls_cluster_read_quantity (LsClusterReader *reader, const char *base, const char *name,
                                 double otherwise) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_quantity (reader->config, path)
                                              : otherwise;
}

guint ls_cluster_read_integer (LsClusterReader *reader, const char *base, const char *name,
                               guint otherwise) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_has (reader->config, path) ? (guint) ls_config_get_int (reader->config, path)
                                              : otherwise;
}

gint64 ls_cluster_read_time_ps (LsClusterReader *reader, const char *base, const char *name,
                                gint64 otherwise) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_time_ps (reader->config, path)
                                              : otherwise;
}

/* The text of a key, NULL when it was not given. */
const char *ls_cluster_read_text (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_has (reader->config, path) ? ls_config_get_string (reader->config, path) : NULL;
}

void ls_cluster_read_fault (LsClusterReader *reader, const char *base, const char *name,
                            const char *message) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  ls_config_error_at (reader->config, reader->errors, path, "%s", message);
}

/* A catalogue's "unknown name" error becomes a fault at the key. */
void ls_cluster_read_unknown (LsClusterReader *reader, const char *base, const char *name,
                              GError *error) {
  ls_cluster_read_fault (reader, base, name, error->message);
  g_error_free (error);
}

void ls_cluster_read_no_effect (LsClusterReader *reader, const char *base, const char *name,
                                const char *reason) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  ls_config_no_effect (reader->config, path, reason);
}

/* The position of `word` in a list of words that the schema has checked already. */
guint ls_cluster_read_index_of (const char *word, const char *(*name) (guint), guint n) {
  guint i = 0;
  while (i < n && !g_str_equal (word, name (i)))
    i++;
  LS_REQUIRE (i < n, "the word %s passed the schema", word);
  return i;
}

double ls_cluster_read_number (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_get_number (reader->config, path);
}

guint ls_cluster_read_count (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return (guint) ls_config_get_int (reader->config, path);
}

gboolean ls_cluster_read_bool (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  return ls_config_get_bool (reader->config, path);
}

void ls_cluster_read_fault_take (LsClusterReader *reader, const char *base, const char *name,
                                 char *message) {
  ls_cluster_read_fault (reader, base, name, message);
  g_free (message);
}

char *ls_cluster_read_below (const char *base, const char *name) {
  g_autofree char *quoted = ls_config_path (name, NULL);
  return ls_cluster_read_key (base, quoted);
}

char **ls_cluster_read_words (LsClusterReader *reader, const char *base, const char *name) {
  g_autofree char *path = ls_cluster_read_key (base, name);
  guint n = ls_config_get_length (reader->config, path);
  char **words = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", path, i);
    words[i] = g_strdup (ls_config_get_string (reader->config, item));
  }
  return words;
}

guint ls_cluster_read_dimensions (LsClusterReader *reader, const char *base, guint *size,
                                  gboolean *wrap) {
  g_autofree char *dims = ls_cluster_read_key (base, "dims");
  g_autofree char *rings = ls_cluster_read_key (base, "wrap");
  guint n = ls_config_get_length (reader->config, dims);
  guint n_wraps = ls_config_get_length (reader->config, rings);
  if (n > LS_MAX_DIMENSIONS) {
    ls_config_error_at (reader->config, reader->errors, dims, "at most %d dimensions",
                        LS_MAX_DIMENSIONS);
    n = LS_MAX_DIMENSIONS;
  }
  if (n_wraps > 1 && n_wraps != n)
    ls_config_error_at (reader->config, reader->errors, rings,
                        "%u values for %u dimensions; give one for each, or one for all", n_wraps,
                        n);
  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", dims, i);
    g_autofree char *ring = g_strdup_printf ("%s.%u", rings, n_wraps > i ? i : 0);
    size[i] = (guint) ls_config_get_int (reader->config, item);
    wrap[i] = n_wraps == 0 || ls_config_get_bool (reader->config, ring);
  }
  return n;
}

guint ls_cluster_read_find_fabric (LsClusterReader *reader, const char *base, const char *name) {
  const char *const *names = (const char *const *) reader->names->pdata;
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], name))
      return i;
  const char *near = ls_nearest (name, names);
  ls_cluster_read_fault_take (
      reader, base, "fabric",
      g_strdup_printf ("no fabric is called \"%s\"; there is %s%s%s%s", name, names[0],
                       names[1] != NULL ? " and others" : "", near != NULL ? "; did you mean " : "",
                       near != NULL ? near : ""));
  return 0;
}
