/*
 * The one place where the library gives up: a failed assertion. It writes straight to stderr
 * through GLib's printerr hook, because a logging handler may itself be what is broken.
 */
#include "base/assert.h"

#include <stdlib.h>

void ls_assert_fail (const char *file, int line, const char *function, const char *condition,
                     const char *format, ...) {
  va_list args;
  g_autofree char *message = NULL;

  va_start (args, format);
  message = g_strstrip (g_strdup_vprintf (format, args));
  va_end (args);

  g_printerr ("%s:%d: %s: assertion failed: %s%s%s\n", file, line, function, condition,
              message[0] != '\0' ? ": " : "", message);
  /* G_BREAKPOINT would stop in a debugger only; SIGABRT is what test runners expect. */
  (abort) ();
}
