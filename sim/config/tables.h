/*
 * The keys that config itself owns: the top level, and the sections of later features.
 */
#pragma once

#include "config/schema.h"

G_BEGIN_DECLS

/* lockstep, title, seed, trace and jobs. */
extern const LsConfigKey ls_config_keys[];

/* faults, campaign, study, cost: known, and refused with "not yet". */
extern const LsConfigKey ls_config_later_keys[];

G_END_DECLS
