# SPDX-License-Identifier: Apache-2.0
# Targets that see only what they link: each library publishes its own folder through a private include root
# (a directory of links), so an include of a folder that is not linked does not compile.
#
#   kcm_library(NAME kcm_host_wire AS host/wire [DIR dir] [LINKS public...] [PRIVATE private...])
#     AS is the path that includers write: #include "host/wire/object.h". DIR defaults to the current folder.
#   kcm_plugin(NAME kcm-pod SOURCES ... [INTO plugins])   a plugin .so: one exported symbol, nothing undefined
#   kcm_test(NAME clock_test DIR host/clock LINKS ...)  all *_test.cc of a tests/ folder as one gtest program
function(kcm_publish target as dir)
  set(root ${CMAKE_BINARY_DIR}/inc/${target})
  get_filename_component(parent ${root}/${as} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${dir} ${root}/${as} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}>)
endfunction()

function(kcm_library)
  cmake_parse_arguments(A "" "NAME;AS;DIR" "SOURCES;LINKS;PRIVATE" ${ARGN})
  if(NOT A_DIR)
    set(A_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(NOT A_SOURCES)
    file(GLOB A_SOURCES CONFIGURE_DEPENDS ${A_DIR}/*.cc)
  endif()
  if(A_SOURCES)
    add_library(${A_NAME} STATIC ${A_SOURCES})
    kcm_publish(${A_NAME} ${A_AS} ${A_DIR})
    target_link_libraries(${A_NAME} PUBLIC ${A_LINKS} PRIVATE ${A_PRIVATE} kcm_flags)
  else()
    set(stub ${CMAKE_BINARY_DIR}/inc/${A_NAME}_empty.cc)
    file(WRITE ${stub} "// headers only\n")
    add_library(${A_NAME} STATIC ${stub})
    kcm_publish(${A_NAME} ${A_AS} ${A_DIR})
    target_link_libraries(${A_NAME} PUBLIC ${A_LINKS} PRIVATE ${A_PRIVATE})
  endif()
endfunction()

function(kcm_plugin)
  cmake_parse_arguments(A "" "NAME;AS;DIR;INTO" "SOURCES;PRIVATE" ${ARGN})
  if(NOT A_DIR)
    set(A_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(NOT A_INTO)
    set(A_INTO plugins)
  endif()
  if(NOT A_SOURCES)
    file(GLOB A_SOURCES CONFIGURE_DEPENDS ${A_DIR}/*.cc)
  endif()
  add_library(${A_NAME} MODULE ${A_SOURCES})
  kcm_publish(${A_NAME} ${A_AS} ${A_DIR})
  target_link_libraries(${A_NAME} PRIVATE kcm_sdk ${A_PRIVATE} kcm_flags)
  kcm_plugin_links(${A_NAME})
  set_target_properties(${A_NAME} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${A_INTO})
endfunction()

# What every plugin .so is linked with, also those that tests build.
function(kcm_plugin_links name)
  set_target_properties(${name} PROPERTIES PREFIX "" LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/plugin.map)
  target_link_options(${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/plugin.map
    -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  if(KCM_FLAVOUR MATCHES "asan|tsan")
    return()
  endif()
  target_link_options(${name} PRIVATE -Wl,-z,defs)
  # The host reads, checks and copies the whole file at every load: what only a debugger wants stands
  # beside it, where gdb looks for it.
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory .debug
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE_NAME:${name}> .debug/$<TARGET_FILE_NAME:${name}>.debug
    COMMAND ${CMAKE_OBJCOPY} --strip-unneeded --add-gnu-debuglink=.debug/$<TARGET_FILE_NAME:${name}>.debug
      $<TARGET_FILE_NAME:${name}>
    WORKING_DIRECTORY $<TARGET_FILE_DIR:${name}> VERBATIM)
endfunction()

function(kcm_test)
  cmake_parse_arguments(A "" "NAME;DIR;TIMEOUT" "SOURCES;LINKS;LABELS;DEPENDS" ${ARGN})
  if(NOT A_DIR)
    set(A_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(NOT A_SOURCES)
    file(GLOB A_SOURCES CONFIGURE_DEPENDS ${A_DIR}/*_test.cc)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(KCM_FLAVOUR MATCHES "asan|tsan")
    math(EXPR A_TIMEOUT "${A_TIMEOUT} * 6")  # instrumented code takes its time
  endif()
  if(NOT A_SOURCES)
    return()
  endif()
  add_executable(${A_NAME} ${A_SOURCES})
  target_include_directories(${A_NAME} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${A_NAME} PRIVATE ${A_LINKS} kcm_flags GTest::gtest GTest::gmock GTest::gtest_main)
  foreach(dependency ${A_DEPENDS})
    if(TARGET ${dependency})
      add_dependencies(${A_NAME} ${dependency})
    endif()
  endforeach()
  gtest_discover_tests(${A_NAME} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()
