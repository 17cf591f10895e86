#pragma once

#include <gtest/gtest.h>

#include <string>

#include "neuroshard/error.h"

namespace neuroshard::testing {

/// The error that `action` throws; fails the test, and returns an empty text, if it throws none.
template <typename Action>
std::string message_of(const Action& action, ErrorKind kind = ErrorKind::kInvalidInput) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace neuroshard::testing
