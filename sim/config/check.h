/*
 * Checking a layered document against the schema. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* Checks everything below @root and stores the values of scalars in the nodes. @optional: keys of
 * the top level that may be missing though required (NULL-terminated). @dropped: layering has
 * reported faults and left out values, so a missing section is no further fault. Returns FALSE when some
 * known key has no legal value, so that the document cannot be read on; unknown keys and keys of
 * later features are errors but leave the rest readable. */
gboolean ls_config_check (LsConfigNode *root, const LsSchemaNode *schema,
                          const char *const *optional, gboolean dropped, LsConfigErrors *errors);

/* The file that @text names, seen from where it was written (transfer full). */
char *ls_config_resolve_file (LsConfigPosition position, const char *text);

G_END_DECLS
