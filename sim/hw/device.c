/* The device model: achievable rates from a catalogue row, its tuning record and a software generation. */
#include "hw/device.h"

#include "base/assert.h"

/* The ceiling of a format the family's record does not list: that of its 16-bit formats. */
static double ceiling (const LsTuning *tuning, LsFormat format) {
  double own = tuning->matmul_ceiling[format].value;
  if (own > 0)
    return own;
  double bf16 = tuning->matmul_ceiling[LS_FORMAT_BF16].value;
  double fp16 = tuning->matmul_ceiling[LS_FORMAT_FP16].value;
  return bf16 > 0 ? bf16 : fp16;
}

static double sixteen_bit_peak (const LsAccelerator *accelerator) {
  double bf16 = accelerator->peak_flops_per_s[LS_FORMAT_BF16];
  double fp16 = accelerator->peak_flops_per_s[LS_FORMAT_FP16];
  return bf16 > fp16 ? bf16 : fp16;
}

/* Power limits the clocks of the matrix units; fp32 on the vector units draws less. */
static double matmul_rate (const LsAccelerator *accelerator, LsFormat format, LsClock clock) {
  const LsTuning *tuning = accelerator->tuning;
  double rate = ls_accelerator_peak (accelerator, format) * ceiling (tuning, format);
  if (format == LS_FORMAT_FP32 || clock == LS_CLOCK_BEST)
    return rate;
  return ls_format_is_narrow (format) && tuning->narrow_sustained.value > 0
             ? rate * tuning->narrow_sustained.value
             : rate * tuning->matmul_sustained.value;
}

static double flash_share (const LsTuning *tuning, LsClock clock) {
  if (clock == LS_CLOCK_BEST)
    return 1;
  return tuning->flash_sustained.value > 0 ? tuning->flash_sustained.value
                                           : tuning->matmul_sustained.value;
}

void ls_device_init (LsDevice *device, const LsAccelerator *accelerator, LsClock clock,
                     const LsSoftware *software) {
  LS_REQUIRE (accelerator != NULL && accelerator->tuning != NULL, "no accelerator");
  const LsTuning *tuning = accelerator->tuning;
  double factor = software != NULL ? software->matmul_factor.value : 1.0;
  const double attention = software != NULL && software->attention_factor.value > 0
                               ? software->attention_factor.value
                               : 1.0;
  const double clock_share = accelerator->clock > 0 ? accelerator->clock : 1.0;

  *device = (LsDevice){
      .accelerator = accelerator,
      .vector_flops_per_s =
          accelerator->vector_flops_per_s * tuning->vector_fraction.value * clock_share,
      .hbm_bytes_per_s = accelerator->hbm_bytes_per_s * tuning->hbm_fraction.value,
      .link_bytes_per_s = accelerator->link_bytes_per_s,
      .sms = accelerator->sms,
      .kernel_overhead_s = tuning->kernel_overhead_s.value,
      .depth_ramp = tuning->depth_ramp.value,
      .collective_sm_share = MIN (1.0, tuning->collective_sms.value / accelerator->sms),
      .collective_slowdown = tuning->collective_slowdown.value,
      .network_slowdown = ls_tuning_network_slowdown (tuning)->value,
      .hbm_bytes = accelerator->hbm_bytes,
      .context_bytes = (gint64) tuning->context_bytes.value,
  };
  for (int f = 0; f < LS_N_FORMATS; f++) {
    device->effective[f] = ls_accelerator_effective_format (accelerator, (LsFormat) f, NULL);
    device->matmul_flops_per_s[f] =
        matmul_rate (accelerator, device->effective[f], clock) * factor * clock_share;
  }
  for (int a = 0; a < LS_N_ATTENTIONS; a++) {
    double peak =
        sixteen_bit_peak (accelerator) * flash_share (tuning, clock) * clock_share * attention;
    device->flash_forward_flops_per_s[a] = peak * tuning->flash_forward[a].value;
    device->flash_backward_flops_per_s[a] = peak * tuning->flash_backward[a].value;
  }
}

LsAttention ls_accelerator_attention (const LsAccelerator *accelerator, LsAttention wanted) {
  LS_REQUIRE (wanted < LS_N_ATTENTIONS, "attention %d", (int) wanted);
  LsAttention attention = wanted;
  while (ls_attention_is_flash (attention) &&
         !(accelerator->tuning->flash_forward[attention].value > 0))
    attention = (LsAttention) (attention - 1);
  return attention;
}

LsAttention ls_device_attention (const LsDevice *device, LsAttention wanted) {
  return ls_accelerator_attention (device->accelerator, wanted);
}

gboolean ls_device_attends_narrow (const LsDevice *device, LsAttention attention) {
  const LsTuning *tuning = device->accelerator->tuning;
  const LsAttention runs = ls_device_attention (device, attention);

  return (runs == LS_ATTENTION_FLASH3 && tuning->flash_narrow_forward.value > 0) ||
         (runs == LS_ATTENTION_FLASH4 && tuning->flash4_tensor_forward.value > 0);
}

double ls_device_ridge (const LsDevice *device, LsFormat format) {
  LS_REQUIRE (format < LS_N_FORMATS, "format %d", (int) format);
  return device->matmul_flops_per_s[format] / device->hbm_bytes_per_s;
}
