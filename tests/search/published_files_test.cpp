#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/task_file.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using testing::golden_path;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

const char* const kTwoTables = R"([
  {"row": 100, "pooling_factor": 1.5},
  {"row": 7, "pooling_factor": 2, "dim": 64, "bin_0": 1, "bin_1": 0, "bin_2": 0, "bin_3": 0,
   "bin_4": 0, "bin_5": 0, "bin_6": 0, "bin_7": 0, "bin_8": 0, "bin_9": 0, "bin_10": 0,
   "bin_11": 0, "bin_12": 0, "bin_13": 0, "bin_14": 0, "bin_15": 0, "bin_16": 0}])";

std::string line_error(const std::string& text) {
  const TableConfigs configs = parse_table_configs(kTwoTables, "t.json");
  return message_of([&] { (void)parse_task_lines(text, "tasks.txt", configs); });
}

TEST(TableConfigs, ReadsTheGoldenTables) {
  const TableConfigs configs = load_table_configs(golden_path("tables/table_configs.json"));
  ASSERT_EQ(configs.tables.size(), 856U);
  EXPECT_EQ(configs.tables[0].rows, 771541);
  EXPECT_EQ(configs.tables[0].pooling_factor, 3.539694205355396);
  EXPECT_EQ(configs.tables[0].access_histogram[0], 0.8005858494817485);
  EXPECT_EQ(configs.tables[0].access_histogram[11], 0.0002253267237494367);
  EXPECT_EQ(configs.tables[0].dim, 0);
  EXPECT_THAT(configs.derived_histograms, IsEmpty());
}

TEST(TableConfigs, DerivesMissingHistograms) {
  const TableConfigs configs = parse_table_configs(kTwoTables, "t.json");
  EXPECT_THAT(configs.derived_histograms, ElementsAre(0));
  EXPECT_EQ(configs.tables[0].access_histogram, zipf_histogram(100, 1.5));
  EXPECT_EQ(configs.tables[1].dim, 64);
}

TEST(TableConfigs, RejectsOtherJson) {
  const auto error = [](const char* json) {
    return message_of([&] { (void)parse_table_configs(json, "t.json"); });
  };
  EXPECT_EQ(error("{}"), "t.json: is not a list of tables, [{...}, ...]");
  EXPECT_EQ(error("[]"), "t.json: lists no tables; give at least one");
  EXPECT_EQ(error("[7]"), "t.json: table 0: is 7; expected an object, {...}");
  EXPECT_THAT(error(R"([{"row": 0, "pooling_factor": 1}])"), HasSubstr("table 0: row is 0"));
  EXPECT_THAT(error(R"([{"row": 1, "pooling_factor": 1, "dim": 6}])"),
              HasSubstr("dim 6 is not a multiple of 4; use 4 or 8"));
}

TEST(TaskLines, ReadsTheGoldenTasks) {
  const TableConfigs configs = load_table_configs(golden_path("tables/table_configs.json"));
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("tasks"))) {
    SCOPED_TRACE(entry.path());
    const std::vector<TaskFile> tasks = load_task_lines(entry.path(), configs);
    EXPECT_EQ(tasks.size(), 100U);
  }
  const TaskFile second = load_task_lines(golden_path("tasks/4gpu_dim128.txt"), configs)[1];
  ASSERT_EQ(second.tables.size(), 28U);
  EXPECT_EQ(second.tables[0].name, "id 125");
  EXPECT_EQ(second.tables[0].dim, 16);
  EXPECT_EQ(second.tables[27].rows, configs.tables[784].rows);
  EXPECT_EQ(second.tables[27].dim, 128);
  EXPECT_FALSE(second.devices.has_value());
}

TEST(TaskLines, TakesBlankLinesAndOtherLineEnds) {
  const TableConfigs configs = parse_table_configs(kTwoTables, "t.json");
  const auto tasks = parse_task_lines("\n0,1 8,16\r\n  \n\t1   4 \n\n", "tasks.txt", configs);
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].where, "tasks.txt: line 2");
  EXPECT_THAT(tasks[0].derived_histograms, ElementsAre(0));
  EXPECT_EQ(tasks[1].where, "tasks.txt: line 4");
  EXPECT_EQ(tasks[1].tables[0].dim, 4);  // The line's dim, not that of the list.
  EXPECT_THAT(tasks[1].derived_histograms, IsEmpty());
}

TEST(TaskLines, ErrorsNameFileAndLine) {
  EXPECT_EQ(line_error("0,1 8,16\n0,2 8,8\n"),
            "tasks.txt: line 2: id 1 is 2; the list of tables has 0 to 1");
  EXPECT_EQ(line_error("0,-1 8,16"),
            "tasks.txt: line 1: id 1 is -1; the list of tables has 0 to 1");
  EXPECT_EQ(line_error("0,1 8"),
            "tasks.txt: line 1: has 2 ids, but 1 dims; give one dim for each id");
  EXPECT_EQ(line_error("0 6"),
            "tasks.txt: line 1: table 0 (id 0): dim 6 is not a multiple of 4; use 4 or 8");
  EXPECT_THAT(line_error("0 -8"), HasSubstr("dim is -8"));
  EXPECT_EQ(line_error("0,x 8,8"), "tasks.txt: line 1: id 1 is 'x'; give an integer");
  EXPECT_EQ(line_error("0, 8"), "tasks.txt: line 1: id 1 is ''; give an integer");
  EXPECT_EQ(line_error("0 8.5"), "tasks.txt: line 1: dim 0 is '8.5'; give an integer");
  EXPECT_EQ(line_error("99999999999 8"),
            "tasks.txt: line 1: id 0 is '99999999999'; give an integer");
  EXPECT_THAT(line_error("0"), HasSubstr("line 1: has 1 columns; expected two"));
  EXPECT_THAT(line_error("0 8 12.5"), HasSubstr("line 1: has 3 columns; expected two"));
  EXPECT_THAT(line_error(" \n\n"), HasSubstr("tasks.txt: has no tasks"));
}

}  // namespace
}  // namespace neuroshard
