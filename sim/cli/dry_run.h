/* `run --dry-run`: a moment of the run tells how long all of it would take.
 *
 * An LsProbe is the progress function of that moment: it notes what share of the run is done and after how
 * long, and stops the run when LS_PROBE_US have passed. What is expected of the run is printed alike whatever runs.
 */
#pragma once

#include "cli/cli.h"

G_BEGIN_DECLS

/* How long --dry-run simulates to learn the speed. */
#define LS_PROBE_US 300000

typedef struct {
  gint64 start_us;
  /* Of the run that is done, 0 to 1, and the wall-clock time that it took. */
  double share, seconds;
  /* What the run looks at. */
  gint stop;
} LsProbe;

/* A probe that begins now; `share` is what a run reports that ends without a word of progress. */
LsProbe ls_probe_begin (double share);
/* An LsProgressFunc; `probe` is an LsProbe. */
void ls_probe_progress (gpointer probe, double share);

/* What is expected of the whole run: operations and events as `run --json` counts them, rows of the trace, bytes of its
 * file, seconds. */
typedef struct {
  double operations, events, rows, bytes, seconds;
} LsExpectation;

/* Writes it: with --json all of it, else `work`, `rows` (words) and sizes as text. Returns the exit status. */
int ls_expectation_write (LsCli *cli, const LsExpectation *expected, const char *work,
                          const char *rows, GError **error);

G_END_DECLS
