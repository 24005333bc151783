/*
 * Short forms: words, numbers and abbreviated keys, expanded before layering. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* Expands all short forms of one layer in place. Faults (a key given in both forms, a short form
 * over names that it does not mean) go to @errors; the offending value is dropped. */
void ls_config_sugar_expand (LsConfigNode *root, const LsSchemaNode *schema,
                             LsConfigErrors *errors);

/* The fault of a short form whose named map has other names: they are listed. */
void ls_config_sugar_refuse_names (LsConfigErrors *errors, const LsConfigEntry *entry,
                                   const LsConfigNode *names, const char *map_path);

G_END_DECLS
