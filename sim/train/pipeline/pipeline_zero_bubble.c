/* Zero-bubble schedules: ZB-H1, ZB-H2, ZB-V; see pipeline.h.
 *
 * Model:      F, I, W the times of a forward, of input gradients and of weight gradients.
 *             H1 and H2: device d warms up with f (p - 1 - d) forwards (f = 1, 2), then runs a forward, an
 *             input gradient and the weight gradient f d micro-batches behind; without forwards left,
 *             each input gradient is followed by a weight gradient, the rest comes at the end. So
 *             f (p - 1) + 1 micro-batches are in flight on every device: p, or 2 p - 1.
 *             At F = I = W: H1 idles (p - 1)(F + I - W) in a step that begins and ends for all at once; H2
 *             idles nothing between a device's first and last action: device d's step is shifted by d F,
 *             so the next step must not wait for a meeting of all (post-validation).
 *             V: two parts of half the layers; nothing idles at F = I = W either, with the activations of
 *             2 p half-stages, as 1F1B's p. With fewer than 2 p - 1 micro-batches H2 and V idle.
 *             source: Qi et al. 2023 (arXiv 2401.10241), sections 2 and 4; Qi et al. 2024 (arXiv
 *             2405.15362); for V the order of PyTorch's ScheduleZBVZeroBubble, whose actions of
 *             micro-batches beyond m are left out.
 */
#include "train/pipeline/pipeline.h"

/* H1 (f = 1) and H2 (f = 2). */
static void add_h (GArray *actions, const LsPipelineSize *size, guint device, gint64 f) {
  const gint64 m = size->microbatches, lag = f * device;
  const gint64 w = MIN (f * ((gint64) size->devices - 1 - device), m);
  gint64 weights = 0;

  for (gint64 i = 0; i < w; i++)
    ls_pipeline_add (actions, LS_ACTION_FORWARD, 0, i);
  for (gint64 i = 0; i < m; i++) {
    const gboolean has_forward = w + i < m;
    if (has_forward)
      ls_pipeline_add (actions, LS_ACTION_FORWARD, 0, w + i);
    ls_pipeline_add (actions, LS_ACTION_INPUT, 0, i);
    if (!has_forward || i >= lag)
      ls_pipeline_add (actions, LS_ACTION_WEIGHT, 0, weights++);
  }
  while (weights < m)
    ls_pipeline_add (actions, LS_ACTION_WEIGHT, 0, weights++);
}

static void h1 (GArray *actions, const LsPipelineSize *size, guint device) {
  add_h (actions, size, device, 1);
}

static void h2 (GArray *actions, const LsPipelineSize *size, guint device) {
  add_h (actions, size, device, 2);
}

typedef struct {
  GArray *actions;
  gint64 m;
  gint64 next[2][LS_ACTION_PAIR]; /* micro-batch of the next action of a part and kind */
} Writer;

/* The next action of the kind, unless the step has no such micro-batch. */
static void next (Writer *w, LsActionKind kind, guint part) {
  gint64 i = w->next[part][kind]++;

  if (i < w->m)
    ls_pipeline_add (w->actions, kind, part, i);
}

static void backward (Writer *w, guint part) {
  next (w, LS_ACTION_INPUT, part);
  next (w, LS_ACTION_WEIGHT, part);
}

static void warm_up_v (Writer *w, gint64 p, gint64 d) {
  for (gint64 i = 0; i < 2 * (p - d) - 1; i++)
    next (w, LS_ACTION_FORWARD, 0);
  for (gint64 i = 0; i < d; i++) {
    next (w, LS_ACTION_FORWARD, 1);
    next (w, LS_ACTION_FORWARD, 0);
  }
  for (gint64 i = 0; i < p - d; i++) {
    next (w, LS_ACTION_FORWARD, 1);
    backward (w, 1);
  }
}

static void cool_down_v (Writer *w, gint64 p, gint64 d) {
  for (gint64 i = 0; i < d; i++) {
    next (w, LS_ACTION_INPUT, 0);
    next (w, LS_ACTION_INPUT, 1);
  }
  for (gint64 i = 0; i < p - d; i++) {
    next (w, LS_ACTION_INPUT, 0);
    next (w, LS_ACTION_WEIGHT, 0);
  }
  for (guint part = 2; part-- > 0;)
    while (w->next[part][LS_ACTION_WEIGHT] < w->next[part][LS_ACTION_INPUT])
      next (w, LS_ACTION_WEIGHT, part);
}

static void v (GArray *actions, const LsPipelineSize *size, guint device) {
  const gint64 p = size->devices, m = size->microbatches, n = MAX (2 * p - 1, m);
  Writer w = {.actions = actions, .m = m};
  const gint64 *f0 = &w.next[0][LS_ACTION_FORWARD], *f1 = &w.next[1][LS_ACTION_FORWARD];

  warm_up_v (&w, p, device);
  while (*f1 < *f0 || *f0 < n) {
    if (*f0 < n)
      next (&w, LS_ACTION_FORWARD, 0);
    backward (&w, 0);
    next (&w, LS_ACTION_FORWARD, 1);
    backward (&w, 1);
  }
  cool_down_v (&w, p, device);
}

const LsPipeline ls_pipeline_zb_h1 = {
    .shape = LS_SHAPE_LINE, .splits = TRUE, .parallelogram = TRUE, .order = h1};
const LsPipeline ls_pipeline_zb_h2 = {
    .shape = LS_SHAPE_LINE, .splits = TRUE, .parallelogram = TRUE, .order = h2};
const LsPipeline ls_pipeline_zb_v = {
    .shape = LS_SHAPE_V, .splits = TRUE, .parallelogram = TRUE, .order = v};
