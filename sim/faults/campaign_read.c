/* Reading campaign_keys.h; every fault at its place. */
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "faults/campaign_keys.h"
#include "faults/failures.h"
#include "faults/fault_presets.h"
#include "train/read/distribution_keys.h"

#define RULE_WORDS \
  { "fixed", "young", "daly", "optimal" }

const char *ls_interval_rule_name (LsIntervalRule rule) {
  static const char *const words[] = RULE_WORDS;

  LS_REQUIRE ((guint) rule < G_N_ELEMENTS (words), "rule %d", (int) rule);
  return words[rule];
}

#define WORD_OF(id, word, meaning) word,

static guint index_of (const char *const *words, guint n, const char *word) {
  for (guint i = 0; i < n; i++)
    if (strcmp (words[i], word) == 0)
      return i;
  LS_REQUIRE (FALSE, "no word %s", word);
  return 0;
}

/* A key of one source; the caller frees. */
static char *key_of (const char *name, const char *key) {
  g_autofree char *path = ls_config_path ("faults", "failures", name, NULL);

  return g_strconcat (path, ".", key, NULL);
}

static gint64 us_of_time (LsConfig *config, const char *path) {
  return (gint64) llround (ls_config_get_quantity (config, path) * 1e6);
}

static void read_scope (LsConfig *config, const char *name, const LsNodeSpec *node,
                        LsFailureSource *source) {
  g_autofree char *per_node = key_of (name, "per_node"), *domain = key_of (name, "domain");
  guint usual = ls_component_per_node (source->component, ls_node_n_physical (node));

  source->keeps_nodes = ls_component_keeps_nodes (source->component);
  if (usual > 0) {
    ls_config_no_effect (config, domain, "the component belongs to one node");
    source->per_node =
        ls_config_has (config, per_node) ? (guint) ls_config_get_int (config, per_node) : usual;
    return;
  }
  ls_config_no_effect (config, per_node, "the component belongs to no node");
  if (source->keeps_nodes) {
    ls_config_no_effect (config, domain, "the component stops the job, not nodes");
    source->nodes_per_domain = G_MAXUINT / 2;
    return;
  }
  source->nodes_per_domain = (guint) ls_config_get_int (config, domain);
}

static void read_effect (LsConfig *config, LsConfigErrors *errors, const char *name,
                         LsFailureSource *source) {
  static const char *const effects[] = {LS_FAULT_EFFECTS (WORD_OF)};
  g_autofree char *effect = key_of (name, "effect"), *factor = key_of (name, "time_factor"),
                  *retry = key_of (name, "retry");

  source->effect =
      (LsFaultEffect) index_of (effects, LS_N_EFFECTS, ls_config_get_string (config, effect));
  if (source->effect == LS_EFFECT_SLOW) {
    source->slow_factor = ls_config_get_number (config, factor);
    if (source->per_node == 0)
      ls_config_error_at (config, errors, effect,
                          "a slow %s is no node; name a component of nodes, such as gpu or host",
                          ls_component_name (source->component));
  } else
    ls_config_no_effect (config, factor, "the effect is not slow");
  if (source->effect == LS_EFFECT_RETRY)
    source->retry_us = us_of_time (config, retry);
  else
    ls_config_no_effect (config, retry, "the effect is not retry");
}

static void read_lemons (LsConfig *config, LsConfigErrors *errors, const char *name,
                         LsFailureSource *source) {
  g_autofree char *lemons = key_of (name, "lemons"), *share = key_of (name, "lemons.share"),
                  *factor = key_of (name, "lemons.factor");

  source->lemon_factor = 1;
  if (!ls_config_has (config, lemons))
    return;
  source->lemon_share = ls_config_get_quantity (config, share);
  source->lemon_factor = ls_config_get_number (config, factor);
  if (strcmp (source->lifetime.kind->name, "exponential") != 0)
    ls_config_error_at (
        config, errors, lemons,
        "lemons need exponential lifetimes, not %s: their rate is what is multiplied",
        source->lifetime.kind->name);
}

static gboolean read_times (LsConfig *config, LsConfigErrors *errors, const char *name,
                            LsFailureSource *source) {
  g_autofree char *lifetime = key_of (name, "lifetime"), *repair = key_of (name, "repair");
  gboolean good = TRUE;

  if (!ls_config_has (config, lifetime)) {
    ls_config_error_at (config, errors, lifetime,
                        "is missing; as in {dist: exponential, mean: 50000 h}");
    good = FALSE;
  } else
    good = ls_distribution_read (config, errors, lifetime, &source->lifetime);
  if (good && ls_distribution_mean (&source->lifetime) <= 0) {
    ls_config_error_at (config, errors, lifetime,
                        "a lifetime of nothing: the component would fail without end");
    good = FALSE;
  }
  if (ls_config_has (config, repair)) {
    if (!ls_distribution_read (config, errors, repair, &source->repair))
      return FALSE;
    if (!isfinite (ls_distribution_mean (&source->repair))) {
      ls_config_error_at (config, errors, repair,
                          "%s with these values has no mean, so repairs may never end",
                          source->repair.kind->name);
      good = FALSE;
    }
  } else if (ls_component_keeps_nodes (source->component))
    source->repair = ls_distribution ("constant", 1e-6, 0, 0);
  else {
    ls_config_error_at (config, errors, repair,
                        "is missing; as in {dist: lognormal, median: 4 h, sigma: 1}");
    good = FALSE;
  }
  return good;
}

static void read_source (LsConfig *config, LsConfigErrors *errors, const char *name,
                         const LsNodeSpec *node, LsCampaignPlan *plan, GArray *sources) {
  static const char *const components[] = {LS_COMPONENTS (WORD_OF)};
  g_autofree char *component = key_of (name, "component"), *crews = key_of (name, "crews");
  LsFailureSource source = {.name = g_strdup (name)};

  g_ptr_array_add (plan->names, (gpointer) source.name);
  source.component = (LsComponent) index_of (components, LS_N_COMPONENTS,
                                             ls_config_get_string (config, component));
  read_scope (config, name, node, &source);
  read_effect (config, errors, name, &source);
  if (ls_config_has (config, crews))
    source.crews = (guint) ls_config_get_int (config, crews);
  if (!read_times (config, errors, name, &source)) {
    ls_distribution_clear (&source.lifetime);
    ls_distribution_clear (&source.repair);
    return;
  }
  read_lemons (config, errors, name, &source);
  g_array_append_val (sources, source);
}

static void read_sources (LsConfig *config, LsConfigErrors *errors, const LsNodeSpec *node,
                          LsCampaignPlan *plan) {
  GArray *sources = g_array_new (FALSE, FALSE, sizeof (LsFailureSource));

  if (ls_config_has (config, "faults.preset")) {
    const LsFaultPreset *preset =
        ls_fault_preset_find (ls_config_get_string (config, "faults.preset"));
    for (guint i = 0; i < preset->n_causes; i++) {
      LsFailureSource source = ls_fault_preset_source (preset, i, ls_node_n_physical (node));
      g_array_append_val (sources, source);
    }
  }
  if (ls_config_has (config, "faults.failures")) {
    g_auto (GStrv) names = ls_config_get_names (config, "faults.failures");
    for (guint i = 0; names[i] != NULL; i++)
      read_source (config, errors, names[i], node, plan, sources);
  }
  plan->spec.n_sources = sources->len;
  plan->sources = (LsFailureSource *) (gpointer) g_array_free (sources, FALSE);
  plan->spec.sources = plan->sources;
}

static void read_until (LsConfig *config, LsConfigErrors *errors, LsCampaignSpec *spec,
                        const LsWorkload *workload) {
  if (ls_config_has (config, "campaign.until.duration"))
    spec->until_us = us_of_time (config, "campaign.until.duration");
  if (ls_config_has (config, "campaign.until.steps"))
    spec->until_steps = ls_config_get_int (config, "campaign.until.steps");
  if (ls_config_has (config, "campaign.until.tokens")) {
    spec->until_tokens = ls_config_get_int (config, "campaign.until.tokens");
    if (!ls_model_has_tokens (workload->model))
      ls_config_error_at (config, errors, "campaign.until.tokens",
                          "the model has no tokens; end by duration or steps");
  }
  if (spec->until_us == 0 && spec->until_steps == 0 && spec->until_tokens == 0)
    ls_config_error_at (config, errors, "campaign.until",
                        "says nothing; give duration, steps or tokens");
}

static void read_checkpoint (LsConfig *config, LsCampaignPlan *plan) {
  static const char *const words[] = RULE_WORDS;
  const char *rule = ls_config_get_string (config, "campaign.checkpoint.interval");

  plan->checkpoints = strcmp (rule, "none") != 0;
  plan->rule = plan->checkpoints ? (LsIntervalRule) index_of (words, G_N_ELEMENTS (words), rule)
                                 : LS_INTERVAL_FIXED;
  if (plan->checkpoints && plan->rule == LS_INTERVAL_FIXED)
    plan->interval_us = MAX (1, us_of_time (config, "campaign.checkpoint.every"));
  else
    ls_config_no_effect (config, "campaign.checkpoint.every", "the interval is not fixed");
  plan->layout =
      strcmp (ls_config_get_string (config, "campaign.checkpoint.layout"), "unified") == 0
          ? LS_CHECKPOINT_UNIFIED
          : LS_CHECKPOINT_SHARDED;
  plan->async = strcmp (ls_config_get_string (config, "campaign.checkpoint.mode"), "async") == 0;
  plan->spec.peer_memory = ls_config_get_bool (config, "campaign.checkpoint.peer_memory");
  if (!plan->checkpoints)
    ls_config_no_effect (config, "campaign.checkpoint.memory_every", "there are no checkpoints");
  else if (!ls_config_is_word (config, "campaign.checkpoint.memory_every", "none"))
    plan->spec.memory_interval_us =
        MAX (1, us_of_time (config, "campaign.checkpoint.memory_every"));
}

static void read_recovery (LsConfig *config, LsConfigErrors *errors, LsCampaignPlan *plan) {
  static const char *const policies[] = {LS_RECOVERIES (WORD_OF)};
  LsCampaignSpec *spec = &plan->spec;

  spec->policy = (LsRecoveryPolicy) index_of (
      policies, LS_N_RECOVERIES, ls_config_get_string (config, "campaign.recovery.policy"));
  spec->detect_us = us_of_time (config, "campaign.recovery.detect");
  spec->drain_us = us_of_time (config, "campaign.recovery.drain");
  spec->reschedule_us = us_of_time (config, "campaign.recovery.reschedule");
  spec->restart_us = us_of_time (config, "campaign.recovery.restart");
  spec->spares = (guint) ls_config_get_int (config, "campaign.spares.nodes");
  plan->spares_from_cluster =
      strcmp (ls_config_get_string (config, "campaign.spares.from"), "cluster") == 0;
  if (spec->policy == LS_RECOVERY_WAIT) {
    ls_config_no_effect (config, "campaign.spares.swap", "the policy is wait");
    if (spec->spares > 0)
      ls_config_error_at (config, errors, "campaign.spares.nodes",
                          "the policy is wait, which takes no spares; use recovery: spares or "
                          "elastic");
  } else
    spec->swap_us = us_of_time (config, "campaign.spares.swap");
  if (spec->policy == LS_RECOVERY_SPARES && spec->spares == 0)
    ls_config_error_at (config, errors, "campaign.recovery.policy",
                        "the policy is spares but there are none; give campaign.spares.nodes");
  if (spec->policy == LS_RECOVERY_ELASTIC) {
    spec->least_replicas = (guint) ls_config_get_int (config, "campaign.recovery.least_replicas");
    spec->scale_batch =
        strcmp (ls_config_get_string (config, "campaign.recovery.batch"), "scale") == 0;
  } else {
    ls_config_no_effect (config, "campaign.recovery.least_replicas", "the policy is not elastic");
    ls_config_no_effect (config, "campaign.recovery.batch", "the policy is not elastic");
  }
}

static void read_replications (LsConfig *config, LsCampaignPlan *plan) {
  plan->replications = plan->most_replications =
      (guint) ls_config_get_int (config, "campaign.replications");
  plan->confidence = ls_config_get_quantity (config, "campaign.confidence");
  if (ls_config_has (config, "campaign.precision")) {
    plan->precision = ls_config_get_quantity (config, "campaign.precision");
    plan->most_replications = 100 * plan->replications;
  }
}

LsCampaignPlan *ls_campaign_plan_new (LsConfig *config, LsConfigErrors *errors,
                                      const LsCluster *cluster, const LsWorkload *workload) {
  if (!ls_config_has (config, "campaign"))
    return NULL;
  g_autoptr (LsCampaignPlan) plan = g_new0 (LsCampaignPlan, 1);
  guint faults = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);
  const LsNodeSpec *node =
      ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, workload->gpu_of_rank[0]));

  plan->names = g_ptr_array_new_with_free_func (g_free);
  plan->spec.gpus_per_node = node->gpus;
  read_sources (config, errors, node, plan);
  if (!ls_config_has (config, "faults.preset") && !ls_config_has (config, "faults.failures"))
    ls_config_warning_at (config, errors, "campaign",
                          "nothing fails in this campaign; faults.preset or faults.failures say "
                          "what does ('lockstep list faults')");
  read_until (config, errors, &plan->spec, workload);
  read_checkpoint (config, plan);
  read_recovery (config, errors, plan);
  read_replications (config, plan);
  return ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) == faults ? g_steal_pointer (&plan)
                                                                          : NULL;
}

LsCampaignPlan *ls_campaign_plan_new_failures (LsConfig *config, LsConfigErrors *errors,
                                               const LsCluster *cluster,
                                               const LsWorkload *workload) {
  g_autoptr (LsCampaignPlan) plan = g_new0 (LsCampaignPlan, 1);
  guint faults = ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR);

  plan->names = g_ptr_array_new_with_free_func (g_free);
  read_sources (config, errors,
                ls_cluster_node (cluster, ls_cluster_gpu_node (cluster, workload->gpu_of_rank[0])),
                plan);
  if (plan->spec.n_sources == 0 || ls_config_errors_count (errors, LS_CONFIG_FAULT_ERROR) != faults)
    return NULL;
  return g_steal_pointer (&plan);
}

double ls_campaign_plan_rate_per_s (const LsCampaignPlan *plan, guint nodes) {
  double sum = 0;

  for (guint i = 0; i < plan->spec.n_sources; i++) {
    const LsFailureSource *source = &plan->sources[i];
    double lemons = 1 + source->lemon_share * (MAX (source->lemon_factor, 1) - 1);
    double mean_s = ls_distribution_mean (&source->lifetime);
    if (source->effect == LS_EFFECT_STOP && isfinite (mean_s))
      sum += ls_failures_components (source, nodes) * lemons / mean_s;
  }
  return sum;
}

void ls_campaign_plan_free (LsCampaignPlan *plan) {
  if (plan == NULL)
    return;
  for (guint i = 0; i < plan->spec.n_sources; i++) {
    ls_distribution_clear (&plan->sources[i].lifetime);
    ls_distribution_clear (&plan->sources[i].repair);
  }
  g_free (plan->sources);
  g_ptr_array_unref (plan->names);
  g_free (plan);
}
