/* Colour refinement against a plain one that repeats full rounds until nothing splits, on random graphs, and
 * against partitions that are known. */
#include <check.h>

#include "base/random.h"
#include "engine/refine.h"
#include "suite.h"

typedef struct {
  guint32 a, b;
  guint64 label;
} Edge;

static gint compare_texts (gconstpointer a, gconstpointer b) {
  return g_strcmp0 (*(const char *const *) a, *(const char *const *) b);
}

/* Full rounds: the new class of a node is what its old class and the sorted list of (label, class) of its
 * edges say. Exact: compares lists, no hashes. */
static guint32 by_rounds (guint32 n, const guint64 *labels, const Edge *edges, guint n_edges,
                          guint32 *class_of) {
  guint32 count = 0, before;
  for (guint32 v = 0; v < n; v++) {
    guint32 w = 0;
    while (labels[w] != labels[v])
      w++;
    class_of[v] = w == v ? count++ : class_of[w];
  }
  do {
    before = count;
    GString **texts = g_new (GString *, n);
    for (guint32 v = 0; v < n; v++) {
      GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
      for (guint i = 0; i < n_edges; i++) {
        if (edges[i].a == v)
          g_ptr_array_add (parts, g_strdup_printf ("%" G_GUINT64_FORMAT ":%u", edges[i].label,
                                                   class_of[edges[i].b]));
        if (edges[i].b == v)
          g_ptr_array_add (parts, g_strdup_printf ("%" G_GUINT64_FORMAT ":%u", edges[i].label,
                                                   class_of[edges[i].a]));
      }
      g_ptr_array_sort (parts, compare_texts);
      texts[v] = g_string_new (NULL);
      g_string_printf (texts[v], "%u|", class_of[v]);
      for (guint i = 0; i < parts->len; i++)
        g_string_append_printf (texts[v], "%s,", (char *) parts->pdata[i]);
      g_ptr_array_unref (parts);
    }
    count = 0;
    g_autofree guint32 *next = g_new (guint32, n);
    for (guint32 v = 0; v < n; v++) {
      guint32 w = 0;
      while (!g_string_equal (texts[w], texts[v]))
        w++;
      next[v] = w == v ? count++ : next[w];
    }
    for (guint32 v = 0; v < n; v++) {
      class_of[v] = next[v];
      g_string_free (texts[v], TRUE);
    }
    g_free (texts);
  } while (count != before);
  return count;
}

START_TEST (agrees_with_full_rounds) {
  for (guint64 seed = 0; seed < test_scaled (400); seed++) {
    LsRandom random;
    ls_random_init (&random, seed, "refine", 0);
    guint32 n = 1 + (guint32) ls_random_below (&random, 24);
    guint32 n_edges = (guint32) ls_random_below (&random, 3 * n);
    guint64 kinds = 1 + ls_random_below (&random, 3), colours = 1 + ls_random_below (&random, 2);
    g_autofree guint64 *labels = g_new (guint64, n);
    g_autofree Edge *edges = g_new (Edge, n_edges + 1);
    g_autoptr (LsRefinement) refinement = ls_refinement_new (n);
    for (guint32 v = 0; v < n; v++) {
      labels[v] = ls_random_below (&random, kinds);
      ls_refinement_set_label (refinement, v, labels[v]);
    }
    for (guint i = 0; i < n_edges; i++) {
      edges[i] = (Edge){(guint32) ls_random_below (&random, n),
                        (guint32) ls_random_below (&random, n), ls_random_below (&random, colours)};
      ls_refinement_add_edge (refinement, edges[i].a, edges[i].b, edges[i].label);
    }
    g_autofree guint32 *found = g_new (guint32, n);
    g_autofree guint32 *wanted = g_new (guint32, n);
    guint32 classes = ls_refinement_run (refinement, found);
    ck_assert_uint_eq (classes, by_rounds (n, labels, edges, n_edges, wanted));
    for (guint32 v = 0; v < n; v++)
      ck_assert_uint_eq (found[v], wanted[v]);
  }
}
END_TEST

/* A cycle is one class; with one odd node, the classes are the distances to it. */
START_TEST (a_cycle_splits_by_distance) {
  const guint32 n = 1000;
  g_autoptr (LsRefinement) refinement = ls_refinement_new (n);
  g_autofree guint32 *class_of = g_new (guint32, n);
  for (guint32 v = 0; v < n; v++)
    ls_refinement_add_edge (refinement, v, (v + 1) % n, 7);
  ck_assert_uint_eq (ls_refinement_run (refinement, class_of), 1);
  ls_refinement_set_label (refinement, 0, 1);
  ck_assert_uint_eq (ls_refinement_run (refinement, class_of), n / 2 + 1);
  for (guint32 v = 0; v < n; v++)
    ck_assert_uint_eq (class_of[v], MIN (v, n - v));
}
END_TEST

/* Multiplicity counts: two edges are not one, and labels do not add up to one another. */
START_TEST (multisets_are_told_apart) {
  g_autoptr (LsRefinement) refinement = ls_refinement_new (6);
  guint32 class_of[6];
  for (guint32 hub = 4; hub < 6; hub++)
    ls_refinement_set_label (refinement, hub, 1);
  ls_refinement_add_edge (refinement, 0, 4, 1);
  ls_refinement_add_edge (refinement, 0, 4, 1);
  ls_refinement_add_edge (refinement, 1, 4, 2);
  ls_refinement_add_edge (refinement, 2, 5, 2);
  ls_refinement_add_edge (refinement, 3, 5, 1);
  ls_refinement_add_edge (refinement, 3, 5, 1);
  ck_assert_uint_eq (ls_refinement_run (refinement, class_of), 3);
  ck_assert_uint_eq (class_of[0], class_of[3]);
  ck_assert_uint_eq (class_of[1], class_of[2]);
  ck_assert_uint_ne (class_of[0], class_of[1]);
  ck_assert_uint_eq (class_of[4], class_of[5]);
}
END_TEST

static void add_tests (TCase *tcase) {
  tcase_add_test (tcase, agrees_with_full_rounds);
  tcase_add_test (tcase, a_cycle_splits_by_distance);
  tcase_add_test (tcase, multisets_are_told_apart);
}

LS_TEST_MAIN ("refine", add_tests)
