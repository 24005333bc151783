/* Names of words; see workload_words.h. */
#include "train/workload/workload_words.h"

#include "base/assert.h"

#define NAME_ENTRY(id, name) name,

const char *ls_share_name (LsShare share) {
  static const char *const names[] = {LS_SHARES (NAME_ENTRY)};

  LS_REQUIRE ((guint) share < LS_N_SHARES, "share %d", (int) share);
  return names[share];
}

const char *ls_offload_name (LsOffload offload) {
  static const char *const names[] = {LS_OFFLOADS (NAME_ENTRY)};

  LS_REQUIRE ((guint) offload < LS_N_OFFLOADS, "offload %d", (int) offload);
  return names[offload];
}

const char *ls_context_kind_name (LsContextKind kind) {
  static const char *const names[] = {LS_CONTEXT_KINDS (NAME_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_CONTEXT_KINDS, "context kind %d", (int) kind);
  return names[kind];
}

const char *ls_context_overlap_name (LsContextOverlap overlap) {
  static const char *const names[] = {LS_CONTEXT_OVERLAPS (NAME_ENTRY)};

  LS_REQUIRE ((guint) overlap < LS_N_CONTEXT_OVERLAPS, "overlap %d", (int) overlap);
  return names[overlap];
}

const char *ls_tensor_overlap_name (LsTensorOverlap overlap) {
  static const char *const names[] = {LS_TENSOR_OVERLAPS (NAME_ENTRY)};

  LS_REQUIRE ((guint) overlap < LS_N_TENSOR_OVERLAPS, "overlap %d", (int) overlap);
  return names[overlap];
}

const char *ls_expert_dispatch_name (LsExpertDispatch dispatch) {
  static const char *const names[] = {LS_EXPERT_DISPATCHES (NAME_ENTRY)};

  LS_REQUIRE ((guint) dispatch < LS_N_EXPERT_DISPATCHES, "dispatch %d", (int) dispatch);
  return names[dispatch];
}

const char *ls_recompute_mode_name (LsRecomputeMode mode) {
  static const char *const names[] = {LS_RECOMPUTE_MODES (NAME_ENTRY)};

  LS_REQUIRE ((guint) mode < LS_N_RECOMPUTE_MODES, "mode %d", (int) mode);
  return names[mode];
}

const char *ls_recompute_unit_name (LsRecomputeUnit unit) {
  static const char *const names[] = {LS_RECOMPUTE_UNITS (NAME_ENTRY)};

  LS_REQUIRE ((guint) unit < LS_N_RECOMPUTE_UNITS, "unit %d", (int) unit);
  return names[unit];
}

char *ls_layers_dealt_text (guint layers, guint stages) {
  GString *text = g_string_new ("[");

  for (guint i = 0; i < stages; i++)
    g_string_append_printf (text, "%s%u", i > 0 ? ", " : "",
                            layers / stages + (i < layers % stages ? 1 : 0));
  return g_string_free (g_string_append_c (text, ']'), FALSE);
}
