/* Names of the shared vocabulary: tables made from the X-macros of the header. */
#include "train/vocabulary.h"

#include "base/assert.h"

#define NAME_ENTRY(id, name) name,

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

const char *ls_memory_name (LsMemoryKind kind) {
  static const char *const names[] = {LS_MEMORY (NAME_ENTRY)};

  LS_REQUIRE ((guint) kind < LS_N_MEMORY, "memory kind %d", (int) kind);
  return names[kind];
}
