#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/task_file.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using testing::golden_path;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

// All that a reader needs, for two_tables().
constexpr const char* kMinimal = R"({"format": "neuroshard.plan", "version": 1, "column_splits": [],
  "devices": [
    {"device": 0, "shard": [{"slice": 1, "table": 1, "first_column": 0, "dim": 8}]},
    {"device": 1, "shard": [{"slice": 0, "table": 0, "first_column": 0, "dim": 16}]}]})";

Task two_tables() {
  return {.tables = {{"", 100, 16, 1.0, {}}, {"", 200, 8, 2.0, {}}},
          .devices = 2,
          .memory_bytes = 1 << 20};
}

std::string plan_error(const std::string& text) {
  return message_of([&] { (void)parse_plans(text, "p.jsonl"); });
}

std::string task_mismatch(const std::string& text) {
  const auto records = parse_plans(text, "p.json");
  return message_of([&] { (void)plan_for(records.at(0), two_tables()); });
}

TEST(PlanReader, ReadsTheGoldenPlans) {
  const TableConfigs configs = load_table_configs(golden_path("tables/table_configs.json"));
  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("plans"))) {
    SCOPED_TRACE(entry.path());
    const auto tasks =
        load_task_lines(golden_path("tasks/" + entry.path().stem().string() + ".txt"), configs);
    for (const PlanRecord& record : load_plans(entry.path())) {
      ASSERT_TRUE(record.task.has_value());
      EXPECT_EQ(record.plan.has_value(), record.cost_ms.has_value());
      if (!record.plan) continue;
      const Task task{tasks.at(static_cast<std::size_t>(*record.task)).tables,
                      static_cast<int>(record.shards().size()), 1LL << 32};
      EXPECT_EQ(halvings_of(plan_for(record, task)), std::get<HalvedPlan>(*record.plan));
      ++plans;
    }
  }
  EXPECT_GT(plans, 50);
}

TEST(PlanReader, ReadsALineWithOnlyShards) {
  const auto records = parse_plans(R"({"shards": [[1], [0]]})", "p.json");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_THAT(plan_for(records[0], two_tables()).shards,
              ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(PlanReader, ReadsALineWithAWarning) {
  const auto records =
      parse_plans(R"({"shards": [[1], [0]], "cost": -1.5, "warning": "negative"})", "p.json");
  EXPECT_EQ(records.at(0).cost_ms, -1.5);
}

TEST(PlanReader, ReadsLinesWithoutPlans) {
  const auto records = parse_plans(
      "{\"task\": 3, \"error\": {\"kind\": \"packing\", \"message\": \"too much\"}}\n\n"
      "{\"task\": 4, \"shards\": null, \"cost\": null}\n",
      "p.jsonl");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_FALSE(records[0].plan.has_value());
  EXPECT_EQ(records[1].task, 4);
  EXPECT_EQ(records[1].where, "p.jsonl: line 3");
  EXPECT_EQ(message_of([&] { (void)plan_for(records[1], two_tables()); }),
            "p.jsonl: line 3: has no plan; the search found none");
}

TEST(PlanReader, ReadsADocumentOfColumnSplitsAndSlicesAlone) {
  const auto records = parse_plans(kMinimal, "p.json");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].cost_ms, std::nullopt);
  EXPECT_THAT(plan_for(records[0], two_tables()).shards,
              ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(PlanReader, RejectsPlansWhoseTablesHaveOtherNames) {
  const auto read = [](const std::string& stated, const std::string& name) {
    std::string text = kMinimal;
    text.insert(text.find(R"("first_column")"), R"("name": ")" + stated + R"(", )");
    const auto records = parse_plans(text, "p.json");
    Task task = two_tables();
    task.tables[1].name = name;
    task.tables[1].rows = 5000;  // It may have grown.
    (void)plan_for(records.at(0), task);
  };
  EXPECT_NO_THROW(read("b", "b"));
  EXPECT_NO_THROW(read("b", ""));
  EXPECT_NO_THROW(read("", "b"));
  EXPECT_NO_THROW(read("\\uFFFD", "\xff"));  // As writers of JSON have it.
  EXPECT_EQ(message_of([&] { read("a", "b"); }),
            "p.json: slice 1 is said to be of table 1 'a', but in this task that is 'b'; give the "
            "task that the plan was made for, tables in its order, or, if they only have new "
            "names, leave names out of the plan");
}

TEST(PlanReader, SaysWhichSliceIsMissingOrThereTwice) {
  const auto with = [](const char* from, const char* to) {
    std::string text = kMinimal;
    text.replace(text.find(from), std::string_view(from).size(), to);
    return task_mismatch(text);
  };
  EXPECT_EQ(with("\"slice\": 0", "\"slice\": 2"),
            "p.json: shard 1: there is no slice 2; there are 2 (and 1 more "
            "problem)");
  EXPECT_EQ(with("\"slice\": 1, \"table\": 1, \"first_column\": 0, \"dim\": 8",
                 "\"slice\": 0, \"table\": 0, \"first_column\": 0, \"dim\": 16"),
            "p.json: shard 1: slice 0 is already in shard 0; place each slice once (and 1 more "
            "problem)");
}

TEST(PlanReader, ReadsADocumentWithoutAPlan) {
  const auto records = parse_plans(R"({"format": "neuroshard.plan", "version": 1,
      "task": {"tables": 2}, "error": {"kind": "packing", "message": "x", "needed_bytes": 3}})",
                                   "p.json");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].plan.has_value());
  EXPECT_EQ(records[0].error_kind, "packing");
  EXPECT_EQ(records[0].tables, 2);
}

TEST(PlanReader, RejectsOtherContents) {
  EXPECT_EQ(plan_error(" \n"), "p.jsonl: is empty; expected a plan");
  EXPECT_THAT(plan_error("{\"shards\": [[0]"), StartsWith("p.jsonl: is not valid JSON"));
  EXPECT_THAT(plan_error("{\"shards\": [[0]]}\n{\"shards\""), HasSubstr("line 2: is not valid"));
  EXPECT_THAT(plan_error("[]"), HasSubstr("line 1: is an array; expected an object"));
  EXPECT_THAT(plan_error("{}"), HasSubstr("'shards' is missing"));
  EXPECT_THAT(plan_error("{\"shards\": 3}"), HasSubstr("shards is 3; give an array"));
  EXPECT_THAT(plan_error("{\"shards\": [3]}"), HasSubstr("shards: list 0 is not an array"));
  EXPECT_THAT(plan_error("{\"shards\": [[-1]]}"), HasSubstr("shards: list 0 is -1"));
  EXPECT_THAT(plan_error("{\"shards\": [[0.5]]}"), HasSubstr("is 0.5; give an integer"));
  EXPECT_THAT(plan_error("{\"shards\": [[0]], \"step\": []}"), HasSubstr("unknown field 'step'"));
}

TEST(PlanReader, ReadsALineOfSlices) {
  const auto records =
      parse_plans(R"({"slices": [[0, 0, 16, 60, 40], [1, 0, 8, 0, 200], [0, 0, 16, 0, 60]],
                      "shards": [[1, 0], [2]]})",
                  "p.json");
  const Plan plan = plan_for(records.at(0), two_tables());
  EXPECT_THAT(plan.slices, ElementsAre(TableSlice{0, 0, 16, 60, 40}, TableSlice{1, 0, 8, 0, 200},
                                       TableSlice{0, 0, 16, 0, 60}));
  EXPECT_THAT(plan.shards, ElementsAre(ElementsAre(1, 0), ElementsAre(2)));
}

TEST(PlanReader, RejectsWhatIsNoSlice) {
  const auto with = [](const std::string& slices) {
    return plan_error("{\"slices\": " + slices + ", \"shards\": [[0], []]}");
  };
  EXPECT_THAT(with("3"), HasSubstr("slices is 3; give an array"));
  EXPECT_THAT(with("[3]"), HasSubstr("slices: entry 0 is no slice; give [table, first_column, dim, "
                                     "first_row, rows]"));
  EXPECT_THAT(with("[[0, 0, 16, 0]]"), HasSubstr("entry 0 is no slice"));
  EXPECT_THAT(with("[[0, 0, 16, 0, 100, 1]]"), HasSubstr("entry 0 is no slice"));
  EXPECT_THAT(with("[[0, 0, 16, 0, -1]]"), HasSubstr("slices: entry 0 is -1"));
  EXPECT_THAT(with("[[0, 0, 16, 0, 1.5]]"), HasSubstr("is 1.5; give an integer"));
  EXPECT_THAT(plan_error(R"({"steps": [], "slices": [], "shards": []})"),
              HasSubstr("has both steps and slices; give one of them"));
}

TEST(PlanReader, RejectsAPlanOfAnotherTask) {
  EXPECT_THAT(task_mismatch(R"({"shards": [[0, 1]]})"),
              HasSubstr("is a plan of 1 device for a task of 2"));
  EXPECT_THAT(task_mismatch(R"({"shards": [[0], [1, 2]]})"), HasSubstr("there is no slice 2"));
  EXPECT_THAT(task_mismatch(R"({"shards": [[0], [0]]})"), HasSubstr("already in shard 0"));
  EXPECT_THAT(task_mismatch(R"({"shards": [[0], []]})"), HasSubstr("slice 1 is on no device"));
  EXPECT_THAT(task_mismatch(R"({"tables": 3, "shards": [[0], [1]]})"),
              HasSubstr("is a plan for 3 tables; the task has 2"));
  EXPECT_THAT(task_mismatch(R"({"steps": [5], "shards": [[0], [1]]})"),
              HasSubstr("there is no slice 5"));
}

}  // namespace
}  // namespace neuroshard
