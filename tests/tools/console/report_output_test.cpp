// --report of plan, simulate and replan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReportOption : public ::testing::Test {
 protected:
  Outcome plan(std::vector<std::string> more) {
    more.insert(more.begin(), {"--task", task_, "--effort", "fast"});
    return run_command("plan", std::move(more));
  }

  const TemporaryFolder folder_;
  const std::string task_ = std::string(NEUROSHARD_EXAMPLES) + "/dlrm_v2_8gpu.json";
  const std::string report_ = folder_ / "report.html";
};

TEST_F(ReportOption, WritesAPageBesideTheResult) {
  const std::string file = folder_ / "plan.json";
  const Outcome planned = plan({"--format", "json", "--output", file, "--report", report_});
  ASSERT_EQ(planned.code, kExitOk) << planned.err;
  EXPECT_THAT(planned.out, IsEmpty());
  EXPECT_THAT(contents_of(report_), AllOf(HasSubstr("<h1>MLPerf DLRM-v2"), HasSubstr("cat_20"),
                                          HasSubstr("<dt>search</dt>")));

  const Outcome simulated =
      run_command("simulate", {"--task", task_, "--plan", file, "--report", report_});
  EXPECT_EQ(simulated.code, kExitOk) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr("set by device"));
  EXPECT_THAT(contents_of(report_), ::testing::Not(HasSubstr("<dt>search</dt>")));

  const Outcome beside = run_command(
      "simulate", {"--task", task_, "--plan", file, "--report", report_, "--beside", file});
  EXPECT_EQ(beside.code, kExitOk) << beside.err;
  EXPECT_THAT(contents_of(report_),
              AllOf(HasSubstr("Beside " + file), HasSubstr("0 tables placed")));
  EXPECT_EQ(plan({"--cuts", "columns", "--report", report_, "--beside", file}).code, kExitOk);
  EXPECT_THAT(contents_of(report_),
              AllOf(HasSubstr("Beside " + file), HasSubstr("26 tables placed")));

  const Outcome replanned = run_command(
      "replan", {"--task", task_, "--devices", "7", "--running-task", task_, "--running-plan", file,
                 "--lost-devices", "3", "--effort", "fast", "--report", report_});
  EXPECT_EQ(replanned.code, kExitOk) << replanned.err;
  EXPECT_THAT(contents_of(report_), AllOf(HasSubstr("<dt>moves</dt>"), HasSubstr(R"("moves":{)"),
                                          HasSubstr("Beside the running plan")));
}

TEST_F(ReportOption, HasTheLowerBoundWhereThatIsQuick) {
  const std::string not_asked = "Lower bound</dt><dd>not asked for";
  plan({"--report", report_});
  EXPECT_THAT(contents_of(report_), HasSubstr(not_asked));
  const Outcome planned = plan({"--devices", "2", "--memory-gb", "80", "--report", report_});
  EXPECT_EQ(planned.code, kExitOk) << planned.err;
  EXPECT_THAT(contents_of(report_),
              AllOf(HasSubstr(" ms<small>gap "), ::testing::Not(HasSubstr(not_asked))));
}

TEST_F(ReportOption, SaysWhyThereIsNoPlan) {
  const Outcome outcome = plan({"--memory-gb", "1", "--report", report_});
  EXPECT_EQ(outcome.code, kExitInfeasible);
  EXPECT_THAT(contents_of(report_), HasSubstr("No plan: "));
}

TEST_F(ReportOption, IsOfOnePlan) {
  const auto expect_error = [&](const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.code, kExitBadInput);
    EXPECT_THAT(outcome.err, HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(report_));
  };
  expect_error(plan({"--devices", "8,16", "--report", report_}), "--report shows one plan");
  expect_error(plan({"--beside", "plan.json"}), "--beside is shown on the page of --report");
  expect_error(run_command("plan", golden_tasks({"--report", report_})), "--index");
  expect_error(
      plan({"--format", "jsonl", "--output", folder_ / "o", "--resume", "--report", report_}),
      "exclude each other");
}

TEST_F(ReportOption, OverwritesNoOtherFile) {
  const std::string task = folder_.write("task.json", contents_of(task_));
  const Outcome input = run_command("plan", {"--task", task, "--report", task});
  EXPECT_EQ(input.code, kExitBadInput);
  EXPECT_THAT(input.err, HasSubstr("also what --task reads"));
  EXPECT_EQ(contents_of(task), contents_of(task_));
  EXPECT_THAT(plan({"--output", report_, "--report", report_}).err,
              HasSubstr("--report and --output are one file"));
  EXPECT_THAT(plan({"--devices", "8,16", "--output", report_, "--svg", report_}).err,
              HasSubstr("are one file"));
  EXPECT_THAT(plan({"--report", folder_ / "absent/report.html"}).err, HasSubstr("absent"));
  EXPECT_FALSE(std::filesystem::exists(report_));
}

}  // namespace
}  // namespace neuroshard::tools
