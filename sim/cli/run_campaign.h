/* `lockstep run` for a scenario with `campaign:`: after the step, the months made of such steps. */
#pragma once

#include "cli/scenario.h"
#include "trace/recorder.h"

G_BEGIN_DECLS

typedef struct LsCampaignOutcome LsCampaignOutcome;

/* Replications of the scenario's campaign; rows of the first go to `recorder` (NULL: nowhere). NULL when
 * it was interrupted before the first was complete. */
LsCampaignOutcome *ls_campaign_outcome_new (LsCli *cli, const LsScenario *scenario,
                                            LsRecorder *recorder);
void ls_campaign_outcome_free (LsCampaignOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsCampaignOutcome, ls_campaign_outcome_free)

/* `summary` with the campaign's keys added, an object on one line (transfer full). */
char *ls_campaign_outcome_json (const LsCampaignOutcome *outcome, const char *summary);
/* What people read below the summary of the step (transfer full). */
char *ls_campaign_outcome_text (const LsCampaignOutcome *outcome);

G_END_DECLS
