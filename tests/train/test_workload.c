/* Workloads: from text to record, and what is said of files that are wrong. */
#include <check.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "config/tables.h"
#include "net/cluster.h"
#include "train/memory/memory.h"
#include "train/read/update_keys.h"
#include "train/read/workload_keys.h"

#define CLUSTER "lockstep: 1\ncluster: {nodes: 1, node: dgx-h100}\n"
#define V100 "lockstep: 1\ncluster: {nodes: 1, node: dgx-1-v100}\n"

typedef struct {
  LsConfigSchema *schema;
  LsConfig *config;
  LsConfigErrors *errors;
  LsCluster *cluster;
  LsWorkload *workload;
  char *text; /* of errors and warnings */
} Fixture;

/* Builds what `builder` was given; never fails by itself. */
static void finish (Fixture *f, LsConfigBuilder *builder) {
  f->cluster = NULL;
  f->workload = NULL;
  f->config = ls_config_builder_build (builder, f->errors);
  if (f->config != NULL && ls_config_is_readable (f->config)) {
    f->cluster = ls_cluster_new (f->config, f->errors);
    f->workload = ls_workload_new (f->config, f->cluster, f->errors);
    /* Keys of others, so that only this part's are warned about. */
    (void) ls_config_get_int (f->config, "lockstep");
    (void) ls_config_get_string (f->config, "title");
    ls_config_warn_unused (f->config, f->errors);
  }
  f->text = ls_config_errors_text (f->errors);
}

static LsConfigBuilder *begin (Fixture *f) {
  const LsConfigKey *const tables[] = {
      ls_config_keys,    ls_config_later_keys, ls_cluster_keys, ls_model_keys,
      ls_precision_keys, ls_workload_keys,     ls_update_keys,  NULL};

  f->schema = ls_config_schema_new (tables);
  f->errors = ls_config_errors_new ();
  return ls_config_builder_new (f->schema);
}

static void load (Fixture *f, const char *cluster, const char *workload) {
  g_autoptr (LsConfigBuilder) builder = begin (f);

  ls_config_builder_add_text (builder, "cluster.yaml", cluster, -1);
  ls_config_builder_add_text (builder, "work.yaml", workload, -1);
  finish (f, builder);
}

static void load_files (Fixture *f, const char *topology, const char *workload, const char *set) {
  g_autoptr (LsConfigBuilder) builder = begin (f);

  ls_config_builder_add_file (builder, topology);
  ls_config_builder_add_file (builder, workload);
  ls_config_builder_set (builder, set);
  finish (f, builder);
}

static void unload (Fixture *f) {
  ls_workload_free (f->workload);
  ls_cluster_free (f->cluster);
  ls_config_free (f->config);
  ls_config_errors_free (f->errors);
  ls_config_schema_free (f->schema);
  g_free (f->text);
}

START_TEST (a_full_workload_is_read) {
  Fixture f;

  load (
      &f, CLUSTER,
      "workload:\n"
      "  model: llama2-70b\n"
      "  precision: {compute: bf16, gradients: bf16, master: fp32, optimizer: fp32}\n"
      "  batch: {global: 64, micro: 2, seq_len: 2048}\n"
      "  parallel: {tensor: 2, sequence_parallel: true, pipeline: 2, data: auto, schedule: gpipe,\n"
      "             layers_per_stage: [39, 41], order: [data, tensor, pipeline]}\n"
      "  zero: {stage: 1, bucket: 100 MB}\n"
      "  recompute: {mode: full, every: 2, layers: 10}\n"
      "  optimizer: {kind: sgd, momentum: 0.5}\n"
      "  stop: 5\n"
      "  software: megatron-core\n");
  ck_assert_str_eq (f.text, "");
  ck_assert_ptr_nonnull (f.workload);
  ck_assert_uint_eq (f.workload->layout.data, 2);
  ck_assert_uint_eq (f.workload->layout.ranks, 8);
  ck_assert_int_eq (f.workload->layout.order[0], LS_AXIS_DATA);
  ck_assert_int_eq (f.workload->microbatches, 16);
  ck_assert_uint_eq (f.workload->layers_per_stage[1], 41);
  ck_assert_int_eq (f.workload->schedule, LS_SCHEDULE_GPIPE);
  ck_assert (f.workload->sequence_parallel);
  ck_assert_int_eq (f.workload->precision.gradients, LS_FORMAT_BF16);
  ck_assert_int_eq (f.workload->precision.communication, LS_FORMAT_BF16);
  ck_assert_int_eq (f.workload->zero.bucket_bytes, 100000000);
  ck_assert_int_eq (f.workload->recompute.every, 2);
  ck_assert_int_eq (f.workload->recompute.layers, 10);
  ck_assert_double_eq (f.workload->optimizer.momentum, 0.5);
  ck_assert_int_eq (f.workload->steps, 5);
  ck_assert_str_eq (f.workload->software->name, "megatron-core");
  unload (&f);
}
END_TEST

START_TEST (defaults_are_a_plain_run) {
  Fixture f;

  load (&f, CLUSTER, "workload: {model: gpt2-xl}\n");
  ck_assert_str_eq (f.text, "");
  ck_assert_ptr_nonnull (f.workload);
  ck_assert_uint_eq (f.workload->layout.data, 8);
  ck_assert_int_eq (f.workload->global_batch, 8);
  ck_assert_int_eq (f.workload->seq_len, 1024);
  ck_assert_int_eq (f.workload->precision.compute, LS_FORMAT_BF16);
  ck_assert_int_eq (f.workload->zero.stage, 0);
  ck_assert_int_eq (f.workload->recompute.mode, LS_RECOMPUTE_NONE);
  unload (&f);
}
END_TEST

START_TEST (presets_can_be_changed_and_models_written_out) {
  Fixture f;

  load (&f, CLUSTER, "workload: {model: {preset: llama3-70b, layers: 12, kv_heads: 16}}\n");
  ck_assert_str_eq (f.text, "");
  ck_assert_int_eq (f.workload->model->transformer.layers, 12);
  ck_assert_int_eq (f.workload->model->transformer.kv_heads, 16);
  ck_assert_int_eq (f.workload->model->transformer.ffn, 28672);
  unload (&f);
  load (
      &f, CLUSTER,
      "workload: {model: {kind: transformer, layers: 4, hidden: 512, heads: 8, vocab: 1000,\n"
      "                   activation: swiglu, norm: rmsnorm, positions: rotary, biases: false}}\n");
  ck_assert_str_eq (f.text, "");
  ck_assert_int_eq (f.workload->model->transformer.head_dim, 64);
  ck_assert_int_eq (f.workload->model->transformer.ffn, 2048);
  ck_assert (f.workload->model->transformer.gated);
  unload (&f);
}
END_TEST

START_TEST (networks_do_not_depend_on_the_order_of_writing)
/* A residual block written backwards: shapes follow `after`, the projection shares its input, and the
 * parameters are 3 x 3 x 3 x 8 + 2 x 8 + 3 x 8 (1 x 1 projection) + (8 x 10 + 10) of the linear map. */
{
  Fixture f;

  load (&f, CLUSTER,
        "workload:\n"
        "  precision: fp32\n"
        "  model:\n"
        "    kind: layers\n"
        "    input: {channels: 3, height: 32, width: 32}\n"
        "    elements:\n"
        "      z_loss: {kind: cross_entropy, after: head, block: end}\n"
        "      head: {kind: linear, after: pool, out: 10, bias: true, block: end}\n"
        "      pool: {kind: average_pool, after: sum, block: end}\n"
        "      sum: {kind: add, after: norm, with: project, block: one}\n"
        "      project: {kind: convolution, out: 8, stride: 2, block: one}\n"
        "      norm: {kind: batch_norm, after: conv, block: one}\n"
        "      conv: {kind: convolution, out: 8, kernel: 3, stride: 2, block: one}\n");
  ck_assert_str_eq (f.text, "");
  ck_assert_ptr_nonnull (f.workload);
  ck_assert_uint_eq (ls_model_n_layers (f.workload->model), 2);
  ck_assert_int_eq (ls_model_parameters (f.workload->model), 216 + 16 + 24 + 90);
  ck_assert_str_eq (f.workload->model->elements[0].name, "conv");
  ck_assert_int_eq (f.workload->model->elements[0].out_height, 16);
  unload (&f);
}
END_TEST

START_TEST (published_configurations_are_read)
/* config.json as released: the count is that of the checkpoint. */
{
  static const struct {
    const char *text;
    gint64 parameters, window;
  } cases[] = {
      {"{\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
       "\"num_attention_heads\": 32, \"num_experts_per_tok\": 2, \"num_hidden_layers\": 32, "
       "\"num_key_value_heads\": 8, \"num_local_experts\": 8, \"sliding_window\": null, "
       "\"vocab_size\": 32000, \"tie_word_embeddings\": false}",
       46702792704, 0},
      {"{\"model_type\": \"deepseek_v3\", \"first_k_dense_replace\": 3, \"hidden_size\": 7168, "
       "\"intermediate_size\": 18432, \"kv_lora_rank\": 512, \"moe_intermediate_size\": 2048, "
       "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_attention_heads\": 128, "
       "\"num_experts_per_tok\": 8, \"num_hidden_layers\": 61, \"q_lora_rank\": 1536, "
       "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
       "\"vocab_size\": 129280}",
       671026419200, 0},
      {"{\"model_type\": \"qwen2\", \"hidden_size\": 3584, \"intermediate_size\": 18944, "
       "\"num_attention_heads\": 28, \"num_hidden_layers\": 28, \"num_key_value_heads\": 4, "
       "\"vocab_size\": 152064}",
       7615616512, 0},
      {"{\"model_type\": \"gpt_oss\", \"head_dim\": 64, \"hidden_size\": 2880, "
       "\"intermediate_size\": 2880, \"num_attention_heads\": 64, \"num_experts_per_tok\": 4, "
       "\"num_hidden_layers\": 24, \"num_key_value_heads\": 8, \"num_local_experts\": 32, "
       "\"sliding_window\": 128, \"vocab_size\": 201088}",
       20914757184, 128},
      {"{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
       "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 8, "
       "\"sliding_window\": 4096, \"vocab_size\": 32000}",
       7241732096, 4096},
      {"{\"model_type\": \"qwen3_next\", \"hidden_size\": 2048}", 0, 0},
  };
  g_autofree char *path =
      g_strdup_printf ("%s/lockstep-%d-%d.json", g_get_tmp_dir (), getpid (), _i);
  g_autofree char *workload =
      g_strdup_printf ("workload: {model: '%s', batch: {seq_len: 1024}}", path);
  Fixture f;

  ck_assert (g_file_set_contents (path, cases[_i].text, -1, NULL));
  load (&f, CLUSTER, workload);
  if (cases[_i].parameters == 0) {
    ck_assert_ptr_nonnull (strstr (f.text, "\"qwen3_next\" is not known"));
  } else {
    ck_assert_msg (f.workload != NULL, "%s", f.text);
    ck_assert_int_eq (ls_model_parameters (f.workload->model), cases[_i].parameters);
    ck_assert_int_eq (f.workload->model->transformer.window, cases[_i].window);
  }
  unload (&f);
  (void) g_unlink (path);
}
END_TEST

/* A config.json of which @keys are the last ones. */
static char *llama_json (const char *keys) {
  return g_strdup_printf (
      "{\"model_type\": \"llama\", \"vocab_size\": 1000, \"num_attention_heads\": 4,\n%s}", keys);
}

START_TEST (faults_of_published_configurations_are_told_at_their_line) {
  static const struct {
    const char *keys;
    const char *said[3];
  } cases[] = {
      {"\"hidden_size\": -8192, \"num_hidden_layers\": \"80\", \"intermediate_size\": 64",
       {":2:16: error: hidden_size is -8192; a whole number",
        ":2:44: error: num_hidden_layers is the text \"80\"; a whole number"}},
      {"\"hidden_size\": 64, \"num_hidden_layers\": 2.5",
       {":2:41: error: num_hidden_layers is 2.5", "1:1: error: intermediate_size is missing"}},
      {"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"intermediate_size\": [1]",
       {"error: intermediate_size is a map or a list"}},
      {"\"hidden_size\": 64", {"num_hidden_layers is missing", "intermediate_size is missing"}},
      {"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"intermediate_size\": 128,\n"
       "\"quantization_config\": {\"quant_method\": \"fp8\"}, \"use_sliding_window\": true",
       {":3:24: warning: quantization_config has no effect here; the formats are the scenario's",
        ":3:71: warning: use_sliding_window has no effect"}},
      {"\"hidden_size\": 64, \"num_hidden_layers\": 2, \"intermediate_size\": 128,\n"
       "\"tie_word_embeddings\": \"true\"",
       {"tie_word_embeddings is the text \"true\"; true or false"}},
      {"\"hidden_size\": 64,, ", {":2:", ": error: "}},
  };
  g_autofree char *path =
      g_strdup_printf ("%s/lockstep-faults-%d-%d.json", g_get_tmp_dir (), getpid (), _i);
  g_autofree char *workload =
      g_strdup_printf ("workload: {model: '%s', batch: {seq_len: 1024}}", path);
  g_autofree char *text = llama_json (cases[_i].keys);
  Fixture f;

  ck_assert (g_file_set_contents (path, text, -1, NULL));
  load (&f, CLUSTER, workload);
  for (guint i = 0; i < 3 && cases[_i].said[i] != NULL; i++)
    ck_assert_msg (strstr (f.text, cases[_i].said[i]) != NULL, "%s: %s", cases[_i].said[i], f.text);
  unload (&f);
  (void) g_unlink (path);
}
END_TEST

/* Parameters that a layer has beside those without biases: h 64, 4 heads of 16 and as many for keys and values,
 * MLP 128. */
START_TEST (biases_of_published_configurations_count) {
  static const struct {
    const char *keys;
    gint64 more;
  } cases[] = {
      {"\"attention_bias\": false", 0},
      {"\"attention_bias\": true", 3 * 64 + 64},
      {"\"mlp_bias\": true", 2 * 128 + 64},
      {"\"attention_bias\": true, \"mlp_bias\": true", 3 * 64 + 64 + 2 * 128 + 64},
  };
  g_autofree char *path =
      g_strdup_printf ("%s/lockstep-bias-%d-%d.json", g_get_tmp_dir (), getpid (), _i);
  g_autofree char *workload =
      g_strdup_printf ("workload: {model: '%s', batch: {seq_len: 1024}}", path);
  gint64 parameters[2] = {0};

  for (guint with = 0; with < 2; with++) {
    g_autofree char *keys = g_strdup_printf ("\"hidden_size\": 64, \"num_hidden_layers\": 3, "
                                             "\"intermediate_size\": 128, %s",
                                             cases[with ? _i : 0].keys);
    g_autofree char *text = llama_json (keys);
    Fixture f;

    ck_assert (g_file_set_contents (path, text, -1, NULL));
    load (&f, CLUSTER, workload);
    ck_assert_msg (f.workload != NULL, "%s", f.text);
    parameters[with] = ls_model_parameters (f.workload->model);
    unload (&f);
  }
  ck_assert_int_eq (parameters[1] - parameters[0], 3 * cases[_i].more);
  (void) g_unlink (path);
}
END_TEST

/* A wrong workload and what must be said of it; the cluster is one DGX H100 unless V100. */
static const struct {
  const char *text;
  const char *said;
} bad[] = {
    {"workload: {model: lama2-7b}", "work.yaml:1:19: error: workload.model.preset: "},
    {"workload: {model: llama/config.json}", "llama/config.json cannot be read"},
    {"workload: {model: gpt2-xl, parallel: {tensor: 2}}", "2 does not divide the 25 heads"},
    {"workload: {model: llama3-8b, parallel: {tensor: 16}}",
     "16 does not divide the 8 key and value heads"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 3}}", "3 does not divide the 32 layers"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 8, tensor: 2}}",
     "needs 16 GPUs; the cluster has 8"},
    {"workload: {model: llama2-7b, parallel: {data: 9}}", "needs 9 GPUs; the cluster has 8"},
    {"workload: {model: llama2-7b, batch: {global: 12}}", "12 is no multiple of micro-batch 1 x 8"},
    {"workload: {model: gpt2-xl, batch: {seq_len: 2048}}", "longer than the model's table of 1024"},
    {"workload: {model: llama2-7b, parallel: {tensor: 2, sequence_parallel: true}, batch: "
     "{seq_len: 1001}}",
     "tensor 2 does not divide seq_len = 1001"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 2, layers_per_stage: [16, 15]}}",
     "adds up to 31"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 2, layers_per_stage: [32]}}",
     "has 1 numbers for 2"},
    {"workload: {model: llama2-7b, parallel: {order: [data, tensor]}}", "pipeline is missing"},
    {"workload: {model: llama2-7b, parallel: {order: [data, data, tensor]}}", "data stands twice"},
    {"workload: {model: llama2-7b, parallel: {context: 3}}",
     "3 ranks need a batch.seq_len that 6 divides"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 2, virtual_stages: 2}}",
     "2 needs schedule interleaved-1f1b; 1f1b has 1 per device"},
    {"workload: {model: llama2-7b, parallel: {schedule: v-half}}", "not yet"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 4, schedule: interleaved-1f1b, "
     "virtual_stages: 2}, batch: {global: 12}}",
     "needs micro-batches per replica that are a multiple of the pipeline's size"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 4, schedule: interleaved-1f1b, "
     "virtual_stages: 2, layers_per_stage: [8, 8, 8, 8]}, batch: {global: 16}}",
     "cuts the model into 8 stages, 2 for each of the 4 devices"},
    {"workload: {model: llama2-7b, update: async}", "needs servers"},
    {"workload: {model: llama2-7b, zero: {offload: nvme}}", "is not known"},
    {"workload: {model: llama2-7b, zero: {offload: optimizer}}", "needs zero.stage 1, 2 or 3"},
    {"workload: {model: llama2-7b, zero: {stage: 2, offload: parameters}}", "needs zero.stage 3"},
    {"workload: {model: llama2-7b, zero: {stage: 4}}", "workload.zero.stage"},
    {"workload: {model: llama2-7b, software: megatronn}", "workload.software.generation: "},
    {"workload: {model: llama2-7b, input: {threads: 2, bytes_per_sample: 1 MB}}",
     "no storage to read from"},
    {"workload: {model: resnet-50, parallel: {tensor: 2}}", "cannot be split; use 1"},
    {"workload: {model: {kind: transformer, layers: 2}}", "hidden is missing"},
    {"workload: {model: {preset: llama2-7b, heads: 30}}", "30 heads do not divide hidden = 4096"},
    {"workload: {model: {preset: llama2-7b, kind: layers}}", "of the other kind"},
    {"workload: {model: {kind: layers, elements: {a: {kind: relu, after: b}, b: {kind: relu, "
     "after: a}}}}",
     "in a circle"},
    {"workload: {model: {kind: layers, elements: {a: {kind: relu, after: bb}, b: relu}}}",
     "there is no element \"bb\""},
    {"workload: {model: {kind: layers, elements: {a: linear}}}", "out is missing"},
    {"workload: {model: {kind: layers}}", "needs from 1 to"},
    {"workload: {model: llama2-7b, batch: {micro: 1000000, global: 800000000, seq_len: 100000000}}",
     "too large to simulate"},
};

START_TEST (wrong_workloads_are_refused) {
  Fixture f;

  load (&f, CLUSTER, bad[_i].text);
  ck_assert (ls_config_errors_any (f.errors));
  ck_assert_msg (strstr (f.text, bad[_i].said) != NULL, "%s\nsaid: %s\nnot: %s", bad[_i].text,
                 f.text, bad[_i].said);
  unload (&f);
}
END_TEST

/* Keys that cannot matter. */
static const struct {
  const char *text;
  const char *said;
} idle[] = {
    {"workload: {model: llama2-7b, parallel: {sequence_parallel: true}}",
     "parallel.sequence_parallel"},
    {"workload: {model: llama2-7b, parallel: {schedule: gpipe}}", "parallel.schedule"},
    {"workload: {model: llama2-7b, zero: {stage: 3, bucket: 1 GB}}", "zero.bucket"},
    {"workload: {model: llama2-7b, zero: {stage: 1, prefetch: 2}}", "zero.prefetch"},
    {"workload: {model: llama2-7b, zero: 1, parallel: {data: 1}}", "zero.stage"},
    {"workload: {model: llama2-7b, recompute: {mode: none, every: 2}}", "recompute.every"},
    {"workload: {model: llama2-7b, recompute: selective}", "recompute.mode"},
    {"workload: {model: llama2-7b, optimizer: {kind: adam, momentum: 0.5}}", "optimizer.momentum"},
    {"workload: {model: llama2-7b, input: {prefetch: 3}}", "input.prefetch"},
    {"workload: {model: resnet-50, batch: {seq_len: 5}}", "batch.seq_len"},
    {"workload: {model: resnet-50, software: {attention: flash-2}}", "software.attention"},
    {"workload: {model: {preset: llama2-7b, input: {channels: 3}}}", "model.input"},
    {"workload: {model: llama2-7b, parallel: {data: 6}}", "2 of 8 GPUs are idle"},
    {"workload: {model: llama2-7b, recompute: {unit: operation}}", "so that nothing runs again"},
    {"workload: {model: llama2-7b, parallel: {pipeline: 4, schedule: interleaved-1f1b}, batch: "
     "{global: 8}}",
     "needs parallel.virtual_stages of 2 or more"},
    {"workload: {model: mixtral-8x7b, parallel: {pipeline: 2, expert: 4, order: [expert, tensor, "
     "pipeline, data]}}",
     "are ranks 0 and 2"},
};

START_TEST (keys_without_effect_are_warned_about) {
  Fixture f;

  load (&f, CLUSTER, idle[_i].text);
  ck_assert_msg (f.workload != NULL, "%s", f.text);
  ck_assert_msg (strstr (f.text, "warning") != NULL && strstr (f.text, idle[_i].said) != NULL,
                 "%s\nsaid: %s\nnot: %s", idle[_i].text, f.text, idle[_i].said);
  unload (&f);
}
END_TEST

/* Of recompute the mode follows from the other keys where it is not given. */
START_TEST (keys_of_recompute_say_its_mode) {
  static const struct {
    const char *recompute;
    LsRecomputeMode mode;
  } cases[] = {{"{unit: block, every: 4}", LS_RECOMPUTE_FULL},
               {"{unit: operation, every: sqrt}", LS_RECOMPUTE_FULL},
               {"{layers: 3}", LS_RECOMPUTE_FULL},
               {"{operations: [norm1], layers: 3}", LS_RECOMPUTE_SELECTIVE},
               {"{}", LS_RECOMPUTE_NONE},
               {"{mode: matmuls, layers: 3}", LS_RECOMPUTE_MATMULS}};

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *text =
        g_strdup_printf ("workload: {model: llama2-7b, recompute: %s}", cases[i].recompute);
    Fixture f;

    load (&f, CLUSTER, text);
    ck_assert_msg (f.workload != NULL, "%s", f.text);
    ck_assert_msg (f.workload->recompute.mode == cases[i].mode, "%s", cases[i].recompute);
    ck_assert_msg (strstr (f.text, "recompute") == NULL, "%s", f.text);
    unload (&f);
  }
}
END_TEST

START_TEST (all_faults_are_found_at_once) {
  Fixture f;

  load (&f, CLUSTER,
        "workload: {model: llama2-7b, parallel: {tensor: 3, pipeline: 5}, software: nothing,\n"
        "           batch: {global: 7}}\n");
  ck_assert_ptr_null (f.workload);
  ck_assert_ptr_nonnull (strstr (f.text, "3 does not divide the 32 heads"));
  ck_assert_ptr_nonnull (strstr (f.text, "5 does not divide the 32 layers"));
  ck_assert_ptr_nonnull (strstr (f.text, "needs 15 GPUs"));
  ck_assert_ptr_nonnull (strstr (f.text, "workload.software.generation"));
  unload (&f);
}
END_TEST

START_TEST (a_format_without_native_support_is_warned_about) {
  Fixture f;

  load (&f, V100, "workload: {model: gpt2-xl, precision: bf16}\n");
  ck_assert_msg (f.workload != NULL, "%s", f.text);
  ck_assert_ptr_nonnull (strstr (f.text, "has no native bf16"));
  unload (&f);
}
END_TEST

START_TEST (shipped_workloads_are_right)
/* Each on the shipped topology that its first lines name: no error, no warning, no GPU idle, and it fits
 * in memory. */
{
  static const struct {
    const char *topology, *workload, *set;
  } shipped[] = {
      {"dgx1-v100.yaml", "resnet50.yaml", "cluster.nodes=1"},
      {"dgx-h100.yaml", "llama2-7b-zero3.yaml", "cluster.nodes=1"},
      {"dgx-h100.yaml", "llama2-70b.yaml", "cluster.nodes=8"},
      {"dgx-a100.yaml", "gpt3-175b.yaml", "cluster.nodes=128"},
  };
  g_autofree char *topology =
      g_build_filename (LS_TEST_SOURCE_DIR, "topologies", shipped[_i].topology, NULL);
  g_autofree char *workload =
      g_build_filename (LS_TEST_SOURCE_DIR, "workloads", shipped[_i].workload, NULL);
  g_autofree const LsAccelerator **gpus = NULL;
  LsMemoryEstimate estimate;
  Fixture f;

  load_files (&f, topology, workload, shipped[_i].set);
  ck_assert_msg (f.workload != NULL && f.text[0] == '\0', "%s", f.text);
  ck_assert_uint_eq (f.workload->layout.ranks, ls_cluster_n_gpus (f.cluster));
  gpus = g_new (const LsAccelerator *, f.workload->layout.pipeline);
  for (guint i = 0; i < f.workload->layout.pipeline; i++)
    gpus[i] = ls_cluster_gpu (f.cluster, 0);
  ls_memory_fullest (f.workload, gpus, &estimate);
  ck_assert_msg (estimate.fits, "%.1f of %.1f GB", (double) estimate.reserved_bytes / 1e9,
                 (double) estimate.capacity_bytes / 1e9);
  unload (&f);
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("workload");
  TCase *tcase = tcase_create ("workload");
  SRunner *runner = srunner_create (suite);
  int failed = 0;

  tcase_add_test (tcase, a_full_workload_is_read);
  tcase_add_test (tcase, defaults_are_a_plain_run);
  tcase_add_test (tcase, presets_can_be_changed_and_models_written_out);
  tcase_add_test (tcase, networks_do_not_depend_on_the_order_of_writing);
  tcase_add_loop_test (tcase, published_configurations_are_read, 0, 6);
  tcase_add_loop_test (tcase, faults_of_published_configurations_are_told_at_their_line, 0, 7);
  tcase_add_loop_test (tcase, biases_of_published_configurations_count, 0, 4);
  tcase_add_loop_test (tcase, wrong_workloads_are_refused, 0, (int) G_N_ELEMENTS (bad));
  tcase_add_loop_test (tcase, keys_without_effect_are_warned_about, 0, (int) G_N_ELEMENTS (idle));
  tcase_add_test (tcase, keys_of_recompute_say_its_mode);
  tcase_add_test (tcase, all_faults_are_found_at_once);
  tcase_add_test (tcase, a_format_without_native_support_is_warned_about);
  tcase_add_loop_test (tcase, shipped_workloads_are_right, 0, 4);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_NORMAL);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
