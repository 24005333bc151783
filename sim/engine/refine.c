/* Partition refinement; see refine.h.
 *
 * The partition is one array of nodes in which every class is a stretch. A splitter's edges leave sums at
 * the nodes they reach; the nodes of a class that were reached move to the end of its stretch and are
 * sorted there by their sums.
 */
#include "engine/refine.h"

#include "base/assert.h"
#include "base/memory.h"

typedef struct {
  guint32 a, b;
  guint32 label; /* index into the distinct labels */
} Edge;

typedef struct {
  guint32 to;
  guint32 label;
} Arc;

/* Distinct labels by open addressing: `slots` holds index + 1. */
typedef struct {
  guint32 *slots;
  guint32 mask;
  GArray *values; /* guint64 */
  guint32 last;   /* the one that was asked for last */
} Labels;

typedef struct {
  guint64 low, high;
} Sum;

typedef struct {
  Sum sum;
  guint32 node;
} Reached;

typedef struct {
  guint32 begin, end; /* stretch of the order */
  guint32 reached;    /* how many at the end of it, in this round */
  Sum first;          /* of the first that was reached */
  gboolean mixed;     /* reached with different sums */
  gboolean queued;
} Class;

struct LsRefinement {
  guint32 n;
  guint64 *labels; /* of nodes */
  Edge *edges;
  guint32 n_edges, edges_size;
  Labels edge_labels;
};

/* What one run works on. */
typedef struct {
  guint32 n;
  guint32 *first_arc;
  Arc *arcs;
  Sum *mixed;     /* by label index */
  guint32 *order; /* nodes, class by class */
  guint32 *place; /* of a node in the order */
  guint32 *class_of;
  Sum *sums;       /* of reached nodes */
  GArray *classes; /* Class */
  GArray *queue;   /* guint32 class */
  GArray *reached; /* guint32 node */
  GArray *touched; /* guint32 class */
  GArray *sorted;  /* Reached */
} Work;

/* --- labels ----------------------------------------------------------------------------------- */

static void start_labels (Labels *labels) {
  *labels = (Labels){.values = g_array_new (FALSE, FALSE, sizeof (guint64))};
}

static void clear_labels (Labels *labels) {
  g_array_unref (labels->values);
  g_free (labels->slots);
}

static void grow_labels (Labels *labels) {
  guint32 size = labels->mask == 0 ? 64 : (labels->mask + 1) * 2;
  g_free (labels->slots);
  labels->slots = g_new0 (guint32, size);
  labels->mask = size - 1;
  for (guint32 i = 0; i < labels->values->len; i++) {
    guint64 value = g_array_index (labels->values, guint64, i);
    guint32 slot = (guint32) ls_refinement_mix (1, value) & labels->mask;
    while (labels->slots[slot] != 0)
      slot = (slot + 1) & labels->mask;
    labels->slots[slot] = i + 1;
  }
}

static guint32 label_index (Labels *labels, guint64 value) {
  if (labels->last < labels->values->len &&
      g_array_index (labels->values, guint64, labels->last) == value)
    return labels->last;
  if (labels->mask == 0 || labels->values->len * 2 > labels->mask)
    grow_labels (labels);
  guint32 slot = (guint32) ls_refinement_mix (1, value) & labels->mask;
  for (; labels->slots[slot] != 0; slot = (slot + 1) & labels->mask)
    if (g_array_index (labels->values, guint64, labels->slots[slot] - 1) == value)
      return labels->last = labels->slots[slot] - 1;
  g_array_append_val (labels->values, value);
  labels->slots[slot] = labels->values->len;
  return labels->last = labels->values->len - 1;
}

/* --- the graph -------------------------------------------------------------------------------- */

LsRefinement *ls_refinement_new (guint32 n_nodes) {
  LsRefinement *refinement = g_new0 (LsRefinement, 1);
  refinement->n = n_nodes;
  refinement->labels = ls_memory_new0 (MAX (n_nodes, 1u), sizeof (guint64));
  start_labels (&refinement->edge_labels);
  return refinement;
}

void ls_refinement_free (LsRefinement *refinement) {
  if (refinement == NULL)
    return;
  g_free (refinement->labels);
  g_free (refinement->edges);
  clear_labels (&refinement->edge_labels);
  g_free (refinement);
}

void ls_refinement_set_label (LsRefinement *refinement, guint32 node, guint64 label) {
  LS_REQUIRE (node < refinement->n, "node %u of %u", node, refinement->n);
  refinement->labels[node] = label;
}

void ls_refinement_reserve (LsRefinement *refinement, guint32 n_edges) {
  if (n_edges <= refinement->edges_size)
    return;
  refinement->edges_size = n_edges;
  refinement->edges = g_renew (Edge, refinement->edges, n_edges);
  ls_memory_advise (refinement->edges, (gsize) n_edges * sizeof *refinement->edges);
}

void ls_refinement_add_edge (LsRefinement *refinement, guint32 a, guint32 b, guint64 label) {
  LS_REQUIRE (a < refinement->n && b < refinement->n, "an edge from %u to %u of %u", a, b,
              refinement->n);
  if (refinement->n_edges == refinement->edges_size)
    ls_refinement_reserve (refinement, MAX (64u, 2 * refinement->edges_size));
  refinement->edges[refinement->n_edges++] =
      (Edge){a, b, label_index (&refinement->edge_labels, label)};
}

/* --- the graph as arcs ------------------------------------------------------------------------ */

static void make_arcs (Work *work, const LsRefinement *refinement) {
  const Edge *edges = refinement->edges;
  guint32 n = work->n, n_edges = refinement->n_edges;
  const GArray *labels = refinement->edge_labels.values;
  g_autofree guint32 *next = ls_memory_new0 ((gsize) n + 1, sizeof (guint32));

  work->first_arc = ls_memory_new0 ((gsize) n + 1, sizeof (guint32));
  work->arcs = ls_memory_new (2 * (gsize) n_edges + 1, sizeof (Arc));
  for (guint32 i = 0; i < n_edges; i++) {
    work->first_arc[edges[i].a + 1]++;
    work->first_arc[edges[i].b + 1]++;
  }
  for (guint32 v = 0; v < n; v++)
    next[v + 1] = work->first_arc[v + 1] += work->first_arc[v];
  for (guint32 i = 0; i < n_edges; i++) {
    work->arcs[next[edges[i].a]++] = (Arc){edges[i].b, edges[i].label};
    work->arcs[next[edges[i].b]++] = (Arc){edges[i].a, edges[i].label};
  }
  work->mixed = g_new0 (Sum, MAX (labels->len, 1u));
  for (guint32 i = 0; i < labels->len; i++) {
    guint64 value = g_array_index (labels, guint64, i);
    work->mixed[i] = (Sum){ls_refinement_mix (2, value), ls_refinement_mix (3, value) | 1};
  }
}

/* --- classes ---------------------------------------------------------------------------------- */

static inline Class *class_at (const Work *work, guint32 number) {
  return &((Class *) (gpointer) work->classes->data)[number];
}

static void enqueue (Work *work, guint32 number) {
  if (class_at (work, number)->queued)
    return;
  class_at (work, number)->queued = TRUE;
  g_array_append_val (work->queue, number);
}

static gint compare_reached (gconstpointer a, gconstpointer b, gpointer unused) {
  const Reached *x = a, *y = b;
  (void) unused;
  if (x->sum.low != y->sum.low)
    return x->sum.low < y->sum.low ? -1 : 1;
  if (x->sum.high != y->sum.high)
    return x->sum.high < y->sum.high ? -1 : 1;
  return 0;
}

static gboolean same_sum (Sum a, Sum b) {
  return a.low == b.low && a.high == b.high;
}

/* The stretch begin .. end of the order becomes a class of its own. */
static guint32 new_class (Work *work, guint32 begin, guint32 end) {
  Class fresh = {.begin = begin, .end = end};
  guint32 number = work->classes->len;
  g_array_append_val (work->classes, fresh);
  for (guint32 i = begin; i < end; i++)
    work->class_of[work->order[i]] = number;
  return number;
}

/* One class per label, in the order in which they come. */
static void start_classes (Work *work, const LsRefinement *refinement) {
  Labels labels;
  start_labels (&labels);
  for (guint32 v = 0; v < work->n; v++)
    work->class_of[v] = label_index (&labels, refinement->labels[v]);
  g_autofree guint32 *next = g_new0 (guint32, (gsize) labels.values->len + 1);
  for (guint32 v = 0; v < work->n; v++)
    next[work->class_of[v] + 1]++;
  for (guint32 i = 0; i < labels.values->len; i++) {
    const Class fresh = {.begin = next[i], .end = next[i] + next[i + 1]};
    next[i + 1] += next[i];
    g_array_append_val (work->classes, fresh);
    enqueue (work, i);
  }
  for (guint32 v = 0; v < work->n; v++) {
    work->place[v] = next[work->class_of[v]]++;
    work->order[work->place[v]] = v;
  }
  clear_labels (&labels);
}

/* Adds up what the members of a class send along their edges. */
static void reach (Work *work, guint32 splitter) {
  const Class *class = class_at (work, splitter);
  g_array_set_size (work->reached, 0);
  for (guint32 i = class->begin; i < class->end; i++) {
    guint32 v = work->order[i];
    for (guint32 k = work->first_arc[v]; k < work->first_arc[v + 1]; k++) {
      const Arc *arc = &work->arcs[k];
      Sum *sum = &work->sums[arc->to];
      if (sum->low == 0 && sum->high == 0)
        g_array_append_val (work->reached, arc->to);
      sum->low += work->mixed[arc->label].low;
      sum->high += work->mixed[arc->label].high;
    }
  }
}

/* Moves what was reached to the end of its class. */
static void gather (Work *work) {
  g_array_set_size (work->touched, 0);
  for (guint32 i = 0; i < work->reached->len; i++) {
    guint32 node = g_array_index (work->reached, guint32, i), number = work->class_of[node];
    Class *class = class_at (work, number);
    if (class->end - class->begin == 1)
      continue;
    if (class->reached == 0) {
      g_array_append_val (work->touched, number);
      class->first = work->sums[node];
      class->mixed = FALSE;
    }
    class->mixed = class->mixed || !same_sum (class->first, work->sums[node]);
    guint32 at = work->place[node], to = class->end - 1 - class->reached++;
    guint32 other = work->order[to];
    work->order[to] = node;
    work->place[node] = to;
    work->order[at] = other;
    work->place[other] = at;
  }
}

static void sort_reached (Work *work, guint32 begin, guint32 end) {
  g_array_set_size (work->sorted, end - begin);
  Reached *sorted = (Reached *) (gpointer) work->sorted->data;
  for (guint32 i = begin; i < end; i++)
    sorted[i - begin] = (Reached){work->sums[work->order[i]], work->order[i]};
  g_qsort_with_data (sorted, (gint) (end - begin), sizeof *sorted, compare_reached, NULL);
  for (guint32 i = begin; i < end; i++) {
    work->order[i] = sorted[i - begin].node;
    work->place[work->order[i]] = i;
  }
}

/* Splits a class by what reached its members; its largest part keeps its number and need not be a
 * splitter, for what the others do not explain is its. */
static void split (Work *work, guint32 number) {
  Class whole = *class_at (work, number);
  guint32 begin = whole.end - whole.reached;
  class_at (work, number)->reached = 0;
  if (!whole.mixed && begin == whole.begin)
    return;
  if (whole.mixed)
    sort_reached (work, begin, whole.end);
  guint32 cuts_at = work->queue->len; /* starts of the parts go behind the queue for a moment */
  if (begin > whole.begin)
    g_array_append_val (work->queue, whole.begin);
  for (guint32 i = begin; i < whole.end; i++)
    if (i == begin || !same_sum (work->sums[work->order[i]], work->sums[work->order[i - 1]]))
      g_array_append_val (work->queue, i);
  guint32 n = work->queue->len - cuts_at;
  g_autofree guint32 *cuts = g_new0 (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    cuts[i] = g_array_index (work->queue, guint32, cuts_at + i);
  cuts[n] = whole.end;
  g_array_set_size (work->queue, cuts_at);
  guint32 largest = 0;
  for (guint32 i = 1; i < n; i++)
    if (cuts[i + 1] - cuts[i] > cuts[largest + 1] - cuts[largest])
      largest = i;
  class_at (work, number)->begin = cuts[largest];
  class_at (work, number)->end = cuts[largest + 1];
  for (guint32 i = 0; i < n; i++)
    if (i != largest)
      enqueue (work, new_class (work, cuts[i], cuts[i + 1]));
}

static void refine (Work *work) {
  for (guint32 next = 0; next < work->queue->len; next++) {
    guint32 splitter = g_array_index (work->queue, guint32, next);
    class_at (work, splitter)->queued = FALSE;
    reach (work, splitter);
    gather (work);
    for (guint32 i = 0; i < work->touched->len; i++)
      split (work, g_array_index (work->touched, guint32, i));
    for (guint32 i = 0; i < work->reached->len; i++)
      work->sums[g_array_index (work->reached, guint32, i)] = (Sum){0, 0};
  }
}

guint32 ls_refinement_run (LsRefinement *refinement, guint32 *class_of) {
  guint32 n = refinement->n;
  Work work = {.n = n,
               .order = ls_memory_new (MAX (n, 1u), sizeof (guint32)),
               .place = ls_memory_new (MAX (n, 1u), sizeof (guint32)),
               .class_of = class_of,
               .sums = ls_memory_new0 (MAX (n, 1u), sizeof (Sum)),
               .classes = g_array_new (FALSE, FALSE, sizeof (Class)),
               .queue = g_array_new (FALSE, FALSE, sizeof (guint32)),
               .reached = g_array_new (FALSE, FALSE, sizeof (guint32)),
               .touched = g_array_new (FALSE, FALSE, sizeof (guint32)),
               .sorted = g_array_new (FALSE, FALSE, sizeof (Reached))};
  make_arcs (&work, refinement);
  start_classes (&work, refinement);
  refine (&work);
  guint32 n_classes = 0;
  g_autofree guint32 *numbers = g_new0 (guint32, MAX (work.classes->len, 1u)); /* + 1 */
  for (guint32 v = 0; v < n; v++) {
    if (numbers[class_of[v]] == 0)
      numbers[class_of[v]] = ++n_classes;
    class_of[v] = numbers[class_of[v]] - 1;
  }
  gpointer arrays[] = {work.first_arc, work.arcs, work.mixed, work.order, work.place, work.sums};
  GArray *lists[] = {work.classes, work.queue, work.reached, work.touched, work.sorted};
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_free (arrays[i]);
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_array_unref (lists[i]);
  return n_classes;
}
