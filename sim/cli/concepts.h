/* What people learn first, beside what is simulated: the claims of `lockstep concepts` and docs/concepts.md.
 *
 * Model:      a concept is a claim with one small scenario in workloads/concepts/ (or workloads/mig/), a function that
 *             runs it as often as it needs, and rows: the textbook's figure, ours, and in `holds` when the two agree.
 *             A row with limits is checked: ours must lie within them, or `lockstep concepts` fails.
 * Ownership:  concepts are static; a run owns its rows.
 */
#pragma once

#include "cli/cli.h"
#include "cli/scenario.h"
#include "study/sensitivity.h"

G_BEGIN_DECLS

typedef struct {
  char *what;
  char *textbook; /* as it is usually said; "-": nothing */
  double simulated;
  char *text; /* `simulated` as people read it */
  gboolean good;
} LsConceptRow;

typedef struct {
  GPtrArray *rows; /* LsConceptRow */
  GError *error;   /* the first */
} LsConceptRun;

/* For the functions of concepts: sets are "path=value", ended by NULL. Errors go to the run; then NULL. */
LsScenario *ls_concept_scenario (LsConceptRun *run, const char *file, const char *const *sets);
LsSummary *ls_concept_step (LsConceptRun *run, const char *file, const char *const *sets);
/* A row whose value must lie in [low, high]. */
void ls_concept_row (LsConceptRun *run, double low, double high, double value, const char *unit,
                     const char *textbook, const char *format, ...) G_GNUC_PRINTF (7, 8);

/* concepts_hardware.c, concepts_memory.c, concepts_pipeline.c */
void ls_concept_tensor_cores (LsConceptRun *run);
void ls_concept_roofline (LsConceptRun *run);
void ls_concept_links (LsConceptRun *run);
void ls_concept_mig (LsConceptRun *run);
void ls_concept_formats (LsConceptRun *run);
void ls_concept_sixteen_bytes (LsConceptRun *run);
void ls_concept_does_not_fit (LsConceptRun *run);
void ls_concept_recompute (LsConceptRun *run);
void ls_concept_bubble (LsConceptRun *run);
void ls_concept_zero_states (LsConceptRun *run);
void ls_concept_zero_traffic (LsConceptRun *run);
void ls_concept_resharding (LsConceptRun *run);

G_END_DECLS
