/* One operation of one group on the engine, nothing beside it. */
#pragma once

#include "net/net.h"

gint64 group_run_ps (const LsCluster *cluster, const guint *gpus, guint n,
                     const LsDescriptor *descriptor, LsNetModel model);
