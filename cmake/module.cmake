# fathom_module(NAME SOURCES... [DEPENDS target...] [TESTS foo_test.cpp...])
# makes one static library `fathom_NAME` and, if there are tests, one test program `NAME_test`.

add_library(fathom_flags INTERFACE)
target_compile_options(fathom_flags INTERFACE -Wall -Wextra -Wshadow -Wpedantic -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies and uninitialized parts in std::string's own functions (GCC bugs 105651
  # and 105562, fixed in 13).
  target_compile_options(fathom_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(FATHOM_WERROR)
  target_compile_options(fathom_flags INTERFACE -Werror)
endif()
if(FATHOM_SANITIZE)
  target_compile_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(fathom_flags INTERFACE -fsanitize=${FATHOM_SANITIZE})
endif()

function(fathom_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fathom_flags ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FATHOM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
endfunction()

function(fathom_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;TESTS" ${ARGN})
  add_library(fathom_${name} STATIC ${ARG_SOURCES})
  target_include_directories(fathom_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/collect)
  target_link_libraries(fathom_${name} PUBLIC ${ARG_DEPENDS} PRIVATE fathom_flags)
  if(FATHOM_TESTS AND ARG_TESTS)
    fathom_test(${name}_test SOURCES ${ARG_TESTS} DEPENDS fathom_${name})
  endif()
endfunction()
