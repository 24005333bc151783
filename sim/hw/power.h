/* Clocks under a power cap.
 *
 * Model:   at full clocks the part draws its TDP; a share `floor` of it (leakage, HBM, links) does not
 *          depend on the clock of the SMs, the rest is dynamic power a C V^2 f with V falling with f:
 *              P (f) = TDP (floor + (1 - floor) (f / f_max)^3),
 *          hence under a cap P   f / f_max = cbrt ((P / TDP - floor) / (1 - floor)).
 *          Worked: 500 W of 700 W with a floor of 25 %: cbrt (0.4643 / 0.75) = 0.852.
 *          The clock scales matrix and vector units and attention, not the HBM.
 * source:  the cube is the textbook law of voltage and frequency scaling (Mudge, "Power: a first-class
 *          architectural design constraint", Computer 34(4), 2001). The floor is assumed: some 100 W of HBM and
 *          70 W idle on a 700 W part. That H100 parts lose clocks under caps from 700 to 200 W, and HBM does
 *          not: Ujeniya et al. 2026 (arXiv 2604.11391).
 * Left out: that kernels which draw less than the TDP are not slowed by a cap between.
 * Ownership: capped rows are made once and live as long as the process. */
#pragma once

#include "hw/accelerators.h"

#define LS_POWER_FLOOR 0.25

/* Share of its clock at which the part runs: 1 for a cap of its TDP or more, 0 for one below the floor. */
double ls_power_clock (const LsAccelerator *accelerator, double cap_w);
/* The part under a cap, a row of the same name whose `clock` and TDP are lower; the part itself when the cap
 * is no lower than its TDP. The cap must be above the floor. Equal caps give the same row. */
const LsAccelerator *ls_accelerator_capped (const LsAccelerator *accelerator, double cap_w);
