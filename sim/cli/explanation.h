/* Why a step takes what it takes: what `lockstep explain` finds out, and how it says it.
 *
 * Model:      from the trace: the critical path of the job's last step by kind, axis and phase. From its scenario,
 *             simulated again: the parts of a step, the links that held transfers down, and for each knob of
 *             study/what_if.h what more of it buys (study/sensitivity.h). From the catalogues: where the numbers
 *             behind come from.
 * Ownership:  an explanation owns all it holds.
 */
#pragma once

#include "cli/scenario.h"
#include "hw/facts.h"
#include "study/sensitivity.h"
#include "trace/query_run.h"

G_BEGIN_DECLS

/* Time on the critical path of one step. */
typedef struct {
  char *kind, *axis, *phase; /* axis, phase: "" where there is none */
  gint64 operations;
  double seconds;
} LsPathGroup;

/* A number of a catalogue that this scenario's step rests on. */
typedef struct {
  char *row; /* "h100-sxm-80gb" */
  LsKnob knob;
  LsFact fact;
} LsRest;

/* A key of the workload that stands at its default. */
typedef struct {
  char *path;
  const LsConfigKey *key; /* of the scenario's schema, which must outlive it */
} LsRestKey;

typedef struct {
  char *name; /* of the trace's scenario */
  char *job;  /* NULL: the only one */
  guint n_jobs;
  guint job_index;
  double traced_s;    /* mean step of the trace; 0: none ended */
  LsSummary *summary; /* of the scenario simulated again */
  const LsSummary *of_job;
  gint64 path_step; /* of the critical path; < 0: the trace has no operations */
  GPtrArray *path;  /* LsPathGroup, longest first */
  double factor;    /* of the knobs */
  double step_s;
  LsSensitivity knobs[LS_N_KNOBS];
  LsKnob order[LS_N_KNOBS]; /* by gain */
  GArray *rests;            /* LsRest */
  guint by_status[LS_N_FACT_STATUSES];
  GArray *keys;          /* LsRestKey */
  double without_slow_s; /* the step without the scenario's stragglers; 0: there are none */
  double usd_per_s;      /* of the job's GPUs; 0: no price in the scenario */
} LsExplanation;

void ls_explanation_free (LsExplanation *explanation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsExplanation, ls_explanation_free)

/* explain_path.c: fills path and path_step. FALSE: an error. */
gboolean ls_explain_path (LsExplanation *explanation, LsTraceDatabase *database, GError **error);
/* explain_rests.c: fills rests and by_status. */
void ls_explain_rests (LsExplanation *explanation, const LsScenario *scenario);
/* explain_text.c (transfer full). */
char *ls_explain_text (const LsExplanation *explanation, gboolean verbose);
char *ls_explain_json (const LsExplanation *explanation, const GPtrArray *warnings);

G_END_DECLS
