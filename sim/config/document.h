/*
 * The inside of a resolved scenario. Internal to config.
 */
#pragma once

#include "config/config.h"
#include "config/schema_tree.h"

G_BEGIN_DECLS

/* What a key that was left open came to, and why. */
typedef struct {
  char *value, *from;
} LsConfigSettled;

/* NULL where the path is not settled. @path: any, short forms included. */
const LsConfigSettled *ls_config_find_settled (const LsConfig *config, const char *path);
/* An empty table of them (transfer full). */
GHashTable *ls_config_settled_table (void);

struct LsConfig {
  const LsConfigSchema *schema;
  LsConfigNode *root;
  GStringChunk *names;   /* keeps the file names of positions */
  GHashTable *no_effect; /* LsConfigNode -> reason (owned), for ls_config_no_effect() */
  GHashTable *settled;   /* full path -> LsConfigSettled (owned), for ls_config_settled() */
  GTree *defaults;       /* full paths (owned) of keys not given whose default was read */
  /* full paths (owned) of what was declared to have no effect while not given: no default there counts */
  GHashTable *inert;
  gboolean readable;
  char *redirect_from, *redirect_to; /* ls_config_redirect(); NULL: none */
};

/* A key: what describes it, what stands there. */
typedef struct {
  const LsSchemaNode *schema; /* NULL: the schema has no such key */
  LsConfigNode *node;         /* NULL: not given, or null */
  const LsConfigEntry *entry; /* of the node, NULL for items of lists and the root */
} LsConfigFound;

/* @path with short forms replaced by what they stand for (transfer full). */
char *ls_config_full_path (const LsConfig *config, const char *path);

/* @path after ls_config_redirect() (transfer full). */
char *ls_config_redirected (const LsConfig *config, const char *path);

/* Follows a path from the root, short forms included. */
LsConfigFound ls_config_find (const LsConfig *config, const char *path);

/* The same along segments from any map. */
LsConfigFound ls_config_find_below (LsConfigNode *node, const LsSchemaNode *schema,
                                    char *const *segments);

G_END_DECLS
