# How a folder of src/ and a test become targets. One static library per folder; libffpa_jit.so is made of them.

add_library(ffpa_build_flags INTERFACE)
target_compile_options(ffpa_build_flags INTERFACE -Wall -Wextra -Werror -fno-strict-aliasing)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Flow-sensitive warnings that GCC 12 raises, by optimisation level, inside its own headers and fmt's.
  target_compile_options(ffpa_build_flags INTERFACE
    -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=array-bounds -Wno-error=maybe-uninitialized)
endif()
if(FFPA_JIT_SANITIZE)
  list(JOIN FFPA_JIT_SANITIZE "," _sanitizers)
  target_compile_options(ffpa_build_flags INTERFACE -fsanitize=${_sanitizers} -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(ffpa_build_flags INTERFACE -fsanitize=${_sanitizers})
endif()
if(FFPA_JIT_SANITIZE OR FFPA_JIT_BUILD_FUZZ)
  target_compile_options(ffpa_build_flags INTERFACE -Wno-error)  # warnings are the release build's business
endif()
if(FFPA_JIT_BUILD_FUZZ)
  target_compile_options(ffpa_build_flags INTERFACE -fsanitize=fuzzer-no-link)  # coverage for libFuzzer everywhere
endif()

# ffpa_library(name SOURCES ... [LINK ...]): the folder src/<name> as library ffpa_<name>.
function(ffpa_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(ffpa_${name} STATIC ${ARG_SOURCES})
  target_include_directories(ffpa_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                                 ${PROJECT_SOURCE_DIR}/templates)
  target_compile_definitions(ffpa_${name} PRIVATE FFPA_JIT_BUILDING)
  target_link_libraries(ffpa_${name} PUBLIC ${ARG_LINK} PRIVATE ffpa_build_flags)
endfunction()

# ffpa_test(name SOURCES ... [LINK ...] [LABELS ...]): a GoogleTest executable test_<name>, registered with CTest as
# one test; a test that cannot run says why through GTEST_SKIP.
function(ffpa_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE ${ARG_LINK} ffpa_build_flags GTest::gtest_main GTest::gmock)
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
