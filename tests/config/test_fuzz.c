/* The whole way from bytes to output under truncation and mutation: no crash, no leak, and either a
 * config or a fault with a message. Run under the sanitizers this is the test for memory. */
#include "base/random.h"
#include "config/fixture.h"
#include "config/output.h"
#include "suite.h"

static const char sample[] =
    "lockstep: 1\n"
    "title: \"70B \\u00e9\"\n"
    "cluster: &c\n"
    "  groups: {main: {nodes: 8, node: {preset: dgx, nic: cx7, nics: 8}}}\n"
    "  fabric: {kind: fat-tree, latency: 500 ns}\n"
    "  links: {\"a.b\": {rate: 50 %}}\n"
    "workload:\n"
    "  model: {kind: layers, layers: [{width: 1}, {width: 2, bias: false}]}\n"
    "  parallel: {tensor: 8, context: 1, data: auto}\n"
    "  zero: {stage: 1, bucket: 200 MB}\n"
    "  sizes: [1, 2]\n"
    "  span: {from: 1, to: 9, times: 2}\n"
    "  extra: [*c, {x: null}]\n"
    "trace: {level: steps, ranks: [0-7, 9]}\n";

static const char *const options[] = {
    "cluster.nodes=16",
    "workload.model=llama",
    "workload.model.layers.1.width=3",
    "workload.sizes.0=9",
    "cluster.links.\"a.b\".rate=2 GB/s",
    "workload={model: gpt3}",
    "trace=none",
};

/* Loads and uses everything that can be used. */
static void exercise (const LsConfigSchema *schema, const char *text, gsize length,
                      const char *option) {
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (schema);
  g_autoptr (LsConfig) config = NULL;
  g_autofree char *faults = NULL;

  ls_config_builder_add_text (builder, "fuzz.yaml", text, (gssize) length);
  if (option != NULL)
    ls_config_builder_set (builder, option);
  config = ls_config_builder_build (builder, errors);
  if (config == NULL && !ls_config_errors_any (errors))
    ck_abort_msg ("neither a config nor a fault");
  if (config != NULL) {
    g_autofree char *yaml = NULL;
    g_autofree char *json = NULL;
    g_autoptr (GArray) ranks = ls_config_get_indexes (config, "trace.ranks");
    g_auto (GStrv) links = ls_config_get_names (config, "cluster.links");

    ls_config_get_int (config, "workload.parallel.tensor");
    ls_config_get_length (config, "workload.model.layers");
    ls_config_warn_unused (config, errors);
    yaml = ls_config_to_yaml (config, LS_CONFIG_WRITE_DEFAULTS);
    json = ls_config_to_json (config, LS_CONFIG_WRITE_GIVEN, 2);
  }
  faults = ls_config_errors_json (errors, "config", 0);
}

START_TEST (the_sample_is_legal) {
  g_autoptr (Fixture) fixture = fixture_load (sample, NULL);

  fixture_expect (fixture, "");
}
END_TEST

START_TEST (truncation_at_every_byte) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();

  for (gsize length = 0; length < sizeof sample; length++)
    exercise (schema, sample, length, options[length % G_N_ELEMENTS (options)]);
}
END_TEST

/* Replaces, inserts, deletes and repeats bytes, preferring those that mean something to YAML. */
static void mutate (LsRandom *random, GString *text) {
  static const char signs[] = "{}[]:,-&*!|>'\"%@#? \n\t~0189aeE.\\\xff";
  gsize position = ls_random_below (random, text->len + 1);
  char sign = signs[ls_random_below (random, sizeof signs - 1)];
  gsize reach = ls_random_below (random, 40);
  gsize length = MIN (text->len - position, reach);

  switch (ls_random_below (random, 4)) {
  case 0:
    if (position < text->len)
      text->str[position] = sign;
    break;
  case 1:
    g_string_insert_c (text, (gssize) position, sign);
    break;
  case 2:
    g_string_erase (text, (gssize) position, (gssize) length);
    break;
  default: {
    g_autofree char *piece = g_strndup (text->str + position, length);

    g_string_insert (text, (gssize) ls_random_below (random, text->len + 1), piece);
    break;
  }
  }
}

START_TEST (mutated_texts) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  LsRandom random;

  ls_random_init (&random, 7, "mutate", (guint64) _i);
  for (guint i = 0; i < test_scaled (3000); i++) {
    g_autoptr (GString) text = g_string_new (sample);

    for (guint64 n = 1 + ls_random_below (&random, 4); n > 0; n--)
      mutate (&random, text);
    exercise (schema, text->str, text->len, NULL);
  }
}
END_TEST

START_TEST (mutated_options) {
  g_autoptr (LsConfigSchema) schema = fixture_schema ();
  LsRandom random;

  ls_random_init (&random, 8, "mutate-options", 0);
  for (guint i = 0; i < test_scaled (3000); i++) {
    g_autoptr (GString) option =
        g_string_new (options[ls_random_below (&random, G_N_ELEMENTS (options))]);

    mutate (&random, option);
    mutate (&random, option);
    exercise (schema, sample, strlen (sample), option->str);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, the_sample_is_legal);
  tcase_add_test (tcase, truncation_at_every_byte);
  tcase_add_loop_test (tcase, mutated_texts, 0, 3);
  tcase_add_test (tcase, mutated_options);
}

LS_TEST_MAIN ("fuzz", add)
