/* The most that a device's activations take in a step, from its schedule's list of actions.
 *
 * Model:      before each action the device holds, for every micro-batch between its forward and its
 *             backward, what the part keeps; between the halves of a backward, what is put off. The action
 *             adds its own peak to that of all others. So GPipe holds m micro-batches, 1F1B min (p - d, m),
 *             interleaved 1 + (p - 1)/(p v) times as much as 1F1B on device 0, ZB-H2 2 p - 1, DualPipe p + 1.
 *             Layers that are gathered ahead (ZeRO stage 3) belong to the passes that follow in the list.
 * Cost:       O(actions x layers gathered at once), and a walk for each pass that is followed by other gathers.
 */
#pragma once

#include "train/memory/memory_walk.h"
#include "train/pipeline/pipeline.h"

/* What is gathered for a device. */
typedef struct {
  const LsStage *stage;
  const LsMemoryBuffers *buffers;
} LsMemoryGathers;

/* `walks` by part; `gathers` may be NULL: nothing is. */
LsMemoryPeak ls_memory_actions (const LsWorkload *workload, guint device, const LsMemoryWalk *walks,
                                const LsMemoryGathers *gathers);
