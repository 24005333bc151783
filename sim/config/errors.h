/*
 * The list of everything that is wrong with a scenario.
 *
 * Checks add to the list and go on, so that the user sees all faults of meaning at once. A message
 * has the form "what is wrong; what is allowed; did you mean ..."; what follows the first "; " is
 * the hint of the JSON form. The list owns copies of all strings. A list may collect faults of
 * several checks; it is sorted by position only when written.
 */
#pragma once

#include "base/text_faults.h"
#include "config/position.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct LsConfigErrors LsConfigErrors;

typedef enum { LS_CONFIG_FAULT_ERROR, LS_CONFIG_FAULT_WARNING } LsConfigFaultKind;

/* One entry, for reading. */
typedef struct {
  LsConfigFaultKind kind;
  const char *file; /* NULL: nowhere in particular */
  int line;
  int column;
  const char *message; /* whole: what is wrong; what is allowed; did you mean */
} LsConfigFault;

LsConfigErrors *ls_config_errors_new (void);
void ls_config_errors_free (LsConfigErrors *errors);

/* From now on @file has its place in the order of files, whether a fault is found in it or not. */
void ls_config_errors_know (LsConfigErrors *errors, const char *file);
/* Puts the entries in the order of the text below. */
void ls_config_errors_sort (LsConfigErrors *errors);

void ls_config_errors_add (LsConfigErrors *errors, LsConfigFaultKind kind,
                           LsConfigPosition position, const char *format, ...) G_GNUC_PRINTF (4, 5);

/* Adds the faults of a file of data that the scenario names, at their own places. */
void ls_config_errors_add_text_faults (LsConfigErrors *errors, const LsTextFaults *faults);

guint ls_config_errors_count (const LsConfigErrors *errors, LsConfigFaultKind kind);

/* Shorthand: is there any error (warnings do not count)? */
gboolean ls_config_errors_any (const LsConfigErrors *errors);

/* Entries of either kind in order of adding, or as sorted; @index below ls_config_errors_length(). */
guint ls_config_errors_length (const LsConfigErrors *errors);
LsConfigFault ls_config_errors_get (const LsConfigErrors *errors, guint index);

/* "FILE:LINE:COL: error: message" lines, each ended by a newline, errors and warnings in the order
 * of file (as first named or known), line and column; the same fault twice is written once. */
char *ls_config_errors_text (const LsConfigErrors *errors);

/* A JSON array of {"code","kind","file","line","column","message","hint"} in the same order, the
 * one form in which the program tells scripts of faults. @code: the name of an LsError. @indent spaces
 * of indentation, 0 for one line. */
char *ls_config_errors_json (const LsConfigErrors *errors, const char *code, int indent);

/* FALSE and a GError (LS_ERROR_CONFIG) holding the text when there is any error. */
gboolean ls_config_errors_check (const LsConfigErrors *errors, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsConfigErrors, ls_config_errors_free)

G_END_DECLS
