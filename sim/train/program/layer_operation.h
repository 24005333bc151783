/* Single operations of a layer's plan as operations of a rank's program.
 *
 * Model:      kernels go on the compute stream, collectives on the stream of their group; compute waits for a
 *             collective before its next operation, or one later where the plan says that it overlaps.
 *             A collective that is cut into n pieces runs as a ring beside the n pieces of its matmul. With
 *             piece times m of the matmul and c of a message, both alone,
 *               all-gather then matmul:      matmul i starts when i-1 has ended and message i has come,
 *                                            message i when message i-1 has come;
 *               matmul then reduce-scatter:  message i starts when matmul i-1 and message i-1 have ended;
 *             either takes max (n m, m + (n - 1) c).
 *             source: Transformer Engine, CommOverlapP2PBase (split_overlap_ag, split_overlap_rs).
 * Invariants: a pair holds what both operations hold: claimed by its first kernel, released by its last.
 */
#pragma once

#include "train/program/builder.h"

/* What an operation holds while it runs and what stays behind. */
typedef struct {
  gint64 claim_bytes, release_bytes;
  gboolean in_part; /* it runs again as selective recompute would have it */
} LsClaims;

/* A collective of a layer behind the newest compute operation; nobody waits for it yet. */
LsMark ls_layer_write_collective (LsBuilder *builder, const LsLayerOp *op, LsPhaseName phase,
                                  LsClaims claims);
/* A kernel of the dispatcher's in the stream of its all-to-alls, behind the newest compute operation. Its blocks wait for
 * memory beside those of products, from which it takes half of the SMs (BESIDE_SHARE). */
LsMark ls_layer_write_beside (LsBuilder *builder, const LsLayerOp *op, LsPhaseName phase,
                              LsClaims claims);
/* What a layer's lists are written in, or noted down in to be written later beside others. */
typedef struct {
  const LsLayerOp *op; /* of a plan; NULL: what follows */
  LsPhaseName phase;
  LsClaims claims[2];
  gboolean overlaps;
  gboolean cut;     /* op[0] and op[1] in pieces */
  const char *name; /* of a delay, or of what only claims or releases; NULL: the end of a list */
  gint64 delay_ps;
  LsLabel layer; /* where it was noted down */
  /* On the host's stream, in place of a delay. */
  gint64 host_ps;
} LsLayerItem;

/* Writes it now; the last item of a list lets compute wait for what is deferred. */
LsMark ls_layer_item_write (LsBuilder *builder, const LsLayerItem *item, LsMark *deferred);
/* The same, or notes it down in the builder's script; the mark is invalid then. */
LsMark ls_layer_item_put (LsBuilder *builder, const LsLayerItem *item, LsMark *deferred);
