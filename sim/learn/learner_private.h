/* The learner's state, shared by its files. Private to sim/learn. */
#pragma once

#include "learn/learner.h"
#include "learn/piece.h"

/* Histograms of staleness count what is larger together. source: choice */
#define LS_STALENESS_BINS 4096

/* A gradient from its record until its last shard is applied or dropped. */
typedef struct {
  gint64 number;
  guint worker;
  gint64 samples;
  guint64 batch;    /* number in the worker's stream */
  guint64 position; /* samples that the worker had drawn before */
  double scale;     /* of the loss */
  gboolean computed, finite;
  guint shards_left;
  gboolean used;    /* some shard was applied */
  guint8 *done;     /* per shard */
  gint64 *versions; /* per shard, of the copy */
  LsPiece **copy;   /* per shard; NULL once let go */
  double *values;   /* once computed */
} LsGradient;

typedef struct {
  LsPiece **copy;
  LsPiece **before; /* the copy before the last local step; pieces may be NULL */
  gint64 *versions;
  guint64 batches, position; /* drawn so far */
  guint32 *order;            /* of the rows in `epoch`; NULL: not made yet */
  gint64 epoch;
  LsDescender *descender; /* of local steps; NULL: none yet */
  LsLossScale scale;
  double last_lr;
  guint64 *staleness; /* NULL: nothing applied yet */
} LsLearnWorker;

/* What an update of a shard has gathered so far. */
typedef struct {
  GPtrArray *gradients; /* LsGradient, borrowed */
} LsOpenUpdate;

struct LsLearner {
  const LsLearnSettings *settings;
  const LsLearnTask *task;
  LsLearnerOptions options;
  LsDescentSettings optimizer; /* with this learner's rate */
  LsParts *parts;
  LsWorkspace *workspace;
  gsize n;      /* parameters */
  gsize *first; /* of each shard; shards + 1 of them */
  LsPiece **server;
  gint64 *versions;
  LsDescender *descender, *outer;
  LsLossScale *scales; /* of each shard */
  double *last_lr;     /* of each shard */
  LsLearnWorker *workers;
  LsOpenUpdate *open;
  GPtrArray *pending; /* LsGradient or NULL, by number - first_pending */
  gint64 first_pending, next_gradient;
  double *mean, *scratch, *gathered; /* n each */
  double *mean_square;               /* of delay compensation; NULL: not needed */
  double *average;                   /* EMA or SWA; NULL: none */
  gint64 *averaged;                  /* parameters that went into it, per shard */
  guint32 *rows;                     /* of a mini-batch */
  gsize rows_room;
  gboolean keep_before, pairs; /* elastic policies; gossip was seen */
  gint64 pair_averages;
  double mean_tau; /* over the last updates, for the momentum correction */
  guint64 *staleness;

  /* measurements */
  GArray *results; /* LsLearnRow */
  gint64 next_evaluation;
  gint64 t_ps, samples;
  gint64 applied, dropped, skipped;
  guint64 lost;
  double tau_sum;
  gint64 tau_count, tau_max;
  LsLearnResult result;
};

/* learner_gradient.c */
LsNumber ls_learner_kept_format (const LsLearner *l);
void ls_learner_compute (LsLearner *l, LsGradient *g);
LsGradient *ls_learner_gradient_new (LsLearner *l, const LsUpdateRecord *record);
void ls_learner_gradient_free (LsGradient *g, guint shards);
LsGradient *ls_learner_pending (LsLearner *l, gint64 number);
/* The shard of a gradient is applied or dropped; frees it after its last. */
void ls_learner_settle (LsLearner *l, LsGradient *g, guint shard, gboolean applied);
double ls_learner_norm (const double *values, gsize n);
void ls_learner_clip (double *values, gsize n, double norm);
/* Rounds sums in fp32 unless all is fp64. */
void ls_learner_round_sum (const LsLearner *l, double *values, gsize n);

/* learner_apply.c */
void ls_learner_apply (LsLearner *l, const LsUpdateRecord *record);
void ls_learner_local_step (LsLearner *l, const LsUpdateRecord *record);

/* learner_mean.c */
void ls_learner_average (LsLearner *l, const LsUpdateRecord *record);
void ls_learner_elastic (LsLearner *l, const LsUpdateRecord *record);
void ls_learner_pair_average (LsLearner *l, const LsUpdateRecord *record);
void ls_learner_outer_step (LsLearner *l, const LsUpdateRecord *record);

/* learner_measure.c */
gint64 ls_learner_updates (const LsLearner *l);
void ls_learner_measure (LsLearner *l);
/* Measures when enough updates have passed; takes the server into the running mean. */
void ls_learner_updated (LsLearner *l, guint first_shard, guint end_shard);
void ls_learner_count_staleness (LsLearner *l, guint worker, gint64 tau);
