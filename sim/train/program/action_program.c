/* Lists of actions as programs; see action_program.h. */
#include "train/program/action_program.h"

#include "base/assert.h"
#include "train/pipeline/action_loops.h"
#include "train/program/input_program.h"
#include "train/program/launch_program.h"
#include "train/program/layer_program.h"
#include "train/program/pair_program.h"
#include "train/program/reduce_program.h"
#include "train/program/schedule.h"

/* The side on which a stage's neighbour lies, or the model's end. */
typedef enum { HERE, NEXT_DEVICE, PREVIOUS_DEVICE, NOBODY } Side;

typedef struct {
  const LsStage *stage;
  const LsStage *before; /* the stage before it in the model */
  LsChunks *chunks;      /* owned */
  Side to, from;         /* where activations go and come from */
  gint64 first;          /* number of its first micro-batch */
} Part;

typedef struct {
  LsBuilder *builder;
  guint n_parts;
  Part *parts;
  LsMark sent[LS_N_ROLES]; /* the newest of each stream */
  guint n_loops;
  gint32 steps[LS_ACTION_LOOP_DEPTH]; /* of the open loops */
  LsMark previous;                    /* beginning of the action before; invalid at a loop's head */
  LsMark begun;                       /* of the newest action */
  /* Receives of the first action in each open loop: they wait for the last one, an iteration before. */
  GArray *heads[LS_ACTION_LOOP_DEPTH]; /* LsMark */
} Writer;

static Side side_of (gint step) {
  return step == 0 ? HERE : step > 0 ? NEXT_DEVICE : PREVIOUS_DEVICE;
}

static void init_parts (Writer *w) {
  const LsProgramSpec *spec = w->builder->spec;
  const LsPipeline *pipeline = ls_workload_pipeline (spec->workload);
  const LsPipelineSize size = ls_workload_pipeline_size (spec->workload);
  const guint stages = ls_pipeline_n_stages (pipeline, &size);

  w->n_parts = ls_pipeline_n_parts (pipeline, &size);
  w->parts = g_new0 (Part, w->n_parts);
  for (guint i = 0; i < w->n_parts; i++) {
    Part *part = &w->parts[i];
    const guint number = ls_pipeline_stage (pipeline, &size, spec->index, i);
    part->stage = ls_stage_part (spec->stage, i);
    part->before = spec->before[i];
    part->chunks = ls_chunks_new (part->stage, &spec->workload->recompute);
    part->to = number + 1 == stages
                   ? NOBODY
                   : side_of (ls_pipeline_to_next (pipeline, &size, spec->index, i));
    part->from =
        number == 0 ? NOBODY : side_of (ls_pipeline_to_previous (pipeline, &size, spec->index, i));
    if (pipeline->shape == LS_SHAPE_MIRROR && i == 1)
      part->first = size.microbatches / 2;
  }
}

static void free_parts (Writer *w) {
  for (guint i = 0; i < w->n_parts; i++)
    ls_chunks_free (w->parts[i].chunks);
  g_free (w->parts);
}

/* A micro-batch's number in the loops that are open. */
static LsLabel label_of (const Writer *w, gint64 microbatch) {
  LsLabel label = ls_label ((gint32) microbatch, 0, -1);

  if (w->n_loops > 0) {
    label.level = (gint8) (LS_LEVEL_STEP + w->n_loops);
    label.step = (gint8) w->steps[w->n_loops - 1];
  }
  if (w->n_loops > 1) {
    label.level2 = LS_LEVEL_STEP + 1;
    label.step2 = (gint8) w->steps[0];
  }
  return label;
}

/* --- messages ------------------------------------------------------------------------------- */

static gboolean is_remote (Side side) {
  return side == NEXT_DEVICE || side == PREVIOUS_DEVICE;
}

/* A message between this part and the neighbour at `side`, of an activation or its gradient. */
static LsOp message_op (Writer *w, guint part, Side side, gboolean forward, gboolean send,
                        LsLabel microbatch) {
  static const char *const names[2][2] = {{"recv_backward", "send_backward"},
                                          {"recv_forward", "send_forward"}};
  /* In a V and its like the flows of the two parts meet on a link; each has a group of its own. */
  const gboolean back =
      ls_workload_pipeline (w->builder->spec->workload)->shape != LS_SHAPE_RING && part == 1;
  const LsSlot next = back ? LS_SLOT_PIPELINE_BACK : LS_SLOT_PIPELINE;
  const LsSlot previous = back ? LS_SLOT_PIPELINE_BACK_PREVIOUS : LS_SLOT_PIPELINE_PREVIOUS;
  const gboolean own = forward == send; /* what leaves the part, or its gradient that comes */
  const LsStage *maker = own ? w->parts[part].stage : w->parts[part].before;
  LsOp op = ls_builder_collective (w->builder, names[forward][send], LS_COLLECTIVE_SEND_RECV,
                                   maker->boundary_bytes, side == NEXT_DEVICE ? next : previous,
                                   LS_AXIS_PIPELINE, LS_PART_EXPOSED_PIPELINE);

  op.kind = send ? LS_OP_SEND : LS_OP_RECV;
  op.trace_kind = send ? LS_KIND_SEND : LS_KIND_RECV;
  op.peer = side == NEXT_DEVICE ? 1 : 0;
  op.phase = forward ? LS_PHASE_FORWARD : LS_PHASE_BACKWARD;
  op.wait_part = LS_PART_PIPELINE_BUBBLE;
  op.microbatch = microbatch;
  return op;
}

/* The next compute operation waits for what the part needs. */
static void receive (Writer *w, guint part, gboolean forward, LsLabel microbatch) {
  const Side side = forward ? w->parts[part].from : w->parts[part].to;
  const LsRole roles[2][2] = {{LS_ROLE_BACKWARD_NEXT, LS_ROLE_BACKWARD_PREVIOUS},
                              {LS_ROLE_FORWARD_NEXT, LS_ROLE_FORWARD_PREVIOUS}};

  if (!is_remote (side))
    return;
  LsOp op = message_op (w, part, side, forward, FALSE, microbatch);
  LsMark mark = ls_builder_add (w->builder, roles[forward][side == PREVIOUS_DEVICE], &op);
  if (w->previous.valid)
    ls_program_wait_same (w->builder->program, mark, w->previous);
  else
    g_array_append_val (w->heads[w->n_loops - 1], mark);
  ls_builder_wait (w->builder, mark);
}

static void open_loop (Writer *w, const LsActionCode *code) {
  ls_builder_open (w->builder, code->count);
  w->heads[w->n_loops] = g_array_new (FALSE, FALSE, sizeof (LsMark));
  w->steps[w->n_loops++] = code->step;
  w->previous.valid = FALSE;
}

/* An iteration back from the first means an operation before the loop: ordinals run through loops. */
static void close_loop (Writer *w) {
  GArray *heads = w->heads[--w->n_loops];
  LS_REQUIRE (heads != NULL, "a loop that was not opened");
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];

  ls_builder_join (w->builder);
  ls_builder_map_back (w->builder, 1, maps);
  for (guint i = 0; i < heads->len; i++)
    ls_program_wait (w->builder->program, g_array_index (heads, LsMark, i), w->begun, maps,
                     w->builder->depth);
  g_array_unref (heads);
  ls_builder_close (w->builder);
  w->previous = w->begun;
}

/* Once `done` has ended. */
static void send (Writer *w, guint part, gboolean forward, LsLabel microbatch, LsMark done) {
  const Side side = forward ? w->parts[part].to : w->parts[part].from;
  const LsRole roles[2][2] = {{LS_ROLE_SEND_BACK_NEXT, LS_ROLE_PREVIOUS},
                              {LS_ROLE_NEXT, LS_ROLE_SEND_BACK_PREVIOUS}};

  if (!is_remote (side))
    return;
  const LsRole role = roles[forward][side == PREVIOUS_DEVICE];
  LsOp op = message_op (w, part, side, forward, TRUE, microbatch);
  w->sent[role] = ls_builder_add (w->builder, role, &op);
  ls_program_wait_same (w->builder->program, w->sent[role], done);
}

/* --- compute -------------------------------------------------------------------------------- */

static void begin (Writer *w, guint part, LsLabel microbatch) {
  w->builder->microbatch = microbatch;
  w->builder->current = w->parts[part].chunks;
  w->builder->part = part;
  w->builder->section_depth = w->builder->depth;
}

static void end (Writer *w) {
  w->builder->microbatch = LS_LABEL_NONE;
  w->builder->current = w->builder->chunks;
  w->builder->part = 0;
  w->builder->backward = LS_ACTION_BACKWARD;
}

/* A forward up to its layers. */
static void begin_forward (Writer *w, guint part, LsLabel microbatch) {
  LsBuilder *builder = w->builder;
  const Part *own = &w->parts[part];
  LsLabel sample = microbatch;

  begin (w, part, microbatch);
  sample.first -= (gint32) own->first;
  if (own->from == NOBODY)
    ls_input_await_label (builder, sample);
  w->begun = ls_builder_point (builder, "forward");
  ls_launch_message (builder, w->begun);
  if (is_remote (own->from)) {
    LS_REQUIRE (own->before != NULL, "part %u receives from nobody", part);
    ls_layers_gather_boundary (builder, own->before->boundary_gather_bytes, LS_PHASE_FORWARD);
  }
}

static LsMark forward (Writer *w, guint part, LsLabel microbatch) {
  LsBuilder *builder = w->builder;
  const Part *own = &w->parts[part];

  begin_forward (w, part, microbatch);
  ls_layers_forward (builder);
  LsMark done = ls_builder_point (builder, "forward_done");
  if (own->from == NOBODY)
    ls_input_consumed (builder, done);
  end (w);
  return done;
}

static LsMark backward (Writer *w, LsActionKind kind, guint part, LsLabel microbatch,
                        gboolean last) {
  LsBuilder *builder = w->builder;
  const Part *own = &w->parts[part];

  begin (w, part, microbatch);
  builder->backward = kind;
  if (kind != LS_ACTION_INPUT)
    ls_reduce_begin_section (builder, last);
  w->begun = ls_builder_point (builder, kind == LS_ACTION_WEIGHT ? "weights" : "backward");
  if (kind != LS_ACTION_WEIGHT)
    ls_launch_message (builder, w->begun);
  if (kind != LS_ACTION_WEIGHT && is_remote (own->to))
    ls_layers_gather_boundary (builder, own->stage->boundary_gather_bytes, LS_PHASE_BACKWARD);
  ls_layers_backward (builder);
  LsMark done = ls_builder_point (builder, "backward_done");
  if (kind != LS_ACTION_INPUT)
    ls_reduce_end_section (builder);
  end (w);
  return done;
}

/* Does a pair run as one block? Nothing may be sharded or reduced along its backward. */
static gboolean overlaps (const Writer *w, const LsAction *action) {
  const LsWorkload *workload = w->builder->spec->workload;

  return workload->expert_overlap && workload->zero.stage < 2 && !workload->recompute.offload &&
         !action->last &&
         (ls_pair_exchanges (w->parts[action->part].chunks) ||
          ls_pair_exchanges (w->parts[action->other_part].chunks));
}

static LsMark one_block (Writer *w, const LsAction *action, LsLabel microbatch, LsLabel other) {
  LsBuilder *builder = w->builder;
  const Part *own = &w->parts[action->part], *second = &w->parts[action->other_part];
  g_autoptr (GArray) forwards = g_array_new (FALSE, FALSE, sizeof (LsLayerItem));
  g_autoptr (GArray) backwards = g_array_new (FALSE, FALSE, sizeof (LsLayerItem));

  begin_forward (w, action->part, microbatch);
  builder->script = forwards;
  ls_layers_forward (builder);
  builder->script = NULL;
  begin (w, action->other_part, other);
  ls_reduce_begin_section (builder, FALSE);
  if (is_remote (second->to))
    ls_layers_gather_boundary (builder, second->stage->boundary_gather_bytes, LS_PHASE_BACKWARD);
  builder->script = backwards;
  ls_layers_backward (builder);
  builder->script = NULL;
  ls_reduce_end_section (builder);
  ls_pair_write (builder, forwards, microbatch, backwards, other);
  ls_launch_pair (builder);
  LsMark done = ls_builder_point (builder, "pair_done");
  if (own->from == NOBODY)
    ls_input_consumed (builder, done);
  end (w);
  return done;
}

static LsMark one_by_one (Writer *w, const LsAction *action, LsLabel microbatch, LsLabel other) {
  forward (w, action->part, microbatch);
  const LsMark begun = w->begun;
  LsMark done = backward (w, LS_ACTION_BACKWARD, action->other_part, other, action->last);

  w->begun = begun;
  return done;
}

static void write_pair (Writer *w, const LsAction *action) {
  const LsLabel microbatch = label_of (w, action->microbatch);
  const LsLabel other = label_of (w, action->other);

  receive (w, action->part, TRUE, microbatch);
  receive (w, action->other_part, FALSE, other);
  LsMark done = overlaps (w, action) ? one_block (w, action, microbatch, other)
                                     : one_by_one (w, action, microbatch, other);
  send (w, action->part, TRUE, microbatch, done);
  send (w, action->other_part, FALSE, other, done);
}

static void write_action (Writer *w, const LsAction *action) {
  const LsLabel microbatch = label_of (w, action->microbatch);
  const LsActionKind kind = (LsActionKind) action->kind;
  const guint part = action->part;

  switch (kind) {
  case LS_ACTION_FORWARD:
    receive (w, part, TRUE, microbatch);
    send (w, part, TRUE, microbatch, forward (w, part, microbatch));
    break;
  case LS_ACTION_BACKWARD:
  case LS_ACTION_INPUT:
    receive (w, part, FALSE, microbatch);
    send (w, part, FALSE, microbatch, backward (w, kind, part, microbatch, action->last));
    break;
  case LS_ACTION_WEIGHT:
    backward (w, kind, part, microbatch, action->last);
    break;
  case LS_ACTION_PAIR:
    write_pair (w, action);
    break;
  }
}

void ls_actions_build (LsBuilder *builder) {
  const LsWorkload *workload = builder->spec->workload;
  const LsPipelineSize size = ls_workload_pipeline_size (workload);
  g_autoptr (GArray) actions =
      ls_pipeline_actions (ls_workload_pipeline (workload), &size, builder->spec->index);
  g_autoptr (GArray) code = ls_action_loops (actions);
  Writer w = {.builder = builder};

  init_parts (&w);
  w.previous = ls_builder_point (builder, "schedule");
  for (guint i = 0; i < code->len; i++) {
    const LsActionCode *one = &g_array_index (code, LsActionCode, i);
    if (one->kind == LS_CODE_REPEAT) {
      open_loop (&w, one);
    } else if (one->kind == LS_CODE_END) {
      close_loop (&w);
    } else {
      write_action (&w, &one->action);
      w.previous = w.begun;
    }
  }
  /* The step is not over before its last gradient is sent. */
  for (guint role = 0; role < LS_N_ROLES; role++)
    if (w.sent[role].valid)
      ls_builder_wait (builder, w.sent[role]);
  free_parts (&w);
}
