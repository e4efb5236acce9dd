// Expects that a statement throws ffpa_jit::Error with this code and exactly this message.
#pragma once

#include <gtest/gtest.h>

#include "base/error.h"

#define EXPECT_FFPA_ERROR(statement, expected_code, expected_message)                  \
  try {                                                                                \
    statement;                                                                         \
    ADD_FAILURE() << #statement << " did not throw; expected: " << (expected_message); \
  } catch (const ::ffpa_jit::Error& error) {                                           \
    EXPECT_EQ(error.code(), expected_code);                                            \
    EXPECT_EQ(std::string(error.what()), std::string(expected_message));               \
  }
