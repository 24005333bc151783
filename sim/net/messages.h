/* The message model of a plan: its round table as single messages for the engine (LsRoundTable).
 *
 * Model:      every move of a round is one message over its own path with the hop of its own bytes. A
 *             segment whose rounds overlap as a pipeline is cut into chunks: in round e chunk e - s passes
 *             stage s. The number of chunks is the one that suits a chain of d stages best,
 *             sqrt ((d - 1) N b / a), between 1 and 64. Launch latencies of later kernels are part of the
 *             latency of their first round. source: chunks: e.g. Sanders, Speck, Traeff (2009).
 * Left out:   NCCL's buffers, which keep several chunks of one hop in flight: here a member sends a chunk
 *             when the one before has gone, so pipelines and rings pay the latency per round and the fluid
 *             model, which hides it behind bytes, is the faster of the two.
 * Cost:       O(distinct moves) to make, O(log) per question. Ownership: borrows shape and plan; paths are
 *             made when first asked for and live as long as the table.
 */
#pragma once

#include "net/plan.h"

typedef struct LsMessages LsMessages;

/* `place_of`: position in the group by position in the shape; NULL: the same. `usages` is borrowed for as
 * long as the table lives. */
LsMessages *ls_messages_new (const LsGroupShape *shape, const guint *place_of, LsPlan *plan,
                             LsProtocol protocol, gint64 bytes, LsUsages *usages);
void ls_messages_free (LsMessages *messages);
const LsRoundTable *ls_messages_table (const LsMessages *messages);
