/* Programs of streams: building and freezing; see program.h for the model.
 *
 * Freezing computes, per stream, how many operations one iteration of each loop executes (its
 * stride), from that each wait's affine ordinal, and the blocks of kernels that may run as one event.
 */
#include "engine/program.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "engine/program_private.h"

typedef struct {
  LsMark waiter, target;
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];
  guint n_maps;
  gboolean counted; /* of target only the stream counts; ordinal = base + coefficients x counters */
  gint64 base, coefficient[LS_MAX_LOOP_DEPTH];
} PendingWait;

typedef struct LsProgramBuild {
  GArray *code[LS_MAX_STREAMS];       /* LsInstruction */
  GArray *open_loops[LS_MAX_STREAMS]; /* guint32: index of the open REPEATs */
  GArray *waits;                      /* PendingWait */
} LsProgramBuild;

LsProgram *ls_program_new (const char *name) {
  LsProgram *program = g_new0 (LsProgram, 1);
  g_atomic_ref_count_init (&program->refs);
  program->name = g_strdup (name);
  program->build = g_new0 (LsProgramBuild, 1);
  program->build->waits = g_array_new (FALSE, TRUE, sizeof (PendingWait));
  return program;
}

static void free_build (LsProgram *program) {
  LsProgramBuild *build = program->build;
  if (!build)
    return;
  for (guint s = 0; s < program->n_streams; s++) {
    g_array_unref (build->code[s]);
    g_array_unref (build->open_loops[s]);
  }
  g_array_unref (build->waits);
  g_clear_pointer (&program->build, g_free);
}

LsProgram *ls_program_ref (LsProgram *program) {
  g_atomic_ref_count_inc (&program->refs);
  return program;
}

void ls_program_unref (LsProgram *program) {
  if (!program || !g_atomic_ref_count_dec (&program->refs))
    return;
  free_build (program);
  for (guint s = 0; s < program->n_streams; s++) {
    g_free (program->streams[s].name);
    g_free (program->streams[s].instructions);
  }
  g_free (program->waits);
  g_free (program->blocks);
  g_free (program->memory);
  g_free (program->name);
  g_free (program);
}

guint ls_program_add_stream (LsProgram *program, const char *name) {
  LS_REQUIRE (program->build, "program %s is frozen", program->name);
  LS_REQUIRE (program->n_streams < LS_MAX_STREAMS, "program %s has too many streams",
              program->name);
  guint stream = program->n_streams++;
  program->streams[stream].name = g_strdup (name);
  program->build->code[stream] = g_array_new (FALSE, TRUE, sizeof (LsInstruction));
  program->build->open_loops[stream] = g_array_new (FALSE, TRUE, sizeof (guint32));
  return stream;
}

static LsMark append (LsProgram *program, guint stream, const LsOp *op, gint64 count) {
  LS_REQUIRE (program->build && stream < program->n_streams, "bad stream %u of program %s", stream,
              program->name);
  GArray *code = program->build->code[stream];
  LsInstruction instruction = {.op = *op,
                               .count = count,
                               .depth = (guint8) program->build->open_loops[stream]->len,
                               .block = LS_NO_BLOCK};
  g_array_append_val (code, instruction);
  return (LsMark){(guint16) stream, TRUE, code->len - 1};
}

guint ls_program_repeat (LsProgram *program, guint stream, gint64 count) {
  LS_REQUIRE (count >= 0 && count <= G_MAXINT32, "repeat count %" G_GINT64_FORMAT " out of range",
              count);
  LsOp op = LS_OP_INIT;
  op.kind = LS_OP_REPEAT;
  LsMark mark = append (program, stream, &op, count);
  GArray *open = program->build->open_loops[stream];
  LS_REQUIRE (open->len < LS_MAX_LOOP_DEPTH, "program %s nests loops too deeply", program->name);
  g_array_append_val (open, mark.index);
  return open->len - 1;
}

void ls_program_end_repeat (LsProgram *program, guint stream) {
  GArray *open = program->build->open_loops[stream];
  LS_REQUIRE (open->len > 0, "end of a repeat that is not open in program %s", program->name);
  guint32 begin = g_array_index (open, guint32, open->len - 1);
  g_array_set_size (open, open->len - 1);
  LsInstruction *repeat = &g_array_index (program->build->code[stream], LsInstruction, begin);
  gint64 count = repeat->count;
  LsOp op = LS_OP_INIT;
  op.kind = LS_OP_END;
  LsMark end = append (program, stream, &op, count);
  GArray *code = program->build->code[stream];
  g_array_index (code, LsInstruction, end.index).jump = begin + 1;
  g_array_index (code, LsInstruction, begin).jump = end.index + 1;
}

LsMark ls_program_add (LsProgram *program, guint stream, const LsOp *op) {
  LS_REQUIRE (op->kind < LS_OP_REPEAT, "loops are made by ls_program_repeat()");
  LS_REQUIRE (op->work_ps >= 0 && op->claim_bytes >= 0 && op->release_bytes >= 0,
              "negative work or memory");
  return append (program, stream, op, 0);
}

void ls_program_wait (LsProgram *program, LsMark waiter, LsMark target, const LsLoopMap *maps,
                      guint n_maps) {
  LS_REQUIRE (program->build && waiter.valid && target.valid, "wait on a mark that was never set");
  LS_REQUIRE (waiter.stream != target.stream, "a stream is in order: it cannot wait for itself");
  LS_REQUIRE (n_maps <= ls_program_depth (program, target),
              "more loop maps than the target has loops");
  PendingWait wait = {.waiter = waiter, .target = target, .n_maps = n_maps};
  for (guint i = 0; i < n_maps; i++)
    wait.maps[i] = maps[i];
  g_array_append_val (program->build->waits, wait);
}

void ls_program_wait_same (LsProgram *program, LsMark waiter, LsMark target) {
  guint n = MIN (ls_program_depth (program, waiter), ls_program_depth (program, target));
  LsLoopMap maps[LS_MAX_LOOP_DEPTH];
  for (guint i = 0; i < n; i++)
    maps[i] = LS_LOOP_SAME ((gint8) i);
  ls_program_wait (program, waiter, target, maps, n);
}

void ls_program_wait_count (LsProgram *program, LsMark waiter, guint stream, gint64 base,
                            const gint64 *coefficients, guint n) {
  LS_REQUIRE (program->build && waiter.valid && stream < program->n_streams,
              "wait on a stream that is not there");
  LS_REQUIRE (waiter.stream != stream && n <= ls_program_depth (program, waiter));
  PendingWait wait = {
      .waiter = waiter, .target.stream = (guint16) stream, .counted = TRUE, .base = base};
  for (guint i = 0; i < n; i++)
    wait.coefficient[i] = coefficients[i];
  g_array_append_val (program->build->waits, wait);
}

guint ls_program_depth (const LsProgram *program, LsMark mark) {
  if (program->build)
    return g_array_index (program->build->code[mark.stream], LsInstruction, mark.index).depth;
  return program->streams[mark.stream].instructions[mark.index].depth;
}

/* Ordinals that instructions [begin, end) execute, and each one's offset within the enclosing
 * iteration is stored; returns after `end`. Loops nest, so this recurses at most LS_MAX_LOOP_DEPTH deep. */
static gint64 number_range (LsInstruction *code, guint32 begin, guint32 end, gint64 offset) {
  gint64 start = offset;
  for (guint32 i = begin; i < end;) {
    code[i].offset = offset;
    if (code[i].op.kind == LS_OP_REPEAT) {
      guint32 after = code[i].jump;
      gint64 stride = number_range (code, i + 1, after - 1, offset);
      code[after - 1].offset = stride; /* END keeps the stride of its loop */
      offset += stride * code[i].count;
      i = after;
    } else {
      if (code[i].op.kind != LS_OP_BUNDLE)
        offset++;
      i++;
    }
  }
  return offset - start;
}

/* Strides and counts of the loops around instruction `index`, outermost first. */
static guint enclosing_loops (const LsInstruction *code, guint32 index, gint64 *strides,
                              gint64 *counts) {
  guint n = 0;
  for (guint32 i = 0; i < index; i++)
    if (code[i].op.kind == LS_OP_REPEAT && code[i].jump > index) {
      strides[n] = code[code[i].jump - 1].offset;
      counts[n++] = code[i].count;
    }
  return n;
}

static void compile_count (const PendingWait *pending, LsWait *wait) {
  *wait = (LsWait){.stream = pending->target.stream, .base = pending->base};
  for (guint level = 0; level < LS_MAX_LOOP_DEPTH; level++)
    wait->coefficient[level] = pending->coefficient[level];
}

static void compile_wait (LsProgram *program, const PendingWait *pending, LsWait *wait) {
  LsInstruction *code = program->streams[pending->target.stream].instructions;
  gint64 strides[LS_MAX_LOOP_DEPTH], counts[LS_MAX_LOOP_DEPTH];
  guint n = enclosing_loops (code, pending->target.index, strides, counts);
  guint waiter_depth =
      program->streams[pending->waiter.stream].instructions[pending->waiter.index].depth;
  LsInstruction *target = &code[pending->target.index];
  gint64 ordinal = target->offset;
  if (target->op.kind == LS_OP_BUNDLE)
    ordinal += target->op.descriptor - 1;
  *wait = (LsWait){.stream = pending->target.stream, .base = ordinal};
  for (guint level = 0; level < n; level++) {
    if (level >= pending->n_maps) {
      wait->base += strides[level] * (counts[level] - 1);
      continue;
    }
    const LsLoopMap *map = &pending->maps[level];
    wait->base += strides[level] * map->offset;
    if (map->from_level < 0)
      continue;
    LS_REQUIRE ((guint) map->from_level < waiter_depth,
                "a wait maps a loop level that its waiter lacks");
    wait->coefficient[map->from_level] += strides[level] * map->step;
  }
  target->watched = TRUE;
}

/* Waits are stored contiguously per waiter, in the order in which they were added. */
static void compile_waits (LsProgram *program) {
  GArray *pending = program->build->waits;
  program->n_waits = pending->len;
  program->waits = g_new0 (LsWait, MAX (pending->len, 1u));
  for (guint i = 0; i < pending->len; i++) {
    LsMark waiter = g_array_index (pending, PendingWait, i).waiter;
    program->streams[waiter.stream].instructions[waiter.index].n_waits++;
  }
  guint32 next = 0;
  for (guint s = 0; s < program->n_streams; s++)
    for (guint32 i = 0; i < program->streams[s].n_instructions; i++) {
      LsInstruction *instruction = &program->streams[s].instructions[i];
      instruction->first_wait = next;
      next += instruction->n_waits;
      instruction->n_waits = 0;
    }
  for (guint i = 0; i < pending->len; i++) {
    const PendingWait *wait = &g_array_index (pending, PendingWait, i);
    LsInstruction *waiter = &program->streams[wait->waiter.stream].instructions[wait->waiter.index];
    LsWait *compiled = &program->waits[waiter->first_wait + waiter->n_waits++];
    if (wait->counted)
      compile_count (wait, compiled);
    else
      compile_wait (program, wait, compiled);
  }
}

static gboolean add_block_part (LsKernelBlock *block, guint8 part, gint64 ps) {
  for (guint i = 0; i < block->n_parts; i++)
    if (block->part[i] == part) {
      block->part_ps[i] += ps;
      return TRUE;
    }
  if (block->n_parts == LS_BLOCK_MAX_PARTS)
    return FALSE;
  block->part[block->n_parts] = part;
  block->part_ps[block->n_parts++] = ps;
  return TRUE;
}

static void add_block_memory (GArray *memory, const LsOp *op, gint64 start_ps, gint64 end_ps) {
  if (op->claim_bytes) {
    LsBlockMemory claim = {start_ps, op->claim_kind, op->claim_bytes};
    g_array_append_val (memory, claim);
  }
  if (op->release_bytes) {
    LsBlockMemory release = {end_ps, op->release_kind, -op->release_bytes};
    g_array_append_val (memory, release);
  }
}

/* Builds the block that starts at `begin`; returns its end. */
static guint32 make_block (LsInstruction *code, guint32 n, guint32 begin, guint32 number,
                           LsKernelBlock *block, GArray *memory) {
  *block = (LsKernelBlock){.begin = begin, .first_memory = memory->len};
  guint32 i = begin;
  for (; i < n && ls_op_is_kernel (code[i].op.kind); i++) {
    const LsOp *op = &code[i].op;
    if (i > begin && (code[i].n_waits > 0 || (code[i - 1].op.flags & LS_OP_MARK) ||
                      ((op->flags | code[i - 1].op.flags) & LS_OP_OPTIONAL)))
      break;
    if (!add_block_part (block, op->part, op->work_ps))
      break;
    if (op->flags & (LS_OP_WORK_TABLE | LS_OP_DRAWN))
      block->varying = TRUE;
    add_block_memory (memory, op, block->total_ps, block->total_ps + op->work_ps);
    block->total_ps += op->work_ps;
    block->flops += (LsInt128) op->flops;
    code[i].block = number;
    if (code[i].watched) {
      i++;
      break;
    }
  }
  block->n_memory = memory->len - block->first_memory;
  return block->end = i;
}

static void compile_blocks (LsProgram *program) {
  GArray *blocks = g_array_new (FALSE, TRUE, sizeof (LsKernelBlock));
  GArray *memory = g_array_new (FALSE, TRUE, sizeof (LsBlockMemory));
  for (guint s = 0; s < program->n_streams; s++) {
    LsInstruction *code = program->streams[s].instructions;
    guint32 n = program->streams[s].n_instructions;
    for (guint32 i = 0; i < n;) {
      if (!ls_op_is_kernel (code[i].op.kind)) {
        i++;
        continue;
      }
      LsKernelBlock block;
      i = make_block (code, n, i, blocks->len, &block, memory);
      g_array_append_val (blocks, block);
    }
  }
  program->n_blocks = blocks->len;
  program->n_memory = memory->len;
  program->blocks = (LsKernelBlock *) (gpointer) g_array_free (blocks, FALSE);
  program->memory = (LsBlockMemory *) (gpointer) g_array_free (memory, FALSE);
}

static gboolean check_bundles (const LsProgram *program, const LsStreamCode *stream,
                               GError **error) {
  for (guint32 i = 0; i < stream->n_instructions; i++) {
    const LsInstruction *bundle = &stream->instructions[i];
    if (bundle->op.kind != LS_OP_BUNDLE)
      continue;
    gboolean good = bundle->op.descriptor > 0 && i + bundle->op.descriptor < stream->n_instructions;
    for (guint32 c = 1; good && c <= bundle->op.descriptor; c++) {
      guint8 kind = stream->instructions[i + c].op.kind;
      good = (kind == LS_OP_SEND || kind == LS_OP_RECV) && stream->instructions[i + c].n_waits == 0;
    }
    if (!good) {
      g_set_error (error, LS_ERROR, LS_ERROR_RUN,
                   "program %s, stream %s: a bundle holds sends and receives without waits of "
                   "their own, at least one",
                   program->name, stream->name);
      return FALSE;
    }
  }
  return TRUE;
}

gboolean ls_program_freeze (LsProgram *program, GError **error) {
  LS_REQUIRE (program->build, "program %s is frozen already", program->name);
  for (guint s = 0; s < program->n_streams; s++) {
    LsStreamCode *stream = &program->streams[s];
    if (program->build->open_loops[s]->len > 0) {
      g_set_error (error, LS_ERROR, LS_ERROR_RUN, "program %s, stream %s: a repeat is not ended",
                   program->name, stream->name);
      return FALSE;
    }
    stream->n_instructions = program->build->code[s]->len;
    stream->instructions = g_new0 (LsInstruction, MAX (stream->n_instructions, 1u));
    if (stream->n_instructions)
      memcpy (stream->instructions, program->build->code[s]->data,
              sizeof (LsInstruction) * stream->n_instructions);
    stream->n_executed = number_range (stream->instructions, 0, stream->n_instructions, 0);
  }
  compile_waits (program);
  for (guint s = 0; s < program->n_streams; s++)
    if (!check_bundles (program, &program->streams[s], error))
      return FALSE;
  compile_blocks (program);
  free_build (program);
  program->frozen = TRUE;
  return TRUE;
}

guint ls_program_n_streams (const LsProgram *program) {
  return program->n_streams;
}

const char *ls_program_stream_name (const LsProgram *program, guint stream) {
  return program->streams[stream].name;
}

guint32 ls_program_n_operations (const LsProgram *program, guint stream) {
  return program->streams[stream].n_instructions;
}

const LsOp *ls_program_operation (const LsProgram *program, guint stream, guint32 i) {
  return &program->streams[stream].instructions[i].op;
}

gint64 ls_program_n_executed (const LsProgram *program) {
  gint64 sum = 0;
  for (guint s = 0; s < program->n_streams; s++)
    sum += program->streams[s].n_executed;
  return sum;
}

gsize ls_program_size_bytes (const LsProgram *program) {
  gsize bytes = sizeof (LsProgram) + program->n_waits * sizeof (LsWait) +
                program->n_blocks * sizeof (LsKernelBlock) +
                program->n_memory * sizeof (LsBlockMemory);
  for (guint s = 0; s < program->n_streams; s++)
    bytes += program->streams[s].n_instructions * sizeof (LsInstruction);
  return bytes;
}

gint32 ls_label_value (const LsLabel *label, const gint32 *counters) {
  if (label->level < 0)
    return label->first;
  return label->first + label->step * counters[label->level] +
         label->step2 * counters[label->level2];
}
