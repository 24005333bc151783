/* Concepts about what is computed and sent: units, rooflines, links, MIG, formats; see concepts.h. */
#include "cli/concepts.h"
#include "hw/kernel.h"

#define ANY 0, G_MAXDOUBLE

/* --- tensor cores ------------------------------------------------------------------------------- */

static const struct {
  const char *gpu, *name, *format, *ratio;
  double peak_ratio;
} units[] = {{"v100-sxm-32gb", "V100", "fp16", "8", 125 / 15.7},
             {"a100-sxm-80gb", "A100", "bf16", "16", 312 / 19.5},
             {"h100-sxm-80gb", "H100", "bf16", "14.8", 989.4 / 66.9}};

void ls_concept_tensor_cores (LsConceptRun *run) {
  for (guint i = 0; i < G_N_ELEMENTS (units); i++) {
    g_autofree char *gpu = g_strdup_printf ("cluster.node.gpu=%s", units[i].gpu);
    g_autofree char *half = g_strdup_printf ("workload.precision=%s", units[i].format);
    const LsAccelerator *row = ls_accelerator_find (units[i].gpu, NULL);
    LsFormat format = i == 0 ? LS_FORMAT_FP16 : LS_FORMAT_BF16;
    LsMatmul shape = {8192, 8192, 8192, 1, format, format, FALSE, 0};
    LsDevice device;

    ls_device_init (&device, row, LS_CLOCK_SUSTAINED, NULL);
    double fast = ls_kernel_matmul (&device, &shape).compute_s;
    shape.format = shape.output = LS_FORMAT_FP32;
    double slow = ls_kernel_matmul (&device, &shape).compute_s;
    ls_concept_row (run, units[i].peak_ratio * 0.99, units[i].peak_ratio * 1.01,
                    ls_accelerator_peak (row, format) / row->vector_flops_per_s, "x",
                    units[i].ratio, "%s, peaks", units[i].name);
    ls_concept_row (run, units[i].peak_ratio * 0.5, units[i].peak_ratio * 1.2, slow / fast, "x",
                    units[i].ratio, "%s, a product of 8192 x 8192 x 8192", units[i].name);
    g_autoptr (LsSummary) a =
        ls_concept_step (run, "concepts/tensor-cores.yaml", (const char *[]){gpu, half, NULL});
    g_autoptr (LsSummary) b = ls_concept_step (
        run, "concepts/tensor-cores.yaml", (const char *[]){gpu, "workload.precision=fp32", NULL});
    if (a == NULL || b == NULL)
      return;
    ls_concept_row (run, 1.5, units[i].peak_ratio, b->step_time_s / a->step_time_s, "x",
                    units[i].ratio, "%s, a whole step", units[i].name);
  }
}

/* --- roofline ----------------------------------------------------------------------------------- */

/* Seconds of two kernels on a GPU with one rate twice what it is. */
static void twice (LsKnob knob, double *matmul_s, double *stream_s) {
  LsAccelerator gpu = *ls_accelerator_find ("h100-sxm-80gb", NULL);
  LsDevice device;

  for (guint f = 0; f < LS_N_FORMATS && knob == LS_KNOB_COMPUTE; f++)
    gpu.peak_flops_per_s[f] *= 2;
  gpu.vector_flops_per_s *= knob == LS_KNOB_COMPUTE ? 2 : 1;
  gpu.hbm_bytes_per_s *= knob == LS_KNOB_HBM ? 2 : 1;
  ls_device_init (&device, &gpu, LS_CLOCK_SUSTAINED, NULL);
  const LsMatmul shape = {8192, 8192, 8192, 1, LS_FORMAT_BF16, LS_FORMAT_BF16, FALSE, 0};
  *matmul_s = (double) ls_kernel_matmul (&device, &shape).alone_ps * 1e-12;
  *stream_s =
      (double) ls_kernel_elementwise (&device, 1 << 28, 1, 1, 1, LS_FORMAT_BF16).alone_ps * 1e-12;
}

static double step_at (LsConceptRun *run, LsKnob knob) {
  g_autoptr (LsScenario) scenario = ls_concept_scenario (run, "concepts/roofline.yaml", NULL);
  LsSimulationJob one = {0};
  double speedup[LS_N_KNOBS];

  if (scenario == NULL)
    return 0;
  one.workload = scenario->workload;
  for (guint k = 0; k < LS_N_KNOBS; k++)
    speedup[k] = k == (guint) knob ? 2 : 1;
  const LsScene scene = {.cluster = scenario->cluster, .jobs = &one, .n_jobs = 1};
  g_autoptr (LsSummary) summary = ls_scene_run (&scene, speedup, NULL, &run->error);
  return summary != NULL ? summary->step_time_s : 0;
}

void ls_concept_roofline (LsConceptRun *run) {
  const LsAccelerator *h100 = ls_accelerator_find ("h100-sxm-80gb", NULL);
  double base_m, base_s, hbm_m, hbm_s, fast_m, fast_s;
  double ridge = h100->peak_flops_per_s[LS_FORMAT_BF16] / h100->hbm_bytes_per_s;
  LsDevice device;

  twice (LS_KNOB_LINK, &base_m, &base_s);
  twice (LS_KNOB_HBM, &hbm_m, &hbm_s);
  twice (LS_KNOB_COMPUTE, &fast_m, &fast_s);
  ls_device_init (&device, h100, LS_CLOCK_SUSTAINED, NULL);
  ls_concept_row (run, 294, 297, ridge, "FLOP/B", "295",
                  "ridge of an H100, bf16, of the data sheet");
  ls_concept_row (run, 150, 295, ls_device_ridge (&device, LS_FORMAT_BF16), "FLOP/B", "-",
                  "ridge, of what is reached");
  ls_concept_row (run, 0.99, 1.01, base_m / hbm_m, "x", "1",
                  "product of 8192 (2731 FLOP/B) with twice the bandwidth");
  ls_concept_row (run, 1.9, 2.01, base_m / fast_m, "x", "2", "the same with twice the peak");
  ls_concept_row (run, 1.9, 2.01, base_s / hbm_s, "x", "2",
                  "addition (0.25 FLOP/B) with twice the bandwidth");
  ls_concept_row (run, 0.99, 1.01, base_s / fast_s, "x", "1", "the same with twice the peak");
  double base = step_at (run, LS_KNOB_LINK), hbm = step_at (run, LS_KNOB_HBM),
         fast = step_at (run, LS_KNOB_COMPUTE);
  if (run->error != NULL)
    return;
  ls_concept_row (run, 1.01, 1.9, base / hbm, "x", "-", "a whole step with twice the bandwidth");
  ls_concept_row (run, 1.1, 1.99, base / fast, "x", "-", "a whole step with twice the peak");
}

/* --- links -------------------------------------------------------------------------------------- */

/* Eight GPUs, how they are joined, and what the textbook counts per GPU and direction. */
static const struct {
  const char *what, *textbook;
  double bytes_per_s;
  const char *sets[4];
} joined[] = {
    {"NVLink 4, one node", "3.89 ms", 450e9, {NULL}},
    {"PCIe 5, one node", "27.8 ms", 63e9, {"cluster.node.intra.kind=pcie", NULL}},
    {"400 Gb/s, eight nodes",
     "35 ms",
     50e9,
     {"cluster.nodes=8", "cluster.node.gpus=1", "cluster.node.nics=1", NULL}},
    {"100 Gb/s, eight nodes",
     "140 ms",
     12.5e9,
     {"cluster.nodes=8", "cluster.node.gpus=1",
      "cluster.node.nics={compute: {count: 1, rate: 100 Gb/s}}", NULL}},
};

void ls_concept_links (LsConceptRun *run) {
  double first_s = 0;

  for (guint i = 0; i < G_N_ELEMENTS (joined); i++) {
    double ideal_s = 2.0 * 7 / 8 * 1e9 / joined[i].bytes_per_s;
    g_autoptr (LsSummary) alone = ls_concept_step (run, "concepts/links.yaml", joined[i].sets);

    if (alone == NULL)
      return;
    /* No faster than the formula; through one host's memory eight GPUs have a share of it. */
    ls_concept_row (run, ideal_s * 1e3, ideal_s * 1e3 * 6, alone->traffic.time_s * 1e3, "ms",
                    joined[i].textbook, "all-reduce of 1 GB, %s", joined[i].what);
  }
  for (guint i = 0; i < G_N_ELEMENTS (joined); i++) {
    g_autoptr (LsSummary) model =
        ls_concept_step (run, "concepts/links-model.yaml", joined[i].sets);

    if (model == NULL)
      return;
    first_s = i == 0 ? model->step_time_s : first_s;
    ls_concept_row (run, 0.999, 50, model->step_time_s / first_s, "x NVLink", "-",
                    "step of GPT-2 XL, %s", joined[i].what);
    ls_concept_row (run, 0, 99, 100 * model->parts_s[LS_PART_EXPOSED_DATA] / model->step_time_s,
                    "%", "-", "of it waiting for gradients");
  }
}

/* --- MIG ---------------------------------------------------------------------------------------- */

static double samples_per_s (const LsSummary *summary) {
  double sum = summary->n_jobs == 0 ? summary->samples_per_s : 0;

  for (guint j = 0; j < summary->n_jobs; j++)
    sum += summary->jobs[j]->samples_per_s;
  return sum;
}

void ls_concept_mig (LsConceptRun *run) {
  static const char *const files[] = {"mig/seven-slices.yaml", "mig/time-slicing.yaml",
                                      "mig/one-big-job.yaml"};
  static const char *const names[] = {"seven jobs on seven slices",
                                      "the same taking turns on the whole GPU",
                                      "one job with all samples"};
  double rates[3];

  for (guint i = 0; i < 3; i++) {
    g_autoptr (LsSummary) summary = ls_concept_step (run, files[i], NULL);
    if (summary == NULL)
      return;
    rates[i] = samples_per_s (summary);
  }
  for (guint i = 0; i < 3; i++)
    ls_concept_row (run, ANY, rates[i], "samples/s", "-", "%s", names[i]);
  ls_concept_row (run, 1.01, 7, rates[0] / rates[1], "x", "more", "slices against turns");
  ls_concept_row (run, 1.01, 7, rates[2] / rates[0], "x", "more", "one job against slices");
  ls_concept_row (run, 112, 112, 7 * 16, "SMs", "132", "SMs of an H100 that seven 1g use");
}

/* --- formats ------------------------------------------------------------------------------------ */

void ls_concept_formats (LsConceptRun *run) {
  static const struct {
    const char *gpu, *name, *textbook;
    double low, high;
  } rows[] = {{"v100-sxm-32gb", "V100", "falls back", 1.5, 10},
              {"a100-sxm-80gb", "A100", "1", 0.95, 1.0001},
              {"h100-sxm-80gb", "H100", "1", 0.95, 1.0001}};

  static const LsFormat formats[] = {LS_FORMAT_BF16, LS_FORMAT_FP16};
  static const char *const largest[] = {"3.4e38", "65504"}, *const steps[] = {"0.0078", "0.00098"};
  for (guint i = 0; i < 2; i++) {
    const LsFormatInfo *info = ls_format_info (formats[i]);
    ls_concept_row (run, 16, 16, info->bits, "bits", "16", "%s", info->name);
    ls_concept_row (run, i == 0 ? 3e38 : 65504, i == 0 ? 4e38 : 65504, info->max, "", largest[i],
                    "largest value of %s", info->name);
    ls_concept_row (run, i == 0 ? 0.0078125 : 0.0009765625, i == 0 ? 0.0078125 : 0.0009765625,
                    info->epsilon, "", steps[i], "gap above 1 of %s", info->name);
  }
  ls_concept_row (run, 1, 1,
                  ls_accelerator_is_native (ls_accelerator_find ("tpu-v4", NULL), LS_FORMAT_BF16),
                  "", "1", "TPU v4 has bf16 natively");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    const LsAccelerator *gpu = ls_accelerator_find (rows[i].gpu, NULL);
    gboolean native = ls_accelerator_is_native (gpu, LS_FORMAT_BF16);
    g_autofree char *set = g_strdup_printf ("cluster.node.gpu=%s", rows[i].gpu);
    g_autoptr (LsSummary) bf16 =
        ls_concept_step (run, "concepts/formats.yaml", (const char *[]){set, NULL});
    g_autoptr (LsSummary) fp16 =
        ls_concept_step (run, "concepts/formats.yaml",
                         (const char *[]){set, "workload.precision.compute=fp16", NULL});

    if (bf16 == NULL || fp16 == NULL)
      return;
    ls_concept_row (run, i == 0 ? 0 : 1, i == 0 ? 0 : 1, native ? 1 : 0, "", i == 0 ? "0" : "1",
                    "%s has bf16 natively", rows[i].name);
    ls_concept_row (run, rows[i].low, rows[i].high, bf16->step_time_s / fp16->step_time_s, "x",
                    rows[i].textbook, "%s, step in bf16 / step in fp16", rows[i].name);
  }
}
