/*
 * A resolved scenario: files and --set layered, checked against a schema, ready to be read.
 *
 * Example of use:
 *
 *     static const LsConfigKey my_keys[] = {
 *       {.path = "workload.zero.stage", .type = LS_CONFIG_INTEGER, .maximum = 3,
 *        .default_text = "0", .meaning = "which states are sharded", .source = "ZeRO"},
 *       {.path = "workload.zero.bucket", .type = LS_CONFIG_QUANTITY, .dimension = LS_DIMENSION_BYTES,
 *        .flags = LS_CONFIG_POSITIVE, .default_text = "200 MB", .meaning = "...",
 *        .when = "only with zero.stage >= 1"},
 *       {0}
 *     };
 *     const LsConfigKey *const tables[] = {ls_config_keys, ls_config_later_keys, my_keys, NULL};
 *     g_autoptr (LsConfigSchema) schema = ls_config_schema_new (tables);
 *     g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
 *     g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
 *     g_autoptr (LsConfig) config = NULL;
 *
 *     ls_config_builder_add_file (builder, "topology.yaml");
 *     ls_config_builder_set (builder, "workload.zero.stage=3");
 *     config = ls_config_builder_build (builder, errors);
 *     if (config != NULL && ls_config_is_readable (config)) {
 *       gint64 stage = ls_config_get_int (config, "workload.zero.stage");
 *       if (stage >= 1)
 *         bucket = ls_config_get_quantity (config, "workload.zero.bucket");
 *       if (heads % tensor != 0)
 *         ls_config_error_at (config, errors, "workload.parallel.tensor",
 *                             "%d does not divide the %d heads; use a divisor", tensor, heads);
 *       ls_config_warn_unused (config, errors);   // once, after all parts have read
 *     }
 *
 * Getters take any path of the schema, short forms included ("cluster.nodes"); a path that the
 * schema lacks, or a getter of the wrong type, is a bug and aborts. A key that was not given yields
 * its default; without a default 0, FALSE or NULL: ask ls_config_has() first. Every getter (not
 * ls_config_has()) marks the key as used. Strings returned as const belong to the config.
 *
 * A config is not shared between threads; the schema under it may be, and must outlive it.
 */
#pragma once

#include "config/errors.h"
#include "config/node.h"
#include "config/schema.h"

G_BEGIN_DECLS

typedef struct LsConfig LsConfig;
typedef struct LsConfigBuilder LsConfigBuilder;

/* --- building ------------------------------------------------------------------------------- */

LsConfigBuilder *ls_config_builder_new (const LsConfigSchema *schema);
void ls_config_builder_free (LsConfigBuilder *builder);

/* Layers, each over the ones before. Nothing is read before build. */
void ls_config_builder_add_file (LsConfigBuilder *builder, const char *path);
/* @name stands for the file in messages and, as a file name, for what is relative to it. */
void ls_config_builder_add_text (LsConfigBuilder *builder, const char *name, const char *text,
                                 gssize length);
/* "path=value", the value being YAML; reported as --set #N:COL. Sets and unsets come after all
 * files, in the order given. */
void ls_config_builder_set (LsConfigBuilder *builder, const char *assignment);
void ls_config_builder_unset (LsConfigBuilder *builder, const char *path);
/* The same as set for an option of its own that stands for a key; faults name it: "--seed". */
void ls_config_builder_set_as (LsConfigBuilder *builder, const char *option, const char *path,
                               const char *value);
/* The top-level key @key may be missing although its row is required. */
void ls_config_builder_optional (LsConfigBuilder *builder, const char *key);

/* Reads, expands, layers and checks. All faults go to @errors. NULL only when a file could not be
 * read as YAML at all; otherwise the result is returned even with faults, see
 * ls_config_is_readable(). The builder may be built again. */
LsConfig *ls_config_builder_build (LsConfigBuilder *builder, LsConfigErrors *errors);

void ls_config_free (LsConfig *config);

/* TRUE when all known keys hold legal values and none is missing, so that parts can read and go on
 * to find faults of their own (unknown keys and "not yet" may still stand in the errors). */
gboolean ls_config_is_readable (const LsConfig *config);

/* --- reading -------------------------------------------------------------------------------- */

/* From now on @from and every path below it mean @to and what is below that ("workload" and
 * "jobs.second.workload"), in messages too; NULL and NULL: as written again. */
void ls_config_redirect (LsConfig *config, const char *from, const char *to);

/* Was the key given (by file or option, not by default)? For maps: is it there? */
gboolean ls_config_has (const LsConfig *config, const char *path);

gboolean ls_config_get_bool (LsConfig *config, const char *path);
gint64 ls_config_get_int (LsConfig *config, const char *path);
double ls_config_get_number (LsConfig *config, const char *path);
double ls_config_get_quantity (LsConfig *config, const char *path); /* base unit: B, s, B/s, ... */
gint64 ls_config_get_size_bytes (LsConfig *config, const char *path); /* rounded to nearest */
gint64 ls_config_get_time_ps (LsConfig *config, const char *path);
/* Any scalar as it was written; the value of WORD, STRING. */
const char *ls_config_get_string (LsConfig *config, const char *path);
/* Is the value this word ("auto", "all", "none")? Marks as used only when it is. */
gboolean ls_config_is_word (LsConfig *config, const char *path, const char *word);
/* Is a value with LS_CONFIG_OR_PERCENT given as a share? get_quantity then yields 0.5 for 50 %. */
gboolean ls_config_is_percent (LsConfig *config, const char *path);
/* A FILE, resolved relative to the file that names it (transfer full); what is written of the
 * scenario (ls_config_to_yaml) then has its absolute name. */
char *ls_config_get_file (LsConfig *config, const char *path);
/* Length of a list (0 when absent); items are read as "PATH.0", "PATH.1", ... */
guint ls_config_get_length (LsConfig *config, const char *path);
/* The names in a named map, sorted bytewise; never NULL (transfer full: g_strfreev). */
char **ls_config_get_names (LsConfig *config, const char *path);
/* The gint64 values of INDEXES, ascending, each once; NULL when absent or a word such as "all"
 * (transfer full: g_array_unref). */
GArray *ls_config_get_indexes (LsConfig *config, const char *path);
/* The raw node of ANY or an open map, NULL when absent. Marks all below as used. */
const LsConfigNode *ls_config_get_node (LsConfig *config, const char *path);

/* Joins segments to a path, quoting what needs it; ended by NULL (transfer full). */
char *ls_config_path (const char *first, ...) G_GNUC_NULL_TERMINATED;

/* --- talking about keys --------------------------------------------------------------------- */

/* Where the key was given; where its nearest given ancestor was, when it was not. */
LsConfigPosition ls_config_position (const LsConfig *config, const char *path);

/* Faults of meaning; the message starts with the path by itself ("workload.parallel.tensor: 3 does
 * not divide ..."). */
void ls_config_error_at (const LsConfig *config, LsConfigErrors *errors, const char *path,
                         const char *format, ...) G_GNUC_PRINTF (4, 5);
void ls_config_warning_at (const LsConfig *config, LsConfigErrors *errors, const char *path,
                           const char *format, ...) G_GNUC_PRINTF (4, 5);

/* The key has no effect for @reason: a warning if it was given, and neither its default nor one below it is shown
 * among the defaults that count, whether it was read before, is read later or never. */
void ls_config_no_effect (LsConfig *config, const char *path, const char *reason);

/* What a key that was left open (no default, or a word such as auto) came to in this scenario, and from where:
 * "true", "software megatron-core". For --explain; changes nothing else. A key that was given otherwise
 * keeps what was given. */
void ls_config_settled (LsConfig *config, const char *path, const char *from, const char *format,
                        ...) G_GNUC_PRINTF (4, 5);

/* A warning for each key given that nothing has read. */
void ls_config_warn_unused (LsConfig *config, LsConfigErrors *errors);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfig, ls_config_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfigBuilder, ls_config_builder_free)

G_END_DECLS
