/*
 * The error domain: names, meanings and exit statuses, all from the one table LS_ERROR_MAP.
 */
#include "base/error.h"

typedef struct {
  int exit_status;
  const char *meaning;
} ErrorRow;

static const ErrorRow error_rows[] = {
#define X(NAME, STATUS, MEANING) [LS_ERROR_##NAME] = {STATUS, MEANING},
    LS_ERROR_MAP (X)
#undef X
};

G_DEFINE_QUARK (ls - error - quark, ls_error)

/* Lower-case names, kept apart from the table because the preprocessor cannot lower a word. */
static const char *const error_names[] = {
    [LS_ERROR_USAGE] = "usage",
    [LS_ERROR_CONFIG] = "config",
    [LS_ERROR_RUN] = "run",
    [LS_ERROR_IO] = "io",
    [LS_ERROR_UNSUPPORTED] = "unsupported",
    [LS_ERROR_OVERFLOW] = "overflow",
    [LS_ERROR_INTERRUPTED] = "interrupted",
};

G_STATIC_ASSERT (G_N_ELEMENTS (error_names) == G_N_ELEMENTS (error_rows));

const char *ls_error_name (LsError code) {
  return (guint) code < G_N_ELEMENTS (error_names) ? error_names[code] : "unknown";
}

const char *ls_error_meaning (LsError code) {
  return (guint) code < G_N_ELEMENTS (error_rows) ? error_rows[code].meaning : "unknown error";
}

int ls_error_exit_status (const GError *error) {
  if (error == NULL)
    return 0;
  if (error->domain != LS_ERROR || error->code < 0 ||
      (guint) error->code >= G_N_ELEMENTS (error_rows))
    return 1;
  return error_rows[error->code].exit_status;
}
