/* What the words of the program's lists mean, in one line each, for `lockstep list`. Texts are static. */
#pragma once

#include "net/collective.h"
#include "train/vocabulary.h"
#include "train/workload/workload.h"

const char *ls_meaning_part (LsPart part);
const char *ls_meaning_kind (LsKind kind);
const char *ls_meaning_memory (LsMemoryKind kind);
const char *ls_meaning_collective (LsCollectiveOp op);
const char *ls_meaning_schedule (LsScheduleKind schedule);
const char *ls_meaning_recompute (LsRecomputeMode mode);
const char *ls_meaning_optimizer (LsOptimizerKind optimizer);
