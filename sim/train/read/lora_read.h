/* Reading adapters over what a preset gave; see lora_read.c. */
#pragma once

#include "config/config.h"
#include "train/model/models.h"

/* FALSE after adding faults. */
gboolean ls_read_lora (LsConfig *config, LsConfigErrors *errors, LsTransformer *transformer);
