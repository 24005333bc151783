/* A growing map from ordinals (0, 1, 2, ...) to row ids, whose old end can be dropped.
 *
 * Model:      blocks of ids; an ordinal without a row reads as LS_ID_NONE, one that has not come yet
 *             (or never will) as LS_ID_UNKNOWN.
 * Invariants: ids grow with ordinals, so a block may go when its last id is old enough.
 * Cost:       put and get O(1); 4 bytes per ordinal kept.
 *
 * Ownership: a plain record; start from zeros, end with ls_id_map_clear().
 */
#pragma once

#include <glib.h>

#define LS_ID_UNKNOWN 0
#define LS_ID_NONE G_MAXUINT32
#define LS_ID_BLOCK 1024

typedef struct {
  guint32 **blocks; /* blocks[0] is block number `dropped` */
  guint n_blocks;
  guint n_allocated;
  gint64 dropped; /* blocks gone at the old end */
} LsIdMap;

/* Earlier ordinals that have no id yet read as unknown. Ordinals that were dropped are ignored. */
void ls_id_map_put (LsIdMap *map, gint64 ordinal, guint32 id);
guint32 ls_id_map_get (const LsIdMap *map, gint64 ordinal);
/* Drops whole blocks of rows up to and including `id`; never the newest block. */
void ls_id_map_drop (LsIdMap *map, guint32 id);
void ls_id_map_clear (LsIdMap *map);
