/*
 * Edit distance and the nearest word of a list; see distance.h for the metric.
 */
#include "base/distance.h"

#include "base/synonyms.h"

#include <string.h>

/* Longer words are never typing errors of each other; they only cost time. */
#define LENGTH_MAX 128

static char fold (char c) {
  return c == '_' || c == ' ' ? '-' : g_ascii_tolower (c);
}

static gboolean begins (const char *word, const char *prefix) {
  for (; *prefix != '\0'; word++, prefix++)
    if (fold (*word) != fold (*prefix))
      return FALSE;
  return TRUE;
}

/* Is @word, of three letters or more, the beginning of a later part of @name? */
static gboolean begins_part (const char *name, const char *word) {
  if (strlen (word) < 3)
    return FALSE;
  for (const char *c = name; *c != '\0'; c++)
    if ((fold (*c) == '-' || *c == '.' || *c == '/') && begins (c + 1, word))
      return TRUE;
  return FALSE;
}

/* Three rolling rows: the one being filled, the one before, and the one before that (swaps). */
guint ls_distance (const char *a, const char *b) {
  gsize n = strlen (a), m = strlen (b);
  guint rows[3][LENGTH_MAX + 1];

  if (n > LENGTH_MAX || m > LENGTH_MAX)
    return (guint) MAX (n, m);

  for (gsize j = 0; j <= m; j++)
    rows[0][j] = (guint) j;
  for (gsize i = 1; i <= n; i++) {
    guint *now = rows[i % 3], *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

    now[0] = (guint) i;
    for (gsize j = 1; j <= m; j++) {
      guint change = fold (a[i - 1]) == fold (b[j - 1]) ? 0 : 1;
      guint best = MIN (MIN (last[j] + 1, now[j - 1] + 1), last[j - 1] + change);

      if (i > 1 && j > 1 && fold (a[i - 1]) == fold (b[j - 2]) &&
          fold (a[i - 2]) == fold (b[j - 1]))
        best = MIN (best, before[j - 2] + 1);
      now[j] = best;
    }
  }
  return rows[n % 3][m];
}

/* How far a candidate may be and still be meant. */
static guint tolerance (gsize word, gsize candidate) {
  gsize longer = MAX (word, candidate);

  return longer <= 3 ? 1 : (guint) (longer / 3);
}

const char *ls_nearest (const char *word, const char *const *candidates) {
  const char *best = NULL, *extension = NULL, *part = NULL, *opening = NULL, *meant;
  guint best_distance = G_MAXUINT;

  if (word == NULL || word[0] == '\0' || candidates == NULL)
    return NULL;
  meant = ls_meant (word, candidates);
  if (meant != NULL)
    return meant;
  for (; *candidates != NULL; candidates++) {
    guint d = ls_distance (word, *candidates);

    if (d <= tolerance (strlen (word), strlen (*candidates)) && d < best_distance) {
      best = *candidates;
      best_distance = d;
    }
    if (extension == NULL && strlen (word) >= 3 && strlen (*candidates) >= 3 &&
        (begins (*candidates, word) || begins (word, *candidates)))
      extension = *candidates;
    if (opening == NULL && strlen (word) >= 4 && ls_letters_begin (*candidates, word))
      opening = *candidates;
    if (part == NULL && begins_part (*candidates, word))
      part = *candidates;
  }
  if (opening != NULL && best_distance > 1)
    return opening;
  return best != NULL ? best : extension != NULL ? extension : part;
}
