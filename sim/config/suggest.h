/*
 * Words for messages about keys: what was meant, what else is there. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* "; did you mean 'tensor'?", "; did you mean workload.parallel.tensor?" when the key belongs
 * elsewhere, or "; keys here are a, b, c" (transfer full). */
char *ls_config_suggest_key (const LsSchemaNode *root, const LsSchemaNode *map, const char *key);

/* "; did you mean the key workload.zero.nvme?" when @value, refused by @key (`zero.offload: nvme`), is the name of a key
 * beside it, or "" (transfer full). */
char *ls_config_suggest_beside (const LsSchemaNode *key, const char *value);

/* " (short: nodes, node)" for a key that short forms fill, or "" (transfer full). Short forms of
 * nothing that must be there do not fill it: `placement` alone makes no workload. */
char *ls_config_short_forms (const LsSchemaNode *map, const char *key);

/* "; keys here are a, b, c" of a map, the command that shows them where they are many, or "" without any (transfer full). */
char *ls_config_list_keys (const LsSchemaNode *map);

/* After @entry (described by @child) was appended to @path: puts back the short form that the
 * user wrote, "cluster.nodes" for cluster.groups.main.nodes, "workload" for jobs.main.workload. */
void ls_config_shorten_path (GString *path, const LsConfigEntry *entry, const LsSchemaNode *child);

G_END_DECLS
