#include "weights/collection/task_draws.h"

#include <gtest/gtest.h>

#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

std::vector<Table> tables_of_millions_of_rows() {
  Random random(31);
  std::vector<Table> tables;
  for (int i = 0; i < 60; ++i) {
    tables.push_back(random_table(random, 128));
    tables.back().rows = 2'000'000 + i * 100'000;
  }
  return tables;
}

TEST(DrawTaskLine, IsATaskThatFits) {
  TableConfigs configs;
  configs.tables = tables_of_millions_of_rows();
  for (const int devices : {1, 2, 4, 16}) {
    TaskDrawOptions options;
    options.devices = devices;
    options.max_dim = 64;
    options.memory_bytes = (std::int64_t{4} << 30) * devices;
    std::size_t fewest = 1000;
    std::size_t most = 0;
    for (std::uint64_t i = 0; i < 100; ++i) {
      Random random(32, i);
      const std::string line = draw_task_line(configs.tables, options, random);
      const TaskFile task = parse_task_lines(line, "drawn", configs).at(0);
      std::int64_t bytes = 0;
      for (const Table& table : task.tables) {
        EXPECT_LE(table.dim, 64);
        bytes += table.size_bytes();
      }
      EXPECT_LE(bytes, options.memory_bytes);
      fewest = std::min(fewest, task.tables.size());
      most = std::max(most, task.tables.size());
    }
    EXPECT_GE(fewest, static_cast<std::size_t>(devices * 2.5));
    EXPECT_LT(most, static_cast<std::size_t>(devices) * 15);
    EXPECT_GT(most, fewest + static_cast<std::size_t>(devices) * 5);
  }
}

TEST(DrawTaskLine, SaysSoIfNothingFits) {
  TaskDrawOptions options;
  options.memory_bytes = 1000;
  Random random(33);
  EXPECT_THROW((void)draw_task_line(tables_of_millions_of_rows(), options, random), Error);
  EXPECT_THROW((void)draw_task_line({}, options, random), Error);
}

}  // namespace
}  // namespace neuroshard
