/* Measured times of kernels, which replace what the kernel model says.
 *
 * A table is CSV: a line of column names (op, shape, format, time; gpu may be added; any order), then a kernel
 * a line. `shape` is the sizes of the op joined by x, `time` the time alone on the device, with a unit:
 *
 *   op,shape,format,time,gpu
 *   matmul,8192x11008x4096,bf16,1.13 ms,h100-sxm-80gb
 *
 * A row stands for every kernel of that op, shape and format (on that GPU, if one is named): FLOPs and bytes
 * stay the model's, the duration becomes the row's, and the shares of SMs and HBM that it takes while it runs
 * follow. Gaps and launches of the software are added as to any kernel.
 * Strict: a wrong line is a fault with line and column, all at once; equal rows twice are one too. Lines that
 * begin with # and empty ones are left out.
 * Cost:      O(rows) to read, O(1) per kernel priced.
 * Left out:  passes that move bytes and have no op here (copies, permutations); times that depend on what runs beside.
 * Ownership: counted by reference; rows count what they were used for (not for several threads). */
#pragma once

#include "base/text_faults.h"
#include "hw/accelerators.h"

#define LS_CONVOLUTION_SIZES                                                 \
  "batch x channels in x channels out x side of the window x height x width" \
  " of the output, x stride x groups if they are not 1"

/* X (ID, "word", sizes, most sizes, "what the sizes are") */
#define LS_KERNEL_OPS(X)                                                                   \
  X (MATMUL, "matmul", 3, 4, "m x n x k, x batch if it is not 1")                          \
  X (ATTENTION, "attention", 5, 5, "batch x heads x queries x keys x head size")           \
  X (ATTENTION_GRAD, "attention_grad", 5, 5, "batch x heads x queries x keys x head size") \
  X (NORM, "norm", 2, 2, "rows x width")                                                   \
  X (NORM_GRAD, "norm_grad", 2, 2, "rows x width")                                         \
  X (ELEMENTWISE, "elementwise", 3, 3, "elements x tensors read x tensors written")        \
  X (EMBEDDING, "embedding", 2, 2, "rows x width")                                         \
  X (EMBEDDING_GRAD, "embedding_grad", 2, 2, "rows x width")                               \
  X (LOSS, "loss", 2, 2, "rows x vocabulary")                                              \
  X (LOSS_GRAD, "loss_grad", 2, 2, "rows x vocabulary")                                    \
  X (CONVOLUTION, "convolution", 6, 8, LS_CONVOLUTION_SIZES)                               \
  X (CONVOLUTION_DATA, "convolution_data", 6, 8, LS_CONVOLUTION_SIZES)                     \
  X (CONVOLUTION_WEIGHTS, "convolution_weights", 6, 8, LS_CONVOLUTION_SIZES)               \
  X (SCALE, "scale", 1, 1, "elements")                                                     \
  X (OPTIMIZER, "optimizer", 1, 1, "parameters")

typedef enum {
#define LS_KERNEL_OP_ID(id, ...) LS_KERNEL_##id,
  LS_KERNEL_OPS (LS_KERNEL_OP_ID)
#undef LS_KERNEL_OP_ID
      LS_N_KERNEL_OPS
} LsKernelOp;

#define LS_KERNEL_SIZES 8

typedef struct {
  guint line; /* in the file */
  LsKernelOp op;
  gint64 size[LS_KERNEL_SIZES]; /* sizes that are not given are 1 */
  LsFormat format;
  const LsAccelerator *gpu; /* NULL: any */
  double time_s;
  guint used;          /* kernels that took it */
  gboolean impossible; /* one of them: faster than the peak of its format or of the HBM */
} LsKernelRow;

typedef struct LsKernelTable LsKernelTable;

/* NULL after adding to @faults, which name the file @path; also when it cannot be read. */
LsKernelTable *ls_kernel_table_read (const char *path, LsTextFaults *faults);
/* The same from a text; the table goes by the name of the faults' file. */
LsKernelTable *ls_kernel_table_parse (const char *text, LsTextFaults *faults);
LsKernelTable *ls_kernel_table_ref (LsKernelTable *table);
void ls_kernel_table_unref (LsKernelTable *table); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsKernelTable, ls_kernel_table_unref)

/* Base name of the file. */
const char *ls_kernel_table_name (const LsKernelTable *table);
guint ls_kernel_table_size (const LsKernelTable *table);
const LsKernelRow *ls_kernel_table_row (const LsKernelTable *table, guint i);
/* Rows that some kernel took. */
guint ls_kernel_table_n_used (const LsKernelTable *table);
/* "matmul 8192x11008x4096 bf16" (transfer full). */
char *ls_kernel_row_text (const LsKernelRow *row);
/* The row for a kernel, whose use is counted; NULL: none, or `table` is NULL. */
LsKernelRow *ls_kernel_table_find (LsKernelTable *table, LsKernelOp op,
                                   const gint64 size[LS_KERNEL_SIZES], LsFormat format,
                                   const LsAccelerator *gpu);
const char *ls_kernel_op_name (LsKernelOp op);
