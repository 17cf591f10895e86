#include <nlohmann/json.hpp>

#include "neuroshard/plan_file.h"

namespace neuroshard {
namespace {

using Json = nlohmann::ordered_json;

/// Names may hold any bytes; what is not UTF-8 becomes U+FFFD.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_flat(const Json& value) {
  for (const Json& item : value) {
    if (item.is_structured() && !item.empty()) return false;
  }
  return true;
}

/// Indented, but what holds no further object or array stays on its line.
void print(const Json& value, std::size_t depth, std::string& text) {
  if (!value.is_structured() || is_flat(value)) {
    text += dumped(value);
    return;
  }
  const auto new_line = [&](std::size_t levels) { text.append("\n").append(2 * levels, ' '); };
  text += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [key, item] : value.items()) {
    if (!first) text += ',';
    new_line(depth + 1);
    if (value.is_object()) text.append(dumped(key)).append(": ");
    print(item, depth + 1, text);
    first = false;
  }
  new_line(depth);
  text += value.is_object() ? '}' : ']';
}

std::int64_t total_bytes(const Task& task) {
  std::int64_t bytes = 0;
  for (const Table& table : task.tables) bytes += table.size_bytes();
  return bytes;
}

Json slice_json(const Task& task, int index, const TableSlice& slice) {
  const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
  Json json = {{"slice", index}, {"table", slice.table}};
  if (!table.name.empty()) json["name"] = table.name;
  json["first_column"] = slice.first_column;
  json["dim"] = slice.dim;
  json["size_bytes"] = table.rows * slice.dim * 4;
  return json;
}

Json device_json(const PlanDocument& document, const std::vector<TableSlice>& slices,
                 std::size_t device) {
  const DeviceCost& cost = document.cost.devices[device];
  Json shard = Json::array();
  for (const int index : document.plan.shards[device]) {
    shard.push_back(slice_json(document.task, index, slices[static_cast<std::size_t>(index)]));
  }
  return {{"device", device},
          {"cost",
           {{"total_ms", cost.total_ms()},
            {"compute_ms", cost.compute_ms},
            {"forward_ms", cost.forward_ms},
            {"backward_ms", cost.backward_ms}}},
          {"memory_gb", gib_from_bytes(cost.memory_bytes)},
          {"dim_sum", cost.dim_sum},
          {"shard", std::move(shard)}};
}

Json search_json(const SearchStats& stats, bool complete) {
  Json json = {{"backend", stats.backend},
               {"complete", complete},
               {"search_ms", stats.search_ms},
               {"candidates", stats.candidates},
               {"placements", stats.placements},
               {"edits", stats.edits},
               {"head_evaluations", stats.head_evaluations},
               {"comm_evaluations", stats.comm_evaluations}};
  if (!stats.warning.empty()) json["warning"] = stats.warning;
  return json;
}

Json line_json(int task_index, const Task& task, const Plan& plan, double cost_ms) {
  return {{"task", task_index},
          {"tables", task.tables.size()},
          {"steps", plan.column_splits},
          {"shards", plan.shards},
          {"cost", cost_ms}};
}

Json error_json(const std::string& kind, const std::string& message) {
  return {{"kind", kind}, {"message", message}};
}

Json error_json(const Infeasibility& infeasible) {
  return error_json(std::string(name_of(infeasible.kind)), infeasible.message);
}

/// What a document of either kind begins with.
Json document_json(const Task& task, const std::string& task_name, const std::string& weights,
                   const std::vector<std::string>& notes) {
  Json json = {{"format", "neuroshard.plan"}, {"version", 1}};
  Json& about = json["task"];
  if (!task_name.empty()) about["name"] = task_name;
  about["tables"] = task.tables.size();
  about["size_gb"] = gib_from_bytes(total_bytes(task));
  about["devices"] = task.devices;
  about["memory_gb"] = gib_from_bytes(task.memory_bytes);
  if (!weights.empty()) json["weights"] = weights;
  if (!notes.empty()) json["notes"] = notes;
  return json;
}

std::string printed(const Json& json) {
  std::string text;
  print(json, 0, text);
  return text + '\n';
}

}  // namespace

std::string plan_to_json(const PlanDocument& document) {
  const Task& task = document.task;
  const auto slices = split_columns(task, document.plan.column_splits);
  Json json = document_json(task, document.task_name, document.weights, document.notes);
  json["cost_ms"] = document.cost.cost_ms;
  json["fits_memory"] = document.cost.fits_memory;
  if (document.stats != nullptr) json["search"] = search_json(*document.stats, document.complete);
  json["column_splits"] = document.plan.column_splits;
  Json& devices = json["devices"] = Json::array();
  for (std::size_t device = 0; device < document.plan.shards.size(); ++device) {
    devices.push_back(device_json(document, slices, device));
  }
  for (const CostedPlan& other : document.alternatives) {
    json["alternatives"].push_back({{"cost_ms", other.cost.cost_ms},
                                    {"column_splits", other.plan.column_splits},
                                    {"shards", other.plan.shards}});
  }
  return printed(json);
}

std::string plan_to_json(const NoPlanDocument& document) {
  Json json = document_json(document.task, document.task_name, document.weights, document.notes);
  Json error = error_json(document.infeasible);
  error["needed_bytes"] = document.infeasible.needed_bytes;
  error["available_bytes"] = document.infeasible.available_bytes;
  error["largest_piece_bytes"] = document.infeasible.largest_piece_bytes;
  if (document.infeasible.table >= 0) error["table"] = document.infeasible.table;
  json["error"] = std::move(error);
  return printed(json);
}

std::string plan_to_json_line(int task_index, const Task& task, const PlanResult& result) {
  Json json;
  if (result.plan) {
    json = line_json(task_index, task, *result.plan, result.cost.cost_ms);
    json["search_ms"] = result.stats.search_ms;
    if (!result.complete) json["complete"] = false;
    if (!result.cost.warning.empty()) json["warning"] = result.cost.warning;
  } else {
    json = {{"task", task_index}};
    json["error"] =
        result.infeasible ? error_json(*result.infeasible) : error_json("none", "no plan");
  }
  return dumped(json);
}

std::string error_to_json_line(int task_index, const Error& error) {
  const bool invalid = error.kind() == ErrorKind::kInvalidInput;
  return dumped({{"task", task_index},
                 {"error", error_json(invalid ? "invalid_task" : "failed", error.what())}});
}

std::string plan_to_json_line(int task_index, const Task& task, const Plan& plan,
                              const PlanCost& cost) {
  Json json = line_json(task_index, task, plan, cost.cost_ms);
  json["fits_memory"] = cost.fits_memory;
  if (!cost.warning.empty()) json["warning"] = cost.warning;
  return dumped(json);
}

}  // namespace neuroshard
