/*
 * Small helpers for writing JSON and YAML texts. Internal to config.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Appends @text as a JSON string. Bytes that are no UTF-8 are written as U+FFFD. */
void ls_config_json_string (GString *out, const char *text);

/* Appends "key": of a JSON object. */
void ls_config_json_key (GString *out, const char *key);

/* A line break and @depth levels of @indent spaces; nothing when @indent is 0. */
void ls_config_json_break (GString *out, int indent, int depth);

/* A comma when @first is FALSE, then the break; sets *first to FALSE. */
void ls_config_json_next (GString *out, int indent, int depth, gboolean *first);

G_END_DECLS
