/* Short forms and the four rules of layering. */
#include "config/fixture.h"
#include "suite.h"

typedef struct {
  const char *layers[4];
  const char *yaml;
} Layered;

#define MODEL "jobs:\n  main:\n    workload:\n      model:\n        "
#define CLUSTER(nodes, node) \
  "cluster:\n  groups:\n    main:\n      nodes: " nodes "\n      node:\n        preset: " node "\n"

static const Layered cases[] = {
    /* Rule 1: words, numbers and abbreviated keys. */
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD}, CLUSTER ("8", "dgx") MODEL "preset: llama\n"},
    {{"cluster: {nodes: 2, node: {nic: cx7, nics: 8}}\n" FIXTURE_WORKLOAD},
     "cluster:\n  groups:\n    main:\n      nodes: 2\n      node:\n        nics:\n"
     "          compute:\n            count: 8\n            preset: cx7\n" MODEL "preset: llama\n"},
    {{"cluster: {nodes: 2, fabric: {kind: crossbar}, node: {nics: {compute: 200 Gb/s, b: x}}}\n"
      "workload: {model: 3d-unet}\n"},
     "cluster:\n  groups:\n    main:\n      nodes: 2\n      node:\n        nics:\n"
     "          compute:\n            rate: 200 Gb/s\n          b:\n            preset: x\n"
     "  fabrics:\n    compute:\n      kind: crossbar\n" MODEL "preset: \"3d-unet\"\n"},
    /* The long forms are the same. */
    {{"cluster: {groups: {main: {nodes: 8, node: {preset: dgx}}}}\n"
      "jobs: {main: {workload: {model: {preset: llama}}}}\n"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n"},
    /* Short over long and long over short meet at the same key. */
    {{"cluster: {groups: {main: {nodes: 8, node: dgx}}}\n", FIXTURE_WORKLOAD,
      "--set cluster.nodes=16"},
     CLUSTER ("16", "dgx") MODEL "preset: llama\n"},
    {{FIXTURE_CLUSTER, FIXTURE_WORKLOAD, "--set cluster.groups.main.nodes=16"},
     CLUSTER ("16", "dgx") MODEL "preset: llama\n"},
    /* Rule 2: maps merge, scalars and lists replace, null removes. */
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "workload: {parallel: {tensor: 2}, sizes: [1, 2, 3]}",
      "workload: {parallel: {data: 4}, sizes: [4]}"},
     CLUSTER ("8", "dgx") MODEL
     "preset: llama\n      parallel:\n        tensor: 2\n        data: 4\n      sizes: [4]\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "workload: {parallel: {tensor: 2, data: 4}}",
      "workload: {parallel: {tensor: null}}"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n      parallel:\n        data: 4\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "workload: {parallel: {tensor: 2}}",
      "--unset workload.parallel"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n"},
    /* A changed discriminator drops its siblings of lower layers, not of its own. */
    {{FIXTURE_CLUSTER "workload: {model: {preset: llama, parameters: 7 G}}",
      "--set workload.model=llama"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n        parameters: 7000000000\n"},
    {{FIXTURE_CLUSTER "workload: {model: {preset: llama}}",
      "workload: {model: {kind: layers, parameters: 3 M}}"},
     CLUSTER ("8", "dgx") MODEL "kind: layers\n        parameters: 3000000\n"},
    /* The default of a discriminator is no change; another value is. */
    {{"cluster: {nodes: 1, fabric: {latency: 1 us}}\n" FIXTURE_WORKLOAD,
      "cluster: {fabric: {kind: fat-tree}}"},
     "cluster:\n  groups:\n    main:\n      nodes: 1\n  fabrics:\n    compute:\n"
     "      latency: 1 us\n      kind: fat-tree  # default\n" MODEL "preset: llama\n"},
    /* Rule 4: quoted segments; items of lists. */
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set cluster.links.\"a.b-c\".rate=50 %"},
     CLUSTER ("8", "dgx") "  links:\n    a.b-c:\n      rate: 50 %\n" MODEL "preset: llama\n"},
    {{FIXTURE_CLUSTER "workload: {model: {layers: [{width: 1}, {width: 2, bias: false}]}}",
      "--set workload.model.layers.1.width=5", "--set workload.model.layers.2={width: 6}"},
     CLUSTER ("8", "dgx") MODEL "layers:\n          - width: 1\n          - width: 5\n"
                                "            bias: false\n          - width: 6\n"},
    {{FIXTURE_CLUSTER "workload: {model: {layers: [{width: 1}, {width: 2}]}}",
      "--unset workload.model.layers.0"},
     CLUSTER ("8", "dgx") MODEL "layers:\n          - width: 2\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD "", "workload: {sizes: 7}", "--set workload.sizes.1=8"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n      sizes: [7, 8]\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.sizes=[9]"},
     CLUSTER ("8", "dgx") MODEL "preset: llama\n      sizes: [9]\n"},
};

START_TEST (layers_resolve_to_one_document) {
  const Layered *c = &cases[_i];
  g_autoptr (Fixture) fixture =
      fixture_load (c->layers[0], c->layers[1], c->layers[1] != NULL ? c->layers[2] : NULL,
                    c->layers[1] != NULL && c->layers[2] != NULL ? c->layers[3] : NULL, NULL);

  fixture_expect (fixture, "");
  fixture_expect_yaml (fixture, c->yaml);
}
END_TEST

/* A changed word that drops what stood beside it says so. */
static const struct {
  const char *lower, *upper, *yaml, *warning;
} changes[] = {
    {FIXTURE_CLUSTER "workload: {model: {preset: llama, parameters: 7 G}}",
     "--set workload.model=gpt3", CLUSTER ("8", "dgx") MODEL "preset: gpt3\n",
     "--set #1:16: warning: jobs.main.workload.model.preset is changed, which drops what was "
     "beside it: parameters (1.yaml:2:35); give again what shall stay\n"},
    {"cluster: {nodes: 1, fabric: {latency: 1 us}}\n" FIXTURE_WORKLOAD,
     "cluster: {fabric: {kind: crossbar}}",
     "cluster:\n  groups:\n    main:\n      nodes: 1\n  fabrics:\n    compute:\n"
     "      kind: crossbar\n" MODEL "preset: llama\n",
     "2.yaml:1:20: warning: cluster.fabrics.compute.kind is changed, which drops what was beside "
     "it: latency (1.yaml:1:30); give again what shall stay\n"},
};

START_TEST (changes_name_what_they_drop) {
  g_autoptr (Fixture) fixture = fixture_load (changes[_i].lower, changes[_i].upper, NULL);

  fixture_expect (fixture, changes[_i].warning);
  fixture_expect_yaml (fixture, changes[_i].yaml);
}
END_TEST

/* ...unless a later layer gives it again. */
START_TEST (what_is_given_again_is_not_lost) {
  g_autoptr (Fixture) fixture = fixture_load (changes[0].lower, changes[0].upper,
                                              "--set workload.model.parameters=7 G", NULL);

  fixture_expect (fixture, "");
  fixture_expect_yaml (fixture,
                       CLUSTER ("8", "dgx") MODEL "preset: gpt3\n        parameters: 7000000000\n");
}
END_TEST

typedef struct {
  const char *layers[3];
  const char *faults;
} Wrong;

static const Wrong wrong[] = {
    {{"cluster: {groups: {a: {nodes: 1}, b: {nodes: 2}}, nodes: 3}\n" FIXTURE_WORKLOAD},
     "1.yaml:1:20: error: cluster.groups.a: not yet: several groups; for now the only name is "
     "main\n"
     "1.yaml:1:35: error: cluster.groups.b: not yet: several groups; for now the only name is "
     "main\n"
     "1.yaml:1:51: error: 'nodes' is short for a key of cluster.groups.main, but cluster.groups "
     "has "
     "a, b; write cluster.groups.a.nodes, or the same of another\n"},
    {{"cluster: {groups: {a: {nodes: 1}}}\n" FIXTURE_WORKLOAD, "--set cluster.nodes=3"},
     "1.yaml:1:20: error: cluster.groups.a: not yet: several groups; for now the only name is "
     "main\n"
     "--set #1:9: error: 'nodes' is short for a key of cluster.groups.main, but cluster.groups has "
     "a; write cluster.groups.a.nodes\n"},
    {{"cluster: {nodes: 3, groups: {main: {nodes: 4}}}\n" FIXTURE_WORKLOAD},
     "1.yaml:1:11: error: cluster.nodes is given twice; it means cluster.groups.main.nodes, which "
     "is "
     "also given at 1.yaml:1:37\n"},
    {{FIXTURE_CLUSTER "workload: {model: llama}\njobs: {main: {workload: {model: gpt3}}}\n"},
     "1.yaml:2:1: error: workload is given twice; it means jobs.main.workload, which is also given "
     "at 1.yaml:3:26\n"},
    {{FIXTURE_CLUSTER "workload: {model: llama, parallel: 3}\n"},
     "1.yaml:2:36: error: workload.parallel: a single value stands here; takes a map; keys here "
     "are "
     "tensor, context, data\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.model.layers.1.width=3"},
     "--set #1:23: error: jobs.main.workload.model.layers has 0 items; there is no item '1'\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload"},
     "--set #1:1: error: 'workload' sets nothing; write PATH=VALUE, for instance "
     "cluster.nodes=16\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.=3"},
     "--set #1:10: error: 'workload.' is not a path: a segment is empty; write words joined by "
     "dots, "
     "such as workload.parallel.tensor\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.sizes="},
     "--set #1:16: error: there is no value; write PATH=VALUE, or use --unset PATH\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.sizes=[1, 2"},
     "--set #1:21: error: not readable as YAML: flow sequence without a closing bracket\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.parallel.tensr=3"},
     "--set #1:19: error: unknown key 'tensr' in workload.parallel; did you mean 'tensor'?\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--set workload.parallel.tensor=two"},
     "--set #1:26: error: workload.parallel.tensor: 'two' is no number; takes a whole number, more "
     "than 0\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--unset workload.\"a"},
     "--unset #1:10: error: 'workload.\"a' is not a path: a quote is not closed; write words "
     "joined "
     "by dots, such as workload.parallel.tensor\n"},
    {{FIXTURE_CLUSTER FIXTURE_WORKLOAD, "--unset workload.model"},
     "--unset #1:10: error: workload.model is needed, but null removes it here; takes a map or a "
     "word (its preset)\n"},
    {{"[1, 2]"},
     "1.yaml:1:1: error: a scenario is a map of keys; for instance 'lockstep: 1' and 'cluster: "
     "...'\n"},
};

START_TEST (faults_of_layers_have_their_place) {
  g_autoptr (Fixture) fixture =
      fixture_load (wrong[_i].layers[0], wrong[_i].layers[1],
                    wrong[_i].layers[1] != NULL ? wrong[_i].layers[2] : NULL, NULL);

  fixture_expect (fixture, wrong[_i].faults);
}
END_TEST

/* Order of layers decides, order inside a map does not. */
START_TEST (options_come_after_files_in_their_order) {
  g_autoptr (Fixture) fixture =
      fixture_load ("--set cluster.nodes=2", FIXTURE_CLUSTER FIXTURE_WORKLOAD,
                    "--unset cluster.nodes", "--set cluster.nodes=3", NULL);

  fixture_expect (fixture, "");
  ck_assert_int_eq (ls_config_get_int (fixture->config, "cluster.nodes"), 3);
}
END_TEST

/* Removing what is not there changes nothing, above all does not make a map of its parents. */
START_TEST (unset_of_nothing_is_a_warning) {
  g_autoptr (Fixture) fixture = fixture_load (
      FIXTURE_CLUSTER "workload: {model: {layers: [{width: 1}]}, sizes: [1, 2]}\n",
      "--unset workload.zero.stage", "--unset workload.model.layers.0.bias",
      "--unset workload.sizes.1", "--unset workload.sizes.1", "--unset workload.zero.stge", NULL);

  fixture_expect (
      fixture,
      "--unset #1:1: warning: workload.zero.stage is not given; there is nothing to "
      "remove\n"
      "--unset #2:1: warning: workload.model.layers.0.bias is not given; there is nothing "
      "to remove\n"
      "--unset #5:15: error: unknown key 'stge' in workload.zero; did you mean 'stage'?\n");
}
END_TEST

START_TEST (all_unreadable_files_are_reported) {
  g_autoptr (Fixture) fixture = fixture_load ("a: [", "b: {", FIXTURE_CLUSTER, NULL);

  ck_assert_ptr_null (fixture->config);
  ck_assert_uint_eq (ls_config_errors_count (fixture->errors, LS_CONFIG_FAULT_ERROR), 2);
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_loop_test (tcase, layers_resolve_to_one_document, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, changes_name_what_they_drop, 0, G_N_ELEMENTS (changes));
  tcase_add_test (tcase, what_is_given_again_is_not_lost);
  tcase_add_loop_test (tcase, faults_of_layers_have_their_place, 0, G_N_ELEMENTS (wrong));
  tcase_add_test (tcase, options_come_after_files_in_their_order);
  tcase_add_test (tcase, unset_of_nothing_is_a_warning);
  tcase_add_test (tcase, all_unreadable_files_are_reported);
}

LS_TEST_MAIN ("layering", add)
