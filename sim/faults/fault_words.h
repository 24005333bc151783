/* Words of `faults.failures`: what fails, and what that does to the job.
 */
#pragma once

#include <glib.h>

/* id, word, meaning. */
#define LS_COMPONENTS(X)                                                        \
  X (GPU, "gpu", "a GPU, whatever its fault")                                   \
  X (HBM, "hbm", "memory of a GPU")                                             \
  X (NVLINK, "nvlink", "links of a GPU inside its node")                        \
  X (NIC, "nic", "network adapters of a node")                                  \
  X (CABLE, "cable", "cables and transceivers of a node")                       \
  X (SWITCH, "switch", "a switch: its domain of nodes stops together")          \
  X (HOST, "host", "processor, memory, board, fans of a node")                  \
  X (POWER, "power", "a power domain: its nodes stop together")                 \
  X (STORAGE, "storage", "the storage service: the job stops, no node is lost") \
  X (SOFTWARE, "software", "the job's own software: it stops, no node is lost")

#define LS_ENUM_COMPONENT(id, word, meaning) LS_COMPONENT_##id,
typedef enum { LS_COMPONENTS (LS_ENUM_COMPONENT) LS_N_COMPONENTS } LsComponent;
const char *ls_component_name (LsComponent component);
const char *ls_component_meaning (LsComponent component);

#define LS_FAULT_EFFECTS(X)                                              \
  X (STOP, "stop", "the job stops and recovers as its policy says")      \
  X (SLOW, "slow", "the node computes more slowly until it is repaired") \
  X (RETRY, "retry", "the step in progress is done again after `retry`")
#define LS_ENUM_EFFECT(id, word, meaning) LS_EFFECT_##id,
typedef enum { LS_FAULT_EFFECTS (LS_ENUM_EFFECT) LS_N_EFFECTS } LsFaultEffect;
const char *ls_fault_effect_name (LsFaultEffect effect);
const char *ls_fault_effect_meaning (LsFaultEffect effect);
