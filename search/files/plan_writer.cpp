#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "neuroshard/plan_file.h"

namespace neuroshard {
namespace {

using Json = nlohmann::ordered_json;

/// Names may hold any bytes; what is not UTF-8 becomes U+FFFD.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Slices are most of a plan; they are written without building a Json of each.
void append(std::string& text, std::int64_t number) {
  std::array<char, 24> digits{};
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_quoted(std::string& text, std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {
    text.append("\"").append(name).append("\"");
  } else {
    text += dumped(name);
  }
}

std::int64_t total_bytes(const Task& task) {
  std::int64_t bytes = 0;
  for (const Table& table : task.tables) bytes += table.size_bytes();
  return bytes;
}

void append_slice(std::string& text, const Task& task, int index, const TableSlice& slice) {
  const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
  append(text += "{\"slice\":", index);
  append(text += ",\"table\":", slice.table);
  if (!table.name.empty()) append_quoted(text += ",\"name\":", table.name);
  append(text += ",\"first_column\":", slice.first_column);
  append(text += ",\"dim\":", slice.dim);
  append(text += ",\"size_bytes\":", slice_bytes(table, slice.dim));
  text += '}';
}

void append_device(std::string& text, const PlanDocument& document,
                   const std::vector<TableSlice>& slices, std::size_t device) {
  const std::vector<int>& shard = document.plan.shards[device];
  const DeviceCost& cost = document.cost.devices[device];
  const Json costs = {{"total_ms", cost.total_ms()},
                      {"compute_ms", cost.compute_ms},
                      {"forward_ms", cost.forward_ms},
                      {"backward_ms", cost.backward_ms}};
  append(text += "    {\n      \"device\": ", static_cast<std::int64_t>(device));
  text.append(",\n      \"cost\": ").append(dumped(costs));
  text.append(",\n      \"memory_gb\": ").append(dumped(gib_from_bytes(cost.memory_bytes)));
  append(text += ",\n      \"dim_sum\": ", cost.dim_sum);
  text += ",\n      \"shard\": [";
  const char* separator = "\n        ";
  for (std::size_t i = 0; i < shard.size(); ++i) {
    append_slice(text += separator, document.task, shard[i], slices[i]);
    separator = ",\n        ";
  }
  text += shard.empty() ? "]\n    }" : "\n      ]\n    }";
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

/// The fields of a document, each on a line of its own and with a comma behind it.
std::string lines_of(const Json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text.append("  ").append(dumped(key)).append(": ").append(dumped(value)).append(",\n");
  }
  return text;
}

}  // namespace

std::string plan_to_json(const PlanDocument& document) {
  const Task& task = document.task;
  const auto by_device = slices_by_device(task, document.plan);
  Json json = document_json(task, document.task_name, document.weights, document.notes);
  json["cost_ms"] = document.cost.cost_ms;
  json["fits_memory"] = document.cost.fits_memory;
  if (document.stats) json["search"] = search_json(*document.stats, document.complete);
  json["column_splits"] = document.plan.column_splits;
  std::string text = "{\n" + lines_of(json) + "  \"devices\": [\n";
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    if (device > 0) text += ",\n";
    append_device(text, document, by_device[device], device);
  }
  text += "\n  ]";
  const char* separator = ",\n  \"alternatives\": [\n    ";
  for (const CostedPlan& other : document.alternatives) {
    const Json plan = {{"cost_ms", other.cost.cost_ms},
                       {"column_splits", other.plan.column_splits},
                       {"shards", other.plan.shards}};
    text.append(separator).append(dumped(plan));
    separator = ",\n    ";
  }
  if (!document.alternatives.empty()) text += "\n  ]";
  return text + "\n}\n";
}

std::string plan_to_json(const NoPlanDocument& document) {
  Json json = document_json(document.task, document.task_name, document.weights, document.notes);
  Json error = error_json(document.infeasible);
  error["needed_bytes"] = document.infeasible.needed_bytes;
  error["available_bytes"] = document.infeasible.available_bytes;
  error["largest_piece_bytes"] = document.infeasible.largest_piece_bytes;
  if (document.infeasible.table >= 0) error["table"] = document.infeasible.table;
  std::string text = "{\n" + lines_of(json);
  return text.append("  \"error\": ").append(dumped(error)).append("\n}\n");
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
