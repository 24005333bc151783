/* Activations over a list of actions; see memory_actions.h. */
#include "train/memory/memory_actions.h"

/* A pass through a part; of a pair that runs one by one there are two. */
typedef struct {
  guint8 kind; /* LsActionKind: FORWARD, BACKWARD, INPUT, WEIGHT */
  guint8 part;
} Pass;

typedef struct {
  const LsWorkload *workload;
  const LsMemoryWalk *walks;      /* by part */
  const LsMemoryGathers *gathers; /* NULL: nothing is gathered */
  GArray *passes;                 /* Pass, in order; of what gathers */
  guint next;                     /* of them */
  GPtrArray *units;               /* GArray of gint64, of forward and backward of each part */
  GHashTable *peaks;              /* GBytes: pass and what is gathered behind it -> LsMemoryPeak */
  gint64 live;
  LsMemoryPeak peak;
} Count;

/* --- gathers over the ends of passes -------------------------------------------------------- */

static void add_pass (Count *count, LsActionKind kind, guint part) {
  const Pass pass = {(guint8) kind, (guint8) part};

  g_array_append_val (count->passes, pass);
}

static void list_passes (Count *count, const GArray *actions) {
  for (guint i = 0; i < actions->len; i++) {
    const LsAction *action = &g_array_index (actions, LsAction, i);
    if (action->kind == LS_ACTION_PAIR) {
      add_pass (count, LS_ACTION_FORWARD, action->part);
      add_pass (count, LS_ACTION_BACKWARD, action->other_part);
    } else {
      add_pass (count, (LsActionKind) action->kind, action->part);
    }
  }
}

static void begin_gathers (Count *count, const GArray *actions) {
  const guint n = ls_workload_n_parts (count->workload);

  if (count->gathers == NULL)
    return;
  count->passes = g_array_new (FALSE, FALSE, sizeof (Pass));
  count->peaks =
      g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, g_free);
  count->units = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  list_passes (count, actions);
  for (guint i = 0; i < 2 * n; i++)
    g_ptr_array_add (count->units,
                     ls_memory_units (ls_stage_part (count->gathers->stage, i / 2),
                                      &count->workload->recompute, count->gathers->buffers,
                                      i % 2 == 0 ? LS_ACTION_FORWARD : LS_ACTION_BACKWARD));
}

static void end_gathers (Count *count) {
  if (count->gathers == NULL)
    return;
  g_ptr_array_unref (count->units);
  g_hash_table_unref (count->peaks);
  g_array_unref (count->passes);
}

/* What may be gathered before the pass that is next, and so behind the one before it. */
static GArray *units_ahead (const Count *count) {
  const guint depth = count->gathers->buffers->gathered_layers;
  GArray *ahead = g_array_new (FALSE, FALSE, sizeof (gint64));

  for (guint i = count->next; i < count->passes->len && ahead->len < depth; i++) {
    const Pass *pass = &g_array_index (count->passes, Pass, i);
    const GArray *units = g_ptr_array_index (
        count->units, 2 * pass->part + (pass->kind == LS_ACTION_FORWARD ? 0 : 1));
    if (pass->kind != LS_ACTION_WEIGHT)
      g_array_append_vals (ahead, units->data, MIN (units->len, depth - ahead->len));
  }
  return ahead;
}

/* The peak of a pass of `part`: `own` where nothing is gathered behind it. */
static LsMemoryPeak peak_of (Count *count, LsActionKind kind, guint part, const LsMemoryPeak *own) {
  if (count->gathers == NULL)
    return *own;
  count->next++;
  g_autoptr (GArray) ahead = units_ahead (count);
  g_autoptr (GArray) name = g_array_new (FALSE, FALSE, sizeof (gint64));
  const gint64 which[] = {(gint64) kind, part};

  g_array_append_vals (name, which, G_N_ELEMENTS (which));
  g_array_append_vals (name, ahead->data, ahead->len);
  GBytes *key = g_bytes_new (name->data, name->len * sizeof (gint64));
  LsMemoryPeak *peak = g_hash_table_lookup (count->peaks, key);
  if (peak != NULL) {
    g_bytes_unref (key);
    return *peak;
  }
  peak = g_new (LsMemoryPeak, 1);
  *peak = ls_memory_pass (ls_stage_part (count->gathers->stage, part), &count->workload->recompute,
                          count->gathers->buffers, &count->walks[part], kind, ahead);
  g_hash_table_insert (count->peaks, key, peak);
  return *peak;
}

/* --- activations ---------------------------------------------------------------------------- */

/* A pass that finds `from` of its own micro-batch and leaves `to`. */
static void act (Count *count, gint64 from, LsMemoryPeak own, gint64 to) {
  const gint64 sum = count->live - from + own.bytes;

  if (sum > count->peak.bytes)
    count->peak = (LsMemoryPeak){sum, own.gathered, own.reduced};
  count->live += to - from;
}

static void act_on (Count *count, LsActionKind kind, guint part) {
  const LsMemoryWalk *walk = &count->walks[part];

  switch (kind) {
  case LS_ACTION_FORWARD:
    act (count, 0, peak_of (count, kind, part, &walk->forward), walk->kept);
    break;
  case LS_ACTION_INPUT:
    act (count, walk->kept, peak_of (count, kind, part, &walk->input), walk->put_off);
    break;
  case LS_ACTION_WEIGHT:
    act (count, walk->put_off, peak_of (count, kind, part, &walk->weight), 0);
    break;
  case LS_ACTION_BACKWARD:
  case LS_ACTION_PAIR:
  default:
    act (count, walk->kept, peak_of (count, LS_ACTION_BACKWARD, part, &walk->backward), 0);
    break;
  }
}

/* A forward and a backward layer by layer beside each other: the one keeps as the other lets go, a layer ahead of it, and
 * both have a layer at work. Parts that are not alike have other numbers of exchanges to take turns at: the one may be done
 * before the other has let go of much. */
static void act_together (Count *count, const LsMemoryWalk *forward, const LsMemoryWalk *backward) {
  const gint64 rest = count->live - backward->kept;
  const gint64 work =
      forward->forward.bytes - forward->kept + backward->backward.bytes - backward->kept;
  const gint64 ahead = forward->kept / MAX (forward->forward_layers, 1);
  const gint64 both =
      forward->kept == backward->kept ? forward->kept + ahead : forward->kept + backward->kept;
  const gint64 most = rest + both + work;

  if (most > count->peak.bytes)
    count->peak = (LsMemoryPeak){most, backward->backward.gathered, backward->backward.reduced};
  count->live = rest + forward->kept;
}

static void act_all (Count *count, const GArray *actions, gboolean together) {
  begin_gathers (count, actions);
  for (guint i = 0; i < actions->len; i++) {
    const LsAction *action = &g_array_index (actions, LsAction, i);
    const LsActionKind kind = (LsActionKind) action->kind;

    if (kind == LS_ACTION_PAIR && together && !action->last) {
      act_together (count, &count->walks[action->part], &count->walks[action->other_part]);
    } else if (kind == LS_ACTION_PAIR) {
      act_on (count, LS_ACTION_FORWARD, action->part);
      act_on (count, LS_ACTION_BACKWARD, action->other_part);
    } else {
      act_on (count, kind, action->part);
    }
  }
  end_gathers (count);
}

/* GPipe and 1F1B: lists may be long, and no pass is unlike all of those of a few micro-batches more than are in flight at
 * once (GPipe: than three, with the others of them added). */
static LsMemoryPeak simple (Count *count, guint device) {
  const LsWorkload *workload = count->workload;
  const LsMemoryWalk *walk = &count->walks[0];
  LsPipelineSize size = ls_workload_pipeline_size (workload);
  const gboolean all = workload->schedule == LS_SCHEDULE_GPIPE && workload->layout.pipeline > 1;
  const gint64 m = size.microbatches, in_flight = all ? m : MIN ((gint64) size.devices - device, m);

  if (count->gathers == NULL)
    return (LsMemoryPeak){(in_flight - 1) * walk->kept + walk->peak, walk->gathered, walk->reduced};
  size.microbatches = MIN (m, all ? 3 : in_flight + 2);
  g_autoptr (GArray) actions = ls_pipeline_actions (ls_workload_pipeline (workload), &size, device);
  act_all (count, actions, FALSE);
  count->peak.bytes += all ? (m - size.microbatches) * walk->kept : 0;
  return count->peak;
}

LsMemoryPeak ls_memory_actions (const LsWorkload *workload, guint device, const LsMemoryWalk *walks,
                                const LsMemoryGathers *gathers) {
  const LsPipeline *pipeline = ls_workload_pipeline (workload);
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  Count count = {.workload = workload, .walks = walks, .gathers = gathers};

  if (pipeline->shape == LS_SHAPE_LINE && !pipeline->splits && !size.paired)
    return simple (&count, device);
  g_autoptr (GArray) actions = ls_pipeline_actions (pipeline, &size, device);
  act_all (&count, actions, size.paired);
  return count.peak;
}
