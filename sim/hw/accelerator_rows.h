#pragma once
/* The table behind accelerators.h; for the files of that catalogue only. */
#include "hw/accelerators.h"

extern const LsAccelerator ls_accelerator_rows[];
extern const guint ls_accelerator_n_rows;
