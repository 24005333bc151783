/* Matrix products and attention against published rates, and their laws.
 *
 * MAMF is the best TFLOP/s that a sweep over shapes reached (stas00/ml-engineering @744d01e). Our best over a
 * sweep must be that within 3 %: the ceiling is the published number, and what is left between is the ramp of
 * the deepest matmul, the last wave and the launch. */
#include <check.h>
#include <math.h>

#include "base/random.h"
#include "base/time.h"
#include "hw/kernel.h"
#include "run.h"

static const struct {
  const char *gpu;
  LsFormat format;
  double tflops;
  gint64 m, n, k; /* the shape that reached it */
} mamf[] = {{"a100", LS_FORMAT_BF16, 271.2, 1024, 10240, 5120},
            {"h100", LS_FORMAT_BF16, 794.5, 2048, 2048, 13312},
            {"b200", LS_FORMAT_BF16, 1745.0, 1792, 16128, 3072},
            {"mi300x", LS_FORMAT_BF16, 668.4, 10240, 15360, 8192},
            {"b200", LS_FORMAT_FP8_E4M3, 3432.5, 15360, 4096, 3072},
            {"h100", LS_FORMAT_FP8_E4M3, 1402.6, 1024, 9216, 14336}};

static LsDevice device_of (const char *gpu, LsClock clock) {
  LsDevice device;
  const LsAccelerator *row = ls_accelerator_find (gpu, NULL);
  ck_assert_msg (row != NULL, "%s", gpu);
  ls_device_init (&device, row, clock, NULL);
  return device;
}

static LsMatmul square_format (gint64 m, gint64 n, gint64 k, LsFormat format) {
  return (LsMatmul){.m = m, .n = n, .k = k, .batch = 1, .format = format, .output = LS_FORMAT_BF16};
}

static double tflops (const LsDevice *device, LsMatmul shape) {
  LsKernelCost cost = ls_kernel_matmul (device, &shape);
  return cost.flops / (double) cost.alone_ps;
}

START_TEST (best_of_a_sweep_is_mamf) {
  LsDevice device = device_of (mamf[_i].gpu, LS_CLOCK_BEST);
  double best = 0;
  for (gint64 m = 512; m <= 16384; m += 1024)
    for (gint64 n = 512; n <= 16384; n += 512)
      for (gint64 k = 1024; k <= 16384; k += 1024) {
        double rate = tflops (&device, square_format (m, n, k, mamf[_i].format));
        best = rate > best ? rate : best;
      }
  ck_assert_msg (fabs (best / mamf[_i].tflops - 1) < 0.03, "%s: best %.1f, MAMF %.1f TFLOP/s",
                 mamf[_i].gpu, best, mamf[_i].tflops);
}
END_TEST

/* The named shape itself within 7 %: the real best shape profits from cache reuse and stream-k, which the
 * tile model leaves out. */
START_TEST (named_shape_is_close) {
  LsDevice device = device_of (mamf[_i].gpu, LS_CLOCK_BEST);
  double rate =
      tflops (&device, square_format (mamf[_i].m, mamf[_i].n, mamf[_i].k, mamf[_i].format));
  ck_assert_msg (fabs (rate / mamf[_i].tflops - 1) < 0.07, "%s: %.1f, MAMF %.1f TFLOP/s",
                 mamf[_i].gpu, rate, mamf[_i].tflops);
}
END_TEST

/* Products of a layer of 4096 and 16384 over 15,872 tokens (queries, keys and values as wide, no gate), forward and both
 * gradients, that Transformer Engine's guide timed alone on a B300 (docs/features/low_precision_training/gemm_profiling,
 * @3329417; in bf16 the mean of two runs, in 8 and 4 bits quantized before). */
static const struct {
  LsFormat format;
  double measured_ms;
} layer_of_b300[] = {
    {LS_FORMAT_BF16, (12.227 + 12.835) / 2}, {LS_FORMAT_MXFP8, 7.324}, {LS_FORMAT_NVFP4, 3.754}};

static double layer_ms (const LsDevice *device, LsFormat format) {
  static const gint64 maps[][2] = {{4096, 12288}, {4096, 4096}, {4096, 16384}, {16384, 4096}};
  const gint64 tokens = 15872;
  double ps = 0;

  for (guint i = 0; i < G_N_ELEMENTS (maps); i++) {
    const gint64 in = maps[i][0], out = maps[i][1];
    const gint64 shapes[][3] = {{tokens, out, in}, {tokens, in, out}, {in, out, tokens}};

    for (guint s = 0; s < G_N_ELEMENTS (shapes); s++) {
      LsMatmul shape = square_format (shapes[s][0], shapes[s][1], shapes[s][2], format);

      ps += (double) ls_kernel_matmul (device, &shape).alone_ps;
    }
  }
  return ps / 1e9;
}

/* In a step they take as much more as a B200's do: 0.65 / 0.60 (sim/hw/tuning.c). */
START_TEST (a_layer_on_b300_takes_as_long) {
  LsDevice device = device_of ("b300", LS_CLOCK_SUSTAINED);
  const double alone = layer_ms (&device, layer_of_b300[_i].format) * 0.60 / 0.65;

  ck_assert_msg (fabs (alone / layer_of_b300[_i].measured_ms - 1) < 0.02, "%.3f ms, measured %.3f",
                 alone, layer_of_b300[_i].measured_ms);
}
END_TEST

/* 132 SMs: 132 tiles of 128 x 256 are one wave; one row of tiles more opens a second wave or smaller tiles,
 * so the rate falls; and a large matmul hides it again. */
/* No step has more model FLOP/s than large products at the clocks of steps: what published runs reached of Llama 3.1 405B, 3 70B
 * and a GPT of 16B, per GPU. source: tests/reference, rows dgxc25-l405-bf16-*, mbridge-26.04.01-216, mbridge-26.06-187,
 * mbridge-26.04.01-219, mcore08-weak-3. The first bound had failed: 1,093 with the B200's clock. */
START_TEST (products_outrun_published_steps) {
  static const struct {
    const char *gpu;
    LsFormat format;
    double tflops;
  } runs[] = {{"gb200", LS_FORMAT_BF16, 1134},
              {"gb200", LS_FORMAT_FP8_E4M3, 2144},
              {"gb300", LS_FORMAT_FP8_E4M3, 2086},
              {"h100", LS_FORMAT_FP8_E4M3, 827},
              {"h100", LS_FORMAT_BF16, 489.1}};

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++) {
    LsDevice device = device_of (runs[i].gpu, LS_CLOCK_SUSTAINED);
    const double rate = tflops (&device, square_format (16384, 16384, 16384, runs[i].format));

    ck_assert_msg (rate > runs[i].tflops, "%s: %.0f, a whole step has %.0f TFLOP/s", runs[i].gpu,
                   rate, runs[i].tflops);
  }
}
END_TEST

START_TEST (waves_quantise) {
  LsDevice device = device_of ("h100", LS_CLOCK_BEST);
  double full = tflops (&device, square_format (128 * 12, 256 * 11, 8192, LS_FORMAT_BF16));
  double over = tflops (&device, square_format (128 * 13, 256 * 11, 8192, LS_FORMAT_BF16));
  double large = tflops (&device, square_format (128 * 121, 256 * 110, 8192, LS_FORMAT_BF16));
  ck_assert_msg (over < 0.90 * full, "over %.0f full %.0f", over, full);
  ck_assert_msg (large > 0.98 * full, "large %.0f full %.0f", large, full);
  /* 132 of 132 SMs: ceiling x depth / (depth + ramp), less 2 us of launch on 116 us. */
  double expected = 794.9 * 8192 / (8192 + 64);
  double alone = 2.0 * 1536 * 2816 * 8192 / expected * 1e-12;
  ck_assert (fabs (full / (expected * alone / (alone + device.kernel_overhead_s)) - 1) < 1e-3);
}
END_TEST

/* More work is never faster, for random pairs of shapes of which one is at least the other in every size. */
START_TEST (more_work_is_never_faster) {
  const char *const gpus[] = {"v100", "a100", "h100", "b200", "mi300x", "tpu-v5p"};
  LsRandom random;
  ls_random_init (&random, 1, "test-matmul", 0);
  for (int trial = 0; trial < 20000; trial++) {
    LsDevice device = device_of (gpus[trial % 6], LS_CLOCK_SUSTAINED);
    gint64 size[2][4];
    for (int i = 0; i < 4; i++) {
      gint64 span = i == 3 ? 16 : (gint64) 1 << (4 + ls_random_u64 (&random) % 10);
      size[0][i] = 1 + (gint64) (ls_random_u64 (&random) % (guint64) span);
      size[1][i] = size[0][i] + (gint64) (ls_random_u64 (&random) % 3 == 0
                                              ? ls_random_u64 (&random) % (guint64) span
                                              : ls_random_u64 (&random) % 2);
    }
    LsKernelCost costs[2];
    for (int j = 0; j < 2; j++) {
      LsMatmul shape = square_format (size[j][0], size[j][1], size[j][2], LS_FORMAT_FP16);
      shape.batch = size[j][3];
      costs[j] = ls_kernel_matmul (&device, &shape);
    }
    ck_assert_msg (costs[1].alone_ps >= costs[0].alone_ps,
                   "%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                   " slower than a larger one",
                   size[0][0], size[0][1], size[0][2]);
  }
}
END_TEST

/* No shape beats the ceiling, and none moves fewer bytes than its matrices have. */
START_TEST (bounds_hold) {
  LsDevice device = device_of ("a100", LS_CLOCK_BEST);
  for (gint64 size = 16; size <= 32768; size *= 2) {
    LsMatmul shape = square_format (size, size, size, LS_FORMAT_BF16);
    LsKernelCost cost = ls_kernel_matmul (&device, &shape);
    ck_assert (ls_kernel_matmul_efficiency (&device, &shape) <= 0.8692);
    ck_assert (cost.bytes >= 3 * 2 * size * size);
    ck_assert (cost.flops == 2.0 * (double) size * (double) size * (double) size);
    ck_assert (cost.sm_usage <= LS_USAGE_ONE && cost.hbm_usage <= LS_USAGE_ONE);
  }
}
END_TEST

/* Matrix times vector reads the matrix once: bound by memory on every GPU, at the achievable bandwidth (1 %:
 * the launch on some 500 us or more), on the H20 too, whose smallest tile, mostly padding, takes longer than the matrix:
 * vector units do not pad. A systolic array still has to stream whole tiles: TPUs are left out. */
START_TEST (thin_matmuls_are_memory_bound) {
  for (guint i = 0; i < ls_accelerator_count (); i++) {
    LsDevice device;
    ls_device_init (&device, ls_accelerator_get (i), LS_CLOCK_BEST, NULL);
    if (g_strcmp0 (device.accelerator->architecture, "TPU") == 0)
      continue;
    LsMatmul shape = square_format (1, 65536, 32768, LS_FORMAT_FP16);
    LsKernelCost cost = ls_kernel_matmul (&device, &shape);
    double least = 2.0 * 65536 * 32768 / device.hbm_bytes_per_s;
    ck_assert_msg (cost.memory_bound, "%s", device.accelerator->name);
    ck_assert_msg (fabs (ls_time_s_from_ps (cost.alone_ps) / least - 1) < 0.01, "%s",
                   device.accelerator->name);
  }
}
END_TEST

/* Rows of a vocabulary: with 50257 of them rows of the logits begin anywhere, with 50256 / 8 at multiples of 4 bytes,
 * with 50256 / 4 of 8, with 50304 of 128, for which nothing is paid. The factors by which time grows are those of
 * kernel_matmul.c (a large product: the launch is nothing); a format of 4 bytes has none, nor has a row that is not
 * stated; and the pitch of two matrices is the power of two that divides both. */
START_TEST (unaligned_rows_are_slower) {
  static const struct {
    gint64 row;
    double factor;
  } rows[] = {{50257, 2.7}, {50256 / 8, 1.7}, {50256 / 4, 1.3}, {50304, 1}, {8, 1}};
  LsDevice device = device_of ("a100", LS_CLOCK_BEST);
  LsMatmul shape = square_format (16384, 16384, 4096, LS_FORMAT_FP16);
  const double aligned = tflops (&device, shape);

  ck_assert_int_eq (ls_kernel_pitch (2048, 50257), 1);
  ck_assert_int_eq (ls_kernel_pitch (128, 1024), 128);
  ck_assert_int_eq (ls_kernel_pitch (150, 2048), 2);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    shape.pitch = ls_kernel_pitch (4096, rows[i].row);
    ck_assert_double_eq_tol (aligned / tflops (&device, shape), rows[i].factor, 2e-3);
  }
  shape.format = LS_FORMAT_FP32;
  shape.pitch = 1;
  const double odd = tflops (&device, shape);
  shape.pitch = 0;
  ck_assert (tflops (&device, shape) == odd);
}
END_TEST

/* A strided batch of unaligned products runs on the vector units: 2 m n k batch over their rate, at any alignment below
 * 16 bytes. Measured (PyTorch issue 83272, CUDA 11.6, bf16; by its rates an A100 of 40 GB): 384 products of 1024 x 1024 x 140 take 9.232 ms, 512 of
 * 1024 x 1024 x 128, which are aligned, 1.036 ms. One product and products of experts beside each other keep the matrix
 * units. */
START_TEST (unaligned_batches_run_on_vector_units) {
  LsDevice device = device_of ("a100-sxm-40gb", LS_CLOCK_BEST);
  LsMatmul shape = square_format (1024, 140, 1024, LS_FORMAT_BF16);
  LsMatmul aligned = square_format (1024, 128, 1024, LS_FORMAT_BF16);
  LsMatmul expert = square_format (4096, 4096, 1023, LS_FORMAT_BF16);
  const gint64 rows[] = {140, 150, 151};

  aligned.batch = 512;
  aligned.pitch = ls_kernel_pitch (128, 1024);
  ck_assert_double_eq_tol (tflops (&device, aligned), 132.7, 0.12 * 132.7);
  shape.batch = 384;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    shape.n = rows[i];
    shape.pitch = ls_kernel_pitch (rows[i], 1024);
    ck_assert_double_eq_tol (tflops (&device, shape), device.vector_flops_per_s * 1e-12, 0.01);
  }
  ck_assert_double_eq_tol (tflops (&device, shape), 12.2, 0.25 * 12.2);
  shape.pitch = 8;
  ck_assert_double_gt (tflops (&device, shape), 8 * device.vector_flops_per_s * 1e-12);
  expert.pitch = 1;
  const LsKernelCost experts = ls_kernel_grouped_matmul (&device, &expert, 4);
  ck_assert_double_gt (experts.flops / (double) experts.alone_ps, 60);
}
END_TEST

/* Convolutions do 2 x outputs x window x channels flops, backward twice that: ResNet-50's first layer,
 * 64 filters of 7 x 7 x 3 on 224 x 224, stride 2, makes 0.236 GFLOP per image (118 M multiply-adds). */
START_TEST (convolution_flops) {
  LsDevice device = device_of ("v100", LS_CLOCK_BEST);
  LsConvolution shape = {.batch = 1,
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
  double forward = 2.0 * 112 * 112 * 64 * 7 * 7 * 3;
  LsKernelCost cost = ls_kernel_convolution (&device, &shape, LS_PASS_FORWARD, TRUE);
  ck_assert (cost.flops == forward);
  ck_assert (fabs (forward / 0.236e9 - 1) < 0.01);
  cost = ls_kernel_convolution (&device, &shape, LS_PASS_BACKWARD, TRUE);
  ck_assert (cost.flops == 2 * forward);
  cost = ls_kernel_convolution (&device, &shape, LS_PASS_BACKWARD, FALSE);
  ck_assert (cost.flops == forward);
  /* Depthwise: one filter per channel. */
  shape.groups = 3;
  shape.out_channels = 3;
  cost = ls_kernel_convolution (&device, &shape, LS_PASS_FORWARD, TRUE);
  ck_assert (cost.flops == 2.0 * 112 * 112 * 3 * 7 * 7);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("matmul");
  TCase *published = tcase_create ("published");
  TCase *laws = tcase_create ("laws");
  tcase_set_timeout (published, 120);
  tcase_set_timeout (laws, 120);
  tcase_add_loop_test (published, best_of_a_sweep_is_mamf, 0, G_N_ELEMENTS (mamf));
  tcase_add_loop_test (published, named_shape_is_close, 0, G_N_ELEMENTS (mamf));
  tcase_add_loop_test (published, a_layer_on_b300_takes_as_long, 0, G_N_ELEMENTS (layer_of_b300));
  tcase_add_test (published, products_outrun_published_steps);
  tcase_add_test (laws, waves_quantise);
  tcase_add_test (laws, more_work_is_never_faster);
  tcase_add_test (laws, bounds_hold);
  tcase_add_test (laws, thin_matmuls_are_memory_bound);
  tcase_add_test (laws, unaligned_rows_are_slower);
  tcase_add_test (laws, unaligned_batches_run_on_vector_units);
  tcase_add_test (laws, convolution_flops);
  suite_add_tcase (suite, published);
  suite_add_tcase (suite, laws);
  SRunner *runner = srunner_create (suite);
  srunner_run_all (runner, CK_NORMAL);
  int failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
