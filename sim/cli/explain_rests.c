/* The numbers that a step rests on, by knob, with where they come from; see explanation.h.
 *
 * Model:   of each accelerator, link, adapter and software generation that the job's ranks use, those facts that
 *          its knob turns: peaks and ceilings of the formats it computes in, HBM, link and adapter rates with the
 *          share that is reached, and the software's times. */
#include <string.h>

#include "cli/explanation.h"

static void add (LsExplanation *x, const char *row, LsKnob knob, const LsFact *fact) {
  LsRest rest = {.row = g_strdup (row), .knob = knob, .fact = *fact};

  g_array_append_val (x->rests, rest);
  x->by_status[fact->status]++;
}

static gboolean seen (const LsExplanation *x, const char *row) {
  for (guint i = 0; i < x->rests->len; i++)
    if (g_str_equal (g_array_index (x->rests, LsRest, i).row, row))
      return TRUE;
  return FALSE;
}

/* "peak.bf16", "matmul_ceiling.bf16": of the format in which the job computes here. */
static gboolean is_of_format (const char *field, const char *stem, LsFormat format) {
  gsize n = strlen (stem);

  return strncmp (field, stem, n) == 0 && g_str_equal (field + n, ls_format_name (format));
}

static gboolean attends (const LsWorkload *workload) {
  return workload->model->kind == LS_MODEL_TRANSFORMER;
}

/* The knob that turns a fact of an accelerator; LS_N_KNOBS: none, or not in this job. */
static LsKnob knob_of (const char *field, LsFormat format, const LsWorkload *workload) {
  static const struct {
    const char *field;
    LsKnob knob;
  } plain[] = {{"vector_flops_per_s", LS_KNOB_COMPUTE}, {"matmul_sustained", LS_KNOB_COMPUTE},
               {"vector_fraction", LS_KNOB_COMPUTE},    {"depth_ramp", LS_KNOB_COMPUTE},
               {"hbm_bytes_per_s", LS_KNOB_HBM},        {"hbm_fraction", LS_KNOB_HBM},
               {"kernel_overhead", LS_KNOB_SOFTWARE},   {"collective_sms", LS_KNOB_COMPUTE},
               {"collective_slowdown", LS_KNOB_LINK},   {"network_slowdown", LS_KNOB_NIC}};
  g_autofree char *forward =
      g_strconcat ("attention_forward.", ls_attention_name (workload->attention), NULL);
  g_autofree char *backward =
      g_strconcat ("attention_backward.", ls_attention_name (workload->attention), NULL);

  for (guint i = 0; i < G_N_ELEMENTS (plain); i++)
    if (g_str_equal (field, plain[i].field))
      return plain[i].knob;
  if (is_of_format (field, "peak.", format) || is_of_format (field, "matmul_ceiling.", format) ||
      (attends (workload) && (g_str_equal (field, forward) || g_str_equal (field, backward))))
    return LS_KNOB_COMPUTE;
  return LS_N_KNOBS;
}

static void add_gpu (LsExplanation *x, const LsAccelerator *gpu, const LsWorkload *workload) {
  LsFact fact;

  if (gpu == NULL || seen (x, gpu->name))
    return;
  const LsFormat format = ls_accelerator_effective_format (gpu, workload->precision.compute, NULL);
  for (guint i = 0; ls_accelerator_fact (gpu, i, &fact); i++) {
    LsKnob knob = knob_of (fact.field, format, workload);
    if (knob != LS_N_KNOBS && fact.text == NULL)
      add (x, gpu->name, knob, &fact);
  }
}

static gboolean is_time (const LsFact *fact) {
  return fact->dimension == LS_DIMENSION_TIME;
}

static void add_link (LsExplanation *x, const LsLink *link, LsKnob knob) {
  LsFact fact;

  if (link == NULL || seen (x, link->name))
    return;
  for (guint i = 0; ls_link_fact (link, i, &fact); i++)
    if (fact.text == NULL)
      add (x, link->name, is_time (&fact) ? LS_KNOB_LATENCY : knob, &fact);
}

static void add_nic (LsExplanation *x, const LsNic *nic) {
  LsFact fact;

  if (nic == NULL || seen (x, nic->name))
    return;
  for (guint i = 0; ls_nic_fact (nic, i, &fact); i++)
    if (fact.text == NULL)
      add (x, nic->name, is_time (&fact) ? LS_KNOB_LATENCY : LS_KNOB_NIC, &fact);
}

static void add_software (LsExplanation *x, const LsWorkload *workload) {
  const LsSoftware *software = workload->software;
  LsFact fact;

  if (seen (x, software->name))
    return;
  for (guint i = 0; ls_software_fact (software, i, &fact); i++)
    if (fact.text == NULL && (is_time (&fact) || g_str_equal (fact.field, "matmul_factor") ||
                              (attends (workload) && g_str_equal (fact.field, "attention_factor"))))
      add (x, software->name, is_time (&fact) ? LS_KNOB_SOFTWARE : LS_KNOB_COMPUTE, &fact);
}

/* A single value whose text can be compared. */
static gboolean is_plain (const LsConfigKey *key) {
  switch (key->type) {
  case LS_CONFIG_STRING:
  case LS_CONFIG_WORD:
  case LS_CONFIG_INTEGER:
  case LS_CONFIG_NUMBER:
  case LS_CONFIG_QUANTITY:
  case LS_CONFIG_BOOLEAN:
    return key->default_text != NULL && key->source != NULL && key->later == NULL &&
           (key->flags & LS_CONFIG_LIST) == 0 && strchr (key->path, '*') == NULL;
  default:
    return FALSE;
  }
}

/* Keys of the job's workload that are as they would be if nobody had said anything. */
static void add_keys (LsExplanation *x, const LsScenario *scenario) {
  g_autofree char *self =
      ls_config_path ("jobs", scenario->jobs[x->job_index].name, "workload", NULL);

  for (guint i = 0; i < ls_config_schema_size (scenario->schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (scenario->schema, i);
    LsRestKey rest = {.key = key};

    if (!g_str_has_prefix (key->path, "workload.") || !is_plain (key))
      continue;
    rest.path = g_strconcat (self, key->path + strlen ("workload"), NULL);
    if (ls_config_has (scenario->config, rest.path) &&
        g_str_equal (ls_config_get_string (scenario->config, rest.path), key->default_text))
      g_array_append_val (x->keys, rest);
    else
      g_free (rest.path);
  }
}

static void key_clear (gpointer data) {
  LsRestKey *rest = data;

  g_free (rest->path);
}

static void rest_clear (gpointer data) {
  LsRest *rest = data;

  g_free (rest->row);
}

void ls_explain_rests (LsExplanation *x, const LsScenario *scenario) {
  const LsWorkload *workload = scenario->jobs[x->job_index].workload;
  const LsCluster *cluster = scenario->cluster;
  guint first_node = G_MAXUINT;
  gboolean across = FALSE;

  x->rests = g_array_new (FALSE, FALSE, sizeof (LsRest));
  g_array_set_clear_func (x->rests, rest_clear);
  for (guint rank = 0; rank < workload->layout.ranks; rank++) {
    guint node = ls_cluster_gpu_node (cluster, workload->gpu_of_rank[rank]);
    const LsNodeSpec *spec = ls_cluster_node (cluster, node);

    across = across || (first_node != G_MAXUINT && node != first_node);
    first_node = MIN (first_node, node);
    add_gpu (x, spec->gpu, workload);
    if (workload->layout.ranks > 1)
      add_link (x, spec->link, LS_KNOB_LINK);
  }
  for (guint g = 0; g < ls_cluster_n_groups (cluster) && across; g++) {
    const LsNicSet *set = ls_node_compute_nics (&ls_cluster_group (cluster, g)->node);
    add_nic (x, set != NULL ? set->nic : NULL);
  }
  add_software (x, workload);
  x->keys = g_array_new (FALSE, FALSE, sizeof (LsRestKey));
  g_array_set_clear_func (x->keys, key_clear);
  add_keys (x, scenario);
}
