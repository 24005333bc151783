/*
 * Faults of a file of data, all told at once: "NAME:LINE:COL: error: what is wrong", one a line.
 *
 * For readers of tables and lists (CSV, sizes, samples): a reader adds what it finds and goes on with the
 * next row. The first LS_TEXT_FAULTS_SHOWN are written out, then how many more there are, so that a wrong
 * separator in a million rows is one screen. Lines and columns count from 1; columns count characters of
 * UTF-8, as those of scenarios do. Scenarios have their own list (config/errors.h).
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* source: choice, one screen. */
#define LS_TEXT_FAULTS_SHOWN 20

typedef struct LsTextFaults LsTextFaults;

/* @name is how messages call the file; copied. */
LsTextFaults *ls_text_faults_new (const char *name);
void ls_text_faults_free (LsTextFaults *faults);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTextFaults, ls_text_faults_free)

/* Column of @place in the line that begins at @line_start, from 1; bytes that are no UTF-8 count one each. */
guint ls_text_column (const char *line_start, const char *place);

/* A message that repeats what a file or a command line said, fit for a terminal (transfer full): control characters and
 * bytes that are no UTF-8 are written out (\x1b, \u0085), so that no file moves the cursor or forges a line, and of a
 * word of more than LS_TEXT_WORD_SHOWN bytes the beginning is shown. Line breaks stay if @keep_lines. */
#define LS_TEXT_WORD_SHOWN 4096 /* source: PATH_MAX; a path is shown whole */
char *ls_text_plain (const char *text, gboolean keep_lines);

/* Adds a fault; line and column 0: of the file as a whole; returns FALSE, so that a reader can return it. */
gboolean ls_text_faults_add (LsTextFaults *faults, guint line, guint column, const char *format,
                             ...) G_GNUC_PRINTF (4, 5);

/* FALSE after a fault at the first byte that no text in UTF-8 has. */
gboolean ls_text_check (LsTextFaults *faults, const char *text, gsize length);

/* All of them, those not shown included. */
guint ls_text_faults_count (const LsTextFaults *faults);

/* One of the first LS_TEXT_FAULTS_SHOWN; belongs to the list. */
typedef struct {
  guint line, column; /* 0, 0: the file as a whole */
  const char *message;
} LsTextFault;
LsTextFault ls_text_faults_get (const LsTextFaults *faults, guint index);
/* How messages call the file. */
const char *ls_text_faults_name (const LsTextFaults *faults);

/* TRUE when there is none; else FALSE and one GError (LS_ERROR_CONFIG) with all of them. */
gboolean ls_text_faults_check (const LsTextFaults *faults, GError **error);

G_END_DECLS
