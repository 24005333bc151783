#pragma once
/* Network adapters and switches.
 * Ownership: rows and strings are static. */
#include <glib.h>

#include "hw/facts.h"

typedef struct {
  const char *name; /* "cx7-400" */
  const char *aliases;
  const char *title;
  double bytes_per_s;   /* one direction; 400 Gb/s = 50e9 */
  LsSourced efficiency; /* achieved by large messages / data sheet (headers, flow control) */
  LsSourced latency_s;  /* through the adapter, one way */
  /* Of a round of a collective: no less than step_s however small the message; fill_s more until c bytes
   * fill its buffers: fill_s x c / (c + fill_bytes). 0: what the protocol says. */
  LsSourced step_s, fill_s, fill_bytes;
  const char *source;
  LsFactStatus status;
} LsNic;

typedef struct {
  const char *name; /* "quantum2" */
  const char *aliases;
  const char *title;
  int ports;
  double port_bytes_per_s; /* one direction */
  LsSourced latency_s;     /* port to port */
  const char *source;
  LsFactStatus status;
} LsSwitch;

guint ls_nic_count (void);
const LsNic *ls_nic_get (guint i);
const LsNic *ls_nic_find (const char *name, GError **error);
gboolean ls_nic_fact (const LsNic *nic, guint i, LsFact *fact);

guint ls_switch_count (void);
const LsSwitch *ls_switch_get (guint i);
gboolean ls_switch_fact (const LsSwitch *row, guint i, LsFact *fact);
