// The task files that come with the programs.
#include <gtest/gtest.h>

#include <filesystem>

#include "neuroshard/task_file.h"

namespace neuroshard {
namespace {

struct Example {
  const char* file;
  std::size_t tables;
  std::int64_t rows;
  std::int64_t numbers;
  int devices;
};

class ExampleTasks : public ::testing::TestWithParam<Example> {};

// Sums as the publishers of the models state them.
TEST_P(ExampleTasks, HaveThePublishedSizes) {
  const auto [file, tables, rows, numbers, devices] = GetParam();
  const TaskFile example =
      load_task(std::filesystem::path(NEUROSHARD_TEST_DATA) / "../../tools/examples" / file);
  EXPECT_EQ(example.tables.size(), tables);
  std::int64_t row_sum = 0;
  std::int64_t byte_sum = 0;
  for (const Table& table : example.tables) {
    row_sum += table.rows;
    byte_sum += table.size_bytes();
  }
  EXPECT_EQ(row_sum, rows);
  EXPECT_EQ(byte_sum, 4 * numbers);
  EXPECT_FALSE(example.source.empty());
  EXPECT_EQ(example.derived_histograms.size(), tables);
  EXPECT_EQ(example.devices, devices);
  ASSERT_TRUE(example.memory_bytes.has_value());
  validate(Task{example.tables, *example.devices, *example.memory_bytes});
  EXPECT_LT(byte_sum, devices * *example.memory_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExampleTasks,
    ::testing::Values(Example{"dlrm_v2_8gpu.json", 26, 204'184'588, 26'135'627'264, 8},
                      Example{"hugectr_200_16gpu.json", 200, 831'421'000, 103'861'888'000, 16},
                      Example{"jumbo_128gpu.json", 1022, 5'722'001'000, 834'688'032'000, 128}));

}  // namespace
}  // namespace neuroshard
