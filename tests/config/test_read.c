/* Reading YAML and JSON into trees: positions, duplicates, aliases, limits, bad bytes. */
#include "config/fixture.h"
#include "config/node.h"
#include "suite.h"

#include <glib/gstdio.h>

typedef struct {
  GStringChunk *names;
  LsConfigErrors *errors;
  LsConfigNode *root;
} Document;

static Document read_bytes (const char *text, gsize length) {
  Document document = {g_string_chunk_new (64), ls_config_errors_new (), NULL};

  document.root =
      ls_config_node_read_text ("t.yaml", text, length, document.names, document.errors);
  return document;
}

static Document read_string (const char *text) {
  return read_bytes (text, strlen (text));
}

static void document_clear (Document *document) {
  ls_config_node_free (document->root);
  ls_config_errors_free (document->errors);
  g_string_chunk_free (document->names);
}

static void expect_faults (const Document *document, const char *expected) {
  g_autofree char *text = ls_config_errors_text (document->errors);

  ck_assert_str_eq (text, expected);
}

static void expect_position (LsConfigPosition position, int line, int column) {
  ck_assert_str_eq (position.file, "t.yaml");
  ck_assert_int_eq (position.line, line);
  ck_assert_int_eq (position.column, column);
}

START_TEST (keys_and_values_have_lines_and_columns) {
  Document document = read_string ("a: 1\n"
                                   "b: {c: 'x y', d: [1, \"2\"]}\n"
                                   "e:\n"
                                   "  - f: 3\n"
                                   "g:\n");
  const LsConfigEntry *b = ls_config_node_entry (document.root, "b");
  const LsConfigEntry *g = ls_config_node_entry (document.root, "g");
  const LsConfigNode *c = ls_config_node_get (b->value, "c");
  const LsConfigNode *d = ls_config_node_get (b->value, "d");
  const LsConfigNode *e = ls_config_node_get (document.root, "e");

  expect_faults (&document, "");
  expect_position (document.root->position, 1, 1);
  expect_position (b->position, 2, 1);
  expect_position (b->value->position, 2, 4);
  expect_position (c->position, 2, 8);
  ck_assert (c->quoted);
  ck_assert_str_eq (c->text, "x y");
  expect_position (d->position, 2, 18);
  expect_position (((LsConfigNode *) d->items->pdata[1])->position, 2, 22);
  ck_assert (!((LsConfigNode *) d->items->pdata[0])->quoted);
  expect_position (e->position, 4, 3);
  expect_position (ls_config_node_get (e->items->pdata[0], "f")->position, 4, 8);
  ck_assert (ls_config_node_is_null (g->value));
  document_clear (&document);
}
END_TEST

/* JSON is a subset of YAML 1.2; the text below uses its escapes. */
START_TEST (json_is_read) {
  Document document = read_string ("{\"a\": [true, null, 1.5e3], \"b\": {\"c\": \"\\u00e9\\n\"}}");
  const LsConfigNode *a = ls_config_node_get (document.root, "a");

  expect_faults (&document, "");
  ck_assert_uint_eq (a->items->len, 3);
  ck_assert (ls_config_node_is_null (a->items->pdata[1]));
  ck_assert_str_eq (ls_config_node_get (ls_config_node_get (document.root, "b"), "c")->text,
                    "\xc3\xa9\n");
  document_clear (&document);
}
END_TEST

START_TEST (only_bare_nulls_are_null) {
  Document document = read_string ("[null, ~, Null, NULL, , 'null', \"\", nul]");

  /* The flow list above has an empty item, which YAML 1.2 refuses. */
  ck_assert_ptr_null (document.root);
  document_clear (&document);
  document = read_string ("[null, ~, Null, NULL, 'null', \"\", nul]");
  for (guint i = 0; i < 7; i++)
    ck_assert_int_eq (ls_config_node_is_null (document.root->items->pdata[i]), i < 4);
  document_clear (&document);
}
END_TEST

START_TEST (all_duplicate_keys_are_reported) {
  Document document = read_string ("a: &x {b: 1}\n"
                                   "a: &y [1]\n"
                                   "c: {d: 1, d: 2}\n"
                                   "e: *y\n");

  expect_faults (&document,
                 "t.yaml:2:1: error: key 'a' is given twice; the first is at t.yaml:1:1\n"
                 "t.yaml:3:11: error: key 'd' is given twice; the first is at t.yaml:3:5\n");
  /* The first value stays, and the anchor of the second is still good. */
  ck_assert_int_eq (ls_config_node_get (document.root, "a")->kind, LS_CONFIG_NODE_MAP);
  ck_assert_int_eq (ls_config_node_get (document.root, "e")->kind, LS_CONFIG_NODE_LIST);
  document_clear (&document);
}
END_TEST

START_TEST (aliases_are_copies) {
  Document document = read_string ("a: &x {b: [1, 2]}\nc: *x\n");
  LsConfigNode *a = ls_config_node_get (document.root, "a");
  LsConfigNode *c = ls_config_node_get (document.root, "c");

  expect_faults (&document, "");
  ck_assert_ptr_ne (a, c);
  ck_assert_uint_eq (ls_config_node_get (c, "b")->items->len, 2);
  expect_position (ls_config_node_get (c, "b")->position, 1, 11);
  document_clear (&document);
}
END_TEST

/* Six levels of nine aliases would be 9^6 = 531441 leaves from 300 bytes. */
START_TEST (alias_bombs_are_refused) {
  g_autoptr (GString) text = g_string_new ("a0: &a0 x\n");
  Document document;

  for (int level = 1; level <= 9; level++) {
    g_string_append_printf (text, "a%d: &a%d [", level, level);
    for (int i = 0; i < 9; i++)
      g_string_append_printf (text, "%s*a%d", i > 0 ? ", " : "", level - 1);
    g_string_append (text, "]\n");
  }
  document = read_string (text->str);
  ck_assert_ptr_null (document.root);
  expect_faults (&document,
                 "t.yaml:7:10: error: aliases expand to more than 100000 values; write less of the "
                 "document by aliases\n");
  document_clear (&document);
}
END_TEST

/* Each level is one deeper than the one it copies. */
START_TEST (aliases_do_not_nest_deeper_than_texts) {
  g_autoptr (GString) text = g_string_new ("a0: &a0 x\n");
  Document document;

  for (int level = 1; level <= 60; level++)
    g_string_append_printf (text, "a%d: &a%d [*a%d]\n", level, level, level - 1);
  document = read_string (text->str);
  expect_faults (&document, "t.yaml:50:12: error: nested too deep; at most 50 levels\n");
  document_clear (&document);
}
END_TEST

typedef struct {
  const char *text;
  const char *faults;
} Refused;

static const Refused refused[] = {
    {"", "t.yaml:1:1: error: there is nothing in this file; a scenario has at least one key\n"},
    {"# only this\n",
     "t.yaml:1:1: error: there is nothing in this file; a scenario has at least one key\n"},
    {"a: *b\n", "t.yaml:1:4: error: alias *b names no anchor above it\n"},
    {"a: &x [*x]\n", "t.yaml:1:8: error: alias *x stands inside what it names\n"},
    {"a: 1\n---\nb: 2\n",
     "t.yaml:2:1: error: a second document begins here; one document per file\n"},
    {"a: !!str 1\n", "t.yaml:1:10: error: tags (!) have no meaning here; write the plain value\n"},
    {"a: {<<: 1}\n", "t.yaml:1:5: error: merge keys (<<) are no part of YAML 1.2; repeat the keys "
                     "or use a second file\n"},
    {"? [a]\n: 1\n",
     "t.yaml:1:3: error: a key is no word; keys are words, not maps, lists or aliases\n"},
    {"'': 1\n", "t.yaml:1:1: error: a key is empty; keys are words\n"},
    {"a: \"x\n",
     "t.yaml:1:5: error: not readable as YAML: double-quoted scalar without closing quote\n"},
    {"a: [1\nb: 2\n",
     "t.yaml:3:1: error: not readable as YAML: flow sequence without a closing bracket\n"},
    {"a:\n\tb: 1\n", "t.yaml:2:1: error: not readable as YAML: tab character may not be used as "
                     "indentation\n"},
    {"a: \xff\n", "t.yaml:1:4: error: this byte is not UTF-8; save the file in UTF-8\n"},
    {"b: 1\na: \xc3\n", "t.yaml:2:4: error: this byte is not UTF-8; save the file in UTF-8\n"},
};

START_TEST (unreadable_texts_are_refused_with_a_place) {
  Document document = read_string (refused[_i].text);

  ck_assert_ptr_null (document.root);
  expect_faults (&document, refused[_i].faults);
  document_clear (&document);
}
END_TEST

START_TEST (depth_is_bounded) {
  g_autofree char *deep = g_strnfill (5000, '[');
  Document document = read_string (deep);

  expect_faults (&document, "t.yaml:1:51: error: nested too deep; at most 50 levels\n");
  document_clear (&document);
}
END_TEST

START_TEST (size_is_bounded) {
  g_autoptr (GString) keys = g_string_new (NULL);
  g_autoptr (GString) items = g_string_new ("[");
  Document document;

  for (int i = 0; i <= LS_CONFIG_KEYS_MAX; i++)
    g_string_append_printf (keys, "k%d: 1\n", i);
  document = read_string (keys->str);
  expect_faults (&document, "t.yaml:10001:1: error: there are more than 10000 keys in one map; a "
                            "scenario is smaller\n");
  document_clear (&document);
  for (int i = 0; i <= LS_CONFIG_VALUES_MAX; i++)
    g_string_append (items, "1,");
  document = read_string (items->str);
  ck_assert_ptr_null (document.root);
  ck_assert_uint_eq (ls_config_errors_length (document.errors), 1);
  document_clear (&document);
}
END_TEST

START_TEST (zero_bytes_are_binary) {
  Document document = read_bytes ("a: 1\0b", 6);

  expect_faults (&document,
                 "t.yaml: error: is a binary file; a scenario is YAML or JSON text in UTF-8\n");
  document_clear (&document);
}
END_TEST

START_TEST (a_byte_order_mark_is_no_content) {
  Document document = read_string ("\xef\xbb\xbf"
                                   "a: 1\n");

  expect_faults (&document, "");
  ck_assert_ptr_nonnull (ls_config_node_get (document.root, "a"));
  document_clear (&document);
}
END_TEST

START_TEST (missing_files_and_directories_are_named) {
  g_autofree char *folder = g_dir_make_tmp ("lockstep-XXXXXX", NULL);
  g_autofree char *missing = g_build_filename (folder, "none.yaml", NULL);
  g_autoptr (GStringChunk) names = g_string_chunk_new (64);
  g_autoptr (LsConfigErrors) errors = ls_config_errors_new ();
  g_autofree char *expected = NULL;
  g_autofree char *text = NULL;

  ck_assert_ptr_null (ls_config_node_read_file (missing, names, errors));
  ck_assert_ptr_null (ls_config_node_read_file (folder, names, errors));
  expected = g_strdup_printf ("%s: error: cannot be read: No such file or directory\n"
                              "%s: error: is a directory; name the scenario file in it\n",
                              missing, folder);
  text = ls_config_errors_text (errors);
  ck_assert_str_eq (text, expected);
  g_rmdir (folder);
}
END_TEST

/* A realistic text cut at every byte: never a crash, and a fault with a place whenever there is no
 * tree. */
START_TEST (truncated_texts_never_crash) {
  static const char text[] = "lockstep: 1\n"
                             "cluster: &c\n"
                             "  groups: {main: {nodes: 8, node: {preset: \"dgx \\u00e9\"}}}\n"
                             "  fabrics:\n"
                             "    - compute: 'it''s'\n"
                             "    - ? x\n"
                             "      : |\n"
                             "        block\n"
                             "copy: *c\n"
                             "json: {\"a\": [1, 2.5e3, null]}\n";

  for (gsize length = 0; length < sizeof text; length++) {
    Document document = read_bytes (text, length);

    if (document.root == NULL && !ls_config_errors_any (document.errors))
      ck_abort_msg ("no tree and no fault at %u bytes", (guint) length);
    document_clear (&document);
  }
}
END_TEST

static void add (TCase *tcase) {
  tcase_add_test (tcase, keys_and_values_have_lines_and_columns);
  tcase_add_test (tcase, json_is_read);
  tcase_add_test (tcase, only_bare_nulls_are_null);
  tcase_add_test (tcase, all_duplicate_keys_are_reported);
  tcase_add_test (tcase, aliases_are_copies);
  tcase_add_test (tcase, alias_bombs_are_refused);
  tcase_add_test (tcase, aliases_do_not_nest_deeper_than_texts);
  tcase_add_loop_test (tcase, unreadable_texts_are_refused_with_a_place, 0, G_N_ELEMENTS (refused));
  tcase_add_test (tcase, depth_is_bounded);
  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, size_is_bounded);
  tcase_add_test (tcase, zero_bytes_are_binary);
  tcase_add_test (tcase, a_byte_order_mark_is_no_content);
  tcase_add_test (tcase, missing_files_and_directories_are_named);
  tcase_add_test (tcase, truncated_texts_never_crash);
}

LS_TEST_MAIN ("read", add)
