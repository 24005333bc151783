/* Work that is made while a run goes on: attention of packed sequences, pauses between steps.
 *
 * Model:      operations with LS_OP_WORK_TABLE ask a table of the engine for their work (engine.h); its number is
 *             one of those in builder.h.
 *             Packed batches: a sequence of s tokens holds documents one behind the other, the last cut at its
 *             end; attention does not cross them, so that it costs sum l_i^2 / s^2 of attention in full. The
 *             lengths l_i of a micro-batch come from a stream of their own by (seed, job, replica, step,
 *             micro-batch): all ranks of a replica, all layers and both passes see the same draw.
 *             The kernel's time in matrix units is scaled, its time in memory is not: both passes read and
 *             write every token.
 *             Pauses: every n-th step ends with one.
 * Invariants: tables are pure functions of rank and loop counters; ranks of one replica read the same values
 *             and may be folded.
 * Left out:   smaller tiles of short documents; model FLOPs still count attention in full.
 *
 * Ownership: borrows the simulation, which owns it.
 */
#pragma once

#include "train/run/simulation.h"

typedef struct LsDrawn LsDrawn;

/* Adds the tables to the simulation's engine, which has none before. */
LsDrawn *ls_drawn_new (LsSimulation *simulation);
void ls_drawn_free (LsDrawn *drawn);

/* sum l^2 / s^2 over the documents of a micro-batch, in (0, 1]; a pure function. */
double ls_drawn_attention_share (const LsWorkload *workload, guint64 key, guint64 index);
