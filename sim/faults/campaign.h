/* Campaigns: weeks or months of training with failures, checkpoints and recovery, as a coarse
 * discrete-event simulation whose steps take their time from the simulated step.
 *
 * Model:      a job needs `replicas` data-parallel replicas of `nodes_per_replica` nodes each; further
 *             nodes are spares. Components fail by their sources; a failure stops the job, slows it or
 *             is retried within the step. A stopped job loses all steps since the last durable
 *             checkpoint, is detected, gets nodes again as its policy says, restarts, restores, and
 *             goes on. Failures may strike in every phase, recovery included.
 *             Health = replicas that run, and the slow-down of the slow ones: the time of a step is
 *             asked for by health and remembered by whoever answers.
 * Definitions: ettr = time of the steps that are kept / wall time. goodput = kept tokens / (wall time x
 *             tokens per second of the healthy full allocation, spares counted in it). The waterfall
 *             splits the wall time without remainder.
 * Clock:      microseconds; steps advance it with the picoseconds that are left over carried along, so a
 *             campaign without failures is steps x step time + checkpoints, exactly.
 * Determinism: a replication depends on the seed and its own number only: any number of threads, the
 *             same bits; every source has its own random streams, so adding one leaves others' draws.
 * Cost:       O(log) per failure, repair, checkpoint and change of speed; nothing per step. Sources that
 *             are exponential cost one draw per failure, others one per component.
 *
 * Ownership: specs are borrowed; results own their arrays.
 */
#pragma once

#include <glib.h>

#include "base/distribution.h"
#include "faults/fault_words.h"

/* A campaign that ends by steps or tokens is given up after this: 100 years. */
#define LS_CAMPAIGN_LONGEST_US (G_GINT64_CONSTANT (3155760000) * 1000000)

typedef struct {
  const char *name; /* in the scenario */
  LsComponent component;
  LsFaultEffect effect;
  guint per_node;                  /* components in a node; 0: one per domain of nodes */
  guint nodes_per_domain;          /* with per_node 0; the last domain may be smaller */
  gboolean keeps_nodes;            /* the job stops but no node needs repair */
  LsDistribution lifetime, repair; /* seconds; repair with a mean, lifetime per component */
  guint crews;                     /* repairs at a time; 0: any number */
  double slow_factor;              /* SLOW: time of the node's work x this, > 1 */
  gint64 retry_us;                 /* RETRY */
  double lemon_share;  /* of components that fail `lemon_factor` times as often; exponential only */
  double lemon_factor; /* >= 1 */
} LsFailureSource;

/* What the time of a step depends on. */
typedef struct {
  guint replicas;
  guint slow;         /* replicas with a slow node */
  guint slow_percent; /* of the slowest: 150 is 1.5 times as long; 100: none */
  gboolean draining;  /* an asynchronous checkpoint is being written */
  gboolean plain;     /* without the scenario's stragglers: what goodput compares with */
} LsHealth;

typedef struct {
  gint64 blocking_us; /* training stands still */
  gint64 drain_us;    /* then until it is durable, beside training; 0: durable at once */
} LsCheckpointCost;

/* Where a checkpoint is read from. */
typedef enum {
  LS_KEPT_IN_STORAGE,
  LS_KEPT_IN_PEER, /* the lost node's shares from the memory of another node, all others as below */
  LS_KEPT_IN_HOST, /* each rank from the memory of its own host */
} LsCheckpointPlace;

/* Answers about steps and checkpoints; pure, and safe to call from several threads. */
typedef struct {
  gint64 (*step_ps) (gpointer self, const LsHealth *health); /* > 0 */
  LsCheckpointCost (*checkpoint) (gpointer self, guint replicas);
  /* A checkpoint to host memory only: training stands still. Needed with memory_interval_us. */
  gint64 (*memory_us) (gpointer self, guint replicas);
  /* Reading a checkpoint of `from` replicas into `to`. */
  gint64 (*restore_us) (gpointer self, guint from, guint to, LsCheckpointPlace place);
  gpointer self;
} LsCampaignTimes;

/* id, word, meaning. */
#define LS_RECOVERIES(X)                                                             \
  X (WAIT, "wait", "wait until the failed nodes are repaired")                       \
  X (SPARES, "spares", "swap spare nodes in; without a free one, wait for a repair") \
  X (ELASTIC, "elastic", "go on with the replicas that are whole; grow again at a checkpoint")
#define LS_ENUM_RECOVERY(id, word, meaning) LS_RECOVERY_##id,
typedef enum { LS_RECOVERIES (LS_ENUM_RECOVERY) LS_N_RECOVERIES } LsRecoveryPolicy;
const char *ls_recovery_name (LsRecoveryPolicy policy);
const char *ls_recovery_meaning (LsRecoveryPolicy policy);

typedef struct {
  guint replicas, nodes_per_replica, spares, gpus_per_node;
  guint workers_per_replica; /* data-parallel workers in one of these replicas; for the trace */
  gint64 samples_per_step;   /* of the full allocation; for the trace */
  gint64 tokens_per_step;    /* of the full allocation */
  gboolean scale_batch;      /* elastic: tokens per step shrink with the replicas; else they stay */
  guint least_replicas;      /* elastic: fewer are not worth running */
  guint n_sources;
  const LsFailureSource *sources;
  LsCampaignTimes times;
  /* Of training between checkpoints; 0: no checkpoints; first is at the start, free */
  gint64 interval_us;
  /* Of training between checkpoints to host memory; 0: none of their own */
  gint64 memory_interval_us;
  /* Each checkpoint also stays in the memory of peers: usable unless two failures overlap */
  gboolean peer_memory;
  LsRecoveryPolicy policy;
  gint64 detect_us, drain_us, swap_us, reschedule_us, restart_us;
  /* Whichever comes first; 0: no limit of this kind. */
  gint64 until_us, until_tokens, until_steps;
  guint64 seed;
  /* A replication ends where it is when this becomes non-zero; NULL: never. Its result then means nothing. */
  const volatile gint *stop;
  /* Of ls_campaign_replicate(), told from the calling thread as replications end; NULL: nobody asks. */
  void (*tell) (gpointer self, guint done, guint all);
  gpointer tell_self;
} LsCampaignSpec;

/* Where the wall time went. id, word, meaning. */
#define LS_CAMPAIGN_PARTS(X)                                                              \
  X (KEPT, "kept", "steps that are kept, as long as a healthy full allocation takes")     \
  X (SLOW, "slow", "what slow nodes, shrunk worlds and draining checkpoints add to them") \
  X (CHECKPOINT, "checkpoint", "standing still to write checkpoints")                     \
  X (LOST, "lost", "steps that were lost and had to be done again")                       \
  X (DETECT, "detect", "until a failure is noticed")                                      \
  X (DRAIN, "drain", "ending the job's processes, setting nodes aside")                   \
  X (WAIT, "wait", "for repaired nodes")                                                  \
  X (SWAP, "swap", "swapping spares in, regrouping")                                      \
  X (RESCHEDULE, "reschedule", "for the scheduler to start the job")                      \
  X (RESTART, "restart", "starting the processes again")                                  \
  X (RESTORE, "restore", "reading the checkpoint, resharding")
#define LS_ENUM_CAMPAIGN_PART(id, word, meaning) LS_CAMPAIGN_##id,
typedef enum { LS_CAMPAIGN_PARTS (LS_ENUM_CAMPAIGN_PART) LS_N_CAMPAIGN_PARTS } LsCampaignPart;
const char *ls_campaign_part_name (LsCampaignPart part);
const char *ls_campaign_part_meaning (LsCampaignPart part);

typedef struct {
  gint64 wall_us;
  gint64 parts_us
      [LS_N_CAMPAIGN_PARTS]; /* sum to wall_us; KEPT may be below kept work when shrunk worlds keep the batch */
  gint64 kept_steps, lost_steps, kept_tokens;
  guint interruptions; /* failures that stopped the job */
  guint failures;      /* of all components, spares included */
  guint checkpoints, memory_checkpoints;
  double spare_node_s; /* node-seconds of spares that were whole and idle */
  double gpu_hours;    /* spares included */
  double ettr, goodput;
  guint *failures_by_source;
  guint *interruptions_by_source;
  gint64 *lost_us_by_source; /* LOST and all from DETECT to RESTORE that it caused */
} LsReplica;

void ls_replica_clear (LsReplica *replica);

/* Who writes the trace of a replication; either may be NULL. Times in us. Faults come at the end, numbered
 * from 0 in order of time; `lost_gpu_s`: GPU-seconds of the job that each cost. */
typedef struct {
  void (*fault) (gpointer self, guint source, guint first_node, guint n_nodes, gint64 start_us,
                 gint64 end_us, double lost_gpu_s);
  /* A phase: `kind` is "train" or the word of a part; `fault`: number of the one that caused it, < 0: none. */
  void (*interval) (gpointer self, const char *kind, gint64 start_us, gint64 end_us, guint gpus,
                    guint spares_free, gint64 steps, gint64 tokens, gint64 fault);
  /* Equal steps that a durable checkpoint covers (or the end): one after another from `start_us`. */
  void (*kept) (gpointer self, gint64 start_us, gint64 end_us, gint64 steps, guint workers,
                gint64 samples);
  gpointer self;
} LsCampaignTrace;

/* One replication; `trace` may be NULL. */
void ls_campaign_run (const LsCampaignSpec *spec, guint replica, const LsCampaignTrace *trace,
                      LsReplica *result);

/* Mean and half width of its confidence interval (Student's t) over replications. */
typedef struct {
  double mean, half_width, least, greatest;
} LsEstimate;
LsEstimate ls_estimate (const double *values, guint n, double confidence);

typedef struct {
  guint n;
  LsReplica *replicas;
} LsCampaignResult;

/* At least `least` and at most `most` replications on `threads` threads, until the half width of goodput's
 * interval is below `precision` of its mean (0: exactly `least`). Stops early when *stop becomes non-zero. */
LsCampaignResult *ls_campaign_replicate (const LsCampaignSpec *spec, guint least, guint most,
                                         double precision, double confidence, guint threads,
                                         const volatile gint *stop);
void ls_campaign_result_free (LsCampaignResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCampaignResult, ls_campaign_result_free)
