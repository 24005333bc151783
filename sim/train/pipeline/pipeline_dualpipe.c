/* DualPipe and DualPipeV; see pipeline.h.
 *
 * Model:      DualPipe feeds micro-batches from both ends: each device holds stage d for one direction and
 *             stage p - 1 - d for the other, so parameters twice. DualPipeV folds that in two: p devices, 2 p
 *             stages, one direction, as ZB-V. A forward and a backward of opposite parts run as a pair: in
 *             the paper's implementation the transfers of experts of the one run beside the compute of the
 *             other. Some backwards of the warm-up and the drain run in halves.
 *             With F, B (whole) and W, and F&B a pair's time, idle per device and step:
 *               DualPipe (p/2 - 1)(F&B + B - 3 W), DualPipeV (p - 1)(F&B + B - 3 W)
 *             exactly at F = B - W = W and F&B = F + B; with other times the same order idles otherwise.
 *             Activations of p + 1 stages of 1/p of the model (V: 2 p + 1 half-stages).
 *             source: DeepSeek-V3 technical report (arXiv 2412.19437), section 3.2.1; the steps are those of
 *             deepseek-ai/DualPipe, dualpipe.py and dualpipev.py, at bb214e8.
 */
#include "base/assert.h"
#include "train/pipeline/pipeline.h"

typedef struct {
  GArray *actions;
  guint flip;      /* 1: the device's near part is part 1 */
  gint64 first[2]; /* number of each part's first micro-batch */
  gint64 forwards[2], backwards[2];
  GArray *weights; /* LsAction, first in first out: weight gradients put off */
  guint next_weight;
} Writer;

static void forward (Writer *w, guint side) {
  guint part = side ^ w->flip;

  ls_pipeline_add (w->actions, LS_ACTION_FORWARD, part, w->first[part] + w->forwards[part]++);
}

static void backward (Writer *w, guint side, gboolean halved) {
  guint part = side ^ w->flip;
  gint64 i = w->first[part] + w->backwards[part]++;

  ls_pipeline_add (w->actions, halved ? LS_ACTION_INPUT : LS_ACTION_BACKWARD, part, i);
  if (halved)
    ls_pipeline_add (w->weights, LS_ACTION_WEIGHT, part, i);
}

static void weight (Writer *w) {
  LS_REQUIRE (w->next_weight < w->weights->len);
  g_array_append_val (w->actions, g_array_index (w->weights, LsAction, w->next_weight));
  w->next_weight++;
}

static void pair (Writer *w, guint forward_side, guint backward_side) {
  guint part = forward_side ^ w->flip, other = backward_side ^ w->flip;
  LsAction action = {.kind = LS_ACTION_PAIR,
                     .part = (guint8) part,
                     .other_part = (guint8) other,
                     .microbatch = (gint32) (w->first[part] + w->forwards[part]++),
                     .other = (gint32) (w->first[other] + w->backwards[other]++)};
  g_array_append_val (w->actions, action);
}

/* n B1 B0; the second half of them in halves. */
static void drain (Writer *w, gint64 n, gboolean odd) {
  gboolean halved = FALSE;

  for (gint64 i = 0; i < n; i++) {
    halved = halved || (i == n / 2 && odd);
    backward (w, 1, halved);
    halved = halved || i == n / 2;
    backward (w, 0, halved);
  }
}

/* `h` of `half` devices from the outer end; `main` pairs of pairs. */
static void add_steps (Writer *w, gint64 half, gint64 h, gint64 main) {
  for (gint64 i = 0; i < 2 * (half - h - 1); i++)
    forward (w, 0);
  for (gint64 i = 0; i < h + 1; i++) {
    forward (w, 0);
    forward (w, 1);
  }
  for (gint64 i = 0; i < half - h - 1; i++) {
    backward (w, 1, TRUE);
    weight (w);
    forward (w, 1);
  }
  for (gint64 i = 0; i < main; i++) {
    if (i == 0 && h + 1 == half) {
      forward (w, 0);
      backward (w, 1, FALSE);
    } else {
      pair (w, 0, 1);
    }
    pair (w, 1, 0);
  }
  for (gint64 i = 0; i < half - h - 1; i++) {
    backward (w, 1, FALSE);
    pair (w, 1, 0);
  }
  drain (w, h + 1, h % 2 == 1);
  for (gint64 i = 0; i < half - h - 1; i++) {
    weight (w);
    backward (w, 0, TRUE);
  }
  for (gint64 i = 0; i < h + 1; i++)
    weight (w);
}

static void write_steps (Writer *w, GArray *actions, gint64 half, gint64 h, gint64 main) {
  w->actions = actions;
  w->weights = g_array_new (FALSE, TRUE, sizeof (LsAction));
  add_steps (w, half, h, main);
  LS_REQUIRE (w->next_weight == w->weights->len, "weight gradients left");
  g_array_unref (w->weights);
}

static void dualpipe (GArray *actions, const LsPipelineSize *size, guint device) {
  const gint64 p = size->devices, half_m = size->microbatches / 2;
  const gint64 h = MIN ((gint64) device, p - 1 - device);
  Writer w = {.flip = device >= p / 2, .first = {0, half_m}};

  write_steps (&w, actions, p / 2, h, half_m - p + h + 1);
}

static void dualpipev (GArray *actions, const LsPipelineSize *size, guint device) {
  const gint64 p = size->devices;
  Writer w = {.flip = 0};

  write_steps (&w, actions, p, device, size->microbatches - 2 * p + device + 1);
}

static const char *dualpipe_fault (const LsPipelineSize *size) {
  if (size->devices % 2 != 0)
    return "needs an even pipeline";
  return size->microbatches % 2 == 0 && size->microbatches >= 2 * (gint64) size->devices
             ? NULL
             : "needs an even number of micro-batches per replica, at least twice the pipeline's "
               "size";
}

static const char *dualpipev_fault (const LsPipelineSize *size) {
  return size->microbatches >= 2 * (gint64) size->devices
             ? NULL
             : "needs micro-batches per replica of at least twice the pipeline's size";
}

const LsPipeline ls_pipeline_dualpipe = {
    .shape = LS_SHAPE_MIRROR, .splits = TRUE, .order = dualpipe, .fault = dualpipe_fault};
const LsPipeline ls_pipeline_dualpipev = {
    .shape = LS_SHAPE_V, .splits = TRUE, .order = dualpipev, .fault = dualpipev_fault};
