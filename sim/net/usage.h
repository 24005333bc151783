/* Adds up how much of each resource the flows of a phase use.
 *
 * Model:      a dense vector of amounts and the list of touched entries; adding is O(1), taking the
 *             result O(k log k) for k touched. One accumulator serves many phases, one after another.
 * Invariants: amounts are per byte of the phase's progress; sent = received, in bytes per byte of
 *             progress over all members (conservation; tested), but where switches reduce or copy: m come in
 *             and one goes out, or one in and m out.
 */
#pragma once

#include <glib.h>

typedef struct {
  guint n; /* resources */
  double *amount;
  guint *touched;
  guint n_touched;
  double sent, received; /* by members, onto links */
} LsUsages;

/* One entry of the result. */
typedef struct {
  guint resource; /* number inside the topology, not the engine's */
  double amount;
} LsAmount;

void ls_usages_init (LsUsages *usages, guint n_resources);
void ls_usages_clear (LsUsages *usages); /* frees */
void ls_usages_add (LsUsages *usages, guint resource, double amount);
/* The entries by ascending resource, and empties the accumulator (transfer full: g_free). */
LsAmount *ls_usages_take (LsUsages *usages, guint *n_entries, double *sent, double *received);
