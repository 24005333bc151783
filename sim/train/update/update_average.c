/* Averages without a server: collectives over all workers, exchanges of two.
 *
 * Model:      a collective begins when the last worker has come; its transfers run at once (one per
 *             rank of a replica) and it ends with the last of them. An exchange is one transfer each
 *             way.
 */
#include "train/update/update_private.h"

static void reduced (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;

  (void) engine;
  (void) data;
  if (--u->reducing > 0 || u->stopped)
    return;
  u->spec.policy->averaged (u, 0, 0);
}

void ls_update_reduce (LsUpdate *u) {
  guint n = 0;
  const guint *transfers = u->host.reduce != NULL ? u->host.reduce (u->host.self, &n) : NULL;

  for (guint w = 0; w < u->spec.workers; w++)
    ls_update_span (u, w, LS_SPAN_AVERAGE);
  u->reducing = 1; /* one more, so that it cannot end while it begins */
  for (guint i = 0; i < n; i++)
    if (transfers[i] != LS_UPDATE_NOTHING) {
      u->reducing++;
      ls_engine_start_transfer (u->engine, transfers[i], reduced, u, 0);
    }
  reduced (u, u->engine, 0);
}

/* Each pair has a count of its own: several exchanges may run at once. It lies with the lower worker. */
static void exchanged (gpointer self, LsEngine *engine, guint64 data) {
  LsUpdate *u = self;
  guint a = (guint) (data >> 32), b = (guint) (data & G_MAXUINT32);

  (void) engine;
  if (--u->workers[a].reading > 0 || u->stopped)
    return;
  u->spec.policy->averaged (u, a, b);
}

void ls_update_exchange (LsUpdate *u, guint x, guint y) {
  guint a = MIN (x, y), b = MAX (x, y);
  guint64 data = (guint64) a << 32 | b;

  ls_update_span (u, a, LS_SPAN_AVERAGE);
  ls_update_span (u, b, LS_SPAN_AVERAGE);
  u->workers[a].reading = 1;
  for (guint i = 0; i < 2 && u->host.exchange != NULL; i++) {
    guint transfer = u->host.exchange (u->host.self, i == 0 ? a : b, i == 0 ? b : a);
    if (transfer == LS_UPDATE_NOTHING)
      continue;
    u->workers[a].reading++;
    ls_engine_start_transfer (u->engine, transfer, exchanged, u, data);
  }
  exchanged (u, u->engine, data);
}
