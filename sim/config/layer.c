/*
 * The rules of layering: maps merge key by key, everything else replaces, and a changed
 * discriminator clears what lower layers said beside it.
 *
 * Both sides have had their short forms expanded, so equal things stand at equal paths. A
 * discriminator counts as changed when its text differs from that of the lower layer, or, where
 * the lower layer had none, from its default: {gpus: 4} under {preset: dgx-h100} is cleared, since
 * the preset says all that a node is. What is cleared and given again by no later layer is named in a warning.
 *
 * Cost: linear in the upper layer, times the scan for a key in the lower map.
 */
#include "config/layer.h"

#include "config/path.h"
#include "config/sugar.h"

#include <string.h>

/* A key that a changed discriminator dropped. */
typedef struct {
  char *map;              /* path of the map it stood in */
  char *key;              /* its name, */
  char *place;            /* and where it was given */
  char *cause;            /* name of the discriminator */
  LsConfigPosition where; /* that changed it here */
} Loss;

struct LsConfigLosses {
  GPtrArray *all; /* Loss */
};

typedef struct {
  LsConfigErrors *errors;
  LsConfigLosses *losses;
  GString *path;
} Merge;

static void merge_maps (Merge *m, LsConfigNode *lower, LsConfigNode *upper,
                        const LsSchemaNode *schema);

/* Does @entry, a key of the upper map, change the kind of thing that the lower map describes? */
static gboolean changes_kind (const LsConfigNode *lower, const LsConfigEntry *entry,
                              const LsSchemaNode *schema) {
  const LsSchemaNode *child = ls_schema_child (schema, entry->key);
  const LsConfigNode *old = ls_config_node_get (lower, entry->key);
  const char *before;

  if (child == NULL || child->row == NULL || !(child->row->flags & LS_CONFIG_DISCRIMINATOR))
    return FALSE;
  if (entry->value->kind != LS_CONFIG_NODE_SCALAR || ls_config_node_is_null (entry->value))
    return FALSE;
  before = old != NULL && old->kind == LS_CONFIG_NODE_SCALAR && !ls_config_node_is_null (old)
               ? old->text
               : child->row->default_text;
  return before == NULL || strcmp (before, entry->value->text) != 0;
}

/* Is it lost with a changed discriminator, and not another of them or given anew? */
static gboolean is_lost (const LsConfigEntry *entry, const LsConfigNode *upper,
                         const LsSchemaNode *schema) {
  const LsSchemaNode *child = ls_schema_child (schema, entry->key);

  return !ls_config_node_is_null (entry->value) && ls_config_node_get (upper, entry->key) == NULL &&
         (child == NULL || child->row == NULL || !(child->row->flags & LS_CONFIG_DISCRIMINATOR));
}

/* Does the upper layer exchange one word for another, so that what stood beside it may have been meant to stay? Not
 * where it describes another kind of thing with keys of that kind, nor where sizes give way to a preset. */
static gboolean is_exchange (const LsConfigNode *lower, const LsConfigNode *upper,
                             const LsConfigEntry *cause, const LsSchemaNode *schema) {
  for (guint i = 0; i < lower->entries->len; i++) {
    const LsConfigEntry *entry = lower->entries->pdata[i];
    const LsSchemaNode *child = ls_schema_child (schema, entry->key);

    if (child != NULL && child->row != NULL && (child->row->flags & LS_CONFIG_DISCRIMINATOR) &&
        !ls_config_node_is_null (entry->value) && strcmp (entry->key, cause->key) != 0)
      return FALSE;
  }
  if (strcmp (cause->key, "preset") == 0)
    return TRUE;
  for (guint i = 0; i < upper->entries->len; i++) {
    const LsConfigEntry *entry = upper->entries->pdata[i];

    if (entry != cause && !ls_config_node_is_null (entry->value))
      return FALSE;
  }
  return TRUE;
}

static void loss_free (gpointer data) {
  Loss *loss = data;

  g_free (loss->map);
  g_free (loss->key);
  g_free (loss->place);
  g_free (loss->cause);
  g_free (loss);
}

LsConfigLosses *ls_config_losses_new (void) {
  LsConfigLosses *losses = g_new0 (LsConfigLosses, 1);

  losses->all = g_ptr_array_new_with_free_func (loss_free);
  return losses;
}

void ls_config_losses_free (LsConfigLosses *losses) {
  if (losses == NULL)
    return;
  g_ptr_array_unref (losses->all);
  g_free (losses);
}

/* What a lower layer said and no longer holds, unless a layer to come gives it again. */
static void note_losses (Merge *m, const LsConfigNode *lower, const LsConfigNode *upper,
                         const LsConfigEntry *cause, const LsSchemaNode *schema) {
  for (guint i = 0; i < lower->entries->len; i++) {
    const LsConfigEntry *entry = lower->entries->pdata[i];
    Loss *loss;

    if (!is_lost (entry, upper, schema))
      continue;
    loss = g_new0 (Loss, 1);
    loss->map = g_strdup (m->path->str);
    loss->key = g_strdup (entry->key);
    loss->place = ls_config_position_text (entry->position);
    loss->cause = g_strdup (cause->key);
    loss->where = cause->position;
    g_ptr_array_add (m->losses->all, loss);
  }
}

static gboolean is_given_again (const LsConfigNode *root, const Loss *loss) {
  g_auto (GStrv) segments = ls_config_path_split (loss->map, NULL, NULL);
  const LsConfigNode *node = root;

  for (guint i = 0; segments != NULL && segments[i] != NULL && node != NULL; i++)
    node = node->kind == LS_CONFIG_NODE_MAP ? ls_config_node_get (node, segments[i]) : NULL;
  return node == NULL || node->kind != LS_CONFIG_NODE_MAP ||
         ls_config_node_get (node, loss->key) != NULL;
}

static gboolean is_of_one_change (const Loss *a, const Loss *b) {
  return strcmp (a->map, b->map) == 0 && strcmp (a->cause, b->cause) == 0 &&
         a->where.file == b->where.file && a->where.line == b->where.line &&
         a->where.column == b->where.column;
}

void ls_config_losses_warn (const LsConfigLosses *losses, const LsConfigNode *root,
                            LsConfigErrors *errors) {
  for (guint i = 0; i < losses->all->len;) {
    const Loss *first = losses->all->pdata[i];
    g_autoptr (GString) lost = g_string_new (NULL);

    for (; i < losses->all->len && is_of_one_change (first, losses->all->pdata[i]); i++) {
      const Loss *loss = losses->all->pdata[i];
      if (!is_given_again (root, loss))
        g_string_append_printf (lost, "%s%s (%s)", lost->len > 0 ? ", " : "", loss->key,
                                loss->place);
    }
    if (lost->len > 0)
      ls_config_errors_add (errors, LS_CONFIG_FAULT_WARNING, first->where,
                            "%s.%s is changed, which drops what was beside it: %s; give again what "
                            "shall stay",
                            first->map, first->cause, lost->str);
  }
}

static void drop_siblings (Merge *m, LsConfigNode *lower, const LsConfigNode *upper,
                           const LsSchemaNode *schema) {
  for (guint i = 0; i < upper->entries->len; i++)
    if (changes_kind (lower, upper->entries->pdata[i], schema)) {
      if (is_exchange (lower, upper, upper->entries->pdata[i], schema))
        note_losses (m, lower, upper, upper->entries->pdata[i], schema);
      g_ptr_array_set_size (lower->entries, 0);
      return;
    }
}

static gboolean has_names (const LsConfigNode *map) {
  for (guint i = 0; i < map->entries->len; i++)
    if (!ls_config_node_is_null (((const LsConfigEntry *) map->entries->pdata[i])->value))
      return TRUE;
  return FALSE;
}

/* Applies "--set list.0=..." to a list. */
static void patch_list (Merge *m, LsConfigNode *list, LsConfigNode *patch,
                        const LsSchemaNode *schema) {
  for (guint i = 0; i < patch->entries->len; i++) {
    LsConfigEntry *entry = patch->entries->pdata[i];
    int index = ls_config_path_index (entry->key);
    LsConfigNode *value = entry->value;

    if (index < 0 || (guint) index > list->items->len) {
      ls_config_errors_add (m->errors, LS_CONFIG_FAULT_ERROR, entry->position,
                            "%s has %u items; there is no item '%s'", m->path->str,
                            list->items->len, entry->key);
      continue;
    }
    if ((guint) index == list->items->len) {
      if (!ls_config_node_is_null (value))
        g_ptr_array_add (list->items, g_steal_pointer (&entry->value));
    } else if (ls_config_node_is_null (value))
      g_ptr_array_remove_index (list->items, (guint) index);
    else if (value->kind == LS_CONFIG_NODE_MAP &&
             ((LsConfigNode *) list->items->pdata[index])->kind == LS_CONFIG_NODE_MAP)
      merge_maps (m, list->items->pdata[index], value, ls_schema_star (schema));
    else {
      ls_config_node_free (list->items->pdata[index]);
      list->items->pdata[index] = g_steal_pointer (&entry->value);
    }
  }
}

/* A patch over something that is no list: a single value counts as a list of one, where the key
 * allows that; nothing as an empty list. Returns the new value (transfer full). */
static LsConfigNode *patch_value (Merge *m, LsConfigNode *old, LsConfigNode *patch,
                                  const LsSchemaNode *schema) {
  LsConfigNode *list = old;

  if (old == NULL || old->kind != LS_CONFIG_NODE_LIST) {
    list = ls_config_node_new_list (patch->position);
    if (old != NULL && old->kind == LS_CONFIG_NODE_SCALAR && !ls_config_node_is_null (old))
      g_ptr_array_add (list->items, old);
    else
      ls_config_node_free (old);
  }
  patch_list (m, list, patch, schema);
  return list;
}

/* Takes the value of @entry over into @lower, which has no map there. A map is merged into an
 * empty one, so that patches inside it are applied as well. */
static void replace (Merge *m, LsConfigNode *lower, LsConfigEntry *entry,
                     const LsSchemaNode *child) {
  LsConfigNode *value = g_steal_pointer (&entry->value);
  LsConfigEntry *there = ls_config_node_entry (lower, entry->key);

  if (value->kind == LS_CONFIG_NODE_PATCH) {
    LsConfigNode *old = there != NULL ? g_steal_pointer (&there->value) : NULL;
    LsConfigNode *list = patch_value (m, old, value, child);

    ls_config_node_free (value);
    value = list;
  } else if (value->kind == LS_CONFIG_NODE_MAP) {
    LsConfigNode *map = ls_config_node_new_map (value->position);

    merge_maps (m, map, value, child);
    ls_config_node_free (value);
    value = map;
  }
  there = ls_config_node_put (lower, entry->key, entry->position, value);
  there->alias = g_steal_pointer (&entry->alias);
  there->implied = entry->implied;
}

static void merge_entry (Merge *m, LsConfigNode *lower, LsConfigEntry *entry,
                         const LsSchemaNode *schema) {
  LsConfigEntry *there = ls_config_node_entry (lower, entry->key);
  const LsSchemaNode *child = ls_schema_child (schema, entry->key);
  gsize length = m->path->len;

  if (entry->implied && (there == NULL || ls_config_node_is_null (there->value)) && child != NULL &&
      child == ls_schema_star (schema) && has_names (lower)) {
    ls_config_sugar_refuse_names (m->errors, entry, lower, m->path->str);
    return;
  }
  ls_config_path_append (m->path, entry->key);
  if (there != NULL && there->value->kind == LS_CONFIG_NODE_MAP &&
      entry->value->kind == LS_CONFIG_NODE_MAP) {
    there->implied = there->implied && entry->implied;
    merge_maps (m, there->value, entry->value, child);
  } else
    replace (m, lower, entry, child);
  g_string_truncate (m->path, length);
}

static void merge_maps (Merge *m, LsConfigNode *lower, LsConfigNode *upper,
                        const LsSchemaNode *schema) {
  if (schema != NULL)
    drop_siblings (m, lower, upper, schema);
  for (guint i = 0; i < upper->entries->len; i++)
    merge_entry (m, lower, upper->entries->pdata[i], schema);
}

void ls_config_layer_merge (LsConfigNode *lower, LsConfigNode *upper, const LsSchemaNode *schema,
                            LsConfigLosses *losses, LsConfigErrors *errors) {
  Merge m = {.errors = errors, .losses = losses, .path = g_string_new (NULL)};

  merge_maps (&m, lower, upper, schema);
  ls_config_node_free (upper);
  g_string_free (m.path, TRUE);
}
