/*
 * Paths to keys: "cluster.links.\"leaf0-spine1\".rate". Internal to config.
 *
 * Segments are separated by dots; a segment that holds a dot, a quote, white space or "=" is put
 * in double quotes, inside of which \" and \\ stand for themselves.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The segments of @path (g_strfreev); NULL with LS_ERROR_CONFIG when it is malformed, *column
 * being then the offending byte, from 0. @column may be NULL. */
char **ls_config_path_split (const char *path, int *column, GError **error);

/* Appends a segment, quoted if need be, with a dot before it unless @path is empty. */
void ls_config_path_append (GString *path, const char *segment);

/* Byte offset at which segment @index of a well-formed path begins. */
int ls_config_path_offset (const char *path, guint index);

/* Byte offset of the "=" that ends the path of "path=value", -1 when there is none outside of
 * quotes. */
int ls_config_path_end (const char *assignment);

/* The index a segment stands for ("0", "17"), -1 when it is no index. */
int ls_config_path_index (const char *segment);

G_END_DECLS
