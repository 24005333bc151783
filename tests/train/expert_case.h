/* The small mixture of experts that tests of experts share: 4 blocks of 512, the first dense; 8 experts of 256, two per
 * token, one shared; latent attention; samples of 512 tokens. */
#pragma once

#include "train/layer/stage.h"

#define H 512
#define SEQ 512

LsModel *expert_case_new_model (void);

/* One sample per data rank, on tensor x data GPUs. */
LsWorkload *expert_case_new_workload (guint tensor, guint data, guint expert, guint expert_tensor);

/* The first layer of the stage that has experts; NULL: none has. Owned by the stage. */
const LsLayerPlan *expert_case_block (const LsStage *stage);
