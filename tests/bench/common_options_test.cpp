#include "bench/common_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "bench/program.h"

namespace neuroshard::bench {
namespace {

using ::testing::HasSubstr;

// Runs the program with arguments that it refuses before it does anything; returns its message.
std::string refusal(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_GT(run_program(args, out, err), 1);
  EXPECT_EQ(out.str(), "");
  return err.str();
}

TEST(CommonOptions, SecondsOutOfRangeAreRefused) {
  for (const char* value : {"-1", "0", "nan", "inf", "1e9", "soon"}) {
    const std::string message = refusal({"score", "--min-seconds", value});
    EXPECT_THAT(message, HasSubstr("--min-seconds"));
    EXPECT_THAT(message, HasSubstr(std::string("Value ") + value));
    EXPECT_THAT(message, HasSubstr("1e-06 to 3600 seconds"));
  }
  EXPECT_THAT(refusal({"scale", "--seconds", "-1"}), HasSubstr("0 to 3600 seconds"));
  EXPECT_THAT(refusal({"scale", "--limit-seconds", "0"}), HasSubstr("0.001 to 86400 seconds"));
}

TEST(CommonOptions, SecondsInRangeAreTaken) {
  const CLI::Validator validator = seconds_between(0.5, 2.0);
  for (const char* value : {"0.5", "1", "2"}) EXPECT_EQ(validator(value), "") << value;
  for (const char* value : {"0.49", "2.01"}) EXPECT_NE(validator(value), "") << value;
}

TEST(CommonOptions, RangeOfTasksIsReadable) {
  for (const char* value : {"0", "-1", "1000001"}) {
    EXPECT_THAT(refusal({"plan", "--tasks", value}), HasSubstr("not in range 1 to 1000000;"));
  }
}

}  // namespace
}  // namespace neuroshard::bench
