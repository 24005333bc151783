/* `check --checkpoint`: size, time and traffic of the kinds of checkpoint of a scenario's job. */
#pragma once

#include "cli/scenario.h"

G_BEGIN_DECLS

/* A table, or a JSON document (transfer full). The scenario has one job that trains. */
char *ls_check_checkpoint (const LsScenario *scenario, gboolean json);

G_END_DECLS
