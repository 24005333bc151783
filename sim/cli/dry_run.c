/* What a run would take; see dry_run.h. */
#include "cli/dry_run.h"

#include "base/quantity.h"
#include "cli/json.h"
#include "cli/output.h"

LsProbe ls_probe_begin (double share) {
  return (LsProbe){.start_us = g_get_monotonic_time (), .share = share};
}

void ls_probe_progress (gpointer self, double share) {
  LsProbe *probe = self;
  gint64 now_us = g_get_monotonic_time ();

  probe->share = share;
  probe->seconds = (double) (now_us - probe->start_us) / 1e6;
  if (now_us - probe->start_us > LS_PROBE_US)
    g_atomic_int_set (&probe->stop, 1);
}

static char *as_json (const LsCli *cli, const LsExpectation *expected) {
  LsJson *json = ls_json_new ();

  ls_json_open_object (json, NULL);
  ls_json_integer (json, "operations", (gint64) expected->operations);
  ls_json_integer (json, "events", (gint64) expected->events);
  ls_json_integer (json, "trace_rows", (gint64) expected->rows);
  ls_json_integer (json, "database_bytes", (gint64) expected->bytes);
  ls_json_number (json, "expected_s", expected->seconds);
  ls_json_strings (json, "warnings", cli->warnings);
  ls_json_close (json);
  return ls_json_finish (json);
}

int ls_expectation_write (LsCli *cli, const LsExpectation *expected, const char *work,
                          const char *rows, GError **error) {
  g_autofree char *text = NULL;

  if (cli->json) {
    text = as_json (cli, expected);
  } else {
    g_autofree char *bytes = ls_quantity_format (expected->bytes, LS_DIMENSION_BYTES);
    g_autofree char *time = ls_quantity_format (expected->seconds, LS_DIMENSION_TIME);

    text = g_strdup_printf ("simulates  %s\n"
                            "database   about %s, %s\n"
                            "time       about %s on this machine\n",
                            work, bytes, rows, time);
  }
  return ls_cli_write (cli, text, error) ? 0 : 2;
}
