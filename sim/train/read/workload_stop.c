/* When a run of steps ends: `workload.stop`, the first of what is given. Of a run of updates update_read.c has it.
 *
 * Model:      tokens are whole steps of global batch x sequence length tokens, rounded up.
 */
#include "train/read/workload_reader.h"

#define W "workload."
#define MOST_STEPS 1000000000 /* as stop.steps */

void ls_reader_stop (LsWorkloadReader *r) {
  const char *const path = W "stop.tokens";
  LsWorkload *w = r->workload;
  const gint64 step = w->global_batch * w->seq_len;

  w->steps = ls_config_get_int (r->config, W "stop.steps");
  if (!ls_reader_has (r, path))
    return;
  if (w->model->kind != LS_MODEL_TRANSFORMER) {
    ls_reader_no_effect (r, path, "the model's samples have no tokens");
    return;
  }
  const gint64 tokens = ls_config_get_int (r->config, path);
  const gint64 steps = step > 0 ? (tokens - 1) / step + 1 : 1;
  if (steps > MOST_STEPS)
    ls_reader_fault (r, path,
                     "%" G_GINT64_FORMAT " steps of %" G_GINT64_FORMAT
                     " tokens; a run simulates at most %d: campaign.until.tokens is for a whole "
                     "training",
                     steps, step, MOST_STEPS);
  w->steps = ls_reader_has (r, W "stop.steps") ? MIN (w->steps, steps) : steps;
}
