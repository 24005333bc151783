/* Work by number; see parallel.h. */
#include "cli/parallel.h"

typedef struct {
  LsParallelFunc func;
  gpointer self;
} Work;

static void do_one (gpointer task, gpointer data) {
  const Work *work = data;

  work->func (GPOINTER_TO_UINT (task) - 1, work->self);
}

void ls_parallel (guint n, LsParallelFunc func, gpointer self) {
  Work work = {func, self};
  GThreadPool *pool = g_thread_pool_new (do_one, &work, (int) g_get_num_processors (), FALSE, NULL);

  for (guint i = 0; i < n; i++)
    g_thread_pool_push (pool, GUINT_TO_POINTER (i + 1), NULL);
  g_thread_pool_free (pool, FALSE, TRUE);
}
