/*
 * Documents as trees of maps, lists and scalars, each with the place where it was written.
 *
 * Trees are built from the events of libfyaml's parser, which reads YAML 1.2 and hence JSON.
 * Duplicate keys, aliases, sizes and encodings are checked here:
 *   - a map holds each key once; keys are scalars; order is that of the file
 *   - an alias becomes a copy of what it names; a document may grow by at most
 *     LS_CONFIG_COPIES_MAX nodes in that way, and recursive aliases are refused
 *   - merge keys (<<) are no part of YAML 1.2 and are refused
 *   - one document per file, UTF-8, at most LS_CONFIG_FILE_MAX bytes, LS_CONFIG_DEPTH_MAX levels,
 *     LS_CONFIG_VALUES_MAX values, and LS_CONFIG_KEYS_MAX keys in one map (lookup is a scan)
 * Syntax stops at the first fault; duplicate keys are all reported.
 *
 * A parent owns its children; ls_config_node_free() takes NULL. File names in positions belong to
 * the GStringChunk that the reader was given.
 */
#pragma once

#include "config/errors.h"
#include "config/position.h"

#include <glib.h>

G_BEGIN_DECLS

#define LS_CONFIG_COPIES_MAX 100000
#define LS_CONFIG_DEPTH_MAX 50
#define LS_CONFIG_VALUES_MAX 1000000
#define LS_CONFIG_KEYS_MAX 10000
#define LS_CONFIG_FILE_MAX (64 * 1024 * 1024)

typedef enum {
  LS_CONFIG_NODE_SCALAR,
  LS_CONFIG_NODE_LIST,
  LS_CONFIG_NODE_MAP,
  LS_CONFIG_NODE_PATCH, /* from --set list.0.key=...: a map by index, never in a resolved tree */
} LsConfigNodeKind;

typedef struct LsConfigNode LsConfigNode;

typedef struct {
  char *key;
  LsConfigPosition position; /* of the key */
  char *alias;               /* the short form that put it here, NULL: written so */
  gboolean implied;          /* made only on the way to the target of a short form */
  LsConfigNode *value;
} LsConfigEntry;

struct LsConfigNode {
  LsConfigNodeKind kind;
  LsConfigPosition position;
  char *text;         /* scalar: its value, unquoted */
  gsize length;       /* scalar: bytes of text */
  gboolean quoted;    /* scalar: was in quotes or a block, so it is never null */
  GPtrArray *items;   /* list: LsConfigNode */
  GPtrArray *entries; /* map and patch: LsConfigEntry */
  /* Set by the checks: */
  gboolean valid;   /* the value is legal for its key */
  gboolean used;    /* some part has read it */
  gboolean percent; /* a quantity written as a share */
  gboolean file;    /* names a file, relative to the one that holds it */
  double number;    /* scalar of a numeric key: the value in its base unit */
};

LsConfigNode *ls_config_node_new_scalar (const char *text, LsConfigPosition position);
LsConfigNode *ls_config_node_new_list (LsConfigPosition position);
LsConfigNode *ls_config_node_new_map (LsConfigPosition position);
void ls_config_node_free (LsConfigNode *node);
LsConfigNode *ls_config_node_copy (const LsConfigNode *node);

/* An unquoted null, ~ or nothing. */
gboolean ls_config_node_is_null (const LsConfigNode *node);

/* The value of a key, NULL when the map lacks it or @map is no map. */
LsConfigNode *ls_config_node_get (const LsConfigNode *map, const char *key);
LsConfigEntry *ls_config_node_entry (const LsConfigNode *map, const char *key);
/* Adds or replaces (transfer full of @value). Returns the entry. */
LsConfigEntry *ls_config_node_put (LsConfigNode *map, const char *key, LsConfigPosition position,
                                   LsConfigNode *value);
/* Removes a key and returns its value (transfer full), NULL when absent. */
LsConfigNode *ls_config_node_take (LsConfigNode *map, const char *key);

/* Reads a file or a text; NULL after adding to @errors. @names keeps the file name alive. */
LsConfigNode *ls_config_node_read_file (const char *path, GStringChunk *names,
                                        LsConfigErrors *errors);
LsConfigNode *ls_config_node_read_text (const char *name, const char *text, gsize length,
                                        GStringChunk *names, LsConfigErrors *errors);

/* The same for a value that begins at @column of the option @name ("--set #2"). */
LsConfigNode *ls_config_node_read_option (const char *name, const char *text, int column,
                                          GStringChunk *names, LsConfigErrors *errors);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfigNode, ls_config_node_free)

G_END_DECLS
