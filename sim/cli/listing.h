/* What `lockstep list` can show: kinds of things, each a table of rows with facts.
 *
 * Ownership: a listing owns its rows; facts point to static catalogue text.
 */
#pragma once

#include <glib.h>

#include "hw/facts.h"

G_BEGIN_DECLS

typedef struct {
  char *name;
  char *title;
  char *aliases; /* separated by spaces, may be "" */
  char *notes;   /* may be NULL */
  char *figures; /* the numbers that people choose by, may be NULL */
  GArray *facts; /* of LsFact */
} LsListRow;

/* Names of all kinds with a line about each: array of LsListRow *. */
GPtrArray *ls_listing_kinds (void);
/* The rows of a kind, in their own order; NULL and LS_ERROR_USAGE with a suggestion for an unknown
 * one (transfer full). */
GPtrArray *ls_listing_rows (const char *kind, GError **error);
/* The row that @name or an alias means, with the keys below it when it is a key; else the rows whose
 * names have @name in them (transfer container). NULL and LS_ERROR_USAGE with a suggestion when there
 * are none. */
GPtrArray *ls_listing_choose (const GPtrArray *rows, const char *kind, const char *name,
                              GError **error);

G_END_DECLS
