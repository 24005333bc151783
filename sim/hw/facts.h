#pragma once
/* Where a number comes from.
 *
 * Every number of a catalogue can be asked for its provenance: a status and a sentence. LsFact is the
 * form in which `lockstep list KIND --verbose` and the tests see all catalogues alike; LsSourced is a
 * constant that carries its own provenance (the fitted ones do).
 * Ownership: all strings are static; nothing here is freed. */
#include <glib.h>

#include "base/quantity.h"

/* id, word, meaning. */
#define LS_FACT_STATUSES(X)                                                           \
  X (FOUND, "found", "read in the named source")                                      \
  X (RECALLED, "recalled", "general product knowledge, not checked against a source") \
  X (DERIVED, "derived", "computed from other facts as the source line says")         \
  X (FITTED, "fitted", "chosen so that the named measurements are reproduced")        \
  X (ASSUMED, "assumed", "a stated assumption without a measurement")

typedef enum {
#define LS_FACT_STATUS_ID(id, word, meaning) LS_FACT_##id,
  LS_FACT_STATUSES (LS_FACT_STATUS_ID)
#undef LS_FACT_STATUS_ID
      LS_N_FACT_STATUSES
} LsFactStatus;

/* A constant with its provenance. */
typedef struct {
  double value;
  LsFactStatus status;
  const char *source;
} LsSourced;

/* One number (or, where text is not NULL, one word) of one catalogue row. Values are in SI base units
 * of their dimension: bytes, seconds, bytes/s, flop/s, watts, 1. */
typedef struct {
  const char *field;
  double value;
  const char *text;
  LsDimension dimension;
  LsFactStatus status;
  const char *source;
} LsFact;

/* The word of a status: "found", "recalled", ... */
const char *ls_fact_status_name (LsFactStatus status);
/* What the word promises. */
const char *ls_fact_status_meaning (LsFactStatus status);
