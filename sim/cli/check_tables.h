/* What `lockstep check` prints about a scenario: a card, memory per pipeline stage, the layout.
 *
 * Each function appends text to @out, or the same as JSON members to an open object, about one job
 * of the scenario.
 */
#pragma once

#include "cli/json.h"
#include "cli/scenario.h"
#include "train/memory/memory.h"

G_BEGIN_DECLS

/* A few lines: cluster, model, layout, batch. */
void ls_check_card (GString *out, const LsScenario *scenario, guint job);
/* One row per stage, and the verdict. */
void ls_check_memory (GString *out, const LsScenario *scenario, guint job);
void ls_check_memory_json (LsJson *json, const LsScenario *scenario, guint job);
/* One row per rank: node, GPU, coordinates, layers, groups. */
void ls_check_layout (GString *out, const LsScenario *scenario, guint job);
void ls_check_layout_json (LsJson *json, const LsScenario *scenario, guint job);
/* Nodes, links and fabrics; as text: ls_net_describe(). */
void ls_check_topology_json (LsJson *json, const LsScenario *scenario);

/* The links from one GPU ("5" or "main[0]/gpu5") to another, as text or a JSON document; NULL and
 * LS_ERROR_USAGE when there is no such GPU (transfer full). */
char *ls_check_route (const LsScenario *scenario, const char *a, const char *b, gboolean json,
                      GError **error);

G_END_DECLS
