/* Releases that a row states, see release.h. */
#include "cli/release.h"

#include <string.h>

#include "base/assert.h"

/* "25.04", "ngc25.04", "r0.8.0", "25.04.rc2", "2.1.0_cu121"; "Jan 2021", "May-Jul 2021", "2022". Not "GB200.4". */
#define VERSION "(?<![a-z0-9.])(?:ngc|v|r)?([0-9]+(?:\\.[0-9a-z]+)+)"
#define MONTH "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
#define YEAR "(?<![a-z0-9.])((?:" MONTH "(?:-" MONTH ")? )?20[0-9]{2})(?![0-9.])"
#define COMMIT "(?<![a-z0-9.])((?=[a-f]*[0-9])[0-9a-f]{7,40})(?![a-z0-9])"
/* "training_results_v5.1", "..._202412_...", "..._2025-06_...". */
#define ROUND "_v([0-9]+\\.[0-9]+)"
#define DATE "(?<![0-9.])(20[0-9]{2}-?(?:0[1-9]|1[0-2]))(?![0-9.])"

/* Adds what the pattern's groups find in the text. */
static void collect (GPtrArray *found, const char *pattern, const char *text) {
  g_autofree char *folded = g_ascii_strdown (text, -1);
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_RAW, (GRegexMatchFlags) 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  LS_ASSERT (regex != NULL);
  for (g_regex_match (regex, folded, (GRegexMatchFlags) 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL)) {
    char *word = g_match_info_fetch (match, g_match_info_get_match_count (match) - 1);

    if (g_ptr_array_find_with_equal_func (found, word, g_str_equal, NULL))
      g_free (word);
    else
      g_ptr_array_add (found, word);
  }
}

static int compare_words (gconstpointer a, gconstpointer b) {
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char *ls_release_of (const char *framework, const char *source, const char *location) {
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  const char *read_at = strchr (source, '@');
  g_autofree char *commit = read_at != NULL ? g_strndup (read_at, strcspn (read_at, " ")) : NULL;
  g_auto (GStrv) rest = commit != NULL ? g_strsplit (source, commit, 2) : NULL;
  g_autofree char *named = rest != NULL ? g_strjoinv ("", rest) : g_strdup (source);

  collect (found, VERSION "|" YEAR "|" COMMIT, framework);
  collect (found, VERSION, location);
  collect (found, ROUND "|" DATE, named);
  g_ptr_array_sort (found, compare_words);
  g_ptr_array_add (found, NULL);
  return g_strjoinv (" ", (char **) found->pdata);
}
