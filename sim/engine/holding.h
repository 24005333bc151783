/* Which resources hold rates down, and for how long.
 *
 * Model:      every transfer that loads has one resource that sets its rate (sharing.h), or its own cap.
 *             A resource *saturates* for a tag (a job) while it sets the rate of any transfer of that
 *             tag, and *contends* while it sets one below what that transfer would have alone. Times are
 *             unions over transfers, so neither how many there are nor folding shows.
 * Cost:       O(1) per change of a rate; one record per resource and tag, touched when it is held.
 * Ownership:  belongs to the engine.
 */
#pragma once

#include "engine/engine.h"

typedef struct LsHoldings LsHoldings;

LsHoldings *ls_holdings_new (guint n_tags);
void ls_holdings_free (LsHoldings *holdings);
/* A transfer of `tag` (LS_NO_TAG: of none) changes at t from what it was held by to something else;
 * LS_NO_RESOURCE: nothing. */
void ls_holdings_change (LsHoldings *holdings, guint tag, guint n_resources, LsHold old,
                         LsHold new_, gint64 t_ps);
/* It was held by the resource at its own rate for so long, alone there. */
void ls_holdings_add (LsHoldings *holdings, guint tag, guint n_resources, guint resource,
                      gint64 ps);
LsHolding ls_holdings_get (const LsHoldings *holdings, guint tag, guint resource, gint64 now_ps);
