/* Tensors of layers: what each kernel beside the large products moves, what it keeps for the backward pass, what it holds
 * while it runs, and the FLOPs of products, operation by operation, against counts of tensors made by hand. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "train/layer/layer_plans.h"
#include "train/layer/stage.h"
#include "train/model/flops.h"

#define B 2
#define SEQ 256
#define T ((gint64) B * SEQ)
#define HIDDEN 768
#define HEADS 12
#define KV_HEADS 4
#define HEAD_DIM 64
#define FFN 2304
#define VOCAB 8192

/* Not looked at. */
#define ANY -1

/* What all operations of one name come to; FLOPs of products only, bytes otherwise. */
typedef struct {
  const char *name;
  gboolean backward;
  gint64 flops, moved, kept, held;
} Tensors;

static LsTransformer small (void) {
  return (LsTransformer){.layers = 4,
                         .hidden = HIDDEN,
                         .heads = HEADS,
                         .kv_heads = KV_HEADS,
                         .head_dim = HEAD_DIM,
                         .ffn = FFN,
                         .vocab = VOCAB,
                         .max_seq = SEQ,
                         .gated = TRUE,
                         .rms_norm = TRUE,
                         .rotary = TRUE,
                         .causal = TRUE};
}

/* T tokens a micro-batch on `tensor` ranks, with sequence parallelism; the caller resolves it. */
static LsWorkload *workload_of (LsModel *model, const char *software, guint tensor, guint ranks) {
  LsWorkload *w = ls_workload_new_default (model, ranks);

  w->layout = ls_layout (tensor, 1, 1);
  w->sequence_parallel = tensor > 1;
  w->global_batch = w->micro_batch = B;
  w->seq_len = SEQ;
  w->software = ls_software_find (software, NULL);
  w->attention = LS_ATTENTION_FLASH2;
  ck_assert_ptr_nonnull (w->software);
  return w;
}

static LsWorkload *transformer (LsTransformer t, const char *software, guint tensor) {
  LsWorkload *w = workload_of (ls_model_new_transformer ("small", &t), software, tensor, tensor);

  ck_assert (ls_workload_resolve (w, NULL));
  return w;
}

static const LsAccelerator *gpu (void) {
  return ls_accelerator_find ("h100-sxm-80gb", NULL);
}

static void compare (const char *name, const char *what, gint64 got, gint64 expected) {
  if (expected != ANY)
    ck_assert_msg (got == expected, "%s: %s %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, name,
                   what, got, expected);
}

static void check_tensors (const LsLayerPlan *plan, const Tensors *rows, guint n) {
  for (guint r = 0; r < n; r++) {
    const LsLayerOp *ops = rows[r].backward ? plan->backward : plan->forward;
    const guint n_ops = rows[r].backward ? plan->n_backward : plan->n_forward;
    gint64 flops = 0, moved = 0, kept = 0, held = 0;
    guint found = 0;

    for (guint i = 0; i < n_ops; i++) {
      if (!g_str_equal (ops[i].name, rows[r].name))
        continue;
      found++;
      flops += (gint64) ops[i].cost.flops;
      moved += ops[i].is_collective ? ops[i].collective_bytes : ops[i].cost.bytes;
      kept += ops[i].saved_bytes;
      held += ops[i].workspace_bytes;
    }
    ck_assert_msg (found > 0, "no operation %s", rows[r].name);
    compare (rows[r].name, "FLOPs", flops, rows[r].flops);
    compare (rows[r].name, "moved", moved, rows[r].moved);
    compare (rows[r].name, "kept", kept, rows[r].kept);
    compare (rows[r].name, "held", held, rows[r].held);
  }
}

/* Of a product of m x k by k x n. */
#define PRODUCT(m, n, k) (2 * (gint64) (m) * (n) * (k))

START_TEST (latent_attention)
/* DeepSeek-V2, section 2.1, on t tensor ranks; bf16. Down: h to r_q and to r_kv + rope, of the rank's own n = T / t rows;
 * up: to a (nope + rope) queries and a (nope + value) of keys and values, of all T, a heads on a rank. Norms keep
 * their inputs (the shared key with those of keys) and outputs; a norm moves its rows twice forward, and five times
 * backward. Rotary turns rope of each query head, in place; a pass puts keys and values together; the same backward. The
 * rotary pass and the joining keep what attention reads: queries; keys and values. */
{
  const gint64 t = _i == 0 ? 1 : 2, rq = 192, rkv = 128, nope = 64, rope = 32, value = 48;
  LsTransformer model = small ();

  model.latent =
      (LsLatent){.q_rank = rq, .kv_rank = rkv, .nope = nope, .rope = rope, .value = value};
  model.head_dim = nope + rope;
  model.kv_heads = HEADS;
  g_autoptr (LsWorkload) w = transformer (model, "megatron-core", (guint) t);
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  const gint64 n = T / t, a = HEADS / t, q = a * (nope + rope), kv = a * (nope + value);
  const gint64 joined = T * a * (nope + rope + value), turned = T * a * rope;
  const Tensors rows[] = {
      {"q_down", FALSE, PRODUCT (n, rq, HIDDEN), ANY, 0, ANY},
      {"kv_down", FALSE, PRODUCT (n, rkv + rope, HIDDEN), ANY, 2 * n * HIDDEN, ANY},
      {"q_norm", FALSE, ANY, 2 * 2 * n * rq, 2 * 2 * n * rq, ANY},
      {"kv_norm", FALSE, ANY, 2 * 2 * n * rkv, 2 * n * (rkv + rope + rkv), ANY},
      {"q_up", FALSE, PRODUCT (T, q, rq), ANY, 0, ANY},
      {"kv_up", FALSE, PRODUCT (T, kv, rkv), ANY, 0, ANY},
      {"rotary", FALSE, ANY, 2 * 2 * turned, 2 * T * q, ANY},
      {"join_heads", FALSE, ANY, 2 * 2 * joined, 2 * joined, ANY},
      {"join_heads_grad", TRUE, ANY, 2 * 2 * joined, 0, ANY},
      {"rotary_grad", TRUE, ANY, 2 * 2 * turned, 0, ANY},
      {"kv_up_grad", TRUE, PRODUCT (T, kv, rkv), ANY, 0, ANY},
      {"kv_up_weight_grad", TRUE, PRODUCT (T, kv, rkv), ANY, 0, ANY},
      {"q_up_grad", TRUE, PRODUCT (T, q, rq), ANY, 0, ANY},
      {"q_up_weight_grad", TRUE, PRODUCT (T, q, rq), ANY, 0, ANY},
      {"kv_norm_grad", TRUE, ANY, 5 * 2 * n * rkv, 0, ANY},
      {"kv_down_grad", TRUE, PRODUCT (n, rkv + rope, HIDDEN), ANY, 0, ANY},
      {"kv_down_weight_grad", TRUE, PRODUCT (n, rkv + rope, HIDDEN), ANY, 0, ANY},
      {"q_norm_grad", TRUE, ANY, 5 * 2 * n * rq, 0, ANY},
      {"q_down_grad", TRUE, PRODUCT (n, rq, HIDDEN), ANY, 0, ANY},
      {"q_down_weight_grad", TRUE, PRODUCT (n, rq, HIDDEN), ANY, 0, ANY},
      {"norm1_grad", TRUE, ANY, 5 * 2 * n * HIDDEN, 0, ANY},
      {"attention_add_grad", TRUE, ANY, 3 * 2 * n * HIDDEN, 0, ANY},
  };
  const Tensors exchanged[] = {
      {"gather_latent", FALSE, ANY, 2 * T * (rq + rkv + rope), 0, ANY},
      {"reduce_latent_grad", TRUE, ANY, 2 * T * (rq + rkv + rope), 0, ANY},
  };

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
  if (t > 1)
    check_tensors (plan, exchanged, G_N_ELEMENTS (exchanged));
  /* Selective recomputation makes again what the maps up made, and keeps the latents: DeepSeek-V3, section 3.2.3. */
  for (guint i = 0; i < plan->n_forward; i++) {
    static const char *const again[] = {"q_up", "kv_up", "rotary", "join_heads", NULL};

    ck_assert_int_eq (plan->forward[i].core, g_strv_contains (again, plan->forward[i].name));
  }
}
END_TEST

START_TEST (adapters)
/* Of rank r beside every map, with dropout, on one rank: kept are the mask (a byte) and A's input, and B's input.
 * The output of B is scaled and added to the map's: two passes, 2 and 3 values moved, 2 of them made; the gradient's
 * scale is another; behind A's input gradient its dropout, and the sum of both gradients. */
{
  static const struct {
    const char *name;
    gint64 in, out;
  } maps[] = {{"qkv", HIDDEN, (HEADS + 2 * KV_HEADS) * HEAD_DIM},
              {"proj", HEADS * HEAD_DIM, HIDDEN},
              {"fc1", HIDDEN, 2 * FFN},
              {"fc2", FFN, HIDDEN}};
  const gint64 in = T * maps[_i].in, out = T * maps[_i].out, r = 16;
  LsTransformer model = small ();

  model.lora = (LsLora){.rank = r, .targets = 1u << _i, .dropout = TRUE};
  g_autoptr (LsWorkload) w = transformer (model, "megatron-bridge", 1);
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 1);
  const struct {
    const char *name;
    gboolean backward;
    gint64 flops, moved, kept, held;
  } parts[] = {
      {"dropout", FALSE, ANY, 4 * in, in, ANY},
      {"in", FALSE, 2 * in * r, ANY, 2 * in, ANY},
      {"out", FALSE, 2 * out * r, ANY, 2 * T * r, 2 * out},
      {"scale", FALSE, ANY, 4 * out, 0, 4 * out},
      {"add", FALSE, ANY, 6 * out, 0, 4 * out},
      {"scale_grad", TRUE, ANY, 4 * out, 0, 4 * out},
      {"out_grad", TRUE, 2 * out * r, ANY, 0, ANY},
      {"out_weight_grad", TRUE, 2 * out * r, ANY, 0, ANY},
      {"in_grad", TRUE, 2 * in * r, ANY, 0, ANY},
      {"in_weight_grad", TRUE, 2 * in * r, ANY, 0, ANY},
      {"dropout_grad", TRUE, ANY, 4 * in, 0, ANY},
      {"add_grad", TRUE, ANY, 6 * in, 0, 4 * in},
  };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autofree char *name = g_strdup_printf ("%s_lora_%s", maps[_i].name, parts[i].name);
    const Tensors row = {name,           parts[i].backward, parts[i].flops,
                         parts[i].moved, parts[i].kept,     parts[i].held};

    check_tensors (plan, &row, 1);
  }
}
END_TEST

START_TEST (activations)
/* f columns a token, bf16. SwiGLU in one kernel reads gate and up, and its gradient those and the gradient; kernel by
 * kernel a silu and a product, and backward two products and the silu's gradient. GELU: one in, one out; with its
 * gradient two in. Kept: what comes in; of a gate by itself also the activated half. Held backward: the gradients of
 * what comes in, and of what goes out. A clamped one (GPT-OSS) before the fused kernel: 8 values of each half moved, backward
 * 7 and 5 masks of a byte in five kernels on views, 4 and 3 in two others (layer_activation.c counts them; a kernel's share is in
 * whole bytes); what is clamped is kept beside what comes of it. */
{
  const gint64 f = T * FFN;
  LsTransformer gelu = small (), clamped = small ();

  clamped.clamped = TRUE;
  gelu.gated = FALSE;
  gelu.biases = TRUE;
  const Tensors fused[] = {{"swiglu", FALSE, 2 * 2 * f, 3 * 2 * f, 2 * 2 * f, ANY},
                           {"swiglu_grad", TRUE, ANY, 5 * 2 * f, 0, 3 * 2 * f}};
  const Tensors eager[] = {{"silu", FALSE, ANY, 2 * 2 * f, 2 * 2 * f, ANY},
                           {"gate", FALSE, ANY, 3 * 2 * f, 2 * f, ANY},
                           {"gate_grad", TRUE, ANY, 2 * 3 * 2 * f, 0, ANY},
                           {"silu_grad", TRUE, ANY, 3 * 2 * f, 0, 3 * 2 * f}};
  const Tensors plain[] = {{"bias", FALSE, ANY, 2 * 2 * f, 0, ANY},
                           {"gelu", FALSE, ANY, 2 * 2 * f, 2 * f, ANY},
                           {"gelu_grad", TRUE, ANY, 3 * 2 * f, 0, 2 * 2 * f},
                           {"up_bias_grad", TRUE, ANY, 2 * f, 0, ANY}};
  const Tensors held_within[] = {
      {"clamp", FALSE, ANY, 8 * 2 * f, 2 * 2 * f, 2 * 2 * f},
      {"clamp_grad", TRUE, ANY, 19 * f / 5 * 5 + 11 * f / 2 * 2, 0, 2 * 2 * f}};
  const struct {
    LsTransformer model;
    const char *software;
    const Tensors *rows;
    guint n;
  } cases[] = {{small (), "megatron-core", fused, G_N_ELEMENTS (fused)},
               {small (), "pytorch-fsdp2-eager", eager, G_N_ELEMENTS (eager)},
               {gelu, "megatron-deepspeed", plain + 1, G_N_ELEMENTS (plain) - 1},
               {gelu, "pytorch-fsdp2-eager", plain, G_N_ELEMENTS (plain)},
               {clamped, "megatron-core", held_within, G_N_ELEMENTS (held_within)}};
  g_autoptr (LsWorkload) w = transformer (cases[_i].model, cases[_i].software, 1);
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);

  check_tensors (plan, cases[_i].rows, cases[_i].n);
  for (guint i = 0; !cases[_i].model.biases && i < plan->n_backward; i++)
    ck_assert_str_ne (plan->backward[i].name, "up_bias_grad");
}
END_TEST

START_TEST (activation_inputs_kept_in_a_byte)
/* Megatron-Core's fp8_input_store: a cast before it is kept reads 2 bytes and writes 1, and one back; gate and up are
 * kept in a byte each, and are held in 2 while the gradient is made. */
{
  const gint64 both = 2 * T * FFN;
  g_autoptr (LsWorkload) w = transformer (small (), "megatron-core", 1);

  w->precision.activation_input_used = TRUE;
  w->precision.activation_input = LS_FORMAT_FP8_E4M3;
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  const Tensors rows[] = {{"swiglu", FALSE, ANY, 3 * both, 0, ANY},
                          {"store_activation_input", FALSE, ANY, 3 * both, both, ANY},
                          {"restore_activation_input", TRUE, ANY, 3 * both, 0, 2 * both}};

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
}
END_TEST

START_TEST (experts)
/* n = T tokens to k = 2 of 8 experts of f columns on 4 ranks; bf16. Permuted: n rows become n k, and back. Sent: n k rows
 * each way. Put in order by expert where they come from several ranks: n k rows read and written. The router's scores: fp32
 * and a byte. A shared expert with a gate: its input is kept, which the gate's gradient reads with the output's; what
 * it makes is added. Rows hold what they make. */
{
  const gint64 h = HIDDEN, f = 256, n = T, nk = 2 * n, row = 2 * h;
  LsTransformer model = small ();

  model.experts = (LsExperts){
      .count = 8, .top_k = 2, .ffn = f, .shared_ffn = f, .shared_gate = TRUE, .every = 1};
  g_autoptr (LsWorkload) w =
      workload_of (ls_model_new_transformer ("small", &model), "megatron-core", 1, 4);
  w->layout = ls_layout (1, 4, 1);
  w->layout.expert = 4;
  w->global_batch = 4 * B;
  w->expert_dispatch = LS_EXPERT_DISPATCH_ALL_TO_ALL;
  ck_assert (ls_workload_resolve (w, NULL));
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  const Tensors rows[] = {
      {"router", FALSE, PRODUCT (n, 8, h), ANY, row * n, ANY},
      {"route", FALSE, ANY, ANY, 5 * 8 * n, ANY},
      {"permute", FALSE, ANY, row * (n + nk), 0, row * nk},
      {"dispatch", FALSE, ANY, row * nk, 0, row * nk},
      {"sort_by_expert", FALSE, ANY, 2 * row * nk, 0, row * nk},
      {"experts_up", FALSE, PRODUCT (nk, 2 * f, h), ANY, row * nk, ANY},
      {"experts_down", FALSE, PRODUCT (nk, h, f), ANY, 2 * f * nk, row * nk},
      {"sort_by_rank", FALSE, ANY, 2 * row * nk, 0, row * nk},
      {"combine", FALSE, ANY, row * nk, 0, row * nk},
      {"unpermute", FALSE, ANY, row * (nk + n), 0, row * n},
      {"shared_up", FALSE, PRODUCT (n, 2 * f, h), ANY, 0, ANY},
      {"shared_gate", FALSE, ANY, 2 * row * n, row * n, ANY},
      {"shared_add", FALSE, ANY, 3 * row * n, 0, ANY},
      {"shared_gate_grad", TRUE, ANY, 3 * row * n, 0, ANY},
      {"unpermute_grad", TRUE, ANY, row * (n + nk), 0, row * nk},
      {"combine_grad", TRUE, ANY, row * nk, 0, row * nk},
      {"sort_by_expert_grad", TRUE, ANY, 2 * row * nk, 0, row * nk},
      {"experts_down_grad", TRUE, PRODUCT (nk, h, f), ANY, 0, ANY},
      {"experts_up_weight_grad", TRUE, PRODUCT (nk, 2 * f, h), ANY, 0, ANY},
      {"sort_by_rank_grad", TRUE, ANY, 2 * row * nk, 0, row * nk},
      {"dispatch_grad", TRUE, ANY, row * nk, 0, row * nk},
      {"permute_grad", TRUE, ANY, row * (nk + n), 0, row * n},
      {"router_weight_grad", TRUE, PRODUCT (n, 8, h), ANY, 0, ANY},
      {"norm2_grad", TRUE, ANY, 5 * row * n, 0, ANY},
      {"mlp_add_grad", TRUE, ANY, 3 * row * n, 0, ANY},
  };

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
}
END_TEST

START_TEST (tokens_that_travel_once)
/* A fused dispatch: tokens leave once for each of the 4 ranks that has one of their 2 of 8 experts, 2 of which a rank has:
 * 4 (1 - 6 x 5 / (8 x 7)) = 13/7 ranks on average, rounded up over T tokens. Where they come they become the 2 T rows, and
 * back; nothing is permuted where they come from. */
{
  const gint64 row = 2 * HIDDEN, nk = 2 * T, sent = (13 * T + 6) / 7;
  LsTransformer model = small ();

  model.experts = (LsExperts){.count = 8, .top_k = 2, .ffn = 256, .every = 1};
  g_autoptr (LsWorkload) w =
      workload_of (ls_model_new_transformer ("small", &model), "megatron-core", 1, 4);
  w->layout = ls_layout (1, 4, 1);
  w->layout.expert = 4;
  w->global_batch = 4 * B;
  w->expert_dispatch = LS_EXPERT_DISPATCH_FUSED;
  ck_assert (ls_workload_resolve (w, NULL));
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  const Tensors rows[] = {
      {"dispatch", FALSE, ANY, row * sent, 0, row * sent},
      {"permute", FALSE, ANY, row * (sent + nk), 0, row * nk},
      {"unpermute", FALSE, ANY, row * (sent + nk), 0, row * sent},
      {"combine", FALSE, ANY, row * sent, 0, row * sent},
      {"unpermute_grad", TRUE, ANY, row * (sent + nk), 0, row * nk},
      {"permute_grad", TRUE, ANY, row * (sent + nk), 0, row * sent},
  };

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
}
END_TEST

START_TEST (heads_and_losses)
/* V logits a token on t ranks, L = T V / t. PyTorch's plain loss (log-softmax in fp32) keeps 4 L and holds the logits, 2 L,
 * and their copy, 4 L; over a split vocabulary what was subtracted from, too; backward 2 and 3 tensors of 4 L. Megatron's
 * keeps logits and softmax, 2 L and 4 L, holds a copy in fp32, and makes a gradient of 2 L. llm-foundry's keeps the logits. */
{
  static const struct {
    const char *software;
    guint tensor;
    gint64 logits, loss, held, gradient;
  } cases[] = {{"pytorch-fsdp2-2024", 1, 0, 4, 6, 8},
               {"pytorch-fsdp2-2024", 2, 0, 4, 10, 12},
               {"megatron-core", 2, 2, 4, 4, 2},
               {"pytorch-fsdp-2.1", 1, 2, 0, 0, 2}};
  const gint64 t = cases[_i].tensor, logits = T * VOCAB / t, input = 2 * T / t * HIDDEN;
  g_autoptr (LsWorkload) w = transformer (small (), cases[_i].software, cases[_i].tensor);
  g_autoptr (LsLayerPlan) plan = ls_layer_head_new (w, gpu ());
  const gint64 product = PRODUCT (T, VOCAB / t, HIDDEN);
  const Tensors rows[] = {
      {"final_norm", FALSE, ANY, ANY, input, ANY},
      {"logits", FALSE, product, ANY, input + cases[_i].logits * logits, ANY},
      {"loss", FALSE, ANY, ANY, cases[_i].loss * logits, cases[_i].held * logits},
      {"loss_grad", TRUE, ANY, ANY, 0, cases[_i].gradient * logits},
      {"logits_grad", TRUE, product, ANY, 0, ANY},
      {"logits_weight_grad", TRUE, product, ANY, 0, ANY},
  };

  const Tensors exchanged[] = {{"gather_logits", FALSE, ANY, 2 * T * HIDDEN, 0, ANY},
                               {"gather_logits_input", TRUE, ANY, 2 * T * HIDDEN, 0, ANY},
                               {"reduce_logits_grad", TRUE, ANY, 2 * T * HIDDEN, 0, ANY},
                               {"loss_max", FALSE, ANY, 4 * T, 0, ANY}};

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
  if (t > 1)
    check_tensors (plan, exchanged, G_N_ELEMENTS (exchanged));
}
END_TEST

START_TEST (pictures_in_patches)
/* ViT-L/16 on 2 tensor ranks without sequence parallelism: each maps all patches, 16 x 16 x 3 to 1024; the 1000 classes
 * come from the first token of each of b pictures, whole on either rank. */
{
  g_autoptr (LsWorkload) w =
      workload_of (ls_model_new_preset ("vit-l-16", NULL), "megatron-core", 2, 2);

  w->sequence_parallel = FALSE;
  w->seq_len = w->model->transformer.max_seq;
  ck_assert (ls_workload_resolve (w, NULL));
  const gint64 rows = B * w->seq_len, product = PRODUCT (B, 1000, 1024);
  g_autoptr (LsLayerPlan) embedding = ls_layer_embedding_new (w, gpu ());
  g_autoptr (LsLayerPlan) head = ls_layer_head_new (w, gpu ());
  const Tensors patches[] = {
      {"embedding", FALSE, PRODUCT (rows, 1024, 768), ANY, 2 * rows * 768, ANY},
      {"positions", FALSE, ANY, 3 * 2 * rows * 1024, 0, ANY},
      {"embedding_weight_grad", TRUE, PRODUCT (rows, 1024, 768), ANY, 0, ANY}};
  const Tensors classes[] = {{"classes", FALSE, product, ANY, 2 * B * 1024, ANY},
                             {"loss", FALSE, ANY, ANY, 4 * B * 1000, ANY},
                             {"classes_grad", TRUE, product, ANY, 0, ANY},
                             {"classes_weight_grad", TRUE, product, ANY, 0, ANY}};

  check_tensors (embedding, patches, G_N_ELEMENTS (patches));
  check_tensors (head, classes, G_N_ELEMENTS (classes));
  ck_assert_int_eq (embedding->output_bytes, 2 * rows * 1024);
  ck_assert_double_eq (embedding->model_flops, (double) PRODUCT (rows, 1024, 768));
  ck_assert_double_eq (head->model_flops, (double) product);
}
END_TEST

START_TEST (tokens_predicted_ahead)
/* DeepSeek-V3, section 2.2: a norm of the hidden state and one of the next token's embedding, 2 T rows, then a map of both, 2 h
 * to h. Its parameters are those and the norms'. */
{
  LsTransformer model = small ();
  const gint64 h = HIDDEN, product = PRODUCT (T, h, 2 * h);

  model.mtp = 1;
  g_autoptr (LsWorkload) w = transformer (model, "megatron-core", 1);
  g_autoptr (LsLayerPlan) plan = ls_layer_mtp_new (w, gpu ());
  const Tensors rows[] = {{"mtp_norm", FALSE, ANY, 2 * 2 * 2 * T * h, 2 * 2 * T * h, ANY},
                          {"mtp_join", FALSE, product, ANY, 2 * 2 * T * h, ANY},
                          {"mtp_join_grad", TRUE, product, ANY, 0, ANY},
                          {"mtp_join_weight_grad", TRUE, product, ANY, 0, ANY},
                          {"mtp_norm_grad", TRUE, ANY, 5 * 2 * 2 * T * h, 0, ANY}};

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
  ck_assert_int_eq (plan->parameters, 2 * h * h + 2 * h);
  ck_assert_int_eq (plan->output_bytes, 2 * T * h);
  ck_assert_double_eq (plan->model_flops, (double) product);
}
END_TEST

START_TEST (sequences_in_parts)
/* c = 2 ranks with T tokens each: K bytes of keys and values, Q of queries or output, 2 bytes a value. A gather brings c K and
 * holds them, forward and backward, and backward their gradients go home. PyTorch's ring repeats keys and values to the
 * heads of the queries, R = 2 Q, gathers c R, and merges in fp32: one pass of a compiler (3 reads, 2 writes) each step. */
{
  const gint64 c = 2, q = 2 * T * HEADS * HEAD_DIM, k = 2 * 2 * T * KV_HEADS * HEAD_DIM, r = 2 * q;
  const Tensors gathers[] = {{"gather_keys", FALSE, ANY, c * k, 0, c * k},
                             {"gather_keys", TRUE, ANY, c * k, 0, c * k},
                             {"reduce_key_grads", TRUE, ANY, c * k, 0, c * k},
                             {"attention_grad", TRUE, ANY, ANY, 0, 2 * q + 2 * k}};
  const Tensors ring[] = {
      {"join_keys", FALSE, ANY, 2 * r, 0, ANY},
      {"gather_keys", FALSE, ANY, c * r, 0, c * r},
      {"attention", FALSE, ANY, ANY, 0, c * r + 4 * q / 2},
      {"merge_attention", FALSE, ANY, 5 * q, 0, ANY},
      {"join_keys", TRUE, ANY, 2 * r, 0, ANY},
      {"attention_grad", TRUE, ANY, ANY, 0, 2 * (2 * q + 2 * r) + c * r + 4 * (q + 2 * r) / 2},
      {"add_attention_grads", TRUE, ANY, 2 * 5 * (q + r), 0, ANY},
      {"send_key_grads", TRUE, ANY, 2 * 4 * r / 2, 0, 2 * 4 * r / 2}};
  const gboolean gather = _i == 0;
  LsTransformer model = small ();
  g_autoptr (LsWorkload) w = workload_of (ls_model_new_transformer ("small", &model),
                                          gather ? "megatron-core" : "pytorch-fsdp2", 1, (guint) c);

  w->layout.context = (guint) c;
  w->seq_len = c * SEQ;
  w->model->transformer.max_seq = c * SEQ;
  w->context_kind = gather ? LS_CONTEXT_ALL_GATHER : LS_CONTEXT_RING;
  ck_assert (ls_workload_resolve (w, NULL));
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  check_tensors (plan, gather ? gathers : ring,
                 gather ? G_N_ELEMENTS (gathers) : G_N_ELEMENTS (ring));
}
END_TEST

START_TEST (scores)
/* Of an unfused core S = a s^2 b scores. Megatron's fused softmax holds one matrix of 2 S forward, and two backward
 * beside the gradients of queries, keys and values and of the output. Dropout keeps the softmax, its mask and what it dropped,
 * 5 S; without one, 2 S. Rows of more than 4096 keys it does not take: the softmax is in fp32, kept (4 S more), held (4 S
 * more), and so are both matrices backward. A model without biases has no kernel for them. */
{
  const gboolean wide = _i == 2;
  const gint64 s = wide ? 8192 : SEQ, all = HEADS * s * s * B, tokens = s * B;
  const gint64 q = 2 * tokens * HEADS * HEAD_DIM, kv = 2 * tokens * KV_HEADS * HEAD_DIM;
  LsTransformer model = small ();

  model.dropout = _i == 1;
  model.max_seq = s;
  g_autoptr (LsWorkload) w =
      workload_of (ls_model_new_transformer ("small", &model), "megatron-2021", 1, 1);
  w->attention = LS_ATTENTION_FUSED_SOFTMAX;
  w->seq_len = s;
  ck_assert (ls_workload_resolve (w, NULL));
  g_autoptr (LsLayerPlan) plan = ls_layer_block_new (w, gpu (), 0);
  const Tensors rows[] = {
      {"attention", FALSE, ANY, ANY,
       (model.dropout ? 5
        : wide        ? 6
                      : 2) *
           all,
       (wide ? 6 : 2) * all},
      {"context_copy", FALSE, ANY, 2 * q, 0, ANY},
      {"attention_grad", TRUE, ANY, ANY, 0, 2 * (q + kv) + 2 * (wide ? 4 : 2) * all},
      {"join_qkv_grad", TRUE, ANY, 2 * (q + 2 * kv), 0, ANY},
  };

  check_tensors (plan, rows, G_N_ELEMENTS (rows));
  for (guint i = 0; i < plan->n_forward; i++)
    ck_assert_ptr_null (strstr (plan->forward[i].name, "bias"));
  for (guint i = 0; i < plan->n_backward; i++)
    ck_assert_ptr_null (strstr (plan->backward[i].name, "bias"));
}
END_TEST

START_TEST (pictures_in_layers)
/* ResNet-50 on b pictures, bf16: the stem's convolution of 7 x 7 x 3 makes 64 x 112 x 112; ReLU reads and writes that, in
 * place; the 3 x 3 pool reads it and writes 64 x 56 x 56, keeping what it reads and an 8-byte index of each maximum. The first
 * bottleneck adds two of 256 x 56 x 56. The head averages 2048 x 7 x 7 and maps 2048 to 1000. */
{
  const gint64 b = B, stem = b * 64 * 112 * 112, pooled = b * 64 * 56 * 56, sum = b * 256 * 56 * 56;
  const gint64 last = b * 2048;
  const Tensors first[] = {
      {"convolution", FALSE, PRODUCT (b * 112 * 112, 64, 7 * 7 * 3), ANY, 2 * b * 3 * 224 * 224,
       ANY},
      {"batch_norm", FALSE, ANY, ANY, 2 * stem, ANY},
      {"relu", FALSE, ANY, 2 * 2 * stem, 0, ANY},
      {"max_pool", FALSE, 9 * pooled, 2 * (stem + pooled), 2 * stem + 8 * pooled, ANY},
      {"max_pool_grad", TRUE, 9 * pooled, 2 * (stem + pooled), 0, 2 * (stem + pooled)},
      {"relu_grad", TRUE, ANY, 3 * 2 * stem, 0, 2 * 2 * stem},
  };
  const Tensors bottleneck[] = {
      {"add", FALSE, ANY, 3 * 2 * sum, 0, 2 * sum},
      {"add_grad", TRUE, ANY, 3 * 2 * sum, 0, 2 * 2 * sum},
      /* Two of 64 x 56 x 56 in the middle, and the sum's. */
      {"relu", FALSE, ANY, 2 * 2 * (2 * pooled + sum), 0, ANY},
  };
  const Tensors head[] = {
      {"average_pool", FALSE, ANY, 2 * (49 * last + last), 0, ANY},
      {"linear", FALSE, PRODUCT (b, 1000, 2048), ANY, 2 * last, ANY},
      {"linear_grad", TRUE, PRODUCT (b, 1000, 2048), ANY, 0, ANY},
      {"linear_weight_grad", TRUE, PRODUCT (b, 1000, 2048), ANY, 0, ANY},
      {"cross_entropy", FALSE, ANY, ANY, 4 * b * 1000, ANY},
  };
  const struct {
    guint block;
    const Tensors *rows;
    guint n;
  } blocks[] = {{0, first, G_N_ELEMENTS (first)},
                {1, bottleneck, G_N_ELEMENTS (bottleneck)},
                {17, head, G_N_ELEMENTS (head)}};
  g_autoptr (LsWorkload) w = workload_of (ls_model_new_preset ("resnet-50", NULL), "generic", 1, 1);

  ck_assert (ls_workload_resolve (w, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++) {
    g_autoptr (LsLayerPlan) plan = ls_layer_list_new (w, blocks[i].block, gpu ());

    check_tensors (plan, blocks[i].rows, blocks[i].n);
  }
}
END_TEST

START_TEST (stages_hold_and_run_what_the_model_counts)
/* On one rank a stage holds every parameter of its model once, and its plans count the FLOPs of its forward pass: latent
 * attention, experts with a shared gate, tokens predicted ahead (a map, three norms and a block each, and the logits again). */
{
  LsTransformer models[3] = {small (), small (), small ()};

  models[0].latent = (LsLatent){.q_rank = 192, .kv_rank = 128, .nope = 64, .rope = 32, .value = 48};
  models[0].head_dim = 96;
  models[0].kv_heads = HEADS;
  models[1].experts = (LsExperts){
      .count = 8, .top_k = 2, .ffn = 256, .shared_ffn = 256, .shared_gate = TRUE, .every = 1};
  models[2].mtp = 2;
  g_autoptr (LsWorkload) w = transformer (models[_i], "megatron-core", 1);
  g_autoptr (LsStage) stage = ls_stage_new (w, 0, gpu ());
  gint64 n = 0;
  double flops = 0;

  for (guint i = 0; i < stage->n_runs; i++) {
    const LsLayerPlan *plan = stage->runs[i].plan;

    n += stage->runs[i].count * (plan->parameters + plan->expert_parameters);
    flops += stage->runs[i].count * plan->model_flops;
  }
  ck_assert_int_eq (n, ls_model_parameters (w->model));
  ck_assert_double_eq_tol (flops, ls_model_forward_flops (w->model, B, SEQ), 1e-12 * flops);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_loop_test (tcase, latent_attention, 0, 2);
  tcase_add_loop_test (tcase, adapters, 0, LS_N_LORA_TARGETS);
  tcase_add_loop_test (tcase, activations, 0, 5);
  tcase_add_test (tcase, activation_inputs_kept_in_a_byte);
  tcase_add_test (tcase, experts);
  tcase_add_test (tcase, tokens_that_travel_once);
  tcase_add_loop_test (tcase, heads_and_losses, 0, 4);
  tcase_add_test (tcase, pictures_in_patches);
  tcase_add_test (tcase, tokens_predicted_ahead);
  tcase_add_loop_test (tcase, sequences_in_parts, 0, 2);
  tcase_add_loop_test (tcase, scores, 0, 3);
  tcase_add_test (tcase, pictures_in_layers);
  tcase_add_loop_test (tcase, stages_hold_and_run_what_the_model_counts, 0, 3);
}

LS_TEST_MAIN ("layer_tensors", add_tests)
