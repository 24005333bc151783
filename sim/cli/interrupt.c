/* Signal handling, see interrupt.h. A signal handler can reach nothing but static flags; they are the
 * mutable statics of the program. */
#include "cli/interrupt.h"

#include <signal.h>

static volatile gint stop_requested; /* an int, hence a sig_atomic_t too */
static volatile gint somebody_looks; /* at the flag, from the first call that asks for it */

/* Before anybody looks, nothing is under way that needs an end in good order, and nobody would end it. */
static void on_signal (int number) {
  stop_requested = 1;
  signal (number, SIG_DFL);
  if (!g_atomic_int_get (&somebody_looks))
    raise (number);
}

void ls_interrupt_install (void) {
  struct sigaction action = {0}, before = {0};

  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset (&action.sa_mask);
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
  /* A terminal that goes away ends a run in good order too, unless it was started with nohup. */
  if (sigaction (SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction (SIGHUP, &action, NULL);
  /* A file larger than the user's limit is then a failed write, like a full disk, and not a death
   * that leaves half a database. */
  action.sa_handler = SIG_IGN;
  sigaction (SIGXFSZ, &action, NULL);
}

gboolean ls_interrupt_requested (void) {
  g_atomic_int_set (&somebody_looks, 1);
  return stop_requested != 0;
}

volatile gint *ls_interrupt_flag (void) {
  g_atomic_int_set (&somebody_looks, 1);
  return &stop_requested;
}
