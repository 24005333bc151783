/* Signal handling, see interrupt.h. A signal handler can reach nothing but a static flag; it is the
 * one mutable static of the program. */
#include "cli/interrupt.h"

#include <signal.h>

static volatile gint stop_requested; /* an int, hence a sig_atomic_t too */

static void on_signal (int number) {
  stop_requested = 1;
  signal (number, SIG_DFL);
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
  return stop_requested != 0;
}

volatile gint *ls_interrupt_flag (void) {
  return &stop_requested;
}
