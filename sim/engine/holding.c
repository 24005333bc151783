/* Counting what holds rates down; see holding.h. */
#include "engine/holding.h"

#include "base/assert.h"

/* Transfers that it holds now, since when there is any, and for how long there were before. */
typedef struct {
  guint32 n;
  gint64 since_ps, sum_ps;
} Count;

typedef struct {
  Count saturates, contends;
} Record;

struct LsHoldings {
  guint n_tags; /* beside the one of all */
  guint n_resources;
  Record **records; /* [tag][resource]; the last tag is all; NULL: nothing yet */
};

LsHoldings *ls_holdings_new (guint n_tags) {
  LsHoldings *holdings = g_new0 (LsHoldings, 1);

  holdings->n_tags = n_tags;
  holdings->records = g_new0 (Record *, n_tags + 1);
  return holdings;
}

void ls_holdings_free (LsHoldings *holdings) {
  if (holdings == NULL)
    return;
  for (guint i = 0; i <= holdings->n_tags; i++)
    g_free (holdings->records[i]);
  g_free (holdings->records);
  g_free (holdings);
}

static void count (Count *count, gboolean more, gint64 t_ps) {
  if (more) {
    if (count->n++ == 0)
      count->since_ps = t_ps;
    return;
  }
  LS_ASSERT (count->n > 0);
  if (--count->n == 0)
    count->sum_ps += t_ps - count->since_ps;
}

static Record *record_at (LsHoldings *holdings, guint tag, guint resource) {
  /* Pages that nobody touches cost nothing: the allocation is zeroed lazily. */
  if (holdings->records[tag] == NULL)
    holdings->records[tag] = g_new0 (Record, holdings->n_resources);
  return &holdings->records[tag][resource];
}

static void apply (LsHoldings *holdings, guint tag, LsHold hold, gboolean more, gint64 t_ps) {
  Record *record = record_at (holdings, tag, hold.resource);
  count (&record->saturates, more, t_ps);
  if (hold.contends)
    count (&record->contends, more, t_ps);
}

void ls_holdings_change (LsHoldings *holdings, guint tag, guint n_resources, LsHold old,
                         LsHold new_, gint64 t_ps) {
  guint all = holdings->n_tags;

  holdings->n_resources = n_resources;
  /* The new one first: what goes on holding is not interrupted. */
  for (gboolean more = TRUE; more >= FALSE; more--) {
    LsHold hold = more ? new_ : old;
    if (hold.resource == LS_NO_RESOURCE)
      continue;
    apply (holdings, all, hold, more, t_ps);
    if (tag < all && all > 1)
      apply (holdings, tag, hold, more, t_ps);
  }
}

void ls_holdings_add (LsHoldings *holdings, guint tag, guint n_resources, guint resource,
                      gint64 ps) {
  guint all = holdings->n_tags;

  holdings->n_resources = n_resources;
  if (resource == LS_NO_RESOURCE)
    return;
  record_at (holdings, all, resource)->saturates.sum_ps += ps;
  if (tag < all && all > 1)
    record_at (holdings, tag, resource)->saturates.sum_ps += ps;
}

static gint64 total (const Count *count, gint64 now_ps) {
  return count->sum_ps + (count->n > 0 ? now_ps - count->since_ps : 0);
}

LsHolding ls_holdings_get (const LsHoldings *holdings, guint tag, guint resource, gint64 now_ps) {
  guint index = holdings->n_tags > 1 && tag < holdings->n_tags ? tag : holdings->n_tags;
  const Record *records = holdings->records[index];

  if (records == NULL || resource >= holdings->n_resources)
    return (LsHolding){0, 0};
  return (LsHolding){total (&records[resource].saturates, now_ps),
                     total (&records[resource].contends, now_ps)};
}
