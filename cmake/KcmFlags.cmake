# SPDX-License-Identifier: Apache-2.0
# Compiler flags of every target, in one place. KCM_FLAVOUR is set by the preset.
set(KCM_FLAVOUR dev CACHE STRING "dev, release, asan, tsan or fuzz")

add_library(kcm_flags INTERFACE)
target_compile_options(kcm_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
  -fvisibility=hidden -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside libstdc++ and nlohmann_json at -O2 (its own false positives).
  target_compile_options(kcm_flags INTERFACE -fno-gnu-unique
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-dangling-pointer -Wno-maybe-uninitialized
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-free-nonheap-object>)
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a group our files look like headers, and headers must not use unnamed namespaces.
  target_compile_options(kcm_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
if(KCM_FLAVOUR STREQUAL "dev")
  add_compile_definitions(KCM_DEV=1 _GLIBCXX_ASSERTIONS)
elseif(KCM_FLAVOUR STREQUAL "asan")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
  add_compile_definitions(KCM_SANITIZED=1)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
elseif(KCM_FLAVOUR STREQUAL "tsan")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
  add_compile_definitions(KCM_SANITIZED=1 KCM_TSAN=1)
  add_compile_options(-fsanitize=thread -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(KCM_FLAVOUR STREQUAL "fuzz")
  # Everything is instrumented, so that libFuzzer sees which inputs reach new code.
  add_compile_definitions(KCM_SANITIZED=1)
  add_compile_options(-g1 -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
find_program(KCM_CCACHE ccache)
if(KCM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${KCM_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KCM_CCACHE})
endif()
find_program(KCM_MOLD mold)
if(KCM_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-fuse-ld=mold)
endif()
