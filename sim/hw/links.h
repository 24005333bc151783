#pragma once
/* Links between devices of one node: NVLink, Infinity Fabric, ICI, PCIe.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/facts.h"

/* What carries the link, as protocol constants differ by it. */
typedef enum {
  LS_LINK_NVLINK,
  LS_LINK_XGMI,
  LS_LINK_ICI,
  LS_LINK_PCIE,
  LS_LINK_C2C,
  LS_LINK_SOCKET
} LsLinkKind;

typedef struct {
  const char *name; /* "nvlink4", "pcie5" */
  const char *aliases;
  const char *title;
  LsLinkKind kind;
  double bytes_per_s;   /* ONE link, ONE direction, data sheet (PCIe: x16) */
  LsSourced efficiency; /* achieved by large messages / data sheet */
  LsSourced latency_s;  /* one hop, device to device, without software */
  const char *source;
  LsFactStatus status;
  const char *notes;
} LsLink;

guint ls_link_count (void);
const LsLink *ls_link_get (guint i);
const LsLink *ls_link_find (const char *name, GError **error);
/* The row of PCIe generation 3..6, NULL for others. */
const LsLink *ls_link_pcie (int generation);
/* All links together between two processors of a host of that PCIe generation. */
const LsLink *ls_link_socket (int pcie_generation);
gboolean ls_link_fact (const LsLink *link, guint i, LsFact *fact);
