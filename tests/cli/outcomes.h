/* What tests that walk the schema share: the small scenarios of tests/cli/effects, the answer of a scenario as text, legal
 * values of a key.
 *
 * Model: the answer is the summary of a run (of updates: what each worker did), its memory; of a run of the program all
 *        that it prints as JSON and how many rows each table of its trace holds. What is said are faults and warnings.
 */
#pragma once

#include "cli/scenario.h"

G_BEGIN_DECLS

/* tests/cli/effects/BASE.yaml with a setting (NULL: none) on top. */
LsScenario *outcome_scenario (const char *base, const char *setting);
/* Its messages, a line each, without their places and with the short forms of keys (transfer full). */
char *outcome_said (const LsScenario *scenario);
/* What it says and answers (transfer full); NULL: it is refused. */
char *outcome_of (const LsScenario *scenario);
/* Values of a key (char *), none of them the default: other words, both truth values, numbers around the default. */
GPtrArray *outcome_values (const LsConfigKey *key);

G_END_DECLS
