/* The schema of `workload.precision`: one row per key. */
#include "base/loss_scale.h"
#include "train/read/workload_keys.h"

#define W "workload."
#define LARGEST 1000000000 /* as in workload_keys.c */

static const char *const precision_words[] = {"fp32",     "tf32",     "fp16",  "bf16",  "fp8",
                                              "fp8_e4m3", "fp8_e5m2", "mxfp8", "nvfp4", NULL};
static const char *const activation_formats[] = {"fp32", "fp16", "bf16", NULL};
static const char *const storage_formats[] = {"fp32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", NULL};
static const char *const parameter_formats[] = {"fp32", "fp16", "bf16", "compute", NULL};
static const char *const narrow_formats[] = {"fp8_e4m3", "fp8_e5m2", NULL};
static const char *const attention_formats[] = {"compute", "fp8", NULL};
static const char *const logits_formats[] = {"activations", "compute", NULL};
static const char *const frozen_formats[] = {"fp32",  "fp16",  "bf16",    "fp8_e4m3",
                                             "mxfp8", "nvfp4", "compute", NULL};
static const char *const storage_or_none[] = {"fp32", "fp16", "bf16", "none", NULL};
#define RECIPE_OF(id, word, meaning) word,
static const char *const fp8_recipes[] = {LS_FP8_RECIPES (RECIPE_OF) NULL};
#undef RECIPE_OF
#define SCALE_OF(id, word, meaning) word,
static const char *const loss_scales[] = {LS_LOSS_SCALES (SCALE_OF) NULL};
#undef SCALE_OF
static const char *const formats_later[] = {"int8", NULL};

#define SCALING(key, value, whose, text)                                                   \
  {                                                                                        \
    .path = W "precision.loss_scaling." key, .type = LS_CONFIG_NUMBER,                     \
    .flags = LS_CONFIG_POSITIVE, .maximum = 1e300, .default_text = value, .source = whose, \
    .when = "only with fp16", .meaning = text                                              \
  }

const LsConfigKey ls_precision_keys[] = {
    {.path = W "precision",
     .type = LS_CONFIG_MAP,
     .word = "preset",
     .meaning =
         "number formats; a word gives all: bf16 keeps 18 bytes per parameter with Adam (fp32 "
         "gradients), fp16 16, fp32 and tf32 16"},
    {.path = W "precision.preset",
     .type = LS_CONFIG_WORD,
     .choices = precision_words,
     .later_choices = formats_later,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "values of the keys that are not given; as precision.compute, else bf16"},
    {.path = W "precision.compute",
     .type = LS_CONFIG_WORD,
     .choices = precision_words,
     .later_choices = formats_later,
     .meaning =
         "format of matrix products; to 16 bits also of activations and gathered parameters. fp8 "
         "(e4m3 forward, e5m2 for gradients), fp8_e4m3, fp8_e5m2, mxfp8 and nvfp4 are for the "
         "linear maps of transformer blocks"},
    {.path = W "precision.activations",
     .type = LS_CONFIG_WORD,
     .choices = activation_formats,
     .when = "only with a precision.compute of 8 or 4 bits",
     .meaning =
         "format of activations, and of all that is no linear map of a block; bf16 if not given"},
    {.path = W "precision.activation_input",
     .type = LS_CONFIG_WORD,
     .choices = narrow_formats,
     .when = "only with transformers",
     .meaning =
         "format in which the MLP's activation keeps its input for the backward pass, with a "
         "pass each to make and to read it (Megatron-Core's "
         "activation_func_fp8_input_store); as the activations if not given"},
    {.path = W "precision.attention",
     .type = LS_CONFIG_WORD,
     .choices = attention_formats,
     .default_text = "compute",
     .source = "Transformer Engine's fp8_dpa, which its recipes leave off",
     .when = "only with a precision.compute of 8 or 4 bits, transformers and software.attention "
             "flash-3 or flash-4",
     .meaning = "format in which attention multiplies: compute (that of activations), or fp8: "
                "queries, keys and values in e4m3, gradients in e5m2, scaled as the operands of "
                "linear maps are, and so kept for the backward pass"},
    {.path = W "precision.logits",
     .type = LS_CONFIG_WORD,
     .choices = logits_formats,
     .default_text = "activations",
     .source = "Megatron-Core's fp8_output_proj, which is off",
     .when = "only with a precision.compute of 8 or 4 bits and transformers",
     .meaning = "format in which the last linear map, to the vocabulary, multiplies: that of "
                "activations, or compute: as linear maps of blocks, operands scaled as theirs"},
    {.path = W "precision.scaling",
     .type = LS_CONFIG_WORD,
     .choices = fp8_recipes,
     .default_text = "delayed",
     .source =
         "Transformer Engine's DelayedScaling, the first and until Blackwell the usual recipe",
     .when = "only with precision.compute fp8, fp8_e4m3 or fp8_e5m2",
     .meaning =
         "how scales are found: delayed (from earlier steps: one read of each operand and a sum "
         "over ranks once a step), current (from the tensor: two reads), block (per block of "
         "elements); mxfp8 and nvfp4 scale by block"},
    {.path = W "precision.fused_scaling",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .source = "Megatron-Core's use_transformer_engine_op_fuser, off unless asked for",
     .when =
         "only with a precision.compute of 8 or 4 bits, transformers, and scales that are known "
         "before (precision.scaling delayed or block)",
     .meaning = "the norm before a dense MLP, its activation and the gradient of that write the "
                "format of products, with no pass of its own that scales; in mxfp8 the products of "
                "gated experts activate and scale what they make"},
    {.path = W "precision.parameters",
     .type = LS_CONFIG_WORD,
     .choices = parameter_formats,
     .later_choices = formats_later,
     .meaning = "format of the parameters that stay in memory; compute: in the 8 or 4 bits of "
                "precision.compute, in which they are then gathered too"},
    {.path = W "precision.frozen",
     .type = LS_CONFIG_WORD,
     .choices = frozen_formats,
     .when = "only with model.lora",
     .meaning = "format in which the frozen linear maps of blocks stay in memory; compute: that of "
                "their products; narrower than that: each is expanded before its product "
                "(QLoRA); as precision.parameters if not given"},
    {.path = W "precision.gradients",
     .type = LS_CONFIG_WORD,
     .choices = storage_formats,
     .later_choices = formats_later,
     .meaning = "format in which gradients are accumulated"},
    {.path = W "precision.master",
     .type = LS_CONFIG_WORD,
     .choices = storage_or_none,
     .later_choices = formats_later,
     .meaning = "the optimizer's own copy of the parameters, or none"},
    {.path = W "precision.optimizer",
     .type = LS_CONFIG_WORD,
     .choices = storage_formats,
     .later_choices = formats_later,
     .meaning = "format of each moment"},
    {.path = W "precision.communication",
     .type = LS_CONFIG_WORD,
     .choices = storage_formats,
     .later_choices = formats_later,
     .meaning = "format of gradients while they are reduced; as precision.gradients if not given"},

    /* Loss scaling. */
    {.path = W "precision.loss_scaling",
     .type = LS_CONFIG_MAP,
     .word = "kind",
     .when = "only with fp16",
     .meaning =
         "factor on the loss against gradients that round to 0 in fp16; steps whose gradients "
         "overflow are skipped"},
    {.path = W "precision.loss_scaling.kind",
     .type = LS_CONFIG_WORD,
     .choices = loss_scales,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "dynamic if not given, and none with other formats than fp16"},
    SCALING ("initial", "65536", "PyTorch GradScaler", "scale of the first step"),
    SCALING ("growth", "2", "PyTorch GradScaler", "factor after so many good steps in a row"),
    SCALING ("backoff", "0.5", "PyTorch GradScaler", "factor after a step that overflowed"),
    {.path = W "precision.loss_scaling.interval",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = LARGEST,
     .default_text = "2000",
     .source = "PyTorch GradScaler",
     .when = "only with loss_scaling.kind dynamic",
     .meaning = "good steps in a row until the scale grows"},
    SCALING (
        "threshold", "65536",
        "assumed: the initial scale is the largest that the gradients bear, so that one step in "
        "interval + 1 is skipped",
        "largest scale at which a typical step does not overflow"),
    {.path = W "precision.loss_scaling.spread",
     .type = LS_CONFIG_NUMBER,
     .maximum = 10,
     .default_text = "0",
     .source = "assumed: all steps alike",
     .when = "only with fp16",
     .meaning = "standard deviation of the logarithm of a step's largest gradient"},
    {.path = NULL},
};
