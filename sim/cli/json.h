/* Writing JSON: a thin layer over GString that places commas, quotes strings and knows that JSON
 * has no NaN or infinity (they become null).
 *
 * Numbers are written with the fewest of 15 to 17 digits that read back as the same double.
 * Calls must nest properly; ls_json_finish() asserts it. Ownership: the writer owns its text until
 * ls_json_finish() hands it over and frees the writer.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct LsJson LsJson;

LsJson *ls_json_new (void);
void ls_json_free (LsJson *json);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsJson, ls_json_free)
/* The document with a final newline (transfer full). */
char *ls_json_finish (LsJson *json);

/* In each, @key is NULL inside arrays and at the top. */
void ls_json_open_object (LsJson *json, const char *key);
void ls_json_open_array (LsJson *json, const char *key);
void ls_json_close (LsJson *json);
void ls_json_string (LsJson *json, const char *key, const char *value); /* NULL: null */
void ls_json_integer (LsJson *json, const char *key, gint64 value);
void ls_json_number (LsJson *json, const char *key, double value);
void ls_json_boolean (LsJson *json, const char *key, gboolean value);
void ls_json_null (LsJson *json, const char *key);
/* @text is a JSON value already. */
void ls_json_raw (LsJson *json, const char *key, const char *text);
/* An array of strings. */
void ls_json_strings (LsJson *json, const char *key, const GPtrArray *values);

G_END_DECLS
