#include "bench/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/inputs/task_sets.h"
#include "bench/plans/plan_latency.h"
#include "bench/scale/child_process.h"
#include "golden.h"
#include "neuroshard/error.h"
#include "tools/command_line/exit_code.h"

namespace neuroshard::bench {
namespace {

using ::testing::HasSubstr;

std::string golden_folder() { return std::string(NEUROSHARD_TEST_DATA) + "/golden"; }

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(args, out, err);
  return {code, out.str(), err.str()};
}

TEST(Program, BadInputNamesPlaceAndRemedy) {
  const Outcome folder = run({"plan", "--data", "no-such-folder"});
  EXPECT_EQ(folder.code, kExitBadInput);
  EXPECT_THAT(folder.err, HasSubstr("no-such-folder"));
  EXPECT_THAT(folder.err, HasSubstr("--data"));
  const Outcome set = run({"plan", "--data", golden_folder(), "--sets", "elsewhere"});
  EXPECT_EQ(set.code, kExitBadInput);
  EXPECT_THAT(set.err, HasSubstr("elsewhere"));
  const Outcome measured = run({"measured", "--data", "no-such-folder"});
  EXPECT_EQ(measured.code, kExitBadInput);
  EXPECT_THAT(measured.err, HasSubstr("no-such-folder/sources.csv"));
  const Outcome point = run({"scale", "--data", golden_folder(), "--points", "12by4"});
  EXPECT_EQ(point.code, kExitBadInput);
  EXPECT_THAT(point.err, HasSubstr("12by4"));
}

TEST(Program, BadUsageEndsAsThatOfTheOtherProgram) {
  EXPECT_EQ(run({"plan", "--threads", "0"}).code, kExitBadInput);
  EXPECT_EQ(run({"plan", "--bogus"}).code, kExitBadInput);
  EXPECT_EQ(run({}).code, kExitBadInput);
  const Outcome command = run({"plna"});
  EXPECT_EQ(command.code, kExitBadInput);
  EXPECT_EQ(command.err,
            "nsbench: error: there is no command 'plna'; did you mean 'plan'? See 'nsbench "
            "--help'\n");
}

TEST(Program, HelpStaysWithin100Columns) {
  for (const char* command : {"measured", "plan", "quality", "scale", "score", "train"}) {
    const Outcome help = run({command, "--help"});
    EXPECT_EQ(help.code, kExitOk);
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Program, ReportThatCannotBeWrittenIsAnError) {
  const Outcome outcome = run({"quality", "--data", golden_folder(), "--sets", "2gpu_dim32",
                               "--tasks", "1", "--max-splits", "1", "--json", "/no/such/folder/x"});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/folder/x"));
}

TEST(Program, ChartsOnlyAlgorithmsThatThereAre) {
  const Outcome outcome = run({"quality", "--data", golden_folder(), "--sets", "2gpu_dim32",
                               "--tasks", "1", "--max-splits", "1", "--chart", "nobody"});
  EXPECT_EQ(outcome.code, kExitBadInput);
  EXPECT_THAT(outcome.err, HasSubstr("--chart: no algorithm is called 'nobody'"));
}

TEST(Program, AccuracyPricesPlansOfBothKinds) {
  const std::string data = std::string(NEUROSHARD_TEST_DATA) + "/../../tools/examples";
  const Outcome outcome = run({"accuracy", "--data", data, "--devices", "8", "--random-tasks", "2",
                               "--seed", "2", "--effort", "fast"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* tables : {"public", "random"}) {
    for (const char* plans : {"uniform widths", "search"}) {
      EXPECT_THAT(outcome.out, HasSubstr(std::string(tables) + ", " + plans));
    }
  }
  const auto of_type = [&](const char* name) {
    return run({"accuracy", "--data", data, "--devices", "8", "--random-tasks", "0", "--no-search",
                "--weight-type", name});
  };
  EXPECT_NE(of_type("mixed").out, of_type("fp32").out);
  EXPECT_THAT(of_type("fp61").err, HasSubstr("did you mean 'fp16'?"));
  const Outcome nothing = run({"accuracy", "--data", "no-such-folder"});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no-such-folder"));
  EXPECT_THAT(nothing.err, HasSubstr("bench/data/table_sets"));
}

TEST(TaskSets, GoldenFolderIsReadWhole) {
  const GoldenFolder folder(golden_folder());
  EXPECT_EQ(folder.set_names().size(), 12U);
  EXPECT_EQ(folder.published_set_names().size(), 8U);
  EXPECT_EQ(folder.set_names().front(), "2gpu_dim32");
  EXPECT_EQ(folder.set_names().back(), "16gpu_dim128");
  EXPECT_EQ(folder.tables().size(), 856U);
  EXPECT_EQ(folder.models().dense_comm.size(), 4U);

  const TaskSet all = folder.load_set("4gpu_dim128", 1000, false);
  EXPECT_EQ(all.tasks.size(), 100U);
  const TaskSet published = folder.load_set("4gpu_dim128", 1000, true);
  ASSERT_EQ(published.tasks.size(), 60U);
  EXPECT_TRUE(published.has_published());
  EXPECT_DOUBLE_EQ(published.published[0]->seconds, 12.006);
  EXPECT_DOUBLE_EQ(*published.published[0]->cost_ms, 14.523593187332153);
  EXPECT_EQ(published.tasks[0].tables.size(), 34U);
  EXPECT_EQ(published.tasks[0].devices, 4);
  EXPECT_EQ(folder.load_set("4gpu_dim128", 3, true).tasks.size(), 3U);
}

TEST(PlanLatency, PlanWorseThanThePublishedOneIsFoundBeforeTiming) {
  const GoldenFolder folder(golden_folder());
  TaskSet set = folder.load_set("4gpu_dim32", 1, true);
  PlanMeasurement measurement;
  measurement.rounds = 1;
  measurement.search = {.beam_width = 1, .candidates = 2, .max_splits = 1, .grid_steps = 2};
  const std::vector<PlanConfig> configs = {{.backend = "auto"}};
  set.published[0]->cost_ms = 1e9;
  EXPECT_EQ(measure_plans(folder.models(), configs, set, measurement).size(), 1U);
  set.published[0]->cost_ms = 1e-3;
  EXPECT_THROW((void)measure_plans(folder.models(), configs, set, measurement), Error);
}

TEST(PlanLatency, SearchAsPublishedMustSucceedAndFailWhereThePublishedOneDid) {
  const GoldenFolder folder(golden_folder());
  TaskSet set = folder.load_set("16gpu_dim128", 3, true);
  set.tasks = {set.tasks[2]};
  set.published = {set.published[2]};
  ASSERT_FALSE(set.published[0]->cost_ms.has_value());
  PlanMeasurement measurement;
  measurement.rounds = 1;
  measurement.checked_by_scalar = 0;
  const std::vector<PlanConfig> configs = {{.backend = "auto"},
                                           {.backend = "auto", .search = "as_published"}};
  EXPECT_EQ(measure_plans(folder.models(), configs, set, measurement).size(), 2U);
  set.published[0]->cost_ms = 1e9;
  EXPECT_THROW((void)measure_plans(folder.models(), configs, set, measurement), Error);
}

TEST(PlanLatency, EveryWayOfPlanningTimesEveryTask) {
  const GoldenFolder folder(golden_folder());
  const TaskSet set = folder.load_set("2gpu_dim32", 3, false);
  PlannerOptions options{.algorithm = Algorithm::kDimGreedy};
  const Planner planner(folder.models(), options);
  const PlanRound alone = plan_round(planner, {.backend = "auto"}, set.tasks);
  EXPECT_EQ(alone.wall_ms.size(), 3U);
  EXPECT_EQ(alone.cpu_ms.size(), 3U);
  const PlanRound callers = plan_round(planner, {.backend = "auto", .concurrency = 5}, set.tasks);
  EXPECT_EQ(callers.wall_ms.size(), 3U);
  EXPECT_TRUE(callers.cpu_ms.empty());
  for (const double ms : callers.wall_ms) EXPECT_GT(ms, 0.0);
  const PlanRound batch = plan_round(planner, {.backend = "auto", .batch = 7}, set.tasks);
  EXPECT_TRUE(batch.wall_ms.empty());
  EXPECT_EQ(batch.plans, 7U);
}

// The test program stands in for nsbench: it lists its tests, or repeats one for ever.
TEST(ChildProcess, ReadsOutputAndEndsWhatTakesTooLong) {
  const ChildResult listed =
      run_self({"--gtest_list_tests", "--gtest_filter=ChildProcess.*"}, 20.0);
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_FALSE(listed.timed_out);
  EXPECT_THAT(listed.output, HasSubstr("ReadsOutputAndEndsWhatTakesTooLong"));
  const ChildResult endless =
      run_self({"--gtest_filter=Svg.EscapesWhatXmlReserves", "--gtest_repeat=-1"}, 0.2);
  EXPECT_TRUE(endless.timed_out);
  EXPECT_EQ(endless.exit_code, -1);
}

}  // namespace
}  // namespace neuroshard::bench
