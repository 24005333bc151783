/* The program of a rank: all of its steps, from one stage of a workload.
 *
 * Ownership: (transfer full); everything given is borrowed during the call.
 */
#pragma once

#include "train/program/builder.h"

/* `name` for the trace. LS_ERROR_RUN when the program is malformed, which is a bug. */
LsProgram *ls_rank_program_new (const LsProgramSpec *spec, LsTables *tables, const char *name,
                                GError **error);
