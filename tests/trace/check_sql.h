/* SQL in tests: one connection, one-value questions. */
#pragma once

#include <check.h>
#include <glib.h>
#include <sqlite3.h>

/* Opens `folder`/`name` read-only; closed with sqlite3_close(). */
sqlite3 *sql_open (const char *folder, const char *name);
/* The single value of a SELECT. */
gint64 sql_integer (sqlite3 *db, const char *sql);
double sql_real (sqlite3 *db, const char *sql);
char *sql_text (sqlite3 *db, const char *sql);
/* Every row of every table but the run rows whose key begins with wall_, as text. */
char *sql_dump (sqlite3 *db);
