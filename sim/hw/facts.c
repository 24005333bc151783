/* Provenance of numbers: the words of a status. */
#include "hw/facts.h"

#include "base/assert.h"

static const struct {
  const char *word;
  const char *meaning;
} statuses[] = {
#define LS_FACT_STATUS_ROW(id, word, meaning) [LS_FACT_##id] = {word, meaning},
    LS_FACT_STATUSES (LS_FACT_STATUS_ROW)
#undef LS_FACT_STATUS_ROW
};

const char *ls_fact_status_name (LsFactStatus status) {
  LS_REQUIRE (status < LS_N_FACT_STATUSES, "status %d", (int) status);
  return statuses[status].word;
}

const char *ls_fact_status_meaning (LsFactStatus status) {
  LS_REQUIRE (status < LS_N_FACT_STATUSES, "status %d", (int) status);
  return statuses[status].meaning;
}
