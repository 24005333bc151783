/* Bytes of a layer's parameters on their way to the ranks that lack them (ZeRO stage 3).
 *
 * Model:      trained parameters of linear maps that multiply in a narrow format travel in that format where they are
 *             kept in it (precision.parameters: compute), all others (embedding, norms, biases, head) in the compute
 *             format; linear maps that are not trained in the narrower of what they are stored and gathered in.
 * source:     TransformerEngine, whose modules alone have Float8Tensors; torchao, float8/fsdp_utils.py (weights of
 *             Float8Linear).
 * Invariants: without a narrow format, parameters x bytes of the compute format.
 *
 * Ownership:  plain records.
 */
#pragma once

#include "train/layer/layer.h"
#include "train/workload/precision.h"

typedef struct {
  gint64 dense, experts;
} LsGatheredBytes;

LsGatheredBytes ls_gathered_bytes (const LsLayerPlan *plan, const LsPrecision *precision);
