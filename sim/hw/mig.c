/* MIG: finding profiles, placing instances, slices as accelerators, and the catalogue. */
#include "hw/mig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "hw/catalogue.h"
#include "hw/fact_list.h"
#include "hw/mig_rows.h"

guint ls_mig_profile_count (void) {
  return ls_mig_n_rows;
}

const LsMigProfile *ls_mig_profile_get (guint i) {
  LS_REQUIRE (i < ls_mig_n_rows, "MIG profile %u", i);
  return &ls_mig_rows[i];
}

static gboolean is_of (const LsMigProfile *profile, const LsAccelerator *gpu) {
  g_auto (GStrv) names = g_strsplit (profile->gpus, " ", -1);
  return g_strv_contains ((const char *const *) names, gpu->name);
}

/* "1g.10gb, 1g.20gb, ..."; NULL: the GPU has no MIG. */
static char *profiles_of (const LsAccelerator *gpu) {
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < ls_mig_n_rows; i++)
    if (is_of (&ls_mig_rows[i], gpu))
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", ls_mig_rows[i].profile);
  return g_string_free (text, text->len == 0);
}

const LsMigProfile *ls_mig_profile_find (const LsAccelerator *gpu, const char *name,
                                         GError **error) {
  for (guint i = 0; i < ls_mig_n_rows; i++)
    if (is_of (&ls_mig_rows[i], gpu) && g_ascii_strcasecmp (ls_mig_rows[i].profile, name) == 0)
      return &ls_mig_rows[i];
  g_autofree char *known = profiles_of (gpu);
  if (known == NULL)
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "no MIG profiles are known for %s; 'lockstep list mig' shows which GPUs have them",
                 gpu->name);
  else
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "%s has no MIG profile '%s'; it has %s",
                 gpu->name, name, known);
  return NULL;
}

/* SMs come in pairs (texture processing clusters). */
static int profile_sms (const LsMigProfile *profile, const LsAccelerator *gpu) {
  if (gpu->sms == profile->of_sms)
    return profile->sms;
  return 2 * (int) lround (profile->sms * (double) gpu->sms / profile->of_sms / 2);
}

/* "0, 2 or 4" (transfer full). */
static char *profile_starts (const LsMigProfile *profile) {
  GString *text = g_string_new (NULL);
  guint left = profile->starts;
  for (guint start = 0; left != 0; start++) {
    if ((profile->starts >> start & 1u) == 0)
      continue;
    left &= ~(1u << start);
    g_string_append_printf (text, "%s%u", text->len == 0 ? "" : left != 0 ? ", " : " or ", start);
  }
  return g_string_free (text, FALSE);
}

/* --- placing ---------------------------------------------------------------------------------- */

/* Memory slices of an instance, as bits. */
static guint slots_of (const LsMigProfile *profile, guint start) {
  return ((1u << profile->memory_slices) - 1) << start;
}

typedef struct {
  const LsMigProfile *profile;
  guint count;    /* 0: as many as fit */
  gboolean given; /* the start */
  guint64 start;
  const char *text; /* as it was written; for hints */
} Item;

/* [N*]PROFILE[@START] */
static gboolean read_item (const LsAccelerator *gpu, const char *text, Item *item, GError **error) {
  const char *star = strchr (text, '*');
  g_autofree char *count = star != NULL ? g_strndup (text, (gsize) (star - text)) : g_strdup ("1");
  g_autofree char *name = g_strdup (star != NULL ? star + 1 : text);
  char *at = strchr (name, '@');
  guint64 n;
  *item = (Item){.given = at != NULL};
  if (at != NULL)
    *at = '\0';
  if (!g_ascii_string_to_unsigned (g_strstrip (count), 10, 1, LS_MIG_MOST_INSTANCES, &n, NULL) ||
      (at != NULL && (!g_ascii_string_to_unsigned (g_strstrip (at + 1), 10, 0, LS_MIG_SLOTS - 1,
                                                   &item->start, NULL) ||
                      n > 1))) {
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "'%s' is no instance; takes PROFILE, N*PROFILE with N from 1 to %d, or "
                 "PROFILE@START with the first memory slice",
                 text, LS_MIG_MOST_INSTANCES);
    return FALSE;
  }
  item->count = (guint) n;
  item->profile = ls_mig_profile_find (gpu, g_strstrip (name), error);
  return item->profile != NULL;
}

/* "3g.40gb at 0, 1g.10gb at 4" */
static char *describe (const GArray *places) {
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < places->len; i++) {
    const LsMigPlace *place = &g_array_index (places, LsMigPlace, i);
    g_string_append_printf (text, "%s%s at %u", i > 0 ? ", " : "", place->profile->profile,
                            place->start);
  }
  return g_string_free (text, FALSE);
}

static guint count_of (const GArray *places, const LsMigProfile *profile) {
  guint n = 0;
  for (guint i = 0; i < places->len; i++)
    n += g_array_index (places, LsMigPlace, i).profile == profile ? 1 : 0;
  return n;
}

/* The first start that is free, or the wanted one; LS_MIG_SLOTS: none. */
static guint free_start (const GArray *places, const LsMigProfile *profile, const Item *item) {
  guint used = 0;
  for (guint i = 0; i < places->len; i++) {
    const LsMigPlace *place = &g_array_index (places, LsMigPlace, i);
    used |= slots_of (place->profile, place->start);
  }
  for (guint start = 0; start < LS_MIG_SLOTS; start++)
    if ((profile->starts >> start & 1u) != 0 && (used & slots_of (profile, start)) == 0 &&
        (!item->given || start == item->start))
      return start;
  return LS_MIG_SLOTS;
}

static gboolean place_one (GArray *places, const Item *item) {
  LsMigPlace place = {.profile = item->profile, .start = free_start (places, item->profile, item)};
  if (place.start == LS_MIG_SLOTS || count_of (places, item->profile) >= item->profile->most)
    return FALSE;
  g_array_append_val (places, place);
  return TRUE;
}

/* Fewest places first. */
static gint by_freedom (gconstpointer a, gconstpointer b) {
  const Item *x = a, *y = b;
  const guint p = x->given ? 1 : (guint) __builtin_popcount (x->profile->starts);
  const guint q = y->given ? 1 : (guint) __builtin_popcount (y->profile->starts);
  return (p > q) - (p < q);
}

/* What to do about the order: one in which all fit, or how to look for one (transfer full). */
static char *order_hint (const LsAccelerator *gpu, const char *const *texts) {
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (Item));
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (LsMigPlace));
  g_autoptr (GString) order = g_string_new ("and fit as [");
  gboolean fits = TRUE;
  for (guint i = 0; texts[i] != NULL && fits; i++) {
    Item item;
    fits = read_item (gpu, texts[i], &item, NULL);
    item.text = texts[i];
    g_array_append_val (items, item);
  }
  g_array_sort (items, by_freedom);
  for (guint i = 0; i < items->len && fits; i++) {
    const Item *item = &g_array_index (items, Item, i);
    for (guint k = 0; k < item->count && fits; k++)
      fits = place_one (places, item);
    g_string_append_printf (order, "%s%s", i > 0 ? ", " : "", item->text);
  }
  return fits ? g_strconcat (order->str, "]", NULL)
              : g_strdup ("so name first those that fit few places");
}

static void refuse (const LsAccelerator *gpu, const char *const *texts, const GArray *places,
                    const Item *item, GError **error) {
  const LsMigProfile *profile = item->profile;
  g_autofree char *starts = profile_starts (profile), *there = describe (places);
  g_autofree char *hint = order_hint (gpu, texts);
  guint memory = 0, compute = 0;
  for (guint i = 0; i < places->len; i++) {
    memory += g_array_index (places, LsMigPlace, i).profile->memory_slices;
    compute += g_array_index (places, LsMigPlace, i).profile->compute_slices;
  }
  if (item->given && (profile->starts >> item->start & 1u) == 0)
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG,
                 "%s cannot start at memory slice %u; it takes %u of %u slices from %s",
                 profile->profile, (guint) item->start, profile->memory_slices,
                 profile->of_memory_slices, starts);
  else if (count_of (places, profile) >= profile->most)
    g_set_error (error, LS_ERROR, LS_ERROR_CONFIG, "a GPU has at most %u of %s", profile->most,
                 profile->profile);
  else
    g_set_error (
        error, LS_ERROR, LS_ERROR_CONFIG,
        "no room for %s%s%s: it takes %u of %u memory slices from %s, and there are %s "
        "(%u memory and %u of %u compute slices); instances are placed in the order given, %s",
        count_of (places, profile) > 0 ? "another " : "", profile->profile,
        item->given ? " there" : "", profile->memory_slices, profile->of_memory_slices, starts,
        there, memory, compute, profile->of_compute_slices, hint);
}

static gint by_start (gconstpointer a, gconstpointer b) {
  const LsMigPlace *x = a, *y = b;
  return (x->start > y->start) - (x->start < y->start);
}

GArray *ls_mig_place (const LsAccelerator *gpu, const char *const *items, GError **error) {
  g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (LsMigPlace));
  Item item;
  if (items[0] != NULL && items[1] == NULL && strpbrk (items[0], "*@") == NULL) {
    if (!read_item (gpu, items[0], &item, error))
      return NULL;
    while (place_one (places, &item))
      ;
  } else
    for (guint i = 0; items[i] != NULL; i++) {
      if (!read_item (gpu, items[i], &item, error))
        return NULL;
      for (guint k = 0; k < item.count; k++)
        if (!place_one (places, &item)) {
          refuse (gpu, items, places, &item, error);
          return NULL;
        }
    }
  if (places->len == 0) {
    g_set_error_literal (error, LS_ERROR, LS_ERROR_CONFIG, "a GPU under MIG needs an instance");
    return NULL;
  }
  g_array_sort (places, by_start);
  return g_steal_pointer (&places);
}

/* --- slices as accelerators ------------------------------------------------------------------- */

/* One kind of slice. */
typedef struct {
  LsAccelerator accelerator;
  const LsMigProfile *profile;
  char *name, *title;
} Slice;

typedef struct {
  LsMig mig; /* first: the handle */
  GPtrArray *slices;
} Owned;

static void slice_free (gpointer data) {
  Slice *slice = data;
  g_free (slice->name);
  g_free (slice->title);
  g_free (slice);
}

static Slice *slice_new (const LsAccelerator *gpu, const LsMigProfile *profile) {
  Slice *slice = g_new0 (Slice, 1);
  LsAccelerator *part = &slice->accelerator;
  double memory = (double) profile->memory_slices / profile->of_memory_slices;
  int sms = profile_sms (profile, gpu);
  double compute = (double) sms / gpu->sms;
  slice->profile = profile;
  slice->name = g_strdup_printf ("%s/%s", gpu->name, profile->profile);
  slice->title = g_strdup_printf ("%s, MIG %s", gpu->title, profile->profile);
  *part = *gpu;
  part->name = slice->name;
  part->aliases = "";
  part->title = slice->title;
  part->sms = sms;
  for (int f = 0; f < LS_N_FORMATS; f++)
    part->peak_flops_per_s[f] *= compute;
  part->vector_flops_per_s *= compute;
  part->tdp_w *= compute; /* assumption: power follows SMs */
  part->hbm_bytes_per_s *= memory;
  part->hbm_nominal_bytes = (gint64) (memory * (double) gpu->hbm_nominal_bytes);
  part->hbm_bytes = (gint64) (memory * (double) gpu->hbm_bytes);
  if (profile->usable_gib > 0)
    part->hbm_bytes = MIN (part->hbm_bytes, (gint64) (profile->usable_gib * 1073741824.0));
  part->l2_bytes = gpu->l2_bytes * profile->cache_slices / profile->of_memory_slices;
  part->link = NULL;
  part->links = 0;
  part->link_bytes_per_s = 0;
  part->link_is_bridge = FALSE;
  return slice;
}

static const LsAccelerator *slice_of (Owned *owned, const LsAccelerator *gpu,
                                      const LsMigProfile *profile) {
  for (guint i = 0; i < owned->slices->len; i++) {
    const Slice *slice = owned->slices->pdata[i];
    if (slice->profile == profile)
      return &slice->accelerator;
  }
  Slice *slice = slice_new (gpu, profile);
  g_ptr_array_add (owned->slices, slice);
  return &slice->accelerator;
}

LsMig *ls_mig_new (const LsAccelerator *gpu, GArray *const *places, guint n_gpus) {
  Owned *owned = g_atomic_rc_box_new0 (Owned);
  LsMig *mig = &owned->mig;
  owned->slices = g_ptr_array_new_with_free_func (slice_free);
  mig->n_gpus = n_gpus;
  for (guint g = 0; g < n_gpus; g++)
    mig->n += places[g]->len;
  mig->instances = g_new0 (LsMigInstance, MAX (mig->n, 1u));
  for (guint g = 0, i = 0; g < n_gpus; g++) {
    LS_REQUIRE (places[g]->len > 0, "GPU %u has no instance", g);
    for (guint k = 0; k < places[g]->len; k++, i++) {
      const LsMigPlace *place = &g_array_index (places[g], LsMigPlace, k);
      LsMigInstance *instance = &mig->instances[i];
      *instance = (LsMigInstance){.gpu = g,
                                  .number = k,
                                  .start = place->start,
                                  .profile = place->profile,
                                  .accelerator = slice_of (owned, gpu, place->profile)};
      ls_device_init (&instance->device, instance->accelerator, LS_CLOCK_SUSTAINED, NULL);
    }
  }
  return mig;
}

static void clear (gpointer data) {
  Owned *owned = data;
  g_free (owned->mig.instances);
  g_ptr_array_unref (owned->slices);
}

LsMig *ls_mig_ref (LsMig *mig) {
  if (mig != NULL)
    g_atomic_rc_box_acquire (mig);
  return mig;
}

void ls_mig_unref (LsMig *mig) {
  if (mig != NULL)
    g_atomic_rc_box_release_full (mig, clear);
}

guint ls_mig_first (const LsMig *mig, guint gpu) {
  LS_REQUIRE (gpu < mig->n_gpus, "GPU %u of %u", gpu, mig->n_gpus);
  guint i = 0;
  while (mig->instances[i].gpu < gpu)
    i++;
  return i;
}

/* --- the catalogue ---------------------------------------------------------------------------- */

static const char *row_name (guint row) {
  return ls_mig_profile_get (row)->name;
}

static const char *row_title (guint row) {
  return ls_mig_profile_get (row)->title;
}

static const char *row_aliases (guint row) {
  (void) row;
  return "";
}

static const char *row_notes (guint row) {
  return ls_mig_profile_get (row)->notes;
}

static gboolean row_fact (guint row, guint i, LsFact *fact) {
  static const char *const starts[] = {"0",          "0, 2",       "0, 4",  "0, 2, 4",
                                       "0, 2, 4, 6", "0, 1, 2, 3", "0 to 6"};
  static const guint bits[] = {0x01, 0x05, 0x11, 0x15, 0x55, 0x0f, 0x7f};
  const LsMigProfile *p = ls_mig_profile_get (row);
  const LsAccelerator *gpu = NULL;
  LsFactList list = {.n = 0};
  g_auto (GStrv) names = g_strsplit (p->gpus, " ", -1);
  gpu = ls_accelerator_find (names[0], NULL);
  LS_REQUIRE (gpu != NULL, "MIG profile %s of the unknown GPU %s", p->name, names[0]);
  ls_fact_list_add_text (&list, "gpus", p->gpus, LS_FACT_FOUND, p->source);
  ls_fact_list_add (&list, "sms", LS_DIMENSION_COUNT, profile_sms (p, gpu), p->sms_status,
                    p->sms_source);
  ls_fact_list_add (&list, "memory_slices", LS_DIMENSION_COUNT, p->memory_slices, LS_FACT_FOUND,
                    p->source);
  ls_fact_list_add (&list, "of_memory_slices", LS_DIMENSION_COUNT, p->of_memory_slices,
                    LS_FACT_FOUND, p->source);
  ls_fact_list_add (&list, "compute_slices", LS_DIMENSION_COUNT, p->compute_slices, LS_FACT_FOUND,
                    p->source);
  ls_fact_list_add (&list, "of_compute_slices", LS_DIMENSION_COUNT, p->of_compute_slices,
                    LS_FACT_FOUND, p->source);
  ls_fact_list_add (&list, "cache_slices", LS_DIMENSION_COUNT, p->cache_slices, LS_FACT_FOUND,
                    p->source);
  ls_fact_list_add (&list, "copy_engines", LS_DIMENSION_COUNT, p->copy_engines, LS_FACT_FOUND,
                    p->source);
  ls_fact_list_add (&list, "most_per_gpu", LS_DIMENSION_COUNT, p->most, LS_FACT_FOUND, p->source);
  for (guint k = 0; k < G_N_ELEMENTS (bits); k++)
    if (p->starts == bits[k])
      ls_fact_list_add_text (&list, "starts_at_memory_slice", starts[k], LS_FACT_FOUND, p->source);
  if (p->usable_gib > 0)
    ls_fact_list_add (&list, "usable_bytes", LS_DIMENSION_BYTES, p->usable_gib * 1073741824.0,
                      LS_FACT_FOUND, p->sms_source);
  return ls_fact_list_get (&list, i, fact);
}

const LsCatalogue ls_mig_catalogue = {
    .noun = "MIG profile",
    .kind = "mig",
    .summary = "MIG profiles: what a part of a GPU has, and where it may lie",
    .count = ls_mig_profile_count,
    .name = row_name,
    .title = row_title,
    .aliases = row_aliases,
    .notes = row_notes,
    .fact = row_fact};
