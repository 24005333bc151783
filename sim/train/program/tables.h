/* The two tables that all programs of a job share: names (LsOp.name) and what collectives, messages
 * and copies are (LsOp.descriptor).
 *
 * Jobs that run on one engine share one pair of tables: the network knows descriptors by number.
 * Equal entries are stored once, so numbers depend only on the order in which programs are built.
 *
 * Ownership: the tables own copies of everything; they live until as many frees as references.
 */
#pragma once

#include "net/collective.h"

typedef struct LsTables LsTables;

LsTables *ls_tables_new (void);
LsTables *ls_tables_ref (LsTables *tables);
void ls_tables_free (LsTables *tables);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsTables, ls_tables_free)

/* The number of a name; the first one is 0. */
guint32 ls_tables_name (LsTables *tables, const char *name);
/* The number of a descriptor with the automatic choice of algorithm; `bytes` >= 0. */
guint16 ls_tables_descriptor (LsTables *tables, LsCollectiveOp op, gint64 bytes);
guint16 ls_tables_descriptor_by (LsTables *tables, LsCollectiveOp op, LsAlgorithm algorithm,
                                 gint64 bytes);

/* `n` all-to-allv in a row, whose splits follow: the number of the first. */
guint16 ls_tables_add_splits (LsTables *tables, guint n);
/* `splits` is borrowed for as long as a net has it; `bytes` is its sum without what stays where it is. */
void ls_tables_set_splits (LsTables *tables, guint16 number, const gint64 *splits, gint64 bytes);

guint ls_tables_n_names (const LsTables *tables);
const char *ls_tables_get_name (const LsTables *tables, guint number);
guint ls_tables_n_descriptors (const LsTables *tables);
const LsDescriptor *ls_tables_descriptors (const LsTables *tables);
