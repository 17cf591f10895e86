#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "message_of.h"
#include "neuroshard/plan_file.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

struct Planned {
  Task task;
  Plan plan;
  PlanCost cost;
  SearchStats stats;
};

/// Two tables on two devices, the first one split.
Planned small_plan() {
  Planned planned;
  planned.task.tables = {{"user \"x\"", 1 << 20, 128, 3.0, {}}, {"", 1000, 16, 1.0, {}}};
  planned.task.devices = 2;
  planned.task.memory_bytes = std::int64_t{1} << 32;
  planned.plan = plan_from_halvings(planned.task, {{0}, {{2}, {1, 0}}});
  planned.task.reserved.bytes = 1 << 29;
  planned.cost.devices = {{.compute_ms = 2.0,
                           .forward_ms = 0.75,
                           .backward_ms = 0.5,
                           .memory_bytes = 1 << 28,
                           .dim_sum = 64,
                           .slices = 1,
                           .memory = {100, 20, 3},
                           .reserved_bytes = 1 << 29,
                           .free_bytes = 5},
                          {.compute_ms = 1.5,
                           .forward_ms = 0.5,
                           .backward_ms = 0.25,
                           .memory_bytes = 268499456,
                           .dim_sum = 80,
                           .slices = 2,
                           .memory = {200, 40, 6},
                           .reserved_bytes = 1 << 29,
                           .free_bytes = -5}};
  planned.cost.cost_ms = 3.25;
  planned.cost.fits_memory = true;
  planned.stats = {.backend = "scalar",
                   .warning = "",
                   .search_ms = 0.5,
                   .candidates = 12,
                   .placements = 132,
                   .edits = 7,
                   .head_evaluations = 90,
                   .comm_evaluations = 24};
  return planned;
}

std::string document_of(const Planned& planned) {
  return plan_to_json({.task = planned.task,
                       .plan = planned.plan,
                       .cost = planned.cost,
                       .stats = planned.stats,
                       .task_name = "toy",
                       .weights = "built-in",
                       .notes = {"one", "two"}});
}

TEST(PlanWriter, WritesWhatTheDocumentationShows) {
  const auto json = nlohmann::json::parse(document_of(small_plan()));
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "format": "neuroshard.plan", "version": 1,
    "task": {"name": "toy", "tables": 2, "size_gb": 0.50005960464477539, "devices": 2,
             "memory_gb": 4.0, "reserved_gb": 0.5},
    "weights": "built-in", "notes": ["one", "two"], "cost_ms": 3.25, "fits_memory": true,
    "search": {"backend": "scalar", "search_ms": 0.5, "candidates": 12, "placements": 132,
               "edits": 7, "head_evaluations": 90, "comm_evaluations": 24, "complete": true},
    "column_splits": [0],
    "devices": [
      {"device": 0,
       "cost": {"total_ms": 3.25, "compute_ms": 2.0, "forward_ms": 0.75, "backward_ms": 0.5,
                "wait_ms": 0.0},
       "memory_gb": 0.25,
       "memory": {"weight_bytes": 100, "optimizer_bytes": 20, "buffer_bytes": 3,
                  "reserved_bytes": 536870912, "free_bytes": 5},
       "dim_sum": 64,
       "shard": [{"slice": 2, "table": 0, "name": "user \"x\"", "first_column": 64, "dim": 64,
                  "size_bytes": 268435456}]},
      {"device": 1,
       "cost": {"total_ms": 2.25, "compute_ms": 1.5, "forward_ms": 0.5, "backward_ms": 0.25,
                "wait_ms": 0.5},
       "memory_gb": 0.25005960464477539,
       "memory": {"weight_bytes": 200, "optimizer_bytes": 40, "buffer_bytes": 6,
                  "reserved_bytes": 536870912, "free_bytes": -5},
       "dim_sum": 80,
       "shard": [{"slice": 1, "table": 1, "first_column": 0, "dim": 16, "size_bytes": 64000},
                 {"slice": 0, "table": 0, "name": "user \"x\"", "first_column": 0, "dim": 64,
                  "size_bytes": 268435456}]}]})"));
}

TEST(PlanWriter, SaysWhatIsHiddenAndThatTheHostDecides) {
  Planned planned = small_plan();
  for (const char* field : {"dense_ms", "hidden_ms", "set_by"}) {
    EXPECT_EQ(document_of(planned).find(field), std::string::npos);
  }
  planned.cost.devices[0].ids_ms = planned.cost.devices[0].hidden_ms = 0.25;
  for (DeviceCost& device : planned.cost.devices) device.dense_ms = 1.0;
  planned.cost.cost_ms = planned.cost.host_ms = 7.0;
  const auto json = nlohmann::json::parse(document_of(planned));
  EXPECT_EQ(json["set_by"], "host");
  EXPECT_EQ(json["devices"][0]["cost"], nlohmann::json::parse(R"({"total_ms": 4.25,
      "compute_ms": 2.0, "forward_ms": 0.75, "backward_ms": 0.5, "ids_ms": 0.25, "dense_ms": 1.0,
      "wait_ms": 0.0, "hidden_ms": 0.25})"));
  EXPECT_FALSE(json["devices"][1]["cost"].contains("hidden_ms"));
}

TEST(PlanWriter, IsReadBack) {
  const Planned planned = small_plan();
  const auto records = parse_plans(document_of(planned), "p.json");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(plan_for(records[0], planned.task), planned.plan);
  EXPECT_EQ(records[0].cost_ms, 3.25);
  EXPECT_FALSE(records[0].task.has_value());
}

TEST(PlanWriter, WritesALineThatIsReadBack) {
  const Planned planned = small_plan();
  PlanResult result;
  result.plan = planned.plan;
  result.cost = planned.cost;
  result.stats = planned.stats;
  const std::string line = plan_to_json_line(7, planned.task, result);
  EXPECT_EQ(
      line,
      R"({"task":7,"tables":2,"steps":[0],"shards":[[2],[1,0]],"cost":3.25,"search_ms":0.5})");
  const std::string given = plan_to_json_line(8, planned.task, planned.plan, planned.cost);
  const auto records = parse_plans(line + "\n" + given + "\n", "p.jsonl");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].task, 7);
  EXPECT_EQ(records[1].task, 8);
  for (const PlanRecord& record : records) {
    EXPECT_EQ(plan_for(record, planned.task), planned.plan);
    EXPECT_EQ(record.cost_ms, 3.25);
  }
}

TEST(PlanWriter, WritesWhyThereIsNoPlan) {
  PlanResult result;
  result.infeasible = Infeasibility{};
  result.infeasible->kind = Infeasibility::Kind::kPieceTooLarge;
  result.infeasible->message = "table 3 \xff";  // A byte that is not UTF-8.
  const std::string line = plan_to_json_line(1, small_plan().task, result);
  EXPECT_EQ(line,
            "{\"task\":1,\"error\":{\"kind\":\"piece_too_large\",\"message\":\"table 3 "
            "\xef\xbf\xbd\"}}");
  EXPECT_FALSE(parse_plans(line, "p.jsonl")[0].plan.has_value());
}

TEST(PlanWriter, EveryPlanOfTheSearchIsReadBack) {
  const Planner planner(testing::random_models(1));
  int plans = 0;
  for (const std::uint64_t seed : testing::Seeds(30)) {
    const Task task = testing::random_task(seed);
    const PlanResult result = planner.plan(task);
    if (!result.plan) continue;
    const std::string json = plan_to_json(
        {.task = task, .plan = *result.plan, .cost = result.cost, .stats = result.stats});
    EXPECT_EQ(plan_for(parse_plans(json, "p.json")[0], task), *result.plan);
    ++plans;
  }
  EXPECT_GT(plans, 10);
}

/// The first table in 48, 32 and 48 columns, the last of which are in two row blocks.
Planned grid_plan() {
  Planned planned = small_plan();
  planned.plan = {{{0, 0, 48, 0, 1 << 20},
                   {0, 48, 32, 0, 1 << 20},
                   {0, 80, 48, 0, 1000},
                   {0, 80, 48, 1000, (1 << 20) - 1000},
                   {1, 0, 16, 0, 1000}},
                  {{3, 0}, {1, 4, 2}}};
  return planned;
}

TEST(PlanWriter, WritesVersion2OfWhatNoColumnSplitsMake) {
  const auto json = nlohmann::json::parse(document_of(grid_plan()));
  EXPECT_EQ(json["version"], 2);
  EXPECT_FALSE(json.contains("column_splits"));
  EXPECT_EQ(json["devices"][0]["shard"], nlohmann::json::parse(R"([
    {"slice": 3, "table": 0, "name": "user \"x\"", "first_column": 80, "dim": 48,
     "first_row": 1000, "rows": 1047576, "size_bytes": 201134592},
    {"slice": 0, "table": 0, "name": "user \"x\"", "first_column": 0, "dim": 48,
     "first_row": 0, "rows": 1048576, "size_bytes": 201326592}])"));
  EXPECT_EQ(plan_to_json_line(3, grid_plan().task, grid_plan().plan, grid_plan().cost),
            R"({"task":3,"tables":2,"slices":[[0,0,48,0,1048576],[0,48,32,0,1048576],)"
            R"([0,80,48,0,1000],[0,80,48,1000,1047576],[1,0,16,0,1000]],)"
            R"("shards":[[3,0],[1,4,2]],"cost":3.25,"fits_memory":true})");
}

TEST(PlanWriter, Version2IsReadBack) {
  const Planned planned = grid_plan();
  const std::string line = plan_to_json_line(0, planned.task, planned.plan, planned.cost);
  for (const std::string& text : {document_of(planned), line}) {
    const auto records = parse_plans(text, "p.json");
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(plan_for(records[0], planned.task), planned.plan);
    EXPECT_EQ(records[0].shards(), planned.plan.shards);
    EXPECT_EQ(records[0].cost_ms, 3.25);
  }
}

/// The first table whole, the second on both devices.
Planned replicated_plan() {
  Planned planned = small_plan();
  planned.plan = {{{0, 0, 128, 0, 1 << 20}}, {{}, {0}}, {1}};
  for (DeviceCost& device : planned.cost.devices) {
    device.ids_ms = 0.125;
    device.replicas_ms = 0.25;
    device.all_reduce_ms = 0.5;
  }
  return planned;
}

TEST(PlanWriter, ReplicasAreWrittenAndReadBack) {
  const Planned planned = replicated_plan();
  const auto json = nlohmann::json::parse(document_of(planned));
  EXPECT_EQ(json["version"], 2);
  EXPECT_EQ(json["replicas"], nlohmann::json::parse("[1]"));
  EXPECT_EQ(json["devices"][0]["cost"]["ids_ms"], 0.125);
  EXPECT_EQ(json["devices"][0]["cost"]["replicas_ms"], 0.25);
  EXPECT_EQ(json["devices"][0]["cost"]["all_reduce_ms"], 0.5);
  const std::string line = plan_to_json_line(0, planned.task, planned.plan, planned.cost);
  EXPECT_EQ(nlohmann::json::parse(line)["replicas"], nlohmann::json::parse("[1]"));
  for (const std::string& text : {document_of(planned), line}) {
    const auto records = parse_plans(text, "p.json");
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(plan_for(records[0], planned.task), planned.plan);
  }
}

TEST(PlanReader, ReplicasNeedSlices) {
  EXPECT_EQ(message_of([] {
              (void)parse_plans(R"({"steps": [], "shards": [[0], []], "replicas": [1]})", "p.txt");
            }),
            "p.txt: line 1: has replicas but no slices; give both");
}

// Slices that column splits do make, but not in this order.
TEST(PlanWriter, WritesVersion1WhereverItCan) {
  Planned planned = small_plan();
  planned.plan = {{{1, 0, 16, 0, 1000}, {0, 64, 64, 0, 1 << 20}, {0, 0, 64, 0, 1 << 20}},
                  {{1}, {0, 2}}};
  EXPECT_EQ(document_of(planned), document_of(small_plan()));
}

TEST(PlanWriter, AlternativesHaveSplitsOrSlices) {
  const Planned planned = small_plan();
  const std::string text = plan_to_json(
      {.task = planned.task,
       .plan = planned.plan,
       .cost = planned.cost,
       .alternatives = {{grid_plan().plan, planned.cost}, {planned.plan, planned.cost}}});
  const auto others = nlohmann::json::parse(text)["alternatives"];
  EXPECT_EQ(others[0]["slices"].size(), 5U);
  EXPECT_EQ(others[0]["slices"][2], nlohmann::json::parse("[0, 80, 48, 0, 1000]"));
  EXPECT_EQ(others[1]["column_splits"], nlohmann::json::parse("[0]"));
}

TEST(PlanReader, RejectsDamagedDocumentsOfVersion2) {
  using Json = nlohmann::json;
  const auto error_with = [](const auto& change) {
    auto json = Json::parse(document_of(grid_plan()));
    change(json);
    return message_of(
        [&] { (void)plan_for(parse_plans(json.dump(1), "p.json").at(0), grid_plan().task); });
  };
  const auto slice = [](Json& j, int device, int entry) -> Json& {
    return j["devices"][device]["shard"][entry];
  };
  EXPECT_THAT(error_with([&](Json& j) { slice(j, 0, 1).erase("rows"); }),
              HasSubstr("p.json: device 0: shard: entry 1: the field 'rows' is missing"));
  EXPECT_THAT(error_with([](Json& j) { j["column_splits"] = Json::array(); }),
              HasSubstr("unknown field 'column_splits'"));
  EXPECT_THAT(error_with([](Json& j) { j["version"] = 1; }), HasSubstr("'column_splits' is miss"));
  EXPECT_EQ(error_with([&](Json& j) { slice(j, 0, 0)["slice"] = 2147483646; }),
            "p.json: devices: no slice has index 3, but there is one with 4; number the slices 0, "
            "1, ...");
  EXPECT_EQ(error_with([&](Json& j) { slice(j, 0, 0)["slice"] = 0; }),
            "p.json: devices: two different slices have index 0; number the slices 0, 1, ...");
  EXPECT_THAT(error_with([&](Json& j) { j["devices"][0]["shard"].push_back(slice(j, 1, 0)); }),
              HasSubstr("p.json: shard 1: slice 1 is already in shard 0; place each slice once"));
  EXPECT_THAT(error_with([&](Json& j) { slice(j, 0, 0)["first_row"] = 999; }),
              HasSubstr("overlaps slice"));
  EXPECT_THAT(error_with([&](Json& j) { slice(j, 0, 0)["rows"] = 0; }),
              HasSubstr("slice 3 has 0 rows; cut table 0 into at most 1048576 row blocks"));
  EXPECT_THAT(error_with([&](Json& j) { slice(j, 1, 0)["dim"] = 28; }),
              HasSubstr("columns 76 to 79 of table 0 are in no slice"));
  EXPECT_THAT(error_with([&](Json& j) { slice(j, 0, 0)["rows"] = std::int64_t{1} << 41; }),
              HasSubstr("rows is 2199023255552"));
  EXPECT_THAT(error_with([](Json& j) { j["task"]["tables"] = 3; }),
              HasSubstr("is a plan for 3 tables; the task has 2"));
}

TEST(PlanReader, RejectsADocumentOfAnotherTask) {
  const Planned planned = small_plan();
  Task other = planned.task;
  other.tables[0].dim = 64;
  EXPECT_EQ(
      message_of([&] { (void)plan_for(parse_plans(document_of(planned), "p.json")[0], other); }),
      "p.json: slice 0 is said to be columns 0 to 63 of table 0, but for this task it is "
      "columns 0 to 31 of table 0; give the task that the plan was made for (and 1 more problem)");
}

TEST(PlanReader, RejectsDamagedDocuments) {
  const auto error_with = [](const auto& change) {
    auto json = nlohmann::json::parse(document_of(small_plan()));
    change(json);
    return message_of(
        [&] { (void)plan_for(parse_plans(json.dump(1), "p.json").at(0), small_plan().task); });
  };
  using Json = nlohmann::json;
  EXPECT_THAT(error_with([](Json& j) { j["version"] = 3; }), HasSubstr("version is 3"));
  EXPECT_THAT(error_with([](Json& j) { j.erase("column_splits"); }), HasSubstr("is missing"));
  EXPECT_THAT(error_with([](Json& j) { j["extra"] = 1; }), HasSubstr("unknown field 'extra'"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"][1]["device"] = 0; }),
              HasSubstr("p.json: devices: entry 1 is device 0; list all devices in order"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"][0]["shard"] = "x"; }),
              HasSubstr("p.json: device 0: shard is \"x\"; give an array"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"][1]["shard"][0]["slice"] = 3; }),
              HasSubstr("p.json: shard 1: there is no slice 3"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"][1]["shard"][0]["slice"] = 2; }),
              HasSubstr("p.json: slice 2 is said to be columns 0 to 15 of table 1"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"][1]["shard"].erase(0); }),
              HasSubstr("slice 1 is on no device; place each slice once"));
  EXPECT_THAT(error_with([](Json& j) { j["devices"].erase(1); }),
              HasSubstr("is a plan of 1 device for a task of 2"));
  EXPECT_THAT(error_with([](Json& j) { j["cost_ms"] = "x"; }), HasSubstr("cost_ms is \"x\""));
}

class DamagedPlans : public ::testing::TestWithParam<bool> {};

TEST_P(DamagedPlans, AreSurvived) {
  const std::string good = document_of(GetParam() ? grid_plan() : small_plan());
  for (std::size_t i = 0; i + 2 < good.size(); ++i) {
    (void)message_of([&] { (void)parse_plans(good.substr(0, i), "p.json"); });
    for (const char byte : {'\0', '"', '}', '9', '-', '\xff'}) {
      std::string bad = good;
      bad[i] = byte;
      try {
        (void)plan_for(parse_plans(bad, "p.json").at(0), small_plan().task);
      } catch (const Error&) {
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PlanReader, DamagedPlans, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Version2" : "Version1"; });

}  // namespace
}  // namespace neuroshard
