/* Measured kernels, power caps, and what a job changes of its software. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "hw/kernel.h"
#include "hw/power.h"
#include "run.h"
#include "suite.h"

static LsDevice device_of (const char *gpu) {
  LsDevice device;
  const LsAccelerator *row = ls_accelerator_find (gpu, NULL);

  ck_assert_msg (row != NULL, "%s", gpu);
  ls_device_init (&device, row, LS_CLOCK_SUSTAINED, NULL);
  return device;
}

static LsKernelTable *parse (const char *text) {
  g_autoptr (GError) error = NULL;
  g_autoptr (LsTextFaults) faults = ls_text_faults_new ("dir/k.csv");
  LsKernelTable *table = ls_kernel_table_parse (text, faults);

  ls_text_faults_check (faults, &error);
  ck_assert_msg (table != NULL, "%s", error != NULL ? error->message : "");
  return table;
}

/* The row's time to the picosecond, the model's FLOPs and bytes; other shapes, formats and GPUs as before. */
START_TEST (rows_replace_the_model) {
  g_autoptr (LsKernelTable) table =
      parse ("# measured by hand\nop,shape,format,time,gpu\n\n"
             "matmul,4096x4096x4096,bf16,300 us,\nmatmul,4096x4096x4096,bf16,250 us,h100\n"
             "attention,1x32x2048x2048x128,bf16,1 ms,a100\nnorm,4096x8192,bf16,70 us,\n");
  LsDevice device = device_of ("h100");
  const LsMatmul shape = {.m = 4096,
                          .n = 4096,
                          .k = 4096,
                          .batch = 1,
                          .format = LS_FORMAT_BF16,
                          .output = LS_FORMAT_BF16};
  LsMatmul other = shape;
  const LsKernelCost model = ls_kernel_matmul (&device, &shape);

  other.n = 4097;
  const LsKernelCost model_other = ls_kernel_matmul (&device, &other);
  device.kernels = table;
  const LsKernelCost measured = ls_kernel_matmul (&device, &shape);
  ck_assert_int_eq (measured.alone_ps, 250 * G_GINT64_CONSTANT (1000000));
  ck_assert (measured.flops == model.flops && measured.bytes == model.bytes);
  ck_assert_int_eq (ls_kernel_matmul (&device, &other).alone_ps, model_other.alone_ps);
  other = shape;
  other.format = LS_FORMAT_FP16;
  ck_assert_int_eq (ls_kernel_matmul (&device, &other).alone_ps, model.alone_ps);
  /* The row for this GPU goes before the one for any. */
  LsDevice a100 = device_of ("a100");
  a100.kernels = table;
  ck_assert_int_eq (ls_kernel_matmul (&a100, &shape).alone_ps, 300 * G_GINT64_CONSTANT (1000000));
  ck_assert_int_eq (
      ls_kernel_norm (&device, 4096, 8192, LS_FORMAT_BF16, TRUE, LS_PASS_FORWARD).alone_ps,
      70 * G_GINT64_CONSTANT (1000000));
  ck_assert_uint_eq (ls_kernel_table_n_used (table), 3);
  ck_assert_uint_eq (ls_kernel_table_row (table, 2)->used, 0);
  g_autofree char *text = ls_kernel_row_text (ls_kernel_table_row (table, 0));
  ck_assert_str_eq (text, "matmul 4096x4096x4096 bf16");
  ck_assert_uint_eq (ls_kernel_table_row (table, 0)->line, 4);
}
END_TEST

/* Usage while it runs: t_compute / t of the model's t_compute over the row's time, at most all. */
START_TEST (convolutions_scaling_and_updates_too)
/* A convolution of stride 2 from its heights, 224 to 112, in a row with it; both gradients together take the sum of their
 * rows; a pass that scales and the optimizer's update as their rows say, however many kernels they are. Others are as
 * the model has them. */
{
  g_autoptr (LsKernelTable) table =
      parse ("op,shape,format,time\nconvolution,8x3x64x7x112x112x2,fp16,2 ms\n"
             "convolution_weights,8x3x64x7x112x112x2,fp16,3 ms\n"
             "convolution_data,8x3x64x7x112x112x2,fp16,4 ms\n"
             "scale,1000000,fp8_e4m3,5 ms\noptimizer,1000000,bf16,6 ms\n");
  LsDevice device = device_of ("h100");
  LsConvolution shape = {.batch = 8,
                         .in_channels = 3,
                         .height = 224,
                         .width = 224,
                         .out_channels = 64,
                         .out_height = 112,
                         .out_width = 112,
                         .kernel_height = 7,
                         .kernel_width = 7,
                         .groups = 1,
                         .format = LS_FORMAT_FP16};
  const gint64 n = 1000000;

  device.kernels = table;
  ck_assert_int_eq (ls_kernel_convolution (&device, &shape, LS_PASS_FORWARD, FALSE).alone_ps,
                    2 * LS_PS_PER_MS);
  ck_assert_int_eq (ls_kernel_convolution (&device, &shape, LS_PASS_BACKWARD, FALSE).alone_ps,
                    3 * LS_PS_PER_MS);
  ck_assert_int_eq (ls_kernel_convolution (&device, &shape, LS_PASS_BACKWARD, TRUE).alone_ps,
                    7 * LS_PS_PER_MS);
  ck_assert_int_eq (ls_kernel_scale (&device, n, LS_FORMAT_FP8_E4M3, 4 * n, 2).alone_ps,
                    5 * LS_PS_PER_MS);
  ck_assert_int_eq (ls_kernel_optimizer (&device, n, LS_FORMAT_BF16, 28, 9).alone_ps,
                    6 * LS_PS_PER_MS);
  ck_assert_uint_eq (ls_kernel_table_n_used (table), 5);
  ck_assert_int_ne (ls_kernel_optimizer (&device, n + 1, LS_FORMAT_BF16, 28, 9).alone_ps,
                    6 * LS_PS_PER_MS);
  shape.height = shape.width = 112; /* stride 1 */
  ck_assert_int_ne (ls_kernel_convolution (&device, &shape, LS_PASS_FORWARD, FALSE).alone_ps,
                    2 * LS_PS_PER_MS);
}
END_TEST

START_TEST (usage_follows_the_time) {
  g_autoptr (LsKernelTable) table =
      parse ("op,shape,format,time\nmatmul,4096x4096x4096,bf16,10 ms\n");
  LsDevice device = device_of ("h100");
  const LsMatmul shape = {.m = 4096,
                          .n = 4096,
                          .k = 4096,
                          .batch = 1,
                          .format = LS_FORMAT_BF16,
                          .output = LS_FORMAT_BF16};
  const LsKernelCost model = ls_kernel_matmul (&device, &shape);

  device.kernels = table;
  const LsKernelCost slow = ls_kernel_matmul (&device, &shape);
  ck_assert_double_eq_tol ((double) slow.sm_usage / (double) LS_USAGE_ONE, model.compute_s / 10e-3,
                           1e-9);
  ck_assert (!ls_kernel_table_row (table, 0)->impossible);
  g_autoptr (LsKernelTable) fast =
      parse ("op,shape,format,time\nmatmul,4096x4096x4096,bf16,1 us\n");
  device.kernels = fast;
  ck_assert_int_eq (ls_kernel_matmul (&device, &shape).sm_usage, LS_USAGE_ONE);
  ck_assert (ls_kernel_table_row (fast, 0)->impossible); /* 137 GFLOP in 1 us is 137 PFLOP/s */
}
END_TEST

/* All faults at once, each with its line. */
START_TEST (faults_have_lines) {
  static const struct {
    const char *text;
    const char *says[5];
  } cases[] = {
      {"op,shape,format,time\nmatmul,1x2,bf16,1 us\nmatmull,1x2x3,bf16,1 us\nnorm,4x-1,bf16,1 us\n"
       "norm,4x4,bf17,1 us\nnorm,4x4,bf16,5\n",
       {"k.csv:2:8: error: '1x2' is no shape of matmul; takes m x n x k",
        "k.csv:3:1: error: unknown op 'matmull'", "k.csv:4:6: error: '-1' in shape '4x-1'",
        "k.csv:5:10: error: format: unknown number format 'bf17'", "k.csv:6:15: error: time: "}},
      {"op,shape,format,time\nnorm,4x4,bf16,1 us\nnorm,4x4,bf16,2 us\nnorm,4x4,bf16\n",
       {"k.csv:3:1: error: the same kernel stands in line 2",
        "k.csv:4:14: error: 3 fields, but 4 columns"}},
      {"op,shape,size,time\n",
       {"k.csv:1:10: error: unknown column 'size'", "k.csv:1:19: error: no column 'format'"}},
      {"# nothing\n", {"the table is empty"}},
      {"", {"k.csv:1:1: error: the table is empty"}},
      {"op,shape,format,time\n# none\n\n", {"the table has no rows below its heading"}},
      {"\357\273\277op,shape,format,time\nnorm,4x4,bf16,0 us\n",
       {"k.csv:2:15: error: time '0 us'"}},
      {"op,shape,format,time,gpu\nnorm,4x4,bf16,1 us,h1000\n",
       {"k.csv:2:20: error: gpu: unknown GPU 'h1000'"}},
      {"op,shape,format,time\nnorm,4x4,bf16,0 us\n", {"k.csv:2:15: error: time '0 us'"}},
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (LsTextFaults) faults = ls_text_faults_new ("k.csv");

    ck_assert_ptr_null (ls_kernel_table_parse (cases[i].text, faults));
    ck_assert (!ls_text_faults_check (faults, &error));
    ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
    for (guint k = 0; k < G_N_ELEMENTS (cases[i].says) && cases[i].says[k] != NULL; k++)
      ck_assert_msg (strstr (error->message, cases[i].says[k]) != NULL, "no '%s' in: %s",
                     cases[i].says[k], error->message);
  }
}
END_TEST

/* A long table is read and asked in time linear in its rows. The last row is found, and a row for the part
 * before one for any. */
START_TEST (long_tables) {
  g_autoptr (GString) text = g_string_new ("\357\273\277op,shape,format,time,gpu\n");
  g_autoptr (LsKernelTable) table = NULL;
  const LsAccelerator *h100 = ls_accelerator_find ("h100-sxm-80gb", NULL);
  const LsAccelerator *a100 = ls_accelerator_find ("a100-sxm-80gb", NULL);
  const LsFormat bf16 = LS_FORMAT_BF16;
  const guint n = test_scaled (100000);
  const gint64 size[LS_KERNEL_SIZES] = {n, 8, 1, 1, 1, 1, 1, 1};

  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "norm,%ux8,bf16,%u us,\n", i + 1, i % 50 + 1);
  g_string_append_printf (text, "norm,%ux8,bf16,7 us,h100-sxm-80gb\n", n);
  table = parse (text->str);
  ck_assert_ptr_nonnull (table);
  ck_assert_uint_eq (ls_kernel_table_size (table), n + 1);
  for (guint i = 0; i < n; i++)
    ck_assert_uint_eq (ls_kernel_table_find (table, LS_KERNEL_NORM, size, bf16, h100)->line, n + 2);
  ck_assert_uint_eq (ls_kernel_table_find (table, LS_KERNEL_NORM, size, bf16, a100)->line, n + 1);
  ck_assert_ptr_null (ls_kernel_table_find (table, LS_KERNEL_LOSS, size, bf16, h100));
}
END_TEST

/* P = TDP (1/4 + 3/4 f^3): worked in power.h for 500 of 700 W; back from f to P for all parts. */
START_TEST (clock_under_a_cap) {
  const LsAccelerator *h100 = ls_accelerator_find ("h100", NULL);

  ck_assert_double_eq_tol (ls_power_clock (h100, 500), cbrt ((500.0 / 700 - 0.25) / 0.75), 1e-12);
  ck_assert_double_eq_tol (ls_power_clock (h100, 500), 0.852, 5e-4);
  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *row = ls_accelerator_get (i);

    ck_assert (ls_power_clock (row, row->tdp_w) == 1 && ls_power_clock (row, 2 * row->tdp_w) == 1);
    ck_assert (ls_power_clock (row, 0.25 * row->tdp_w) == 0);
    for (double share = 0.3; share < 1; share += 0.1) {
      const double f = ls_power_clock (row, share * row->tdp_w);

      ck_assert_double_eq_tol (0.25 + 0.75 * f * f * f, share, 1e-12);
    }
  }
}
END_TEST

/* Matrix and vector units and attention slow down by the clock, HBM does not; one row per cap. */
START_TEST (a_cap_slows_the_units) {
  const LsAccelerator *h100 = ls_accelerator_find ("h100", NULL);
  const LsAccelerator *capped = ls_accelerator_capped (h100, 500);
  const double clock = ls_power_clock (h100, 500);
  LsDevice full = device_of ("h100"), slow;

  ck_assert_ptr_eq (ls_accelerator_capped (h100, 500), capped);
  ck_assert_ptr_eq (ls_accelerator_capped (h100, 700), h100);
  ck_assert_ptr_ne (ls_accelerator_capped (h100, 400), capped);
  ck_assert_str_eq (capped->name, h100->name);
  ls_device_init (&slow, capped, LS_CLOCK_SUSTAINED, NULL);
  for (int f = 0; f < LS_N_FORMATS; f++)
    ck_assert_double_eq_tol (slow.matmul_flops_per_s[f] / full.matmul_flops_per_s[f], clock, 1e-12);
  ck_assert_double_eq_tol (slow.vector_flops_per_s / full.vector_flops_per_s, clock, 1e-12);
  ck_assert (slow.hbm_bytes_per_s == full.hbm_bytes_per_s);
  ck_assert (capped->tdp_w == 500);
}
END_TEST

START_TEST (software_changes) {
  const LsSoftware *megatron = ls_software_find ("megatron-core", NULL);
  const LsSoftware *titan = ls_software_find ("pytorch-fsdp2", NULL);
  const LsSoftware *eager = ls_software_find ("pytorch-fsdp2-eager", NULL);
  const LsSoftware *graphs =
      ls_software_with (megatron, (LsSoftwareChoice){1, -1, -1, -1, LS_LAYER_GRAPHS_NONE});
  const LsKernelCost cost = {.kernels = 3};

  ck_assert (graphs->cuda_graphs && !megatron->cuda_graphs);
  ck_assert_int_eq (ls_kernel_host_ps (&cost, graphs, LS_PASS_FORWARD), 0);
  ck_assert_int_gt (ls_kernel_host_ps (&cost, megatron, LS_PASS_FORWARD), 0);
  ck_assert (graphs->gap_s.value < megatron->gap_s.value);
  ck_assert_ptr_eq (
      ls_software_with (megatron, (LsSoftwareChoice){1, -1, -1, -1, LS_LAYER_GRAPHS_NONE}), graphs);
  const LsSoftware *compiled =
      ls_software_with (eager, (LsSoftwareChoice){-1, 1, -1, -1, LS_LAYER_GRAPHS_NONE});
  ck_assert (compiled->fused_norm && compiled->fused_bias_gelu && compiled->fused_cross_entropy &&
             compiled->fused_dropout_add && !eager->fused_norm);
  const LsSoftware *uncompiled =
      ls_software_with (titan, (LsSoftwareChoice){-1, 0, -1, -1, LS_LAYER_GRAPHS_NONE});
  ck_assert_str_eq (uncompiled->name, eager->name);
  ck_assert (!uncompiled->fused_norm);
  ck_assert (!ls_software_with (megatron, (LsSoftwareChoice){-1, -1, 0, -1, LS_LAYER_GRAPHS_NONE})
                  ->fused_optimizer &&
             megatron->fused_optimizer);
  ck_assert (ls_software_with (megatron, (LsSoftwareChoice){-1, 0, -1, -1, LS_LAYER_GRAPHS_NONE})
                 ->fused_norm);
}
END_TEST

int main (void) {
  const TTest *const tests[] = {rows_replace_the_model,
                                convolutions_scaling_and_updates_too,
                                usage_follows_the_time,
                                faults_have_lines,
                                long_tables,
                                clock_under_a_cap,
                                a_cap_slows_the_units,
                                software_changes};
  return run_tests ("kernel_table", tests, G_N_ELEMENTS (tests));
}
