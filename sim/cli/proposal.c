/* Layouts of a proposal, compared, see proposal.h. */
#include "cli/proposal.h"

#include "cli/step_time.h"

static const char *const modes[] = {"none", "selective", "full"};

typedef struct {
  const LsProposal *asked;
  guint runs[G_N_ELEMENTS (modes)]; /* simulated, by mode */
  double step_s;                    /* of the fastest; 0: none yet */
  gint64 lacking;                   /* bytes that the best of those that do not fit lacks */
  LsProposal best;
  gboolean any, fits;
} Search;

static void consider_time (Search *search, const LsProposal *it, LsScenario *scenario) {
  g_autoptr (LsSummary) summary = ls_scenario_simulate (scenario, 1, NULL);

  if (summary == NULL || (search->step_s > 0 && summary->step_time_s >= search->step_s))
    return;
  search->step_s = summary->step_time_s;
  search->best = *it;
  search->any = search->fits = TRUE;
}

/* FALSE: it does not fit, or is no legal layout. */
static gboolean try_mode (Search *search, const LsProposal *it, guint mode) {
  g_autofree char *text = ls_proposal_text (it);
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("new", text);
  LsMemoryEstimate estimate;
  gint64 lacking;

  if (!scenario->workload || ls_config_errors_any (scenario->errors))
    return FALSE;
  estimate = ls_scenario_fullest (scenario, 0);
  if (estimate.fits) {
    if (search->runs[mode]++ < LS_PROPOSAL_RUNS)
      consider_time (search, it, scenario);
    return TRUE;
  }
  lacking = estimate.reserved_bytes - estimate.capacity_bytes;
  if (!search->fits && (!search->any || lacking < search->lacking)) {
    search->best = *it;
    search->lacking = lacking;
    search->any = TRUE;
  }
  return FALSE;
}

/* With the lightest recomputation that fits: more of it only takes longer. Modes that have had their runs need no
 * look. */
static void try_layout (Search *search, gint64 tensor, gint64 pipeline, gint64 expert) {
  LsProposal it = *search->asked;
  const gint64 gpus = it.nodes * it.gpus;

  it.tensor = tensor;
  it.pipeline = pipeline;
  it.expert = expert;
  if (it.zero < 0)
    it.zero = it.tokens && gpus > tensor * pipeline ? 1 : 0;
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    if (search->asked->recompute == NULL)
      it.recompute = modes[m];
    if (try_mode (search, &it, m) || search->asked->recompute != NULL)
      return;
  }
}

/* Expert ranks are dealt from tensor x data and hold whole experts. */
static void try_experts (Search *search, gint64 tensor, gint64 pipeline) {
  const LsProposal *asked = search->asked;
  const gint64 count = asked->model->transformer.experts.count;
  const gint64 ranks = asked->nodes * asked->gpus / pipeline;

  if (count == 0 || asked->expert > 0) {
    try_layout (search, tensor, pipeline, MAX (asked->expert, 1));
    return;
  }
  for (gint64 expert = 1; expert <= MIN (count, ranks); expert++)
    if (count % expert == 0 && ranks % expert == 0)
      try_layout (search, tensor, pipeline, expert);
}

/* Powers of two whose product is `split`, or what was asked for. */
static void try_split (Search *search, gint64 split) {
  const LsProposal *asked = search->asked;
  const gint64 gpus = asked->nodes * asked->gpus;

  for (gint64 tensor = 1; tensor <= MIN (split, asked->gpus); tensor *= 2) {
    const gint64 pipeline = split / tensor;

    if ((asked->tensor > 0 && tensor != 1) || (asked->pipeline > 0 && pipeline != 1))
      continue;
    const gint64 t = asked->tensor > 0 ? asked->tensor : tensor,
                 p = asked->pipeline > 0 ? asked->pipeline : pipeline;

    if (t * p <= gpus && gpus % (t * p) == 0)
      try_experts (search, t, p);
  }
}

static void try_splits (Search *search) {
  const gint64 gpus = search->asked->nodes * search->asked->gpus;

  for (gint64 split = 1; split <= gpus && search->runs[0] < LS_PROPOSAL_RUNS; split *= 2)
    try_split (search, split);
}

char *ls_proposal_choose (LsProposal *proposal, gboolean *fits) {
  LsProposal asked = *proposal;
  Search search = {.asked = &asked};

  try_splits (&search);
  if (!search.fits && asked.zero < 0 && asked.tokens) {
    asked.zero = 3;
    try_splits (&search);
    asked.zero = -1;
  }
  if (search.any) {
    *proposal = search.best;
  } else {
    proposal->tensor = MAX (asked.tensor, 1);
    proposal->pipeline = MAX (asked.pipeline, 1);
    proposal->expert = MAX (asked.expert, 1);
    proposal->zero = MAX (asked.zero, 0);
    proposal->recompute = asked.recompute != NULL ? asked.recompute : "none";
  }
  *fits = search.fits;
  return ls_proposal_text (proposal);
}
