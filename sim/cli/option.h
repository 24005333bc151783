/* Options as data: one table per command drives parsing (GOption), help, the man page and shell
 * completion, so that they cannot disagree.
 *
 * Model:      an option has a long name, perhaps a letter, a kind and a word for its argument.
 *             Options may stand anywhere; `--` ends them. Settings (--set, --unset) keep the order
 *             in which they were given, because later ones win.
 * Errors:     all of domain LS_ERROR, code USAGE; an unknown option names the nearest one.
 * Ownership:  option tables are static; a parsed LsArgs owns copies of all its strings.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
  LS_OPTION_FLAG,
  LS_OPTION_STRING,  /* the last one given wins */
  LS_OPTION_INTEGER, /* a non-negative 64-bit integer */
  LS_OPTION_LIST,    /* may be given several times */
  LS_OPTION_PAIR,    /* takes two arguments */
  LS_OPTION_SETTING  /* --set PATH=VALUE or --unset PATH */
} LsOptionKind;

typedef struct {
  const char *name; /* long, without dashes; NULL ends a table */
  char letter;      /* short, or 0 */
  LsOptionKind kind;
  const char *argument; /* word(s) for help; NULL for flags */
  const char *help;     /* one line */
  const char *values;   /* words it takes, separated by spaces; "@file", "@key", ... name what a
                           shell should offer instead; NULL for anything */
} LsOption;

/* One --set or --unset. */
typedef struct {
  gboolean unset;
  guint number; /* counted from 1 among its like */
  char *text;   /* "path=value" or "path" */
} LsSetting;

typedef struct LsArgs LsArgs;

/* Tables shared by commands; each ends with a NULL name. */
extern const LsOption ls_options_common[];   /* every command */
extern const LsOption ls_options_scenario[]; /* commands that read scenario files */

/* Parses argv (without program and command) against up to three tables (NULL-terminated list of
 * tables). Returns NULL and sets @error on the first fault. */
LsArgs *ls_args_parse (const LsOption *const *tables, const char *const *argv, GError **error);
void ls_args_free (LsArgs *args);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsArgs, ls_args_free)

gboolean ls_args_has (const LsArgs *args, const char *name);
/* The argument given last, or NULL. */
const char *ls_args_string (const LsArgs *args, const char *name);
gint64 ls_args_integer (const LsArgs *args, const char *name, gint64 fallback);
/* All arguments of a list or pair option, in order (transfer container: g_ptr_array_unref). */
GPtrArray *ls_args_list (const LsArgs *args, const char *name);
/* Settings in the order given: array of LsSetting *, owned by @args. */
const GPtrArray *ls_args_settings (const LsArgs *args);
/* What is not an option: array of char *, owned by @args. */
const GPtrArray *ls_args_positional (const LsArgs *args);

/* The option of that long name in a list of tables, or NULL. */
const LsOption *ls_option_find (const LsOption *const *tables, const char *name);

G_END_DECLS
