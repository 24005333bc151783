/* Optimisers: what a step does with a gradient.
 *
 * Formulas (g the gradient, w the parameters, eta the learning rate, d the weight decay):
 *   sgd       g += d w; w -= eta g
 *   momentum  g += d w; v = mu v + g; w -= eta v               (as PyTorch: no dampening)
 *   nesterov  g += d w; v = mu v + g; w -= eta (g + mu v)
 *   adam      g += d w; m, s = moving means of g and g^2, corrected for their start;
 *             w -= eta m / (sqrt (s) + epsilon)                (Kingma, Ba 2015)
 *   adamw     w -= eta d w; then as adam without d             (Loshchilov, Hutter 2019)
 * State is per parameter; each shard of the parameters counts its steps by itself.
 * Arithmetic: in double; state is rounded to its format after each step (fp64: not).
 *
 * Ownership: an optimiser borrows its settings; its state is allocated at its first step.
 */
#pragma once

#include "learn/number.h"

#define LS_LEARN_OPTIMIZERS(X)                                                \
  X (SGD, "sgd", "w -= eta g")                                                \
  X (MOMENTUM, "momentum", "heavy ball: v = mu v + g; w -= eta v")            \
  X (NESTEROV, "nesterov", "v = mu v + g; w -= eta (g + mu v)")               \
  X (ADAM, "adam", "moving means of g and g^2, weight decay in the gradient") \
  X (ADAMW, "adamw", "adam with weight decay beside the gradient")

typedef enum {
#define LS_DESCENT_ID(id, ...) LS_DESCENT_##id,
  LS_LEARN_OPTIMIZERS (LS_DESCENT_ID)
#undef LS_DESCENT_ID
      LS_N_DESCENTS
} LsDescent;

typedef struct {
  LsDescent kind;
  double lr;
  double momentum;
  double beta1, beta2, epsilon;
  double weight_decay;
} LsDescentSettings;

const char *ls_descent_name (LsDescent kind);

typedef struct LsDescender LsDescender;

LsDescender *ls_descender_new (const LsDescentSettings *settings, gsize n, guint shards,
                               LsNumber state);
void ls_descender_free (LsDescender *descender);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsDescender, ls_descender_free)

/* What may change from step to step. */
typedef struct {
  guint shard;
  gsize first, n; /* the shard's parameters */
  double lr;
  double momentum;       /* in place of the setting's */
  double velocity_scale; /* on what is remembered of the velocity; 1: as it is */
  LsNumber format;       /* of the parameters; rounded to it after the step */
} LsDescentStep;

/* One step of a shard: w and g are its n parameters and gradients (g is used up). Returns how many
 * parameters did not move although their change was not 0: updates lost to rounding. */
gsize ls_descender_step (LsDescender *descender, const LsDescentStep *step, double *w, double *g);
/* Steps done so far of a shard. */
gint64 ls_descender_steps (const LsDescender *descender, guint shard);
