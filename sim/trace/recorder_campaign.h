/* Rows of a campaign: its failures and its phases (tables `fault` and `interval`). */
#pragma once

#include "faults/campaign.h"
#include "trace/recorder.h"

/* To be handed to ls_campaign_run(); valid as long as the recorder, and the sources' names as well. */
LsCampaignTrace ls_recorder_campaign_trace (LsRecorder *recorder, const LsFailureSource *sources);
