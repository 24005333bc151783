/* The host that launches kernels: a second clock beside the device's, or what it cannot hide of a list.
 *
 * Model:      the host needs h for each launch (in the backward pass, whose kernels autograd's engine launches in C++, what
 *             the software states for it) and runs ahead of the device. Where it bounds a list of the program (H to launch
 *             its kernels and collectives, longer than D to run the kernels) it has a stream of its own: H of the lists, one
 *             after the other, and what follows a list on the device waits until the host has launched it. So
 *               host += H,   device = max (device + D and collectives, host)   from list to list:
 *             a lead won over long kernels or while the device waits for collectives and messages is used up later. It is gone
 *             where the host waits for the device: at the end of a step (the loss and the gradients' norm are read), and at
 *             each message between stages where the software does so (software.messages_synchronize).
 *             Where a lead does not outlast a list, one whose kernels take H to launch and D to run takes max (H, D), H - D
 *             is added behind it where that is positive. That is so
 *             - with ZeRO stage 3: hosts wait until earlier gathers are freed (PyTorch FSDP, limit_all_gathers);
 *             - where every launch waits for the one before to end: H of kernels and collectives is added;
 *             - where h was fitted on times that are sums over lists (software.launch_by_list); a recomputed list and the
 *             backward one behind it, which autograd runs in one go (CheckpointFunction.backward), are one such list;
 *             - with experts whose numbers of tokens the host reads (software.expert_sync): its lead is gone once per
 *             forward list of a layer with experts, at the first all-to-all of tokens. From one such wait to the next the
 *             list then takes max over k of (time to launch the first k + time to run the k-th and all after it), never
 *             less than max (H, D) and never more than H + D; what that is longer by is added too, as "host_sync". The
 *             all-to-alls are in the way of the host as well: they count with the bytes that leave a rank over all of its
 *             accelerator's links.
 *             source: Megatron-Core, transformer/moe/token_dispatcher.py @bed33f8, _maybe_dtoh_and_synchronize;
 *             Megatron-Bridge, perf_recipes/qwen/gb300/qwen3_moe.py @007282e: "the legacy grouped MLP path syncs
 *             tokens_per_expert to the host every layer, which serializes the CPU behind the GPU".
 *             A pair of a forward and a backward takes the host a time of its own (software host_pair): the device waits for it
 *             behind each pair. Which of Megatron-Core's work it is (a plan of the chunk's layers is made anew, of nodes that
 *             autograd runs one by one) is not known; it does not depend on how many layers there are.
 *             source: Megatron-LM pull request 2184 ("EP Overlap brings extra cpu overhead"); Megatron-Bridge pull request 1760.
 *             Parts of a layer that are graphs (software.layer_graphs) are one launch a list.
 * Invariants: nothing is added when a launch costs nothing, or launches are replayed from graphs; lists without collectives
 *             never take longer with a stream of the host than with gaps.
 * Left out:   order inside a list; the depth of the queue of launches (1,024); launches of the optimizer and of messages;
 *             a wait in backward lists (their counts are on the host by then) and in pairs of a forward and a backward,
 *             whose exchanges the other's kernels fill.
 */
#pragma once

#include "train/program/builder.h"
#include "train/program/layer_operation.h"

/* Which operations of a list run: of the forward list again where `selected` is given, else those of `runs`, or
 * all. */
typedef gboolean (*LsLaunchFilter) (const LsBuilder *builder, const LsLayerOp *op);

/* Whose list it is: a forward pass's, one that runs again, a backward pass's. */
typedef enum { LS_LAUNCH_FORWARD, LS_LAUNCH_AGAIN, LS_LAUNCH_BACKWARD } LsLaunchList;

/* Is the host a stream of the program's own? */
gboolean ls_launch_needs_clock (const LsBuilder *builder);
/* A message has come that `point` waits for. */
void ls_launch_message (LsBuilder *builder, LsMark point);
/* Behind a forward and a backward in one block. */
void ls_launch_pair (LsBuilder *builder);
/* Behind the last operation of a step. */
void ls_launch_end_step (LsBuilder *builder);
/* Writes what is added behind the first `n` of a list. A forward list has the host's wait, if its layer has. */
void ls_launch_gap (LsBuilder *builder, const LsLayerOp *ops, guint n, const LsLayerPlan *selected,
                    LsLaunchFilter runs, LsLaunchList kind);
