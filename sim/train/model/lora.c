/* Which linear maps have adapters; see lora.h. */
#include "train/model/lora.h"

#include "base/assert.h"

const char *ls_lora_target_name (LsLoraTarget target) {
#define NAME_ENTRY(id, name) name,
  static const char *const names[] = {LS_LORA_TARGETS (NAME_ENTRY)};
#undef NAME_ENTRY

  LS_REQUIRE ((guint) target < LS_N_LORA_TARGETS, "target %d", (int) target);
  return names[target];
}

gboolean ls_lora_has (const LsLora *lora, LsLoraTarget target) {
  return lora->rank > 0 && (lora->targets & (1u << target)) != 0;
}

LsLoraTarget ls_lora_first (const LsLora *lora) {
  guint target = 0;

  LS_REQUIRE (lora->rank > 0 && lora->targets > 0, "no adapters");
  while (!ls_lora_has (lora, (LsLoraTarget) target))
    target++;
  return (LsLoraTarget) target;
}
