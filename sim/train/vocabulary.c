/* Names of the shared vocabulary: tables made from the X-macros of the header. */
#include "train/vocabulary.h"

#include "base/assert.h"

#define NAME_ENTRY(id, name) name,
#define KIND_ENTRY(id, name, class) name,
#define CLASS_ENTRY(id, name, class) class,

const char *ls_part_name (LsPart part) {
  static const char *const names[] = {LS_PARTS (NAME_ENTRY)};

  LS_REQUIRE ((guint) part < LS_N_PARTS, "part %d", (int) part);
  return names[part];
}

const char *ls_axis_name (LsAxis axis) {
  static const char *const names[] = {LS_AXES (NAME_ENTRY)};

  LS_REQUIRE ((guint) axis < LS_N_AXES, "axis %d", (int) axis);
  return names[axis];
}

const char *ls_phase_name (LsPhaseName phase) {
  static const char *const names[] = {LS_PHASES (NAME_ENTRY)};

  LS_REQUIRE ((guint) phase < LS_N_PHASES, "phase %d", (int) phase);
  return names[phase];
}

const char *ls_kind_name (LsKind kind) {
  static const char *const names[] = {LS_KINDS (KIND_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_KINDS, "kind %d", (int) kind);
  return names[kind];
}

const char *ls_kind_class (LsKind kind) {
  static const char *const names[] = {LS_KINDS (CLASS_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_KINDS, "kind %d", (int) kind);
  return names[kind];
}

const char *ls_memory_name (LsMemoryKind kind) {
  static const char *const names[] = {LS_MEMORY (NAME_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_MEMORY, "memory kind %d", (int) kind);
  return names[kind];
}
