// `measure --exchange local`: ranks are threads of this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tools/measuring/measured_task.h"

namespace neuroshard::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// `text` with one space for each line break and indent: where lines break depends on the name of
// the machine's processor.
std::string without_line_breaks(const std::string& text) {
  return std::regex_replace(text, std::regex("\n *"), " ");
}

class MeasureCommandTest : public ::testing::Test {
 protected:
  Outcome measure(std::vector<std::string> args) { return run_command("measure", quickly(args)); }

  // The measurement of the task's plan as JSON.
  json measured(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"--task", task_, "--plan", plan_, "--json", "-"};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = measure(args);
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    return json::parse(outcome.out);
  }

  void expect_error(const std::vector<std::string>& args, const std::vector<std::string>& parts) {
    const Outcome outcome = measure(args);
    EXPECT_EQ(outcome.code, kExitBadInput);
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_EQ(outcome.out, "");
  }

  TemporaryFolder folder_;
  std::string task_ = folder_.write("task.json", std::string(kMeasuredTask));
  std::string plan_ = folder_.write("plan.jsonl", in_one_line(kMeasuredPlan));
};

TEST_F(MeasureCommandTest, SaysThatWhatItMeasuresRunsOneAfterTheOther) {
  const json sum = measured();
  const json document = measured({"--overlap", "ids,dense_ms=3,host_ms=1e6"});
  EXPECT_THAT(document["notes"].dump(), HasSubstr("runs one after the other"));
  EXPECT_EQ(sum["notes"].dump().find("one after the other"), std::string::npos);
  EXPECT_EQ(document["plans"][0]["predicted_ms"], sum["plans"][0]["predicted_ms"]);
}

TEST_F(MeasureCommandTest, PutsMeasuredBesidePredictedForEachDevice) {
  const json document = measured();
  EXPECT_EQ(document["format"], "neuroshard.measurement");
  EXPECT_EQ(document["exchange"], "local");
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_EQ(document["threads"], 1);
  EXPECT_EQ(document["batch"], 1024);
  ASSERT_EQ(document["plans"].size(), 1U);
  const json& plan = document["plans"][0];
  ASSERT_EQ(plan["devices"].size(), 4U);

  const Outcome simulated =
      run_command("simulate", {"--task", task_, "--plan", plan_, "--format", "json"});
  ASSERT_EQ(simulated.code, kExitOk) << simulated.err;
  const json expected = json::parse(simulated.out);
  EXPECT_DOUBLE_EQ(plan["predicted_ms"], expected["cost_ms"]);
  for (int d = 0; d < 4; ++d) {
    const json& device = plan["devices"][d];
    for (const char* term :
         {"total_ms", "compute_ms", "forward_ms", "backward_ms", "ids_ms", "all_reduce_ms"}) {
      SCOPED_TRACE(term);
      EXPECT_DOUBLE_EQ(device["predicted"][term], expected["devices"][d]["cost"][term]);
      const json& spread = device["measured"][term];
      EXPECT_GT(spread["median"], 0.0);
      EXPECT_LE(spread["low"], spread["median"]);
      EXPECT_LE(spread["median"], spread["high"]);
    }
  }
}

TEST_F(MeasureCommandTest, PageNamesDevicesAndTerms) {
  const Outcome outcome =
      measure({"--task", task_, "--plan", plan_, "--svg", folder_ / "chart.svg"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  const std::string page = without_line_breaks(outcome.out);
  for (const char* part :
       {"measured", "quartiles", "predicted", "compute", "forward", "backward", "ids", "all_reduce",
        "unpriced", "cost", "batch 1,024", "4 ranks of 1 thread on 1 machine"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(contents_of(folder_ / "chart.svg"),
              AllOf(HasSubstr("<svg"), HasSubstr("device 3"), HasSubstr("compute, predicted")));
}

TEST_F(MeasureCommandTest, MeasuresABatchThatDevicesCanShare) {
  EXPECT_EQ(measured({"--batch", "1031"})["batch"], 1028);
  expect_error({"--task", task_, "--plan", plan_, "--batch", "3"}, {"--batch is 3", "4 devices"});
}

TEST_F(MeasureCommandTest, MeasuresPlansThatThePlannerMakes) {
  for (const char* cuts : {"columns", "any"}) {
    SCOPED_TRACE(cuts);
    ASSERT_EQ(run_command("plan", {"--task", task_, "--cuts", cuts, "--format", "json", "--output",
                                   folder_ / cuts})
                  .code,
              kExitOk);
    EXPECT_EQ(measure({"--task", task_, "--plan", folder_ / cuts}).code, kExitOk);
  }
}

TEST_F(MeasureCommandTest, TakesRecordedLookupsOfTheTaskTables) {
  ASSERT_EQ(run_command("generate", {"--count", "3", "--batch", "1030", "--row-scale", "0.001",
                                     "--streams", "--output", folder_ / "t"})
                .code,
            kExitOk);
  const std::string all = folder_.write("all.txt", "0,1,2 16,8,32\n");
  const std::string two = folder_.write("two.txt", "0,1 16,8\n");
  const auto arguments = [&](const std::string& tasks, const std::string& plan) {
    return std::vector<std::string>{"--tables",    folder_ / "t/table_configs.json",
                                    "--tasks",     tasks,
                                    "--devices",   "2",
                                    "--memory-gb", "1",
                                    "--plan",      folder_.write("recorded.jsonl", plan),
                                    "--access",    folder_ / "t/indices.npy",
                                    "--lengths",   folder_ / "t/lengths.npy"};
  };
  auto good = arguments(all, R"({"task": 0, "steps": [], "shards": [[0], [1, 2]]})"
                             "\n");
  good.insert(good.end(), {"--json", "-"});
  const Outcome outcome = measure(good);
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["batch"], 1030);
  expect_error(arguments(two, R"({"task": 0, "steps": [], "shards": [[0], [1]]})"
                              "\n"),
               {"indices.npy", "has 3 tables"});
}

TEST_F(MeasureCommandTest, MeasuresManyPlansInTurn) {
  const std::string other = folder_.write(
      "other.jsonl", R"({"task": 0, "steps": [], "shards": [[0], [1, 2], [3, 4], [5]]})"
                     "\n");
  const Outcome outcome = measure({"--task", task_, "--plans", plan_, other, "--rounds", "2",
                                   "--json", folder_ / "measured.json"});
  ASSERT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("other.jsonl"), HasSubstr("Kendall tau"),
                                 HasSubstr("2 rounds of 2")));
  const json document = json::parse(contents_of(folder_ / "measured.json"));
  ASSERT_EQ(document["plans"].size(), 2U);
  for (const json& plan : document["plans"]) EXPECT_EQ(plan["devices"].size(), 4U);
  EXPECT_GE(document["kendall_tau"], -1.0);
  EXPECT_LE(document["kendall_tau"], 1.0);
}

TEST_F(MeasureCommandTest, TasksWithoutAPlanAndWithoutMemoryAreResults) {
  const std::string large = folder_.write(
      "large.json",
      R"({"format": "neuroshard.task", "version": 1, "devices": 2, "memory_gb": 100000,
          "batch_size": 1024, "tables": [{"row": 10, "dim": 4, "pooling_factor": 1},
          {"row": 4000000000, "dim": 4096, "pooling_factor": 1}]})");
  const std::string plan =
      folder_.write("large.jsonl", R"({"task": 0, "steps": [], "shards": [[0], [1]]})"
                                   "\n");
  const Outcome outcome =
      measure({"--task", large, "--plan", plan, "--json", folder_ / "measured.json"});
  EXPECT_EQ(outcome.code, kExitInfeasible) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("device 1 needs"));
  const json document = json::parse(contents_of(folder_ / "measured.json"));
  EXPECT_EQ(document["plans"][0]["error"]["kind"], "memory");
  EXPECT_EQ(document["plans"][0]["error"]["device"], 1);

  const std::string none = folder_.write(
      "none.jsonl", R"({"task": 0, "error": {"kind": "packing", "message": "too large"}})"
                    "\n");
  const Outcome without = measure({"--task", task_, "--plan", none});
  EXPECT_EQ(without.code, kExitInfeasible) << without.err;
  EXPECT_THAT(without.out, HasSubstr("the plan file says that there is none"));
}

TEST_F(MeasureCommandTest, BadInputNamesFileFieldAndRemedy) {
  const std::vector<std::string> good = {"--task", task_, "--plan", plan_};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = good;
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  expect_error(with({"--exchange", "smoke"}), {"--exchange 'smoke'", "give local or mpi"});
  expect_error(with({"--rank-timeout-s", "9"}), {"--rank-timeout-s is for --exchange mpi"});
  expect_error(with({"--backend", "cuda"}), {"--backend 'cuda'", "give cpu"});
  expect_error(with({"--rounds", "0"}), {"--rounds is 0", "at least 1"});
  expect_error(with({"--lengths", plan_}), {"--access"});
  expect_error(with({"--devices", "2"}), {"plan.jsonl", "2"});
  const std::string other = folder_.write(
      "other.json", R"({"format": "neuroshard.task", "version": 1, "devices": 4, "memory_gb": 1,
          "tables": [{"row": 10, "dim": 8, "pooling_factor": 1}]})");
  expect_error({"--task", other, "--plan", plan_}, {"plan.jsonl", "6 tables"});
  const auto changed = [&](const std::string& fields) {
    return folder_.write(
        "changed.json",
        R"({"format": "neuroshard.task", "version": 1, "devices": 1, "memory_gb": 1,
            "tables": [{"name": "x", "row": 10, "dim": 8, "pooling_factor": 1, )" +
            fields + "}]}");
  };
  const std::string whole =
      folder_.write("whole.jsonl", R"({"task": 0, "steps": [], "shards": [[0]]})"
                                   "\n");
  expect_error({"--task", changed(R"("weight_type": "fp16")"), "--plan", whole},
               {"table 0 ('x')", "fp16", "fp32"});
  expect_error({"--task", changed(R"("optimizer": "sgd")"), "--exchange-types", "forward=fp16",
                "--plan", whole},
               {"exchange has forward fp16", "sends fp32 values and 64-bit ids: leave it out"});
}

}  // namespace
}  // namespace neuroshard::tools
