/* What would be if one kind of thing were faster: a copy of a cluster with its rates multiplied.
 *
 * Model:      every rate of a cluster belongs to one knob. Compute scales matrix, vector and attention rates of the
 *             accelerators, memory their HBM; the rest are the factors of net/cluster.h, and software: kernel
 *             start-up, gaps, launches and host time per step. Latency and software factors multiply times. With all
 *             rates x f and both times / f a step takes 1/f of the time, but for the least ps.
 * Left out:   kernels whose times were measured (workload.software.kernels) keep them; capacities of memory (they
 *             change whether it fits, not the time), cores (host work has its own time).
 *
 * Ownership: a what-if owns its cluster, accelerators and software records; it outlives all that is built of them.
 */
#pragma once

#include "net/cluster.h"
#include "train/workload/workload.h"

/* id, word, what it is, TRUE: the factor is of times, and less is better. */
#define LS_KNOBS(X)                                                                         \
  X (COMPUTE, "compute", "speed of the GPUs' matrix and vector units", FALSE)               \
  X (HBM, "hbm", "bandwidth of the GPUs' memory", FALSE)                                    \
  X (LINK, "link", "links between the GPUs of a node", FALSE)                               \
  X (PCIE, "pcie", "PCIe and links between sockets", FALSE)                                 \
  X (NIC, "nic", "network adapters and their ports", FALSE)                                 \
  X (TRUNK, "trunk", "links between switches", FALSE)                                       \
  X (LATENCY, "latency", "latencies of communication", TRUE)                                \
  X (SOFTWARE, "software", "kernel start-up, gaps, launches and host time of a step", TRUE) \
  X (HOST, "host", "memory bandwidth and loader speed of the hosts", FALSE)                 \
  X (STORAGE, "storage", "bandwidth of storage and local drives", FALSE)

#define LS_ENUM_KNOB(id, word, what, times) LS_KNOB_##id,
typedef enum { LS_KNOBS (LS_ENUM_KNOB) LS_N_KNOBS } LsKnob;

const char *ls_knob_name (LsKnob knob);
const char *ls_knob_what (LsKnob knob);
gboolean ls_knob_is_of_times (LsKnob knob);

typedef struct LsWhatIf LsWhatIf;

/* `speedup`: by knob how many times faster, 1: as it is. Times are divided by it. */
LsWhatIf *ls_what_if_new (const LsCluster *cluster, const double speedup[LS_N_KNOBS]);
void ls_what_if_free (LsWhatIf *what_if);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsWhatIf, ls_what_if_free)

const LsCluster *ls_what_if_cluster (const LsWhatIf *what_if);
/* A copy of the workload with its software's times scaled (transfer full); freed before the what-if. */
LsWorkload *ls_what_if_workload (LsWhatIf *what_if, const LsWorkload *workload);
