/* Offloaded activations; see activation_offload.h. */
#include "train/memory/activation_offload.h"

#include "train/memory/memory_actions.h"

gboolean ls_activations_leave (const LsWorkload *workload, const LsChunk *chunk) {
  return workload->recompute.offload && chunk->mode == LS_CHUNK_FULL &&
         ls_chunk_input_bytes (chunk) > 0;
}

static gint64 stored_bytes (const LsStage *stage, const LsWorkload *workload) {
  g_autoptr (LsChunks) chunks = ls_chunks_new (stage, &workload->recompute);
  gint64 bytes = 0;

  for (guint i = 0; i < chunks->n; i++)
    if (ls_activations_leave (workload, &chunks->chunk[i]))
      bytes += chunks->chunk[i].segments * ls_chunk_input_bytes (&chunks->chunk[i]);
  return bytes;
}

gint64 ls_activations_host_bytes (const LsWorkload *workload, guint device, const LsStage *stage) {
  const guint n = ls_workload_n_parts (workload);
  g_autofree LsMemoryWalk *walks = g_new0 (LsMemoryWalk, n);

  for (guint part = 0; part < n; part++) {
    const gint64 bytes = stored_bytes (ls_stage_part (stage, part), workload);
    const LsMemoryPeak peak = {.bytes = bytes};

    walks[part] = (LsMemoryWalk){
        .kept = bytes, .forward = peak, .backward = peak, .input = peak, .peak = bytes};
  }
  return ls_memory_actions (workload, device, walks, NULL).bytes;
}
