// The example programs in other languages find the plans that the program finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "neuroshard/plan_file.h"
#include "neuroshard/task_file.h"
#include "tools/built_programs.h"
#include "tools/run_command.h"

namespace neuroshard::tools {
namespace {

// As the examples print it.
std::string printed_plan(const std::string& task_file) {
  const Outcome outcome =
      run_command("plan", {"--task", task_file, "--format", "json", "--cuts", "columns"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const TaskFile file = load_task(task_file);
  const Task task{file.tables, *file.devices, *file.memory_bytes};
  const PlanRecord record = parse_plans(outcome.out, "plan").at(0);
  std::array<char, 64> cost{};
  (void)std::snprintf(cost.data(), cost.size(), "cost %.6f ms\n", *record.cost_ms);
  std::string text = cost.data();
  const auto by_device = slices_by_device(plan_for(record, task));
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      text += "device " + std::to_string(device) + ": table " + std::to_string(slice.table) +
              ", columns " + std::to_string(slice.first_column) + " to " +
              std::to_string(slice.first_column + slice.dim - 1) + '\n';
    }
  }
  return text;
}

class Examples : public ::testing::TestWithParam<std::string> {
 protected:
  // Runs the example; the outcome has what it prints, errors included.
  static Outcome run_on(const std::string& task_file) {
    const TemporaryFolder folder;
    const std::string out = folder / "out";
    const std::string command = "'" + GetParam() + "' '" + task_file + "' >'" + out + "' 2>&1";
    const int status = std::system(command.c_str());
    return {.code = status == 0 ? 0 : 1, .out = contents_of(out), .err = {}};
  }
};

TEST_P(Examples, PlanAsTheProgramDoes) {
  const std::string task = NEUROSHARD_EXAMPLES "/dlrm_v2_8gpu.json";
  const Outcome outcome = run_on(task);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, printed_plan(task));
}

TEST_P(Examples, SayWhatIsWrong) {
  const Outcome outcome = run_on(std::string(NEUROSHARD_EXAMPLES) + "/README.md");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, ::testing::StartsWith("plan: task: "));
}

INSTANTIATE_TEST_SUITE_P(Languages, Examples, ::testing::ValuesIn(example_programs()),
                         [](const auto& program) {
                           return std::filesystem::path(program.param).stem().string();
                         });

}  // namespace
}  // namespace neuroshard::tools
