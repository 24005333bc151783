/* Models from a Hugging Face config.json; see hf_read.c. */
#pragma once

#include "config/config.h"
#include "train/model/models.h"

/* The model that the file at `path` describes (transfer full); NULL after adding faults at the key `at`. */
LsModel *ls_read_hf_config (LsConfig *config, LsConfigErrors *errors, const char *at,
                            const char *path);
