// docs/task.schema.json and docs/plan.schema.json say what the readers take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "golden.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/task_file.h"
#include "search/json_schema.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

using ::testing::AnyOf;
using testing::golden_path;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;
using testing::JsonSchema;
using ::testing::Not;
using Json = nlohmann::json;

std::filesystem::path file_of_repository(const std::string& path) {
  return std::filesystem::path(NEUROSHARD_TEST_DATA) / "../.." / path;
}

JsonSchema schema_of_format(const std::string& name) {
  return JsonSchema(Json::parse(read_file(file_of_repository("docs/" + name + ".schema.json"))));
}

/// These have all fields of the schema together.
const std::vector<const char*> kSchemaTasks = {
    R"({"format": "neuroshard.task", "version": 1, "name": "all", "source": ["a", "b"], "notes": "c",
        "devices": [{"count": 4, "base_ms": 1.5}, {"class": "large", "memory_gb": 80, "speed": 2,
                     "base_gb": 1}],
        "classes": {"large": {"memory_gb": 60, "base_ms": 2, "base_gb": 3, "speed": 0.5}},
        "memory_gb": 40, "reserved_gb": 1, "reserved_share": 0.1, "weight_type": "fp16",
        "optimizer": "adam", "batch_size": 65536, "devices_per_node": 1,
        "links": {"in_node_gb_s": 300, "between_nodes_gb_s": 25, "node_gb_s": 50, "peer_gb_s": 64,
                  "host_gb_s": 72, "levels": [{"devices": 8, "gb_s": 12.5}]},
        "exchange": {"forward": "fp16", "backward": "bf16", "ids": "int32", "forward_share": 0.5,
                     "backward_share": 0.5, "deduplicate_ids": true, "deduplicate_by_table": true,
                     "hot_rows": true, "hot_rows_by_node": true},
        "overlap": {"ids": true, "dense_ms": 3, "dense_beside_outputs_ms": 1,
                    "dense_beside_gradients_ms": 1, "host_ms": 7},
        "hardware": "h100", "zipf_exponent": 1.1,
        "tables": [
          {"name": "a", "row": 1000, "dim": 64, "pooling_factor": 3, "features": 2,
           "pooling": "mean", "weighted": true, "zipf_exponent": 1,
           "row_shares": [0.75, 0.25], "popularity": [[10, 0.5], [1000, 1]],
           "replica_gradients": "touched", "weight_type": "int8", "optimizer": "sgd",
           "rules": {"no_split": true, "min_width": 8, "max_slices": 4, "devices": [0, 1],
                     "not_devices": [2], "nodes": [0], "not_nodes": [1], "kinds": ["table"],
                     "keep_in_hbm": true}},
          {"name": "b", "row": 1000, "dim": 32, "features": [
             {"pooling_factor": 1}, {"pooling_factor": 2, "batch_share": 0.5}],
           "popularity": {"zipf_exponent": 1.2}},
          {"row": 100000, "dim": 4, "pooling_factor": 1, "bin_0": 0.5, "bin_1": 0.5, "bin_2": 0,
           "bin_3": 0, "bin_4": 0, "bin_5": 0, "bin_6": 0, "bin_7": 0, "bin_8": 0, "bin_9": 0,
           "bin_10": 0, "bin_11": 0, "bin_12": 0, "bin_13": 0, "bin_14": 0, "bin_15": 0,
           "bin_16": 0, "bin_batch_size": 4096}],
        "groups": [{"name": "g", "keep": "together", "tables": ["a", 2]},
                   {"keep": "apart", "tables": ["a", "b"]}]})",
    R"({"format": "neuroshard.task", "version": 1, "source": "a", "memory_gb": 0.5,
        "devices": [{}, {"class": "b", "ssd_gb": 4, "ssd_gb_s": 2}],
        "classes": {"b": {"host_gb": 3, "host_link_gb_s": 50, "ssd_gb": 5, "ssd_gb_s": 2.5}},
        "hardware": {"name": "next", "memory_gb_s": 13000, "l2_mib": 192, "multiprocessors": 200,
                     "clock_ghz": 2.1, "devices_per_node": 8, "in_node_gb_s": 1800,
                     "between_nodes_gb_s": 100, "node_gb_s": 400, "peer_gb_s": 200,
                     "host_gb_s": 72},
        "host_memory": {"gb": 2, "link_gb_s": 25, "policy": "static", "prefetch": true,
                        "ssd_gb": 3, "ssd_gb_s": 1.5},
        "tables": [{"row": 5, "dim": 8, "pooling_factor": 1, "pooling": "none",
                    "rules": {"hbm_share": 0.25}}]})",
    R"({"format": "neuroshard.task", "version": 1, "memory_gb": 0.5,
        "devices": [{"host_gb": 3, "host_link_gb_s": 50}],
        "host_memory": {"node_gb": 2, "link_gb_s": 25},
        "tables": [{"row": 5, "dim": 8, "pooling_factor": 1}]})"};

/// These do so for plans of task_of_schema_plans().
const std::vector<const char*> kSchemaPlans = {
    R"({"format": "neuroshard.plan", "version": 1,
        "task": {"name": "toy", "tables": 2, "size_gb": 0.5, "devices": 2, "memory_gb": 4.0,
                 "reserved_gb": 1.0},
        "weights": "built-in", "notes": ["a note"], "cost_ms": 7.0, "set_by": "host",
        "fits_memory": true,
        "search": {"backend": "avx2", "complete": true, "search_ms": 0.4, "read_ms": 0.1,
                   "candidates": 12, "placements": 132, "edits": 700, "head_evaluations": 90,
                   "comm_evaluations": 24, "warning": "a GPU failed"},
        "column_splits": [0],
        "devices": [
          {"device": 0, "memory_gb": 0.25, "of_memory_gb": 40.0, "base_ms": 1.0, "speed": 1.0,
           "dim_sum": 8,
           "cost": {"total_ms": 3.25, "compute_ms": 2.0, "forward_ms": 0.75, "backward_ms": 0.5,
                    "ids_ms": 0.1, "all_reduce_ms": 0.1, "dense_ms": 0.1, "wait_ms": 0.0,
                    "hidden_ms": 0.1, "fetch_ms": 0.1, "ssd_ms": 0.1, "hidden_fetch_ms": 0.1,
                    "replicas_ms": 0.1},
           "memory": {"weight_bytes": 3200, "optimizer_bytes": 0, "buffer_bytes": 0,
                      "reserved_bytes": 0, "base_bytes": 0, "host_bytes": 0, "ssd_bytes": 0,
                      "free_bytes": -1},
           "shard": [{"slice": 0, "table": 0, "name": "user", "first_column": 0, "dim": 8,
                      "size_bytes": 3200, "hbm_share": 1.0, "ssd_share": 0.0}]},
          {"device": 1, "shard": [{"slice": 1, "table": 1, "first_column": 0, "dim": 8},
                                  {"slice": 2, "table": 0, "first_column": 8, "dim": 8}]}],
        "alternatives": [
          {"cost_ms": 8.0, "column_splits": [], "shards": [[0], [1]]},
          {"cost_ms": 9.0, "slices": [[0, 0, 16, 0, 90]], "shards": [[0], []], "replicas": [1],
           "deduplicated": [0], "hot_rows": [[0, 10]]}],
        "replan": {"running_cost_ms": 9.0, "must_move_bytes": 0, "moved_bytes": 3200,
                   "unspent_bytes": 100},
        "moves": [{"table": 0, "name": "user", "first_column": 8, "dim": 8, "first_row": 0,
                   "rows": 100, "from": 0, "to": 1, "bytes": 3200}]})",
    R"({"format": "neuroshard.plan", "version": 2, "replicas": [1], "deduplicated": [0],
        "hot_rows": [[0, 10]],
        "devices": [
          {"device": 0, "shard": [{"slice": 1, "table": 0, "name": "user", "first_column": 0,
                                   "dim": 16, "first_row": 40, "rows": 50, "size_bytes": 3200,
                                   "hbm_share": 0.5, "ssd_share": 0.5}]},
          {"device": 1, "shard": [{"slice": 0, "table": 0, "first_column": 0, "dim": 16,
                                   "first_row": 0, "rows": 40}]}]})",
    R"({"format": "neuroshard.plan", "version": 1, "task": {"tables": 2},
        "error": {"kind": "packing", "message": "a reason", "needed_bytes": 5, "table": 0,
                  "available_bytes": 4, "largest_piece_bytes": 3}})",
    R"({"task": 0, "tables": 2, "steps": [0], "shards": [[0, 2], [1]], "cost": 3.25,
        "search_ms": 0.4, "complete": false, "warning": "doubtful"})",
    R"({"task": 0, "tables": 2, "slices": [[0, 0, 16, 0, 90]], "shards": [[0], []],
        "replicas": [1], "deduplicated": [0], "hot_rows": [[0, 10, 0]], "cost": 3.25, "fits_memory": true})",
    R"({"task": 0, "error": {"kind": "invalid_task", "message": "a reason"}})",
    R"({"task": 0, "shards": null, "cost": null, "seconds": 0.5, "heads": 3})",
    R"({"task": 0, "error": "a reason"})"};

Task task_of_schema_plans() {
  Task task{.tables = {{"user", 100, 16, 1.0, {}}, {"", 200, 8, 2.0, {}}},
            .devices = 2,
            .memory_bytes = 1 << 20};
  task.exchange.deduplicate_by_table = true;
  task.exchange.hot_rows = true;
  return task;
}

/// The message of an error; empty if there is none.
template <typename Read>
std::string error_of_reading(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string problem_of_task(const Json& document) {
  return error_of_reading([&] {
    const TaskFile file = parse_task(document.dump(), "a.json");
    if (file.devices && (file.memory_bytes || !file.device_list.empty())) validate(task_of(file));
  });
}

std::string problem_of_plan(const Json& document) {
  return error_of_reading([&] {
    for (const PlanRecord& record : parse_plans(document.dump(), "a.json")) {
      if (record.plan) (void)plan_for(record, task_of_schema_plans());
    }
  });
}

struct SchemaFormat {
  const char* name;
  const std::vector<const char*>* documents;
  std::string (*problem)(const Json&);
};

class FileSchemas : public ::testing::TestWithParam<SchemaFormat> {
 protected:
  /// `spoilt`: a document that neither schema nor reader may accept.
  void expect_refused(const Json& spoilt, const std::string& why) const {
    EXPECT_TRUE(schema.problem_of(spoilt)) << why << " is valid by the schema";
    EXPECT_THAT(GetParam().problem(spoilt), Not(IsEmpty())) << why << " is read";
  }
  /// Calls `visit` with each document and what the schema says of each part that is read.
  template <typename Visit>
  void for_each_match(const Visit& visit) const {
    for (const char* text : *GetParam().documents) {
      const Json document = Json::parse(text);
      for (const JsonSchema::Match& match : schema.matches(document)) {
        SCOPED_TRACE(match.place.to_string() + " of " + document.dump());
        if (match.read) visit(document, match.place, *match.schema);
      }
    }
  }

  const JsonSchema schema = schema_of_format(GetParam().name);
};

Json with_value(Json document, const Json::json_pointer& place, Json value) {
  document[place] = std::move(value);
  return document;
}

TEST_P(FileSchemas, TakeWhatReadersTake) {
  for (const char* text : *GetParam().documents) {
    SCOPED_TRACE(text);
    EXPECT_EQ(schema.problem_of(Json::parse(text)), std::nullopt);
    EXPECT_THAT(GetParam().problem(Json::parse(text)), IsEmpty());
  }
}

TEST_P(FileSchemas, HaveNoFieldThatIsNotTriedHere) {
  std::set<const Json*> tried;
  for (const char* text : *GetParam().documents) {
    for (const JsonSchema::Match& match : schema.matches(Json::parse(text))) {
      tried.insert(match.schema);
    }
  }
  for (const auto& [place, field] : schema.fields()) {
    // Documents and lines share fields, but each is tried once at least.
    const bool is_tried =
        std::ranges::any_of(schema.fields(), [&, name = place, field = field](const auto& other) {
          return tried.contains(other.second) && *other.second == *field &&
                 name.substr(name.rfind('/')) == other.first.substr(other.first.rfind('/'));
        });
    EXPECT_TRUE(is_tried) << place;
  }
}

TEST_P(FileSchemas, HaveAllFieldsThatReadersKnow) {
  int objects = 0;
  for_each_match([&](const Json& document, const Json::json_pointer& place, const Json& part) {
    if (!part.contains("properties") || part.value("additionalProperties", Json(true)) != false) {
      return;
    }
    ++objects;
    const Json spoilt = with_value(document, place / "zzz", 1);
    EXPECT_TRUE(schema.problem_of(spoilt));
    const std::string problem = GetParam().problem(spoilt);
    ASSERT_THAT(problem, HasSubstr("unknown field 'zzz'"));
    std::string list = problem.substr(problem.rfind("use one of: ") + 12);
    std::set<std::string> known;
    std::istringstream names(list);
    for (std::string name; std::getline(names >> std::ws, name, ',');) known.insert(name);
    std::set<std::string> stated;
    for (const auto& [name, field] : part["properties"].items()) stated.insert(name);
    EXPECT_THAT(stated, IsSubsetOf(known));
    // With these a plan has another form.
    for (const char* name :
         {"format", "error", "steps", "slices", "replicas", "deduplicated", "hot_rows"}) {
      if (std::string(GetParam().name) == "plan") known.erase(name), stated.erase(name);
    }
    EXPECT_EQ(known, stated);
  });
  EXPECT_GT(objects, 8);
}

TEST_P(FileSchemas, RefuseOtherTypes) {
  for_each_match([&](const Json& document, const Json::json_pointer& place, const Json& part) {
    if (!part.contains("type") && !part.contains("enum") && !part.contains("const")) return;
    // Errors of the published program are texts or numbers.
    if (!place.empty() && place.back() == "error") return;
    const bool is_flag = part.contains("type") && part["type"] == "boolean";
    expect_refused(with_value(document, place, is_flag ? Json(7) : Json(false)), "another type");
  });
}

TEST_P(FileSchemas, RefuseOtherNames) {
  for_each_match([&](const Json& document, const Json::json_pointer& place, const Json& part) {
    if (part.contains("enum")) expect_refused(with_value(document, place, "zzz"), "another name");
    if (part.contains("const")) {
      const bool number = part["const"].is_number();
      expect_refused(with_value(document, place, number ? Json(99) : Json("zzz")),
                     "another constant");
    }
  });
}

TEST_P(FileSchemas, RefuseObjectsThatLackAField) {
  for_each_match([&](const Json& document, const Json::json_pointer& place, const Json& part) {
    // The fields of a condition are no error by themselves.
    if (!part.contains("required") || !part.contains("properties")) return;
    for (const std::string name : part["required"]) {
      Json spoilt = document;
      spoilt[place].erase(name);
      expect_refused(spoilt, name + " is missing: it");
    }
  });
}

TEST_P(FileSchemas, HaveTheRangesOfReaders) {
  int bounds = 0;
  for_each_match([&](const Json& document, const Json::json_pointer& place, const Json& part) {
    const auto is_at = [&](const char* bound) { return part.contains(bound); };
    const auto with = [&](const Json& number) { return with_value(document, place, number); };
    const bool whole = part.contains("type") && part["type"] == "integer";
    const auto beyond = [&](const char* bound, double sign) {
      const double number = part[bound];
      return whole ? Json(number + sign) : Json(number + sign * (0.1 * std::abs(number) + 1e-9));
    };
    for (const char* bound : {"minimum", "maximum"}) {
      if (!is_at(bound)) continue;
      ++bounds;
      expect_refused(with(beyond(bound, bound[1] == 'i' ? -1.0 : 1.0)), bound);
      // Fields may be wrong together then.
      EXPECT_THAT(
          GetParam().problem(with(part[bound])),
          Not(AnyOf(HasSubstr("give a number between"), HasSubstr("give an integer between"))))
          << bound;
    }
    for (const char* bound : {"exclusiveMinimum", "exclusiveMaximum"}) {
      if (is_at(bound)) expect_refused(with(part[bound]), bound);
    }
    if (is_at("multipleOf")) expect_refused(with(document[place].get<int>() + 1), "multipleOf");
    if (is_at("minItems")) {
      Json spoilt = document;
      while (spoilt[place].size() >= part["minItems"])
        spoilt[place].erase(spoilt[place].size() - 1);
      expect_refused(spoilt, "minItems");
    }
    if (is_at("maxItems")) {
      Json spoilt = document;
      while (spoilt[place].size() <= part["maxItems"]) {
        spoilt[place].push_back(Json(spoilt[place].back()));
      }
      expect_refused(spoilt, "maxItems");
    }
  });
  EXPECT_GT(bounds, 10);
}

INSTANTIATE_TEST_SUITE_P(All, FileSchemas,
                         ::testing::Values(SchemaFormat{"task", &kSchemaTasks, problem_of_task},
                                           SchemaFormat{"plan", &kSchemaPlans, problem_of_plan}),
                         [](const auto& format) { return std::string(format.param.name); });

TEST(TaskSchema, TakesTheExamplesAndThePublishedModels) {
  const JsonSchema schema = schema_of_format("task");
  int files = 0;
  for (const char* folder : {"tools/examples", "bench/data/table_sets", "bench/data/measured"}) {
    for (const auto& entry : std::filesystem::directory_iterator(file_of_repository(folder))) {
      if (entry.path().extension() != ".json") continue;
      SCOPED_TRACE(entry.path());
      const Json task = Json::parse(read_file(entry.path()));
      EXPECT_EQ(schema.problem_of(task), std::nullopt);
      EXPECT_THAT(problem_of_task(task), IsEmpty());
      ++files;
    }
  }
  EXPECT_GT(files, 25);
}

TEST(PlanSchema, TakesThePlansOfThePublishedProgram) {
  const JsonSchema schema = schema_of_format("plan");
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("plans"))) {
    std::istringstream file(read_file(entry.path()));
    for (std::string line; std::getline(file, line); ++lines) {
      EXPECT_EQ(schema.problem_of(Json::parse(line)), std::nullopt) << entry.path();
    }
  }
  EXPECT_GT(lines, 50);
}

PlanCost cost_of_all_terms() {
  PlanCost cost;
  cost.devices.resize(2);
  for (DeviceCost& device : cost.devices) {
    device.compute_ms = 2.0;
    device.ids_ms = device.hidden_ms = device.all_reduce_ms = device.replicas_ms = 0.5;
    device.dense_ms = device.fetch_ms = device.hidden_fetch_ms = device.ssd_ms = 0.25;
    device.host_bytes = device.ssd_bytes = 1;
  }
  cost.cost_ms = cost.host_ms = 7.0;
  cost.fits_memory = true;
  cost.warning = "doubtful";
  return cost;
}

// Each field that plan_writer.cpp can write.
TEST(PlanSchema, TakesWhatIsWritten) {
  const JsonSchema schema = schema_of_format("plan");
  const auto expect_taken = [&](const std::string& text) {
    EXPECT_EQ(schema.problem_of(Json::parse(text)), std::nullopt) << text;
    EXPECT_THAT(problem_of_plan(Json::parse(text)), IsEmpty()) << text;
  };
  Task task = task_of_schema_plans();
  const Plan halved = plan_from_halvings(task, {{0}, {{2}, {1, 0}}});
  const Plan blocks{{{0, 0, 16, 0, 40}, {0, 0, 16, 40, 60}}, {{0}, {1}}, {1}};
  for (const Plan& plan : {halved, blocks}) {
    PlanDocument document{.task = task, .plan = plan, .cost = cost_of_all_terms()};
    document.task.reserved.bytes = 1 << 10;
    document.cost.hbm_shares.assign(plan.slices.size(), 0.5);
    document.stats = SearchStats{.backend = "scalar", .warning = "a GPU failed"};
    document.task_name = document.weights = "a";
    document.notes = {"b"};
    document.complete = false;
    document.alternatives = {{halved, cost_of_all_terms()}, {blocks, cost_of_all_terms()}};
    document.moves.emplace();
    document.moves->moves = {{.columns = {0, 0, 16}, .from = -1, .to = 1, .bytes = 3, .rows = 4},
                             {.columns = {1, 0, 8}, .from = 1, .to = 0, .bytes = 3, .rows = 4}};
    document.read_ms = 1.0;
    expect_taken(plan_to_json(document));
    document.task.device_list.resize(2);
    for (Device& device : document.task.device_list) device.memory_bytes = 1 << 20;
    expect_taken(plan_to_json(document));
    PlanResult result;
    result.plan = plan;
    result.cost = document.cost;
    result.complete = false;
    expect_taken(plan_to_json_line(0, task, result));
    expect_taken(plan_to_json_line(0, task, plan, document.cost));
  }
  const Infeasibility infeasible{.kind = Infeasibility::Kind::kPacking, .message = "c", .table = 1};
  expect_taken(plan_to_json(NoPlanDocument{.task = task, .infeasible = infeasible}));
  PlanResult none;
  expect_taken(plan_to_json_line(0, task, none));
  none.infeasible = infeasible;
  expect_taken(plan_to_json_line(0, task, none));
  expect_taken(error_to_json_line(0, Error("d")));
}

}  // namespace
}  // namespace neuroshard
