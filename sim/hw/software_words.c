/* What tables of measurements write in their framework column, as software generations: words of it, and nothing else of the
 * row. Invariant: each word is in lower case, and each generation is in the catalogue. Cost: a few dozen searches of a line.
 * Leaves out: what the row's accelerator says of the year (cli/training_row.c). */
#include <string.h>

#include "base/assert.h"
#include "hw/catalogue.h"
#include "hw/software.h"

/* The first row whose words all occur wins, so the more special come first. */
static const struct {
  const char *words[3];
  const char *name;
} frameworks[] = {
    {{"megatron", "overlap switched off"}, "megatron-core-serial"},
    {{"megatron-core", NULL}, "megatron-core"},
    {{"megatron core", NULL}, "megatron-core"},
    {{"megatron-bridge", "26.06.01"}, "megatron-bridge-26.06.01"},
    {{"megatron-bridge", NULL}, "megatron-bridge"},
    /* The containers' own: docs.nvidia.com/nemo-framework, software component versions. */
    {{"nemo 24.09", NULL}, "nemo-2024-09"},
    {{"nemo 24.11", NULL}, "nemo-2024-09"},
    {{"nemo 24.12", NULL}, "nemo-2024-09"},
    {{"nemo 24.", NULL}, "nemo-2024"},
    {{"nemo", "training_results_v3.0"}, "nemo-2023-04"},
    {{"nemo", "training_results_v3.1"}, "nemo-2023"},
    {{"nemo", NULL}, "megatron-bridge"},
    {{"megatron-deepspeed", "feb 2022"}, "megatron-deepspeed-bigscience"},
    {{"megatron-deepspeed", NULL}, "megatron-deepspeed"},
    /* Megatron-LM under DeepSpeed's pipeline engine as well (its README). */
    {{"neox", NULL}, "megatron-deepspeed"},
    {{"megatron", "v1.0"}, "eager-2020"},
    {{"megatron", "2020"}, "megatron-2020"},
    {{"megatron", "2021"}, "megatron-2021"},
    {{"megatron", "2022"}, "megatron-2022"},
    {{"megatron", "deepspeed"}, "deepspeed-2021"},
    {{"torchtitan", "compile=false", "docs/performance.md"}, "pytorch-fsdp2-2024-04-eager"},
    {{"torchtitan", "compile=false"}, "pytorch-fsdp2-eager"},
    {{"torchtitan", "202412", "async_tp=true"}, "pytorch-fsdp2-2024-async-tp"},
    {{"torchtitan", "async_tp=true"}, "pytorch-fsdp2-async-tp"},
    {{"torchtitan", "202412"}, "pytorch-fsdp2-2024"},
    {{"torchtitan", NULL}, "pytorch-fsdp2"},
    {{"fsdp2", NULL}, "pytorch-fsdp2"},
    {{"composer", NULL}, "pytorch-fsdp-2.1"},
    {{"4d parallel", "fsdp"}, "meta-2024"},
    {{"fsdp", NULL}, "pytorch-fsdp-2.1"},
    /* Megatron-LM trains by Megatron-Core and Transformer Engine by default since release 0.7 (--use-mcore-models). */
    {{"megatron", "2024"}, "megatron-core"},
    {{"megatron", "2025"}, "megatron-core"},
    {{"megatron", "2026"}, "megatron-core"},
    {{"megatron", NULL}, "megatron-2022"},
};

const LsSoftware *ls_software_for_framework (const char *framework) {
  g_autofree char *text = g_ascii_strdown (framework != NULL ? framework : "", -1);
  const char *name = "generic";
  int row = ls_catalogue_row (&ls_software_catalogue, text);
  if (row >= 0)
    return ls_software_get ((guint) row);
  for (guint i = 0; i < G_N_ELEMENTS (frameworks); i++) {
    const char *const *words = frameworks[i].words;
    if (strstr (text, words[0]) != NULL && (words[1] == NULL || strstr (text, words[1]) != NULL) &&
        (words[2] == NULL || strstr (text, words[2]) != NULL)) {
      name = frameworks[i].name;
      break;
    }
  }
  row = ls_catalogue_row (&ls_software_catalogue, name);
  LS_REQUIRE (row >= 0, "no generation %s", name);
  return ls_software_get ((guint) row);
}
