/* The formulas of interval.h. */
#include "faults/interval.h"

#include <gsl/gsl_sf_lambert.h>
#include <math.h>

#include "base/assert.h"

double ls_interval_segment (double mtbf, double cost, double restart, double dead, double work) {
  LS_REQUIRE (mtbf > 0 && work > 0, "segment of %g with a failure every %g", work, mtbf);
  double rate = 1 / mtbf;
  return exp (rate * restart) * (mtbf + dead) * expm1 (rate * (work + cost));
}

double ls_interval_efficiency (double mtbf, double cost, double restart, double dead, double work) {
  return work / ls_interval_segment (mtbf, cost, restart, dead, work);
}

double ls_interval_young (double mtbf, double cost) {
  return sqrt (2 * cost * mtbf);
}

double ls_interval_daly (double mtbf, double cost) {
  double x = cost / (2 * mtbf);
  if (x >= 1)
    return mtbf;
  return sqrt (2 * cost * mtbf) * (1 + sqrt (x) / 3 + x / 9) - cost;
}

double ls_interval_optimal (double mtbf, double cost) {
  LS_REQUIRE (mtbf > 0 && cost > 0, "interval for a cost of %g", cost);
  return mtbf * (1 + gsl_sf_lambert_W0 (-exp (-1 - cost / mtbf)));
}
