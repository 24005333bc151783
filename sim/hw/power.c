/* Clocks under a power cap; see power.h. */
#include "hw/power.h"

#include "base/assert.h"

/* Newton's method from above with plain arithmetic, so that every machine gets the same bits. */
static double cube_root (double a) {
  double x = 1;

  for (int i = 0; i < 60; i++)
    x = (2 * x + a / (x * x)) / 3;
  return x;
}

double ls_power_clock (const LsAccelerator *accelerator, double cap_w) {
  const double share = cap_w / accelerator->tdp_w;

  if (share >= 1)
    return 1;
  return share > LS_POWER_FLOOR ? cube_root ((share - LS_POWER_FLOOR) / (1 - LS_POWER_FLOOR)) : 0;
}

typedef struct {
  const LsAccelerator *base;
  LsAccelerator row;
} Capped;

const LsAccelerator *ls_accelerator_capped (const LsAccelerator *accelerator, double cap_w) {
  static GMutex lock;
  static GPtrArray *made; /* Capped, never freed: rows are static to everybody else */
  const LsAccelerator *row = NULL;

  LS_REQUIRE (ls_power_clock (accelerator, cap_w) > 0, "cap of %g W", cap_w);
  if (cap_w >= accelerator->tdp_w)
    return accelerator;
  g_mutex_lock (&lock);
  if (made == NULL)
    made = g_ptr_array_new ();
  for (guint i = 0; row == NULL && i < made->len; i++) {
    const Capped *capped = made->pdata[i];

    if (capped->base == accelerator && capped->row.tdp_w == cap_w)
      row = &capped->row;
  }
  if (row == NULL) {
    Capped *capped = g_new0 (Capped, 1);

    capped->base = accelerator;
    capped->row = *accelerator;
    capped->row.clock = ls_power_clock (accelerator, cap_w);
    capped->row.tdp_w = cap_w;
    g_ptr_array_add (made, capped);
    row = &capped->row;
  }
  g_mutex_unlock (&lock);
  return row;
}
