/* Work that is made while a run goes on; see drawn.h. */
#include "train/run/drawn.h"

#include <math.h>

#include "base/assert.h"
#include "base/random.h"
#include "engine/fixed.h"
#include "train/program/builder.h"

/* Of one place: the micro-batch drawn last, which its layers and passes ask for in turn. */
typedef struct {
  guint64 index; /* + 1; 0: none */
  double share;
} Last;

struct LsDrawn {
  const LsSimulation *simulation;
  Last *last; /* by place */
};

double ls_drawn_attention_share (const LsWorkload *workload, guint64 key, guint64 index) {
  const double whole = (double) workload->seq_len;
  gsl_rng *rng = gsl_rng_alloc (ls_random_gsl_type ());
  LsRandom *random = rng->state;
  double squares = 0;

  *random = (LsRandom){.key = ls_random_hash (key, index, 0)};
  for (gint64 sample = 0; sample < workload->micro_batch; sample++)
    for (double left = whole; left > 0;) {
      const double drawn = ls_distribution_draw (&workload->documents, rng);
      const double length = MIN (MAX (round (drawn), 1), left);

      squares += length * length;
      left -= length;
    }
  gsl_rng_free (rng);
  return squares / (whole * whole * (double) workload->micro_batch);
}

static double share_of (LsDrawn *drawn, guint place, const LsOp *op, const gint32 *counters) {
  const LsSimulation *simulation = drawn->simulation;
  const guint rank = ls_simulation_rank (simulation, place);
  const guint number = ls_simulation_job_of_rank (simulation, rank);
  const LsJobRun *run = ls_simulation_job (simulation, number);
  const guint data = run->job->coordinates[rank - run->first_rank].data;
  const guint64 microbatch = (guint64) MAX (ls_label_value (&op->microbatch, counters), 0);
  const guint64 index = (guint64) counters[0] << 32 | microbatch;
  Last *last = &drawn->last[place];

  if (last->index != index + 1) {
    const guint64 key =
        ls_random_key (ls_simulation_seed (simulation), "documents", (guint64) number << 32 | data);
    last->share = ls_drawn_attention_share (run->workload, key, index);
    last->index = index + 1;
  }
  return last->share;
}

/* alone = max (matrix units, memory) + rest: the first is scaled. */
static gint64 attention_work (gpointer self, guint place, const LsOp *op, const gint32 *counters) {
  const double one = (double) LS_USAGE_ONE, alone = (double) op->work_ps;
  const double units = alone * (double) op->sm_usage / one;
  const double memory = alone * (double) op->hbm_usage / one;
  const double share = share_of (self, place, op, counters);

  return (gint64) (alone - MAX (units, memory) + MAX (units * share, memory) + 0.5);
}

static const LsWorkload *workload_of (const LsDrawn *drawn, guint place) {
  const guint rank = ls_simulation_rank (drawn->simulation, place);

  return ls_simulation_job (drawn->simulation, ls_simulation_job_of_rank (drawn->simulation, rank))
      ->workload;
}

static gint64 every (const LsPause *pause, const LsOp *op, const gint32 *counters) {
  return ((gint64) counters[0] + 1) % pause->every == 0 ? op->work_ps : 0;
}

static gint64 evaluation_work (gpointer self, guint place, const LsOp *op, const gint32 *counters) {
  return every (&workload_of (self, place)->evaluation, op, counters);
}

static gint64 logging_work (gpointer self, guint place, const LsOp *op, const gint32 *counters) {
  return every (&workload_of (self, place)->logging, op, counters);
}

LsDrawn *ls_drawn_new (LsSimulation *simulation) {
  LsDrawn *drawn = g_new0 (LsDrawn, 1);
  LsEngine *engine = ls_simulation_engine (simulation);
  guint first = 0;

  drawn->simulation = simulation;
  drawn->last = g_new0 (Last, MAX (ls_simulation_n_places (simulation), 1u));
  first = ls_engine_add_table (engine, NULL); /* gates are for runs of updates */
  LS_REQUIRE (first == LS_TABLE_GATE, "the engine has tables");
  ls_engine_add_table_func (engine, attention_work, drawn);
  ls_engine_add_table_func (engine, evaluation_work, drawn);
  ls_engine_add_table_func (engine, logging_work, drawn);
  return drawn;
}

void ls_drawn_free (LsDrawn *drawn) {
  if (drawn == NULL)
    return;
  g_free (drawn->last);
  g_free (drawn);
}
