/*
 * Text for people: words folded to lines, and blocks that neighbours share.
 *
 * Cost:       linear in the text; blocks are compared with their neighbours only.
 * Leaves out: words wider than a line, which stand alone; widths of characters that are not one column wide.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Columns of what commands say in sentences. */
#define LS_PROSE_WIDTH 100

/* Appends @text folded at blanks to lines of at most @width columns and a line end. The first line begins at @column,
 * where @out stands; the others are indented by @indent. */
void ls_prose_append (GString *out, const char *text, guint width, guint indent, guint column);

/* The names of the neighbours from @from whose texts are the same, as in "a, b, c"; *@to becomes the first behind them
 * (transfer full). */
char *ls_prose_alike (const char *const *names, const char *const *texts, guint n, guint from,
                      guint *to);

/* Appends the texts of jobs, each under "job a", those of alike neighbours once under "jobs a, b: each", with an empty
 * line before each but at the very beginning of @out. */
void ls_prose_append_jobs (GString *out, const char *const *names, const char *const *texts,
                           guint n);

G_END_DECLS
