/* Reading placements and dealing ranks; see placement.h. */
#include "train/read/placement.h"

#include <string.h>

#include "base/distance.h"
#include "config/path.h"

#define P "workload.placement"
#define MOST_NODES 1000000

/* Nodes of one key while it is read: GPUs node by node. */
typedef struct {
  LsWorkloadReader *reader;
  const char *path;
  GArray *gpus;          /* guint */
  GArray *first;         /* guint: first of each node in gpus, and the end */
  const GArray *numbers; /* of the instances of each GPU; NULL: all */
} Reading;

static void place_free (gpointer data) {
  LsPlace *place = data;

  g_array_unref (place->gpus);
  g_free (place->path);
  g_free (place);
}

void ls_placement_free (LsPlacement *placement) {
  if (placement == NULL)
    return;
  g_ptr_array_unref (placement->places);
  g_free (placement);
}

static const LsNodeGroup *find_group (const LsCluster *cluster, const char *name) {
  for (guint i = 0; i < ls_cluster_n_groups (cluster); i++)
    if (strcmp (ls_cluster_group (cluster, i)->name, name) == 0)
      return ls_cluster_group (cluster, i);
  return NULL;
}

char *ls_reader_groups (const LsCluster *cluster) {
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < ls_cluster_n_groups (cluster); i++) {
    const LsNodeGroup *group = ls_cluster_group (cluster, i);

    g_string_append_printf (out, "%s%s[0", i > 0 ? ", " : "", group->name);
    if (group->nodes > 1)
      g_string_append_printf (out, "-%u", group->nodes - 1);
    g_string_append_c (out, ']');
  }
  return g_string_free (out, FALSE);
}

/* "0-3,7" into ascending indexes as given; FALSE when it is none. */
static gboolean parse_indexes (const char *text, GArray *indexes) {
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (char **part = parts; *part != NULL; part++) {
    guint64 from, to;
    g_auto (GStrv) ends = g_strsplit (g_strstrip (*part), "-", 2);

    if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, MOST_NODES, &from, NULL))
      return FALSE;
    to = from;
    if (ends[1] != NULL &&
        (!g_ascii_string_to_unsigned (ends[1], 10, 0, MOST_NODES, &to, NULL) || to < from))
      return FALSE;
    for (guint64 i = from; i <= to; i++) {
      guint index = (guint) i;
      g_array_append_val (indexes, index);
    }
  }
  return indexes->len > 0;
}

/* Devices of one GPU: itself, under MIG all its instances, or those of `numbers`. */
static void add_gpu (Reading *x, const LsNodeGroup *group, guint first, guint gpu,
                     const GArray *numbers) {
  const LsNodeSpec *node = &group->node;

  for (guint local = ls_node_first_device (node, gpu);
       local < node->gpus && ls_node_physical (node, local) == gpu; local++) {
    guint number = node->mig != NULL ? node->mig->instances[local].number : 0;
    gboolean wanted = numbers == NULL;
    guint device = first + local;

    for (guint i = 0; numbers != NULL && i < numbers->len; i++)
      wanted = wanted || g_array_index (numbers, guint, i) == number;
    if (wanted)
      g_array_append_val (x->gpus, device);
  }
}

/* GPUs of one node: all, or those of `placement.gpus`. */
static void add_node (Reading *x, const LsNodeGroup *group, guint node, const GArray *locals) {
  guint first = group->first_gpu + node * group->node.gpus;
  guint n_gpus = ls_node_n_physical (&group->node);

  g_array_append_val (x->first, x->gpus->len);
  for (guint i = 0; i < (locals != NULL ? locals->len : n_gpus); i++) {
    guint local = locals != NULL ? g_array_index (locals, guint, i) : i;

    if (local < n_gpus)
      add_gpu (x, group, first, local, x->numbers);
    else
      ls_reader_fault (x->reader, P ".gpus", "a node of %s has GPUs 0 to %u; there is no %u",
                       group->name, n_gpus - 1, local);
  }
}

/* "main[0-3,7]" or "main". */
static void read_nodes (Reading *x, const char *item_path, const char *text, const GArray *locals) {
  const LsCluster *cluster = x->reader->cluster;
  const char *open = strchr (text, '[');
  g_autofree char *name = open != NULL ? g_strndup (text, (gsize) (open - text)) : g_strdup (text);
  const LsNodeGroup *group = find_group (cluster, name);
  g_autoptr (GArray) indexes = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autofree char *groups = ls_reader_groups (cluster);

  if (group == NULL) {
    ls_reader_fault (x->reader, item_path, "there are no nodes %s; the cluster has %s", name,
                     groups);
    return;
  }
  if (group->node.gpus == 0) {
    ls_reader_fault (x->reader, item_path, "the nodes %s have no GPUs; ranks need some", name);
    return;
  }
  if (open != NULL) {
    const char *close = strchr (open, ']');
    g_autofree char *inside =
        close != NULL ? g_strndup (open + 1, (gsize) (close - open - 1)) : NULL;

    if (close == NULL || close[1] != '\0' || !parse_indexes (inside, indexes)) {
      ls_reader_fault (x->reader, item_path,
                       "'%s' is no list of nodes; takes NAME[0-3,7] or NAME, or several of them",
                       text);
      return;
    }
  }
  for (guint i = 0; i < (open != NULL ? indexes->len : group->nodes); i++) {
    guint node = open != NULL ? g_array_index (indexes, guint, i) : i;

    if (node >= group->nodes) {
      ls_reader_fault (x->reader, item_path, "there is no node %s[%u]; the cluster has %s", name,
                       node, groups);
      return;
    }
    add_node (x, group, node, locals);
  }
}

/* "main[0]/gpu0-3,5" or "main[0]/gpu0/mig2,3": GPUs or instances of one node, as given. */
static void read_gpus (Reading *x, const char *item_path, const char *text) {
  const char *slash = strstr (text, "/gpu"), *mig = strstr (slash + 1, "/mig");
  g_autofree char *nodes = g_strndup (text, (gsize) (slash - text));
  g_autofree char *gpus =
      mig != NULL ? g_strndup (slash + 4, (gsize) (mig - slash - 4)) : g_strdup (slash + 4);
  g_autoptr (GArray) locals = g_array_new (FALSE, FALSE, sizeof (guint));
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint));
  guint before = x->gpus->len;

  if (!parse_indexes (gpus, locals) || (mig != NULL && !parse_indexes (mig + 4, numbers))) {
    ls_reader_fault (x->reader, item_path,
                     "'%s' names no GPUs; takes NAME[0]/gpu0-3 or, under MIG, NAME[0]/gpu0/mig0-2",
                     text);
    return;
  }
  x->numbers = mig != NULL ? numbers : NULL;
  read_nodes (x, item_path, nodes, locals);
  x->numbers = NULL;
  if (mig != NULL && x->reader->fine && x->gpus->len - before < locals->len * numbers->len)
    ls_reader_fault (x->reader, item_path,
                     "'%s' names instances that the node has not; `check --topology` shows them",
                     text);
}

/* "a[0-3,7],b[0-1]" as Slurm writes it: parts begin with a letter, so that indexes stay together. */
static char **split_list (const char *text) {
  g_autoptr (GStrvBuilder) parts = g_strv_builder_new ();
  const char *from = text;

  for (const char *c = text; *c != '\0'; c++) {
    const char *next = c + 1;

    while (*c == ',' && *next == ' ')
      next++;
    if (*c != ',' || !(g_ascii_isalpha (*next) || *next == '_'))
      continue;
    g_autofree char *part = g_strndup (from, (gsize) (c - from));
    g_strv_builder_add (parts, g_strstrip (part));
    from = next;
  }
  g_strv_builder_add (parts, from);
  return g_strv_builder_end (parts);
}

/* All items of a key; `locals` NULL: all GPUs of each node. */
static void read_items (Reading *x, const GArray *locals) {
  LsConfig *config = x->reader->config;
  guint n = ls_config_get_length (config, x->path);

  for (guint i = 0; i < n; i++) {
    g_autofree char *item_path = g_strdup_printf ("%s.%u", x->path, i);
    const char *text = ls_config_get_string (config, item_path);

    g_auto (GStrv) parts = split_list (text);

    for (char **part = parts; *part != NULL; part++)
      if (strstr (*part, "/gpu") != NULL)
        read_gpus (x, item_path, *part);
      else
        read_nodes (x, item_path, *part, locals);
  }
}

/* Deals `plane` GPUs of each node in turn; 0: node by node. */
static GArray *in_order (const Reading *x, guint plane) {
  guint n_nodes = x->first->len;
  GArray *out = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint round = 0; out->len < x->gpus->len; round++)
    for (guint node = 0; node < n_nodes; node++) {
      guint first = g_array_index (x->first, guint, node);
      guint end = node + 1 < n_nodes ? g_array_index (x->first, guint, node + 1) : x->gpus->len;
      guint from = plane == 0 ? first : first + round * plane;

      for (guint i = from; i < end && (plane == 0 || i < from + plane); i++)
        g_array_append_val (out, g_array_index (x->gpus, guint, i));
    }
  return out;
}

static guint read_plane (LsWorkloadReader *r) {
  const char *text = ls_config_get_string (r->config, P ".distribution");
  guint64 plane;

  if (strcmp (text, "block") == 0)
    return 0;
  if (strcmp (text, "cyclic") == 0)
    return 1;
  if (g_str_has_prefix (text, "plane=") &&
      g_ascii_string_to_unsigned (text + strlen ("plane="), 10, 1, MOST_NODES, &plane, NULL))
    return (guint) plane;
  ls_reader_fault (r, P ".distribution", "'%s' is no distribution; takes block, cyclic or plane=N",
                   text);
  return 0;
}

static void add_place (LsPlacement *placement, LsWorkloadReader *r, const char *path, guint first,
                       guint last, const GArray *locals, guint plane) {
  Reading x = {.reader = r, .path = path};
  LsPlace *place = g_new0 (LsPlace, 1);

  x.gpus = g_array_new (FALSE, FALSE, sizeof (guint));
  x.first = g_array_new (FALSE, FALSE, sizeof (guint));
  read_items (&x, locals);
  *place = (LsPlace){g_strdup (path), first, last, in_order (&x, plane)};
  g_ptr_array_add (placement->places, place);
  placement->n_gpus += place->gpus->len;
  g_array_unref (x.gpus);
  g_array_unref (x.first);
}

static gint compare_places (gconstpointer a, gconstpointer b) {
  const LsPlace *x = *(LsPlace *const *) a, *y = *(LsPlace *const *) b;

  return (x->first > y->first) - (x->first < y->first);
}

/* {0-3: "a100[0-3]"}: one place per range. */
static void read_ranges (LsPlacement *placement, LsWorkloadReader *r, const char *key,
                         const GArray *locals, guint plane) {
  g_auto (GStrv) names = ls_config_get_names (r->config, key);

  for (char **name = names; *name != NULL; name++) {
    g_autoptr (GString) path = g_string_new (key);
    g_autoptr (GArray) range = g_array_new (FALSE, FALSE, sizeof (guint));

    ls_config_path_append (path, *name);
    if (strchr (*name, ',') != NULL || !parse_indexes (*name, range)) {
      ls_reader_fault (r, path->str, "'%s' is no range; takes N or N-M", *name);
      continue;
    }
    add_place (placement, r, path->str, g_array_index (range, guint, 0),
               g_array_index (range, guint, range->len - 1), locals, plane);
  }
  g_ptr_array_sort (placement->places, compare_places);
  for (guint i = 1; i < placement->places->len; i++) {
    const LsPlace *a = placement->places->pdata[i - 1], *b = placement->places->pdata[i];

    if (b->first <= a->last)
      ls_reader_fault (r, b->path, "%u is in two ranges", b->first);
  }
}

/* No GPU twice. */
static void check_once (const LsPlacement *placement, LsWorkloadReader *r) {
  g_autofree const LsPlace **owner =
      g_new0 (const LsPlace *, MAX (ls_cluster_n_gpus (r->cluster), 1u));

  for (guint p = 0; p < placement->places->len; p++) {
    const LsPlace *place = placement->places->pdata[p];

    for (guint i = 0; i < place->gpus->len; i++) {
      guint gpu = g_array_index (place->gpus, guint, i);
      g_autofree char *node = NULL;

      if (owner[gpu] == NULL) {
        owner[gpu] = place;
        continue;
      }
      node = ls_cluster_device_name (r->cluster, gpu);
      ls_reader_fault (r, place->path, "%s is placed twice", node);
      break;
    }
  }
}

/* No nodes given: all there are. Which of several groups comes first must be said. */
static void add_cluster (LsPlacement *placement, LsWorkloadReader *r, const GArray *locals,
                         guint plane) {
  Reading x = {.reader = r, .path = P};
  LsPlace *place = g_new0 (LsPlace, 1);
  guint groups = 0;

  x.gpus = g_array_new (FALSE, FALSE, sizeof (guint));
  x.first = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < ls_cluster_n_groups (r->cluster); i++) {
    const LsNodeGroup *group = ls_cluster_group (r->cluster, i);

    groups += group->node.gpus > 0 ? 1 : 0;
    for (guint node = 0; node < group->nodes; node++)
      add_node (&x, group, node, locals);
  }
  if (groups > 1) {
    g_autofree char *names = ls_reader_groups (r->cluster);

    ls_reader_fault (r, "workload",
                     "the cluster has several groups of GPUs; placement must say which ranks run "
                     "where, as in placement: \"%s\"",
                     names);
  }
  *place = (LsPlace){g_strdup (P), 0, G_MAXUINT, in_order (&x, plane)};
  g_ptr_array_add (placement->places, place);
  placement->n_gpus = place->gpus->len;
  g_array_unref (x.gpus);
  g_array_unref (x.first);
}

/* `gpus`: numbers within each node in *locals, or whole names, which stand for nodes. */
static gboolean read_locals (LsWorkloadReader *r, GArray **locals) {
  guint n = ls_reader_has (r, P ".gpus") ? ls_config_get_length (r->config, P ".gpus") : 0;

  for (guint i = 0; i < n; i++) {
    g_autofree char *item = g_strdup_printf (P ".gpus.%u", i);
    const char *text = ls_config_get_string (r->config, item);

    if (strstr (text, "/gpu") != NULL)
      return TRUE;
    if (*locals == NULL)
      *locals = g_array_new (FALSE, FALSE, sizeof (guint));
    if (!parse_indexes (text, *locals))
      ls_reader_fault (r, item,
                       "'%s' is no list of GPUs; takes numbers within a node as in 0-3, or "
                       "names as in main[0]/gpu0-3",
                       text);
  }
  return FALSE;
}

static const char *share_word (guint i) {
  return ls_share_name ((LsShare) i);
}

LsPlacement *ls_placement_new (LsWorkloadReader *r) {
  static const char *const ways[] = {P ".nodes", P ".stages", P ".replicas"};
  g_autoptr (LsPlacement) placement = g_new0 (LsPlacement, 1);
  g_autoptr (GArray) locals = NULL;
  gboolean before = r->fine, named;
  guint given = 0, plane;

  placement->places = g_ptr_array_new_with_free_func (place_free);
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    given += ls_reader_has (r, ways[i]) ? 1 : 0;
  r->fine = TRUE;
  plane = read_plane (r);
  named = read_locals (r, &locals);
  if (given + (named ? 1u : 0u) > 1)
    ls_reader_fault (r, P, "takes one of nodes, stages, replicas and gpus with names of nodes");
  if (named) {
    add_place (placement, r, P ".gpus", 0, G_MAXUINT, NULL, plane);
  } else if (ls_reader_has (r, ways[0])) {
    add_place (placement, r, ways[0], 0, G_MAXUINT, locals, plane);
  } else if (given > 0) {
    placement->axis = ls_reader_has (r, ways[1]) ? LS_AXIS_PIPELINE : LS_AXIS_DATA;
    read_ranges (placement, r, placement->axis == LS_AXIS_PIPELINE ? ways[1] : ways[2], locals,
                 plane);
  } else {
    add_cluster (placement, r, locals, plane);
  }
  r->workload->share = (LsShare) ls_reader_word (r, P ".share", share_word, LS_N_SHARES);
  check_once (placement, r);
  given = r->fine ? 1 : 0;
  r->fine = r->fine && before;
  return given > 0 ? g_steal_pointer (&placement) : NULL;
}

guint ls_placement_data (const LsPlacement *placement, guint per_stage, guint pipeline) {
  guint64 most = G_MAXUINT;

  if (placement->axis == LS_AXIS_DATA) {
    const LsPlace *last = placement->places->pdata[placement->places->len - 1];

    return last->last + 1;
  }
  for (guint i = 0; i < placement->places->len; i++) {
    const LsPlace *place = placement->places->pdata[i];
    guint64 stages =
        placement->axis == LS_AXIS_PIPELINE ? place->last - place->first + 1 : pipeline;

    most = MIN (most, place->gpus->len / (stages * per_stage));
  }
  return (guint) most;
}

/* Every stage or replica has a place, and every place some. */
static void check_cover (const LsPlacement *placement, LsWorkloadReader *r, guint n) {
  const char *what = placement->axis == LS_AXIS_PIPELINE ? "stage" : "replica";
  guint next = 0;

  for (guint i = 0; i < placement->places->len; i++) {
    const LsPlace *place = placement->places->pdata[i];

    if (place->last >= n)
      ls_reader_fault (r, place->path, "there is no %s %u; the job has %u, numbered from 0", what,
                       place->last, n);
    if (place->first > next)
      ls_reader_fault (r, placement->axis == LS_AXIS_PIPELINE ? P ".stages" : P ".replicas",
                       "no place for %s %u", what, next);
    next = place->last + 1;
  }
  if (next < n)
    ls_reader_fault (r, placement->axis == LS_AXIS_PIPELINE ? P ".stages" : P ".replicas",
                     "no place for %s %u; the job has %u, numbered from 0", what, next, n);
}

static guint place_of (const LsPlacement *placement, LsCoordinates at) {
  guint number = placement->axis == LS_AXIS_PIPELINE ? at.stage : at.data;

  for (guint i = 0; i < placement->places->len; i++) {
    const LsPlace *place = placement->places->pdata[i];

    if (placement->axis == LS_AXIS_NONE || (number >= place->first && number <= place->last))
      return i;
  }
  return G_MAXUINT;
}

gboolean ls_placement_apply (const LsPlacement *placement, LsWorkloadReader *r) {
  LsWorkload *w = r->workload;
  const LsLayout *layout = &w->layout;
  g_autofree guint *taken = g_new0 (guint, placement->places->len);
  gboolean before = r->fine, good;

  r->fine = TRUE;
  if (placement->axis != LS_AXIS_NONE)
    check_cover (placement, r, ls_layout_size (layout, placement->axis));
  w->gpu_of_rank = g_new0 (guint, layout->ranks);
  for (guint rank = 0; rank < layout->ranks && r->fine; rank++) {
    guint number = place_of (placement, ls_layout_coordinates (layout, rank));
    const LsPlace *place = placement->places->pdata[number];

    if (taken[number] < place->gpus->len)
      w->gpu_of_rank[rank] = g_array_index (place->gpus, guint, taken[number]);
    taken[number]++;
  }
  for (guint i = 0; i < placement->places->len && r->fine; i++) {
    const LsPlace *place = placement->places->pdata[i];

    if (taken[i] > place->gpus->len)
      ls_reader_fault (r, place->path, "has %u GPUs for %u ranks", place->gpus->len, taken[i]);
  }
  good = r->fine;
  r->fine = r->fine && before;
  return good;
}
