/* What reading a workload from a scenario shares between its files.
 *
 * Ownership: a reader borrows all it points to but the workload, which its maker frees or returns.
 */
#pragma once

#include "train/read/workload_keys.h"

typedef struct {
  LsConfig *config;
  const LsCluster *cluster; /* NULL: faulty */
  LsConfigErrors *errors;
  LsWorkload *workload;
  gboolean fine;
} LsWorkloadReader;

/* A fault at a key; the workload is then not returned. */
void ls_reader_fault (LsWorkloadReader *r, const char *path, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
gboolean ls_reader_has (const LsWorkloadReader *r, const char *path);
/* The key, if given, has no effect for this reason. */
void ls_reader_no_effect (LsWorkloadReader *r, const char *path, const char *reason);
/* Position of the value of a WORD key among n names that the schema has checked already. */
guint ls_reader_word (LsWorkloadReader *r, const char *path, const char *(*name) (guint), guint n);

/* Does a rank run on this group of nodes? Once the layout is known. */
gboolean ls_reader_has_ranks (const LsWorkloadReader *r, guint group);
/* Have all nodes that ranks run on drives of their own? */
gboolean ls_reader_has_drives (const LsWorkloadReader *r);
/* Is the attention kernel that runs a flash kernel, on all groups or on any? */
gboolean ls_reader_runs_flash (const LsWorkloadReader *r, gboolean everywhere);

/* `workload.precision`; and, once the layout is known, what the accelerators have of these formats. */
void ls_reader_precision (LsWorkloadReader *r);
void ls_reader_check_formats (LsWorkloadReader *r);
/* `workload.precision.loss_scaling`, after the precision. */
void ls_reader_loss_scaling (LsWorkloadReader *r);
/* `workload.parallel`: sizes, order, stages; against model, sequence and cluster. */
void ls_reader_parallel (LsWorkloadReader *r);
/* What the schedule asks of the number of micro-batches. */
void ls_reader_check_schedule (LsWorkloadReader *r);
/* A workload of model.kind traffic; `seed` is the job's own. */
LsWorkload *ls_traffic_workload_new (LsConfig *config, const LsCluster *cluster, guint64 seed,
                                     LsConfigErrors *errors);
/* `workload.recompute`; and, once all else is known, its named operations and the choice of mode fit. */
void ls_reader_recompute (LsWorkloadReader *r);
void ls_reader_choose_recompute (LsWorkloadReader *r);
/* `batch.share`: fills microbatches_of. FALSE when it is not given. */
gboolean ls_reader_share (LsWorkloadReader *r);
/* "a100[0-3], h100[0-7]": the nodes of a cluster, for messages (transfer full). */
char *ls_reader_groups (const LsCluster *cluster);
/* Keys without effect in this workload; once it is whole. */
void ls_reader_unheard (LsWorkloadReader *r);
/* `workload.stop` of a run of steps. */
void ls_reader_stop (LsWorkloadReader *r);
/* What keys that are left open came to, told to the config for --explain; once the workload is whole. */
void ls_reader_settled (LsWorkloadReader *r);
/* The divisors of n, for a message; "1, 2, ... 64" when there are many (transfer full). */
char *ls_reader_divisors (guint n);
/* `zero` in this layout: groups, contradictions, keys that cannot matter. */
void ls_reader_check_zero (LsWorkloadReader *r);
