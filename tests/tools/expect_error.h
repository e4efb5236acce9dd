// Runs `action` and expects an ffpa_jit::Error with this status whose message holds every word.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "base/error.h"

namespace ffpa_jit::test {

inline void expect_error(ffpa_jit_status status, std::initializer_list<std::string> words,
                         const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), status) << error.what();
    for (const std::string& word : words) EXPECT_THAT(error.what(), testing::HasSubstr(word));
  }
}

}  // namespace ffpa_jit::test
