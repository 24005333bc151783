/* Text for people; see prose.h. */
#include "base/prose.h"

void ls_prose_append (GString *out, const char *text, guint width, guint indent, guint column) {
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  guint at = column;

  for (guint i = 0; words[i] != NULL; i++) {
    const guint length = (guint) g_utf8_strlen (words[i], -1);

    if (i > 0 && at + 1 + length > width) {
      g_string_append_printf (out, "\n%*s", (int) indent, "");
      at = indent;
    } else if (i > 0) {
      g_string_append_c (out, ' ');
      at++;
    }
    g_string_append (out, words[i]);
    at += length;
  }
  g_string_append_c (out, '\n');
}

char *ls_prose_alike (const char *const *names, const char *const *texts, guint n, guint from,
                      guint *to) {
  GString *alike = g_string_new (names[from]);

  for (*to = from + 1; *to < n && g_str_equal (texts[from], texts[*to]); (*to)++)
    g_string_append_printf (alike, ", %s", names[*to]);
  return g_string_free (alike, FALSE);
}

void ls_prose_append_jobs (GString *out, const char *const *names, const char *const *texts,
                           guint n) {
  for (guint from = 0, to; from < n; from = to) {
    g_autofree char *alike = ls_prose_alike (names, texts, n, from, &to);
    const gboolean several = to - from > 1;

    g_string_append_printf (out, "%s%s %s%s\n%s", out->len > 0 ? "\n" : "",
                            several ? "jobs" : "job", alike, several ? ": each" : "", texts[from]);
  }
}
