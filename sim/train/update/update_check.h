/* Is this an update log? What update_log.h says of every record, held against one after another.
 *
 * For logs that were read from a file: a damaged one is bad input, and the learner takes what cannot be for a bug.
 * Model:      versions of the shards, the number of the next gradient, and of each gradient on its way what became of
 *             it shard by shard: on its way, in an update that is not closed yet, applied or dropped.
 * Cost:       O(1) per record and shard; memory: shards per gradient on its way.
 *
 * Ownership: a check owns its tables.
 */
#pragma once

#include "train/update/update_log.h"

typedef struct LsUpdateCheck LsUpdateCheck;

LsUpdateCheck *ls_update_check_new (guint workers, guint shards);
void ls_update_check_free (LsUpdateCheck *check);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdateCheck, ls_update_check_free)

/* NULL: the record may come next, and has. Else what is wrong with it ("is of the past"), static. */
const char *ls_update_check_next (LsUpdateCheck *check, const LsUpdateRecord *record);
