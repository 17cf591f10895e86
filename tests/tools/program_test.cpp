#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/commands.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const int code = run_program(args, console);
  return {code, out.str(), err.str()};
}

TEST(Program, HelpAndVersionGoToStandardOutput) {
  const Outcome help = run({"--help"});
  EXPECT_EQ(help.code, kExitOk);
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
  EXPECT_EQ(help.err, "");
  const Outcome version = run({"--version"});
  EXPECT_EQ(version.code, kExitOk);
  EXPECT_THAT(version.out, StartsWith("neuroshard "));
}

TEST(Program, BadUsageIsReportedOnStandardError) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{}, {"frobnicate"}, {"--frobnicate"}}) {
    const Outcome outcome = run(args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("neuroshard: error: "));
    EXPECT_THAT(outcome.err, HasSubstr("--help"));
  }
}

TEST(Program, LostOutputIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Console console{out, err};
  EXPECT_EQ(run_program({"--help"}, console), kExitBadInput);
  EXPECT_THAT(err.str(), HasSubstr("standard output: not everything could be written"));
}

}  // namespace
}  // namespace neuroshard::tools
