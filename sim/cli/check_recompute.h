/* `lockstep check --recompute-curve`: peak memory against extra compute when activations are kept every k
 * layers, beside the textbook's law.
 *
 * Ownership: text is (transfer full).
 */
#pragma once

#include "cli/json.h"
#include "cli/scenario.h"

/* Of one job, on the stage that is fullest. */
void ls_check_recompute (GString *out, const LsScenario *scenario, guint job);
void ls_check_recompute_json (LsJson *json, const LsScenario *scenario, guint job);
