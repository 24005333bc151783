/* The `learn` section of a scenario: everything that changes arithmetic and nothing that changes timing.
 *
 * Ownership: settings own their arrays; the table of keys is static.
 */
#pragma once

#include "base/loss_scale.h"
#include "config/config.h"
#include "learn/dataset.h"
#include "learn/optimizer.h"
#include "learn/problem.h"
#include "learn/rate.h"
#include "learn/staleness.h"

#define LS_DATA_KINDS(X)                                                     \
  X (PRESET, "preset", "a data set that Lockstep knows")                     \
  X (CSV, "csv", "dense rows of numbers separated by commas, gzip or plain") \
  X (LIBSVM, "libsvm", "sparse rows `label index:value ...`, gzip or plain") \
  X (IDX, "idx", "pictures and labels as MNIST has them, gzip or plain")     \
  X (SYNTHETIC, "synthetic", "made from a seed")

typedef enum {
#define LS_DATA_ID(id, ...) LS_DATA_##id,
  LS_DATA_KINDS (LS_DATA_ID)
#undef LS_DATA_ID
      LS_N_DATA_KINDS
} LsDataKind;

#define LS_SAMPLINGS(X)                                                     \
  X (REPLACEMENT, "replacement", "every row of a mini-batch is drawn anew") \
  X (SHUFFLE, "shuffle", "every worker goes through its rows in a new order per epoch")

typedef enum {
#define LS_SAMPLING_ID(id, ...) LS_SAMPLING_##id,
  LS_SAMPLINGS (LS_SAMPLING_ID)
#undef LS_SAMPLING_ID
      LS_N_SAMPLINGS
} LsSampling;

#define LS_AVERAGINGS(X)                                                 \
  X (NONE, "none", "the last parameters are evaluated")                  \
  X (EMA, "ema", "mean = decay mean + (1 - decay) w after every update") \
  X (SWA, "swa", "plain mean of every `every`-th parameters from `start` on")

typedef enum {
#define LS_AVERAGING_ID(id, ...) LS_AVERAGING_##id,
  LS_AVERAGINGS (LS_AVERAGING_ID)
#undef LS_AVERAGING_ID
      LS_N_AVERAGINGS
} LsAveraging;

#define LS_MOMENTUM_CORRECTIONS(X)                                                      \
  X (NONE, "none", "momentum as given")                                                 \
  X (ASYNCHRONY, "asynchrony", "less by what asynchrony adds (Mitliagkas et al. 2016)") \
  X (LR, "lr", "velocity rescaled when the learning rate changes (Goyal et al. 2017)")

typedef enum {
#define LS_MOMENTUM_CORRECTION_ID(id, ...) LS_MOMENTUM_CORRECTION_##id,
  LS_MOMENTUM_CORRECTIONS (LS_MOMENTUM_CORRECTION_ID)
#undef LS_MOMENTUM_CORRECTION_ID
      LS_N_MOMENTUM_CORRECTIONS
} LsMomentumCorrection;

#define LS_CLIPS(X)                                                 \
  X (NONE, "none", "no clipping")                                   \
  X (UPDATE, "update", "the mean gradient of an update, per shard") \
  X (WORKER, "worker", "each gradient before it is sent")

typedef enum {
#define LS_CLIP_ID(id, ...) LS_CLIP_##id,
  LS_CLIPS (LS_CLIP_ID)
#undef LS_CLIP_ID
      LS_N_CLIPS
} LsClip;

/* Where the elastic pull of a worker is taken: EASGD's own form uses the copy before the local step. */
#define LS_PULLS(X)                                                                    \
  X (BEFORE, "before-step", "the copy before its last local step (Zhang et al. 2015)") \
  X (AFTER, "after-step", "the copy as it is")

typedef enum {
#define LS_PULL_ID(id, ...) LS_PULL_##id,
  LS_PULLS (LS_PULL_ID)
#undef LS_PULL_ID
      LS_N_PULLS
} LsPull;

typedef struct {
  LsDataKind kind;
  char *preset, *file, *labels; /* labels: IDX */
  char *label;                  /* what text.label points to */
  LsTextOptions text;
  LsGeneratorOptions generator;
  guint32 channels, height, width;
  double test_share;
  LsScaling scaling;
  LsPartition partition;
  double alpha;
  LsSampling sampling;
} LsDataSettings;

typedef struct {
  LsNumber parameters, activations, gradients, optimizer;
  gboolean master; /* fp32 master weights */
} LsLearnPrecision;

typedef struct {
  LsProblemSettings problem;
  gboolean needs_data;
  LsDataSettings data;
  LsDescentSettings optimizer, outer;
  LsRateSchedule schedule;
  LsStaleRateSettings stale_rate;
  LsCompensation compensation;
  LsMomentumCorrection momentum_correction;
  LsClip clip;
  double clip_norm;
  LsAveraging averaging;
  double average_decay;
  gint64 average_start, average_every;
  double elastic_alpha; /* <= 0: elastic_beta / workers */
  double elastic_beta;
  LsPull pull;
  LsLearnPrecision precision;
  LsLossScaleSettings loss_scale;
  gint64 batch;                        /* rows of a mini-batch; 0: as the timing says */
  gint64 evaluate_every;               /* updates */
  gint64 evaluate_rows;                /* training rows of an evaluation; 0: all */
  double target_loss, target_accuracy; /* NaN: none */
  double diverged_above;               /* loss / first loss */
  guint replications;
  double *rates; /* learning rates to try; at least one */
  guint n_rates;
} LsLearnSettings;

extern const LsConfigKey ls_learn_keys[];

/* Reads and checks `learn` (which must be there); NULL when there was a fault (transfer full). */
LsLearnSettings *ls_learn_settings_new (LsConfig *config, LsConfigErrors *errors);
void ls_learn_settings_free (LsLearnSettings *settings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsLearnSettings, ls_learn_settings_free)

/* What a learner needs besides the settings: the data and the problem on it. Threads may share it. */
typedef struct {
  LsDataset *data; /* NULL: none */
  guint32 *rows;   /* training rows first */
  gsize n_train, n_test;
  LsProblem *problem;
} LsLearnTask;

/* FALSE: the file of the preset named is in none of @folders. */
gboolean ls_learn_has_data (const LsLearnSettings *s, const char *const *folders);
/* Reads or makes the data. @folders (NULL-terminated) are looked through for the files of presets,
 * after $LOCKSTEP_DATA. NULL and LS_ERROR_CONFIG or LS_ERROR_IO with the place in the file
 * (transfer full). */
LsLearnTask *ls_learn_task_new (const LsLearnSettings *settings, const char *const *folders,
                                GError **error);
void ls_learn_task_free (LsLearnTask *task);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsLearnTask, ls_learn_task_free)
