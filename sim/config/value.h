/*
 * Legal values of one key: reading scalars by the row that describes them. Internal to config.
 */
#pragma once

#include "config/node.h"
#include "config/schema.h"

G_BEGIN_DECLS

/* What a scalar means to a row. */
typedef struct {
  double number;    /* of numeric types, in the base unit; TRUE is 1 */
  gboolean word;    /* it is one of the words of the row, and no number */
  gboolean percent; /* a quantity given as a share */
} LsConfigValue;

/* Reads the text of one scalar (of one item, where the row is a list). Fails with LS_ERROR_CONFIG
 * and a message of the form "'x' is no ...; takes ...; did you mean ...", or with
 * LS_ERROR_UNSUPPORTED and "not yet: ...". */
gboolean ls_config_value_read (const LsConfigKey *row, const char *text, LsConfigValue *value,
                               GError **error);

/* Whether the default of @row is legal, items of "[a, b]" one by one. */
gboolean ls_config_value_check_default (const LsConfigKey *row, GError **error);

/* Appends the indexes of one item of INDEXES ("3", "0-7", "0-7,12") to an array of gint64. */
gboolean ls_config_value_indexes (const LsConfigKey *row, const char *text, GArray *indexes,
                                  GError **error);

/* "a, b, c" (transfer full). */
char *ls_config_enumerate (const char *const *words);

G_END_DECLS
