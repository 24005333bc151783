#pragma once
/* MIG: partitions of one GPU, what each gets, and where it may lie.
 *
 * Model:   a GPU has 8 memory slices (A30: 4) and 7 compute slices (A30: 4). An instance of a profile takes
 *          whole slices of memory (capacity, bandwidth, cache) from a start that the profile allows, and a
 *          number of SMs that its row gives: not 1/7 of all each, and fewer than all together.
 *          An instance is an accelerator of its own: rates of its SMs in proportion to how many they are, HBM
 *          in proportion to slices, no links, no peers.
 * Placing: instances in the order given, each at its start, or at the first that is free: what one wants to
 *          lie at few places (3g, 4g) is placed first, as with the driver.
 * Left out: compute instances inside a GPU instance (1c.3g), decoders, a part of the power for each.
 *
 * source: NVIDIA MIG User Guide r580, supported MIG profiles; SM counts as in each row.
 * Ownership: rows are static; an LsMig is counted by reference and owns its slices' accelerators. */
#include "hw/device.h"

#define LS_MIG_MOST_INSTANCES 7
#define LS_MIG_SLOTS 8

typedef struct {
  const char *name;    /* of the catalogue: "a100-40gb/1g.5gb" */
  const char *profile; /* "1g.5gb" */
  const char *gpus;    /* rows of accelerators.h, separated by spaces */
  const char *title;
  guint memory_slices, of_memory_slices; /* also the size of its placement */
  guint compute_slices, of_compute_slices;
  guint cache_slices; /* of of_memory_slices */
  int sms, of_sms;    /* of a GPU of so many; others in proportion, whole pairs */
  double usable_gib;  /* as the driver reports; 0: in proportion to slices */
  guint copy_engines;
  guint most;   /* instances of it on one GPU */
  guint starts; /* bit s: it may begin at memory slice s */
  const char *source;
  LsFactStatus sms_status;
  const char *sms_source;
  const char *notes; /* may be NULL */
} LsMigProfile;

guint ls_mig_profile_count (void);
const LsMigProfile *ls_mig_profile_get (guint i);
/* Profile `name` of this GPU. LS_ERROR_CONFIG: it has none called so, or no MIG; names those it has. */
const LsMigProfile *ls_mig_profile_find (const LsAccelerator *gpu, const char *name,
                                         GError **error);

/* One instance on one GPU. */
typedef struct {
  const LsMigProfile *profile;
  guint start; /* memory slice */
} LsMigPlace;

/* Places what `items` (ended by NULL) ask for on one GPU, ascending by start; LsMigPlace (transfer full).
 * An item is [N*]PROFILE[@START]; a single item without N and START means as many as fit. NULL and
 * LS_ERROR_CONFIG with the legal places when one cannot be. */
GArray *ls_mig_place (const LsAccelerator *gpu, const char *const *items, GError **error);

/* One device of a node whose GPUs are partitioned. */
typedef struct {
  guint gpu;    /* of the node */
  guint number; /* on its GPU, by start: "gpu0/mig2" */
  guint start;
  const LsMigProfile *profile;
  const LsAccelerator *accelerator; /* the slice; equal slices share it */
  LsDevice device;                  /* sustained clocks */
} LsMigInstance;

typedef struct {
  guint n_gpus, n; /* instances are numbered GPU by GPU */
  LsMigInstance *instances;
} LsMig;

/* `places`: GArray of LsMigPlace for each of n_gpus equal GPUs, at least one instance in each. */
LsMig *ls_mig_new (const LsAccelerator *gpu, GArray *const *places, guint n_gpus);
LsMig *ls_mig_ref (LsMig *mig);
void ls_mig_unref (LsMig *mig); /* NULL is allowed */
/* The first instance of a GPU. */
guint ls_mig_first (const LsMig *mig, guint gpu);
