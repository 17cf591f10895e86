#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::_;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

class ReplanCommand : public ::testing::Test {
 protected:
  ReplanCommand() {
    EXPECT_EQ(run_command("plan", {"--task", task_, "--effort", "fast", "--cuts", "columns",
                                   "--format", "json", "--output", plan_})
                  .code,
              kExitOk);
  }
  /// `more` may name another running plan.
  Outcome replan(std::vector<std::string> more) {
    std::vector<std::string> args = {"--task", task_, "--running-task", task_, "--effort", "fast"};
    if (std::ranges::find(more, "--running-plan") == more.end()) {
      args.insert(args.end(), {"--running-plan", plan_});
    }
    args.insert(args.end(), more.begin(), more.end());
    return run_command("replan", args);
  }

  const TemporaryFolder folder_;
  const std::string task_ = std::string(NEUROSHARD_EXAMPLES) + "/dlrm_v2_8gpu.json";
  const std::string plan_ = folder_ / "plan.json";
};

TEST_F(ReplanCommand, CutsToWidthsThatCheckpointsNeed) {
  const Outcome outcome =
      replan({"--devices", "6", "--lost-devices", "3,5", "--cuts", "torchrec", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  std::map<std::string, std::set<int>> widths;
  for (const json& device : document["devices"]) {
    for (const json& slice : device["shard"]) {
      widths[slice["name"].get<std::string>()].insert(slice["dim"].get<int>());
    }
  }
  EXPECT_THAT(widths, Each(Pair(_, SizeIs(1))));
}

TEST_F(ReplanCommand, GroupsBecomeLargerWithoutMoves) {
  const Outcome outcome = replan({"--devices", "16", "--regrouped", "interleaved", "--cuts",
                                  "columns", "--move-budget-gb", "0", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["replan"]["moved_bytes"], 0);
  for (const json& device : document["devices"]) EXPECT_FALSE(device["shard"].empty());
  const Outcome wrong = replan({"--devices", "12", "--regrouped", "consecutive"});
  EXPECT_EQ(wrong.code, kExitBadInput);
  EXPECT_THAT(wrong.err, HasSubstr("groups of 8 devices cannot become groups of 12"));
  EXPECT_THAT(replan({"--regrouped", "diagonal"}).err, HasSubstr("diagonal"));
}

TEST_F(ReplanCommand, MovesWhatWasOnALostDevice) {
  const Outcome outcome = replan({"--devices", "7", "--lost-devices", "3", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const json document = json::parse(outcome.out);
  const json before = json::parse(contents_of(plan_));
  std::int64_t lost_bytes = 0;
  for (const json& slice : before["devices"][3]["shard"]) {
    lost_bytes += slice["size_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(document["replan"]["must_move_bytes"], lost_bytes);
  EXPECT_EQ(document["replan"]["running_cost_ms"], before["cost_ms"]);
  std::int64_t bytes = 0;
  for (const json& move : document["moves"]) bytes += move["bytes"].get<std::int64_t>();
  EXPECT_EQ(document["replan"]["moved_bytes"], bytes);
  EXPECT_GE(bytes, lost_bytes);
  EXPECT_LE(bytes, lost_bytes + lost_bytes / 5);

  // simulate reads what replan writes.
  const std::string file = folder_ / "new.json";
  ASSERT_EQ(
      replan({"--devices", "7", "--lost-devices", "3", "--format", "json", "--output", file}).code,
      kExitOk);
  const Outcome simulated = run_command(
      "simulate", {"--task", task_, "--devices", "7", "--plan", file, "--format", "json"});
  ASSERT_EQ(simulated.code, kExitOk) << simulated.err;
  EXPECT_EQ(json::parse(simulated.out)["cost_ms"], document["cost_ms"]);
}

TEST_F(ReplanCommand, CarriesOverWhatBudgetsLeave) {
  const auto replanned = [&](const std::string& file, std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "json", "--output", file});
    EXPECT_EQ(replan(std::move(more)).code, kExitOk);
    return json::parse(contents_of(file))["replan"];
  };
  const std::string seven = folder_ / "seven.json";
  const json lost = replanned(seven, {"--devices", "7", "--lost-devices", "3", "--carry-over",
                                      "--small-moves-share", "0", "--small-moves-gb", "0"});
  const auto must = lost["must_move_bytes"].get<std::int64_t>();
  const auto moved = lost["moved_bytes"].get<std::int64_t>();
  const auto unspent = lost["unspent_bytes"].get<std::int64_t>();
  EXPECT_EQ(unspent, must + must / 5 - moved);

  const json same =
      replanned(folder_ / "same.json", {"--devices", "7", "--running-plan", seven, "--carry-over"});
  EXPECT_EQ(same["moved_bytes"].get<std::int64_t>() + same["unspent_bytes"].get<std::int64_t>(),
            unspent);
}

// The running plan says how many there are.
TEST_F(ReplanCommand, TheRunningTaskNeedNotSayItsDevices) {
  json task = json::parse(contents_of(task_));
  task.erase("devices");
  task.erase("memory_gb");
  const std::string file = folder_ / "no_devices.json";
  std::ofstream(file) << task;
  const Outcome outcome =
      run_command("replan", {"--task", file, "--running-task", file, "--running-plan", plan_,
                             "--devices", "7", "--memory-gb", "40", "--lost-devices", "3",
                             "--effort", "fast", "--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const Outcome with = replan({"--devices", "7", "--lost-devices", "3", "--format", "json"});
  EXPECT_EQ(json::parse(outcome.out)["moves"], json::parse(with.out)["moves"]);
}

TEST_F(ReplanCommand, RefusesAPlanOfAnotherTask) {
  json task = json::parse(contents_of(task_));
  std::ranges::reverse(task["tables"]);
  for (json& table : task["tables"]) table["row"] = 1000;  // Only their names tell them apart.
  const std::string reversed = folder_.write("reversed.json", task.dump());
  const Outcome outcome =
      run_command("replan", {"--task", task_, "--running-task", reversed, "--running-plan", plan_});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("plan.json: slice "));
  EXPECT_THAT(outcome.err, HasSubstr("but in this task that is 'cat_"));
  for (const char* command : {"simulate", "explain", "check"}) {
    const Outcome other = run_command(command, {"--task", reversed, "--plan", plan_});
    EXPECT_NE(other.code, kExitOk) << command;
    EXPECT_THAT(other.err + other.out, HasSubstr("but in this task that is 'cat_")) << command;
  }
}

TEST_F(ReplanCommand, SmallMovesAreAShare) {
  EXPECT_EQ(replan({"--small-moves-share", "0"}).code, kExitOk);
  EXPECT_EQ(replan({"--small-moves-gb", "0"}).code, kExitOk);
  EXPECT_EQ(replan({"--small-moves-gb", "-1"}).code, kExitBadInput);
  EXPECT_EQ(replan({"--small-moves-share", "1.5"}).code, kExitBadInput);
}

TEST_F(ReplanCommand, SaysOnAPageWhatMoves) {
  const Outcome outcome = replan({"--devices", "7", "--lost-devices", "3"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ms per iteration before the change"));
  EXPECT_THAT(outcome.out, HasSubstr("must be moved if all tables stay sharded as they run"));
  EXPECT_THAT(outcome.out, HasSubstr("to device"));
}

TEST_F(ReplanCommand, MovesNothingWhereNothingHasChanged) {
  const Outcome outcome = replan({"--format", "json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["moves"], json::array());
}

TEST_F(ReplanCommand, BadOptionsAreNamed) {
  const auto error = [&](std::vector<std::string> more) {
    const Outcome outcome = replan(std::move(more));
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(error({"--devices", "7"}), HasSubstr("say which others are lost"));
  EXPECT_THAT(error({"--devices", "7", "--lost-devices", "8"}), HasSubstr("lost device 8"));
  EXPECT_THAT(error({"--move-budget-gb", "-1"}), HasSubstr("--move-budget-gb"));
  EXPECT_THAT(error({"--move-budget-gb", "1", "--ms-per-moved-gb", "1"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(error({"--carry-over", "--ms-per-moved-gb", "1"}), HasSubstr("exclude each other"));
  EXPECT_THAT(error({"--ms-per-moved-gb", "-1"}), HasSubstr("price of a moved GiB"));
  EXPECT_THAT(error({"--format", "jsonl"}), HasSubstr("use table or json"));
  EXPECT_THAT(error({"--devices", "7", "--lost-devices", "3", "--move-budget-gb", "0"}),
              HasSubstr("no plan was found within the move budget of 0 B; give at least "));
}

}  // namespace
}  // namespace neuroshard::tools
