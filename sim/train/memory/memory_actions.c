/* Activations over a list of actions; see memory_actions.h. */
#include "train/memory/memory_actions.h"

typedef struct {
  gint64 live;
  LsMemoryPeak peak;
} Count;

/* An action that finds `from` of its own micro-batch and leaves `to`. */
static void act (Count *count, gint64 from, const LsMemoryPeak *own, gint64 to) {
  const gint64 sum = count->live - from + own->bytes;

  if (sum > count->peak.bytes)
    count->peak = (LsMemoryPeak){sum, own->gathered, own->reduced};
  count->live += to - from;
}

static void act_on (Count *count, LsActionKind kind, const LsMemoryWalk *walk) {
  switch (kind) {
  case LS_ACTION_FORWARD:
    act (count, 0, &walk->forward, walk->kept);
    break;
  case LS_ACTION_INPUT:
    act (count, walk->kept, &walk->input, walk->put_off);
    break;
  case LS_ACTION_WEIGHT:
    act (count, walk->put_off, &walk->weight, 0);
    break;
  case LS_ACTION_BACKWARD:
  case LS_ACTION_PAIR:
  default:
    act (count, walk->kept, &walk->backward, 0);
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

/* GPipe and 1F1B, whose lists may be long and are not needed. */
static LsMemoryPeak simple (const LsWorkload *workload, guint device, const LsMemoryWalk *walk) {
  const gint64 m = workload->microbatches;
  const gboolean all = workload->schedule == LS_SCHEDULE_GPIPE && workload->layout.pipeline > 1;
  const gint64 in_flight = all ? m : MIN ((gint64) workload->layout.pipeline - device, m);

  return (LsMemoryPeak){
      .bytes = (in_flight - 1) * walk->kept + walk->peak,
      .gathered = walk->gathered,
      .reduced = walk->reduced,
  };
}

LsMemoryPeak ls_memory_actions (const LsWorkload *workload, guint device,
                                const LsMemoryWalk *walks) {
  const LsPipeline *pipeline = ls_workload_pipeline (workload);
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  Count count = {0};

  if (pipeline->shape == LS_SHAPE_LINE && !pipeline->splits && !size.paired)
    return simple (workload, device, walks);
  g_autoptr (GArray) actions = ls_pipeline_actions (pipeline, &size, device);
  for (guint i = 0; i < actions->len; i++) {
    const LsAction *action = &g_array_index (actions, LsAction, i);
    const LsActionKind kind = (LsActionKind) action->kind;

    if (kind == LS_ACTION_PAIR && size.paired && !action->last) {
      act_together (&count, &walks[action->part], &walks[action->other_part]);
    } else if (kind == LS_ACTION_PAIR) {
      act_on (&count, LS_ACTION_FORWARD, &walks[action->part]);
      act_on (&count, LS_ACTION_BACKWARD, &walks[action->other_part]);
    } else {
      act_on (&count, kind, &walks[action->part]);
    }
  }
  return count.peak;
}
