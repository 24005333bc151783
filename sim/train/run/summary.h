/* The summary of a run: the numbers of `run --json`, and the same on one screen for people.
 *
 * Model:      step_time_s is the mean over the steps that ended; the time breakdown is the mean over
 *             ranks and those steps and sums to it. p50 and p99 are nearest-rank percentiles.
 *             mfu = model FLOPs / (step time x ranks x peak), attention in full and no recompute;
 *             hfu adds what is run again, in the same convention.
 *             source: PaLM (Chowdhery et al. 2022), appendix B.
 *             Memory is that of the GPU with the least room left, from the ledger of the run.
 *             communication_bytes_per_gpu: sent per step, mean over ranks.
 *             With several jobs each has a summary of its own, and what stands above them is of the
 *             whole run: GPUs, ended steps, the time from 0 to the end of the last step, the memory of
 *             the fullest GPU of all. Ranks are those of the run, across jobs.
 * Invariants: a key that does not apply is absent, never zero.
 *
 * Ownership: a summary owns its strings and lists.
 */
#pragma once

#include "train/memory/memory.h"
#include "train/run/bottlenecks.h"
#include "train/run/simulation.h"
#include "train/run/slowdown.h"

typedef struct {
  gint64 peak_bytes;           /* allocated */
  gint64 by_kind[LS_N_MEMORY]; /* at the peak; sum to it */
  gint64 reserved_bytes, capacity_bytes;
  gboolean fits;
  guint rank;
  gint64 host_bytes,
      host_capacity_bytes; /* of the rank that offloads most; its share of the host */
  gint64 drives_bytes, drives_capacity_bytes; /* the same of its node's drives */
} LsMemorySummary;

/* A traffic job: an operation is what all its groups do in a step, without the gap before it. */
typedef struct {
  const char *operation; /* NULL: the job trains */
  const char *pattern;   /* of messages, else NULL */
  gint64 size_bytes;
  guint groups, group_size;
  double time_s, time_p50_s, time_p99_s;
  double algbw_bytes_per_s, busbw_bytes_per_s; /* as nccl-tests count, at the mean time */
  double sent_bytes;                           /* by all ranks, per operation */
} LsTrafficSummary;

typedef struct LsSummary LsSummary;
struct LsSummary {
  char *version;      /* of the program; NULL: absent */
  char *trace;        /* path; NULL: null */
  gint64 trace_bytes; /* of that file, closed; 0: not known */
  char *title;        /* of the scenario, for people; NULL: none */
  guint64 seed;
  char *name;            /* of the job; NULL: of the whole run */
  guint gpus, gpus_idle; /* that ranks run on; that none does */
  guint instances;       /* of both together that are parts of a GPU (MIG); of the whole run */
  guint steps;           /* ended */
  double start_s, end_s; /* of the job or run; to the end of the last step */
  guint n_jobs;          /* 0: one job, to which all below belongs */
  LsSummary **jobs;      /* with several: one each, and nothing below but memory and totals */
  double step_time_s, step_time_p50_s, step_time_p99_s;
  LsTrafficSummary traffic;
  double usd_per_s; /* price of the GPUs, set by the caller; 0: not known */
  double cost_usd;  /* of all that was simulated; 0: not known */
  gboolean has_tokens;
  double tokens_per_s, tokens_per_s_per_gpu, samples_per_s;
  /* What loaders decode at most, with all threads or cores; 0: nothing is decoded. Below samples_per_s the run lived on
   * what was ready at its start, and a longer one waits. */
  double decoded_samples_per_s;
  double model_tflops_per_gpu, hardware_tflops_per_gpu, peak_tflops_per_gpu;
  double mfu, hfu;
  /* Of the peak: what runs where `precision` asks for more than a GPU can; "bf16 and fp8_e4m3". */
  char *format;
  gboolean scaled; /* the loss: then these apply */
  guint skipped_steps;
  double loss_scale; /* after the last step */
  double parts_s[LS_N_PARTS];
  gboolean applies[LS_N_PARTS]; /* parts that this scenario can have */
  LsMemorySummary memory;
  char *memory_verdict; /* NULL: it fits */
  char *recompute;      /* what mode fit chose; NULL: another mode */
  double communication_bytes_per_gpu;
  LsSlowdown stragglers;  /* known with stragglers only, when ls_summary_compare() was called */
  GPtrArray *bottlenecks; /* of LsBottleneck, the first ones; of the job's transfers or all */
  /* What the simulation took (fewer where nobody records single kernels), and what it simulated */
  guint64 events, operations;
  double wall_s;
  GPtrArray *warnings; /* of char * */
};

/* Of a run with at least one ended step, complete or interrupted. */
LsSummary *ls_summary_new (LsSimulation *simulation);
/* Adds what stragglers cost: `without` is the same run without them. */
void ls_summary_compare (LsSummary *summary, LsSimulation *with, LsSimulation *without);
void ls_summary_free (LsSummary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsSummary, ls_summary_free)

/* JSON object on one line without a final newline; numbers read back as the same double (transfer full). */
char *ls_summary_to_json (const LsSummary *summary);
/* The object of one job of several in there. */
char *ls_summary_job_to_json (const LsSummary *job);
/* At most 24 lines of 80 columns (per job of several), each ending in a newline (transfer full). */
char *ls_summary_to_text (const LsSummary *summary);
