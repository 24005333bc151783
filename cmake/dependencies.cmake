# Libraries, found by pkg-config only (docs/dependencies.md says why each was chosen).
find_package (PkgConfig REQUIRED)
set (THREADS_PREFER_PTHREAD_FLAG ON)
find_package (Threads REQUIRED)

# ls_find_library (NAME MODULE): an interface target dep_NAME for the pkg-config module. With
# LS_STATIC it takes libX.a for every library of the closure that has one, so that the program runs
# where they are not installed. libc and libm stay shared: a static glibc cannot load the locale
# and name service modules of the machine it runs on.
function (ls_find_library name module)
  pkg_check_modules (${name} REQUIRED IMPORTED_TARGET ${module})
  add_library (dep_${name} INTERFACE)
  if (NOT LS_STATIC)
    target_link_libraries (dep_${name} INTERFACE PkgConfig::${name})
    return ()
  endif ()
  target_include_directories (dep_${name} SYSTEM INTERFACE ${${name}_STATIC_INCLUDE_DIRS})
  foreach (library IN LISTS ${name}_STATIC_LIBRARIES)
    if (NOT library MATCHES "^(m|c|dl|rt|pthread)$")
      find_library (archive_${library} NAMES lib${library}.a ${library}
                    HINTS ${${name}_STATIC_LIBRARY_DIRS} REQUIRED)
      target_link_libraries (dep_${name} INTERFACE ${archive_${library}})
    endif ()
  endforeach ()
  target_link_libraries (dep_${name} INTERFACE Threads::Threads m ${CMAKE_DL_LIBS})
endfunction ()

ls_find_library (glib "glib-2.0>=2.68")
ls_find_library (gsl "gsl>=2.6")
ls_find_library (sqlite3 "sqlite3>=3.34")
ls_find_library (fyaml "libfyaml>=0.7.12")
ls_find_library (zlib "zlib>=1.2.11")

# Matrix products of sim/learn: GSL's own CBLAS comes with GSL; OpenBLAS is faster.
set (LS_BLAS gsl CACHE STRING "CBLAS of the learner: gsl or openblas")
set_property (CACHE LS_BLAS PROPERTY STRINGS gsl openblas)
if (LS_BLAS STREQUAL "openblas")
  ls_find_library (openblas "openblas>=0.3")
  # GSL works with any CBLAS; its own is left out, so that there is one only.
  foreach (target PkgConfig::gsl dep_gsl)
    get_target_property (libraries ${target} INTERFACE_LINK_LIBRARIES)
    list (FILTER libraries EXCLUDE REGEX "gslcblas")
    set_target_properties (${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  endforeach ()
  target_link_libraries (dep_gsl INTERFACE dep_openblas)
elseif (NOT LS_BLAS STREQUAL "gsl")
  message (FATAL_ERROR "LS_BLAS is gsl or openblas, not '${LS_BLAS}'")
endif ()
