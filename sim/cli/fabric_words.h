/* What the words of a table say of the adapters between nodes: "8x400 Gbit/s HDR per node", "RoCE 1600 Gbit/s per node",
 * "InfiniBand, 400 Gb/s per GPU", "4x NDR", "100GbE".
 *
 * Model:      the first rate in Gbit/s that is written down ("GB/s" is no such: bytes, of the links inside), with the number
 *             before an x as adapters of the node; "per GPU" is one for each; "per node" without a number is their sum: one
 *             adapter up to 400 Gbit/s, else one for each GPU. Without a rate that of the generation of InfiniBand (EDR 100,
 *             HDR 200, NDR 400, XDR 800). The kind is the adapter of the catalogue that is nearest in rate among those that
 *             a word names: EFA, TCPX, Slingshot, Omni-Path, RoCE, InfiniBand, Ethernet (of 100 Gbit/s and more: as RoCE).
 * Left out:   a second network in the same words (storage), oversubscription.
 * Ownership:  adapters are rows of the catalogue.
 */
#pragma once

#include "hw/nics.h"

G_BEGIN_DECLS

typedef struct {
  /* Adapters of a node, 0: not said */
  guint count;
  /* Of one of them, 0: not said */
  double gbit_s;
  /* NULL: no word for a kind */
  const LsNic *nic;
} LsFabricWords;

/* @gpus: those of a node. @usual_gbit_s: the rate of an adapter where the words say none. */
LsFabricWords ls_fabric_words (const char *fabric, guint gpus, double usual_gbit_s);

G_END_DECLS
