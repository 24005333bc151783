/* `lockstep concepts`: textbook figures beside simulated ones; see concepts.h. */
#include "cli/concepts.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "base/prose.h"
#include "cli/data_files.h"
#include "cli/interrupt.h"
#include "cli/json.h"

typedef struct {
  const char *name, *title;
  const char *files; /* of its scenarios, below workloads/ */
  const char *claim, *holds;
  void (*run) (LsConceptRun *run);
} Concept;

static const Concept concepts[] = {
    {"tensor-cores", "Tensor cores against vector units", "concepts/tensor-cores.yaml",
     "Matrix units are 8 times as fast as vector units on V100, 16 times on A100, 14.8 times on "
     "H100.",
     "Of the peaks. Of matrix products alone nearly so, as far as each unit reaches its peak; of a "
     "whole step less, because "
     "norms, activations and the optimizer move bytes, which are as slow as before.",
     ls_concept_tensor_cores},
    {"sixteen-bytes", "16-bit weights and 16 bytes of state", "concepts/sixteen-bytes.yaml",
     "16-bit weights halve the memory of weights, but training keeps 16 bytes per parameter with "
     "Adam.",
     "With gradients in 16 bits: 2 + 2 + 4 (master) + 8 (moments). With gradients accumulated in "
     "fp32, as Megatron does, 18. "
     "Only inference halves.",
     ls_concept_sixteen_bytes},
    {"roofline", "Bound by memory or by compute", "concepts/roofline.yaml",
     "An operation is bound by memory when it has fewer FLOPs per byte than peak / bandwidth, else "
     "by compute.",
     "Kernel by kernel, but for the microseconds that each takes to start. A step mixes both, so "
     "twice of one thing never "
     "doubles its speed.",
     ls_concept_roofline},
    {"does-not-fit", "A model that does not fit, and ways to make it fit",
     "concepts/does-not-fit.yaml",
     "Seven billion parameters need 108 GB of states; eight GPUs of 40 GB have room if each keeps "
     "a share.",
     "Always for states. Sharding (ZeRO-3) costs traffic per layer, tensor parallelism traffic on "
     "the critical path, a "
     "pipeline its bubble; recomputing lowers activations only, which is not what fails here.",
     ls_concept_does_not_fit},
    {"links", "NVLink against PCIe against a network",
     "concepts/links.yaml concepts/links-model.yaml",
     "A ring all-reduce takes 2 (n - 1) / n x bytes / bandwidth, so it follows the slowest link of "
     "the ring.",
     "For large messages, with the share of the link that is reached (some 80 to 95 %). A GPU "
     "behind a shared path (the "
     "memory of one host) has only its share of that. Of the model only what cannot hide behind "
     "compute is seen.",
     ls_concept_links},
    {"mig", "Seven small jobs on slices against one large job",
     "mig/seven-slices.yaml mig/time-slicing.yaml mig/one-big-job.yaml",
     "Seven slices do more work than seven jobs that take turns, when one job cannot fill the GPU.",
     "For kernels too small for the GPU. Slices leave some SMs and an eighth of the memory idle, "
     "and one job with all the "
     "samples is faster than either.",
     ls_concept_mig},
    {"recompute", "Recompute every k layers", "concepts/recompute.yaml",
     "Keeping every k-th activation divides stored activations by k and costs F (2 - 1/k) of "
     "forward work.",
     "The work, when every k-th layer keeps all and those between are run again (unit: operation). "
     "The memory for k well below "
     "the root of the number of layers: the segment that is run again is live too, N/k + k - 1 "
     "parts, least at that root. Blocks "
     "that keep their inputs every k (unit: block) are all run again, 2 F for every k, and k = 1 "
     "needs least but for many layers.",
     ls_concept_recompute},
    {"formats", "bf16 against fp16", "concepts/formats.yaml",
     "Both have 16 bits; bf16 has the range of fp32 and less precision. Equally fast where both "
     "are native.",
     "On A100, H100 and later. V100 has no bf16 and falls back to fp32 on vector units. fp16 needs "
     "loss scaling, whose flag "
     "and skipped steps bf16 saves.",
     ls_concept_formats},
    {"pipeline-bubble", "The bubble of a pipeline", "concepts/bubble.yaml",
     "With p stages and m micro-batches (p - 1)/(m + p - 1) of a pipeline's time is idle, whether "
     "GPipe or 1F1B; with v stages on each device (p - 1)/(v m + p - 1).",
     "For equal stages, of the time without optimizer and host, while messages are short beside "
     "stages. The head of a large vocabulary makes the last stage longer, and the others wait. "
     "ZB-H1 fills two thirds of it with gradients of weights, at F = I = W. 1F1B differs from "
     "GPipe in "
     "memory: it holds p micro-batches, not m.",
     ls_concept_bubble},
    {"zero-states", "ZeRO: states by stage and ranks", "concepts/zero.yaml",
     "Stages 1, 2 and 3 divide 16 bytes of states by 16/(4 + 12/N), 16/(2 + 14/N) and N.",
     "For states, exactly. The usual 1.5-2x, 2-3x and 4-10x are states at N of 2 to 4, or the peak "
     "with activations, which no "
     "stage shards.",
     ls_concept_zero_states},
    {"zero-traffic", "ZeRO: traffic by stage and micro-batches", "concepts/zero.yaml",
     "Stages 0 to 2 send 2 (N-1)/N of the parameters per step, stage 3 sends 3 (N-1)/N.",
     "With one micro-batch. With m, stage 2 reduces gradients m times, m + 1 in all, and stage 3 "
     "gathers and reduces every "
     "time, 3 m; stages 0 and 1 send once. "
     "Gathers that wait for the next forward pass (zero.overlap_gather) send the same and hide "
     "behind it. Switches that reduce (NVLS, SHARP) halve what an "
     "all-reduce sends: off here.",
     ls_concept_zero_traffic},
    {"resharding", "The price of resharding", "concepts/zero.yaml",
     "Shards that stay local when N ranks become M need not move.",
     "When the new ranks sit where most of what they need lies: then half moves from 64 to 32 "
     "ranks, 29 % from 64 to 56. By "
     "rank number nearly all moves, 98 % and 94 %: rank r of the new world begins elsewhere than "
     "rank r of the old.",
     ls_concept_resharding},
};

/* --- for the concepts --------------------------------------------------------------------------- */

LsScenario *ls_concept_scenario (LsConceptRun *run, const char *file, const char *const *sets) {
  g_autofree char *name = g_build_filename ("workloads", file, NULL);
  g_autofree char *path = ls_data_find_file (name);
  g_autoptr (LsScenario) scenario = NULL;
  g_autofree char *faults = NULL;

  if (run->error != NULL)
    return NULL;
  scenario = ls_scenario_from_path (path, sets);
  if (!ls_config_errors_any (scenario->errors) && scenario->workload != NULL)
    return g_steal_pointer (&scenario);
  faults = ls_config_errors_text (scenario->errors);
  g_set_error (&run->error, LS_ERROR, LS_ERROR_CONFIG, "%s: %s", path, faults);
  return NULL;
}

LsSummary *ls_concept_step (LsConceptRun *run, const char *file, const char *const *sets) {
  g_autoptr (LsScenario) scenario = ls_concept_scenario (run, file, sets);
  g_autofree LsSimulationJob *jobs = NULL;
  double one[LS_N_KNOBS];

  if (scenario == NULL)
    return NULL;
  for (guint k = 0; k < LS_N_KNOBS; k++)
    one[k] = 1;
  jobs = g_new0 (LsSimulationJob, scenario->n_jobs);
  for (guint j = 0; j < scenario->n_jobs; j++)
    jobs[j] = (LsSimulationJob){.name = scenario->n_jobs > 1 ? scenario->jobs[j].name : NULL,
                                .workload = scenario->jobs[j].workload,
                                .start_ps = scenario->jobs[j].start_ps};
  const LsScene scene = {.cluster = scenario->cluster,
                         .jobs = jobs,
                         .n_jobs = scenario->n_jobs,
                         .seed = scenario->seed};
  return ls_scene_run (&scene, one, ls_interrupt_flag (), &run->error);
}

void ls_concept_row (LsConceptRun *run, double low, double high, double value, const char *unit,
                     const char *textbook, const char *format, ...) {
  LsConceptRow *row = g_new0 (LsConceptRow, 1);
  va_list arguments;

  va_start (arguments, format);
  row->what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  row->textbook = g_strdup (textbook);
  row->simulated = value;
  row->text = g_strdup_printf (value >= 1000 && value < 1e6 ? "%.0f%s%s" : "%.3g%s%s", value,
                               *unit ? " " : "", unit);
  row->good = value >= low && value <= high;
  g_ptr_array_add (run->rows, row);
}

static void row_free (gpointer data) {
  LsConceptRow *row = data;

  g_free (row->what);
  g_free (row->textbook);
  g_free (row->text);
  g_free (row);
}

/* --- output ------------------------------------------------------------------------------------- */

static const char markdown_head[] =
    "# What people learn first, beside what is simulated\n\n"
    "<!-- Made by `lockstep concepts --markdown`; a test keeps it up to date. -->\n\n"
    "Each claim has a small scenario in `workloads/concepts/` (MIG: `workloads/mig/`) whose "
    "comment says how to run it. The "
    "textbook's\n"
    "figure stands beside ours, and below the table when the claim holds. `lockstep concepts` "
    "makes the tables anew and "
    "fails when a\n"
    "figure of ours leaves the limits that the code gives it; `lockstep concepts NAME` shows "
    "one.\n";

/* Columns of docs/concepts.md. */
#define MARKDOWN_WIDTH 118

static void append_markdown (GString *out, const Concept *concept, const LsConceptRun *run) {
  g_string_append_printf (out, "\n## %s\n\n", concept->title);
  ls_prose_append (out, concept->claim, MARKDOWN_WIDTH, 0, 0);
  g_string_append (out, "\n| | textbook | simulated |\n|---|---|---|\n");
  for (guint i = 0; i < run->rows->len; i++) {
    const LsConceptRow *row = run->rows->pdata[i];

    g_string_append_printf (out, "| %s | %s | %s |\n", row->what, row->textbook, row->text);
  }
  g_string_append_c (out, '\n');
  g_autofree char *holds = g_strdup_printf ("When it holds: %s", concept->holds);
  ls_prose_append (out, holds, MARKDOWN_WIDTH, 0, 0);
}

static void append_text (GString *out, const Concept *concept, const LsConceptRun *run) {
  int width = 0;

  for (guint i = 0; i < run->rows->len; i++)
    width = MAX (width, (int) strlen (((const LsConceptRow *) run->rows->pdata[i])->what));
  if (out->len > 0)
    g_string_append_c (out, '\n');
  g_autofree char *claim = g_strdup_printf ("%s: %s", concept->name, concept->claim);
  ls_prose_append (out, claim, LS_PROSE_WIDTH, 0, 0);
  g_string_append_printf (out, "  %-*s  %16s  %s\n", width, "", "textbook", "simulated");
  for (guint i = 0; i < run->rows->len; i++) {
    const LsConceptRow *row = run->rows->pdata[i];

    g_string_append_printf (out, "  %-*s  %16s  %s%s\n", width, row->what, row->textbook, row->text,
                            row->good ? "" : "   (outside its limits)");
  }
  g_autofree char *holds = g_strdup_printf ("  When it holds: %s", concept->holds);
  ls_prose_append (out, holds, LS_PROSE_WIDTH, 2, 0);
}

static void put_json (LsJson *json, const Concept *concept, const LsConceptRun *run) {
  ls_json_open_object (json, NULL);
  ls_json_string (json, "name", concept->name);
  ls_json_string (json, "claim", concept->claim);
  ls_json_string (json, "holds", concept->holds);
  ls_json_string (json, "scenarios", concept->files);
  ls_json_open_array (json, "rows");
  for (guint i = 0; i < run->rows->len; i++) {
    const LsConceptRow *row = run->rows->pdata[i];

    ls_json_open_object (json, NULL);
    ls_json_string (json, "what", row->what);
    ls_json_string (json, "textbook", row->textbook);
    ls_json_number (json, "simulated", row->simulated);
    ls_json_boolean (json, "good", row->good);
    ls_json_close (json);
  }
  ls_json_close (json);
  ls_json_close (json);
}

/* Runs one and appends it; FALSE: an error. *bad counts rows outside their limits. */
static gboolean show (LsCli *cli, const Concept *concept, GString *out, LsJson *json, guint *bad,
                      GError **error) {
  LsConceptRun run = {.rows = g_ptr_array_new_with_free_func (row_free)};

  concept->run (&run);
  if (run.error == NULL) {
    if (json != NULL)
      put_json (json, concept, &run);
    else if (ls_args_has (cli->args, "markdown"))
      append_markdown (out, concept, &run);
    else
      append_text (out, concept, &run);
    for (guint i = 0; i < run.rows->len; i++) {
      const LsConceptRow *row = run.rows->pdata[i];

      if (row->good)
        continue;
      (*bad)++;
      ls_cli_warn (cli, "%s: %s: %s, outside its limits", concept->name, row->what, row->text);
    }
  }
  g_ptr_array_unref (run.rows);
  if (run.error == NULL)
    return TRUE;
  g_propagate_error (error, run.error);
  return FALSE;
}

static gboolean is_known (const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS (concepts); i++)
    if (g_str_equal (concepts[i].name, name))
      return TRUE;
  return FALSE;
}

static void set_unknown (const char *name, GError **error) {
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *all = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (concepts); i++)
    g_ptr_array_add (names, (gpointer) concepts[i].name);
  g_ptr_array_add (names, NULL);
  all = g_strjoinv (", ", (char **) names->pdata);
  const char *near = ls_nearest (name, (const char *const *) names->pdata);
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "no concept '%s'%s%s%s; there are %s", name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}

static int run_concepts (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  g_autoptr (GString) out = g_string_new (NULL);
  LsJson *json = cli->json ? ls_json_new () : NULL;
  g_autofree char *document = NULL;
  guint bad = 0;
  gboolean good = TRUE;

  for (guint i = 0; i < words->len && good; i++)
    if (!is_known (words->pdata[i])) {
      set_unknown (words->pdata[i], error);
      good = FALSE;
    }
  if (json != NULL)
    ls_json_open_array (json, NULL);
  else if (ls_args_has (cli->args, "markdown") && words->len == 0)
    g_string_append (out, markdown_head);
  for (guint i = 0; i < G_N_ELEMENTS (concepts) && good; i++) {
    gboolean wanted = words->len == 0;

    for (guint k = 0; k < words->len; k++)
      wanted = wanted || g_str_equal (words->pdata[k], concepts[i].name);
    if (wanted)
      good = show (cli, &concepts[i], out, json, &bad, error);
  }
  if (json != NULL) {
    ls_json_close (json);
    document = ls_json_finish (json);
  } else
    document = g_strdup (out->str);
  if (!good || !ls_cli_write (cli, document, error))
    return 2;
  return bad > 0 ? 1 : 0;
}

static const LsOption options[] = {
    {"markdown", 0, LS_OPTION_FLAG, NULL, "as docs/concepts.md", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

const LsCommand ls_command_concepts = {
    .name = "concepts",
    .usage = "[NAME...] [--markdown]",
    .summary = "show textbook figures beside simulated ones, and when each holds",
    .description =
        "Runs the small scenarios of workloads/concepts/, one for each claim that people "
        "learn first: tensor cores, states of 16 bytes, memory-bound and compute-bound, "
        "what fits, links, MIG, recomputation, formats, ZeRO. Exits with 1 when a figure "
        "leaves the limits that are set for it.",
    .examples = "all of them\tlockstep concepts\n"
                "one\tlockstep concepts zero-states\n"
                "docs/concepts.md\tlockstep concepts --markdown -o docs/concepts.md --force\n",
    .positional = "",
    .options = options,
    .run = run_concepts,
};
