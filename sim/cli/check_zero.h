/* Part of `lockstep check --memory`: ZeRO's stages side by side for one job, on the GPU that is fullest in
 * each, with the closed forms of Rajbhandari et al. 2019 (arXiv 1910.02054, section 5).
 */
#pragma once

#include "cli/json.h"
#include "cli/scenario.h"

/* Nothing for a job whose states have one owner only. */
void ls_check_zero (GString *out, const LsScenario *scenario, guint job);
/* An array `zero_stages` as a member of the open object. */
void ls_check_zero_json (LsJson *json, const LsScenario *scenario, guint job);
