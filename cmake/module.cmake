# fathom_module(NAME SOURCES... [DEPENDS target...] [TESTS foo_test.cpp...])
# makes one static library `fathom_NAME` and, if there are tests, one test program `NAME_test`.
#
# fathom_test(NAME SOURCES... [DEPENDS target...] [LABELS label...])
# makes one test program, whose tests have those labels in ctest.

add_library(fathom_flags INTERFACE)
target_compile_options(fathom_flags INTERFACE -Wall -Wextra -Wshadow -Wpedantic -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies, uninitialized parts and wrong bounds in std::string's own functions (GCC bugs 105651
  # and 105562, fixed in 13).
  target_compile_options(fathom_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
                                                -Wno-array-bounds -Wno-stringop-overread)
endif()
if(FATHOM_WERROR)
  target_compile_options(fathom_flags INTERFACE -Werror)
endif()
if(FATHOM_SANITIZE)
  target_compile_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(fathom_flags INTERFACE -Wno-maybe-uninitialized)  # sanitizers hide what is initialized
  endif()
  # A tenth of the time to compile goes to checks that say what others say as well: an access through null ends
  # the program, and one beyond an object is AddressSanitizer's to see. Few classes here have virtual functions.
  if(FATHOM_SANITIZE MATCHES undefined)
    target_compile_options(fathom_flags INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  target_link_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE})
endif()

# What nearly every source includes is parsed once for libraries and once for tests: the two are
# compiled with different flags.
set(fathom_common_headers <algorithm> <charconv> <cmath> <cstdint> <cstdlib> <filesystem> <functional> <map>
  <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector>)
if(FATHOM_PCH)
  add_library(fathom_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/headers.cpp)
  target_precompile_headers(fathom_headers PRIVATE ${fathom_common_headers})
  target_link_libraries(fathom_headers PRIVATE fathom_flags)
endif()

# A test is compiled without optimization: it runs for moments and takes as long to compile as what
# it tests, several times that with sanitizers.
set(fathom_test_options -O0)
if(FATHOM_PCH AND FATHOM_TESTS)
  add_executable(fathom_test_headers ${PROJECT_SOURCE_DIR}/cmake/headers.cpp)
  target_precompile_headers(fathom_test_headers PRIVATE ${fathom_common_headers} <gtest/gtest.h>)
  target_compile_options(fathom_test_headers PRIVATE ${fathom_test_options})
  target_link_libraries(fathom_test_headers PRIVATE fathom_flags GTest::gtest)
endif()

function(fathom_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${fathom_test_options})
  if(FATHOM_PCH)
    target_precompile_headers(${name} REUSE_FROM fathom_test_headers)
  endif()
  target_link_libraries(${name} PRIVATE fathom_flags ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FATHOM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(FATHOM_SANITIZE)  # what is repeated to be sure is repeated less: each time takes ten times as long
    target_compile_definitions(${name} PRIVATE FATHOM_SANITIZED)
  endif()
  set(labels)
  if(ARG_LABELS)
    set(labels PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 ${labels})
endfunction()

function(fathom_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;TESTS" ${ARGN})
  add_library(fathom_${name} STATIC ${ARG_SOURCES})
  target_include_directories(fathom_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/collect)
  target_link_libraries(fathom_${name} PUBLIC ${ARG_DEPENDS} PRIVATE fathom_flags)
  if(FATHOM_PCH)
    target_precompile_headers(fathom_${name} REUSE_FROM fathom_headers)
  endif()
  if(FATHOM_TESTS AND ARG_TESTS)
    fathom_test(${name}_test SOURCES ${ARG_TESTS} DEPENDS fathom_${name})
  endif()
endfunction()
