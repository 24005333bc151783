/* `lockstep new`: a commented scenario from a few words.
 *
 * What the words leave open is chosen so that the job fits: the first of an ordered list of layouts
 * (without recomputation first, then by least splitting) whose memory estimate fits is written. The text is checked by reading it
 * back before it is printed, so what comes out passes `lockstep check`.
 */
#include <string.h>

#include "base/error.h"
#include "cli/scenario.h"
#include "hw/nodes.h"
#include "train/memory.h"
#include "train/models.h"

/* Most pipeline stages that are tried before full recomputation is. source: assumption; the bubble of 8
 * stages and 32 micro-batches is 18 %, full recomputation takes 25 % of a step. */
#define BUBBLE_STAGES 8

static const LsOption options[] = {
    {"gpu", 0, LS_OPTION_STRING, "NAME", "accelerator; the first node preset that has it is used",
     "@gpus"},
    {"node", 0, LS_OPTION_STRING, "NAME", "node preset, instead of --gpu", "@nodes"},
    {"nodes", 0, LS_OPTION_INTEGER, "N", "how many nodes (1)", NULL},
    {"model", 0, LS_OPTION_STRING, "NAME", "model preset", "@models"},
    {"batch", 0, LS_OPTION_INTEGER, "N", "samples per step over all GPUs", NULL},
    {"micro", 0, LS_OPTION_INTEGER, "N", "samples per GPU and micro-batch", NULL},
    {"seq-len", 0, LS_OPTION_INTEGER, "N", "tokens per sample", NULL},
    {"tensor", 0, LS_OPTION_INTEGER, "N", "tensor-parallel ranks", NULL},
    {"pipeline", 0, LS_OPTION_INTEGER, "N", "pipeline stages", NULL},
    {"zero", 0, LS_OPTION_INTEGER, "STAGE", "ZeRO stage", "0 1 2 3"},
    {"precision", 0, LS_OPTION_STRING, "FORMAT", "compute format",
     "fp32 tf32 fp16 bf16 fp8 mxfp8 nvfp4"},
    {"recompute", 0, LS_OPTION_STRING, "MODE", "activation recomputation",
     "none selective full fit"},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

typedef struct {
  const LsNode *node;
  gint64 nodes;
  const LsModelPreset *model;
  gboolean tokens;
  gint64 batch, micro, seq_len, tensor, pipeline, zero;
  const char *precision, *recompute;
} Choice;

static gboolean choose_node (LsCli *cli, Choice *choice, GError **error) {
  const char *node = ls_args_string (cli->args, "node");
  const char *gpu = ls_args_string (cli->args, "gpu");
  const LsAccelerator *accelerator;

  if (node) {
    choice->node = ls_node_find (node, error);
    return choice->node != NULL;
  }
  if (!gpu) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "name an accelerator with --gpu or a node with --node");
    return FALSE;
  }
  accelerator = ls_accelerator_find (gpu, error);
  if (!accelerator)
    return FALSE;
  for (guint i = 0; i < ls_node_count () && !choice->node; i++)
    if (g_str_equal (ls_node_get (i)->gpu, accelerator->name))
      choice->node = ls_node_get (i);
  if (!choice->node)
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "no node preset has the accelerator %s; choose one with --node",
                 accelerator->name);
  return choice->node != NULL;
}

static gboolean choose_model (LsCli *cli, Choice *choice, GError **error) {
  const char *name = ls_args_string (cli->args, "model");
  g_autoptr (LsModel) model = NULL;

  if (!name) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "name a model with --model; 'lockstep list models' shows them");
    return FALSE;
  }
  model = ls_model_new_preset (name, error);
  if (!model)
    return FALSE;
  for (guint i = 0; i < ls_model_preset_count (); i++)
    if (g_str_equal (ls_model_preset_get (i)->name, model->name))
      choice->model = ls_model_preset_get (i);
  choice->tokens = ls_model_has_tokens (model);
  if (!choice->model)
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no model preset '%s'", name);
  return choice->model != NULL;
}

static void choose_sizes (LsCli *cli, Choice *choice) {
  gint64 gpus;

  choice->nodes = ls_args_integer (cli->args, "nodes", 1);
  gpus = choice->nodes * choice->node->gpus;
  choice->micro = ls_args_integer (cli->args, "micro", choice->tokens ? 1 : 32);
  choice->batch =
      ls_args_integer (cli->args, "batch", gpus * choice->micro * (choice->tokens ? 4 : 1));
  choice->seq_len = ls_args_integer (
      cli->args, "seq-len", choice->tokens ? MIN (choice->model->transformer.max_seq, 4096) : 1);
  choice->precision = ls_args_string (cli->args, "precision");
  if (!choice->precision)
    choice->precision =
        ls_accelerator_is_native (ls_accelerator_find (choice->node->gpu, NULL), LS_FORMAT_BF16)
            ? "bf16"
            : "fp16";
}

static void append_batch (GString *yaml, const Choice *choice) {
  g_string_append (yaml, "  batch:\n");
  g_string_append_printf (yaml, "    global: %-12d # samples per step over all replicas\n",
                          (int) choice->batch);
  g_string_append_printf (
      yaml, "    micro: %-13d # samples per replica and micro-batch; accumulation follows\n",
      (int) choice->micro);
  if (choice->tokens)
    g_string_append_printf (yaml, "    seq_len: %-11d # tokens per sample\n",
                            (int) choice->seq_len);
}

static char *write_text (const Choice *choice) {
  GString *yaml = g_string_new ("# Made by `lockstep new`. Every key: docs/scenario.md, or "
                                "`lockstep check FILE --explain KEY`.\n"
                                "lockstep: 1\n");

  g_string_append_printf (yaml, "title: %s on %d x %s\n\n", choice->model->name,
                          (int) choice->nodes, choice->node->name);
  g_string_append (yaml, "cluster:\n");
  g_string_append_printf (yaml, "  nodes: %d\n", (int) choice->nodes);
  g_string_append_printf (yaml, "  node: %-16s # %d x %s; `lockstep list nodes` shows others\n",
                          choice->node->name, choice->node->gpus, choice->node->gpu);
  g_string_append (yaml, "  # fabric: {kind: fat-tree, oversubscription: 2}   # without it, the "
                         "network never blocks\n\n");
  g_string_append (yaml, "workload:\n");
  g_string_append_printf (yaml, "  model: %-15s # `lockstep list models`\n", choice->model->name);
  g_string_append_printf (
      yaml, "  precision: %-11s # compute format; {compute, gradients, master, ...} says more\n",
      choice->precision);
  append_batch (yaml, choice);
  g_string_append (
      yaml, "  parallel:               # data-parallel replicas = GPUs / (tensor x pipeline)\n");
  g_string_append_printf (
      yaml, "    tensor: %-12d # ranks that share every matrix; keep it inside a node\n",
      (int) choice->tensor);
  g_string_append_printf (yaml, "    pipeline: %-10d # stages that share the layers\n",
                          (int) choice->pipeline);
  if (choice->tensor > 1)
    g_string_append (
        yaml,
        "    sequence_parallel: true   # split norms and dropout over the tensor ranks too\n");
  g_string_append_printf (yaml,
                          "  zero: {stage: %d}        # shard over replicas: 1 optimizer, 2 + "
                          "gradients, 3 + parameters\n",
                          (int) choice->zero);
  g_string_append_printf (
      yaml, "  recompute: {mode: %s}   # none, selective, full or fit: memory against time\n",
      choice->recompute);
  g_string_append (yaml, "  software: generic      # fusions, launch costs, overlap of tensor "
                         "collectives: `lockstep list software`\n");
  g_string_append_printf (yaml, "  optimizer: {kind: %s}\n", choice->tokens ? "adamw" : "sgd");
  g_string_append (yaml, "  stop: {steps: 3}\n");
  return g_string_free (yaml, FALSE);
}

/* TRUE when the text is a good scenario whose fullest GPU has room. */
static gboolean fits (const char *text, gboolean *valid) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("new", text);
  g_autofree const LsAccelerator **gpus = NULL;
  LsMemoryEstimate estimate;

  *valid = scenario->workload && !ls_config_errors_any (scenario->errors);
  if (!*valid)
    return FALSE;
  gpus = ls_scenario_stage_gpus (scenario, 0);
  ls_memory_fullest (scenario->workload, gpus, &estimate);
  return estimate.fits;
}

/* Tries layouts, those without recomputation first, then by least splitting; keeps the last valid one
 * when none fits. Deep pipelines are tried only with full recomputation, whose third of compute costs
 * more than the bubble of the others (`BUBBLE_STAGES`). */
static char *choose_layout (LsCli *cli, Choice *choice) {
  static const char *const modes[] = {"none", "selective", "full"};
  const gint64 gpus = choice->nodes * choice->node->gpus;
  const char *mode = ls_args_string (cli->args, "recompute");
  gint64 tensor = ls_args_integer (cli->args, "tensor", 0),
         pipeline = ls_args_integer (cli->args, "pipeline", 0);
  char *best = NULL;

  choice->zero = ls_args_integer (cli->args, "zero", choice->tokens ? 1 : 0);
  for (guint m = 0; m < G_N_ELEMENTS (modes); m++) {
    const gint64 stages = m + 1 < G_N_ELEMENTS (modes) ? MIN (gpus, BUBBLE_STAGES) : gpus;

    for (gint64 p = 1; p <= stages; p *= 2)
      for (gint64 t = 1; t <= choice->node->gpus && t * p <= gpus; t *= 2) {
        g_autofree char *text = NULL;
        gboolean valid, good;

        choice->tensor = tensor ? tensor : t;
        choice->pipeline = pipeline ? pipeline : p;
        choice->recompute = mode ? mode : modes[m];
        text = write_text (choice);
        good = fits (text, &valid);
        if (valid) {
          g_free (best);
          best = g_steal_pointer (&text);
        }
        if (good)
          return best;
      }
  }
  return best ? best : write_text (choice);
}

static int run_new (LsCli *cli, GError **error) {
  Choice choice = {0};
  g_autofree char *text = NULL;
  g_autoptr (LsScenario) scenario = NULL;
  gboolean valid;

  if (ls_args_positional (cli->args)->len > 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "new takes options only; -o names the file to write");
    return 2;
  }
  if (!choose_node (cli, &choice, error) || !choose_model (cli, &choice, error))
    return 2;
  choose_sizes (cli, &choice);
  text = choose_layout (cli, &choice);
  scenario = ls_scenario_from_text ("new", text);
  if (!ls_scenario_report (cli, scenario))
    return 2;
  if (!fits (text, &valid))
    ls_cli_warn (
        cli,
        "no layout tried fits in the memory of a %s; 'lockstep check --memory' shows by how much",
        choice.node->gpu);
  if (cli->json) {
    g_autofree char *json = ls_scenario_json (scenario);

    return ls_cli_write (cli, json, error) ? 0 : 2;
  }
  return ls_cli_write (cli, text, error) ? 0 : 2;
}

const LsCommand ls_command_new = {
    .name = "new",
    .usage = "--gpu NAME | --node NAME --model NAME [options]",
    .summary = "write a commented scenario from a few words",
    .description = "Prints a scenario (or writes it with -o) that passes `lockstep check`. A "
                   "layout that is not given is chosen so that the job fits in memory: without "
                   "recomputation if it can be, and splitting as little as possible. It is a place "
                   "to start from, not the fastest: compare others with --set.",
    .examples = "a 70B model on 64 GPUs\tlockstep new --gpu h100-sxm-80gb --nodes 8 --model "
                "llama3-70b -o mine.yaml\n"
                "with a layout of your own\tlockstep new --node dgx-a100 --nodes 4 --model "
                "gpt3-13b --tensor 4 --pipeline 2\n",
    .positional = "@file",
    .options = options,
    .run = run_new,
};
