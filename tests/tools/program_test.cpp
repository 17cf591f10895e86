#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Program, HelpAndVersionGoToStandardOutput) {
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.code, kExitOk);
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
  EXPECT_EQ(help.err, "");
  const Outcome version = run_command({"--version"});
  EXPECT_EQ(version.code, kExitOk);
  EXPECT_THAT(version.out, StartsWith("neuroshard "));
}

TEST(Program, BadUsageIsReportedOnStandardError) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{}, {"frobnicate"}, {"--frobnicate"}}) {
    const Outcome outcome = run_command(args);
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
