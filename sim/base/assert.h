/*
 * Assertions in three tiers. A failed assertion is a bug of ours, never bad input: it prints where
 * and why and aborts.
 *
 *   LS_REQUIRE      always on: preconditions of public functions and cheap conservation laws
 *   LS_ASSERT       with LS_DEBUG: invariants inside a module, costing at most a few instructions
 *   LS_ASSERT_SLOW  with LS_SLOW_CHECKS: walks over whole structures
 *
 * LS_REQUIRE takes a printf format that names the entity and, in the engine, the simulated time;
 * the others may take one too. A condition that is switched off is not evaluated but still
 * compiled, so that it cannot rot.
 */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Prints file, line, function, the condition and the message to stderr, then aborts. */
void ls_assert_fail (const char *file, int line, const char *function, const char *condition,
                     const char *format, ...) G_GNUC_PRINTF (5, 6) G_GNUC_NORETURN;

#define LS_REQUIRE(cond, ...)                                                 \
  do {                                                                        \
    if (G_UNLIKELY (!(cond)))                                                 \
      ls_assert_fail (__FILE__, __LINE__, G_STRFUNC, #cond, " " __VA_ARGS__); \
  } while (0)

#define LS_ASSERT_UNUSED_(cond) \
  do {                          \
    if (0 && (cond)) {          \
    }                           \
  } while (0)

#ifdef LS_DEBUG
#define LS_ASSERT(...) LS_REQUIRE (__VA_ARGS__)
#else
#define LS_ASSERT_FIRST_(cond, ...) LS_ASSERT_UNUSED_ (cond)
#define LS_ASSERT(...) LS_ASSERT_FIRST_ (__VA_ARGS__, 0)
#endif

#ifdef LS_SLOW_CHECKS
#define LS_ASSERT_SLOW(...) LS_REQUIRE (__VA_ARGS__)
#else
#define LS_ASSERT_SLOW_FIRST_(cond, ...) LS_ASSERT_UNUSED_ (cond)
#define LS_ASSERT_SLOW(...) LS_ASSERT_SLOW_FIRST_ (__VA_ARGS__, 0)
#endif

G_END_DECLS
