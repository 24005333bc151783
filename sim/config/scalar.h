/*
 * One scalar as YAML or JSON. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema.h"

G_BEGIN_DECLS

/* A scalar of the row's type; @row may be NULL (then it is a text unless it reads as a number or a
 * boolean in YAML 1.2 and was not quoted). */
void ls_config_scalar_yaml (GString *out, const LsConfigNode *node, const LsConfigKey *row);
void ls_config_scalar_json (GString *out, const LsConfigNode *node, const LsConfigKey *row);

/* A text (key or string), in quotes unless all readers take the bare word for the same text. */
void ls_config_text_yaml (GString *out, const char *text);

G_END_DECLS
