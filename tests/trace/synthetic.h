/* A made-up training run for tests of the trace: two pipeline stages, data parallelism, jittered kernels.
 *
 * The timeline is consistent (nothing starts before its cause ends, streams are in order, parts sum to
 * the step), odd in picoseconds, and a pure function of the description.
 */
#pragma once

#include "trace/recorder.h"

typedef struct {
  guint n_ranks;                            /* even: half per stage */
  guint n_steps, n_microbatches, n_kernels; /* kernels per micro-batch and rank */
  gint32 first_step;
  guint64 seed;
} Synthetic;

#define SYNTHETIC_SMALL \
  ((Synthetic){.n_ranks = 4, .n_steps = 3, .n_microbatches = 3, .n_kernels = 8, .seed = 1})

/* Metadata of the run; freed with synthetic_meta_free(). */
LsTraceMeta *synthetic_meta_new (const Synthetic *run);
void synthetic_meta_free (LsTraceMeta *meta);
/* Plays the run to the observer and the recorder's steps; stops at the first error. `end_ps` gets the
 * end of the last step. `*stop` non-zero ends it early after a step. */
gboolean synthetic_play (const Synthetic *run, const LsTraceMeta *meta, LsRecorder *recorder,
                         const volatile gint *stop, gint64 *end_ps, GError **error);
/* Records the whole run in a new database. */
gboolean synthetic_record (const Synthetic *run, const char *path, const LsRecorderOptions *options,
                           GError **error);
/* A folder of its own for a test, removed with its files by synthetic_folder_remove(). */
char *synthetic_folder_new (void);
void synthetic_folder_remove (char *folder);
