/* The algorithms of collectives as a registry: what help, documents, tests and the choice iterate.
 *
 * An algorithm turns an operation on a group into runs of rounds (rounds.h). To add one: an entry in
 * LS_COLLECTIVE_ALGORITHMS and a record here.
 */
#pragma once

#include "net/collective.h"
#include "net/rounds.h"

typedef struct {
  LsAlgorithm id;
  const char *name;
  const char *summary;
  const char *formula; /* all-reduce or its main operation, on one switch of equal ports */
  const char *source;
  gboolean (*applies) (const LsGroupShape *shape, LsCollectiveOp op);
  /* Writes at most LS_MAX_RUNS runs; returns how many. Group of two members or more. */
  guint (*runs) (const LsGroupShape *shape, LsCollectiveOp op, LsRun *runs);
} LsAlgorithmRecord;

guint ls_algorithm_count (void);
const LsAlgorithmRecord *ls_algorithm_get (guint i);
/* NULL for LS_ALGORITHM_AUTO. */
const LsAlgorithmRecord *ls_algorithm_find (LsAlgorithm id);
