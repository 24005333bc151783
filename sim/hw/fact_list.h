#pragma once
/* A short list of facts under construction: every catalogue collects the facts of a row into one and
 * hands out the wanted one. For the catalogues' own files only. */
#include "hw/facts.h"

typedef struct {
  LsFact facts[64];
  guint n;
} LsFactList;

void ls_fact_list_add (LsFactList *list, const char *field, LsDimension dimension, double value,
                       LsFactStatus status, const char *source);
void ls_fact_list_add_sourced (LsFactList *list, const char *field, LsDimension dimension,
                               const LsSourced *sourced);
/* NULL text is left out. */
void ls_fact_list_add_text (LsFactList *list, const char *field, const char *text,
                            LsFactStatus status, const char *source);
/* Copies fact i; FALSE past the last. */
gboolean ls_fact_list_get (const LsFactList *list, guint i, LsFact *fact);
