/* The profiles of `lockstep list mig`, one row per GPU and profile. Columns: name, memory slices, compute
 * slices, cache slices, SMs, memory as the driver prints it (GiB; 0: not printed), copy engines, most
 * instances on one GPU, memory slices at which it may start. */
#include "hw/mig_rows.h"

#define S(start) (1u << (start))
#define S_0_TO_6 (S (0) | S (1) | S (2) | S (3) | S (4) | S (5) | S (6))

#define GUIDE                                                                                      \
  "NVIDIA MIG User Guide r580, supported MIG profiles (docs.nvidia.com/datacenter/tesla/mig-user-" \
  "guide)"
#define ROW(key, of, all_compute, all_sms, name_, memory, compute, cache, sms_, gib, engines,   \
            most_, starts_)                                                                     \
  .name = key "/" name_, .profile = name_, .memory_slices = (memory), .of_memory_slices = (of), \
  .compute_slices = (compute), .of_compute_slices = (all_compute), .cache_slices = (cache),     \
  .sms = (sms_), .of_sms = (all_sms), .usable_gib = (gib), .copy_engines = (engines),           \
  .most = (most_), .starts = (starts_), .source = GUIDE

#define A100_40(...)                                                                               \
  {                                                                                                \
    ROW ("a100-40gb", 8, 7, 108, __VA_ARGS__),                                                     \
        .gpus = "a100-sxm-40gb a100-pcie-40gb", .title = "of an A100 40 GB",                       \
        .sms_status = LS_FACT_FOUND,                                                               \
        .sms_source = GUIDE ": 14 and 42 SMs shown; others 14 a slice",                            \
        .notes = "98 of the 108 SMs are usable under MIG; the guide prints 1/8 of the memory for " \
                 "1g.10gb, but its placement is 2 slices and its name says double: 2/8"            \
  }
#define A100_80(...)                                                                          \
  {                                                                                           \
    ROW ("a100-80gb", 8, 7, 108, __VA_ARGS__),                                                \
        .gpus = "a100-sxm-80gb a100-pcie-80gb", .title = "of an A100 80 GB",                  \
        .sms_status = LS_FACT_DERIVED,                                                        \
        .sms_source = GUIDE ": names change in proportion to the A100 40 GB, 14 SMs a slice", \
        .notes = "98 of the 108 SMs are usable under MIG"                                     \
  }
#define HOPPER_PLACES \
  "placements as the A100's (general knowledge; the guide shows that table only)"
#define H100(...)                                                                                 \
  {                                                                                               \
    ROW ("h100-80gb", 8, 7, 132, __VA_ARGS__),                                                    \
        .gpus = "h100-sxm-80gb h100-pcie-80gb", .title = "of an H100 80 GB",                      \
        .sms_status = LS_FACT_FOUND,                                                              \
        .sms_source = "nvidia-smi mig -lgip on an H100 80 GB (jbarrow.ai field notes, 2026-06)",  \
        .notes = HOPPER_PLACES "; SMs are not 1/7 each; on the PCIe part in proportion (assumed)" \
  }
#define H200(...)                                                                       \
  {                                                                                     \
    ROW ("h200-141gb", 8, 7, 132, __VA_ARGS__),                                         \
        .gpus = "h200-sxm-141gb", .title = "of an H200", .sms_status = LS_FACT_ASSUMED, \
        .sms_source = "as on the H100, the same chip", .notes = HOPPER_PLACES           \
  }
#define B200(...)                                                                        \
  {                                                                                      \
    ROW ("b200-180gb", 8, 7, 132, __VA_ARGS__),                                          \
        .gpus = "b200-sxm-180gb", .title = "of a B200", .sms_status = LS_FACT_ASSUMED,   \
        .sms_source = "as on the H100, in proportion to 148 of 132 SMs, in whole pairs", \
        .notes = HOPPER_PLACES "; copy engines as printed"                               \
  }
#define A30(...)                                                                                 \
  {                                                                                              \
    ROW ("a30-24gb", 4, 4, 56, __VA_ARGS__), .gpus = "a30-24gb", .title = "of an A30",           \
                                             .sms_status = LS_FACT_RECALLED,                     \
                                             .sms_source = "14 SMs a slice (general knowledge)", \
                                             .notes = "placements by general knowledge"          \
  }

const LsMigProfile ls_mig_rows[] = {
    A100_40 ("1g.5gb", 1, 1, 1, 14, 0, 1, 7, S_0_TO_6),
    A100_40 ("1g.5gb+me", 1, 1, 1, 14, 0, 1, 1, S_0_TO_6),
    A100_40 ("1g.10gb", 2, 1, 1, 14, 0, 1, 4, S (0) | S (2) | S (4) | S (6)),
    A100_40 ("2g.10gb", 2, 2, 2, 28, 0, 2, 3, S (0) | S (2) | S (4)),
    A100_40 ("3g.20gb", 4, 3, 4, 42, 0, 3, 2, S (0) | S (4)),
    A100_40 ("4g.20gb", 4, 4, 4, 56, 0, 4, 1, S (0)),
    A100_40 ("7g.40gb", 8, 7, 8, 98, 0, 7, 1, S (0)),
    A100_80 ("1g.10gb", 1, 1, 1, 14, 0, 1, 7, S_0_TO_6),
    A100_80 ("1g.10gb+me", 1, 1, 1, 14, 0, 1, 1, S_0_TO_6),
    A100_80 ("1g.20gb", 2, 1, 1, 14, 0, 1, 4, S (0) | S (2) | S (4) | S (6)),
    A100_80 ("2g.20gb", 2, 2, 2, 28, 0, 2, 3, S (0) | S (2) | S (4)),
    A100_80 ("3g.40gb", 4, 3, 4, 42, 0, 3, 2, S (0) | S (4)),
    A100_80 ("4g.40gb", 4, 4, 4, 56, 0, 4, 1, S (0)),
    A100_80 ("7g.80gb", 8, 7, 8, 98, 0, 7, 1, S (0)),
    H100 ("1g.10gb", 1, 1, 1, 16, 9.75, 1, 7, S_0_TO_6),
    H100 ("1g.10gb+me", 1, 1, 1, 16, 9.75, 1, 1, S_0_TO_6),
    H100 ("1g.20gb", 2, 1, 1, 26, 19.62, 1, 4, S (0) | S (2) | S (4) | S (6)),
    H100 ("2g.20gb", 2, 2, 2, 32, 19.62, 2, 3, S (0) | S (2) | S (4)),
    H100 ("3g.40gb", 4, 3, 4, 60, 39.50, 3, 2, S (0) | S (4)),
    H100 ("4g.40gb", 4, 4, 4, 64, 39.50, 4, 1, S (0)),
    H100 ("7g.80gb", 8, 7, 8, 132, 79.25, 8, 1, S (0)),
    H200 ("1g.18gb", 1, 1, 1, 16, 0, 1, 7, S_0_TO_6),
    H200 ("1g.18gb+me", 1, 1, 1, 16, 0, 1, 1, S_0_TO_6),
    H200 ("1g.35gb", 2, 1, 1, 26, 0, 1, 4, S (0) | S (2) | S (4) | S (6)),
    H200 ("2g.35gb", 2, 2, 2, 32, 0, 2, 3, S (0) | S (2) | S (4)),
    H200 ("3g.71gb", 4, 3, 4, 60, 0, 3, 2, S (0) | S (4)),
    H200 ("4g.71gb", 4, 4, 4, 64, 0, 4, 1, S (0)),
    H200 ("7g.141gb", 8, 7, 8, 132, 0, 8, 1, S (0)),
    B200 ("1g.23gb", 1, 1, 1, 16, 0, 2, 7, S_0_TO_6),
    B200 ("1g.23gb+me", 1, 1, 1, 16, 0, 2, 1, S_0_TO_6),
    B200 ("1g.45gb", 2, 1, 2, 26, 0, 2, 4, S (0) | S (2) | S (4) | S (6)),
    B200 ("2g.45gb", 2, 2, 2, 32, 0, 3, 3, S (0) | S (2) | S (4)),
    B200 ("3g.90gb", 4, 3, 4, 60, 0, 6, 2, S (0) | S (4)),
    B200 ("4g.90gb", 4, 4, 4, 64, 0, 8, 1, S (0)),
    B200 ("7g.180gb", 8, 7, 8, 132, 0, 16, 1, S (0)),
    A30 ("1g.6gb", 1, 1, 1, 14, 0, 1, 4, S (0) | S (1) | S (2) | S (3)),
    A30 ("1g.6gb+me", 1, 1, 1, 14, 0, 1, 1, S (0) | S (1) | S (2) | S (3)),
    A30 ("2g.12gb", 2, 2, 2, 28, 0, 2, 2, S (0) | S (2)),
    A30 ("2g.12gb+me", 2, 2, 2, 28, 0, 2, 1, S (0) | S (2)),
    A30 ("4g.24gb", 4, 4, 4, 56, 0, 4, 1, S (0)),
};

const guint ls_mig_n_rows = G_N_ELEMENTS (ls_mig_rows);
