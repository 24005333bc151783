#pragma once
/* All catalogues of this part behind one interface, for `lockstep list KIND`, help and tests.
 * Ownership: everything is static. */
#include <glib.h>

#include "hw/facts.h"

typedef struct {
  const char *noun; /* for messages: "GPU", "node", ... */
  const char *kind; /* "gpus", "nodes", "links", "nics", "switches", "formats", "software", "mig" */
  const char *summary; /* one line for help */
  guint (*count) (void);
  const char *(*name) (guint row);
  const char *(*title) (guint row);
  const char *(*aliases) (guint row); /* separated by spaces; may be "" */
  const char *(*notes) (guint row);   /* may be NULL */
  gboolean (*fact) (guint row, guint i, LsFact *fact);
} LsCatalogue;

extern const LsCatalogue ls_gpu_catalogue, ls_node_catalogue, ls_link_catalogue, ls_nic_catalogue,
    ls_switch_catalogue, ls_format_catalogue, ls_software_catalogue, ls_mig_catalogue;

guint ls_catalogue_count (void);
const LsCatalogue *ls_catalogue_get (guint i);
/* The catalogue of a kind, NULL when there is none. */
const LsCatalogue *ls_catalogue_find (const char *kind);
/* Row of a name or alias in a catalogue ('_' and ' ' count as '-', case does not count), or -1. */
int ls_catalogue_row (const LsCatalogue *catalogue, const char *name);
/* The name or alias that an unknown name is nearest to, NULL: none (transfer full). */
char *ls_catalogue_nearest (const LsCatalogue *catalogue, const char *name);
/* Row of a name, and an unknown name sets LS_ERROR_CONFIG: what is unknown, the nearest name, the kind. */
int ls_catalogue_lookup (const LsCatalogue *catalogue, const char *name, GError **error);
