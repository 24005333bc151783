/* What may be read from an engine; see engine.h. */
#include <string.h>

#include "engine/engine.h"
#include "engine/engine_private.h"
#include "engine/holding.h"

gint64 ls_engine_now_ps (const LsEngine *e) {
  return e->now_ps;
}

guint64 ls_engine_n_events (const LsEngine *e) {
  return e->n_events;
}

guint64 ls_engine_n_operations (const LsEngine *e) {
  return e->n_operations;
}

guint64 ls_engine_rank_operations (const LsEngine *e, guint rank) {
  const LsRankState *state = &g_array_index (e->ranks, LsRankState, rank);
  guint64 sum = 0;
  for (guint s = 0; s < state->n_streams; s++)
    sum += (guint64) g_array_index (e->streams, LsStream, state->first_stream + s).position;
  return sum;
}

guint ls_engine_n_ranks (const LsEngine *e) {
  return e->ranks->len;
}

guint ls_engine_n_resources (const LsEngine *e) {
  return e->resource_names->len;
}

const char *ls_engine_resource_name (const LsEngine *e, guint resource) {
  return g_ptr_array_index (e->resource_names, resource);
}

double ls_engine_resource_per_s (const LsEngine *e, guint resource) {
  return g_array_index (e->resource_per_s, double, resource);
}

double ls_engine_resource_carried (const LsEngine *e, guint resource) {
  LsInt128 carried = g_array_index (e->resource_carried, LsInt128, resource);
  return (double) carried / (double) LS_USAGE_ONE;
}

LsHolding ls_engine_holding (const LsEngine *e, guint tag, guint resource) {
  LS_REQUIRE (e->holdings != NULL, "nobody counts holdings");
  return ls_holdings_get (e->holdings, tag, resource, e->now_ps);
}

guint ls_engine_n_groups (const LsEngine *e) {
  return e->groups->len;
}

guint ls_engine_group_size (const LsEngine *e, guint group) {
  return g_array_index (e->groups, LsGroup, group).n;
}

guint ls_engine_group_axis (const LsEngine *e, guint group) {
  return g_array_index (e->groups, LsGroup, group).axis;
}

const guint32 *ls_engine_group_ranks (const LsEngine *e, guint group) {
  return g_array_index (e->groups, LsGroup, group).ranks;
}

static const LsRankState *rank_state (const LsEngine *e, guint rank) {
  return &g_array_index (e->ranks, LsRankState, rank);
}

LsProgram *ls_engine_rank_program (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->program;
}

guint ls_engine_rank_device (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->device;
}

void ls_engine_account (LsEngine *e, guint rank, gint64 *parts_ps) {
  const LsRankState *state = rank_state (e, rank);
  memcpy (parts_ps, state->parts_ps, sizeof state->parts_ps);
  /* Time not yet accounted: the running block, or an idle gap that has not ended. */
  parts_ps[e->idle_part] += e->now_ps - state->accounted_ps;
}

gint64 ls_engine_caused_wait_ps (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->caused_wait_ps;
}

LsInt128 ls_engine_all_caused_wait_ps (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->all_caused_ps;
}

gint64 ls_engine_bytes_sent (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->sent_bytes;
}

gint64 ls_engine_bytes_received (const LsEngine *e, guint rank) {
  return rank_state (e, rank)->received_bytes;
}

double ls_engine_flops (const LsEngine *e, guint rank) {
  return (double) rank_state (e, rank)->flops;
}

gint64 ls_engine_memory_peak (const LsEngine *e, guint rank, gint64 *by_kind) {
  static const LsRankMemory nothing; /* before the start */
  const LsRankMemory *memory = e->memory ? &e->memory[rank] : &nothing;
  gboolean now_is_peak = memory->total > memory->peak_total;
  if (by_kind)
    memcpy (by_kind, now_is_peak ? memory->now : memory->peak_by_kind, sizeof memory->now);
  return now_is_peak ? memory->total : memory->peak_total;
}

gint64 ls_engine_memory_now (const LsEngine *e, guint rank, guint kind) {
  return e->memory ? e->memory[rank].now[kind] : 0;
}

gsize ls_engine_rank_size_bytes (const LsEngine *e) {
  gsize streams = e->ranks->len ? (e->streams->len + e->ranks->len - 1) / e->ranks->len : 0;
  return sizeof (LsRankState) + sizeof (LsRankMemory) +
         streams * (sizeof (LsStream) + LS_HISTORY * sizeof (LsHistory));
}

static void check_memory (LsEngine *e, guint32 rank) {
  const LsRankState *state = rank_state (e, rank);
  gint64 sum = 0, parts = 0;
  for (guint k = 0; k < LS_MEMORY_KINDS; k++)
    sum += ls_engine_memory_now (e, rank, k);
  for (guint p = 0; p < LS_MAX_PARTS; p++)
    parts += state->parts_ps[p];
  LS_REQUIRE (!e->memory || sum == e->memory[rank].total,
              "rank %u: memory by kind does not sum to its total", rank);
  LS_REQUIRE (parts == state->accounted_ps, "rank %u: parts do not sum to the time accounted",
              rank);
  LS_REQUIRE (state->accounted_ps <= e->now_ps, "rank %u: accounted beyond now", rank);
}

static void check_device (const LsEngineDevice *device) {
  LS_REQUIRE (device->held >= 0, "SMs held below zero");
  LS_REQUIRE (device->hbm_used >= 0 && device->hbm_used <= (LsInt128) (device->hbm_rate / 2)
                                                               << LS_USAGE_BITS,
              "memory bandwidth of transfers out of range");
}

static void check_streams (LsEngine *e, guint32 rank) {
  const LsRankState *state = ls_rank_at (e, rank);
  guint n = 0;
  for (guint s = 0; s < state->n_streams; s++)
    n += ls_stream_at (e, rank, s)->state == LS_STREAM_RUNNING;
  LS_REQUIRE (n == state->n_running, "rank %u: %u streams run kernels, %u are counted", rank, n,
              state->n_running);
}

void ls_engine_check (LsEngine *e) {
  ls_event_queue_check (e->queue);
  ls_sharing_check (e->sharing);
  for (guint32 rank = 0; rank < e->ranks->len; rank++) {
    check_memory (e, rank);
    check_streams (e, rank);
  }
  for (guint32 d = 0; d < e->devices->len; d++)
    check_device (ls_device_at (e, d));
  ls_flights_check (e);
}
