/* `lockstep collective`: the simulator's own nccl-tests. */
#include <math.h>
#include <string.h>

#include "base/distance.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/synonyms.h"
#include "cli/cli.h"
#include "cli/collective_args.h"
#include "cli/collective_run.h"
#include "cli/csv.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/scenario.h"
#include "net/algorithm.h"
#include "net/all_pairs.h"
#include "net/protocol.h"

#define OPERATIONS                                                                       \
  "all_reduce reduce_scatter all_gather broadcast reduce all_to_all all_to_allv gather " \
  "scatter send_recv barrier"
#define ALGORITHMS                                                                \
  "auto ring bidirectional tree binomial halving doubling bruck direct pairwise " \
  "hierarchical nvls sharp torus"

/* A bound on rows and time: each iteration is simulated. */
#define MOST_ITERATIONS 10000

static const LsOption options[] = {
    {"sizes", 0, LS_OPTION_STRING, "SIZES",
     "bytes: 1K:8G:2x (from, to, times), 1M:8M:1M (from, to, step) or 4K,1M; as nccl-tests count "
     "them",
     NULL},
    {"ranks", 0, LS_OPTION_STRING, "GPUS",
     "0-63, 0,8,16 or 0-63:8 (every eighth); all if not given", NULL},
    {"algorithm", 0, LS_OPTION_STRING, "NAME",
     "one of `lockstep list algorithms`; auto if not given", ALGORITHMS},
    {"protocol", 0, LS_OPTION_STRING, "NAME", "LL, LL128, Simple or auto", "auto LL LL128 Simple"},
    {"models", 0, LS_OPTION_STRING, "MODEL",
     "fluid (phases), message (single messages) or both; as tuning.model says if not given",
     "fluid message both"},
    {"root", 0, LS_OPTION_INTEGER, "GPU", "root of broadcast, reduce, gather and scatter", NULL},
    {"splits", 0, LS_OPTION_STRING, "FILE",
     "all_to_allv: a row of sizes for each rank, or one row for all", "@file"},
    {"iterations", 0, LS_OPTION_INTEGER, "N", "runs in a row that the time is the mean of", NULL},
    {"csv", 0, LS_OPTION_FLAG, NULL, "comma-separated values", NULL},
    {NULL, 0, LS_OPTION_FLAG, NULL, NULL, NULL},
};

/* What is to be run, and on what. */
typedef struct {
  LsCollectiveOp op;
  LsDescriptor descriptor; /* bytes change */
  LsCollectiveJob job;
  GArray *sizes, *ranks;
  gint64 *splits;
  gint64 root; /* -1: none */
} Task;

typedef struct {
  gint64 bytes;
  LsCollectiveResult result;
} Line;

static void task_clear (Task *task) {
  if (task->sizes)
    g_array_unref (task->sizes);
  if (task->ranks)
    g_array_unref (task->ranks);
  g_free (task->splits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Task, task_clear)

/* --- arguments -------------------------------------------------------------------------------- */

static gboolean unknown (const char *what, const char *word, const char *const *known,
                         GError **error) {
  const char *nearest = ls_nearest (word, known);
  g_autofree char *all = g_strjoinv (", ", (char **) known);

  if (nearest)
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "unknown %s '%s'; did you mean %s? (%s)", what,
                 word, nearest, all);
  else
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "unknown %s '%s'; there are %s", what, word, all);
  return FALSE;
}

static gboolean read_operation (const char *word, Task *task, GError **error) {
  g_auto (GStrv) known = g_strsplit (OPERATIONS, " ", -1);

  const char *meant = ls_meant (word, (const char *const *) known);

  if (meant != NULL && ls_collective_op_parse (meant, &task->op)) {
    task->descriptor.op = task->op;
    task->descriptor.timed = TRUE;
    return TRUE;
  }
  return unknown ("operation", word, (const char *const *) known, error);
}

/* Algorithms that can do `op`, "ring, tree". */
static char *algorithms_of (LsCollectiveOp op) {
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < ls_algorithm_count (); i++)
    if ((ls_algorithm_get (i)->ops & LS_OP_BIT (op)) != 0)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", ls_algorithm_get (i)->name);
  return g_string_free (text, FALSE);
}

static gboolean read_algorithm (LsCli *cli, Task *task, GError **error) {
  const char *word = ls_args_string (cli->args, "algorithm");
  g_auto (GStrv) known = g_strsplit (ALGORITHMS, " ", -1);
  g_autofree char *possible = algorithms_of (task->op);

  if (!word)
    return TRUE;
  if (!ls_algorithm_parse (word, &task->descriptor.algorithm))
    return unknown ("algorithm", word, (const char *const *) known, error);
  const LsAlgorithmRecord *record = ls_algorithm_find (task->descriptor.algorithm);
  if (record == NULL || (record->ops & LS_OP_BIT (task->op)) != 0)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "%s does no %s; %s do", word,
               ls_collective_op_name (task->op), possible);
  return FALSE;
}

static gboolean read_protocol (LsCli *cli, Task *task, GError **error) {
  static const char *const known[] = {"auto", "LL", "LL128", "Simple", NULL};
  const char *word = ls_args_string (cli->args, "protocol");

  if (!word || g_ascii_strcasecmp (word, "auto") == 0)
    return TRUE;
  for (guint i = 0; i < LS_N_PROTOCOLS; i++)
    if (i != LS_PROTOCOL_IDEAL && g_ascii_strcasecmp (word, ls_protocol_name ((LsProtocol) i)) == 0)
      task->descriptor.protocols = 1u << i;
  return task->descriptor.protocols != 0 || unknown ("protocol", word, known, error);
}

static gboolean read_models (LsCli *cli, Task *task, GError **error) {
  static const char *const known[] = {"fluid", "message", "both", NULL};
  const char *word = ls_args_string (cli->args, "models");

  if (!word)
    return TRUE;
  if (!g_strv_contains (known, word))
    return unknown ("model", word, known, error);
  task->job.fluid = !g_str_equal (word, "message");
  task->job.message = !g_str_equal (word, "fluid");
  return TRUE;
}

static gboolean is_rooted (LsCollectiveOp op) {
  return op == LS_COLLECTIVE_BROADCAST || op == LS_COLLECTIVE_REDUCE ||
         op == LS_COLLECTIVE_GATHER || op == LS_COLLECTIVE_SCATTER;
}

/* The root comes first in the group. */
static gboolean read_root (LsCli *cli, Task *task, GError **error) {
  guint *ranks = (guint *) (gpointer) task->ranks->data;

  task->root = is_rooted (task->op) ? (gint64) ranks[0] : -1;
  if (!ls_args_has (cli->args, "root"))
    return TRUE;
  if (task->root < 0) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--root: %s has none",
                 ls_collective_op_name (task->op));
    return FALSE;
  }
  task->root = ls_args_integer (cli->args, "root", 0);
  for (guint i = 0; i < task->ranks->len; i++)
    if (ranks[i] == task->root) {
      memmove (ranks + 1, ranks, i * sizeof *ranks);
      ranks[0] = (guint) task->root;
      return TRUE;
    }
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "--root: GPU %" G_GINT64_FORMAT " is not among the ranks", task->root);
  return FALSE;
}

static gint64 sum_of_splits (const Task *task, guint n) {
  gint64 sum = 0;

  for (gsize i = 0; i < (gsize) n * n; i++)
    sum += i % (n + 1) == 0 ? 0 : task->splits[i];
  return sum;
}

/* Without a file every pair gets the same share of each size. */
static void even_splits (Task *task, guint n, gint64 bytes) {
  g_free (task->splits);
  task->splits = g_new (gint64, (gsize) n * n);
  for (gsize i = 0; i < (gsize) n * n; i++)
    task->splits[i] = bytes / n;
  task->descriptor.splits = task->splits;
}

static gboolean read_sizes (LsCli *cli, Task *task, GError **error) {
  const char *sizes = ls_args_string (cli->args, "sizes");
  const char *splits = ls_args_string (cli->args, "splits");

  if (splits && task->op != LS_COLLECTIVE_ALL_TO_ALLV) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--splits: only all_to_allv has them");
    return FALSE;
  }
  if (splits && sizes) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--splits give the sizes: leave out --sizes");
    return FALSE;
  }
  if (splits) {
    task->splits = ls_collective_splits (splits, task->ranks->len, error);
    if (!task->splits)
      return FALSE;
    task->descriptor.splits = task->splits;
    gint64 sum = sum_of_splits (task, task->ranks->len);
    task->sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
    g_array_append_val (task->sizes, sum);
    return TRUE;
  }
  if (task->op == LS_COLLECTIVE_BARRIER && !sizes)
    sizes = "0";
  task->sizes = ls_collective_sizes (sizes ? sizes : "1K:8G:2x", error);
  return task->sizes != NULL;
}

static gboolean read_iterations (LsCli *cli, Task *task, GError **error) {
  gint64 n = ls_args_integer (cli->args, "iterations", 1);

  task->job.iterations = (guint) CLAMP (n, 1, MOST_ITERATIONS);
  if (n == task->job.iterations)
    return TRUE;
  g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
               "--iterations: %" G_GINT64_FORMAT " is not between 1 and %d", n, MOST_ITERATIONS);
  return FALSE;
}

/* A group of more members than pairs of them are laid one by one. */
static gboolean check_pairs (const LsCluster *cluster, const Task *task, GError **error) {
  guint most = ls_pairs_most (cluster, task->op, task->descriptor.algorithm, task->job.message);

  if (task->ranks->len <= most)
    return TRUE;
  g_set_error (
      error, LS_ERROR, LS_ERROR_CONFIG,
      "%s among %u ranks is %.3g messages, which this algorithm, model and routing lay one "
      "by one; the most is %u ranks (--ranks)",
      ls_collective_op_name (task->op), task->ranks->len,
      (double) task->ranks->len * (task->ranks->len - 1.0), most);
  return FALSE;
}

static gboolean read_task (LsCli *cli, const LsCluster *cluster, Task *task, GError **error) {
  task->ranks =
      ls_collective_ranks (ls_args_string (cli->args, "ranks"), ls_cluster_n_gpus (cluster), error);
  if (!task->ranks || !read_algorithm (cli, task, error) || !read_protocol (cli, task, error) ||
      !read_models (cli, task, error) || !check_pairs (cluster, task, error) ||
      !read_root (cli, task, error) || !read_sizes (cli, task, error) ||
      !read_iterations (cli, task, error))
    return FALSE;
  task->job.gpus = (const guint *) (gpointer) task->ranks->data;
  task->job.n = task->ranks->len;
  return TRUE;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Bytes that bandwidth is counted by: of all_to_allv those of one rank. */
static double counted_bytes (const Task *task, const Line *line) {
  return task->op == LS_COLLECTIVE_ALL_TO_ALLV ? (double) line->bytes / task->job.n
                                               : (double) line->bytes;
}

static gint64 count_of (const Task *task, const Line *line) {
  switch (task->op) {
  case LS_COLLECTIVE_ALL_GATHER:
  case LS_COLLECTIVE_REDUCE_SCATTER:
  case LS_COLLECTIVE_ALL_TO_ALL:
  case LS_COLLECTIVE_ALL_TO_ALLV:
  case LS_COLLECTIVE_GATHER:
  case LS_COLLECTIVE_SCATTER:
    return line->bytes / 4 / task->job.n;
  default:
    return line->bytes / 4;
  }
}

static const char *redop_of (LsCollectiveOp op) {
  return op == LS_COLLECTIVE_ALL_REDUCE || op == LS_COLLECTIVE_REDUCE ||
                 op == LS_COLLECTIVE_REDUCE_SCATTER
             ? "sum"
             : "none";
}

/* The time that bandwidths are computed from: fluid where it was run. */
static double seconds_of (const Line *line) {
  return line->result.fluid_s >= 0 ? line->result.fluid_s : line->result.message_s;
}

static double algbw (const Task *task, const Line *line) {
  double seconds = seconds_of (line);
  return seconds > 0 ? counted_bytes (task, line) / seconds / 1e9 : 0;
}

static double busbw (const Task *task, const Line *line) {
  return task->job.n > 1 ? algbw (task, line) * ls_collective_bus_factor (task->op, task->job.n)
                         : 0;
}

static double gap_pct (double of, double beside) {
  return beside > 0 ? 100 * (of / beside - 1) : 0;
}

/* As it is shown with two decimals: never "-0.00". */
static double shown_gap_pct (double of, double beside) {
  double pct = gap_pct (of, beside);

  return fabs (pct) < 0.005 ? 0 : pct;
}

static double mean_busbw (const Task *task, const GArray *lines) {
  double sum = 0;

  for (guint i = 0; i < lines->len; i++)
    sum += busbw (task, &g_array_index (lines, Line, i));
  return lines->len > 0 ? sum / lines->len : 0;
}

static gboolean both (const Task *task) {
  return task->job.fluid && task->job.message;
}

/* --- output ----------------------------------------------------------------------------------- */

static char *as_text (const Task *task, const GArray *lines) {
  GString *out = g_string_new (NULL);
  g_autofree char *ranks = ls_quantity_format_counted (task->job.n, "rank");

  g_string_append_printf (
      out, "# %s on %s%s\n", ls_collective_op_name (task->op), ranks,
      both (task)
          ? "; message: time of single messages, slack: how much they are off the fluid time"
          : "");
  g_string_append_printf (out, "# %12s %13s %8s %6s %6s %11s %8s %8s %11s %7s", "size", "count",
                          "type", "redop", "root", "time", "algbw", "busbw", "closed", "gap");
  if (both (task))
    g_string_append_printf (out, " %11s %7s", "message", "slack");
  g_string_append (out, "  algorithm     protocol  channels\n");
  g_string_append_printf (out, "# %12s %13s %8s %6s %6s %11s %8s %8s %11s %7s", "(B)", "(elements)",
                          "", "", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(%)");
  g_string_append (out, both (task) ? "        (us)     (%)\n" : "\n");
  for (guint i = 0; i < lines->len; i++) {
    const Line *line = &g_array_index (lines, Line, i);
    const LsNetEstimate *estimate = &line->result.estimate;

    g_string_append_printf (out,
                            "  %12" G_GINT64_FORMAT " %13" G_GINT64_FORMAT
                            " %8s %6s %6" G_GINT64_FORMAT " %11.2f %8.2f %8.2f %11.2f %7.2f",
                            line->bytes, count_of (task, line), "float", redop_of (task->op),
                            task->root, 1e6 * seconds_of (line), algbw (task, line),
                            busbw (task, line), 1e6 * estimate->time_s,
                            shown_gap_pct (seconds_of (line), estimate->time_s));
    if (both (task))
      g_string_append_printf (out, " %11.2f %7.2f", 1e6 * line->result.message_s,
                              shown_gap_pct (line->result.message_s, line->result.fluid_s));
    g_string_append_printf (out, "  %-12s  %-8s  %8u\n",
                            estimate->algorithm ? estimate->algorithm : "-",
                            estimate->protocol ? estimate->protocol : "-", estimate->channels);
  }
  g_string_append_printf (out, "# Avg bus bandwidth    : %.4f\n", mean_busbw (task, lines));
  return g_string_free (out, FALSE);
}

static char *as_csv (const Task *task, const GArray *lines) {
  GString *out = g_string_new ("size_bytes,count,type,redop,root,time_us,algbw_gb_s,busbw_gb_s,"
                               "closed_form_us,fluid_us,message_us,algorithm,protocol,channels\n");

  for (guint i = 0; i < lines->len; i++) {
    const Line *line = &g_array_index (lines, Line, i);
    const LsCollectiveResult *result = &line->result;

    g_string_append_printf (out,
                            "%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",float,%s,%" G_GINT64_FORMAT
                            ",%.6f,%.6f,%.6f,%.6f,",
                            line->bytes, count_of (task, line), redop_of (task->op), task->root,
                            1e6 * seconds_of (line), algbw (task, line), busbw (task, line),
                            1e6 * result->estimate.time_s);
    if (result->fluid_s >= 0)
      g_string_append_printf (out, "%.6f", 1e6 * result->fluid_s);
    g_string_append_c (out, ',');
    if (result->message_s >= 0)
      g_string_append_printf (out, "%.6f", 1e6 * result->message_s);
    g_string_append_printf (
        out, ",%s,%s,%u\n", result->estimate.algorithm ? result->estimate.algorithm : "",
        result->estimate.protocol ? result->estimate.protocol : "", result->estimate.channels);
  }
  return g_string_free (out, FALSE);
}

static void json_line (LsJson *json, const Task *task, const Line *line) {
  const LsCollectiveResult *result = &line->result;

  ls_json_open_object (json, NULL);
  ls_json_integer (json, "size_bytes", line->bytes);
  ls_json_integer (json, "count", count_of (task, line));
  ls_json_string (json, "type", "float");
  ls_json_string (json, "redop", redop_of (task->op));
  ls_json_integer (json, "root", task->root);
  ls_json_number (json, "time_us", 1e6 * seconds_of (line));
  ls_json_number (json, "algbw_gb_s", algbw (task, line));
  ls_json_number (json, "busbw_gb_s", busbw (task, line));
  ls_json_number (json, "closed_form_us", 1e6 * result->estimate.time_s);
  ls_json_number (json, "latency_us", 1e6 * result->estimate.latency_s);
  ls_json_number (json, "gap_pct", gap_pct (seconds_of (line), result->estimate.time_s));
  if (result->message_s >= 0)
    ls_json_number (json, "message_us", 1e6 * result->message_s);
  if (both (task))
    ls_json_number (json, "message_gap_pct", gap_pct (result->message_s, result->fluid_s));
  ls_json_string (json, "algorithm", result->estimate.algorithm);
  ls_json_string (json, "protocol", result->estimate.protocol);
  ls_json_integer (json, "channels", result->estimate.channels);
  ls_json_close (json);
}

static char *as_json (LsCli *cli, const Task *task, const GArray *lines) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_string (json, "operation", ls_collective_op_name (task->op));
  ls_json_integer (json, "ranks", task->job.n);
  ls_json_integer (json, "iterations", task->job.iterations);
  ls_json_open_array (json, "sizes");
  for (guint i = 0; i < lines->len; i++)
    json_line (json, task, &g_array_index (lines, Line, i));
  ls_json_close (json);
  ls_json_number (json, "avg_busbw_gb_s", mean_busbw (task, lines));
  ls_json_strings (json, "warnings", cli->warnings);
  ls_json_close (json);
  return ls_json_finish (json);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Was the algorithm that was asked for taken? Some need switches that reduce, or several nodes. */
static gboolean as_wished (const Task *task, const Line *line, GError **error) {
  const LsNetEstimate *estimate = &line->result.estimate;
  const char *wanted = ls_algorithm_name (task->descriptor.algorithm);

  if (task->descriptor.algorithm == LS_ALGORITHM_AUTO || !estimate->algorithm ||
      g_str_equal (wanted, estimate->algorithm))
    return TRUE;
  g_set_error (
      error, LS_ERROR, LS_ERROR_USAGE,
      "%s does no %s on these ranks: hierarchical needs several nodes with the same number "
      "of ranks, two or more; nvls and sharp switches that reduce; torus a whole one",
      wanted, ls_collective_op_name (task->op));
  return FALSE;
}

static gboolean run_sizes (LsCli *cli, const LsCluster *cluster, Task *task, GArray *lines,
                           GError **error) {
  g_autoptr (LsCollectiveBench) bench = ls_collective_bench_new (cluster);
  g_autoptr (LsProgress) progress = ls_progress_new (cli, ls_collective_op_name (task->op));
  gboolean given = task->splits != NULL;

  /* While the first is laid out nobody looks yet: a signal ends the command at once (interrupt.h). */
  for (guint i = 0; i < task->sizes->len && (i == 0 || !ls_interrupt_requested ()); i++) {
    Line line = {.bytes = g_array_index (task->sizes, gint64, i)};

    if (task->op == LS_COLLECTIVE_ALL_TO_ALLV && !given) {
      /* Plans know splits by their address, which others may have next. */
      g_clear_pointer (&bench, ls_collective_bench_free);
      bench = ls_collective_bench_new (cluster);
      even_splits (task, task->job.n, line.bytes);
      line.bytes = sum_of_splits (task, task->job.n);
    }
    task->descriptor.bytes = line.bytes;
    if (!ls_collective_run (bench, &task->job, &task->descriptor, &line.result, error) ||
        !as_wished (task, &line, error))
      return FALSE;
    g_array_append_val (lines, line);
    ls_progress_update (progress, (double) (i + 1) / task->sizes->len, NULL);
  }
  return TRUE;
}

static int run_collective (LsCli *cli, GError **error) {
  const GPtrArray *words = ls_args_positional (cli->args);
  g_autoptr (GPtrArray) files = g_ptr_array_new ();
  g_autoptr (GArray) lines = g_array_new (FALSE, TRUE, sizeof (Line));
  g_autoptr (LsScenario) scenario = NULL;
  g_auto (Task) task = {.root = -1};
  g_autofree char *text = NULL;

  if (words->len < 2) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE,
                 "an operation and a cluster are needed, as in: lockstep collective all_reduce "
                 "topologies/dgx-h100.yaml; operations are %s",
                 OPERATIONS);
    return 2;
  }
  if (cli->json && ls_args_has (cli->args, "csv")) {
    g_set_error (error, LS_ERROR, LS_ERROR_USAGE, "--json and --csv: one of the two");
    return 2;
  }
  if (!read_operation (words->pdata[0], &task, error))
    return 2;
  for (guint i = 1; i < words->len; i++)
    g_ptr_array_add (files, words->pdata[i]);
  scenario = ls_scenario_from_files (cli, files, TRUE);
  if (!ls_scenario_report (cli, scenario))
    return 2;
  if (!read_task (cli, scenario->cluster, &task, error) ||
      !run_sizes (cli, scenario->cluster, &task, lines, error))
    return 2;
  text = cli->json                        ? as_json (cli, &task, lines)
         : ls_args_has (cli->args, "csv") ? as_csv (&task, lines)
                                          : as_text (&task, lines);
  if (!ls_cli_write (cli, text, error))
    return 2;
  return ls_interrupt_requested () ? 130 : 0;
}

const LsCommand ls_command_collective = {
    .name = "collective",
    .usage = "OP FILE... [options]",
    .summary = "time one collective operation over a range of sizes",
    .description =
        "Runs the operation alone on the cluster of the files, on the same engine as `run`, and "
        "prints the columns of nccl-tests (out of place) beside the uncontended closed form, with "
        "the algorithm and the protocol that were chosen as NCCL chooses.\n"
        "Sizes count as in nccl-tests: all_gather, reduce_scatter, gather and scatter the whole "
        "buffer, all_to_all what one rank sends, all_to_allv the sum over all ranks (bandwidths "
        "per rank). Operations: " OPERATIONS ".\n"
        "--models both runs every size twice, as phases (fluid) and as single messages, and shows "
        "how far the two are apart: messages pay latencies that the fluid model hides behind "
        "bytes, "
        "or hide ones that it pays.",
    .examples = "all-reduce on two nodes\tlockstep collective all_reduce topologies/dgx-h100.yaml "
                "--set cluster.nodes=2 --sizes 1K:8G:2x\n"
                "a tree against what is chosen\tlockstep collective all_reduce "
                "topologies/dgx-a100.yaml --algorithm tree\n"
                "expert parallelism\tlockstep collective all_to_allv topologies/dgx-h100.yaml "
                "--ranks 0-7 --splits splits.csv --models both\n",
    .positional = "@file",
    .options = options,
    .takes_scenario = TRUE,
    .run = run_collective,
};
