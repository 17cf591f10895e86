// From nothing to plans with four commands: generate, collect, train, plan. Plans are judged by the
// source of the costs, not by the models that were trained on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

class Pipeline : public ::testing::Test {
 protected:
  void run(const std::vector<std::string>& args) {
    const Outcome outcome = run_command(args);
    ASSERT_LE(outcome.code, kExitInfeasible) << args[0] << ": " << outcome.err;
  }

  // Cost of the plan of every task that has one, by task.
  std::map<int, double> judged_costs(const std::string& algorithm) {
    const std::vector<std::string> tasks = {"--tables",  tables(), "--tasks",     path("tasks"),
                                            "--devices", "4",      "--memory-gb", "4",
                                            "--format",  "jsonl",  "--output"};
    std::vector<std::string> plan = {"plan", "--algorithm", algorithm, "--weights",
                                     path("w.safetensors")};
    plan.insert(plan.end(), tasks.begin(), tasks.end());
    plan.push_back(path("plans"));
    run(plan);
    std::vector<std::string> simulate = {"simulate", "--plan", path("plans"), "--cost-source",
                                         "analytic"};
    simulate.insert(simulate.end(), tasks.begin(), tasks.end());
    simulate.push_back(path("costs"));
    run(simulate);
    std::map<int, double> costs;
    for (const std::string& line : lines_of(contents_of(path("costs")))) {
      const auto judged = nlohmann::json::parse(line);
      if (judged.contains("cost")) costs[judged["task"]] = judged["cost"];
    }
    return costs;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string tables() const { return path("tables") + "/table_configs.json"; }

  TemporaryFolder folder_;
};

TEST_F(Pipeline, PlansBetterThanRandomAndNoWorseThanAnyGreedy) {
  run({"generate", "--count", "150", "--seed", "7", "--output", path("tables")});
  run({"generate", "--tasks", "40", "--table-configs", tables(), "--devices", "4", "--output",
       path("tasks")});
  run({"collect", "compute", "--backend", "analytic", "--table-configs", tables(), "--samples",
       "6000", "--output", path("compute")});
  run({"collect", "comm", "--backend", "analytic", "--devices", "4", "--samples", "3000",
       "--output", path("comm")});
  const std::string epochs = NEUROSHARD_SANITIZED ? "10" : "30";
  run({"train", "compute", "--data", path("compute"), "--epochs", epochs, "--batch", "128",
       "--output", path("w.safetensors")});
  run({"train", "comm", "--data", path("comm"), "--epochs", epochs, "--batch", "128", "--base",
       path("w.safetensors"), "--output", path("w.safetensors")});

  const std::map<int, double> ours = judged_costs("neuroshard");
  EXPECT_GE(ours.size(), 35U);
  for (const char* baseline :
       {"random", "dim_greedy", "size_greedy", "lookup_greedy", "size_lookup_greedy"}) {
    SCOPED_TRACE(baseline);
    double our_sum = 0.0;
    double baseline_sum = 0.0;
    int both = 0;
    for (const auto& [task, cost] : judged_costs(baseline)) {
      const auto found = ours.find(task);
      EXPECT_NE(found, ours.end()) << "task " << task << " has a plan by the baseline only";
      if (found == ours.end()) continue;
      our_sum += found->second;
      baseline_sum += cost;
      ++both;
    }
    EXPECT_GE(both, 10);
    EXPECT_LE(our_sum, baseline_sum);
    RecordProperty(baseline, std::to_string(our_sum / both) + " ms against " +
                                 std::to_string(baseline_sum / both) + " ms");
    std::cout << baseline << ": " << our_sum / both << " ms against " << baseline_sum / both
              << " ms, " << both << " tasks\n";
  }
}

}  // namespace
}  // namespace neuroshard::tools
