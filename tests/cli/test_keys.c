/* Keys of the schema, all of them: those whose value comes from a preset or a framework say it, and from where. */
#include "base/synonyms.h"
#include "cli/scenario.h"
#include "config/output.h"
#include "hw/catalogue.h"
#include "net/collective.h"
#include "suite.h"

#include <string.h>

/* One that leaves to its presets and its framework whatever can be left to them. */
static const char *const open_scenario =
    "lockstep: 1\n"
    "cluster: {nodes: 4, node: dgx-h100, fabric: single-switch}\n"
    "workload:\n"
    "  model: deepseek-v2-lite\n"
    "  batch: {global: 32}\n"
    "  parallel: {expert: 8}\n"
    "  zero: 1\n"
    "  software: {generation: megatron-core}\n";

static gboolean is_left_open (const LsConfigKey *key) {
  static const char *const words[] = {"of the preset", "of the generation", "of the framework",
                                      "of the accelerator"};

  if (key->type == LS_CONFIG_MAP || key->meaning == NULL)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (strstr (key->meaning, words[i]) != NULL)
      return TRUE;
  return key->source != NULL && g_str_has_prefix (key->source, "as the framework");
}

/* Names in place of the stars. */
static char *real_path (const LsConfigKey *key) {
  g_auto (GStrv) halves = g_strsplit (key->path, ".groups.*", 2);
  g_autofree char *path = g_strjoinv (".groups.main", halves);
  g_auto (GStrv) nics = g_strsplit (path, ".nics.*", 2);

  return g_strjoinv (".nics.compute", nics);
}

START_TEST (what_is_left_open_is_told) {
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("open.yaml", open_scenario);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);
  guint told = 0;

  ck_assert_str_eq (faults, "");
  for (guint i = 0; i < ls_config_schema_size (scenario->schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (scenario->schema, i);
    g_autofree char *path = real_path (key), *text = NULL;

    /* Sizes of a torus, which this node is not. */
    if (!is_left_open (key) || strstr (path, "intra.wrap") != NULL)
      continue;
    text = ls_config_explain (scenario->schema, scenario->config, path, NULL);
    ck_assert_msg (strstr (text, "\n  value  ") != NULL, "the value of %s is not told:\n%s", path,
                   text);
    told++;
  }
  ck_assert_uint_ge (told, 30);
}
END_TEST

/* The value is this scenario's: of one framework and of another. */
START_TEST (the_framework_is_named) {
  static const char *const key = "workload.zero.overlap_gather";
  g_auto (GStrv) halves = g_strsplit (open_scenario, "megatron-core", 2);
  g_autofree char *other = g_strjoinv ("generic", halves);
  g_autoptr (LsScenario) core = ls_scenario_from_text ("open.yaml", open_scenario);
  g_autoptr (LsScenario) generic = ls_scenario_from_text ("open.yaml", other);
  g_autofree char *of_core = ls_config_explain (core->schema, core->config, key, NULL);
  g_autofree char *of_generic = ls_config_explain (generic->schema, generic->config, key, NULL);

  ck_assert_ptr_nonnull (strstr (
      of_core, "  value         true\n  from          software generation megatron-core\n"));
  ck_assert_ptr_nonnull (
      strstr (of_generic, "  value         false\n  from          software generation generic\n"));
}
END_TEST

/* An end in tokens: whole steps that have as many, the first of two ends; of workers samples that have as many. */
START_TEST (tokens_end_a_run) {
  static const struct {
    const char *stop, *policy;
    gint64 steps, samples; /* 0: not looked at */
  } cases[] = {{"{tokens: 65536}", "sync", 1, 0},
               {"{tokens: 65537}", "sync", 2, 0},
               {"{tokens: 1 G}", "sync", 15259, 0},
               {"{tokens: 1 G, steps: 7}", "sync", 7, 0},
               {"{tokens: 4097}", "async", 0, 3},
               {"{tokens: 4 M, steps: 3}", "async", 0, 96},
               {"{tokens: 4097, samples: 2}", "async", 0, 2}};
  g_autofree char *text = g_strdup_printf (
      "lockstep: 1\ncluster: {nodes: 4, node: dgx-h100, fabric: single-switch}\nworkload:\n"
      "  model: llama2-7b\n  batch: {global: 32, seq_len: 2048}\n"
      "  update: {policy: %s, network: none}\n  stop: %s\n",
      cases[_i].policy, cases[_i].stop);
  g_autoptr (LsScenario) scenario = ls_scenario_from_text ("tokens.yaml", text);
  g_autofree char *faults = ls_config_errors_text (scenario->errors);

  ck_assert_msg (scenario->workload != NULL, "%s", faults);
  if (cases[_i].steps > 0)
    ck_assert_int_eq (scenario->workload->steps, cases[_i].steps);
  if (cases[_i].samples > 0)
    ck_assert_int_eq (scenario->workload->update.spec.stop_samples, cases[_i].samples);
}
END_TEST

/* --- what others call a key or a value ------------------------------------------------------------ */

/* A synonym's name is the end of a path, a word that some key takes, a row of a catalogue, or a collective. */
static gboolean is_known (const LsConfigSchema *schema, const char *name) {
  g_autofree char *end = g_strconcat (".", name, NULL);
  LsCollectiveOp op;

  for (guint i = 0; i < ls_config_schema_size (schema); i++) {
    const LsConfigKey *key = ls_config_schema_row (schema, i);
    const char *const *choices = ls_config_key_choices (key);

    if (g_str_equal (key->path, name) || g_str_has_suffix (key->path, end) ||
        (choices != NULL && g_strv_contains (choices, name)))
      return TRUE;
  }
  for (guint i = 0; i < ls_catalogue_count (); i++)
    if (ls_catalogue_row (ls_catalogue_get (i), name) >= 0)
      return TRUE;
  return ls_collective_op_parse (name, &op);
}

START_TEST (synonyms_are_of_names_that_exist) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  const char *name, *others;

  for (guint i = 0; ls_synonyms_row (i, &name, &others); i++) {
    ck_assert_msg (is_known (schema, name), "no key, word or row is called %s", name);
    ck_assert_msg (*others != '\0', "%s has no synonym", name);
  }
}
END_TEST

/* Common names of other tools, without a place, and the key that is suggested. */
static const struct {
  const char *word, *path;
} common[] = {{"batch_size", "workload.batch.global"},
              {"micro_batch_size", "workload.batch.micro"},
              {"gradient_accumulation_steps", "workload.batch.micro"},
              {"lr", "learn.optimizer.lr"},
              {"learning_rate", "learn.optimizer.lr"},
              {"gpus", "cluster.node.gpus"},
              {"gpus_per_node", "cluster.node.gpus"},
              {"num_nodes", "cluster.nodes"},
              {"world_size", "cluster.nodes"},
              {"tp", "workload.parallel.tensor"},
              {"tensor_model_parallel_size", "workload.parallel.tensor"},
              {"pp", "workload.parallel.pipeline"},
              {"dp", "workload.parallel.data"},
              {"cp", "workload.parallel.context"},
              {"ep", "workload.parallel.expert"},
              {"seq_len", "workload.batch.seq_len"},
              {"sequence_length", "workload.batch.seq_len"},
              {"num_layers", "workload.model.layers"},
              {"num_hidden_layers", "workload.model.layers"},
              {"d_model", "workload.model.hidden"},
              {"hidden_size", "workload.model.hidden"},
              {"num_attention_heads", "workload.model.heads"},
              {"vocab_size", "workload.model.vocab"},
              {"intermediate_size", "workload.model.ffn"},
              {"num_experts", "workload.model.experts.count"},
              {"gradient_checkpointing", "workload.recompute.mode"},
              {"fsdp", "workload.zero.stage"},
              {"framework", "workload.software.generation"},
              {"max_steps", "workload.stop.steps"},
              {"topology", "cluster.fabric"},
              {"mtbf", "faults.failures"}};

START_TEST (common_names_lead_to_the_key) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autofree char *path = ls_config_find_key (schema, common[_i].word);

  ck_assert_msg (path != NULL, "nothing is suggested for %s", common[_i].word);
  ck_assert_str_eq (path, common[_i].path);
  ck_assert_msg (ls_config_schema_find (schema, path) != NULL, "%s is no key", path);
}
END_TEST

/* Where a word means another thing: what is nearest to the place wins. */
START_TEST (the_place_decides_what_a_word_means) {
  static const struct {
    const char *wrong, *right;
  } cases[] = {{"learn.batch_size", "'batch'"},
               {"learn.data.path", "'file'"},
               {"workload.batch.batch_size", "'global'"},
               {"workload.steps", "workload.stop.steps"},
               {"workload.optimizer.type", "'kind'"},
               {"campaign.checkpoint.frequency", "'interval'"},
               {"faults.failures.a.mtbf", "'lifetime'"},
               {"cluster.node.num_gpus", "'gpus'"},
               {"cluster.fabric.latency", "'hop_latency'"},
               {"cluster.size", "'nodes'"},
               {"cluster.machines", "'nodes'"},
               {"cluster.type", "'node'"},
               {"cluster.latency", "'fabric'"},
               {"cluster.node.type", "'preset'"},
               {"cluster.node.host.nvme_capacity", "'nvme_size'"},
               {"workload.grad_clip", "workload.optimizer.clip"},
               {"workload.optimizer.max_grad_norm", "'clip'"},
               {"learn.grad_clip", "'clip'"},
               {"workload.amp", "'precision'"},
               {"workload.checkpointing", "workload.recompute.mode"},
               {"workload.dataloader", "'input'"},
               {"workload.num_workers", "workload.input.threads"},
               {"workload.loss_scale", "workload.precision.loss_scaling"},
               {"workload.parallel.layers", "'layers_per_stage'"},
               {"workload.zero.hybrid", "'shard_group'"},
               {"workload.recompute.k", "'every'"},
               {"workload.recompute.num_layers", "'layers'"},
               {"workload.precision.moments", "'optimizer'"},
               {"workload.evaluation.samples", "'steps'"},
               {"workload.logging.pause", "'time'"},
               {"workload.batch.packing", "'documents'"},
               {"workload.model.experts.k", "'top_k'"},
               {"workload.model.mla", "'latent'"}};
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *text = ls_config_explain (schema, NULL, cases[i].wrong, &error);
    g_autofree char *ending = g_strdup_printf ("; did you mean %s?", cases[i].right);

    ck_assert_ptr_null (text);
    ck_assert_msg (g_str_has_suffix (error->message, ending), "%s", error->message);
  }
}
END_TEST

/* Of a map with many keys the command that shows them is named. */
START_TEST (many_keys_are_left_to_a_command) {
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = ls_config_explain (schema, NULL, "workload.model.zzzzzzzz", &error);

  ck_assert_ptr_null (text);
  ck_assert_msg (
      g_str_has_suffix (error->message, "; `lockstep list keys workload.model` shows those here"),
      "%s", error->message);
}
END_TEST

/* --- keys that messages name --------------------------------------------------------------------- */

/* Is @words the end of a key's path, or of the path of a map of keys? Stars are any name, and items of lists have none. */
static gboolean is_end_of (char **words, const char *path) {
  g_auto (GStrv) segments = g_strsplit (path, ".", -1);
  const guint n = g_strv_length (segments), length = g_strv_length (words);

  for (guint first = 0; first < n; first++) {
    guint i = 0;
    while (i < length && first + i < n &&
           (g_str_equal (segments[first + i], "*") || g_str_equal (segments[first + i], words[i])))
      i++;
    if (i == length && (!g_str_equal (segments[first], "*") || g_str_equal (words[0], "main") ||
                        g_str_equal (words[0], "compute")))
      return TRUE;
  }
  return FALSE;
}

/* Short forms of groups and sets in place of their names: cluster.node.gpus, node.nics.storage. */
static gboolean is_key (const LsConfigSchema *schema, const char *text) {
  g_auto (GStrv) words = g_strsplit (text, ".", -1);

  if (strncmp (text, "cluster.", 8) == 0) {
    g_autofree char *full = g_strconcat ("cluster.groups.main.", text + 8, NULL);
    if (ls_config_schema_find (schema, full) != NULL)
      return TRUE;
  }
  for (guint i = 0; i < ls_config_schema_size (schema); i++)
    if (is_end_of (words, ls_config_schema_row (schema, i)->path))
      return TRUE;
  return FALSE;
}

/* Does a key begin so? Names of two letters and less are columns of SQL too. */
static gboolean begins_a_key (const LsConfigSchema *schema, const char *text) {
  g_auto (GStrv) words = g_strsplit (text, ".", 2);

  for (guint i = 0; strlen (words[0]) > 2 && i < ls_config_schema_size (schema); i++) {
    g_auto (GStrv) segments = g_strsplit (ls_config_schema_row (schema, i)->path, ".", -1);
    if (g_strv_contains ((const char *const *) segments, words[0]))
      return TRUE;
  }
  return FALSE;
}

static guint check_file (const LsConfigSchema *schema, const char *path) {
  g_autoptr (GRegex) string = g_regex_new ("\"(?:[^\"\\\\\n]|\\\\.)*\"", 0, 0, NULL);
  g_autoptr (GRegex) key = g_regex_new (
      "(?<![\\w./\\[*%-])[a-z][a-z_]+(?:\\.[a-z][a-z_]*)+(?![\\w/(*+]|\\.[a-z])", 0, 0, NULL);
  g_autofree char *text = NULL;
  g_autoptr (GMatchInfo) literals = NULL;
  guint n = 0;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  for (g_regex_match (string, text, 0, &literals); g_match_info_matches (literals);
       g_match_info_next (literals, NULL)) {
    g_autofree char *literal = g_match_info_fetch (literals, 0);
    g_autoptr (GMatchInfo) keys = NULL;
    for (g_regex_match (key, literal, 0, &keys); g_match_info_matches (keys);
         g_match_info_next (keys, NULL)) {
      g_autofree char *found = g_match_info_fetch (keys, 0);
      if (g_str_has_suffix (found, ".csv") || g_str_has_suffix (found, ".com") ||
          !begins_a_key (schema, found))
        continue;
      ck_assert_msg (is_key (schema, found), "%s: there is no key %s: %s", path, found, literal);
      n++;
    }
  }
  return n;
}

/* Whoever is told to write a key can write it. */
START_TEST (messages_name_keys_that_exist) {
  static const char *const parts[] = {"base",   "config", "hw",    "net", "train",
                                      "faults", "learn",  "study", "cli"};
  g_autoptr (LsConfigSchema) schema = ls_scenario_schema ();
  guint n = 0;

  ck_assert (is_key (schema, "model.time_factors") && is_key (schema, "node.nics.storage"));
  ck_assert (!is_key (schema, "workload.compute") && !is_key (schema, "zero.stages"));
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autofree char *folder = g_strdup_printf ("%s/sim/%s", LS_TEST_SOURCE_DIR, parts[i]);
    g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
    const char *name;

    ck_assert_ptr_nonnull (dir);
    while ((name = g_dir_read_name (dir)) != NULL)
      if (g_str_has_suffix (name, ".c")) {
        g_autofree char *path = g_build_filename (folder, name, NULL);
        n += check_file (schema, path);
      }
  }
  ck_assert_uint_ge (n, 500);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, messages_name_keys_that_exist);
  tcase_add_test (tcase, synonyms_are_of_names_that_exist);
  tcase_add_loop_test (tcase, common_names_lead_to_the_key, 0, (int) G_N_ELEMENTS (common));
  tcase_add_test (tcase, many_keys_are_left_to_a_command);
  tcase_add_test (tcase, the_place_decides_what_a_word_means);
  tcase_add_loop_test (tcase, tokens_end_a_run, 0, 7);
  tcase_add_test (tcase, what_is_left_open_is_told);
  tcase_add_test (tcase, the_framework_is_named);
}

LS_TEST_MAIN ("keys", add)
