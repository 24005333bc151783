# The libraries ls_PART, the program lockstep and the benchmark lockstep-bench.

# External libraries of single parts; every part has GLib and GSL. Only sim/trace and sim/study
# speak SQLite, only sim/config reads YAML, only sim/learn unpacks gzip.
set (LS_EXTRA_config dep_fyaml)
set (LS_EXTRA_learn dep_zlib)
set (LS_EXTRA_trace dep_sqlite3 Threads::Threads)
set (LS_EXTRA_study dep_sqlite3 Threads::Threads)
set (LS_EXTRA_cli dep_sqlite3)

set (LS_LIBRARIES "")
foreach (part IN LISTS LS_PARTS)
  file (GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/sim/${part}/*.c ${PROJECT_SOURCE_DIR}/sim/${part}/*/*.c)
  list (FILTER sources EXCLUDE REGEX "/sim/cli/main\\.c$")
  if (sources)
    add_library (ls_${part} STATIC ${sources})
    target_include_directories (ls_${part} PUBLIC ${PROJECT_SOURCE_DIR}/sim)
    target_link_libraries (ls_${part}
      PRIVATE ls_flags
      PUBLIC ${LS_LIBRARIES} ${LS_EXTRA_${part}} dep_glib dep_gsl m)
    # Nearest first, as static linking wants it.
    list (PREPEND LS_LIBRARIES ls_${part})
  endif ()
endforeach ()

if (TARGET ls_learn AND LS_BLAS STREQUAL "openblas")
  target_compile_definitions (ls_learn PRIVATE LS_BLAS_OPENBLAS)
endif ()

# Where the data folders (topologies, workloads, tools/queries, tests/reference) lie:
#   LS_DATA_DIR_RELATIVE  beside an installed program, relative to the folder that holds it, so that
#                         `cmake --install --prefix` may put it anywhere
#   LS_DATA_DIR_INSTALL   under the prefix that was configured
#   LS_DATA_DIR_BUILD     in the source tree
if (TARGET ls_cli)
  target_compile_definitions (ls_cli PRIVATE
    LS_DATA_DIR_BUILD="${PROJECT_SOURCE_DIR}"
    LS_DATA_DIR_INSTALL="${CMAKE_INSTALL_FULL_DATADIR}/lockstep"
    LS_DATA_DIR_RELATIVE="../${CMAKE_INSTALL_DATADIR}/lockstep"
    LS_VERSION="${PROJECT_VERSION}")
endif ()

if (EXISTS ${PROJECT_SOURCE_DIR}/sim/cli/main.c)
  add_executable (lockstep sim/cli/main.c)
  target_include_directories (lockstep PRIVATE ${PROJECT_SOURCE_DIR}/sim)
  target_link_libraries (lockstep PRIVATE ls_flags ${LS_LIBRARIES})
  target_compile_definitions (lockstep PRIVATE LS_VERSION="${PROJECT_VERSION}")
endif ()

file (GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/bench/*.c)
if (bench_sources)
  add_executable (lockstep-bench ${bench_sources})
  target_link_libraries (lockstep-bench PRIVATE ls_flags ${LS_LIBRARIES} dep_glib dep_gsl dep_sqlite3 m)
  target_compile_definitions (lockstep-bench PRIVATE LS_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif ()
