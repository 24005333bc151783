/* Learning-rate schedules: a factor on the learning rate for step t = 0, 1, ...
 *
 * t counts steps that were done: a step skipped by loss scaling does not advance it.
 */
#pragma once

#include <glib.h>

#define LS_RATE_SCHEDULES(X)                                                          \
  X (CONSTANT, "constant", "1")                                                       \
  X (STEP, "step", "factor^floor(t / every)")                                         \
  X (COSINE, "cosine", "from 1 to `floor` over `updates` steps, along a half cosine") \
  X (LINEAR, "linear", "from 1 to `floor` over `updates` steps, along a line")        \
  X (INVERSE_SQRT, "inverse-sqrt", "1 / sqrt (1 + t / every)")                        \
  X (RAMP, "ramp", "from `floor` up to 1 over `updates` steps (Chen et al. 2016)")

typedef enum {
#define LS_RATE_ID(id, ...) LS_RATE_##id,
  LS_RATE_SCHEDULES (LS_RATE_ID)
#undef LS_RATE_ID
      LS_N_RATES
} LsRateKind;

typedef struct {
  LsRateKind kind;
  gint64 warmup;  /* steps over which the factor grows in a line from 1 / warmup to 1 */
  gint64 every;   /* step, inverse-sqrt */
  gint64 updates; /* cosine, linear, ramp */
  double factor;  /* step */
  double floor;   /* cosine, linear: where it ends; ramp: where it starts */
} LsRateSchedule;

double ls_rate_factor (const LsRateSchedule *schedule, gint64 t);
