#pragma once
/* The table behind mig.h. */
#include "hw/mig.h"

extern const LsMigProfile ls_mig_rows[];
extern const guint ls_mig_n_rows;
