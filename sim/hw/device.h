#pragma once
/* The device model: an accelerator as the kernel model and the engine see it.
 *
 * A plain record of achievable rates, computed once from a catalogue row. It may be changed before use
 * (a slow card: scale its rates). LS_CLOCK_BEST gives the best rate ever measured (matmul ceilings as
 * published); LS_CLOCK_SUSTAINED the typical one inside a training step, with clocks under power.
 * Ownership: nothing to free. */
#include "hw/accelerators.h"
#include "hw/kernel_table.h"
#include "hw/software.h"

typedef enum { LS_CLOCK_BEST, LS_CLOCK_SUSTAINED } LsClock;

typedef struct {
  const LsAccelerator *accelerator;
  LsFormat effective[LS_N_FORMATS];        /* the format in which each really runs */
  double matmul_flops_per_s[LS_N_FORMATS]; /* achievable, all SMs, of the effective format; > 0 */
  double vector_flops_per_s;               /* achievable */
  double hbm_bytes_per_s;                  /* achievable: the capacity of the HBM resource */
  double link_bytes_per_s;                 /* all links, one direction, data sheet */
  double sms; /* the capacity of the SM resource: SM-seconds per second */
  double kernel_overhead_s;
  double depth_ramp;
  double flash_forward_flops_per_s[LS_N_ATTENTIONS]; /* 0: does not run */
  double flash_backward_flops_per_s[LS_N_ATTENTIONS];
  double collective_sm_share; /* of all SMs, held by one running collective */
  /* Rate factors of a collective whose members all compute, inside a node and over several */
  double collective_slowdown, network_slowdown;
  gint64 hbm_bytes;       /* physical, as the driver reports */
  gint64 context_bytes;   /* taken by the runtime */
  LsKernelTable *kernels; /* borrowed: measured times; NULL: none */
} LsDevice;

/* `software`, when not NULL, scales the matmul rates by its matmul_factor and those of flash attention by its
 * attention_factor. */
void ls_device_init (LsDevice *device, const LsAccelerator *accelerator, LsClock clock,
                     const LsSoftware *software);
/* The attention kernel that runs: the wanted one where the accelerator has it, else the next older. */
LsAttention ls_accelerator_attention (const LsAccelerator *accelerator, LsAttention wanted);
LsAttention ls_device_attention (const LsDevice *device, LsAttention wanted);
/* Has that kernel a form that reads and writes 8 bits? */
gboolean ls_device_attends_narrow (const LsDevice *device, LsAttention attention);
/* Flop per byte above which work of this format is bound by compute: peak / bandwidth. */
double ls_device_ridge (const LsDevice *device, LsFormat format);
