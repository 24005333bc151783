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
  # Lines and functions are all that a report names (-g1). At a fixed address (no PIE) a start takes a
  # fifth less (0.22 -> 0.18 s for a small check): the descriptions of every global need no relocation.
  # Tests start the program hundreds of times.
  target_compile_options (ls_flags INTERFACE
    -O1 -g1 -fno-omit-frame-pointer -fno-pie -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options (ls_flags INTERFACE -no-pie -fsanitize=address,undefined)
endif ()

# The sanitizer tree links some ninety programs: lld takes half of bfd's time, gold two thirds.
if (LS_FAST_LINKER)
  include (CheckCSourceCompiles)
  foreach (linker lld gold)
    set (CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=${linker})
    check_c_source_compiles ("int main (void) { return 0; }" LS_LINKS_WITH_${linker})
    unset (CMAKE_REQUIRED_LINK_OPTIONS)
    if (LS_LINKS_WITH_${linker})
      target_link_options (ls_flags INTERFACE -fuse-ld=${linker})
      break ()
    endif ()
  endforeach ()
endif ()
