/* `lockstep new`: a commented scenario from a few words.
 *
 * What the words leave open is chosen so that the job fits and is fast (proposal.h). The text is checked by reading it
 * back before it is printed, so what comes out passes `lockstep check`.
 */
#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/proposal.h"
#include "cli/scenario.h"

static const LsOption options[] = {
    {"gpu", 0, LS_OPTION_STRING, "NAME", "accelerator; the first node preset that has it is used",
     "@gpus"},
    {"node", 0, LS_OPTION_STRING, "NAME", "node preset, instead of --gpu", "@nodes"},
    {"nodes", 0, LS_OPTION_INTEGER, "N", "how many nodes (1)", NULL},
    {"gpus", 0, LS_OPTION_INTEGER, "N", "how many GPUs in all, instead of --nodes", NULL},
    {"model", 0, LS_OPTION_STRING, "NAME", "model preset", "@models"},
    {"batch", 0, LS_OPTION_INTEGER, "N", "samples per step over all GPUs", NULL},
    {"micro", 0, LS_OPTION_INTEGER, "N", "samples per GPU and micro-batch", NULL},
    {"seq-len", 0, LS_OPTION_INTEGER, "N", "tokens per sample", NULL},
    {"tensor", 0, LS_OPTION_INTEGER, "N", "tensor-parallel ranks", NULL},
    {"pipeline", 0, LS_OPTION_INTEGER, "N", "pipeline stages", NULL},
    {"expert", 0, LS_OPTION_INTEGER, "N", "ranks that share a layer's experts", NULL},
    {"zero", 0, LS_OPTION_INTEGER, "STAGE", "ZeRO stage", "0 1 2 3"},
    {"precision", 0, LS_OPTION_STRING, "FORMAT", "compute format",
     "fp32 tf32 fp16 bf16 fp8 mxfp8 nvfp4"},
    {"recompute", 0, LS_OPTION_STRING, "MODE", "activation recomputation",
     "none selective full fit"},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

static gboolean choose_node (LsCli *cli, LsProposal *choice, GError **error) {
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

static gboolean choose_model (LsCli *cli, LsProposal *choice, GError **error) {
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

/* Counts of the options, from 1; sizes of the scenario are bounded where it is read. */
static gboolean check_counts (LsCli *cli, GError **error) {
  static const char *const counts[] = {"nodes",   "gpus",   "batch",    "micro",
                                       "seq-len", "tensor", "pipeline", "expert"};
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++) {
    const gint64 n = ls_args_integer (cli->args, counts[i], 1);

    if (n < 1 || n > LS_PROPOSAL_MAX)
      g_string_append_printf (text, "%s--%s is %" G_GINT64_FORMAT, text->len > 0 ? ", " : "",
                              counts[i], n);
  }
  if (text->len > 0)
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s; it is 1 at least and %d at most", text->str,
                 LS_PROPOSAL_MAX);
  return text->len == 0;
}

/* Whole nodes, or some GPUs of one. */
static gboolean choose_nodes (LsCli *cli, LsProposal *choice, GError **error) {
  const gint64 each = choice->node->gpus, all = ls_args_integer (cli->args, "gpus", each);

  choice->nodes = ls_args_integer (cli->args, "nodes", MAX (1, all / each));
  choice->gpus = MIN (all, each);
  if (!ls_args_has (cli->args, "gpus"))
    return TRUE;
  if (ls_args_has (cli->args, "nodes"))
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE, "--nodes and --gpus: one of the two");
  else if (all > each && all % each != 0)
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "--gpus: %" G_GINT64_FORMAT " GPUs are no whole number of %s, of %" G_GINT64_FORMAT
                 " each; the nearest are %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT,
                 all, choice->node->name, each, all - all % each, all - all % each + each);
  else
    return TRUE;
  return FALSE;
}

static void choose_sizes (LsCli *cli, LsProposal *choice) {
  const gint64 gpus = choice->nodes * choice->gpus;

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

static void choose_layout (LsCli *cli, LsProposal *choice) {
  choice->tensor = ls_args_integer (cli->args, "tensor", 0);
  choice->pipeline = ls_args_integer (cli->args, "pipeline", 0);
  choice->expert = ls_args_integer (cli->args, "expert", 0);
  choice->zero = ls_args_integer (cli->args, "zero", -1);
  choice->recompute = ls_args_string (cli->args, "recompute");
}

static int run_new (LsCli *cli, GError **error) {
  LsProposal choice = {0};
  g_autofree char *text = NULL;
  g_autoptr (LsScenario) scenario = NULL;
  gboolean fits;

  if (ls_args_positional (cli->args)->len > 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_USAGE,
                         "new takes options only; -o names the file to write");
    return 2;
  }
  if (!check_counts (cli, error) || !choose_node (cli, &choice, error) ||
      !choose_nodes (cli, &choice, error) || !choose_model (cli, &choice, error))
    return 2;
  if (choice.model->transformer.experts.count == 0 && ls_args_has (cli->args, "expert")) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s has no experts; leave --expert out",
                 choice.model->name);
    return 2;
  }
  choose_sizes (cli, &choice);
  choose_layout (cli, &choice);
  ls_interrupt_install ();
  text = ls_proposal_choose (&choice, &fits);
  if (ls_interrupt_requested ())
    return 130;
  scenario = ls_scenario_from_text ("new", text);
  if (!ls_scenario_report (cli, scenario))
    return 2;
  if (!fits)
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
                   "layout that is not given is chosen so that the job fits in memory: of the "
                   "layouts that split least, expert ranks of a mixture of experts among them, a "
                   "handful is simulated and the fastest is written. It is a place to start from: "
                   "compare others with --set.",
    .examples = "a 70B model on 64 GPUs\tlockstep new --gpu h100-sxm-80gb --nodes 8 --model "
                "llama3-70b -o mine.yaml\n"
                "on four GPUs of a node\tlockstep new --gpu a100 --gpus 4 --model llama2-7b\n"
                "with a layout of your own\tlockstep new --node dgx-a100 --nodes 4 --model "
                "gpt3-13b --tensor 4 --pipeline 2\n"
                "a mixture of experts\tlockstep new --gpu h100-sxm-80gb --nodes 16 --model "
                "gpt-oss-120b\n",
    .positional = "@file",
    .options = options,
    .run = run_new,
};
