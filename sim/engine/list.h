/* Lists that grow and shrink at every event: a push or a pop is a few instructions here and a call in GArray, and
 * there are some five per event (an eighth of all instructions of a pipeline's run).
 *
 * Ownership: plain records; whoever has one frees its data with g_free (). Zeros are an empty list.
 */
#pragma once

#include <glib.h>

/* Room for more; returns where the elements are now. */
gpointer ls_list_grow (gpointer data, guint32 *size, gsize element);

#define LS_LIST(Name, name, Type)                                         \
  typedef struct {                                                        \
    Type *data;                                                           \
    guint32 len, size;                                                    \
  } Name;                                                                 \
  static inline void name##_push (Name *list, Type element) {             \
    if (G_UNLIKELY (list->len == list->size))                             \
      list->data = ls_list_grow (list->data, &list->size, sizeof (Type)); \
    list->data[list->len++] = element;                                    \
  }                                                                       \
  static inline Type name##_pop (Name *list) {                            \
    return list->data[--list->len];                                       \
  }

LS_LIST (LsNumbers, ls_numbers, guint32)
