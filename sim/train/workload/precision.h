/* Number formats of a training job: of what is stored, sent and multiplied.
 *
 * Model:      activations, gathered parameters and everything but the linear maps of a block are in
 *             `compute`. With 8-bit or 4-bit products (`narrow.used`) the linear maps of blocks read
 *             their operands in narrow.forward (inputs, weights) and narrow.gradient (gradients of
 *             outputs); each operand is scaled into that format by a kernel first. Logits (but see narrow_logits), attention,
 *             norms and the loss stay in `compute`, as Transformer Engine's default recipes leave them.
 *             A device without such matrix units multiplies in `compute` and scales nothing.
 * Bytes that a scaling kernel moves, per element of an operand, with i bytes in `compute`, q bytes in
 * the narrow format (block scales included):
 *             delayed, block   i + c q       one read; the scale is known before (history, or block)
 *             current          2 i + c q     one read for the largest value, one to scale
 *             row              i + q         along rows: a row stays in cache from its largest value to its scaling
 *                              2 i + q       along columns, in the backward pass, from what was not scaled: a read of all
 *                                            for the largest values, one to scale (torchao, float8/float8_linear.py,
 *                                            manual_float8_matmul_with_args_in_hp: axiswise_dim -1 and 0)
 *             c = 2 where the backward pass needs a second, transposed copy, else 1 (see
 *             ls_precision_copies).
 *             source: Transformer Engine documentation, "FP8 Delayed Scaling" (reads per quantization:
 *             two with current scaling, one with delayed), "Performance Considerations" (row-wise and
 *             column-wise tensors: Hopper transposes physically, Blackwell does not for scales per
 *             tensor; block scales differ by direction), "MXFP8", "NVFP4", "FP8 Blockwise Scaling".
 * Attention with narrow_attention: queries, keys and values are scaled into e4m3 as operands are, and so, into e5m2, is the
 * gradient of its output; they are kept so. With delayed scaling its output and the gradients of queries, keys and values
 * come in 8 bits too and are widened (1 + i bytes); otherwise in `compute`, and so the output is kept.
 *             source: TransformerEngine @006b336, pytorch/attention/dot_product_attention/backends.py, FusedAttnFunc.
 * Fused (TransformerEngine's operation fuser): the norm before a dense MLP, its activation and the gradient of that write
 * c q bytes in place of i, and no pass is left, where the scale is known before (delayed, block). With current scaling, and
 * nvfp4, nothing changes. What an adapter reads too stays wide. activation_input is then scaled by a read for its largest
 * value and one to scale.
 *             source: TransformerEngine @0129839 and @01a4d04, pytorch/csrc/extensions/activation.cpp and normalization.cpp
 *             (fused for delayed scaling and MXFP8 alone); @02dc770, pytorch/ops/basic/swiglu.py (cache_quantized_input);
 *             megatron/core/extensions/transformer_engine.py, TEFusedMLP.
 * Left out:   the fusion of scaling into other norms (delayed scaling alone; 0.1 to 0.2 % of a step).
 *
 * Ownership: plain records.
 */
#pragma once

#include "hw/accelerators.h"

/* How the scales of 8-bit operands are found. X (ID, "word", meaning) */
#define LS_FP8_RECIPES(X)                                                                    \
  X (DELAYED, "delayed",                                                                     \
     "one scale per tensor from the largest values of earlier steps: one "                   \
     "read, and a sum over ranks once a step")                                               \
  X (CURRENT, "current", "one scale per tensor from the tensor itself: two reads")           \
  X (BLOCK, "block", "one scale per block of elements: one read; mxfp8 and nvfp4 always so") \
  X (ROW, "row",                                                                             \
     "one scale per row or column of an operand, from the tensor itself: each pass scales "  \
     "for itself, along columns with two reads; products "                                   \
     "by a kernel of its own at 0.80 of the rate (0.64 over tensor ranks), gathered in "     \
     "`activations`")

/* Rate of products with a scale per row / of those with one per tensor: they run in a CUTLASS kernel instead of
 * cuBLAS's. source: torchao, Float8LinearRecipeName (which kernel); fitted on tokens/s of Llama-3 8B on 8 H100 in
 * pytorch/torchtitan commit 7a04053: 5,760 in bf16, 6,412 with a scale per row, 7,186 per tensor (row / tensor 0.892). */
#define LS_ROW_SCALED_RATE 0.80
/* The same over tensor ranks, where matrices are distributed tensors: no gain over bf16 at all, which PyTorch's maintainers
 * call unexpectedly low and do not explain (torchtitan issue 1207, PyTorch issue 149990). Fitted: the median of four runs, each
 * beside its own in bf16: a 70B over 8 ranks in March 2025 (0.50; 540 tokens/s of 598), an 8B over 2 in May (0.62; 5,189 of
 * 5,378), and titan-23 and -24 of June (0.67 both). */
#define LS_ROW_SCALED_TENSOR_RATE 0.64

typedef enum {
#define LS_FP8_RECIPE_ID(id, ...) LS_FP8_##id,
  LS_FP8_RECIPES (LS_FP8_RECIPE_ID)
#undef LS_FP8_RECIPE_ID
      LS_N_FP8_RECIPES
} LsFp8Recipe;

/* Linear maps in formats narrower than the activations. All zero: none. */
typedef struct {
  gboolean used;
  LsFormat forward;  /* inputs and weights */
  LsFormat gradient; /* gradients of outputs */
  LsFp8Recipe recipe;
  /* The MLP's norm and activation scale what they write, or find its largest value. */
  gboolean fused;
  gboolean gathered; /* parameters of linear maps travel in `forward` */
} LsNarrow;

/* Formats of what is stored and sent. A format whose `_used` is FALSE takes no bytes. */
typedef struct {
  LsFormat compute;    /* matmuls (but see narrow), activations, gathered parameters */
  LsFormat parameters; /* the copy of the parameters that stays resident (or is sharded) */
  LsFormat gradients;  /* accumulated gradients */
  LsFormat master;     /* the optimizer's own copy of the parameters, beside `parameters` */
  gboolean master_used;
  /* Their products too read narrow operands: Megatron-Core's fp8_output_proj. */
  gboolean narrow_logits;
  gboolean narrow_attention; /* queries, keys, values and their gradients in 8 bits */
  LsFormat activation_input; /* that the MLP's activation keeps for its backward pass, */
  /* Made and read by passes of their own; else as the activations */
  gboolean activation_input_used;
  LsFormat frozen;        /* linear maps of blocks that are not trained, as they stay in memory */
  LsFormat optimizer;     /* each moment */
  LsFormat communication; /* gradients while they are reduced */
  LsNarrow narrow;
} LsPrecision;

const char *ls_fp8_recipe_name (LsFp8Recipe recipe);
const char *ls_fp8_recipe_meaning (LsFp8Recipe recipe);

/* What one word means. fp16: 16 bytes per parameter with Adam; source: Micikevicius et al. 2018. bf16
 * accumulates gradients in fp32: 18 bytes; source: Megatron-LM. fp8, mxfp8, nvfp4: as bf16, with
 * narrow products: fp8 is e4m3 forward and e5m2 for gradients with delayed scaling ("hybrid"), the
 * others one format for both; source: Transformer Engine, DelayedScaling, MXFP8BlockScaling. */
LsPrecision ls_precision_of_word (const char *word);

/* Format in which linear maps multiply (what MFU is counted against). */
LsFormat ls_precision_matmul (const LsPrecision *precision);
/* The narrow format that `accelerator` really uses for `wanted`: TRUE and *format, or FALSE when it has
 * no such units or none is wanted. */
gboolean ls_precision_narrow_on (const LsPrecision *precision, const LsAccelerator *accelerator,
                                 LsFormat *forward, LsFormat *gradient);
/* Copies of an operand that both passes need: 2 where columns cannot be read in place. */
int ls_precision_copies (const LsPrecision *precision, const LsAccelerator *accelerator);
/* The same of weights, less the copy that `parameters` itself is when it is narrow. */
int ls_precision_made_copies (const LsPrecision *precision, const LsAccelerator *accelerator);
/* The formats of a linear map that is not trained: `frozen` in place of `parameters`. */
LsPrecision ls_precision_of_frozen (const LsPrecision *precision);
/* Bytes per parameter of such a map in memory, and on its way to the ranks that lack it: never widened before. */
double ls_precision_frozen_size (const LsPrecision *precision);
double ls_precision_frozen_gather_size (const LsPrecision *precision);
/* Are products that read `format` given such maps in a narrower one, to be expanded first? */
gboolean ls_precision_expands (const LsPrecision *precision, LsFormat format);
/* Bytes of so many parameters on their way to the ranks that lack them, `narrow` of them (at most all) of linear maps that
 * multiply in a narrow format: all others (embedding, norms, head) travel in `compute`. source: TransformerEngine, whose modules alone have
 * Float8Tensors; torchao, float8/fsdp_utils.py (weights of Float8Linear). */
gint64 ls_precision_gathered_bytes (const LsPrecision *precision, gint64 parameters, gint64 narrow);
/* Bytes per element that scaling an operand from `from` into `to` moves, with so many copies. */
double ls_precision_scaling_bytes (const LsPrecision *precision, LsFormat from, LsFormat to,
                                   int copies);
/* Does a pass that is fused with it write the format itself? (narrow.fused) */
gboolean ls_precision_scales_as_written (const LsPrecision *precision, LsFormat to);
/* Kernels of such a scaling. */
int ls_precision_scaling_kernels (const LsPrecision *precision, LsFormat to, int copies);
