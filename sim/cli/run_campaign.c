/* Campaigns from the command line; see run_campaign.h. */
#include "cli/run_campaign.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "faults/campaign_times.h"
#include "faults/interval.h"
#include "trace/recorder_campaign.h"

/* Causes that are shown to people. */
#define SHOWN_CAUSES 5

struct LsCampaignOutcome {
  const LsScenario *scenario;
  LsCampaignResult *result;
  guint states; /* healths that were simulated */
  gint64 healthy_ps;
};

typedef double (*ReplicaFunc) (const LsReplica *replica, guint i);

static LsEstimate estimate (const LsCampaignOutcome *outcome, ReplicaFunc value, guint i) {
  const LsCampaignResult *result = outcome->result;
  g_autofree double *values = g_new (double, result->n);

  for (guint r = 0; r < result->n; r++)
    values[r] = value (&result->replicas[r], i);
  return ls_estimate (values, result->n, outcome->scenario->campaign->confidence);
}

static double wall_s (const LsReplica *replica, guint i) {
  (void) i;
  return (double) replica->wall_us / 1e6;
}

static double goodput (const LsReplica *replica, guint i) {
  (void) i;
  return replica->goodput;
}

static double ettr (const LsReplica *replica, guint i) {
  (void) i;
  return replica->ettr;
}

static double interruptions (const LsReplica *replica, guint i) {
  (void) i;
  return replica->interruptions;
}

static double failures (const LsReplica *replica, guint i) {
  (void) i;
  return replica->failures;
}

static double gpu_hours (const LsReplica *replica, guint i) {
  (void) i;
  return replica->gpu_hours;
}

static double kept_tokens (const LsReplica *replica, guint i) {
  (void) i;
  return (double) replica->kept_tokens;
}

static double kept_steps (const LsReplica *replica, guint i) {
  (void) i;
  return (double) replica->kept_steps;
}

static double part_share (const LsReplica *replica, guint part) {
  return replica->wall_us > 0 ? (double) replica->parts_us[part] / (double) replica->wall_us : 0;
}

static double idle_spares (const LsReplica *replica, guint i) {
  (void) i;
  return replica->wall_us > 0 ? replica->spare_node_s / ((double) replica->wall_us / 1e6) : 0;
}

static double cause_share (const LsReplica *replica, guint source) {
  return replica->wall_us > 0
             ? (double) replica->lost_us_by_source[source] / (double) replica->wall_us
             : 0;
}

static double cause_failures (const LsReplica *replica, guint source) {
  return replica->failures_by_source[source];
}

static double cause_interruptions (const LsReplica *replica, guint source) {
  return replica->interruptions_by_source[source];
}

/* Dollars per second of job and spares; the scenario has prices. */
static double usd_per_s (const LsScenario *scenario) {
  const LsCampaignSpec *spec = &scenario->campaign->spec;

  return ls_cost_job_usd_per_s (scenario->cost, scenario->cluster, scenario->workload) +
         ls_cost_spare_usd_per_s (scenario->cost, scenario->cluster, scenario->workload) *
             spec->spares * spec->gpus_per_node;
}

/* Dollars of the mean campaign. */
static double cost_usd (const LsCampaignOutcome *outcome) {
  return usd_per_s (outcome->scenario) * estimate (outcome, wall_s, 0).mean;
}

/* --- running ---------------------------------------------------------------------------------- */

static void show (gpointer progress, guint done, guint all) {
  g_autofree char *detail = g_strdup_printf ("%u of %u replications", done, all);

  ls_progress_update (progress, (double) done / all, detail);
}

static LsCampaignResult *replicate (LsCli *cli, const LsCampaignPlan *plan) {
  g_autoptr (LsProgress) progress = ls_progress_new (cli, "campaign");
  guint threads = g_get_num_processors ();
  LsCampaignSpec spec = plan->spec;

  spec.tell = show;
  spec.tell_self = progress;
  ls_progress_update (progress, 0, NULL);
  return ls_campaign_replicate (&spec, plan->replications, plan->most_replications, plan->precision,
                                plan->confidence, threads, ls_interrupt_flag ());
}

LsCampaignOutcome *ls_campaign_outcome_new (LsCli *cli, const LsScenario *scenario,
                                            LsRecorder *recorder) {
  g_autoptr (LsCampaignOutcome) outcome = g_new0 (LsCampaignOutcome, 1);
  const LsCampaignSpec *spec = &scenario->campaign->spec;
  const LsHealth healthy = {.replicas = spec->replicas, .slow_percent = 100, .plain = TRUE};

  outcome->scenario = scenario;
  outcome->healthy_ps = spec->times.step_ps (spec->times.self, &healthy);
  outcome->result = replicate (cli, scenario->campaign);
  outcome->states = ls_step_times_n_simulated (scenario->step_times);
  if (outcome->result->n == 0)
    return NULL;
  if (recorder != NULL && scenario->cost != NULL)
    ls_recorder_set_real (recorder, "usd_per_s", usd_per_s (scenario));
  if (recorder != NULL) {
    LsReplica again;
    LsCampaignSpec recorded = *spec;
    recorded.stop = ls_interrupt_flag ();
    const LsCampaignTrace trace = ls_recorder_campaign_trace (recorder, spec->sources);
    ls_campaign_run (&recorded, 0, &trace, &again);
    ls_replica_clear (&again);
  }
  return g_steal_pointer (&outcome);
}

void ls_campaign_outcome_free (LsCampaignOutcome *outcome) {
  if (outcome == NULL)
    return;
  ls_campaign_result_free (outcome->result);
  g_free (outcome);
}

/* --- the interval ----------------------------------------------------------------------------- */

typedef struct {
  double mtti_s, cost_s, drain_s, interval_s, optimum_s;
  double share, optimum_share; /* of time that checkpoints and lost work take */
  gboolean known;
} Advice;

/* What is being written beside training is not durable yet: a failure then loses that much more. */
static double interval_share (const Advice *advice, double interval_s) {
  return 1 - ls_interval_efficiency (advice->mtti_s, advice->cost_s, 0, 0, interval_s) +
         advice->drain_s / (advice->mtti_s + advice->drain_s);
}

/* From the failures that were simulated and the cost of a checkpoint, for exponential failures. One checkpoint is durable
 * before the next begins. */
static Advice advise (const LsCampaignOutcome *outcome) {
  const LsCampaignPlan *plan = outcome->scenario->campaign;
  const LsCheckpointTimes *times = ls_step_times_checkpoint (outcome->scenario->step_times);
  double stops = estimate (outcome, interruptions, 0).mean,
         wall = estimate (outcome, wall_s, 0).mean;
  Advice advice = {.interval_s = (double) plan->spec.interval_us / 1e6,
                   .cost_s = (double) ls_checkpoint_blocking_us (times, plan->async) / 1e6,
                   .drain_s = (double) ls_checkpoint_drain_us (times, plan->async) / 1e6};

  advice.mtti_s = stops > 0 ? wall / stops : INFINITY;
  advice.known = plan->checkpoints && stops > 0 && advice.cost_s > 0;
  if (!advice.known)
    return advice;
  advice.optimum_s = MAX (ls_interval_optimal (advice.mtti_s, advice.cost_s), advice.drain_s);
  advice.share = interval_share (&advice, advice.interval_s);
  advice.optimum_share = interval_share (&advice, advice.optimum_s);
  return advice;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_estimate (LsJson *json, const char *key, LsEstimate value) {
  ls_json_open_object (json, key);
  ls_json_number (json, "mean", value.mean);
  if (isfinite (value.half_width))
    ls_json_number (json, "half_width", value.half_width);
  ls_json_number (json, "least", value.least);
  ls_json_number (json, "greatest", value.greatest);
  ls_json_close (json);
}

static void json_causes (LsJson *json, const LsCampaignOutcome *outcome) {
  const LsCampaignSpec *spec = &outcome->scenario->campaign->spec;

  ls_json_open_array (json, "causes");
  for (guint i = 0; i < spec->n_sources; i++) {
    ls_json_open_object (json, NULL);
    ls_json_string (json, "cause", spec->sources[i].name);
    ls_json_string (json, "component", ls_component_name (spec->sources[i].component));
    ls_json_number (json, "failures", estimate (outcome, cause_failures, i).mean);
    ls_json_number (json, "interruptions", estimate (outcome, cause_interruptions, i).mean);
    ls_json_number (json, "lost_share", estimate (outcome, cause_share, i).mean);
    ls_json_close (json);
  }
  ls_json_close (json);
}

static void json_checkpoint (LsJson *json, const LsCampaignOutcome *outcome) {
  const LsCampaignPlan *plan = outcome->scenario->campaign;
  const LsCheckpointTimes *times = ls_step_times_checkpoint (outcome->scenario->step_times);
  Advice advice = advise (outcome);

  if (!plan->checkpoints)
    return;
  ls_json_open_object (json, "checkpoint");
  ls_json_integer (json, "bytes", times->bytes);
  ls_json_number (json, "blocking_s",
                  (double) ls_checkpoint_blocking_us (times, plan->async) / 1e6);
  ls_json_number (json, "drain_s", (double) ls_checkpoint_drain_us (times, plan->async) / 1e6);
  ls_json_number (json, "restore_s",
                  (double) (times->read_us + times->load_us + times->spread_us) / 1e6);
  ls_json_number (json, "interval_s", advice.interval_s);
  if (advice.known) {
    ls_json_number (json, "interval_cost", advice.share);
    ls_json_number (json, "optimum_s", advice.optimum_s);
    ls_json_number (json, "optimum_cost", advice.optimum_share);
  }
  ls_json_close (json);
}

static void json_campaign (LsJson *json, const LsCampaignOutcome *outcome) {
  const LsCampaignPlan *plan = outcome->scenario->campaign;
  LsEstimate stops = estimate (outcome, interruptions, 0), wall = estimate (outcome, wall_s, 0);

  ls_json_open_object (json, "campaign");
  ls_json_integer (json, "replications", outcome->result->n);
  ls_json_number (json, "confidence", plan->confidence);
  ls_json_integer (json, "healths_simulated", outcome->states);
  json_estimate (json, "wall_s", wall);
  json_estimate (json, "goodput", estimate (outcome, goodput, 0));
  json_estimate (json, "ettr", estimate (outcome, ettr, 0));
  json_estimate (json, "failures", estimate (outcome, failures, 0));
  json_estimate (json, "interruptions", stops);
  if (stops.mean > 0)
    ls_json_number (json, "mtti_s", wall.mean / stops.mean);
  json_estimate (json, "kept_steps", estimate (outcome, kept_steps, 0));
  json_estimate (json, "kept_tokens", estimate (outcome, kept_tokens, 0));
  ls_json_number (json, "idle_spare_nodes", estimate (outcome, idle_spares, 0).mean);
  ls_json_open_object (json, "time");
  for (guint part = 0; part < LS_N_CAMPAIGN_PARTS; part++)
    ls_json_number (json, ls_campaign_part_name ((LsCampaignPart) part),
                    estimate (outcome, part_share, part).mean);
  ls_json_close (json);
  json_causes (json, outcome);
  json_checkpoint (json, outcome);
  ls_json_close (json);
}

char *ls_campaign_outcome_json (const LsCampaignOutcome *outcome, const char *summary) {
  g_autoptr (LsJson) json = ls_json_new ();
  const LsCampaignSpec *spec = &outcome->scenario->campaign->spec;

  ls_json_open_object (json, NULL);
  ls_json_number (json, "goodput", estimate (outcome, goodput, 0).mean);
  ls_json_number (json, "ettr", estimate (outcome, ettr, 0).mean);
  ls_json_number (json, "failures", estimate (outcome, failures, 0).mean);
  ls_json_number (json, "gpu_hours", estimate (outcome, gpu_hours, 0).mean);
  if (spec->until_tokens > 0)
    ls_json_number (json, "time_to_tokens_s", estimate (outcome, wall_s, 0).mean);
  if (outcome->scenario->cost != NULL)
    ls_json_number (json, "cost_usd", cost_usd (outcome));
  json_campaign (json, outcome);
  ls_json_close (json);
  g_autofree char *text = ls_json_finish (g_steal_pointer (&json));
  /* Two objects become one. */
  const char *members = strchr (text, '{') + 1, *end = strrchr (summary, '}');
  return g_strdup_printf ("%.*s, %.*s}", (int) (end - summary), summary,
                          (int) (strrchr (members, '}') - members), members);
}

/* --- for people ------------------------------------------------------------------------------- */

static void text_share (GString *out, const char *name, LsEstimate value, double confidence) {
  g_string_append_printf (out, "%-12s%.2f %%", name, 100 * value.mean);
  if (isfinite (value.half_width))
    g_string_append_printf (out, " +- %.2f (%.4g %%)", 100 * value.half_width, 100 * confidence);
}

/* Two shares that differ by what they are of: one charges spares and slow steps, the other only time. */
static void text_shares (GString *out, const LsCampaignOutcome *outcome) {
  const LsCampaignSpec *spec = &outcome->scenario->campaign->spec;
  const double confidence = outcome->scenario->campaign->confidence;
  guint nodes = spec->replicas * spec->nodes_per_replica;

  text_share (out, "goodput", estimate (outcome, goodput, 0), confidence);
  g_string_append (out, " of the tokens that all nodes would make in health");
  if (spec->spares > 0)
    g_string_append_printf (out, "; spares count, so at most %.2f %%",
                            100.0 * nodes / (nodes + spec->spares));
  text_share (out, "\nettr        ", estimate (outcome, ettr, 0), confidence);
  g_string_append (out, " of the time went to steps that are kept\n");
}

static void text_time (GString *out, const LsCampaignOutcome *outcome) {
  guint n = 0;

  g_string_append (out, "time       ");
  for (guint part = 0; part < LS_N_CAMPAIGN_PARTS; part++) {
    double share = estimate (outcome, part_share, part).mean;
    if (share >= 0.00005)
      g_string_append_printf (out, "%s %s %.2f %%", n++ > 0 ? "," : "",
                              ls_campaign_part_name ((LsCampaignPart) part), 100 * share);
  }
  g_string_append_c (out, '\n');
}

typedef struct {
  guint source;
  double share;
} Cause;

static gint by_share (gconstpointer a, gconstpointer b) {
  const Cause *x = a, *y = b;
  if (x->share > y->share || x->share < y->share)
    return x->share > y->share ? -1 : 1;
  return (x->source > y->source) - (x->source < y->source);
}

static void text_causes (GString *out, const LsCampaignOutcome *outcome) {
  const LsCampaignSpec *spec = &outcome->scenario->campaign->spec;
  g_autoptr (GArray) causes = g_array_new (FALSE, FALSE, sizeof (Cause));

  for (guint i = 0; i < spec->n_sources; i++) {
    Cause cause = {i, estimate (outcome, cause_share, i).mean};
    g_array_append_val (causes, cause);
  }
  g_array_sort (causes, by_share);
  g_string_append (out, "lost by    ");
  for (guint i = 0; i < MIN (causes->len, SHOWN_CAUSES); i++) {
    const Cause *cause = &g_array_index (causes, Cause, i);
    if (cause->share > 0)
      g_string_append_printf (out, "%s %s %.2f %%", i > 0 ? "," : "",
                              spec->sources[cause->source].name, 100 * cause->share);
  }
  g_string_append_c (out, '\n');
}

static void text_written_to (GString *out, const LsCampaignOutcome *outcome) {
  if (outcome->scenario->campaign->checkpoints)
    g_string_append_printf (out, "written to  %s\n",
                            ls_cluster_storage (outcome->scenario->cluster)->present
                                ? "cluster.storage"
                                : "the nodes' own drives; a lost node takes its shards along");
}

static void text_interval (GString *out, const LsCampaignOutcome *outcome) {
  Advice advice = advise (outcome);

  if (!advice.known)
    return;
  g_autofree char *interval = ls_quantity_format (advice.interval_s, LS_DIMENSION_TIME);
  g_autofree char *optimum = ls_quantity_format (advice.optimum_s, LS_DIMENSION_TIME);
  g_string_append_printf (
      out,
      "interval    %s costs %.2f %%; the optimum for the failures seen is %s and costs %.2f %%\n",
      interval, 100 * advice.share, optimum, 100 * advice.optimum_share);
}

/* What the time was for. */
static void text_tokens (GString *out, const LsCampaignOutcome *outcome) {
  double tokens = estimate (outcome, kept_tokens, 0).mean;
  g_autofree char *steps = ls_quantity_format_grouped (estimate (outcome, kept_steps, 0).mean);
  g_autofree char *count = ls_quantity_format (tokens, LS_DIMENSION_COUNT);

  if (tokens > 0)
    g_string_append_printf (out, "trained     %s tokens in %s steps that are kept\n", count, steps);
  else
    g_string_append_printf (out, "trained     %s steps that are kept\n", steps);
}

static void text_cost (GString *out, const LsCampaignOutcome *outcome) {
  double tokens = estimate (outcome, kept_tokens, 0).mean;

  if (outcome->scenario->cost == NULL)
    return;
  g_autofree char *all = ls_quantity_format_grouped (cost_usd (outcome));
  g_string_append_printf (out, "\ncost        %s USD", all);
  if (tokens > 0) {
    g_autofree char *each =
        ls_quantity_format (cost_usd (outcome) / tokens * 1e6, LS_DIMENSION_MONEY);
    g_string_append_printf (out, ", %s per million tokens kept", each);
  }
}

char *ls_campaign_outcome_text (const LsCampaignOutcome *outcome) {
  const LsCampaignSpec *spec = &outcome->scenario->campaign->spec;
  GString *out = g_string_new ("\n");
  LsEstimate stops = estimate (outcome, interruptions, 0), wall = estimate (outcome, wall_s, 0);
  g_autofree char *time = ls_quantity_format (wall.mean, LS_DIMENSION_TIME);

  guint nodes = spec->replicas * spec->nodes_per_replica;
  g_string_append_printf (out, "campaign    %s on %u node%s and %u spare%s, %u replication%s\n",
                          time, nodes, nodes == 1 ? "" : "s", spec->spares,
                          spec->spares == 1 ? "" : "s", outcome->result->n,
                          outcome->result->n == 1 ? "" : "s");
  g_string_append_printf (out, "recovery    %s: %s\n", ls_recovery_name (spec->policy),
                          ls_recovery_meaning (spec->policy));
  text_shares (out, outcome);
  g_string_append_printf (out, "failures    %.1f, of which %.1f stop the job",
                          estimate (outcome, failures, 0).mean, stops.mean);
  if (stops.mean > 0) {
    g_autofree char *mtti = ls_quantity_format (wall.mean / stops.mean, LS_DIMENSION_TIME);
    g_string_append_printf (out, ", one every %s", mtti);
  }
  g_string_append_c (out, '\n');
  text_time (out, outcome);
  if (stops.mean > 0)
    text_causes (out, outcome);
  text_written_to (out, outcome);
  text_interval (out, outcome);
  text_tokens (out, outcome);
  g_autofree char *hours = ls_quantity_format_grouped (estimate (outcome, gpu_hours, 0).mean);
  g_string_append_printf (out, "GPU hours   %s", hours);
  if (spec->spares > 0)
    g_string_append_printf (out, ", %.2f spare nodes idle on average",
                            estimate (outcome, idle_spares, 0).mean);
  text_cost (out, outcome);
  g_string_append_printf (out, "\n            steps of %u state%s of health were simulated\n",
                          outcome->states, outcome->states == 1 ? "" : "s");
  return g_string_free (out, FALSE);
}
