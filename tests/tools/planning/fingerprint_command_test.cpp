#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::MatchesRegex;

TEST(FingerprintCommand, PrintsOneLineATask) {
  const TemporaryFolder folder;
  const Outcome outcome = run_command("fingerprint", first_tasks(folder, 3, {}));
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_THAT(line.substr(0, 18), MatchesRegex("[0-9a-f]+  ")) << line;
  }
  EXPECT_NE(lines[0].substr(0, 16), lines[1].substr(0, 16));
  const Outcome json =
      run_command("fingerprint", first_tasks(folder, 3, {"--index", "2", "--format", "json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out),
            nlohmann::json({{"task", 2}, {"fingerprint", lines[2].substr(0, 16)}}));
}

TEST(FingerprintCommand, ChangesWithTheOptionsOfTheSearch) {
  const auto with = [](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--index", "0"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = run_command("fingerprint", golden_tasks(args));
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return outcome.out.substr(0, 16);
  };
  EXPECT_NE(with({}), with({"--effort", "fast"}));
  EXPECT_NE(with({}), with({"--algorithm", "uniform"}));
  EXPECT_EQ(with({}), with({"--seed", "3"}));
}

}  // namespace
}  // namespace neuroshard::tools
