/* Attention whose sequence is split over a context group; see layer_context.c (internal to layer plans). */
#pragma once

#include "train/layer/layer_builder.h"

/* One layer's attention on one tensor rank. */
typedef struct {
  gint64 heads, kv_heads, head_dim, value_dim;
  gint64 query_width;     /* elements per token of the queries, */
  gint64 output_width;    /* of the output, */
  gint64 key_value_width; /* of keys and values together */
  gboolean causal, dropout;
  gint64 window; /* keys that a query sees; 0: all before it; not with a ring */
} LsContextAttention;

/* What stands between the projections: messages, attention kernels, merging. Only with context > 1. */
void ls_context_forward (LsLayerBuilder *builder, const LsContextAttention *attention);
void ls_context_backward (LsLayerBuilder *builder, const LsContextAttention *attention);
