# Libraries, found by pkg-config only (docs/dependencies.md says why each was chosen).
find_package (PkgConfig REQUIRED)
set (THREADS_PREFER_PTHREAD_FLAG ON)
find_package (Threads REQUIRED)

# ls_find_library (NAME MODULE): an interface target dep_NAME for the pkg-config module.
function (ls_find_library name module)
  if (LS_STATIC)
    # Prefer libX.a for every library of the closure; libc and its kin stay shared, because a
    # static glibc cannot load the locale and name service modules of the machine it runs on.
    set (CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  endif ()
  pkg_check_modules (${name} REQUIRED IMPORTED_TARGET ${module})
  add_library (dep_${name} INTERFACE)
  target_link_libraries (dep_${name} INTERFACE PkgConfig::${name})
endfunction ()

ls_find_library (glib "glib-2.0>=2.68")
ls_find_library (gsl "gsl>=2.6")
ls_find_library (sqlite3 "sqlite3>=3.34")
ls_find_library (fyaml "libfyaml>=0.7.12")
