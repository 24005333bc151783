/* Lists of facts under construction; see fact_list.h.
 *
 * A list has room for 64 facts, more than any row has; running over is a bug and asserts. */
#include "hw/fact_list.h"

#include "base/assert.h"

static LsFact *append (LsFactList *list) {
  LS_REQUIRE (list->n < G_N_ELEMENTS (list->facts), "more than %u facts in one row", list->n);
  return &list->facts[list->n++];
}

void ls_fact_list_add (LsFactList *list, const char *field, LsDimension dimension, double value,
                       LsFactStatus status, const char *source) {
  *append (list) = (LsFact){
      .field = field, .value = value, .dimension = dimension, .status = status, .source = source};
}

void ls_fact_list_add_sourced (LsFactList *list, const char *field, LsDimension dimension,
                               const LsSourced *sourced) {
  ls_fact_list_add (list, field, dimension, sourced->value, sourced->status, sourced->source);
}

void ls_fact_list_add_text (LsFactList *list, const char *field, const char *text,
                            LsFactStatus status, const char *source) {
  if (text == NULL)
    return;
  *append (list) = (LsFact){.field = field,
                            .text = text,
                            .dimension = LS_DIMENSION_NONE,
                            .status = status,
                            .source = source};
}

gboolean ls_fact_list_get (const LsFactList *list, guint i, LsFact *fact) {
  if (i >= list->n)
    return FALSE;
  *fact = list->facts[i];
  return TRUE;
}
