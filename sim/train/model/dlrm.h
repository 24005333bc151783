/* The recommendation model of MLPerf Training v0.7 to v2.1 as a layer list (dlrm.c).
 *
 * Ownership: (transfer full).
 */
#pragma once

#include "train/model/models.h"

LsModel *ls_dlrm_new (const char *name);
