/* Models that are layer lists: residual networks and a small perceptron.
 *
 * Ownership: (transfer full).
 */
#pragma once

#include "train/model/models.h"

LsModel *ls_resnet_50_new (const char *name);
LsModel *ls_resnet_101_new (const char *name);
LsModel *ls_resnet_152_new (const char *name);
LsModel *ls_mlp_mnist_new (const char *name);
