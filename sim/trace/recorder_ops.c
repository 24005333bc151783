/* Operations become rows: events, their causes, and the collectives they belong to.
 *
 * Model:      an event's id is its number in the order of hand-over. A cause (rank, stream, ordinal) is
 *             looked up in the map of the rank, or of its representative; one whose row has not come
 *             waits in `pending` until the step ends.
 * Invariants: times are rounded once, each by itself, so equal instants stay equal and order is kept.
 * Cost:       O(1) per operation.
 */
#include "trace/recorder_private.h"

#include "base/time.h"

/* Fills cause_id and cause_rank. */
static void find_cause (LsRecorder *recorder, const LsOpRecord *record, guint32 event,
                        LsCell *row) {
  row[LS_EVENT_CAUSE] = row[LS_EVENT_CAUSE_RANK] = ls_cell (LS_CELL_NULL);
  const LsCause *cause = &record->cause;
  if (cause->ordinal < 0 || cause->rank >= recorder->meta->n_ranks)
    return;
  guint32 rank = recorder->selection->representative[cause->rank];
  if (rank != cause->rank)
    row[LS_EVENT_CAUSE_RANK] = ls_cell (cause->rank);
  if (rank == LS_TRACE_NOBODY || cause->stream >= recorder->meta->ranks[rank].n_streams)
    return;
  guint32 id = ls_id_map_get (&recorder->streams[rank][cause->stream], cause->ordinal);
  if (id == LS_ID_UNKNOWN) {
    LsPendingCause pending = {event, rank, cause->ordinal, cause->stream};
    g_array_append_val (recorder->pending, pending);
  } else if (id != LS_ID_NONE) {
    row[LS_EVENT_CAUSE] = ls_cell (id);
  }
}

static void write_group (LsRecorder *recorder, guint group) {
  const LsTraceGroup *g = &recorder->meta->groups[group];
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_GROUP);
  row[0] = ls_cell (group);
  row[1] = ls_cell (g->job);
  row[2] = ls_cell (g->axis);
  row[3] = ls_cell (g->n_members);
  for (guint i = 0; i < g->n_members; i++) {
    row = ls_trace_writer_row (recorder->writer, LS_ROW_MEMBER);
    row[0] = ls_cell (group);
    row[1] = ls_cell (i);
    row[2] = ls_cell (g->members[i]);
  }
}

/* Writes the collective's row when its first member comes. */
static guint32 find_collective (LsRecorder *recorder, const LsOpRecord *record) {
  if (record->op->kind != LS_OP_COLLECTIVE || record->group >= recorder->meta->n_groups)
    return 0;
  LsIdMap *map = &recorder->collectives[record->group];
  guint32 id = ls_id_map_get (map, record->sequence);
  if (id != LS_ID_UNKNOWN && id != LS_ID_NONE)
    return id;
  if (!recorder->group_seen[record->group])
    write_group (recorder, record->group);
  recorder->group_seen[record->group] = TRUE;
  id = ++recorder->n_collectives;
  ls_id_map_put (map, record->sequence, id);

  const LsTransfer *transfer = record->transfer;
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_COLLECTIVE);
  row[0] = ls_cell (id);
  row[1] = ls_cell (record->group);
  row[2] = ls_cell (record->sequence);
  row[3] = ls_cell_text (transfer != NULL ? transfer->algorithm : NULL);
  row[4] = ls_cell_text (transfer != NULL ? transfer->protocol : NULL);
  row[5] = transfer != NULL ? ls_cell (transfer->message_bytes) : ls_cell (LS_CELL_NULL);
  row[6] = ls_cell (ls_time_ns_from_ps (record->first_ready_ps));
  row[7] = ls_cell (ls_time_ns_from_ps (record->last_ready_ps));
  row[8] = ls_cell_unless (record->last_rank, LS_NO_RANK);
  return id;
}

static void fill_labels (const LsOp *op, const gint32 *counters, LsCell *row) {
  row[LS_EVENT_AXIS] = ls_cell_unless (op->axis, LS_AXIS_NONE);
  row[LS_EVENT_PHASE] = ls_cell_unless (op->phase, LS_PHASE_NONE);
  row[LS_EVENT_LAYER] = ls_cell_positive (ls_label_value (&op->layer, counters));
  row[LS_EVENT_MICROBATCH] = ls_cell_positive (ls_label_value (&op->microbatch, counters));
  row[LS_EVENT_CHUNK] = ls_cell_positive (ls_label_value (&op->chunk, counters));
}

/* Bytes: what a kernel moves through its memory; what one member of a transfer puts on the wire. */
static gint64 bytes_of (const LsOpRecord *record) {
  const LsTransfer *transfer = record->transfer;
  if (transfer == NULL)
    return record->op->bytes;
  if ((record->op->flags & LS_OP_WORK_TABLE) != 0)
    return record->transfer_bytes;
  return transfer->wire_bytes > 0 ? transfer->wire_bytes : record->op->bytes;
}

static void fill_times (const LsOpRecord *record, LsCell *row) {
  gint64 start_ns = ls_time_ns_from_ps (record->start_ps);
  gint64 end_ns = ls_time_ns_from_ps (record->end_ps);
  gint64 slowed_ps = record->end_ps - record->start_ps - record->alone_ps;
  gint64 wait_ns = start_ns - ls_time_ns_from_ps (record->ready_ps);
  row[LS_EVENT_START] = ls_cell (start_ns);
  row[LS_EVENT_END] = ls_cell (end_ns);
  row[LS_EVENT_WAIT] = ls_cell (MAX (wait_ns, 0));
  row[LS_EVENT_SLOWED] = ls_cell (MAX (ls_time_ns_from_ps (slowed_ps), 0));
  gint64 exposed_ns = MIN (ls_time_ns_from_ps (record->exposed_ps), end_ns - start_ns);
  row[LS_EVENT_EXPOSED] = record->transfer != NULL ? ls_cell (exposed_ns) : ls_cell (LS_CELL_NULL);
}

void ls_recorder_on_op (gpointer self, const LsOpRecord *record) {
  LsRecorder *recorder = self;
  guint32 rank = record->rank;
  if (!ls_trace_selection_has (recorder->selection, rank))
    return;
  const LsTraceRank *meta = &recorder->meta->ranks[rank];
  gint64 step = record->counters != NULL ? record->counters[0] : LS_TRACE_ABSENT;
  LsIdMap *map = &recorder->streams[rank][record->stream];
  if (!ls_recorder_has_step (&recorder->options, step)) {
    ls_id_map_put (map, record->ordinal, LS_ID_NONE);
    return;
  }
  guint32 collective = find_collective (recorder, record); /* its row comes first */
  guint32 id = ++recorder->n_events;
  ls_id_map_put (map, record->ordinal, id);

  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_EVENT);
  row[LS_EVENT_ID] = ls_cell (id);
  row[LS_EVENT_STEP] = ls_cell_positive (step);
  row[LS_EVENT_RANK] = ls_cell (rank);
  row[LS_EVENT_STREAM] = ls_cell (meta->streams[record->stream]);
  row[LS_EVENT_KIND] = ls_cell (record->op->trace_kind);
  row[LS_EVENT_NAME] = ls_cell (record->op->name);
  fill_labels (record->op, record->counters, row);
  row[LS_EVENT_COLLECTIVE] = ls_cell_unless (collective, 0);
  row[LS_EVENT_PEER] = ls_cell_unless (record->peer, LS_NO_RANK);
  fill_times (record, row);
  double flops = record->op->flops;
  gint64 bytes = bytes_of (record);
  row[LS_EVENT_FLOPS] = flops > 0 ? ls_cell_real (flops) : ls_cell (LS_CELL_NULL);
  row[LS_EVENT_BYTES] = bytes > 0 ? ls_cell (bytes) : ls_cell (LS_CELL_NULL);
  find_cause (recorder, record, id, row);
  row[LS_EVENT_CAUSE_RESOURCE] = ls_cell_unless (record->cause_resource, LS_NO_RESOURCE);
  row[LS_EVENT_BOTTLENECK] = ls_cell_unless (record->bottleneck, LS_NO_RESOURCE);

  guint32 cause_rank = record->cause.ordinal < 0 ? rank : record->cause.rank;
  if (cause_rank != rank && cause_rank < recorder->meta->n_ranks) {
    guint32 weight = recorder->selection->class_size[recorder->selection->class_of[rank]];
    recorder->caused_wait_ps[cause_rank] += weight * (record->start_ps - record->ready_ps);
  }
}

/* A message has no cause of its own, and no exposed time: its collective has. */
void ls_recorder_on_message (gpointer self, const LsMessageRecord *message) {
  LsRecorder *recorder = self;
  gint64 step = message->counters[0];
  if (!ls_trace_selection_has (recorder->selection, message->from) ||
      !ls_recorder_has_step (&recorder->options, step))
    return;
  const LsOpRecord member = {.op = message->op,
                             .group = message->group,
                             .sequence = message->sequence,
                             .transfer = message->transfer,
                             .first_ready_ps = message->first_ready_ps,
                             .last_ready_ps = message->last_ready_ps,
                             .last_rank = message->last_rank};
  guint32 collective = find_collective (recorder, &member); /* its row comes first */
  gint64 slowed_ps = message->end_ps - message->start_ps - message->alone_ps;
  LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_EVENT);
  for (guint i = 0; i <= LS_EVENT_BOTTLENECK; i++)
    row[i] = ls_cell (LS_CELL_NULL);
  row[LS_EVENT_ID] = ls_cell (++recorder->n_events);
  row[LS_EVENT_STEP] = ls_cell_positive (step);
  row[LS_EVENT_RANK] = ls_cell (message->from);
  row[LS_EVENT_STREAM] = ls_cell (recorder->names.messages);
  row[LS_EVENT_KIND] = ls_cell (LS_KIND_MESSAGE);
  row[LS_EVENT_NAME] = ls_cell (recorder->names.message);
  fill_labels (message->op, message->counters, row);
  row[LS_EVENT_COLLECTIVE] = ls_cell_unless (collective, 0);
  row[LS_EVENT_PEER] = ls_cell (message->to);
  row[LS_EVENT_START] = ls_cell (ls_time_ns_from_ps (message->start_ps));
  row[LS_EVENT_END] = ls_cell (ls_time_ns_from_ps (message->end_ps));
  row[LS_EVENT_WAIT] = ls_cell (0);
  row[LS_EVENT_SLOWED] = ls_cell (MAX (ls_time_ns_from_ps (slowed_ps), 0));
  row[LS_EVENT_BYTES] = message->bytes > 0 ? ls_cell (message->bytes) : ls_cell (LS_CELL_NULL);
  row[LS_EVENT_BOTTLENECK] = ls_cell_unless (message->bottleneck, LS_NO_RESOURCE);
}

/* Causes whose rows have come meanwhile are filled in; the others stay, until their event is older
 * than two steps: then nothing will come (the operation is one that has no rows). */
void ls_recorder_settle_causes (LsRecorder *recorder) {
  guint kept = 0;
  for (guint i = 0; i < recorder->pending->len; i++) {
    LsPendingCause pending = g_array_index (recorder->pending, LsPendingCause, i);
    guint32 id = ls_id_map_get (&recorder->streams[pending.rank][pending.stream], pending.ordinal);
    if (id == LS_ID_UNKNOWN) {
      if (pending.event > recorder->old_events[recorder->meta->ranks[pending.rank].job])
        g_array_index (recorder->pending, LsPendingCause, kept++) = pending;
    } else if (id != LS_ID_NONE) {
      LsCell *row = ls_trace_writer_row (recorder->writer, LS_ROW_CAUSE);
      row[0] = ls_cell (id);
      row[1] = ls_cell (pending.event);
    }
  }
  g_array_set_size (recorder->pending, kept);
}
