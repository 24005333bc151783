/* Reading stragglers, see stragglers.h. */
#include "faults/stragglers.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/fixed.h"
#include "engine/refine.h"
#include "net/topology.h"
#include "train/read/distribution_keys.h"

/* No factor slows more; what is drawn above it counts as this. source: what still fits the engine's
 * 64-bit picoseconds with kernels of seconds. */
#define LARGEST_FACTOR 1e6
/* Alternating times shorter than this on average are noise, not stragglers, and would cost an event each. */
#define LEAST_CYCLE_S 1e-6

typedef struct {
  LsConfig *config;
  LsConfigErrors *errors;
  const LsCluster *cluster;
  LsTopology *topology; /* NULL until needed */
  const guint *gpu_of_rank;
  guint n_ranks;
  gboolean good;
  /* Of the straggler that is read. */
  LsStraggler *straggler;
  const char *self;
} Reader;

static char *key_of (const Reader *reader, const char *key) {
  return g_strconcat (reader->self, ".", key, NULL);
}

static gboolean has (const Reader *reader, const char *key) {
  g_autofree char *path = key_of (reader, key);

  return ls_config_has (reader->config, path);
}

static void no_effect (Reader *reader, const char *key, const char *reason) {
  g_autofree char *path = key_of (reader, key);

  ls_config_no_effect (reader->config, path, reason);
}

static void G_GNUC_PRINTF (3, 4) fault (Reader *reader, const char *key, const char *format, ...) {
  g_autofree char *path = key_of (reader, key);
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  ls_config_error_at (reader->config, reader->errors, path, "%s", text);
  reader->good = FALSE;
}

/* --- targets ------------------------------------------------------------------------------------ */

static void add_rank (Reader *reader, const char *key, gint64 rank) {
  guint number = (guint) rank;

  if (rank < 0 || rank >= reader->n_ranks) {
    fault (reader, key, "there is no rank %" G_GINT64_FORMAT "; ranks go from 0 to %u", rank,
           reader->n_ranks - 1);
    return;
  }
  g_array_append_val (reader->straggler->ranks, number);
}

static void add_links (Reader *reader, const char *key, const char *pattern) {
  g_autofree char *near = NULL;

  if (reader->topology == NULL)
    reader->topology = ls_topology_new (reader->cluster, NULL);
  g_autoptr (GArray) found = ls_topology_find_links (reader->topology, pattern, &near);
  if (found == NULL) {
    fault (reader, key, "there is no link %s%s%s", pattern, near != NULL ? "; one is " : "",
           near != NULL ? near : "");
    return;
  }
  g_array_append_vals (reader->straggler->links, found->data, found->len);
}

static void add_node (Reader *reader, const char *key, const char *wanted) {
  guint before = reader->straggler->ranks->len;

  if (reader->straggler->part == LS_STRAGGLER_NETWORK) {
    g_autofree char *nics = g_strconcat (wanted, "/nic*", NULL);
    add_links (reader, key, nics);
    return;
  }
  for (guint rank = 0; rank < reader->n_ranks; rank++) {
    guint node = ls_cluster_gpu_node (reader->cluster, reader->gpu_of_rank[rank]);
    g_autofree char *name = ls_cluster_node_name (reader->cluster, node);
    if (g_strcmp0 (name, wanted) == 0)
      g_array_append_val (reader->straggler->ranks, rank);
  }
  if (reader->straggler->ranks->len == before)
    fault (reader, key, "no rank runs on a node %s; nodes are called as %s", wanted,
           "main[0], by their group and number");
}

static void read_nodes (Reader *reader) {
  g_autofree char *path = key_of (reader, "target.nodes");
  guint n = ls_config_get_length (reader->config, path);

  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf ("%s.%u", path, i);
    add_node (reader, "target.nodes", ls_config_get_string (reader->config, item));
  }
}

static const char *text_at (const Reader *reader, const char *key) {
  g_autofree char *path = key_of (reader, key);

  return ls_config_get_string (reader->config, path);
}

static void read_ranks (Reader *reader) {
  g_autofree char *path = key_of (reader, "target.ranks");
  g_autoptr (GArray) list = ls_config_get_indexes (reader->config, path);

  for (guint i = 0; list != NULL && i < list->len; i++)
    add_rank (reader, "target.ranks", g_array_index (list, gint64, i));
}

static gint compare_numbers (gconstpointer a, gconstpointer b) {
  guint x = *(const guint *) a, y = *(const guint *) b;

  return (x > y) - (x < y);
}

/* Ascending, each once. */
static void make_distinct (GArray *numbers) {
  guint n = 0;

  g_array_sort (numbers, compare_numbers);
  for (guint i = 0; i < numbers->len; i++) {
    guint number = g_array_index (numbers, guint, i);
    if (n == 0 || g_array_index (numbers, guint, n - 1) != number)
      g_array_index (numbers, guint, n++) = number;
  }
  g_array_set_size (numbers, n);
}

static void read_target (Reader *reader) {
  static const char *const of_ranks[] = {"target.rank", "target.ranks", "target.all"};
  static const char *const of_links[] = {"target.nic", "target.link"};
  gboolean network = reader->straggler->part == LS_STRAGGLER_NETWORK;
  guint given = 0, wrong = 0;

  for (guint i = 0; i < G_N_ELEMENTS (of_ranks); i++)
    *(network ? &wrong : &given) += has (reader, of_ranks[i]) ? 1u : 0u;
  for (guint i = 0; i < G_N_ELEMENTS (of_links); i++)
    *(network ? &given : &wrong) += has (reader, of_links[i]) ? 1u : 0u;
  given += (has (reader, "target.node") ? 1u : 0u) + (has (reader, "target.nodes") ? 1u : 0u);
  if (given != 1 || wrong > 0) {
    fault (reader, "target", "takes one of %s%s",
           network ? "nic, link, node, nodes" : "rank, ranks, node, nodes, all",
           network ? ", as it affects the network" : "");
    return;
  }
  if (has (reader, "target.rank")) {
    g_autofree char *path = key_of (reader, "target.rank");
    add_rank (reader, "target.rank", ls_config_get_int (reader->config, path));
  }
  if (has (reader, "target.ranks"))
    read_ranks (reader);
  if (has (reader, "target.node"))
    add_node (reader, "target.node", text_at (reader, "target.node"));
  if (has (reader, "target.nodes"))
    read_nodes (reader);
  for (guint i = 0; i < G_N_ELEMENTS (of_links); i++)
    if (has (reader, of_links[i]))
      add_links (reader, of_links[i], text_at (reader, of_links[i]));
  if (has (reader, "target.all")) {
    g_autofree char *path = key_of (reader, "target.all");
    if (!ls_config_get_bool (reader->config, path))
      fault (reader, "target.all", "is true or not given");
    for (guint rank = 0; rank < reader->n_ranks; rank++)
      g_array_append_val (reader->straggler->ranks, rank);
  }
  make_distinct (reader->straggler->ranks);
  make_distinct (reader->straggler->links);
}

/* --- factors and times -------------------------------------------------------------------------- */

static void read_factor (Reader *reader) {
  LsStraggler *straggler = reader->straggler;
  g_autofree char *path = key_of (reader, "time_factor");

  if (straggler->part == LS_STRAGGLER_HOST) {
    no_effect (reader, "time_factor", "a process that stops does nothing at all");
    straggler->factor = ls_distribution ("constant", 1, 0, 0);
    straggler->is_constant = TRUE;
    return;
  }
  if (!ls_config_has (reader->config, path)) {
    ls_config_error_at (reader->config, reader->errors, reader->self, "needs time_factor");
    reader->good = FALSE;
    return;
  }
  if (!ls_distribution_read_factor (reader->config, reader->errors, path, &straggler->factor)) {
    reader->good = FALSE;
    return;
  }
  straggler->is_constant = g_str_equal (straggler->factor.kind->name, "constant");
  if (!isfinite (ls_distribution_mean (&straggler->factor)))
    fault (reader, "time_factor",
           "%s has no mean with these values, so no step time would have one",
           straggler->factor.kind->name);
}

static void read_per (Reader *reader) {
  LsStraggler *straggler = reader->straggler;
  g_autofree char *path = key_of (reader, "per");
  const char *per = ls_config_get_string (reader->config, path);

  if (g_str_equal (per, "step"))
    straggler->per = LS_STRAGGLER_PER_STEP;
  else if (g_str_equal (per, "operation"))
    straggler->per = LS_STRAGGLER_PER_OPERATION;
  if (straggler->per == LS_STRAGGLER_PER_RUN)
    return;
  if (straggler->part == LS_STRAGGLER_HOST || straggler->part == LS_STRAGGLER_NETWORK)
    fault (reader, "per", "what affects %s takes run; normal_for and slow_for let it come and go",
           straggler->part == LS_STRAGGLER_HOST ? "host" : "network");
  else if (straggler->is_timed)
    fault (reader, "per", "with a time the factor is of the run: clocks stay while it lasts");
  else if (straggler->part == LS_STRAGGLER_INPUT && straggler->per == LS_STRAGGLER_PER_STEP)
    fault (reader, "per", "input runs ahead of steps; takes run, operation");
  else if (straggler->is_constant)
    straggler->per = LS_STRAGGLER_PER_RUN;
}

static void read_span (Reader *reader, const char *key, LsDistribution *out) {
  g_autofree char *path = key_of (reader, key);

  if (!ls_distribution_read (reader->config, reader->errors, path, out))
    reader->good = FALSE;
  else if (!isfinite (ls_distribution_mean (out)))
    fault (reader, key, "%s has no mean with these values", out->kind->name);
}

static void read_times (Reader *reader) {
  LsStraggler *straggler = reader->straggler;
  g_autofree char *from = key_of (reader, "from"), *until = key_of (reader, "until");
  gboolean normal = has (reader, "normal_for"), slow = has (reader, "slow_for");

  straggler->from_ps =
      ls_config_has (reader->config, from) ? ls_config_get_time_ps (reader->config, from) : 0;
  straggler->until_ps = ls_config_has (reader->config, until)
                            ? ls_config_get_time_ps (reader->config, until)
                            : G_MAXINT64;
  straggler->comes_and_goes = normal && slow;
  straggler->is_timed =
      normal || slow || straggler->from_ps > 0 || straggler->until_ps < G_MAXINT64;
  if (straggler->until_ps <= straggler->from_ps)
    fault (reader, "until", "is not after from");
  if (normal != slow)
    fault (reader, normal ? "normal_for" : "slow_for", "needs %s beside it",
           normal ? "slow_for" : "normal_for");
  if (normal)
    read_span (reader, "normal_for", &straggler->normal);
  if (slow)
    read_span (reader, "slow_for", &straggler->slow);
  if (straggler->comes_and_goes && reader->good &&
      ls_distribution_mean (&straggler->normal) + ls_distribution_mean (&straggler->slow) <
          LEAST_CYCLE_S)
    fault (reader, "slow_for", "comes and goes within less than 1 us on average");
  if (straggler->part == LS_STRAGGLER_HOST && !straggler->comes_and_goes &&
      straggler->until_ps == G_MAXINT64)
    fault (reader, "affects",
           "a process that stops for ever never ends a step; give until, or "
           "normal_for and slow_for");
  if (straggler->part == LS_STRAGGLER_INPUT && straggler->is_timed)
    fault (reader, "affects", "input is slow all along; draw its factor per operation");
}

static void read_one (Reader *reader, const char *name, guint64 seed) {
  static const char *const words[] = {"compute", "input", "host", "network"};
  LsStraggler *straggler = reader->straggler;
  g_autofree char *self = ls_config_path ("faults", "stragglers", name, NULL);
  g_autofree char *purpose = g_strconcat ("straggler ", name, NULL);

  reader->self = self;
  *straggler = (LsStraggler){.name = g_strdup (name),
                             .key = ls_random_key (seed, purpose, 0),
                             .ranks = g_array_new (FALSE, FALSE, sizeof (guint)),
                             .links = g_array_new (FALSE, FALSE, sizeof (guint))};
  const char *part = text_at (reader, "affects");
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (part, words[i]))
      straggler->part = (LsStragglerPart) i;
  read_target (reader);
  read_factor (reader);
  read_times (reader);
  read_per (reader);
}

/* --- what they come to -------------------------------------------------------------------------- */

double ls_straggler_factor (const LsStraggler *straggler, gsl_rng *rng, guint64 target,
                            guint64 index) {
  LsRandom *random = rng->state;

  if (straggler->is_constant)
    return straggler->factor.values[0];
  *random = (LsRandom){.key = ls_random_hash (straggler->key, target, index)};
  return MIN (ls_distribution_draw (&straggler->factor, rng), LARGEST_FACTOR);
}

/* What a rank is slowed by, as a factor for the run or in its label. */
static void take (LsStragglers *out, const LsStraggler *straggler, guint number, gsl_rng *rng) {
  gboolean whole_run = straggler->part == LS_STRAGGLER_COMPUTE && !straggler->is_timed &&
                       straggler->per == LS_STRAGGLER_PER_RUN;

  for (guint i = 0; i < straggler->ranks->len; i++) {
    guint rank = g_array_index (straggler->ranks, guint, i);
    guint64 *label = &out->label_of_rank[rank];
    if (whole_run) {
      gint64 factor = ls_usage_from_double (ls_straggler_factor (straggler, rng, rank, 0));
      LsInt128 product = (LsInt128) out->factor_of_rank[rank] * factor;
      out->factor_of_rank[rank] = (gint64) ((product + LS_USAGE_ONE / 2) >> LS_USAGE_BITS);
      continue;
    }
    *label = ls_refinement_mix (*label, number + 1u);
    if (!straggler->is_constant || straggler->comes_and_goes)
      *label = ls_refinement_mix (*label, rank);
  }
  out->has_timers = out->has_timers || straggler->is_timed;
  out->has_links = out->has_links || straggler->links->len > 0;
  out->draws =
      out->draws || straggler->per != LS_STRAGGLER_PER_RUN || straggler->part == LS_STRAGGLER_INPUT;
}

static LsStragglers *stragglers_new (guint n_ranks, guint n) {
  LsStragglers *out = g_new0 (LsStragglers, 1);

  out->n_ranks = n_ranks;
  out->n = n;
  out->all = g_new0 (LsStraggler, MAX (n, 1u));
  out->factor_of_rank = g_new (gint64, MAX (n_ranks, 1u));
  out->label_of_rank = g_new0 (guint64, MAX (n_ranks, 1u));
  for (guint rank = 0; rank < n_ranks; rank++)
    out->factor_of_rank[rank] = LS_USAGE_ONE;
  return out;
}

LsStragglers *ls_stragglers_read (LsConfig *config, LsConfigErrors *errors,
                                  const LsCluster *cluster, const guint *gpu_of_rank, guint n_ranks,
                                  guint64 seed) {
  Reader reader = {.config = config,
                   .errors = errors,
                   .cluster = cluster,
                   .gpu_of_rank = gpu_of_rank,
                   .n_ranks = n_ranks,
                   .good = TRUE};

  if (!ls_config_has (config, "faults.stragglers"))
    return NULL;
  g_auto (GStrv) names = ls_config_get_names (config, "faults.stragglers");
  LsStragglers *out = stragglers_new (n_ranks, g_strv_length (names));
  gsl_rng *rng = ls_random_gsl_new (seed, "stragglers", 0);
  gboolean good = TRUE;
  for (guint i = 0; i < out->n; i++) {
    reader.straggler = &out->all[i];
    reader.good = TRUE;
    read_one (&reader, names[i], seed);
    good = good && reader.good;
    if (reader.good)
      take (out, &out->all[i], i, rng);
  }
  gsl_rng_free (rng);
  g_clear_pointer (&reader.topology, ls_topology_free);
  if (!good || out->n == 0)
    g_clear_pointer (&out, ls_stragglers_free);
  return out;
}

void ls_stragglers_free (LsStragglers *stragglers) {
  if (stragglers == NULL)
    return;
  for (guint i = 0; i < stragglers->n; i++) {
    LsStraggler *straggler = &stragglers->all[i];
    ls_distribution_clear (&straggler->factor);
    ls_distribution_clear (&straggler->normal);
    ls_distribution_clear (&straggler->slow);
    g_array_unref (straggler->ranks);
    g_array_unref (straggler->links);
    g_free (straggler->name);
  }
  g_free (stragglers->all);
  g_free (stragglers->factor_of_rank);
  g_free (stragglers->label_of_rank);
  g_free (stragglers);
}
