/*
 * Writing resolved scenarios and the schema: YAML, JSON, explanations, differences, documents.
 *
 * Everything returned is owned by the caller.
 */
#pragma once

#include "config/config.h"

G_BEGIN_DECLS

typedef enum {
  LS_CONFIG_WRITE_GIVEN = 0,         /* only what files and options say */
  LS_CONFIG_WRITE_DEFAULTS = 1 << 0, /* and every default that some part has read (so that it had
                                        an effect); read all parts first */
} LsConfigWrite;

/* YAML that reads the same under YAML 1.1 and 1.2 (every scalar that a 1.1 reader would take for
 * something else is quoted), short forms expanded; what `check --resolved` prints. */
char *ls_config_to_yaml (const LsConfig *config, LsConfigWrite what);

/* JSON of the same: numbers and booleans bare, quantities as strings with their unit. */
char *ls_config_to_json (const LsConfig *config, LsConfigWrite what, int indent);

/* What `check --explain KEY` prints: type, unit, range, default, meaning, source and, with a
 * config, the value and where it comes from. NULL and an error with a suggestion when the schema
 * has no such key. @config may be NULL. */
char *ls_config_explain (const LsConfigSchema *schema, LsConfig *config, const char *path,
                         GError **error);
char *ls_config_explain_json (const LsConfigSchema *schema, LsConfig *config, const char *path,
                              GError **error);

/* The path of the key called @name that is nearest to the top, NULL when there is none. */
char *ls_config_find_key (const LsConfigSchema *schema, const char *name);

/* Keys whose values differ, defaults included: "path: A -> B" lines sorted by path; an absent
 * value is "(none)". Empty text when nothing differs. Values that mean the same ("1 GB", "1000
 * MB") do not differ. */
char *ls_config_diff (const LsConfig *a, const LsConfig *b);
char *ls_config_diff_json (const LsConfig *a, const LsConfig *b, int indent);

/* The tables of docs/scenario.md, one per top-level key. */
char *ls_config_schema_markdown (const LsConfigSchema *schema);

G_END_DECLS
