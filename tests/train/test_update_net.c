/* Updates on a cluster: transfers meet on real links, servers are busy, shards are torn, replicas run
 * programs. Closed forms stand with each test. */
#include <math.h>

#include "config/tables.h"
#include "suite.h"
#include "train/read/update_keys.h"
#include "train/read/workload_keys.h"
#include "train/run/update_run.h"

typedef struct {
  LsConfigSchema *schema;
  LsConfigErrors *errors;
  LsConfig *config;
  LsCluster *cluster;
  LsWorkload *workload;
  LsUpdateRun *run;
  LsUpdateTotals totals;
} Fixture;

/* Alpha-beta nodes of one GPU with one adapter of 10 GB/s (80 Gb/s), no latency. */
#define CLUSTER                                                                              \
  "cluster: {nodes: 5, node: {gpu: h100-sxm-80gb, gpus: 1, nics: {compute: {rate: 80 Gb/s, " \
  "count: 1}}, tuning: {protocol: ideal}}, fabric: {kind: single-switch, link: 80 Gb/s, "    \
  "hop_latency: 0 s, efficiency: 100 %}}\n"

static void run_text (Fixture *f, const char *text, const LsUpdateSink *sink, gpointer self) {
  const LsConfigKey *const tables[] = {
      ls_config_keys,    ls_config_later_keys, ls_cluster_keys, ls_model_keys,
      ls_precision_keys, ls_workload_keys,     ls_update_keys,  NULL};
  g_autoptr (GError) error = NULL;

  f->schema = ls_config_schema_new (tables);
  f->errors = ls_config_errors_new ();
  g_autoptr (LsConfigBuilder) builder = ls_config_builder_new (f->schema);
  ls_config_builder_add_text (builder, "net.yaml", text, -1);
  f->config = ls_config_builder_build (builder, f->errors);
  ck_assert (f->config != NULL && ls_config_is_readable (f->config));
  f->cluster = ls_cluster_new (f->config, f->errors);
  f->workload = ls_workload_new (f->config, f->cluster, f->errors);
  g_autofree char *said = ls_config_errors_text (f->errors);
  ck_assert_msg (f->workload != NULL, "%s", said);
  f->run = ls_update_run_new (f->cluster, f->workload, 1, &error);
  ck_assert (f->run != NULL);
  if (sink != NULL)
    ls_update_add_sink (ls_update_run_update (f->run), sink, self);
  ck_assert_msg (ls_update_run_go (f->run, NULL, NULL, NULL, &error), "%s",
                 error != NULL ? error->message : "");
  f->totals = ls_update_totals (ls_update_run_update (f->run));
}

static void clear (Fixture *f) {
  ls_update_run_free (f->run);
  ls_workload_free (f->workload);
  ls_cluster_free (f->cluster);
  ls_config_free (f->config);
  ls_config_errors_free (f->errors);
  ls_config_schema_free (f->schema);
}

#define TIMED "workload: {model: {kind: timed, compute: {dist: constant, value: 1 s}, parameters: "

/* Four workers push 4 GB each at the same instant: the server's port takes 10 GB/s in all, so all end
 * 1.6 s later; then four models of 2 GB leave together, 0.8 s. A step of sync is 1 + 1.6 + 0.8 s. */
START_TEST (pushes_meet_at_the_server) {
  Fixture f = {0};

  run_text (&f,
            CLUSTER TIMED
            "1 G}, precision: {compute: bf16, parameters: bf16, communication: fp32}, "
            "parallel: {data: 4}, update: {policy: sync, servers: \"main[4]\"}, stop: "
            "{updates: 10}}\n",
            NULL, NULL);
  /* The tenth update ends with its pushes: 9 whole steps and 1 + 1.6 s. */
  ck_assert_double_eq_tol ((double) f.totals.end_ps / 1e12, 9 * 3.4 + 2.6, 1e-6);
  clear (&f);
}
END_TEST

/* A server needs no GPU: hosts with adapters of the same rate give the same times to the picosecond. */
START_TEST (servers_are_hosts_without_gpus) {
  static const char *const servers[] = {"gpu: h100-sxm-80gb, gpus: 1", "gpus: 0"};
  gint64 end_ps[2];
  double mean[2];

  for (guint i = 0; i < 2; i++) {
    Fixture f = {0};
    g_autofree char *text = g_strdup_printf (
        "cluster: {groups: {ps: {nodes: 2, node: {%s, nics: {compute: {rate: 80 Gb/s, count: 2}}, "
        "tuning: {protocol: ideal}}}, workers: {nodes: 4, node: {gpu: h100-sxm-80gb, gpus: 1, "
        "nics: "
        "{compute: {rate: 80 Gb/s, count: 1}}, tuning: {protocol: ideal}}}}, fabric: {kind: "
        "single-switch, link: 80 Gb/s, hop_latency: 0 s, efficiency: 100 %%}}\n"
        "workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, parameters: 1 "
        "G}, "
        "placement: workers, update: {policy: async, servers: {nodes: ps, shards: 3}}, stop: "
        "{updates: 200}}\n",
        servers[i]);

    run_text (&f, text, NULL, NULL);
    ck_assert_uint_eq (ls_cluster_n_gpus (f.cluster), i == 0 ? 6 : 4);
    end_ps[i] = f.totals.end_ps;
    mean[i] = f.totals.staleness_mean;
    clear (&f);
  }
  ck_assert_int_eq (end_ps[0], end_ps[1]);
  ck_assert_double_eq (mean[0], mean[1]);
}
END_TEST

/* One worker: push 0.4 s and model 0.2 s alone. */
START_TEST (one_worker_has_the_port_alone) {
  Fixture f = {0};

  run_text (&f,
            CLUSTER TIMED
            "1 G}, precision: {compute: bf16, parameters: bf16, communication: fp32}, "
            "parallel: {data: 1}, update: {policy: async, servers: \"main[4]\"}, stop: "
            "{updates: 10}}\n",
            NULL, NULL);
  ck_assert_double_eq_tol ((double) f.totals.end_ps / 1e12, 9 * 1.6 + 1.4, 1e-6);
  ck_assert_int_eq (f.totals.staleness_max, 0);
  clear (&f);
}
END_TEST

/* The answer carries the model of the instant: mean staleness n - 1 however long the way. Asked for after
 * an acknowledgement over a way with latency, fewer are in flight: below n - 1. */
START_TEST (an_answer_with_the_model_keeps_the_law) {
  const char *replies[] = {"model", "ack"};
  double mean[2];

  for (guint i = 0; i < 2; i++) {
    Fixture f = {0};
    g_autofree char *text = g_strconcat (
        CLUSTER
        "workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, parameters: "
        "250 M}, precision: fp32, parallel: {data: 4}, update: {policy: async, reply: ",
        replies[i], ", servers: {nodes: \"main[4]\", overhead: 100 ms}}, stop: {updates: 20000}}\n",
        NULL);
    run_text (&f, text, NULL, NULL);
    mean[i] = f.totals.staleness_mean;
    clear (&f);
  }
  ck_assert_double_eq_tol (mean[0], 3, 2e-3);
  ck_assert_double_lt (mean[1], 2.9);
}
END_TEST

typedef struct {
  gint64 read[4][2];
  guint torn, reads;
} Torn;

static void watch_reads (gpointer self, const LsUpdateRecord *r) {
  Torn *torn = self;

  if (r->operation == LS_UPDATE_READ && r->shard >= 0)
    torn->read[r->worker][r->shard] = r->version;
  if (r->operation != LS_UPDATE_GRADIENT)
    return;
  torn->reads++;
  torn->torn += torn->read[r->worker][0] != torn->read[r->worker][1] ? 1 : 0;
}

/* Two servers, one on the node of a worker: halves of a model are read at different instants. */
START_TEST (sharded_servers_give_torn_reads) {
  static const LsUpdateSink sink = {.update = watch_reads};
  Torn torn = {0};
  Fixture f = {0};

  run_text (&f,
            CLUSTER
            "workload: {model: {kind: timed, compute: {dist: exponential, mean: 1 s}, "
            "parameters: 1 G}, precision: fp32, parallel: {data: 4}, update: {policy: async, "
            "servers: {nodes: \"main[3-4]\", shards: 2}}, stop: {updates: 2000}}\n",
            &sink, &torn);
  ck_assert_uint_gt (torn.reads, 1900);
  ck_assert_uint_gt (torn.torn, 0);
  ck_assert_uint_eq (f.totals.updates, 2000);
  clear (&f);
}
END_TEST

/* Averages without a server. Of four replicas a ring sends 2 (n - 1) / n per worker at 10 GB/s, behind each step of 1 s: gradients
 * of 4 GB take 0.6 s, models of 2 GB 0.3 s, and 2 (n - 1) times that is sent in all. Two replicas that swap models: 0.2 s, both
 * ways at once, and 4 GB. */
START_TEST (averages_take_their_transfers) {
  static const struct {
    const char *update, *workers;
    double step_s, sent_bytes;
  } cases[] = {{"{policy: local-sgd, local_steps: 1}", "4", 1.3, 2 * 3 * 2e9},
               {"{policy: sync}", "4", 1.6, 2 * 3 * 4e9},
               {"{policy: gossip}", "2", 1.2, 2 * 2e9}};
  Fixture f = {0};
  g_autofree char *text = g_strconcat (
      CLUSTER TIMED "1 G}, precision: {compute: bf16, parameters: bf16, communication: fp32}, "
                    "parallel: {data: ",
      cases[_i].workers, "}, update: ", cases[_i].update, ", stop: {updates: 10}}\n", NULL);

  run_text (&f, text, NULL, NULL);
  ck_assert_double_eq_tol ((double) f.totals.end_ps / 1e12, 10 * cases[_i].step_s, 1e-6);
  ck_assert_double_eq_tol (ls_update_run_sent_bytes (f.run), 10 * cases[_i].sent_bytes, 1);
  clear (&f);
}
END_TEST

/* Every policy that a transformer can run under: the books close (asserted in the run). */
START_TEST (replicas_run_programs) {
  const char *policies[] = {"{policy: async, servers: \"main[0]\"}",
                            "{policy: ssp, staleness_bound: 1, servers: \"main[0]\"}",
                            "{policy: k-async, k: 2, servers: \"main[0]\"}",
                            "{policy: local-sgd, local_steps: 2}",
                            "{policy: sync, servers: \"main[0]\"}"};

  for (guint i = 0; i < G_N_ELEMENTS (policies); i++) {
    Fixture f = {0};
    g_autofree char *text = g_strdup_printf (
        "cluster: {nodes: 1, node: dgx-a100}\nworkload: {model: {kind: transformer, layers: 2, "
        "hidden: 256, heads: 4, vocab: 1000}, batch: {micro: 1, per_worker: 2, seq_len: 64}, "
        "parallel: "
        "{tensor: 2}, update: %s, stop: {samples: 40}}\n",
        policies[i]);
    run_text (&f, text, NULL, NULL);
    ck_assert_uint_eq (f.workload->update.spec.workers, 4);
    ck_assert_int_ge (f.totals.samples, 40);
    for (guint w = 0; w < 4; w++)
      ck_assert_int_ge (ls_update_clock (ls_update_run_update (f.run), w), 4);
    clear (&f);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, pushes_meet_at_the_server);
  tcase_add_test (tcase, servers_are_hosts_without_gpus);
  tcase_add_test (tcase, one_worker_has_the_port_alone);
  tcase_add_test (tcase, an_answer_with_the_model_keeps_the_law);
  tcase_add_test (tcase, sharded_servers_give_torn_reads);
  tcase_add_loop_test (tcase, averages_take_their_transfers, 0, 3);
  tcase_add_test (tcase, replicas_run_programs);
}

LS_TEST_MAIN ("update_net", add)
