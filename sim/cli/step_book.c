/* Steps that are simulated once for all who ask; see step_book.h. */
#include "cli/step_book.h"

#include <string.h>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/parallel.h"
#include "cli/step_time.h"

struct LsStepBook {
  GMutex lock;
  GPtrArray *steps;    /* LsBookedStep */
  GHashTable *of_yaml; /* the same by their texts */
  double weight, done_weight;
  LsStepBookProgress progress;
  gpointer progress_self;
};

static void step_free (gpointer data) {
  LsBookedStep *step = data;

  g_free (step->yaml);
  g_free (step->fault);
  g_free (step);
}

LsStepBook *ls_step_book_new (void) {
  LsStepBook *book = g_new0 (LsStepBook, 1);

  g_mutex_init (&book->lock);
  book->steps = g_ptr_array_new_with_free_func (step_free);
  book->of_yaml = g_hash_table_new (g_str_hash, g_str_equal);
  return book;
}

void ls_step_book_free (LsStepBook *book) {
  if (book == NULL)
    return;
  g_hash_table_unref (book->of_yaml);
  g_ptr_array_unref (book->steps);
  g_mutex_clear (&book->lock);
  g_free (book);
}

const LsBookedStep *ls_step_book_ask (LsStepBook *book, const char *yaml, double weight) {
  LsBookedStep *step;

  g_mutex_lock (&book->lock);
  step = g_hash_table_lookup (book->of_yaml, yaml);
  if (step == NULL) {
    step = g_new0 (LsBookedStep, 1);
    step->yaml = g_strdup (yaml);
    step->weight = weight;
    book->weight += weight;
    g_ptr_array_add (book->steps, step);
    g_hash_table_insert (book->of_yaml, step->yaml, step);
  }
  g_mutex_unlock (&book->lock);
  return step;
}

guint ls_step_book_n_steps (const LsStepBook *book) {
  return book->steps->len;
}

/* FALSE: interrupted. */
static gboolean simulate (LsBookedStep *step) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("row", step->yaml);
  g_autoptr (LsSummary) summary = NULL;
  g_autoptr (GError) error = NULL;

  step->fault = ls_scenario_first_fault (scenario);
  if (step->fault != NULL)
    return TRUE;
  summary = ls_scenario_simulate (scenario, 0, &error);
  if (g_error_matches (error, LS_ERROR, LS_ERROR_INTERRUPTED))
    return FALSE;
  if (summary == NULL) {
    step->fault = g_strdup (error->message);
    return TRUE;
  }
  step->step_s = summary->step_time_s;
  step->peak_bytes = summary->memory.peak_bytes;
  step->reserved_bytes = summary->memory.reserved_bytes;
  return TRUE;
}

static void run_one (guint index, gpointer self) {
  LsStepBook *book = self;
  LsBookedStep *step = g_ptr_array_index (book->steps, index);

  step->done = !ls_interrupt_requested () && simulate (step);
  g_mutex_lock (&book->lock);
  book->done_weight += step->weight;
  if (book->progress != NULL)
    book->progress (book->done_weight / book->weight, book->progress_self);
  g_mutex_unlock (&book->lock);
}

static gint compare_weights (gconstpointer a, gconstpointer b) {
  const LsBookedStep *x = *(const LsBookedStep *const *) a, *y = *(const LsBookedStep *const *) b;

  return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                : strcmp (x->yaml, y->yaml);
}

void ls_step_book_run (LsStepBook *book, LsStepBookProgress progress, gpointer self) {
  g_ptr_array_sort (book->steps, compare_weights);
  book->progress = progress;
  book->progress_self = self;
  ls_parallel (book->steps->len, run_one, book);
}
