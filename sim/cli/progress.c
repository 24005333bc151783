/* Progress line, see progress.h. */
#include "cli/progress.h"

#include <stdio.h>

#define BAR_WIDTH 30
#define INTERVAL_US 100000

struct LsProgress {
  gboolean shown;
  gboolean drawn;
  char *title;
  gint64 start_us, last_us;
};

LsProgress *ls_progress_new (LsCli *cli, const char *title) {
  LsProgress *progress = g_new0 (LsProgress, 1);

  progress->shown = cli->progress;
  progress->title = g_strdup (title);
  progress->start_us = g_get_monotonic_time ();
  return progress;
}

void ls_progress_update (LsProgress *progress, double share, const char *detail) {
  gint64 now_us = g_get_monotonic_time ();
  char bar[BAR_WIDTH + 1];

  if (!progress->shown || now_us - progress->last_us < INTERVAL_US)
    return;
  progress->last_us = now_us;
  progress->drawn = TRUE;
  share = CLAMP (share, 0, 1);
  for (int i = 0; i < BAR_WIDTH; i++)
    bar[i] = i < (int) (share * BAR_WIDTH) ? '#' : '.';
  bar[BAR_WIDTH] = 0;
  fprintf (stderr, "\r\033[K%s [%s] %3.0f %%  %.0f s  %s", progress->title, bar, 100 * share,
           (double) (now_us - progress->start_us) / 1e6, detail ? detail : "");
  fflush (stderr);
}

void ls_progress_free (LsProgress *progress) {
  if (!progress)
    return;
  if (progress->drawn) {
    fputs ("\r\033[K", stderr);
    fflush (stderr);
  }
  g_free (progress->title);
  g_free (progress);
}
