/* What the host cannot hide of a layer's list: the time to launch its kernels beyond the time to run them.
 *
 * Model:      the host needs h for each launch and runs ahead of the device; a list of kernels that takes H to launch and D
 *             to run takes max (H, D), so that H - D is added behind it where that is positive. Where every launch waits
 *             for the one before to end, H of kernels and collectives is added.
 *             Where the host reads how many tokens each expert has (software.expert_sync), its lead is gone once per
 *             forward list of a layer with experts, at the first all-to-all of tokens. From one such wait to the next the
 *             list then takes max over k of (time to launch the first k + time to run the k-th and all after it), never
 *             less than max (H, D) and never more than H + D; what that is longer by is added too, as "host_sync". The
 *             all-to-alls are in the way of the host as well: they count with the bytes that leave a rank over all of its
 *             accelerator's links.
 *             source: Megatron-Core, transformer/moe/token_dispatcher.py @bed33f8, _maybe_dtoh_and_synchronize;
 *             Megatron-Bridge, perf_recipes/qwen/gb300/qwen3_moe.py @007282e: "the legacy grouped MLP path syncs
 *             tokens_per_expert to the host every layer, which serializes the CPU behind the GPU".
 *             Parts of a layer that are graphs (software.layer_graphs) are one launch a list.
 * Invariants: nothing is added when a launch costs nothing, or launches are replayed from graphs.
 * Left out:   the lead that one list leaves to the next; a wait in backward lists (their counts are on the host by then);
 *             pairs of a forward and a backward, whose exchanges the other's kernels fill.
 */
#pragma once

#include "train/builder.h"
#include "train/layer_operation.h"

/* Which operations of a list run: of the forward list again where `selected` is given, else those of `runs`. */
typedef gboolean (*LsLaunchFilter) (const LsBuilder *builder, const LsLayerOp *op);

/* Writes what is added behind the first `n` of a list. `forward`: the list has the host's wait, if its layer has. */
void ls_launch_gap (LsBuilder *builder, const LsLayerOp *ops, guint n, const LsLayerPlan *selected,
                    LsLaunchFilter runs, gboolean forward);
