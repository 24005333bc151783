/* Parsing of options by GOption from our tables.
 *
 * Every option is a GOption callback that appends (option, value) to one list, so that order is
 * kept and one function checks all values. Two things are done before GOption sees the arguments:
 * what follows `--` is set aside, and a pair (`--route A B`) is written as the same option given
 * twice, because GOption knows options of at most one argument.
 */
#include "cli/option.h"

#include <string.h>

#include "base/distance.h"
#include "base/error.h"

typedef struct {
  const LsOption *option;
  char *value; /* NULL for flags */
} Given;

struct LsArgs {
  const LsOption *const *tables;
  GArray *given; /* of Given */
  GPtrArray *settings;
  GPtrArray *positional;
};

const LsOption ls_options_common[] = {
    {"json", 0, LS_OPTION_FLAG, NULL,
     "machine-readable: one JSON document on standard output, nothing else there", NULL},
    {"output", 'o', LS_OPTION_STRING, "FILE",
     "write here (run: the database) instead of the default place", "@file"},
    {"force", 0, LS_OPTION_FLAG, NULL, "overwrite the file named with -o", NULL},
    {"quiet", 'q', LS_OPTION_FLAG, NULL, "no progress, no warnings, no summary; errors still show",
     NULL},
    {"no-progress", 0, LS_OPTION_FLAG, NULL, "no progress on standard error", NULL},
    {"color", 0, LS_OPTION_STRING, "WHEN", "auto, always or never (NO_COLOR is respected)",
     "auto always never"},
    {"help", 0, LS_OPTION_FLAG, NULL, "all about the command (-h: one screen)", NULL},
    {"short-help", 'h', LS_OPTION_FLAG, NULL, "one screen of help with examples", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

const LsOption ls_options_scenario[] = {
    {"set", 0, LS_OPTION_SETTING, "PATH=VALUE",
     "set a key after all files; VALUE is YAML; may be repeated", "@keys"},
    {"unset", 0, LS_OPTION_SETTING, "PATH", "remove a key; may be repeated", "@keys"},
    {"seed", 0, LS_OPTION_INTEGER, "N", "seed of all random streams (the key `seed`)", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

static void given_clear (gpointer data) {
  g_free (((Given *) data)->value);
}

static void setting_free (gpointer data) {
  LsSetting *setting = data;

  g_free (setting->text);
  g_free (setting);
}

void ls_args_free (LsArgs *args) {
  if (!args)
    return;
  g_array_unref (args->given);
  g_ptr_array_unref (args->settings);
  g_ptr_array_unref (args->positional);
  g_free (args);
}

const LsOption *ls_option_find (const LsOption *const *tables, const char *name) {
  for (; *tables; tables++)
    for (const LsOption *option = *tables; option->name; option++)
      if (g_str_equal (option->name, name))
        return option;
  return NULL;
}

/* By "--name" or "-x" as GOption reports it. */
static const LsOption *find_written (const LsOption *const *tables, const char *written) {
  if (g_str_has_prefix (written, "--"))
    return ls_option_find (tables, written + 2);
  for (; *tables; tables++)
    for (const LsOption *option = *tables; option->name; option++)
      if (option->letter && option->letter == written[1])
        return option;
  return NULL;
}

static gboolean check_value (const LsOption *option, const char *value, GError **error) {
  if (option->kind == LS_OPTION_INTEGER) {
    gint64 number;

    if (!g_ascii_string_to_signed (value, 10, 0, G_MAXINT64, &number, NULL)) {
      g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                   "--%s: '%s' is no whole number from 0 to 9223372036854775807", option->name,
                   value);
      return FALSE;
    }
  }
  if (option->values && option->values[0] != '@') {
    g_auto (GStrv) words = g_strsplit (option->values, " ", -1);

    if (!g_strv_contains ((const char *const *) words, value)) {
      const char *near = ls_nearest (value, (const char *const *) words);

      g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--%s: '%s' is not one of: %s%s%s%s",
                   option->name, value, option->values, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
      return FALSE;
    }
  }
  return TRUE;
}

static void add_setting (LsArgs *args, const LsOption *option, const char *value) {
  LsSetting *setting = g_new0 (LsSetting, 1);

  setting->unset = g_str_equal (option->name, "unset");
  setting->text = g_strdup (value);
  setting->number = 1;
  for (guint i = 0; i < args->settings->len; i++)
    if (((LsSetting *) args->settings->pdata[i])->unset == setting->unset)
      setting->number++;
  g_ptr_array_add (args->settings, setting);
}

static gboolean take (const gchar *written, const gchar *value, gpointer data, GError **error) {
  LsArgs *args = data;
  const LsOption *option = find_written (args->tables, written);
  Given given = {option, g_strdup (value)};

  g_array_append_val (args->given, given);
  if (option->kind == LS_OPTION_FLAG)
    return TRUE;
  if (option->kind == LS_OPTION_SETTING)
    add_setting (args, option, value);
  return check_value (option, value, error);
}

static GOptionContext *context_new (LsArgs *args) {
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionContext *context = g_option_context_new (NULL);
  GOptionGroup *group = g_option_group_new ("main", "", "", args, NULL);

  for (const LsOption *const *table = args->tables; *table; table++)
    for (const LsOption *option = *table; option->name; option++) {
      GOptionEntry entry = {option->name,          option->letter,  G_OPTION_FLAG_FILENAME,
                            G_OPTION_ARG_CALLBACK, (gpointer) take, option->help,
                            option->argument};

      if (option->kind == LS_OPTION_FLAG)
        entry.flags = G_OPTION_FLAG_NO_ARG;
      g_array_append_val (entries, entry);
    }
  g_option_group_add_entries (group, (const GOptionEntry *) (gpointer) entries->data);
  g_option_context_set_main_group (context, group);
  g_option_context_set_help_enabled (context, FALSE);
  return context;
}

/* `--force=no`: GOption would drop the value and force; @word is refused instead. */
static gboolean check_flag (const LsArgs *args, const char *word, GError **error) {
  const char *value = strchr (word, '=');
  g_autofree char *name = value ? g_strndup (word, (gsize) (value - word)) : NULL;
  const LsOption *option =
      name && g_str_has_prefix (name, "--") ? ls_option_find (args->tables, name + 2) : NULL;

  if (!option || option->kind != LS_OPTION_FLAG)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s takes no value; leave out '%s' or the option",
               name, value);
  return FALSE;
}

/* The arguments GOption is to see: pairs doubled, what follows `--` moved to @rest. */
static GPtrArray *prepare (const LsArgs *args, const char *const *argv, GPtrArray *rest,
                           GError **error) {
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func (g_free);
  guint i = 0;

  g_ptr_array_add (out, g_strdup ("lockstep"));
  for (; argv[i] && !g_str_equal (argv[i], "--"); i++) {
    const LsOption *option =
        g_str_has_prefix (argv[i], "--") ? ls_option_find (args->tables, argv[i] + 2) : NULL;

    if (!check_flag (args, argv[i], error))
      return NULL;
    g_ptr_array_add (out, g_strdup (argv[i]));
    if (option && option->kind != LS_OPTION_FLAG && argv[i + 1]) {
      g_ptr_array_add (out, g_strdup (argv[++i]));
      if (option->kind == LS_OPTION_PAIR && argv[i + 1]) {
        g_ptr_array_add (out, g_strdup_printf ("--%s", option->name));
        g_ptr_array_add (out, g_strdup (argv[++i]));
      }
    }
  }
  for (; argv[i] && argv[i + 1]; i++)
    g_ptr_array_add (rest, g_strdup (argv[i + 1]));
  g_ptr_array_add (out, NULL);
  return g_steal_pointer (&out);
}

/* GOption's words for an unknown option, with ours about what was meant. */
static void explain_unknown (const LsArgs *args, GError *from, GError **error) {
  const char *word = strrchr (from->message, ' ');
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *near;

  if (!g_error_matches (from, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) || !word) {
    if (from->domain == LS_ERROR)
      g_propagate_error (error, g_error_copy (from));
    else
      g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, from->message);
    return;
  }
  for (const LsOption *const *table = args->tables; *table; table++)
    for (const LsOption *option = *table; option->name; option++)
      if (!g_str_equal (option->name, "short-help"))
        g_ptr_array_add (names, g_strconcat ("--", option->name, NULL));
  g_ptr_array_add (names, NULL);
  near = ls_nearest (word + 1, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "unknown option %s%s%s%s", word + 1,
               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static gboolean check_pairs (const LsArgs *args, GError **error) {
  for (guint i = 0; i < args->given->len; i++) {
    const LsOption *option = g_array_index (args->given, Given, i).option;

    if (option->kind == LS_OPTION_PAIR) {
      g_autoptr (GPtrArray) list = ls_args_list (args, option->name);

      if (list->len != 2) {
        g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--%s takes two arguments: --%s %s",
                     option->name, option->name, option->argument);
        return FALSE;
      }
    }
  }
  return TRUE;
}

LsArgs *ls_args_parse (const LsOption *const *tables, const char *const *argv, GError **error) {
  g_autoptr (LsArgs) args = g_new0 (LsArgs, 1);
  g_autoptr (GError) local = NULL;
  g_autoptr (GOptionContext) context = NULL;
  g_autoptr (GPtrArray) rest = g_ptr_array_new_with_free_func (g_free);
  GPtrArray *words;
  g_auto (GStrv) strv = NULL;

  args->tables = tables;
  args->given = g_array_new (FALSE, TRUE, sizeof (Given));
  g_array_set_clear_func (args->given, given_clear);
  args->settings = g_ptr_array_new_with_free_func (setting_free);
  args->positional = g_ptr_array_new_with_free_func (g_free);
  words = prepare (args, argv, rest, error);
  if (!words)
    return NULL;
  strv = (GStrv) g_ptr_array_free (words, FALSE);
  context = context_new (args);
  if (!g_option_context_parse_strv (context, &strv, &local)) {
    explain_unknown (args, local, error);
    return NULL;
  }
  for (guint i = 1; strv[i]; i++)
    g_ptr_array_add (args->positional, g_strdup (strv[i]));
  for (guint i = 0; i < rest->len; i++)
    g_ptr_array_add (args->positional, g_strdup (rest->pdata[i]));
  if (!check_pairs (args, error))
    return NULL;
  return g_steal_pointer (&args);
}

gboolean ls_args_has (const LsArgs *args, const char *name) {
  for (guint i = 0; i < args->given->len; i++)
    if (g_str_equal (g_array_index (args->given, Given, i).option->name, name))
      return TRUE;
  return FALSE;
}

const char *ls_args_string (const LsArgs *args, const char *name) {
  for (guint i = args->given->len; i-- > 0;)
    if (g_str_equal (g_array_index (args->given, Given, i).option->name, name))
      return g_array_index (args->given, Given, i).value;
  return NULL;
}

gint64 ls_args_integer (const LsArgs *args, const char *name, gint64 fallback) {
  const char *text = ls_args_string (args, name);

  return text ? g_ascii_strtoll (text, NULL, 10) : fallback;
}

GPtrArray *ls_args_list (const LsArgs *args, const char *name) {
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < args->given->len; i++)
    if (g_str_equal (g_array_index (args->given, Given, i).option->name, name))
      g_ptr_array_add (list, g_array_index (args->given, Given, i).value);
  return list;
}

const GPtrArray *ls_args_settings (const LsArgs *args) {
  return args->settings;
}

const GPtrArray *ls_args_positional (const LsArgs *args) {
  return args->positional;
}
