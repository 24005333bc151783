/* The accumulator of usage.h. */
#include "net/usage.h"

#include "base/assert.h"
#include "base/memory.h"

void ls_usages_init (LsUsages *usages, guint n_resources) {
  *usages = (LsUsages){.n = n_resources,
                       .amount = ls_memory_new0 (MAX (1, n_resources), sizeof (double)),
                       .touched = ls_memory_new (MAX (1, n_resources), sizeof (guint))};
}

void ls_usages_clear (LsUsages *usages) {
  g_free (usages->amount);
  g_free (usages->touched);
  *usages = (LsUsages){.n = 0};
}

void ls_usages_add (LsUsages *usages, guint resource, double amount) {
  LS_REQUIRE (resource < usages->n, "resource %u of %u", resource, usages->n);
  LS_ASSERT (amount >= 0, "usage %g", amount);
  if (amount <= 0)
    return;
  if (usages->amount[resource] <= 0)
    usages->touched[usages->n_touched++] = resource;
  usages->amount[resource] += amount;
}

static gint by_number (gconstpointer a, gconstpointer b, gpointer unused) {
  (void) unused;
  guint x = *(const guint *) a, y = *(const guint *) b;
  return (x > y) - (x < y);
}

LsAmount *ls_usages_take (LsUsages *usages, guint *n_entries, double *sent, double *received) {
  g_qsort_with_data (usages->touched, (gint) usages->n_touched, sizeof (guint), by_number, NULL);
  LsAmount *entries = g_new (LsAmount, MAX (1, usages->n_touched));
  for (guint i = 0; i < usages->n_touched; i++) {
    guint resource = usages->touched[i];
    entries[i] = (LsAmount){.resource = resource, .amount = usages->amount[resource]};
    usages->amount[resource] = 0;
  }
  *n_entries = usages->n_touched;
  *sent = usages->sent;
  *received = usages->received;
  usages->n_touched = 0;
  usages->sent = usages->received = 0;
  return entries;
}
