/* A cluster out of scenario text, for tests. */
#pragma once

#include "net/net.h"

typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfigBuilder *builder;
  LsConfig *config;
  LsCluster *cluster; /* NULL: it has faults */
} TestScenario;

/* Reads the shipped file (NULL: none), `text` over it (NULL: none), then the sets, ended by NULL. */
TestScenario test_scenario (const char *file, const char *text, const char *const *sets);
void test_scenario_clear (TestScenario *scenario);
/* "" when there are no faults and no warnings (transfer full). */
char *test_scenario_faults (TestScenario *scenario);
