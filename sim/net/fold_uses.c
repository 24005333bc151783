/* What programs do with the groups of their ranks, read from their operations once per kind of rank. */
#include "engine/refine.h"
#include "net/fold_private.h"

#define mix ls_refinement_mix

static gint compare_numbers (gconstpointer a, gconstpointer b) {
  guint16 x = *(const guint16 *) a, y = *(const guint16 *) b;
  return (x > y) - (x < y);
}

static void add_once (GArray *list, guint16 number) {
  for (guint i = 0; i < list->len; i++)
    if (g_array_index (list, guint16, i) == number)
      return;
  g_array_append_val (list, number);
}

static void add_send (GArray *sends, const LsOp *op) {
  LsFoldSend send = {.peer = op->peer,
                     .relative = (op->flags & LS_OP_PEER_RELATIVE) != 0,
                     .descriptor = op->descriptor};
  for (guint i = 0; i < sends->len; i++) {
    const LsFoldSend *have = &g_array_index (sends, LsFoldSend, i);
    if (have->peer == send.peer && have->relative == send.relative &&
        have->descriptor == send.descriptor)
      return;
  }
  g_array_append_val (sends, send);
}

static LsFoldUse *use_of (LsFoldKind *kind, guint slot) {
  if (slot >= kind->n_slots) {
    kind->uses = g_renew (LsFoldUse, kind->uses, slot + 1);
    for (; kind->n_slots <= slot; kind->n_slots++)
      kind->uses[kind->n_slots] =
          (LsFoldUse){.collectives = g_array_new (FALSE, FALSE, sizeof (guint16)),
                      .sends = g_array_new (FALSE, FALSE, sizeof (LsFoldSend)),
                      .at_once = 1};
  }
  return &kind->uses[slot];
}

/* `bundled`: operations of the bundle that the operation is in. */
static void read_operation (LsFoldKind *kind, const LsOp *op, guint bundled, const char **why) {
  if ((op->flags & LS_OP_PEER_TABLE) ||
      ((op->flags & LS_OP_WORK_TABLE) && !(op->flags & LS_OP_TABLE_FOLDS)))
    *why = "operations take their size or peer from a table per rank";
  if (op->flags & LS_OP_DRAWN)
    *why = "loads of experts differ by rank";
  switch ((LsOpKind) op->kind) {
  case LS_OP_COLLECTIVE:
    add_once (use_of (kind, op->slot)->collectives, op->descriptor);
    break;
  case LS_OP_SEND:
  case LS_OP_PUT: {
    LsFoldUse *use = use_of (kind, op->slot);
    add_send (use->sends, op);
    use->at_once = MAX (use->at_once, bundled);
    use->unbounded = use->unbounded || op->kind == LS_OP_PUT || (op->flags & LS_OP_EAGER);
    break;
  }
  case LS_OP_RECV:
    use_of (kind, op->slot)->receives = TRUE;
    break;
  case LS_OP_COPY:
    add_once (kind->copies, op->descriptor);
    break;
  case LS_OP_HOST:
    kind->host = TRUE;
    break;
  default:
    break;
  }
}

static guint64 hash_numbers (const GArray *numbers) {
  guint64 hash = mix (1, numbers->len);
  for (guint i = 0; i < numbers->len; i++)
    hash = mix (hash, g_array_index (numbers, guint16, i));
  return hash;
}

static guint64 hash_use (const LsFoldUse *use) {
  guint64 hash = mix (hash_numbers (use->collectives), use->sends->len);
  for (guint i = 0; i < use->sends->len; i++) {
    const LsFoldSend *send = &g_array_index (use->sends, LsFoldSend, i);
    hash = mix (mix (hash, (guint64) send->peer), send->descriptor);
    hash = mix (hash, send->relative ? 1 : 0);
  }
  hash = mix (mix (hash, use->receives ? 1 : 0), use->at_once);
  return mix (hash, use->unbounded ? 1 : 0);
}

static void read_program (LsFoldKind *kind, const LsProgram *program, const char **why) {
  for (guint stream = 0; stream < ls_program_n_streams (program); stream++) {
    guint bundled = 1;
    for (guint32 i = 0, left = 0; i < ls_program_n_operations (program, stream); i++) {
      const LsOp *op = ls_program_operation (program, stream, i);
      if (op->kind == LS_OP_BUNDLE)
        bundled = left = op->descriptor;
      else if (left > 0)
        left--;
      else
        bundled = 1;
      read_operation (kind, op, bundled, why);
    }
  }
  for (guint slot = 0; slot < kind->n_slots; slot++) {
    g_array_sort (kind->uses[slot].collectives, compare_numbers);
    kind->uses[slot].content = hash_use (&kind->uses[slot]);
  }
  g_array_sort (kind->copies, compare_numbers);
  kind->copied = hash_numbers (kind->copies);
}

LsFoldKind *ls_fold_kinds_new (const LsFoldInput *input, const char **why) {
  LsFoldKind *kinds = g_new0 (LsFoldKind, MAX (input->n_kinds, 1u));
  for (guint k = 0; k < input->n_kinds; k++) {
    kinds[k].copies = g_array_new (FALSE, FALSE, sizeof (guint16));
    if (input->programs[k] != NULL)
      read_program (&kinds[k], input->programs[k], why);
  }
  return kinds;
}

void ls_fold_kinds_free (LsFoldKind *kinds, guint n) {
  for (guint k = 0; kinds != NULL && k < n; k++) {
    for (guint slot = 0; slot < kinds[k].n_slots; slot++) {
      g_array_unref (kinds[k].uses[slot].collectives);
      g_array_unref (kinds[k].uses[slot].sends);
    }
    g_free (kinds[k].uses);
    g_array_unref (kinds[k].copies);
  }
  g_free (kinds);
}

/* NULL: nothing. */
const LsFoldUse *ls_fold_use (const LsFold *fold, const LsFoldGroup *group, guint position) {
  const LsFoldKind *kind = &fold->kinds[fold->input.kind_of_rank[group->ranks[position]]];
  guint slot = position == 0 ? group->first_slot : group->slot;
  return slot < kind->n_slots ? &kind->uses[slot] : NULL;
}
