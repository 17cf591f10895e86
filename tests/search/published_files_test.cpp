#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/histogram_scale.h"
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
  EXPECT_EQ(error("7"),
            "t.json: is no list of tables; give [{...}, ...] or {\"tables\": [{...}, ...]}");
  EXPECT_THAT(error("{}"), HasSubstr("t.json: the field 'tables' is missing"));
  EXPECT_THAT(error(R"({"format": "neuroshard.task", "version": 1, "tables": []})"),
              HasSubstr("format is \"neuroshard.task\"; a list of tables has none"));
  EXPECT_THAT(error(R"({"tables": [], "tasks": []})"), HasSubstr("unknown field 'tasks'"));
  EXPECT_EQ(error("[]"), "t.json: lists no tables; give at least one");
  EXPECT_EQ(error("[7]"), "t.json: table 0: is 7; expected an object, {...}");
  EXPECT_THAT(error(R"([{"row": 0, "pooling_factor": 1}])"), HasSubstr("table 0: row is 0"));
  EXPECT_THAT(error(R"([{"row": 1, "pooling_factor": 1, "dim": 6}])"),
              HasSubstr("dim 6 is not a multiple of 4; use 4 or 8"));
}

// DreamShard's and AutoShard's list, and a task of either: ids alone, as all tables have dims.
const char* const kIndexedTables = R"({"tables": [
  {"index": 0, "row": 100, "dim": 16, "pooling_factor": 36},
  {"index": 1, "row": 7, "dim": 32, "pooling_factor": 2}]})";

TEST(TableConfigs, ReadsAnObjectWithTheListAndNumbers) {
  const TableConfigs configs = parse_table_configs(kIndexedTables, "t.json");
  ASSERT_EQ(configs.tables.size(), 2U);
  EXPECT_EQ(configs.tables[0].dim, 16);
  EXPECT_EQ(configs.tables[1].rows, 7);
  std::string swapped = kIndexedTables;
  swapped.replace(swapped.find("\"index\": 1"), 10, "\"index\": 5");
  EXPECT_EQ(message_of([&] { (void)parse_table_configs(swapped, "t.json"); }),
            "t.json: table 1: index is 5; list tables in the order of their index, from 0 on");
}

TEST(TableConfigs, BinsOfAnotherBatchAreRescaledWhereverTablesAreRead) {
  Table table{.rows = 1'000'000, .dim = 64, .pooling_factor = 5.0};
  table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, 1.05, 4096);
  const auto expected = HistogramScale(65536.0, 4096.0)(table);
  ASSERT_NE(expected, table.access_histogram);
  const std::string list = serialize_table_configs(std::vector{table}, true, 4096);
  EXPECT_THAT(list, HasSubstr("\"bin_batch_size\":4096"));
  EXPECT_EQ(parse_table_configs(list, "t.json").tables[0].access_histogram, expected);
  const std::string task = R"({"format": "neuroshard.task", "version": 1, "tables": )" + list + "}";
  EXPECT_EQ(parse_task(task, "task.json").tables[0].access_histogram, expected);
  // Nothing is said of the usual batch, as in published files.
  EXPECT_THAT(serialize_table_configs(std::vector{table}, true),
              ::testing::Not(HasSubstr("bin_batch_size")));
  const auto error = [](const std::string& fields) {
    return message_of([&] {
      (void)parse_table_configs(R"([{"row": 5, "pooling_factor": 1, )" + fields + "}]", "t.json");
    });
  };
  EXPECT_EQ(error(R"("bin_batch_size": 512)"),
            "t.json: table 0: bin_batch_size: there are no bins that it could be of; give bin_0 to "
            "bin_16, or leave it out");
  std::string with_bins = list;
  with_bins.replace(with_bins.find("4096"), 4, "0");
  EXPECT_THAT(message_of([&] { (void)parse_table_configs(with_bins, "t.json"); }),
              HasSubstr("table 0: bin_batch_size is 0"));
}

TEST(TaskLines, DimsMayBeThoseOfTheList) {
  const TableConfigs configs = parse_table_configs(kIndexedTables, "t.json");
  const auto tasks = parse_task_lines("1,0,1\n0\n0 8\n", "tasks.txt", configs);
  ASSERT_EQ(tasks.size(), 3U);
  ASSERT_EQ(tasks[0].tables.size(), 3U);
  EXPECT_EQ(tasks[0].tables[0].name, "id 1");
  EXPECT_EQ(tasks[0].tables[0].dim, 32);
  EXPECT_EQ(tasks[0].tables[1].dim, 16);
  EXPECT_EQ(tasks[2].tables[0].dim, 8);
  EXPECT_EQ(line_error("1,0"),
            "tasks.txt: line 1: id 1 is 0, a table without a dim; give each table of the list one, "
            "or the task's line dims: 'id,id,... dim,dim,...'");
}

TEST(TaskLines, ReadsTasksToTrainAndToTestWith) {
  const TableConfigs configs = parse_table_configs(kIndexedTables, "t.json");
  const std::string file = R"({"train": [[1, 0], [0]], "test": [[1, 1]]})";
  const auto tasks = parse_task_lines(file, "tasks.json", configs);
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0].tables[0].dim, 32);
  EXPECT_EQ(tasks[2].where, "tasks.json: test: task 0");
  EXPECT_EQ(tasks[2].tables.size(), 2U);
  // One bad task costs no others.
  const auto lines = parse_each_task_line(R"({"test": [[2], [], 5, [1]]})", "tasks.json", configs);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0].error->what(), HasSubstr("tasks.json: test: task 0: id 0 is 2"));
  EXPECT_STREQ(lines[1].error->what(),
               "tasks.json: test: task 1: is no list of ids; give [id, id, ...]");
  EXPECT_THAT(lines[2].error->what(), HasSubstr("task 2: is no list of ids"));
  EXPECT_FALSE(lines[3].error.has_value());
  const auto error = [&](const char* text) {
    return message_of([&] { (void)parse_task_lines(text, "tasks.json", configs); });
  };
  EXPECT_THAT(error(R"({"train": []})"), HasSubstr("tasks.json: has no tasks"));
  EXPECT_THAT(error(R"({"train": [[0]], "valid": []})"), HasSubstr("unknown field 'valid'"));
  EXPECT_THAT(error("{"), HasSubstr("tasks.json"));
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
  EXPECT_THAT(line_error("0 8 12.5"), HasSubstr("line 1: has 3 columns; expected 'id,id"));
  EXPECT_THAT(line_error(" \n\n"), HasSubstr("tasks.txt: has no tasks"));
}

}  // namespace
}  // namespace neuroshard
