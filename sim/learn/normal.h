/* Normal variates by number: any one can be had at random, without state. Private to sim/learn. */
#pragma once

#include "base/random.h"

#include <math.h>

/* Output @index of the stream @key: standard normal, by Box and Muller 1958 from two uniforms. */
static inline double ls_normal_at (guint64 key, guint64 index) {
  const double u = (double) (ls_random_hash (key, 1, 2 * index) >> 11) * 0x1p-53;
  const double v = (double) (ls_random_hash (key, 1, 2 * index + 1) >> 11) * 0x1p-53;

  return sqrt (-2 * log (1 - u)) * cos (2 * G_PI * v);
}
