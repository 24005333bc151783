/* Checkpoint intervals in closed form, for exponential failures.
 *
 * Model:   mean time between failures M, checkpoint cost C, restart R, work T between checkpoints, dead
 *          time D per failure in which nothing can fail; rate l = 1/M.
 *          E[time of a segment of T + C] = e^(l R) (1/l + D) (e^(l (T + C)) - 1), the first start free:
 *          failures may strike during work, checkpoint and restart.
 * Source:  Daly, FGCS 22 (2006); Young, CACM 17 (1974); the exact optimum follows from the segment time.
 * Pure. All times in one unit, whichever; all > 0 but R, D >= 0.
 */
#pragma once

#include <glib.h>

typedef enum {
  LS_INTERVAL_FIXED,
  LS_INTERVAL_YOUNG,
  LS_INTERVAL_DALY,
  LS_INTERVAL_OPTIMAL
} LsIntervalRule;

double ls_interval_segment (double mtbf, double cost, double restart, double dead, double work);
/* T + C over the segment's expected time is the efficiency; here T over it. */
double ls_interval_efficiency (double mtbf, double cost, double restart, double dead, double work);
/* sqrt (2 C M) */
double ls_interval_young (double mtbf, double cost);
/* sqrt (2 C M) (1 + sqrt (C / 2M) / 3 + C / 2M / 9) - C for C < 2M, else M */
double ls_interval_daly (double mtbf, double cost);
/* M (1 + W0 (-exp (-1 - C/M))), whatever R and D */
double ls_interval_optimal (double mtbf, double cost);
