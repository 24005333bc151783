/* What tests of number formats share: GPT-22B on one data-parallel axis, and looks at its stage. */
#pragma once

#include "train/layer/stage.h"

#define GPT "gpt-22b"
#define H 6144
#define F (4 * H)
#define S 2048

/* One sample per rank, in the format's word, with FlashAttention 2. */
LsWorkload *precision_case_new_workload (const char *word, int stage, guint data);
const LsAccelerator *precision_case_gpu (const char *name);
/* The first block of the stage. Owned by the stage. */
const LsLayerPlan *precision_case_block (const LsStage *stage);
