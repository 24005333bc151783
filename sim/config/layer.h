/*
 * Laying one document over another. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* Merges @upper into @lower (both expanded maps); @upper is taken over and emptied. A null stays
 * in the tree as the mark of a removed key. */
void ls_config_layer_merge (LsConfigNode *lower, LsConfigNode *upper, const LsSchemaNode *schema,
                            LsConfigErrors *errors);

G_END_DECLS
