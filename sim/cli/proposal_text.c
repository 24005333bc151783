/* A proposal as commented YAML, see proposal.h. */
#include "cli/proposal.h"

#include "train/workload/workload_words.h"

static void append_head (GString *yaml, const LsProposal *it) {
  g_string_append (yaml, "# Made by `lockstep new`. Every key: docs/scenario.md, or "
                         "`lockstep check FILE --explain KEY`.\n"
                         "lockstep: 1\n");
  const gboolean whole = it->gpus == it->node->gpus;
  g_autofree char *part =
      whole ? g_strdup_printf ("%d x", (int) it->nodes)
            : g_strdup_printf ("%d GPU%s of a", (int) it->gpus, it->gpus == 1 ? "" : "s");
  g_autofree char *node =
      whole ? g_strdup (it->node->name)
            : g_strdup_printf ("{preset: %s, gpus: %d}", it->node->name, (int) it->gpus);

  g_string_append_printf (yaml, "title: %s on %s %s\n\n", it->model->name, part, it->node->name);
  g_string_append_printf (yaml, "cluster:\n  nodes: %d\n", (int) it->nodes);
  g_string_append_printf (yaml, "  node: %-16s # %d x %s; `lockstep list nodes` shows others\n",
                          node, (int) it->gpus, it->node->gpu);
  g_string_append (yaml, "  # fabric: {kind: fat-tree, oversubscription: 2}   # without it, the "
                         "network never blocks\n\n");
}

static void append_batch (GString *yaml, const LsProposal *it) {
  g_string_append_printf (
      yaml, "  batch:\n    global: %-12d # samples per step over all replicas\n", (int) it->batch);
  g_string_append_printf (
      yaml, "    micro: %-13d # samples per replica and micro-batch; accumulation follows\n",
      (int) it->micro);
  if (it->tokens)
    g_string_append_printf (yaml, "    seq_len: %-11d # tokens per sample\n", (int) it->seq_len);
}

static void append_stages (GString *yaml, const LsProposal *it) {
  const guint layers = (guint) it->model->transformer.layers, stages = (guint) it->pipeline;
  g_autofree char *dealt = ls_layers_dealt_text (layers, stages);

  if (layers % stages > 0)
    g_string_append_printf (yaml, "    layers_per_stage: %s\n", dealt);
}

static void append_layout (GString *yaml, const LsProposal *it) {
  g_string_append (
      yaml, "  parallel:               # data-parallel replicas = GPUs / (tensor x pipeline)\n");
  g_string_append_printf (
      yaml, "    tensor: %-12d # ranks that share every matrix; keep it inside a node\n",
      (int) it->tensor);
  g_string_append_printf (yaml, "    pipeline: %-10d # stages that share the layers\n",
                          (int) it->pipeline);
  append_stages (yaml, it);
  if (it->model->transformer.experts.count > 0)
    g_string_append_printf (yaml,
                            "    expert: %-12d # ranks that share a layer's experts, of the "
                            "replicas' and tensor ranks\n"
                            "    expert_tensor: 1      # every expert is whole on its rank\n",
                            (int) it->expert);
  if (it->tensor > 1)
    g_string_append (
        yaml,
        "    sequence_parallel: true   # split norms and dropout over the tensor ranks too\n");
}

char *ls_proposal_text (const LsProposal *it) {
  GString *yaml = g_string_new (NULL);

  append_head (yaml, it);
  g_string_append (yaml, "workload:\n");
  g_string_append_printf (yaml, "  model: %-15s # `lockstep list models`\n", it->model->name);
  g_string_append_printf (
      yaml, "  precision: %-11s # compute format; {compute, gradients, master, ...} says more\n",
      it->precision);
  append_batch (yaml, it);
  append_layout (yaml, it);
  g_string_append_printf (yaml,
                          "  zero: {stage: %d}        # shard over replicas: 1 optimizer, 2 + "
                          "gradients, 3 + parameters\n",
                          (int) it->zero);
  g_string_append_printf (
      yaml, "  recompute: {mode: %s}   # none, selective, full or fit: memory against time\n",
      it->recompute);
  g_string_append (yaml, "  software: generic      # fusions, launch costs, overlap of tensor "
                         "collectives: `lockstep list software`\n");
  g_string_append_printf (yaml, "  optimizer: {kind: %s}\n", it->tokens ? "adamw" : "sgd");
  g_string_append (yaml, "  stop: {steps: 3}\n");
  return g_string_free (yaml, FALSE);
}
