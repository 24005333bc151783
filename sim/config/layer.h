/*
 * Laying one document over another. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* Keys that changed discriminators have dropped so far. */
typedef struct LsConfigLosses LsConfigLosses;

LsConfigLosses *ls_config_losses_new (void);
void ls_config_losses_free (LsConfigLosses *losses);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfigLosses, ls_config_losses_free)
/* A warning for each change whose losses no later layer has given again, in the document as it is at the end: nobody
 * means to lose them by the way. */
void ls_config_losses_warn (const LsConfigLosses *losses, const LsConfigNode *root,
                            LsConfigErrors *errors);

/* Merges @upper into @lower (both expanded maps); @upper is taken over and emptied. A null stays
 * in the tree as the mark of a removed key. */
void ls_config_layer_merge (LsConfigNode *lower, LsConfigNode *upper, const LsSchemaNode *schema,
                            LsConfigLosses *losses, LsConfigErrors *errors);

G_END_DECLS
