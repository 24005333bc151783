/*
 * Suggestions for misspelt words: the nearest of a list by edit distance.
 *
 * Distance is Damerau-Levenshtein in its restricted form (insert, delete, substitute, swap of
 * neighbours), ASCII case ignored, with '-', '_' and ' ' counted as equal. Cost O(n m) per word.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Edit distance of two words. */
guint ls_distance (const char *a, const char *b);

/* The candidate (NULL-terminated list) that @word means by another spelling or as a synonym (synonyms.h), else the
 * nearest to @word, or NULL when none is near enough to be meant: the distance may be at most a third of the longer
 * word, and at most one where the word has up to three letters. Near as well are a candidate that has the four letters
 * or more of @word at its beginning ("GPT-3": gpt3-175b), before others two steps away; one that @word begins, or that
 * begins @word; and one of whose parts ("h200" of "dgx-h200") @word is the beginning. Of equals the first wins. The
 * result belongs to the list. */
const char *ls_nearest (const char *word, const char *const *candidates);

G_END_DECLS
