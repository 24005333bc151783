# Compiler flags of everything we compile, as one interface target ls_flags.
#
# Same bits everywhere: no -ffast-math, no fused multiply-add unless the code asks for it, and no
# -march, so that Debug and Release, and one machine and the next, agree on every time.
set (CMAKE_C_STANDARD 11)
set (CMAKE_C_STANDARD_REQUIRED ON)
set (CMAKE_C_EXTENSIONS OFF)
set (CMAKE_C_FLAGS_RELEASE "-O2")
set (CMAKE_C_FLAGS_DEBUG "-O0 -g")

add_library (ls_flags INTERFACE)
target_compile_options (ls_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${LS_WERROR}>:-Werror> -ffp-contract=off)
# -std=c11 hides POSIX; signals, terminals and files need it.
target_compile_definitions (ls_flags INTERFACE
  _DEFAULT_SOURCE
  G_LOG_DOMAIN="lockstep"
  $<$<CONFIG:Debug>:LS_DEBUG>
  $<$<BOOL:${LS_SLOW_CHECKS}>:LS_SLOW_CHECKS>)

if (LS_SANITIZE)
  target_compile_options (ls_flags INTERFACE
    -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options (ls_flags INTERFACE -fsanitize=address,undefined)
endif ()
