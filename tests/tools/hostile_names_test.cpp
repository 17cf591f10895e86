// Names and notes in files may hold anything; no page and no message passes it to a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::HasSubstr;

// In JSON's own writing: an escape sequence, a line that looks like the program's, a turn of
// direction.
constexpr const char* kHostile = R"(a\u001b[2J\u009b31m\r\nneuroshard: all is well\u202e)";
constexpr const char* kShown = R"(a\x1b[2J\u009b31m\r\nneuroshard: all is well\u202e)";

class HostileNames : public ::testing::Test {
 protected:
  std::string task(const std::string& memory_gb, const std::string& row = "1000") {
    const std::string hostile = std::string("\"") + kHostile + "\"";
    return folder_.write("task.json", R"({"format": "neuroshard.task", "version": 1, "name": )" +
                                          hostile + R"(, "source": [)" + hostile +
                                          R"(], "notes": )" + hostile + R"(, "devices": 2,
        "memory_gb": )" + memory_gb + R"(, "tables": [{"name": )" +
                                          hostile + R"(, "row": )" + row +
                                          R"(, "dim": 512, "pooling_factor": 1}]})");
  }

  static void expect_shown(const std::string& page) {
    EXPECT_THAT(page, HasSubstr(kShown));
    for (const std::string& line : lines_of(page)) {
      EXPECT_NE(line, "neuroshard: all is well");
      for (const char byte : line) ASSERT_TRUE(byte >= ' ' && byte <= '~') << line;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(HostileNames, OnThePageOfAPlan) {
  const Outcome plan = run_command("plan", {"--task", task("4"), "--list-shards"});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  expect_shown(plan.out);
}

TEST_F(HostileNames, OfTasksInspected) {
  const Outcome outcome = run_command("inspect", {task("4")});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  expect_shown(outcome.out);
}

TEST_F(HostileNames, InTheReasonForNoPlan) {
  const Outcome outcome = run_command("plan", {"--task", task("0.0001", "1000000")});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  expect_shown(outcome.err);
}

TEST_F(HostileNames, InErrors) {
  const Outcome table = run_command("plan", {"--task", task("4", "-1")});
  EXPECT_EQ(table.code, kExitBadInput);
  expect_shown(table.err);
  const std::string field = std::string(R"({"format": "neuroshard.task", "version": 1, ")") +
                            kHostile +
                            R"(": 1, "tables": [{"row": 9, "dim": 8, "pooling_factor": 1}]})";
  expect_shown(run_command("plan", {"--task", folder_.write("field.json", field)}).err);
  const auto raw = nlohmann::json::parse(std::string("\"") + kHostile + "\"").get<std::string>();
  expect_shown(run_command("plan", {"--task", folder_ / raw}).err);
  expect_shown(run_command("plan", {"--task", task("4"), "--algorithm", raw}).err);
  expect_shown(run_command({"plan", "--" + raw}).err);
}

TEST_F(HostileNames, InMetadataOfWeights) {
  const auto raw = nlohmann::json::parse(std::string("\"") + kHostile + "\"").get<std::string>();
  const std::string models = golden("models/");
  const std::string weights = folder_ / "w.safetensors";
  const Outcome convert =
      run_command({"convert", "--compute-model", models + "compute.pt", "--forward-comm-model",
                   models + "comm_2_fw.pt", "--backward-comm-model", models + "comm_2_bw.pt",
                   "--metadata", "hardware=" + raw, "--metadata", raw + "=x", "--output", weights});
  ASSERT_EQ(convert.code, kExitOk) << convert.err;
  expect_shown(convert.out);
  expect_shown(run_command("inspect", {weights}).out);
  expect_shown(run_command("plan", {"--task", task("4"), "--weights", weights}).out);
}

TEST_F(HostileNames, StayAsTheyAreInJson) {
  const Outcome outcome =
      run_command("plan", {"--task", task("4"), "--format", "json", "--cuts", "columns"});
  const auto plan = nlohmann::json::parse(outcome.out);
  const auto raw = nlohmann::json::parse(std::string("\"") + kHostile + "\"").get<std::string>();
  EXPECT_EQ(plan["task"]["name"], raw);
  EXPECT_EQ(plan["devices"][0]["shard"].size() + plan["devices"][1]["shard"].size(),
            plan["column_splits"].size() + 1);
}

}  // namespace
}  // namespace neuroshard::tools
