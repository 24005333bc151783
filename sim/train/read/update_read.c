/* Reading `workload.update` and timed workers: values, then what contradicts what.
 *
 * A run is one of updates (update_run.h) when its model is timed, its policy is another than sync, or
 * sync goes through servers; all else is steps of all ranks, as before.
 */
#include <string.h>

#include "base/assert.h"
#include "base/time.h"
#include "train/read/distribution_keys.h"
#include "train/read/update_keys.h"

#define W "workload."
#define U W "update."
#define MODEL W "model."

/* --- servers ---------------------------------------------------------------------------------- */

static gboolean find_group (const LsCluster *cluster, const char *name, gsize length,
                            guint *group) {
  for (guint g = 0; g < ls_cluster_n_groups (cluster); g++) {
    const char *own = ls_cluster_group (cluster, g)->name;
    if (strlen (own) == length && strncmp (own, name, length) == 0) {
      *group = g;
      return TRUE;
    }
  }
  return FALSE;
}

/* "ps[0-3]", "ps[2]", "ps": appends node numbers. */
static void read_nodes (LsWorkloadReader *r, const char *path, GArray *nodes) {
  const char *text = ls_config_get_string (r->config, path);
  const char *bracket = strchr (text, '[');
  gsize length = bracket != NULL ? (gsize) (bracket - text) : strlen (text);
  guint group = 0;
  guint64 first = 0, last;

  if (!find_group (r->cluster, text, length, &group)) {
    ls_reader_fault (r, path, "'%s': the cluster has no group of nodes of that name", text);
    return;
  }
  const LsNodeGroup *of = ls_cluster_group (r->cluster, group);
  last = of->nodes - 1;
  if (bracket != NULL) {
    char *end = NULL;
    first = last = g_ascii_strtoull (bracket + 1, &end, 10);
    gboolean good = end != bracket + 1;
    if (good && *end == '-') {
      const char *second = end + 1;
      last = g_ascii_strtoull (second, &end, 10);
      good = end != second;
    }
    if (!good || strcmp (end, "]") != 0 || last < first) {
      ls_reader_fault (r, path, "'%s' is no name of nodes; write %s[0] or %s[0-%u]", text, of->name,
                       of->name, of->nodes - 1);
      return;
    }
  }
  if (last >= of->nodes) {
    ls_reader_fault (r, path, "'%s': %s has nodes 0 to %u", text, of->name, of->nodes - 1);
    return;
  }
  for (guint64 i = first; i <= last; i++) {
    guint node = of->first_node + (guint) i;
    g_array_append_val (nodes, node);
  }
}

static void read_servers (LsWorkloadReader *r) {
  LsUpdatePlan *plan = &r->workload->update;
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  guint n = ls_config_get_length (r->config, U "servers.nodes");

  plan->spec.shards = 1;
  plan->overhead_ps = ls_config_is_word (r->config, U "servers.overhead", "auto")
                          ? -1
                          : ls_config_get_time_ps (r->config, U "servers.overhead");
  if (!ls_reader_has (r, U "servers")) {
    ls_reader_no_effect (r, U "servers.overhead", "there are no servers");
    return;
  }
  for (guint i = 0; i < n; i++) {
    g_autofree char *path = g_strdup_printf (U "servers.nodes.%u", i);
    read_nodes (r, path, nodes);
  }
  if (n == 0)
    ls_reader_fault (r, U "servers",
                     "nodes is missing; name a node whose host is the server, as "
                     "in main[0]");
  plan->spec.shards = ls_reader_has (r, U "servers.shards")
                          ? (guint) ls_config_get_int (r->config, U "servers.shards")
                          : MAX (nodes->len, 1);
  plan->n_server_nodes = nodes->len;
  plan->server_nodes = (guint *) (gpointer) g_array_free (g_steal_pointer (&nodes), FALSE);
  for (guint i = 0; i < plan->n_server_nodes && plan->network; i++)
    if (ls_node_compute_nics (ls_cluster_node (r->cluster, plan->server_nodes[i])) == NULL &&
        ls_cluster_n_nodes (r->cluster) > 1)
      ls_reader_fault (r, U "servers.nodes", "a server has no network adapter");
}

/* --- keys of the policy ----------------------------------------------------------------------- */

static gboolean takes (const LsUpdatePlan *plan, LsUpdateKey key) {
  return (plan->spec.policy->keys & 1u << key) != 0;
}

static gint64 read_or_none (LsWorkloadReader *r, const char *path) {
  if (!ls_reader_has (r, path) || ls_config_is_word (r->config, path, "none"))
    return -1;
  return ls_config_get_int (r->config, path);
}

static void refuse_other_keys (LsWorkloadReader *r) {
  const LsUpdatePlan *plan = &r->workload->update;

  for (guint key = 0; key < LS_N_UPDATE_KEYS; key++) {
    g_autofree char *path = g_strconcat (U, ls_update_key_name ((LsUpdateKey) key), NULL);
    g_autofree char *reason = g_strdup_printf ("%s does not take it", plan->spec.policy->name);
    if (!takes (plan, (LsUpdateKey) key))
      ls_reader_no_effect (r, path, reason);
  }
}

static void read_policy_keys (LsWorkloadReader *r) {
  LsUpdatePlan *plan = &r->workload->update;
  LsUpdateSpec *spec = &plan->spec;
  const char *name = spec->policy->name;

  spec->k = 1;
  spec->local_steps = 1;
  spec->staleness_bound = spec->discard_above = -1;
  refuse_other_keys (r);
  if (takes (plan, LS_UPDATE_KEY_K)) {
    if (!ls_reader_has (r, U "k"))
      ls_reader_fault (r, U "policy", "%s needs update.k, the gradients per update", name);
    else if (ls_config_get_int (r->config, U "k") > spec->workers)
      ls_reader_fault (r, U "k", "%" G_GINT64_FORMAT " is more than the %u workers",
                       ls_config_get_int (r->config, U "k"), spec->workers);
    else
      spec->k = (guint) ls_config_get_int (r->config, U "k");
  }
  if (takes (plan, LS_UPDATE_KEY_LOCAL_STEPS))
    spec->local_steps = ls_config_get_int (r->config, U "local_steps");
  if (takes (plan, LS_UPDATE_KEY_BOUND)) {
    if (!ls_reader_has (r, U "staleness_bound"))
      ls_reader_fault (r, U "policy", "%s needs update.staleness_bound, in iterations (or none)",
                       name);
    spec->staleness_bound = read_or_none (r, U "staleness_bound");
  }
  if (takes (plan, LS_UPDATE_KEY_DISCARD))
    spec->discard_above = read_or_none (r, U "discard_above");
  if (takes (plan, LS_UPDATE_KEY_SYNC_EVERY))
    spec->sync_every = MAX (0, read_or_none (r, U "sync_every"));
  spec->reply_ack = takes (plan, LS_UPDATE_KEY_REPLY) &&
                    strcmp (ls_config_get_string (r->config, U "reply"), "ack") == 0;
}

static void check_needs (LsWorkloadReader *r) {
  LsUpdatePlan *plan = &r->workload->update;
  const LsUpdatePolicy *policy = plan->spec.policy;
  gboolean servers = plan->n_server_nodes > 0;

  plan->spec.collective =
      policy->needs == LS_NEEDS_COLLECTIVES || (policy->needs == LS_NEEDS_EITHER && !servers);
  if (policy->needs == LS_NEEDS_SERVERS && !servers && !ls_reader_has (r, U "servers") &&
      plan->network && plan->push_bytes > 0)
    ls_reader_fault (r, U "policy",
                     "%s needs servers: give update.servers.nodes, or update.network: none",
                     policy->name);
  if ((policy->needs == LS_NEEDS_COLLECTIVES || policy->needs == LS_NEEDS_PEERS) && servers)
    ls_reader_no_effect (r, U "servers.nodes", "this policy has no server");
  if (policy->needs == LS_NEEDS_COLLECTIVES || policy->needs == LS_NEEDS_PEERS) {
    plan->spec.shards = 1;
    plan->n_server_nodes = 0;
  }
  if (plan->spec.collective)
    ls_reader_no_effect (r, U "reply", "there are no servers");
  if (policy->needs == LS_NEEDS_PEERS && plan->spec.workers < 2)
    ls_reader_fault (r, U "policy", "%s needs two workers", policy->name);
}

static void read_tokens (LsUpdateSpec *spec, gint64 samples) {
  spec->stop_samples = spec->stop_samples < 0 ? samples : MIN (spec->stop_samples, samples);
}

/* Only in a run of updates. */
static void read_stop (LsWorkloadReader *r) {
  LsUpdateSpec *spec = &r->workload->update.spec;
  gboolean any = FALSE;

  spec->stop_updates = spec->stop_samples = spec->stop_ps = -1;
  if (ls_reader_has (r, W "stop.updates"))
    spec->stop_updates = ls_config_get_int (r->config, W "stop.updates");
  if (ls_reader_has (r, W "stop.samples"))
    spec->stop_samples = ls_config_get_int (r->config, W "stop.samples");
  if (ls_reader_has (r, W "stop.tokens")) {
    const gint64 tokens = ls_config_get_int (r->config, W "stop.tokens");

    if (r->workload->update.timed || r->workload->model->kind != LS_MODEL_TRANSFORMER)
      ls_reader_no_effect (r, W "stop.tokens", "samples have no tokens here; stop.samples counts");
    else
      read_tokens (spec, (tokens - 1) / r->workload->seq_len + 1);
  }
  if (ls_reader_has (r, W "stop.time"))
    spec->stop_ps = ls_config_get_time_ps (r->config, W "stop.time");
  any = spec->stop_updates >= 0 || spec->stop_samples >= 0 || spec->stop_ps >= 0;
  if (any && !ls_reader_has (r, W "stop.steps")) {
    ls_reader_no_effect (r, W "stop.steps", "another end of the run is given");
    return;
  }
  gint64 samples = ls_config_get_int (r->config, W "stop.steps") * spec->workers * spec->samples;
  spec->stop_samples = spec->stop_samples < 0 ? samples : MIN (spec->stop_samples, samples);
}

static void no_stop (LsWorkloadReader *r) {
  static const char *const keys[] = {W "stop.updates", W "stop.samples", W "stop.time"};

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    ls_reader_no_effect (r, keys[i], "a run of synchronous steps counts steps");
}

static void read_plan (LsWorkloadReader *r, gint64 parameters) {
  LsUpdatePlan *plan = &r->workload->update;
  const LsPrecision *p = &r->workload->precision;

  plan->network = strcmp (ls_config_get_string (r->config, U "network"), "none") != 0;
  plan->push_bytes = parameters * ls_format_bytes (p->communication);
  plan->model_bytes = parameters * ls_format_bytes (p->parameters);
  if (plan->spec.policy->local)
    plan->push_bytes = plan->model_bytes;
  plan->step_bytes = (double) parameters * ls_workload_optimizer_traffic (r->workload);
  if (plan->spec.policy->elastic)
    plan->step_bytes = (double) (2 * plan->model_bytes);
  plan->spec.skip_away = strcmp (ls_config_get_string (r->config, U "away"), "skip") == 0;
  read_servers (r);
  read_policy_keys (r);
  check_needs (r);
  read_stop (r);
}

/* --- timed workers ---------------------------------------------------------------------------- */

LsModel *ls_update_read_timed_model (LsConfig *config, LsConfigErrors *errors) {
  LsDistribution compute = {0};
  LsModel *model;

  if (!ls_config_has (config, MODEL "compute")) {
    ls_config_error_at (config, errors, W "model",
                        "a timed model needs compute, the distribution of a step's time");
    return NULL;
  }
  if (!ls_config_has (config, MODEL "parameters")) {
    ls_config_error_at (config, errors, W "model",
                        "a timed model needs parameters (0: nothing travels)");
    return NULL;
  }
  gboolean good = ls_distribution_read (config, errors, MODEL "compute", &compute);
  ls_distribution_clear (&compute);
  if (!good)
    return NULL;
  model = ls_model_new_layers ("timed");
  model->kind = LS_MODEL_TIMED;
  model->timed_parameters = ls_config_get_int (config, MODEL "parameters");
  return model;
}

static guint group_of_worker (const LsWorkloadReader *r, guint worker) {
  return ls_cluster_node_group (r->cluster,
                                ls_cluster_gpu_node (r->cluster, r->workload->gpu_of_rank[worker]));
}

static void read_factors (LsWorkloadReader *r) {
  LsUpdatePlan *plan = &r->workload->update;
  guint n = plan->spec.workers, given = ls_config_get_length (r->config, MODEL "time_factors");
  g_auto (GStrv) groups = ls_config_get_names (r->config, MODEL "time_factor_by_group");

  plan->factors = g_new (double, n);
  for (guint w = 0; w < n; w++)
    plan->factors[w] = 1;
  if (given > 0 && given != n)
    ls_reader_fault (r, MODEL "time_factors", "%u factors for %u workers", given, n);
  for (guint w = 0; w < n && given == n; w++) {
    g_autofree char *path = g_strdup_printf (MODEL "time_factors.%u", w);
    plan->factors[w] = ls_config_get_number (r->config, path);
  }
  for (guint i = 0; groups[i] != NULL; i++) {
    g_autofree char *path =
        ls_config_path ("workload", "model", "time_factor_by_group", groups[i], NULL);
    double factor = ls_config_get_number (r->config, path);
    guint group = 0;
    if (!find_group (r->cluster, groups[i], strlen (groups[i]), &group)) {
      ls_reader_fault (r, path, "the cluster has no group of nodes of that name");
      continue;
    }
    for (guint w = 0; w < n; w++)
      if (group_of_worker (r, w) == group)
        plan->factors[w] *= factor;
  }
}

void ls_update_read_timed (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  LsUpdatePlan *plan = &w->update;

  plan->active = plan->timed = TRUE;
  plan->spec.policy = ls_update_policy_find (ls_config_get_string (r->config, U "policy"));
  plan->spec.workers = w->layout.data;
  plan->spec.samples = ls_reader_has (r, W "batch.per_worker")
                           ? ls_config_get_int (r->config, W "batch.per_worker")
                           : 1;
  w->micro_batch = plan->spec.samples;
  w->global_batch = plan->spec.samples * plan->spec.workers;
  if (!r->fine)
    return;
  r->fine = ls_distribution_read (r->config, r->errors, MODEL "compute", &plan->compute);
  read_factors (r);
  read_plan (r, w->model->timed_parameters);
}

/* --- replicas --------------------------------------------------------------------------------- */

/* Experts, or embedding tables, that workers share among each other keep them in step: a worker has its own. */
static void check_experts (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const char *policy = w->update.spec.policy->name;
  LsLayout alone = w->layout;

  alone.data = 1;
  if (w->layout.data <= 1 || ls_layout_experts_fit (&alone))
    return;
  if (ls_model_table_parameters (w->model) > 0)
    ls_reader_fault (r, U "policy",
                     "the embedding tables are dealt over all ranks, which are in step; %s cannot "
                     "train them",
                     policy);
  else
    ls_reader_fault (r, W "parallel.expert",
                     "workers of %s do not share their experts: the replicas are not in step; "
                     "expert %u x expert_tensor %u must divide tensor x context = %u",
                     policy, alone.expert, ls_layout_size (&alone, LS_AXIS_EXPERT_TENSOR),
                     alone.tensor * alone.context);
}

static void check_replicas (LsWorkloadReader *r) {
  const LsWorkload *w = r->workload;
  const LsUpdatePolicy *policy = w->update.spec.policy;

  check_experts (r);

  if (policy->due != NULL && !policy->all)
    ls_reader_fault (
        r, U "policy",
        "%s ends steps in their middle, which the programs of a %s cannot; use model.kind "
        "timed, or k-async",
        policy->name, w->model->kind == LS_MODEL_TRANSFORMER ? "transformer" : "network");

  if (w->zero.stage > 0 && w->layout.data > 1)
    ls_reader_fault (r, W "zero.stage",
                     "workers of %s do not share their states: the replicas are not in step; use "
                     "zero.stage 0",
                     w->update.spec.policy->name);
}

/* per_worker over all of batch.global. */
static void read_samples (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  LsUpdateSpec *spec = &w->update.spec;

  if (ls_reader_has (r, W "batch.per_worker")) {
    if (ls_reader_has (r, W "batch.global"))
      ls_reader_fault (r, W "batch.per_worker", "batch.global is given too; drop one of the two");
    spec->samples = ls_config_get_int (r->config, W "batch.per_worker");
    w->global_batch = spec->samples * w->layout.data;
    if (spec->samples % w->micro_batch != 0)
      ls_reader_fault (r, W "batch.per_worker",
                       "%" G_GINT64_FORMAT " is no multiple of micro-batch %" G_GINT64_FORMAT,
                       spec->samples, w->micro_batch);
    return;
  }
  spec->samples = w->global_batch / MAX (1, w->layout.data);
}

void ls_update_read (LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  LsUpdatePlan *plan = &w->update;

  plan->spec.policy = ls_update_policy_find (ls_config_get_string (r->config, U "policy"));
  plan->active = strcmp (plan->spec.policy->name, "sync") != 0 || ls_reader_has (r, U "servers");
  plan->spec.workers = w->layout.data;
  if (!plan->active) {
    refuse_other_keys (r);
    ls_reader_no_effect (r, U "reply", "there are no servers");
    ls_reader_no_effect (r, U "servers.overhead", "there are no servers");
    ls_reader_no_effect (r, U "network", "steps of all ranks always use the cluster's links");
    ls_reader_no_effect (r, W "batch.per_worker", "a synchronous step has batch.global");
    no_stop (r);
    return;
  }
  read_samples (r);
  if (r->cluster == NULL)
    return;
  check_replicas (r);
  read_plan (r, ls_model_trained_parameters (w->model));
}
