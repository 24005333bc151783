/* Map from ordinals to row ids. See id_map.h. */
#include "trace/id_map.h"

#include <string.h>

static void add_block (LsIdMap *map) {
  if (map->n_blocks == map->n_allocated) {
    map->n_allocated = MAX (4, 2 * map->n_allocated);
    map->blocks = g_renew (guint32 *, map->blocks, map->n_allocated);
  }
  map->blocks[map->n_blocks++] = g_new0 (guint32, LS_ID_BLOCK);
}

void ls_id_map_put (LsIdMap *map, gint64 ordinal, guint32 id) {
  gint64 block = ordinal / LS_ID_BLOCK - map->dropped;
  if (block < 0)
    return;
  while (block >= map->n_blocks)
    add_block (map);
  map->blocks[block][ordinal % LS_ID_BLOCK] = id;
}

guint32 ls_id_map_get (const LsIdMap *map, gint64 ordinal) {
  gint64 block = ordinal / LS_ID_BLOCK - map->dropped;
  if (ordinal < 0 || block < 0)
    return LS_ID_NONE;
  return block < map->n_blocks ? map->blocks[block][ordinal % LS_ID_BLOCK] : LS_ID_UNKNOWN;
}

/* A block may go when none of its rows is newer than `id`. */
static gboolean is_old (const guint32 *block, guint32 id) {
  for (guint i = LS_ID_BLOCK; i-- > 0;)
    if (block[i] != LS_ID_NONE && block[i] > id)
      return FALSE;
  return TRUE;
}

void ls_id_map_drop (LsIdMap *map, guint32 id) {
  guint n = 0;
  while (n + 1 < map->n_blocks && is_old (map->blocks[n], id))
    g_free (map->blocks[n++]);
  if (n == 0)
    return;
  memmove (map->blocks, map->blocks + n, (map->n_blocks - n) * sizeof *map->blocks);
  map->n_blocks -= n;
  map->dropped += n;
}

void ls_id_map_clear (LsIdMap *map) {
  for (guint i = 0; i < map->n_blocks; i++)
    g_free (map->blocks[i]);
  g_free (map->blocks);
  *map = (LsIdMap){0};
}
