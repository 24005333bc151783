/* The catalogues, walked: every number positive and sane, every name unique and found, every number with a
 * source, and the ratios between numbers that the data sheets imply. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "hw/accelerators.h"
#include "hw/catalogue.h"
#include "hw/nodes.h"
#include "run.h"

/* All names of a row: its own and its aliases. */
static GPtrArray *names_of (const LsCatalogue *catalogue, guint row) {
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (names, g_strdup (catalogue->name (row)));
  g_auto (GStrv) words = g_strsplit (catalogue->aliases (row), " ", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0')
      g_ptr_array_add (names, g_strdup (*word));
  return names;
}

/* Each name leads back to its own row, so none is used twice; names are lower case, for typing. */
START_TEST (names_are_unique) {
  for (guint c = 0; c < ls_catalogue_count (); c++) {
    const LsCatalogue *catalogue = ls_catalogue_get (c);
    ck_assert_ptr_eq (ls_catalogue_find (catalogue->kind), catalogue);
    ck_assert_uint_gt (catalogue->count (), 0);
    for (guint row = 0; row < catalogue->count (); row++) {
      g_autoptr (GPtrArray) names = names_of (catalogue, row);
      for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index (names, i);
        ck_assert_msg (ls_catalogue_row (catalogue, name) == (int) row, "%s %s is not unique",
                       catalogue->kind, name);
        g_autofree char *lower = g_ascii_strdown (name, -1);
        ck_assert_str_eq (lower, name);
      }
    }
  }
  ck_assert_ptr_null (ls_catalogue_find ("toasters"));
}
END_TEST

static void check_fact (const LsCatalogue *catalogue, const char *row, const LsFact *fact) {
  ck_assert_msg (fact->field != NULL && *fact->field != '\0', "%s %s: no field", catalogue->kind,
                 row);
  ck_assert_msg (fact->source != NULL && *fact->source != '\0', "%s %s %s: no source",
                 catalogue->kind, row, fact->field);
  ck_assert_uint_lt (fact->status, LS_N_FACT_STATUSES);
  if (fact->text == NULL)
    ck_assert_msg (isfinite (fact->value) && fact->value >= 0, "%s %s %s = %g", catalogue->kind,
                   row, fact->field, fact->value);
  if (fact->dimension == LS_DIMENSION_FRACTION)
    ck_assert_msg (fact->value <= 1, "%s %s %s = %g", catalogue->kind, row, fact->field,
                   fact->value);
}

START_TEST (every_number_has_a_source) {
  for (guint c = 0; c < ls_catalogue_count (); c++) {
    const LsCatalogue *catalogue = ls_catalogue_get (c);
    for (guint row = 0; row < catalogue->count (); row++) {
      LsFact fact;
      guint i = 0;
      ck_assert_str_ne (catalogue->title (row), "");
      while (catalogue->fact (row, i, &fact)) {
        check_fact (catalogue, catalogue->name (row), &fact);
        i++;
      }
      ck_assert_msg (i >= 3, "%s %s has %u facts", catalogue->kind, catalogue->name (row), i);
    }
  }
}
END_TEST

/* Bounds that no accelerator of these years leaves: a unit mistaken (GB for GiB is not one of these, bits for
 * bytes and TB for GB are) falls outside. */
START_TEST (accelerators_are_sane) {
  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *row = ls_accelerator_get (i);
    double nominal = (double) row->hbm_nominal_bytes;
    ck_assert_msg (row->tuning != NULL, "%s", row->name);
    ck_assert_msg (row->hbm_bytes_per_s >= 200e9 && row->hbm_bytes_per_s <= 10e12, "%s", row->name);
    ck_assert_msg (nominal >= 15e9 && nominal <= 300e9, "%s", row->name);
    /* The runtime sees between 8 % less than the label (GDDR with ECC) and 7.4 % more (GiB for GB). */
    double seen = (double) row->hbm_bytes / nominal;
    ck_assert_msg (seen > 0.92 && seen < 1.075, "%s: sees %.3f of its label", row->name, seen);
    ck_assert_msg (row->sms >= 1 && row->sms <= 400, "%s", row->name);
    ck_assert_msg (row->tdp_w >= 50 && row->tdp_w <= 1500, "%s", row->name);
    ck_assert_msg (row->vector_flops_per_s >= 1e12 && row->vector_flops_per_s <= 200e12, "%s",
                   row->name);
    ck_assert_msg ((row->link == NULL) == (row->links == 0), "%s", row->name);
    /* Machine balance, flop per byte of HBM at 16 bits: 37 (H20) to 574 (TPU v6e). */
    double balance = ls_accelerator_peak (row, LS_FORMAT_FP16) / row->hbm_bytes_per_s;
    ck_assert_msg (balance > 30 && balance < 600, "%s: %g flop per byte", row->name, balance);
  }
}
END_TEST

/* Where both have a matrix path, halving the width doubles the dense rate: tf32 : 16 bit : fp8 = 1 : 2 : 4 on
 * NVIDIA and AMD (0.5 % for rounded data sheets); TPU v5p runs fp8 as bf16 Gaudi 3 too, and RTX 4090's tf32 is its fp32
 * rate, so those are their own. A sparse number among dense ones breaks this. */
START_TEST (peaks_are_dense) {
  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *row = ls_accelerator_get (i);
    const double *peak = row->peak_flops_per_s;
    if (strcmp (row->architecture, "TPU") == 0 || strcmp (row->architecture, "Gaudi") == 0)
      continue;
    double half = peak[LS_FORMAT_FP16];
    if (peak[LS_FORMAT_BF16] > 0)
      ck_assert_msg (peak[LS_FORMAT_BF16] == half, "%s", row->name);
    if (peak[LS_FORMAT_FP8_E4M3] > 0)
      ck_assert_msg (fabs (peak[LS_FORMAT_FP8_E4M3] / half - 2) < 0.03, "%s", row->name);
    if (peak[LS_FORMAT_TF32] > 0)
      ck_assert_msg (fabs (half / peak[LS_FORMAT_TF32] - 2) < 0.03, "%s", row->name);
  }
}
END_TEST

/* A device's link rate is the number of links times the rate of one, exactly. */
START_TEST (links_add_up) {
  for (guint i = 0; i < ls_accelerator_count (); i++) {
    const LsAccelerator *row = ls_accelerator_get (i);
    if (row->link == NULL)
      continue;
    g_autoptr (GError) error = NULL;
    const LsLink *link = ls_link_find (row->link, &error);
    ck_assert_msg (link != NULL, "%s: %s", row->name, row->link);
    ck_assert_msg (fabs (row->links * link->bytes_per_s / row->link_bytes_per_s - 1) < 1e-12,
                   "%s: %d links of %g", row->name, row->links, link->bytes_per_s);
  }
}
END_TEST

/* Rates of the data sheets, printed both ways round: "NVLink 900 GB/s" is both directions of 18 links. */
START_TEST (known_rates) {
  const struct {
    const char *gpu;
    double link_both_ways, half_peak, hbm;
  } known[] = {{"v100", 300e9, 125e12, 900e9},
               {"a100", 600e9, 312e12, 2039e9},
               {"a100-40gb", 600e9, 312e12, 1555e9},
               {"h100", 900e9, 989.4e12, 3350e9},
               {"h200", 900e9, 989e12, 4800e9},
               {"b200", 1800e9, 2250e12, 8000e9},
               {"mi300x", 896e9, 1307.4e12, 5300e9},
               {"t4", 0, 65e12, 320e9},
               {"l4", 0, 121e12, 300e9},
               {"l40s", 0, 362e12, 864e9},
               {"rtx4090", 0, 165.2e12, 1008e9},
               {"a30", 200e9, 165e12, 933e9},
               {"a40", 112.5e9, 149.7e12, 696e9},
               {"a800", 400e9, 312e12, 2039e9},
               {"h800", 400e9, 989.4e12, 3350e9},
               {"h20", 900e9, 148e12, 4000e9},
               {"mi355x", 1071e9, 2500e12, 8000e9},
               {"gaudi2", 600e9, 432e12, 2460e9},
               {"b300", 1800e9, 2250e12, 8000e9},
               {"tpu-v4", 540e9, 275e12, 1200e9}};
  for (guint i = 0; i < G_N_ELEMENTS (known); i++) {
    const LsAccelerator *row = ls_accelerator_find (known[i].gpu, NULL);
    ck_assert_msg (row != NULL, "%s", known[i].gpu);
    ck_assert (2 * row->link_bytes_per_s == known[i].link_both_ways);
    ck_assert (ls_accelerator_peak (row, LS_FORMAT_FP16) == known[i].half_peak);
    ck_assert (row->hbm_bytes_per_s == known[i].hbm);
  }
}
END_TEST

START_TEST (nodes_refer_to_rows) {
  for (guint i = 0; i < ls_node_count (); i++) {
    const LsNode *node = ls_node_get (i);
    const LsAccelerator *gpu = ls_accelerator_find (node->gpu, NULL);
    ck_assert_msg (gpu != NULL, "%s: no GPU %s", node->name, node->gpu);
    ck_assert_msg (ls_nic_find (node->nic, NULL) != NULL, "%s: no NIC %s", node->name, node->nic);
    ck_assert_msg (ls_link_pcie (node->pcie_generation) != NULL, "%s", node->name);
    ck_assert_msg ((node->link == NULL) == (node->joint == LS_JOINT_NONE), "%s", node->name);
    ck_assert_msg ((node->switches > 0) == (node->joint == LS_JOINT_SWITCH), "%s", node->name);
    if (node->link != NULL)
      ck_assert_msg (g_strcmp0 (node->link, gpu->link) == 0, "%s: %s but its GPU has %s",
                     node->name, node->link, gpu->link);
    ck_assert_msg ((node->joint == LS_JOINT_BRIDGE) == gpu->link_is_bridge, "%s", node->name);
    ck_assert_msg (node->gpus >= 1 && node->nics >= 1 && node->host_cores >= 8, "%s", node->name);
    ck_assert_msg (node->gpus % node->gpus_per_pcie_root == 0, "%s", node->name);
    ck_assert_msg (node->host_memory_bytes_per_s > 100e9 && node->host_memory_bytes > 64e9, "%s",
                   node->name);
  }
}
END_TEST

/* Accelerators that come eight to a board have a node of eight, so that a row of a table that names one is predicted. */
START_TEST (boards_of_eight_are_nodes) {
  static const char *const gpus[] = {
      "a100-sxm-40gb",  "a100-sxm-80gb", "a800-sxm-80gb", "h100-sxm-80gb",  "h100-sxm-96gb",
      "h200-sxm-141gb", "h800-sxm-80gb", "h20-sxm-96gb",  "b200-sxm-180gb", "b300-sxm-288gb",
      "mi300x-192gb",   "mi325x-256gb",  "mi355x-288gb"};

  for (guint i = 0; i < G_N_ELEMENTS (gpus); i++) {
    gboolean found = FALSE;
    for (guint n = 0; n < ls_node_count (); n++)
      found = found || (g_str_equal (ls_node_get (n)->gpu, gpus[i]) && ls_node_get (n)->gpus == 8);
    ck_assert_msg (found, "%s", gpus[i]);
  }
}
END_TEST

/* Every device uses exactly its links, and a link has two ends. */
START_TEST (meshes_use_all_links) {
  for (guint n = 0; n < ls_node_count (); n++) {
    const LsNode *node = ls_node_get (n);
    if (node->joint != LS_JOINT_CUBE_MESH && node->joint != LS_JOINT_FULL_MESH)
      continue;
    const LsAccelerator *gpu = ls_accelerator_find (node->gpu, NULL);
    for (int a = 0; a < node->gpus; a++) {
      int sum = 0;
      for (int b = 0; b < node->gpus; b++) {
        int links = ls_node_links_between (node->joint, node->gpus, gpu->links, a, b);
        ck_assert_int_eq (links, ls_node_links_between (node->joint, node->gpus, gpu->links, b, a));
        sum += links;
      }
      ck_assert_msg (sum == gpu->links, "%s: device %d has %d of %d links", node->name, a, sum,
                     gpu->links);
    }
  }
  ck_assert_int_eq (ls_node_links_between (LS_JOINT_BRIDGE, 8, 12, 2, 3), 12);
  ck_assert_int_eq (ls_node_links_between (LS_JOINT_BRIDGE, 8, 12, 1, 2), 0);
  ck_assert_int_eq (ls_node_links_between (LS_JOINT_SWITCH, 8, 18, 0, 1), 0);
}
END_TEST

START_TEST (unknown_rows_suggest) {
  g_autoptr (GError) error = NULL;
  ck_assert_ptr_null (ls_accelerator_find ("h100-sxm-80gbb", &error));
  ck_assert (g_error_matches (error, LS_ERROR, LS_ERROR_CONFIG));
  ck_assert_msg (strstr (error->message, "did you mean 'h100-sxm-80gb'") != NULL, "%s",
                 error->message);
  g_clear_error (&error);
  ck_assert_ptr_null (ls_node_find ("zzzzzzzzzz", &error));
  ck_assert (strstr (error->message, "did you mean") == NULL);
  ck_assert (strstr (error->message, "lockstep list nodes") != NULL);
}
END_TEST

/* The names in which tables of measurements write GPUs. */
START_TEST (common_spellings) {
  const char *const spellings[] = {"A100-SXM-80GB", "A100-80GB",      "A100-40GB", "H100-SXM-80GB",
                                   "B200-SXM",      "V100-SXM2-32GB", "RTX 4090",  "V100-SXM3-32GB",
                                   "mi300x",        "TPU v4",         "GB200",     "h100_sxm_80gb"};
  for (guint i = 0; i < G_N_ELEMENTS (spellings); i++)
    ck_assert_msg (ls_accelerator_find (spellings[i], NULL) != NULL, "%s", spellings[i]);
}
END_TEST

START_TEST (free_text) {
  const struct {
    const char *text, *name;
  } cases[] = {{"NVIDIA H100-SXM5-80GB", "h100-sxm-80gb"},
               {"A100-SXM-40GB (DGX-A100)", "a100-sxm-40gb"},
               {"V100-SXM3-32GB (DGX-2)", "v100-sxm3-32gb"},
               {"NVIDIA Blackwell GPU (B200-SXM-180GB)", "b200-sxm-180gb"},
               {"H100-SXM-80GB 700W", "h100-sxm-80gb"},
               {"H100-SXM-96GB-HBM2e-500W (Meta Grand Teton, 2.4 TB/s)", "h100-sxm-96gb"},
               {"GB200 NVL72", "gb200-186gb"},
               {"GB300 NVL72", "gb300-288gb"},
               {"MI300X (RCCL)", "mi300x-192gb"},
               {"V100 (8-GPU node)", "v100-sxm-32gb"},
               {"AMD Instinct MI325X 256GB HBM3E DLC", "mi325x-256gb"},
               {"Habana Gaudi2", "gaudi2-96gb"},
               {"Intel(R) Gaudi(R) 2 AI Accelerator", "gaudi2-96gb"},
               {"TPU-trillium", "tpu-v6e"},
               {"NVIDIA DGX A100 80GB", "a100-sxm-80gb"},
               {"NVIDIA H100-SXM5-96GB", "h100-sxm-96gb"},
               /* the card and not the module of the same chip */
               {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
               {"A100 80GB (PCIe)", "a100-pcie-80gb"},
               {"H100 NVL Tensor Core GPU (PCIe)", "h100-nvl-94gb"},
               {"A100-SXM-40GB (PCIe 4 hosts)", "a100-sxm-40gb"},
               {"TPU v4", "tpu-v4"}};
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const LsAccelerator *row = ls_accelerator_for_text (cases[i].text);
    ck_assert_msg (row != NULL, "%s", cases[i].text);
    ck_assert_str_eq (row->name, cases[i].name);
  }
  ck_assert_ptr_null (ls_accelerator_for_text ("NVIDIA"));
  ck_assert_ptr_null (ls_accelerator_for_text ("a box (of chips)"));
  ck_assert_ptr_null (ls_accelerator_for_text ("NVIDIA H200-NVL-141GB"));
  ck_assert_ptr_null (ls_accelerator_for_text (""));
  ck_assert_ptr_null (ls_accelerator_for_text (NULL));
}
END_TEST

int main (void) {
  const TTest *const tests[] = {names_are_unique,      every_number_has_a_source,
                                accelerators_are_sane, peaks_are_dense,
                                links_add_up,          known_rates,
                                nodes_refer_to_rows,   boards_of_eight_are_nodes,
                                meshes_use_all_links,  unknown_rows_suggest,
                                common_spellings,      free_text};
  return run_tests ("catalogues", tests, G_N_ELEMENTS (tests));
}
