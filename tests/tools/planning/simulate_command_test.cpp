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

TEST(SimulateCommand, AgreesWithThePlanThatWasFound) {
  const TemporaryFolder folder;
  for (const char* format : {"json", "jsonl"}) {
    SCOPED_TRACE(format);
    const std::string file = folder / "plan.json";
    ASSERT_EQ(
        run_command("plan", golden_tasks({"--index", "1", "--format", format, "--output", file}))
            .code,
        kExitOk);
    const Outcome simulated =
        run_command("simulate", golden_tasks({"--index", "1", "--plan", file, "--format", "json"}));
    ASSERT_EQ(simulated.code, kExitOk) << simulated.err;
    EXPECT_EQ(json::parse(simulated.out)["cost_ms"].get<double>(),
              load_plans(file).at(0).cost_ms.value());
  }
}

TEST(SimulateCommand, PricesThePublishedPlans) {
  const std::string plans = golden("plans/4gpu_dim64.jsonl");
  const auto published = lines_of(contents_of(plans));
  const TemporaryFolder folder;
  const Outcome outcome =
      run_command("simulate", first_tasks(folder, published.size(),
                                          {"--plan", plans, "--format", "jsonl", "--compute-model",
                                           golden("models/compute.pt"), "--forward-comm-model",
                                           golden("models/comm_4_fw.pt"), "--backward-comm-model",
                                           golden("models/comm_4_bw.pt")}));
  EXPECT_EQ(outcome.code, kExitInfeasible);  // Some of them found no plan.
  const auto priced = lines_of(outcome.out);
  std::size_t next = 0;
  for (const std::string& text : published) {
    const json expected = json::parse(text);
    if (expected["cost"].is_null()) continue;
    const json found = json::parse(priced.at(next++));
    EXPECT_EQ(found["task"], expected["task"]);
    const double cost = expected["cost"].get<double>();
    EXPECT_NEAR(found["cost"].get<double>(), cost, 1e-5 * cost);
  }
  EXPECT_EQ(next, priced.size());
}

// Models and prices agree on GPUs that no weights were trained on, and on a datasheet.
TEST(SimulateCommand, PricesPlansForAnyHardware) {
  const TemporaryFolder folder;
  const std::string plan = folder / "plan.json";
  const std::string own = folder / "own.json";
  folder.write(
      "own.json",
      R"({"memory_gb_s": 700, "l2_mib": 48, "multiprocessors": 90, "clock_ghz": 1.8, "in_node_gb_s": 31.5, "host_gb_s": 40,
                   "between_nodes_gb_s": 12.5})");
  for (const std::string& hardware : {std::string("b200"), own}) {
    if (NEUROSHARD_SANITIZED && hardware != own) continue;
    SCOPED_TRACE(hardware);
    const auto with = [&](const char* command, std::vector<std::string> more) {
      more.insert(more.begin(), {"--index", "1", "--format", "json", "--hardware", hardware});
      return run_command(command, golden_tasks(more));
    };
    const Outcome planned = with("plan", {"--output", plan});
    ASSERT_EQ(planned.code, kExitOk) << planned.err;
    const json models = json::parse(with("simulate", {"--plan", plan}).out);
    const Outcome priced = with("simulate", {"--plan", plan, "--cost-source", "analytic"});
    ASSERT_EQ(priced.code, kExitOk) << priced.err;
    const double ms = json::parse(priced.out)["cost_ms"].get<double>();
    EXPECT_NEAR(models["cost_ms"].get<double>(), ms, 0.06 * ms);
    EXPECT_THAT(models["weights"].get<std::string>(), HasSubstr("on costs held back compute is"));
  }
  const Outcome unknown = run_command(
      "simulate", golden_tasks({"--index", "1", "--plan", plan, "--hardware", "abacus"}));
  EXPECT_EQ(unknown.code, kExitBadInput);
  EXPECT_THAT(unknown.err, HasSubstr("--hardware: no data for hardware 'abacus'; use one of a100"));
}

TEST(SimulateCommand, PricesPlansByDatasheets) {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  ASSERT_EQ(
      run_command("plan", golden_tasks({"--index", "2", "--format", "json", "--output", file}))
          .code,
      kExitOk);
  const auto priced = [&](std::vector<std::string> more) {
    std::vector<std::string> args =
        golden_tasks({"--index", "2", "--plan", file, "--format", "json"});
    args.insert(args.end(), more.begin(), more.end());
    return run_command("simulate", std::move(args));
  };
  const Outcome a100 = priced({"--cost-source", "analytic"});
  ASSERT_EQ(a100.code, kExitOk) << a100.err;
  const json page = json::parse(a100.out);
  EXPECT_THAT(page["weights"].get<std::string>(), HasSubstr("a100-sxm-80gb, a100-nvlink3-hdr"));
  // The built-in models were trained on this source, on other tables.
  const double predicted = load_plans(file).at(0).cost_ms.value();
  EXPECT_NEAR(page["cost_ms"].get<double>(), predicted, 0.1 * predicted);
  const Outcome v100 = priced({"--cost-source", "analytic", "--gpu", "v100-sxm2-32gb"});
  EXPECT_GT(json::parse(v100.out)["cost_ms"].get<double>(), page["cost_ms"].get<double>());

  EXPECT_THAT(priced({"--cost-source", "stars"}).err, HasSubstr("'stars'"));
  EXPECT_THAT(priced({"--cost-source", "analytic", "--weights", "w"}).err,
              HasSubstr("takes no cost models"));
}

TEST(SimulateCommand, SaysThatAPlanExceedsTheMemory) {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  const std::vector<std::string> task = {"--tables",  golden("tables/table_configs.json"),
                                         "--tasks",   golden("tasks/4gpu_dim64.txt"),
                                         "--index",   "0",
                                         "--devices", "4"};
  auto plan = task;
  plan.insert(plan.end(), {"--memory-gb", "4", "--format", "json", "--output", file});
  ASSERT_EQ(run_command("plan", plan).code, kExitOk);
  auto simulate = task;
  simulate.insert(simulate.end(), {"--memory-gb", "0.01", "--plan", file});
  const Outcome outcome = run_command("simulate", simulate);
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(outcome.out, HasSubstr("DOES NOT FIT: device "));
}

}  // namespace
}  // namespace neuroshard::tools
