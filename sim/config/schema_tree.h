/*
 * The schema as a tree, as the walkers of documents see it. Internal to config.
 *
 * A node stands for one segment of the rows' paths. Its children are named, in the order of the
 * tables, or one `star` child that stands for every name (a named map) or every index (a list).
 * A node may link to another one whose children it borrows: jobs.*.workload to workload.
 */
#pragma once

#include "config/schema.h"

G_BEGIN_DECLS

typedef struct LsSchemaNode LsSchemaNode;

struct LsSchemaNode {
  char *name;             /* "*" for a star */
  LsSchemaNode *parent;   /* NULL for the root */
  const LsConfigKey *row; /* NULL where no row describes the segment itself */
  const char *alias;      /* target of a short form, relative to the parent; NULL: none */
  GPtrArray *children;    /* LsSchemaNode, named ones */
  LsSchemaNode *star;
  LsSchemaNode *link;
};

const LsSchemaNode *ls_schema_root (const LsConfigSchema *schema);

/* The child that describes the key @name of a map (or the item @name of a list); NULL when there
 * is none, or @node is NULL. A short form is returned as such, not followed. */
const LsSchemaNode *ls_schema_child (const LsSchemaNode *node, const char *name);

/* The children of @node as lists see them: named ones of itself or of its link; never NULL. */
const GPtrArray *ls_schema_children (const LsSchemaNode *node);
const LsSchemaNode *ls_schema_star (const LsSchemaNode *node);

/* Walks segments from @node, short forms followed; NULL when there is no such key. */
const LsSchemaNode *ls_schema_walk (const LsSchemaNode *node, char *const *segments);

/* What kind of value stands at @node. */
gboolean ls_schema_is_map (const LsSchemaNode *node);
gboolean ls_schema_is_list (const LsSchemaNode *node);

/* The path of a node with stars, links resolved backwards as they are written ("workload..."). */
char *ls_schema_path (const LsSchemaNode *node);

G_END_DECLS
