/* MIG profiles against the figures of NVIDIA's MIG User Guide (r580) and, for the SMs of an H100, of `nvidia-smi
 * mig -lgip`; placements by brute force; and what no set of instances may do: take more of the GPU than it has. */
#include <check.h>
#include <math.h>

#include "base/random.h"
#include "hw/mig.h"
#include "run.h"
#include "suite.h"

typedef struct {
  const char *gpu, *profile;
  int sms;
  guint eighths; /* of memory, its bandwidth */
  guint cache_eighths, copy_engines, most;
} Known;

/* Columns mem_fraction, sm_count, l2_fraction, copy_engines, max_instances of the guide's tables. */
static const Known known[] = {
    {"a100-40gb", "1g.5gb", 14, 1, 1, 1, 7},     {"a100-40gb", "1g.10gb", 14, 2, 1, 1, 4},
    {"a100-40gb", "2g.10gb", 28, 2, 2, 2, 3},    {"a100-40gb", "3g.20gb", 42, 4, 4, 3, 2},
    {"a100-40gb", "4g.20gb", 56, 4, 4, 4, 1},    {"a100-40gb", "7g.40gb", 98, 8, 8, 7, 1},
    {"a100-80gb", "3g.40gb", 42, 4, 4, 3, 2},    {"h100-80gb", "1g.10gb", 16, 1, 1, 1, 7},
    {"h100-80gb", "1g.10gb+me", 16, 1, 1, 1, 1}, {"h100-80gb", "1g.20gb", 26, 2, 1, 1, 4},
    {"h100-80gb", "2g.20gb", 32, 2, 2, 2, 3},    {"h100-80gb", "3g.40gb", 60, 4, 4, 3, 2},
    {"h100-80gb", "4g.40gb", 64, 4, 4, 4, 1},    {"h100-80gb", "7g.80gb", 132, 8, 8, 8, 1},
    {"b200", "4g.90gb", 72, 4, 4, 8, 1},         {"a30", "2g.12gb", 28, 4, 4, 2, 2},
};

static LsMig *one_gpu (const LsAccelerator *gpu, const char *const *items, GError **error) {
  GArray *places[1] = {ls_mig_place (gpu, items, error)};
  LsMig *mig = places[0] != NULL ? ls_mig_new (gpu, places, 1) : NULL;
  g_clear_pointer (&places[0], g_array_unref);
  return mig;
}

START_TEST (slices_have_their_fractions) {
  for (guint i = 0; i < G_N_ELEMENTS (known); i++) {
    const Known *k = &known[i];
    const LsAccelerator *gpu = ls_accelerator_find (k->gpu, NULL);
    g_autofree char *item = g_strconcat ("1*", k->profile, NULL);
    const char *items[] = {item, NULL};
    LsMig *mig = one_gpu (gpu, items, NULL);
    ck_assert_msg (mig != NULL && mig->n == 1, "%s %s", k->gpu, k->profile);
    const LsMigInstance *one = &mig->instances[0];
    const LsAccelerator *part = one->accelerator;
    double memory = k->eighths / 8.0, compute = (double) k->sms / gpu->sms;
    ck_assert_int_eq (part->sms, k->sms);
    ck_assert (part->hbm_bytes_per_s == gpu->hbm_bytes_per_s * memory);
    /* The driver keeps up to 1.6 % of a slice for itself: 9.75 GiB of 9.9 on an H100. */
    double share = (double) part->hbm_bytes / ((double) gpu->hbm_bytes * memory);
    ck_assert_msg (share <= 1 && share > 0.98, "%s %s has %.4f of its share of memory", k->gpu,
                   k->profile, share);
    ck_assert_int_eq (part->l2_bytes, gpu->l2_bytes * (gint64) k->cache_eighths / 8);
    ck_assert_uint_eq (one->profile->copy_engines, k->copy_engines);
    ck_assert_uint_eq (one->profile->most, k->most);
    ck_assert (fabs (part->peak_flops_per_s[LS_FORMAT_BF16] /
                         (gpu->peak_flops_per_s[LS_FORMAT_BF16] * compute) -
                     1) < 1e-12);
    ck_assert (fabs (one->device.hbm_bytes_per_s / part->hbm_bytes_per_s -
                     part->tuning->hbm_fraction.value) < 1e-12);
    ck_assert_ptr_null (part->link);
    ls_mig_unref (mig);
  }
}
END_TEST

/* SMs are not 1/7 each: 3g of an H100 has 60 of 132, and seven 1g leave 20 over; of an A100 98 of 108. */
START_TEST (compute_slices_are_not_sevenths) {
  const char *const seven[] = {"1g.10gb", NULL};
  LsMig *mig = one_gpu (ls_accelerator_find ("h100", NULL), seven, NULL);
  int sms = 0;
  ck_assert_uint_eq (mig->n, 7);
  for (guint i = 0; i < mig->n; i++)
    sms += mig->instances[i].accelerator->sms;
  ck_assert_int_eq (sms, 112);
  ls_mig_unref (mig);
  const char *const whole[] = {"7g.80gb", NULL};
  mig = one_gpu (ls_accelerator_find ("a100", NULL), whole, NULL);
  ck_assert_int_eq (mig->instances[0].accelerator->sms, 98);
  ls_mig_unref (mig);
}
END_TEST

static void refused (const char *const *items, const char *words) {
  g_autoptr (GError) error = NULL;
  LsMig *mig = one_gpu (ls_accelerator_find ("h100", NULL), items, &error);
  ck_assert_msg (mig == NULL, "%s, ... was placed", items[0]);
  ck_assert_msg (strstr (error->message, words) != NULL, "%s", error->message);
}

START_TEST (illegal_placements_name_the_legal_ones) {
  refused ((const char *[]){"3g.40gb@2", NULL}, "from 0 or 4");
  refused ((const char *[]){"1g.10gb", "3g.40gb", "3g.40gb", NULL}, "name first those");
  refused ((const char *[]){"3g.40gb", "4g.40gb", NULL}, "and fit as [4g.40gb, 3g.40gb]");
  refused ((const char *[]){"3*1g.10gb", "4g.40gb", NULL}, "and fit as [4g.40gb, 3*1g.10gb]");
  refused ((const char *[]){"3g.40gb", "3g.40gb", "1g.10gb", NULL},
           "(8 memory and 6 of 7 compute slices)");
  refused ((const char *[]){"2*4g.40gb", NULL}, "at most 1 of 4g.40gb");
  refused ((const char *[]){"5g.50gb", NULL}, "it has 1g.10gb, ");
  refused ((const char *[]){"2*1g.10gb@3", NULL}, "takes PROFILE");
  refused ((const char *[]){"9*1g.10gb", NULL}, "takes PROFILE");
}
END_TEST

/* Can the rest of the items lie somewhere? Brute force over starts, which it gives. */
static gboolean exists (const LsMigProfile *const *items, guint n, guint used, guint *starts) {
  if (n == 0)
    return TRUE;
  for (guint start = 0; start < LS_MIG_SLOTS; start++) {
    guint slots = ((1u << items[0]->memory_slices) - 1) << start;
    if ((items[0]->starts >> start & 1u) != 0 && (used & slots) == 0 &&
        exists (items + 1, n - 1, used | slots, starts + 1)) {
      starts[0] = start;
      return TRUE;
    }
  }
  return FALSE;
}

static void check_within (const LsAccelerator *gpu, const LsMig *mig) {
  double hbm = 0, flops = 0, bytes = 0;
  guint used = 0, compute = 0, cache = 0;
  int sms = 0;
  for (guint i = 0; i < mig->n; i++) {
    const LsMigInstance *one = &mig->instances[i];
    guint slots = ((1u << one->profile->memory_slices) - 1) << one->start;
    ck_assert_uint_eq (used & slots, 0);
    ck_assert ((one->profile->starts >> one->start & 1u) != 0);
    ck_assert_uint_eq (one->number, i);
    used |= slots;
    hbm += one->accelerator->hbm_bytes_per_s;
    bytes += (double) one->accelerator->hbm_bytes;
    flops += one->accelerator->peak_flops_per_s[LS_FORMAT_BF16];
    sms += one->accelerator->sms;
    compute += one->profile->compute_slices;
    cache += one->profile->cache_slices;
  }
  ck_assert (hbm <= gpu->hbm_bytes_per_s && bytes <= (double) gpu->hbm_bytes);
  ck_assert (flops <= gpu->peak_flops_per_s[LS_FORMAT_BF16] * (1 + 1e-12));
  ck_assert_int_le (sms, gpu->sms);
  ck_assert_uint_le (compute, mig->instances[0].profile->of_compute_slices);
  ck_assert_uint_le (cache, mig->instances[0].profile->of_memory_slices);
}

static void check_with_starts (const LsAccelerator *gpu, const LsMigProfile *const *wanted,
                               const guint *starts, guint n) {
  char *items[LS_MIG_MOST_INSTANCES + 1] = {NULL};
  for (guint i = 0; i < n; i++)
    items[i] = g_strdup_printf ("%s@%u", wanted[i]->profile, starts[i]);
  LsMig *mig = one_gpu (gpu, (const char *const *) items, NULL);
  ck_assert_msg (mig != NULL, "%s: %s, %s, ... was refused", gpu->name, items[0], items[1]);
  check_within (gpu, mig);
  ls_mig_unref (mig);
  for (guint i = 0; i < n; i++)
    g_free (items[i]);
}

/* Random wishes on every GPU with MIG: what is placed lies in legal places without overlap and within the
 * GPU's SMs, HBM and cache; what can be placed at all is placed when its starts are said. */
START_TEST (random_wishes) {
  LsRandom random;
  ls_random_init (&random, 5, "mig", 0);
  for (guint draw = 0; draw < test_scaled (1000); draw++) {
    static const char *const gpus[] = {"a100-40gb", "a100", "h100", "h100-pcie",
                                       "h200",      "b200", "a30"};
    const LsAccelerator *gpu =
        ls_accelerator_find (gpus[ls_random_below (&random, G_N_ELEMENTS (gpus))], NULL);
    const LsMigProfile *own[16], *wanted[LS_MIG_MOST_INSTANCES];
    const char *items[LS_MIG_MOST_INSTANCES + 1] = {NULL};
    guint n_own = 0, n = 2 + (guint) ls_random_below (&random, 4);
    for (guint i = 0; i < ls_mig_profile_count (); i++) {
      const LsMigProfile *profile = ls_mig_profile_get (i);
      if (ls_mig_profile_find (gpu, profile->profile, NULL) == profile)
        own[n_own++] = profile;
    }
    for (guint i = 0; i < n; i++)
      wanted[i] = own[ls_random_below (&random, n_own)];
    gboolean too_many = FALSE;
    for (guint i = 0; i < n; i++) {
      guint same = 0;
      for (guint k = 0; k < n; k++)
        same += wanted[k] == wanted[i] ? 1 : 0;
      too_many = too_many || same > wanted[i]->most;
      items[i] = wanted[i]->profile;
    }
    guint starts[LS_MIG_MOST_INSTANCES];
    gboolean possible = !too_many && exists (wanted, n, 0, starts);
    LsMig *mig = one_gpu (gpu, items, NULL);
    if (mig != NULL) {
      ck_assert_uint_eq (mig->n, n);
      ck_assert (possible);
      check_within (gpu, mig);
    }
    ls_mig_unref (mig);
    if (possible)
      check_with_starts (gpu, wanted, starts, n);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, slices_have_their_fractions);
  tcase_add_test (tcase, compute_slices_are_not_sevenths);
  tcase_add_test (tcase, illegal_placements_name_the_legal_ones);
  tcase_add_test (tcase, random_wishes);
}

LS_TEST_MAIN ("mig", add)
