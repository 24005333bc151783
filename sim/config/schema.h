/*
 * The schema: which keys a scenario may have, and everything that is known of each.
 *
 * Every part owns one static table of its own keys (LsConfigKey rows, ended by a row whose path is
 * NULL). A schema joins such tables into a tree; it is immutable and may be shared by threads.
 * Reading, checking, --explain, completion and docs/scenario.md all come from these rows.
 *
 * Paths. Segments are joined by dots; `*` stands for a name that the user chooses (and makes the
 * key before it a named map), or for the index of a list of maps. Maps between rows need no row
 * of their own, but get one when they are required, have sugar, or deserve a meaning.
 *
 * Sugar, expanded before layering. A MAP row with .word = "preset" takes a bare word as
 * {preset: word}; with .number = "rate" a bare number or quantity as {rate: number} (the key may
 * be a path: "compute.count"). An ALIAS row moves its value to .alias, a path relative to the map
 * that the alias stands in: `cluster.nodes` with .alias = "groups.main.nodes".
 *
 * Ranges. Numbers are never negative unless LS_CONFIG_SIGNED; LS_CONFIG_POSITIVE excludes zero;
 * .minimum and .maximum (in base units, .maximum 0: none) bound further, both inclusive.
 *
 * Rows of later features have .later ("mixture of experts"): a value other than the row's default
 * is refused with "not yet", and nothing below it is looked at. Single words of a later feature
 * go to .later_choices.
 */
#pragma once

#include "base/quantity.h"

#include <glib.h>

G_BEGIN_DECLS

/* X (NAME, phrase for people) */
#define LS_CONFIG_TYPE_MAP(X)                                \
  X (MAP, "a map")                                           \
  X (STRING, "a text")                                       \
  X (WORD, "a word")                                         \
  X (INTEGER, "a whole number")                              \
  X (NUMBER, "a number")                                     \
  X (QUANTITY, "a quantity with a unit")                     \
  X (BOOLEAN, "true or false")                               \
  X (FILE, "a file name")                                    \
  X (INDEXES, "whole numbers and ranges such as 0-7")        \
  X (RANGE, "a range {from, to, step} or {from, to, times}") \
  X (ANY, "anything")                                        \
  X (ALIAS, "a short form")

typedef enum {
#define X(NAME, PHRASE) LS_CONFIG_##NAME,
  LS_CONFIG_TYPE_MAP (X)
#undef X
} LsConfigType;

enum {
  LS_CONFIG_REQUIRED = 1 << 0,      /* must be given wherever its parent map is */
  LS_CONFIG_DISCRIMINATOR = 1 << 1, /* changing it drops its siblings of lower layers */
  LS_CONFIG_LIST = 1 << 2,          /* a list of .type (MAP: rows of the items at PATH.*.key) */
  LS_CONFIG_ONE_OR_LIST = 1 << 3,   /* with LIST: a single value means a list of one */
  LS_CONFIG_POSITIVE = 1 << 4,      /* greater than zero */
  LS_CONFIG_SIGNED = 1 << 5,        /* may be negative */
  LS_CONFIG_OR_PERCENT = 1 << 6,    /* QUANTITY: "50 %" is accepted as well */
  LS_CONFIG_OPEN = 1 << 7,          /* MAP: keys below are not checked (the part reads nodes) */
  LS_CONFIG_JOINED = 1 << 8,        /* STRING: files laid on one another join theirs */
};

typedef struct {
  const char *path;
  LsConfigType type;
  LsDimension dimension;      /* of QUANTITY; COUNT lets INTEGER and NUMBER be written as 15 T */
  double minimum;             /* inclusive, base unit */
  double maximum;             /* inclusive, base unit; 0: none */
  const char *default_text;   /* as one would write it; NULL: none (the key is then absent) */
  const char *const *choices; /* the words of WORD; for numbers, words beside them */
  const char *const *(*choices_list) (void); /* the same from a catalogue, instead of .choices */
  const char *const *later_choices;          /* words that are known but refused with "not yet" */
  const char *meaning;                       /* one line, no full stop */
  const char *source;                        /* where the default comes from */
  unsigned flags;
  const char *later;  /* the feature that this key waits for; NULL: supported */
  const char *word;   /* MAP: what a bare word means */
  const char *number; /* MAP: what a bare number or quantity means */
  const char *alias;  /* ALIAS: target path relative to the parent map */
  /* REQUIRED: what to do where it is missing, for the message; NULL: nothing to say */
  const char *remedy;
  const char *when; /* when the key has an effect, e.g. "only with zero.stage >= 1" */
} LsConfigKey;

typedef struct LsConfigSchema LsConfigSchema;

/* Joins tables; @tables is an array of tables ended by NULL. Rows must outlive the schema. A row
 * that contradicts another or itself (a default that its own type refuses) is a bug and aborts. */
LsConfigSchema *ls_config_schema_new (const LsConfigKey *const *tables);
LsConfigSchema *ls_config_schema_ref (LsConfigSchema *schema);
/* Gives up a reference. */
void ls_config_schema_free (LsConfigSchema *schema);

/* The row that describes @path (real names or `*` both match), NULL when the schema has none. */
const LsConfigKey *ls_config_schema_find (const LsConfigSchema *schema, const char *path);

/* All rows in the order of the tables. */
guint ls_config_schema_size (const LsConfigSchema *schema);
const LsConfigKey *ls_config_schema_row (const LsConfigSchema *schema, guint index);

/* Phrase for a type: "a whole number". */
const char *ls_config_type_phrase (LsConfigType type);

/* The words of a row: .choices or what .choices_list gives; NULL when it has none. */
const char *const *ls_config_key_choices (const LsConfigKey *key);

/* "a size (B, kB, ...), at least 1 kB": what a key takes, for messages and documents (transfer
 * full). */
char *ls_config_key_takes (const LsConfigKey *key);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfigSchema, ls_config_schema_free)

G_END_DECLS
