# `cmake --install`: the program, its data under share/lockstep (laid out as in the source tree, so
# that sim/cli looks for the same relative names in both), and the man page.
if (TARGET lockstep)
  install (TARGETS lockstep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif ()

foreach (folder topologies workloads tools/queries tests/reference)
  if (IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder})
    get_filename_component (parent ${folder} DIRECTORY)
    install (DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
             DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/${parent})
  endif ()
endforeach ()

if (EXISTS ${PROJECT_SOURCE_DIR}/docs/lockstep.1)
  install (FILES ${PROJECT_SOURCE_DIR}/docs/lockstep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif ()
install (FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
