/* What is done in arithmetic about stale gradients (what is done in timing is the update policy's).
 *
 * tau is the number of updates between the read of the parameters and the update that uses the
 * gradient (>= 0). Each gradient g of an update gets a weight; the update is the mean of the weighted
 * gradients.
 *   inverse           1 / max (tau, 1)              Zhang et al. 2015 (arXiv 1511.05950), guarded
 *   inverse-plus-one  1 / (1 + tau)
 *   exponential       exp (-rate tau)
 *   distance          min (C / (eta |w - w_read|^2), 1): Dutta et al. 2018, rule (13), eta_max = eta
 * Delay compensation (DC-ASGD, Zheng et al. 2017, arXiv 1609.08326): g + lambda g*g*(w - w_read),
 * elementwise; adaptive: lambda / sqrt (m + 1e-7), m the moving mean of g*g.
 */
#pragma once

#include <glib.h>

#define LS_STALE_RATES(X)                                   \
  X (NONE, "none", "all gradients count the same")          \
  X (INVERSE, "inverse", "1 / max (tau, 1)")                \
  X (INVERSE_PLUS_ONE, "inverse-plus-one", "1 / (1 + tau)") \
  X (EXPONENTIAL, "exponential", "exp (-rate tau)")         \
  X (DISTANCE, "distance", "min (1, c / (lr |w - w_read|^2)), Dutta et al. 2018, rule (13)")

typedef enum {
#define LS_STALE_RATE_ID(id, ...) LS_STALE_RATE_##id,
  LS_STALE_RATES (LS_STALE_RATE_ID)
#undef LS_STALE_RATE_ID
      LS_N_STALE_RATES
} LsStaleRate;

#define LS_COMPENSATIONS(X)                               \
  X (NONE, "none", "gradients as they are")               \
  X (CONSTANT, "constant", "g + lambda g g (w - w_read)") \
  X (ADAPTIVE, "adaptive", "lambda divided by the root mean square of g")

typedef enum {
#define LS_COMPENSATION_ID(id, ...) LS_COMPENSATION_##id,
  LS_COMPENSATIONS (LS_COMPENSATION_ID)
#undef LS_COMPENSATION_ID
      LS_N_COMPENSATIONS
} LsCompensationKind;

typedef struct {
  LsStaleRate kind;
  double rate; /* exponential */
  double c;    /* distance */
} LsStaleRateSettings;

typedef struct {
  LsCompensationKind kind;
  double lambda, decay;
} LsCompensation;

/* @distance: |w - w_read|^2, used by `distance` only. */
double ls_stale_weight (const LsStaleRateSettings *settings, gint64 tau, double lr,
                        double distance);
gboolean ls_stale_needs_distance (const LsStaleRateSettings *settings);
/* g is compensated in place; @mean_square is state (n values, only for adaptive). */
void ls_compensate (const LsCompensation *settings, gsize n, const double *now, const double *read,
                    double *mean_square, double *g);
/* Implicit momentum of asynchrony is 1 - 1/(1 + mean tau) (Mitliagkas et al. 2016). The explicit
 * momentum that leaves 1 - mu unchanged in all: (1 - mu') (1 - implicit) = 1 - mu, at least 0. */
double ls_stale_momentum (double momentum, double mean_tau);
