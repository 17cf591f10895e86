#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "neuroshard/plan_file.h"
#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(BoundCommand, IsNoMoreThanPlansCost) {
  const TemporaryFolder folder;
  const std::string plans = folder / "plans.jsonl";
  const std::vector<std::string> tasks = first_tasks(folder, 3, {});
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), tasks.begin(), tasks.end());
    return more;
  };
  // No cost models are needed for these.
  ASSERT_EQ(run_command("plan", with({"--format", "jsonl", "--output", plans, "--compute-model",
                                      golden("models/compute.pt"), "--forward-comm-model",
                                      golden("models/comm_4_fw.pt"), "--backward-comm-model",
                                      golden("models/comm_4_bw.pt")}))
                .code,
            kExitOk);
  const Outcome alone = run_command("bound", with({"--format", "jsonl"}));
  const Outcome beside = run_command("bound", with({"--format", "jsonl", "--plan", plans}));
  const Outcome priced = run_command(
      "simulate", with({"--plan", plans, "--cost-source", "analytic", "--format", "jsonl"}));
  ASSERT_EQ(beside.code, kExitOk) << beside.err;
  const auto bounds = lines_of(beside.out);
  ASSERT_EQ(bounds.size(), 3U);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const json bound = json::parse(bounds[i]);
    EXPECT_EQ(bound["task"], i);
    EXPECT_EQ(bound["bound_ms"], json::parse(lines_of(alone.out).at(i))["bound_ms"]);
    EXPECT_EQ(bound["cost_ms"], json::parse(lines_of(priced.out).at(i))["cost"]);
    EXPECT_LE(bound["bound_ms"].get<double>(), bound["cost_ms"].get<double>());
    EXPECT_GT(bound["bound_ms"].get<double>(), 0.5 * bound["cost_ms"].get<double>());
  }
  EXPECT_THAT(lines_of(run_command("bound", with({"--plan", plans})).out).front(),
              MatchesRegex(".*: no plan costs less than .* ms, this one costs .* ms, .* % more "
                           "\\(analytic costs of a100-sxm-80gb, a100-nvlink3-hdr\\)"));
}

TEST(BoundCommand, FollowsTheHardware) {
  const TemporaryFolder folder;
  const Outcome slow = run_command("bound", first_tasks(folder, 1, {"--format", "json"}));
  const Outcome fast =
      run_command("bound", first_tasks(folder, 1, {"--format", "json", "--hardware", "h100"}));
  EXPECT_LT(json::parse(fast.out)["bound_ms"], json::parse(slow.out)["bound_ms"]);
}

TEST(BoundCommand, SaysThatThereIsNoPlan) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command("bound", first_tasks(folder, 0, {"--format", "json"}, kImpossibleTask));
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_TRUE(json::parse(outcome.out)["bound_ms"].is_null());
}

}  // namespace
}  // namespace neuroshard::tools
