/* Steps that are asked for and then simulated, each once.
 *
 * Model:      what a step takes follows from its scenario's text alone (the seed is in it), so that all who ask for
 *             the same text share one simulation: rows of a table that differ in what was measured, and the short
 *             steps that long ones are extended from.
 * Call order: ls_step_book_ask() from any thread; then ls_step_book_run() once; then what was asked for may be read.
 * Cost:       one simulation per text, on all cores, the longest by its weight first, so that no core is left with
 *             a long one at the end.
 * Ownership:  a book owns its steps.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
  char *yaml;
  double weight;
  gboolean done; /* FALSE: interrupted */
  char *fault;   /* why it cannot run; NULL: it has */
  double step_s;
  gint64 peak_bytes, reserved_bytes;
} LsBookedStep;

typedef struct LsStepBook LsStepBook;

typedef void (*LsStepBookProgress) (double share, gpointer self);

LsStepBook *ls_step_book_new (void);
void ls_step_book_free (LsStepBook *book);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsStepBook, ls_step_book_free)

/* The first step of a scenario, simulated or yet to be; @weight: how long that takes beside others (transfer none). */
const LsBookedStep *ls_step_book_ask (LsStepBook *book, const char *yaml, double weight);
/* Simulates what was asked for; @progress may be NULL and comes from any thread, one at a time. */
void ls_step_book_run (LsStepBook *book, LsStepBookProgress progress, gpointer self);
/* Different steps asked for. */
guint ls_step_book_n_steps (const LsStepBook *book);

G_END_DECLS
