/* See fixture.h. */
#include "config/fixture.h"

#include "config/output.h"
#include "config/tables.h"

#include <check.h>

static const char *const one_group[] = {"main", NULL};
static const char *const kinds[] = {"fat-tree", "crossbar", NULL};
static const char *const later_kinds[] = {"torus", NULL};
static const char *const models[] = {"llama", "gpt3", "3d-unet", NULL};
static const char *const model_kinds[] = {"transformer", "layers", NULL};
static const char *const auto_word[] = {"auto", NULL};

static const char *const *list_models (void) {
  return models;
}

#define NODE "cluster.groups.*.node"

const LsConfigKey fixture_keys[] = {
    {.path = "cluster", .type = LS_CONFIG_MAP, .flags = LS_CONFIG_REQUIRED, .meaning = "machines"},
    {.path = "cluster.nodes", .type = LS_CONFIG_ALIAS, .alias = "groups.main.nodes"},
    {.path = "cluster.node", .type = LS_CONFIG_ALIAS, .alias = "groups.main.node"},
    {.path = "cluster.fabric", .type = LS_CONFIG_ALIAS, .alias = "fabrics.compute"},
    {.path = "cluster.groups",
     .type = LS_CONFIG_MAP,
     .flags = LS_CONFIG_REQUIRED,
     .choices = one_group,
     .later = "several groups",
     .meaning = "groups by name"},
    {.path = "cluster.groups.*.nodes",
     .type = LS_CONFIG_INTEGER,
     .maximum = 1000000,
     .flags = LS_CONFIG_REQUIRED | LS_CONFIG_POSITIVE,
     .meaning = "how many nodes"},
    {.path = NODE, .type = LS_CONFIG_MAP, .word = "preset", .meaning = "one node"},
    {.path = NODE ".preset",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "node shape"},
    {.path = NODE ".gpus", .type = LS_CONFIG_INTEGER, .default_text = "8", .meaning = "GPUs"},
    {.path = NODE ".nic", .type = LS_CONFIG_ALIAS, .alias = "nics.compute"},
    {.path = NODE ".nics", .type = LS_CONFIG_MAP, .number = "compute.count", .meaning = "NICs"},
    {.path = NODE ".nics.*",
     .type = LS_CONFIG_MAP,
     .word = "preset",
     .number = "rate",
     .meaning = "one set"},
    {.path = NODE ".nics.*.preset",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "adapter"},
    {.path = NODE ".nics.*.count",
     .type = LS_CONFIG_INTEGER,
     .default_text = "1",
     .meaning = "how many"},
    {.path = NODE ".nics.*.rate",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES_PER_S,
     .flags = LS_CONFIG_POSITIVE,
     .default_text = "400 Gb/s",
     .meaning = "rate"},
    {.path = "cluster.fabrics.*.kind",
     .type = LS_CONFIG_WORD,
     .choices = kinds,
     .later_choices = later_kinds,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .default_text = "fat-tree",
     .meaning = "shape"},
    {.path = "cluster.fabrics.*.latency",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .default_text = "500 ns",
     .meaning = "of one switch"},
    {.path = "cluster.links.*.rate",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES_PER_S,
     .flags = LS_CONFIG_OR_PERCENT,
     .meaning = "rate"},
    {.path = "workload", .type = LS_CONFIG_MAP, .flags = LS_CONFIG_REQUIRED, .meaning = "the job"},
    {.path = "workload.model",
     .type = LS_CONFIG_MAP,
     .word = "preset",
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "the model"},
    {.path = "workload.model.preset",
     .type = LS_CONFIG_WORD,
     .choices_list = list_models,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "a known model"},
    {.path = "workload.model.kind",
     .type = LS_CONFIG_WORD,
     .choices = model_kinds,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .meaning = "a family"},
    {.path = "workload.model.parameters",
     .type = LS_CONFIG_NUMBER,
     .dimension = LS_DIMENSION_COUNT,
     .meaning = "size"},
    {.path = "workload.model.layers",
     .type = LS_CONFIG_MAP,
     .flags = LS_CONFIG_LIST,
     .meaning = "layers in order"},
    {.path = "workload.model.layers.*.width",
     .type = LS_CONFIG_INTEGER,
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "width"},
    {.path = "workload.model.layers.*.bias",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .meaning = "has a bias"},
    {.path = "workload.parallel.tensor",
     .type = LS_CONFIG_INTEGER,
     .default_text = "1",
     .flags = LS_CONFIG_POSITIVE,
     .meaning = "tensor parallel ranks"},
    {.path = "workload.parallel.context",
     .type = LS_CONFIG_INTEGER,
     .default_text = "1",
     .later = "context parallelism",
     .meaning = "context parallel ranks"},
    {.path = "workload.parallel.data",
     .type = LS_CONFIG_INTEGER,
     .choices = auto_word,
     .default_text = "auto",
     .meaning = "replicas"},
    {.path = "workload.zero.stage",
     .type = LS_CONFIG_INTEGER,
     .maximum = 3,
     .default_text = "0",
     .meaning = "ZeRO stage"},
    {.path = "workload.zero.bucket",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_BYTES,
     .minimum = 1024,
     .default_text = "200 MB",
     .meaning = "bucket",
     .when = "only with zero.stage >= 1"},
    {.path = "workload.recompute",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "false",
     .meaning = "recompute"},
    {.path = "workload.offset",
     .type = LS_CONFIG_NUMBER,
     .minimum = -2,
     .maximum = 2,
     .flags = LS_CONFIG_SIGNED,
     .default_text = "0",
     .meaning = "a signed number"},
    {.path = "workload.sizes",
     .type = LS_CONFIG_INTEGER,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .default_text = "[1, 2]",
     .meaning = "numbers"},
    {.path = "workload.data", .type = LS_CONFIG_FILE, .meaning = "a file"},
    {.path = "workload.span", .type = LS_CONFIG_RANGE, .meaning = "a range"},
    {.path = "workload.extra", .type = LS_CONFIG_ANY, .meaning = "anything"},
    {0},
};

LsConfigSchema *fixture_schema (void) {
  const LsConfigKey *const tables[] = {ls_config_keys, ls_config_later_keys, fixture_keys, NULL};

  return ls_config_schema_new (tables);
}

static void add_layer (LsConfigBuilder *builder, const char *layer, guint *texts) {
  if (g_str_has_prefix (layer, "--set "))
    ls_config_builder_set (builder, layer + strlen ("--set "));
  else if (g_str_has_prefix (layer, "--unset "))
    ls_config_builder_unset (builder, layer + strlen ("--unset "));
  else {
    g_autofree char *name = g_strdup_printf ("%u.yaml", ++*texts);

    ls_config_builder_add_text (builder, name, layer, -1);
  }
}

Fixture *fixture_load (const char *first, ...) {
  Fixture *fixture = g_new0 (Fixture, 1);
  g_autoptr (LsConfigBuilder) builder = NULL;
  guint texts = 0;
  va_list args;

  fixture->schema = fixture_schema ();
  fixture->errors = ls_config_errors_new ();
  builder = ls_config_builder_new (fixture->schema);
  va_start (args, first);
  for (const char *layer = first; layer != NULL; layer = va_arg (args, const char *))
    add_layer (builder, layer, &texts);
  va_end (args);
  fixture->config = ls_config_builder_build (builder, fixture->errors);
  return fixture;
}

void fixture_free (Fixture *fixture) {
  if (fixture == NULL)
    return;
  ls_config_free (fixture->config);
  ls_config_errors_free (fixture->errors);
  ls_config_schema_free (fixture->schema);
  g_free (fixture);
}

void fixture_expect (const Fixture *fixture, const char *expected) {
  g_autofree char *text = ls_config_errors_text (fixture->errors);

  ck_assert_str_eq (text, expected);
}

void fixture_expect_yaml (const Fixture *fixture, const char *expected) {
  g_autofree char *faults = ls_config_errors_text (fixture->errors);
  g_autofree char *text = NULL;

  ck_assert_msg (fixture->config != NULL, "%s", faults);
  text = ls_config_to_yaml (fixture->config, LS_CONFIG_WRITE_GIVEN);
  ck_assert_str_eq (text, expected);
}
