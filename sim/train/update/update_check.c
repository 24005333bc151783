/* The rules of an update log; see update_check.h. */
#include "train/update/update_check.h"

/* No mini-batch is larger: batch.per_worker's maximum. */
#define MOST_SAMPLES 1000000000

enum { ON_ITS_WAY, IN_UPDATE, DONE };

typedef struct {
  guint left;    /* shards that are not done */
  guint8 *state; /* by shard */
} Gradient;

struct LsUpdateCheck {
  guint workers, shards;
  gint64 t_ps, next_gradient;
  gint64 *versions;      /* by shard */
  GHashTable *gradients; /* gint64 -> Gradient */
  GArray **open;         /* by shard: gint64, gradients of the update that is not closed yet */
};

static void gradient_free (gpointer data) {
  Gradient *g = data;

  g_free (g->state);
  g_free (g);
}

LsUpdateCheck *ls_update_check_new (guint workers, guint shards) {
  LsUpdateCheck *c = g_new0 (LsUpdateCheck, 1);

  c->workers = workers;
  c->shards = shards;
  c->versions = g_new0 (gint64, shards);
  c->gradients = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, gradient_free);
  c->open = g_new (GArray *, shards);
  for (guint s = 0; s < shards; s++)
    c->open[s] = g_array_new (FALSE, FALSE, sizeof (gint64));
  return c;
}

void ls_update_check_free (LsUpdateCheck *c) {
  if (c == NULL)
    return;
  for (guint s = 0; s < c->shards; s++)
    g_array_unref (c->open[s]);
  g_free (c->open);
  g_hash_table_unref (c->gradients);
  g_free (c->versions);
  g_free (c);
}

static const char *take (LsUpdateCheck *c, const LsUpdateRecord *record) {
  Gradient *g;

  if (record->gradient != c->next_gradient)
    return "takes another gradient than the next one";
  if (record->shard >= 0)
    return "takes a gradient of one shard";
  if (record->samples < 1 || record->samples > MOST_SAMPLES)
    return "takes a gradient of no samples, or of more than there can be";
  c->next_gradient++;
  if (record->operation == LS_UPDATE_LOCAL_STEP) /* used at once */
    return NULL;
  g = g_new0 (Gradient, 1);
  g->left = c->shards;
  g->state = g_new0 (guint8, c->shards);
  g_hash_table_insert (c->gradients, g_memdup2 (&record->gradient, sizeof record->gradient), g);
  return NULL;
}

static void settle (LsUpdateCheck *c, gint64 number, guint shard) {
  Gradient *g = g_hash_table_lookup (c->gradients, &number);

  g->state[shard] = DONE;
  if (--g->left == 0)
    g_hash_table_remove (c->gradients, &number);
}

static const char *read_shard (LsUpdateCheck *c, const LsUpdateRecord *record, guint s) {
  return record->version < 0 || record->version == c->versions[s]
             ? NULL
             : "reads a version that the server does not have";
}

static const char *use_shard (LsUpdateCheck *c, const LsUpdateRecord *record, guint s) {
  Gradient *g = g_hash_table_lookup (c->gradients, &record->gradient);

  if (g == NULL || g->state[s] != ON_ITS_WAY)
    return "applies or drops a gradient that is not on its way";
  if (record->operation == LS_UPDATE_DROP) {
    settle (c, record->gradient, s);
    return NULL;
  }
  if (record->version >= 0 && record->version != c->versions[s] + 1)
    return "makes another version than the next one";
  g->state[s] = IN_UPDATE;
  g_array_append_val (c->open[s], record->gradient);
  if (!record->closes)
    return NULL;
  for (guint i = 0; i < c->open[s]->len; i++)
    settle (c, g_array_index (c->open[s], gint64, i), s);
  g_array_set_size (c->open[s], 0);
  c->versions[s]++;
  return NULL;
}

/* A new state that was agreed on. */
static const char *agree (LsUpdateCheck *c, const LsUpdateRecord *record, guint first, guint end) {
  if (record->members != NULL && record->n_members == 0)
    return "is of a set of nobody";
  for (guint s = first; s < end; s++) {
    if (record->version >= 0 && record->version <= c->versions[s])
      return "makes a version that has been";
    c->versions[s] = record->version < 0 ? c->versions[s] + 1 : record->version;
  }
  return NULL;
}

static const char *check_fields (const LsUpdateCheck *c, const LsUpdateRecord *record) {
  gboolean own = record->operation == LS_UPDATE_READ || record->operation == LS_UPDATE_GRADIENT ||
                 record->operation == LS_UPDATE_LOCAL_STEP;

  if (record->t_ps < c->t_ps)
    return "is of the past";
  if (record->worker >= (gint32) c->workers || record->peer >= (gint32) c->workers ||
      record->shard >= (gint32) c->shards)
    return "names a worker or shard that is not there";
  return own && record->worker < 0 ? "names no worker" : NULL;
}

const char *ls_update_check_next (LsUpdateCheck *c, const LsUpdateRecord *record) {
  guint first = record->shard < 0 ? 0 : (guint) record->shard;
  guint end = record->shard < 0 ? c->shards : first + 1;
  const char *wrong = check_fields (c, record);

  if (wrong != NULL)
    return wrong;
  c->t_ps = record->t_ps;
  switch (record->operation) {
  case LS_UPDATE_GRADIENT:
  case LS_UPDATE_LOCAL_STEP:
    return take (c, record);
  case LS_UPDATE_AVERAGE:
  case LS_UPDATE_OUTER_STEP:
    return agree (c, record, 0, c->shards);
  case LS_UPDATE_ELASTIC:
    return agree (c, record, first, end);
  case LS_UPDATE_PAIR_AVERAGE:
    return record->worker < 0 || record->peer < 0 || record->worker == record->peer
               ? "averages no two workers"
               : NULL;
  case LS_UPDATE_READ:
  case LS_UPDATE_APPLY:
  case LS_UPDATE_DROP:
  case LS_N_UPDATE_OPERATIONS:
    break;
  }
  for (guint s = first; s < end && wrong == NULL; s++)
    wrong =
        record->operation == LS_UPDATE_READ ? read_shard (c, record, s) : use_shard (c, record, s);
  return wrong;
}
