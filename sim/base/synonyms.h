/*
 * What others call a thing: the words of other tools, papers and habits for names of this program.
 *
 * Model:      one table of rows {name, other words}. A plain name is that of a value (a collective, a schedule, a
 *             format, a framework) or of a key in the map where it was looked for; one with dots ("batch.global")
 *             is the end of a key's path and found from anywhere.
 * Invariants: words compare by their letters, digits and '+' alone: case, '-', '_', '.' and blanks do not count, so that
 *             "AllReduce" needs no row for all_reduce. A test holds every name to a key, choice or catalogue row.
 * Cost:       linear in the table, paid by wrong words and by rows of tables.
 * Leaves out: what is accepted where: files take the name alone and suggest it; tables and `collective` take its synonyms.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Do both spell the same, case and separators aside? */
gboolean ls_same_letters (const char *a, const char *b);

/* Does @whole begin with the letters of @part, case and separators aside? */
gboolean ls_letters_begin (const char *whole, const char *part);

/* The @i-th name that @word may stand for, NULL behind the last. */
const char *ls_synonym (const char *word, guint i);

/* The candidate (NULL-terminated list) that @word spells in another way or is a synonym of; NULL: none. */
const char *ls_meant (const char *word, const char *const *candidates);

/* The candidate that has, itself or a synonym, the most letters in a row in @text ("PipeDream-Flush, as in the paper");
 * of equals the first; NULL: none. */
const char *ls_meant_within (const char *text, const char *const *candidates);

/* The i-th row of the table, for the test: FALSE behind the last. */
gboolean ls_synonyms_row (guint i, const char **name, const char **others);

G_END_DECLS
