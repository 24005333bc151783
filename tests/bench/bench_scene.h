/* Runs that several sections measure. */
#pragma once

#include "train/run/summary.h"

typedef struct {
  LsCluster *cluster;
  LsWorkload *workload;
  LsJob *job;
  LsSimulation *simulation;
} BenchScene;

/* A pod of DGX A100s with a GPT in bf16 (16-bit), tensor x data x pipeline, m micro-batches. */
void bench_scene_gpt (BenchScene *scene, const char *model, guint t, guint d, guint p, gint64 m,
                      gboolean recompute);
/* Llama-2-7B under ZeRO stage 3 on DGX H100s; every kernel jittered by up to 10 % when `jitter`. */
void bench_scene_fsdp (BenchScene *scene, guint ranks, gboolean jitter);
void bench_scene_clear (BenchScene *scene);
/* Runs it; CPU seconds of the run alone. */
double bench_scene_run (BenchScene *scene);
