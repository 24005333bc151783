/* Reading mixtures of experts and latent attention over what a preset gave; see experts_read.c. */
#pragma once

#include "config/config.h"
#include "train/model/models.h"

/* FALSE after adding faults. */
gboolean ls_read_experts (LsConfig *config, LsConfigErrors *errors, LsTransformer *transformer);
gboolean ls_read_latent (LsConfig *config, LsConfigErrors *errors, LsTransformer *transformer);
