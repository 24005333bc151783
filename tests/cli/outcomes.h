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
/* Does the program refuse the scenario for what it says (exit status 2)? */
gboolean outcome_is_refused (const LsScenario *scenario);
/* Values of a key (char *), none of them the default: other words, both truth values, numbers around the default. */
GPtrArray *outcome_values (const LsConfigKey *key);

/* The path of a key that begins like one of @parts, with names in place of stars; NULL: another, or a star is left (transfer
 * full). @stars: pairs ("groups.*", "groups.main"), both lists ended by NULL. */
char *outcome_path (const LsConfigKey *key, const char *const *parts,
                    const char *const (*stars)[2]);

/* What comes of a scenario with a setting (transfer full); NULL: it is refused. */
typedef char *(*OutcomeFunc) (const char *base, const char *setting);
/* Does one of the values give another outcome than @before, where one is legal at all? */
gboolean outcome_is_heard (OutcomeFunc outcome, const char *base, const char *before,
                           const char *path, const GPtrArray *values);

/* Why a key may be silent in a scenario (base NULL: in any). Lists are ended by a row without a path. */
typedef struct {
  const char *base, *path, *why;
} OutcomeInert;
/* @base NULL: in some scenario. */
gboolean outcome_may_be_silent (const OutcomeInert *inert, const char *base, const char *path);

G_END_DECLS
