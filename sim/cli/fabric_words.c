/* Adapters in words, see fabric_words.h. */
#include "cli/fabric_words.h"

#include <math.h>
#include <string.h>

#define MOST_ADAPTERS 128
/* Gbit/s of the fastest single adapter that words without a number are taken for. */
#define ONE_ADAPTER 400

/* The word, at the beginning of one; with @whole also at the end of one (a digit may follow: HDR200). */
static const char *find_word (const char *lower, const char *word, gboolean whole) {
  const gsize length = strlen (word);

  for (const char *at = strstr (lower, word); at != NULL; at = strstr (at + 1, word))
    if ((at == lower || !g_ascii_isalnum (at[-1]) || at[-1] == 'x') &&
        (!whole || !g_ascii_isalpha (at[length])))
      return at;
  return NULL;
}

/* Where the number that ends before @end begins; @end itself when there is none. */
static const char *number_before (const char *fabric, const char *end) {
  while (end > fabric && (g_ascii_isdigit (end[-1]) || end[-1] == '.'))
    end--;
  return end;
}

static const char *blanks_before (const char *fabric, const char *end) {
  while (end > fabric && (end[-1] == ' ' || end[-1] == '-'))
    end--;
  return end;
}

/* The number before an x that ends before @end ("8x", "8 x "); 0: none. */
static guint count_before (const char *fabric, const char *end) {
  const char *times = blanks_before (fabric, end);

  if (times == fabric || (times[-1] != 'x' && times[-1] != 'X'))
    return 0;
  times = blanks_before (fabric, times - 1);
  const guint64 count = g_ascii_strtoull (number_before (fabric, times), NULL, 10);
  return count <= MOST_ADAPTERS ? (guint) count : 0;
}

static gboolean is_unit (const char *at) {
  static const char *const units[] = {"gbit", "gbps", "gbe"};

  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (g_ascii_strncasecmp (at, units[i], strlen (units[i])) == 0)
      return TRUE;
  return strncmp (at, "Gb/s", strlen ("Gb/s")) == 0;
}

/* What stands behind the rate, up to the next remark. */
static gboolean per (const char *rest, const char *word) {
  g_autofree char *near = g_strndup (rest, strcspn (rest, ",;("));
  g_autofree char *lower = g_ascii_strdown (near, -1);
  const char *at = strstr (lower, "per ");

  return at != NULL && strstr (at, word) != NULL;
}

static gboolean read_rate (const char *fabric, guint gpus, LsFabricWords *out) {
  for (const char *at = fabric; *at; at++) {
    const char *end = blanks_before (fabric, at), *start = number_before (fabric, end);

    if (!is_unit (at) || start == end)
      continue;
    out->gbit_s = g_ascii_strtod (start, NULL);
    out->count = count_before (fabric, start);
    if (out->gbit_s <= 0)
      return FALSE;
    if (out->count == 0 && per (at, "node"))
      out->count = out->gbit_s > ONE_ADAPTER ? gpus : 1;
    else if (out->count == 0 && per (at, "gpu"))
      out->count = gpus;
    else
      return TRUE;
    if (out->gbit_s > ONE_ADAPTER && per (at, "node"))
      out->gbit_s /= gpus;
    return TRUE;
  }
  return FALSE;
}

static const struct {
  const char *word;
  double gbit_s;
} generations[] = {{"hdr100", 100}, {"hdr-100", 100}, {"ndr200", 200}, {"ndr-200", 200},
                   {"edr", 100},    {"hdr", 200},     {"ndr", 400},    {"xdr", 800}};

static void read_generation (const char *fabric, const char *lower, LsFabricWords *out) {
  for (guint i = 0; i < G_N_ELEMENTS (generations); i++) {
    const char *at = find_word (lower, generations[i].word, TRUE);

    if (at == NULL)
      continue;
    out->gbit_s = generations[i].gbit_s;
    out->count = count_before (fabric, fabric + (at - lower));
    return;
  }
}

static const LsNic *nearest (const char *prefix, double gbit_s) {
  const LsNic *best = NULL;
  double best_gap = G_MAXDOUBLE;

  for (guint i = 0; i < ls_nic_count (); i++) {
    const LsNic *nic = ls_nic_get (i);
    const double gap = fabs (log (nic->bytes_per_s * 8e-9 / gbit_s));

    if (g_str_has_prefix (nic->name, prefix) && gap < best_gap) {
      best = nic;
      best_gap = gap;
    }
  }
  return best;
}

/* Adapters of the catalogue begin so; the first word that stands there decides. */
static const struct {
  const char *word;
  gboolean whole;
  const char *prefix;
} kinds[] = {
    {"efa", FALSE, "efa-"},       {"tcpx", FALSE, "gvnic-"},   {"slingshot", FALSE, "slingshot-"},
    {"omni-path", FALSE, "opa-"}, {"omnipath", FALSE, "opa-"}, {"roce", FALSE, "roce-"},
    {"infiniband", FALSE, "cx"},  {"ib", TRUE, "cx"},          {"edr", TRUE, "cx"},
    {"hdr", TRUE, "cx"},          {"ndr", TRUE, "cx"},         {"xdr", TRUE, "cx"}};

/* Through the kernel, where there is no remote direct access: slow adapters. */
#define KERNEL_ETHERNET 25

static const LsNic *kind_of (const char *lower, double gbit_s) {
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (find_word (lower, kinds[i].word, kinds[i].whole) != NULL)
      return nearest (kinds[i].prefix, gbit_s);
  if (strstr (lower, "ethernet") != NULL || strstr (lower, "gbe") != NULL)
    return nearest (gbit_s > KERNEL_ETHERNET ? "roce-" : "ethernet-", gbit_s);
  return NULL;
}

LsFabricWords ls_fabric_words (const char *fabric, guint gpus, double usual_gbit_s) {
  g_autofree char *lower = g_ascii_strdown (fabric, -1);
  LsFabricWords words = {0};

  if (!read_rate (fabric, gpus, &words))
    words = (LsFabricWords){0};
  if (words.gbit_s <= 0)
    read_generation (fabric, lower, &words);
  words.nic = kind_of (lower, words.gbit_s > 0 ? words.gbit_s : usual_gbit_s);
  return words;
}
