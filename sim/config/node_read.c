/*
 * Reading YAML and JSON into trees, from the events of libfyaml.
 *
 * Model: recursive descent over the event stream, at most LS_CONFIG_DEPTH_MAX deep. libfyaml does
 * not see duplicate keys at this level and is not asked to resolve aliases, since it does not bound
 * them; both are done here. Nodes replaced by a later duplicate stay alive until the end, because
 * an anchor may name them.
 *
 * Cost: linear in the text plus the copies of aliases, which are counted.
 * Left out: tags, merge keys, several documents, keys that are not scalars: each is refused.
 */
#include "config/node.h"

#include "base/assert.h"

#include <libfyaml.h>
#include <string.h>

typedef struct {
  struct fy_parser *parser;
  struct fy_diag *diag;
  LsConfigErrors *errors;
  const char *file;     /* owned by the caller's GStringChunk */
  int option_column;    /* of the first byte of an option's value; 0: a file */
  int length;           /* of the text */
  GHashTable *anchors;  /* name -> node; NULL while the node is being read */
  GPtrArray *discarded; /* values of duplicate keys */
  guint copies;
  guint values;
} Reader;

static LsConfigNode *read_value (Reader *reader, struct fy_event *event, guint depth);

static LsConfigPosition position_of_mark (const Reader *reader, const struct fy_mark *mark,
                                          LsConfigPosition fallback) {
  if (mark == NULL)
    return fallback;
  if (reader->option_column > 0)
    return (LsConfigPosition){reader->file, 0, reader->option_column + (int) mark->input_pos};
  return (LsConfigPosition){reader->file, mark->line + 1, mark->column + 1};
}

/* libfyaml marks quoted scalars and aliases behind their first sign; people look at the sign. */
static LsConfigPosition position_of_event (const Reader *reader, struct fy_event *event,
                                           LsConfigPosition fallback) {
  LsConfigPosition position = position_of_mark (reader, fy_event_start_mark (event), fallback);
  gboolean behind = event->type == FYET_ALIAS;

  if (event->type == FYET_SCALAR && event->scalar.value != NULL) {
    enum fy_scalar_style style = fy_scalar_token_get_style (event->scalar.value);

    behind = style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
  }
  if (behind && position.column > 1)
    position.column--;
  return position;
}

static LsConfigPosition start_of (const Reader *reader) {
  if (reader->option_column > 0)
    return (LsConfigPosition){reader->file, 0, reader->option_column};
  return (LsConfigPosition){reader->file, 1, 1};
}

static void add_error (Reader *reader, LsConfigPosition position, const char *message) {
  ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position, "%s", message);
}

/* Passes on what libfyaml says about the text. It stops at its first error, but may say more than
 * one thing about it: the first is the cause. */
static void add_syntax_error (Reader *reader) {
  void *previous = NULL;
  struct fy_diag_error *fault = fy_diag_errors_iterate (reader->diag, &previous);
  LsConfigPosition position = start_of (reader);

  if (fault == NULL) {
    add_error (reader, position, "cannot be read as YAML");
    return;
  }
  if (reader->option_column > 0)
    position.column += fault->line > 1 ? reader->length : MAX (fault->column - 1, 0);
  else {
    position.line = MAX (fault->line, 1);
    position.column = MAX (fault->column, 1);
  }
  ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position, "not readable as %s: %s",
                        g_str_has_suffix (reader->file, ".json") ? "JSON" : "YAML", fault->msg);
}

static struct fy_event *next_event (Reader *reader) {
  struct fy_event *event = fy_parser_parse (reader->parser);

  if (event == NULL)
    add_syntax_error (reader);
  return event;
}

static void free_event (Reader *reader, struct fy_event *event) {
  fy_parser_event_free (reader->parser, event);
}

/* The text of a token as a string of our own, NULL when there is no token. */
static char *token_text (struct fy_token *token, gsize *length) {
  const char *text = token != NULL ? fy_token_get_text (token, length) : NULL;

  return text != NULL ? g_strndup (text, *length) : NULL;
}

static LsConfigNode *read_scalar (struct fy_event *event, LsConfigPosition position) {
  LsConfigNode *node = ls_config_node_new_scalar ("", position);
  struct fy_token *token = event->scalar.value;
  gsize length = 0;
  char *text = token_text (token, &length);

  if (text != NULL) {
    g_free (node->text);
    node->text = text;
    node->length = length;
    node->quoted = fy_scalar_token_get_style (token) != FYSS_PLAIN;
  }
  return node;
}

/* Nodes and levels of a tree. */
static void measure (const LsConfigNode *node, guint level, guint *nodes, guint *levels) {
  (*nodes)++;
  *levels = MAX (*levels, level);
  for (guint i = 0; node->items != NULL && i < node->items->len; i++)
    measure (node->items->pdata[i], level + 1, nodes, levels);
  for (guint i = 0; node->entries != NULL && i < node->entries->len; i++)
    measure (((const LsConfigEntry *) node->entries->pdata[i])->value, level + 1, nodes, levels);
}

static LsConfigNode *read_alias (Reader *reader, struct fy_event *event, guint depth,
                                 LsConfigPosition position) {
  gsize length = 0;
  g_autofree char *name = token_text (event->alias.anchor, &length);
  LsConfigNode *target = NULL;
  guint nodes = 0, levels = 0;

  if (name == NULL ||
      !g_hash_table_lookup_extended (reader->anchors, name, NULL, (gpointer *) &target)) {
    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "alias *%s names no anchor above it", name != NULL ? name : "");
    return NULL;
  }
  if (target == NULL) {
    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "alias *%s stands inside what it names", name);
    return NULL;
  }
  measure (target, depth, &nodes, &levels);
  if (nodes > LS_CONFIG_COPIES_MAX - reader->copies) {
    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "aliases expand to more than %d values; write less of the document by "
                          "aliases",
                          LS_CONFIG_COPIES_MAX);
    return NULL;
  }
  if (levels > LS_CONFIG_DEPTH_MAX) {
    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "nested too deep; at most %d levels", LS_CONFIG_DEPTH_MAX);
    return NULL;
  }
  reader->copies += nodes;
  return ls_config_node_copy (target);
}

static LsConfigNode *read_list (Reader *reader, guint depth, LsConfigPosition position) {
  g_autoptr (LsConfigNode) list = ls_config_node_new_list (position);

  for (;;) {
    struct fy_event *event = next_event (reader);
    LsConfigNode *item;

    if (event == NULL)
      return NULL;
    if (event->type == FYET_SEQUENCE_END) {
      free_event (reader, event);
      return g_steal_pointer (&list);
    }
    item = read_value (reader, event, depth + 1);
    if (item == NULL)
      return NULL;
    g_ptr_array_add (list->items, item);
  }
}

/* Bounds that keep time and memory in proportion; FALSE after an error. */
static gboolean check_size (Reader *reader, guint count, guint limit, const char *what,
                            LsConfigPosition position) {
  if (count < limit)
    return TRUE;
  ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                        "there are more than %u %s; a scenario is smaller", limit, what);
  return FALSE;
}

/* A key must be a scalar. NULL after an error; frees @event. */
static char *read_key (Reader *reader, struct fy_event *event, LsConfigPosition *position) {
  char *key = NULL;
  gsize length = 0;

  *position = position_of_event (reader, event, *position);
  if (event->type == FYET_SCALAR) {
    key = token_text (event->scalar.value, &length);
    if (key == NULL)
      key = g_strdup ("");
    if (key[0] == '\0') {
      add_error (reader, *position, "a key is empty; keys are words");
      g_clear_pointer (&key, g_free);
    } else if (strcmp (key, "<<") == 0) {
      add_error (reader, *position,
                 "merge keys (<<) are no part of YAML 1.2; repeat the keys or use a second file");
      g_clear_pointer (&key, g_free);
    }
  } else
    add_error (reader, *position, "a key is no word; keys are words, not maps, lists or aliases");
  free_event (reader, event);
  return key;
}

/* Adds one pair; of a key given twice the first value stays. */
static void add_pair (Reader *reader, LsConfigNode *map, const char *key, LsConfigPosition position,
                      LsConfigNode *value) {
  const LsConfigEntry *first = ls_config_node_entry (map, key);

  if (first != NULL) {
    g_autofree char *place = ls_config_position_text (first->position);

    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "key '%s' is given twice; the first is at %s", key, place);
    g_ptr_array_add (reader->discarded, value);
    return;
  }
  if (value->position.line == 0 && reader->option_column == 0)
    value->position = position;
  ls_config_node_put (map, key, position, value);
}

static LsConfigNode *read_map (Reader *reader, guint depth, LsConfigPosition position) {
  g_autoptr (LsConfigNode) map = ls_config_node_new_map (position);

  for (;;) {
    struct fy_event *event = next_event (reader);
    LsConfigPosition key_position = position;
    g_autofree char *key = NULL;
    LsConfigNode *value;

    if (event == NULL)
      return NULL;
    if (event->type == FYET_MAPPING_END) {
      free_event (reader, event);
      return g_steal_pointer (&map);
    }
    key = read_key (reader, event, &key_position);
    if (key == NULL || !check_size (reader, map->entries->len, LS_CONFIG_KEYS_MAX,
                                    "keys in one map", key_position))
      return NULL;
    event = next_event (reader);
    if (event == NULL)
      return NULL;
    value = read_value (reader, event, depth + 1);
    if (value == NULL)
      return NULL;
    add_pair (reader, map, key, key_position, value);
  }
}

/* Remembers an anchor: first as being read, then with its node. */
static void set_anchor (Reader *reader, const char *anchor, LsConfigNode *node) {
  if (anchor != NULL)
    g_hash_table_insert (reader->anchors, g_strdup (anchor), node);
}

static struct fy_token *anchor_token (struct fy_event *event) {
  switch (event->type) {
  case FYET_SCALAR:
    return event->scalar.anchor;
  case FYET_SEQUENCE_START:
    return event->sequence_start.anchor;
  case FYET_MAPPING_START:
    return event->mapping_start.anchor;
  default:
    return NULL;
  }
}

static gboolean has_tag (struct fy_event *event) {
  switch (event->type) {
  case FYET_SCALAR:
    return event->scalar.tag != NULL;
  case FYET_SEQUENCE_START:
    return event->sequence_start.tag != NULL;
  case FYET_MAPPING_START:
    return event->mapping_start.tag != NULL;
  default:
    return FALSE;
  }
}

/* What may not begin a value here; FALSE after an error. */
static gboolean check_value_event (Reader *reader, struct fy_event *event, guint depth,
                                   LsConfigPosition position) {
  if (depth > LS_CONFIG_DEPTH_MAX) {
    ls_config_errors_add (reader->errors, LS_CONFIG_FAULT_ERROR, position,
                          "nested too deep; at most %d levels", LS_CONFIG_DEPTH_MAX);
    return FALSE;
  }
  if (has_tag (event)) {
    add_error (reader, position, "tags (!) have no meaning here; write the plain value");
    return FALSE;
  }
  return check_size (reader, reader->values++, LS_CONFIG_VALUES_MAX, "values", position);
}

/* The value that begins with @event (freed here). NULL after an error. */
static LsConfigNode *read_value (Reader *reader, struct fy_event *event, guint depth) {
  LsConfigPosition none = {reader->file, 0, 0};
  LsConfigPosition position = position_of_event (reader, event, none);
  gsize length = 0;
  g_autofree char *anchor = token_text (anchor_token (event), &length);
  LsConfigNode *node = NULL;

  if (!check_value_event (reader, event, depth, position)) {
    free_event (reader, event);
    return NULL;
  }
  set_anchor (reader, anchor, NULL);
  switch (event->type) {
  case FYET_SCALAR:
    node = read_scalar (event, position);
    break;
  case FYET_ALIAS:
    node = read_alias (reader, event, depth, position);
    break;
  case FYET_SEQUENCE_START:
    node = read_list (reader, depth, position);
    break;
  case FYET_MAPPING_START:
    node = read_map (reader, depth, position);
    break;
  default:
    add_error (reader, position, "not readable as YAML: a value is missing");
    break;
  }
  free_event (reader, event);
  if (node != NULL)
    set_anchor (reader, anchor, node);
  return node;
}

/* Reads up to the first value; NULL at the end of the stream or after an error (*failed). */
static struct fy_event *first_value (Reader *reader, gboolean *failed) {
  for (;;) {
    struct fy_event *event = next_event (reader);

    if (event == NULL) {
      *failed = TRUE;
      return NULL;
    }
    if (event->type == FYET_STREAM_END) {
      free_event (reader, event);
      return NULL;
    }
    if (event->type != FYET_STREAM_START && event->type != FYET_DOCUMENT_START)
      return event;
    free_event (reader, event);
  }
}

/* After the value only the end may follow. */
static gboolean expect_end (Reader *reader) {
  for (;;) {
    struct fy_event *event = next_event (reader);
    enum fy_event_type type;
    LsConfigPosition position;

    if (event == NULL)
      return FALSE;
    type = event->type;
    position = position_of_mark (reader, fy_event_start_mark (event), start_of (reader));
    free_event (reader, event);
    if (type == FYET_STREAM_END)
      return TRUE;
    if (type == FYET_DOCUMENT_START) {
      add_error (reader, position, "a second document begins here; one document per file");
      return FALSE;
    }
  }
}

static LsConfigNode *read_document (Reader *reader) {
  gboolean failed = FALSE;
  struct fy_event *event = first_value (reader, &failed);
  LsConfigNode *root;

  if (failed)
    return NULL;
  if (event == NULL) {
    add_error (reader, start_of (reader),
               reader->option_column > 0
                   ? "there is no value; write PATH=VALUE, or use --unset PATH"
                   : "there is nothing in this file; a scenario has at least one key");
    return NULL;
  }
  root = read_value (reader, event, 1);
  if (root == NULL)
    return NULL;
  if (!expect_end (reader)) {
    ls_config_node_free (root);
    return NULL;
  }
  return root;
}

/* Faults of the bytes themselves, which libfyaml would report in its own terms or not at all. */
static gboolean check_bytes (Reader *reader, const char *text, gsize length) {
  LsConfigPosition position = start_of (reader);
  const char *end = text;

  if (memchr (text, '\0', length) != NULL) {
    position = (LsConfigPosition){reader->file, 0, 0};
    add_error (reader, position, "is a binary file; a scenario is YAML or JSON text in UTF-8");
    return FALSE;
  }
  if (g_utf8_validate_len (text, length, &end))
    return TRUE;
  for (const char *p = text; p < end && reader->option_column == 0; p++) {
    position.column++;
    if (*p == '\n') {
      position.line++;
      position.column = 1;
    }
  }
  add_error (reader, position, "this byte is not UTF-8; save the file in UTF-8");
  return FALSE;
}

static void discard_node (gpointer data) {
  ls_config_node_free (data);
}

/* Runs the parser over a text that check_bytes() has passed. */
static LsConfigNode *parse (Reader *reader, const char *text, gsize length) {
  struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE};
  struct fy_diag_cfg diag_config;
  LsConfigNode *root = NULL;

  fy_diag_cfg_default (&diag_config);
  reader->diag = fy_diag_create (&diag_config);
  LS_REQUIRE (reader->diag != NULL, "out of memory");
  fy_diag_set_collect_errors (reader->diag, true);
  config.diag = reader->diag;
  reader->parser = fy_parser_create (&config);
  LS_REQUIRE (reader->parser != NULL, "out of memory");
  reader->anchors = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  reader->discarded = g_ptr_array_new_with_free_func (discard_node);

  if (fy_parser_set_string (reader->parser, text, length) == 0)
    root = read_document (reader);
  else
    add_syntax_error (reader);

  g_hash_table_unref (reader->anchors);
  g_ptr_array_unref (reader->discarded);
  fy_parser_destroy (reader->parser);
  fy_diag_destroy (reader->diag);
  return root;
}

static LsConfigNode *read_text (const char *name, const char *text, gsize length, int column,
                                GStringChunk *names, LsConfigErrors *errors) {
  Reader reader = {.errors = errors,
                   .file = g_string_chunk_insert_const (names, name),
                   .option_column = column,
                   .length = (int) length};

  /* A byte order mark is no content. */
  if (length >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0) {
    text += 3;
    length -= 3;
  }
  if (!check_bytes (&reader, text, length))
    return NULL;
  return parse (&reader, text, length);
}

LsConfigNode *ls_config_node_read_text (const char *name, const char *text, gsize length,
                                        GStringChunk *names, LsConfigErrors *errors) {
  return read_text (name, text, length, 0, names, errors);
}

LsConfigNode *ls_config_node_read_option (const char *name, const char *text, int column,
                                          GStringChunk *names, LsConfigErrors *errors) {
  return read_text (name, text, strlen (text), column, names, errors);
}
