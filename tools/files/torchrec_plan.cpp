#include "tools/files/torchrec_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"
#include "weights/files/json_reader.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kGiveItsTask = "; give the task of the model that the plan is for";

/// "rank:3/cuda:3", or an object with a rank.
int rank_of(const JsonObject& shard) {
  const std::string place = shard.place("placement");
  if (shard.value("placement").is_object()) {
    return shard.object("placement").small_integer("rank", 0, kMaxDevices - 1);
  }
  const std::string text = shard.text("placement");
  std::string_view rank_text = std::string_view(text).substr(0, text.find('/'));
  constexpr std::string_view kRank = "rank:";
  rank_text.remove_prefix(rank_text.starts_with(kRank) ? kRank.size() : rank_text.size());
  const int rank = number_in<int>(rank_text).value_or(-1);
  if (rank < 0 || rank >= kMaxDevices) {
    throw Error(place + " is '" + printable(text.substr(0, 40)) +
                "'; give \"rank:R/cuda:D\" with a rank of 0 to " + std::to_string(kMaxDevices - 1));
  }
  return rank;
}

/// [rows, columns].
std::array<std::int64_t, 2> pair_of(const JsonObject& shard, const char* field) {
  std::array<std::int64_t, 2> pair{};
  const JsonArray list = shard.array(field);
  if (list.size() != pair.size()) {
    throw Error(shard.place(field) + " has " + std::to_string(list.size()) +
                " numbers; give [rows, columns]");
  }
  std::size_t i = 0;
  for (const JsonValue number : list) {
    const std::int64_t most = i == 0 ? kMaxRows : kMaxDim;
    pair[i++] = json_integer(number, shard.place(field), 0, most);
  }
  return pair;
}

class PlanOfTorchrec {
 public:
  explicit PlanOfTorchrec(const TaskFile& file) : most_(file.devices) {
    task_.tables = file.tables;
    for (std::size_t t = 0; t < file.tables.size(); ++t) {
      if (!file.tables[t].name.empty()) numbers_.emplace(file.tables[t].name, static_cast<int>(t));
    }
    task_.devices = most_.value_or(1);
    plan_.shards.resize(static_cast<std::size_t>(task_.devices));
    seen_.resize(file.tables.size());
  }

  void read(const JsonObject& modules) {
    for (const std::string_view path : modules.names()) {
      const JsonObject tables = modules.object(path);
      for (const std::string_view name : tables.names()) {
        const std::string full =
            path.empty() ? std::string(name) : std::string(path) + '.' + std::string(name);
        read_table(tables.object(name), number_of(full, name, tables));
      }
    }
    for (std::size_t t = 0; t < seen_.size(); ++t) {
      if (!seen_[t]) {
        throw Error(modules.where() + ": has no " + label(static_cast<int>(t)) + kGiveItsTask);
      }
    }
    std::ranges::sort(plan_.replicas);
    try {
      validate(plan_, task_);
    } catch (const Error& error) {
      throw Error(modules.where() + ": the shards make no plan of the task: " + error.what());
    }
  }

  [[nodiscard]] ConvertedPlan converted() const {
    nlohmann::ordered_json slices = nlohmann::ordered_json::array();
    for (const TableSlice& slice : plan_.slices) {
      slices.push_back({slice.table, slice.first_column, slice.dim, slice.first_row, slice.rows});
    }
    nlohmann::ordered_json line = {
        {"task", 0}, {"tables", task_.tables.size()}, {"slices", slices}, {"shards", plan_.shards}};
    if (!plan_.replicas.empty()) line["replicas"] = plan_.replicas;
    std::vector<std::string> notes;
    for (const auto& [kernel, tables] : on_host_) {
      notes.push_back(counted(tables, "table") + " with the compute kernel " + printable(kernel) +
                      ", which keeps rows in host memory, " + (tables == 1 ? "is" : "are") +
                      " taken to be in device memory");
    }
    return {line.dump() + '\n', std::move(notes)};
  }

 private:
  [[nodiscard]] std::string label(int table) const {
    const std::string& name = task_.tables[static_cast<std::size_t>(table)].name;
    return "table " + std::to_string(table) + (name.empty() ? "" : " '" + printable(name) + "'");
  }

  int number_of(const std::string& full, std::string_view name, const JsonObject& tables) {
    auto found = numbers_.find(full);
    if (found == numbers_.end()) found = numbers_.find(name);
    if (found == numbers_.end()) {
      throw Error(tables.place(name) + ": the task has no table '" + printable(full) + "', nor '" +
                  printable(std::string(name)) + "'" + kGiveItsTask);
    }
    const auto table = static_cast<std::size_t>(found->second);
    if (seen_[table]) {
      throw Error(tables.place(name) + " is " + label(found->second) +
                  " of the task, and so is one before; name tables of the task by their whole "
                  "paths, '" +
                  printable(full) + "'");
    }
    seen_[table] = true;
    return found->second;
  }

  void read_table(const JsonObject& sharding, int table) {
    const std::string type = sharding.text("sharding_type");
    if (sharding.has("compute_kernel")) {
      const std::string kernel = sharding.text("compute_kernel");
      if (kernel.find("uvm") != std::string::npos || kernel.starts_with("key_value") ||
          kernel.find("virtual_table") != std::string::npos) {
        ++on_host_[kernel];
      }
    }
    if (type == "data_parallel") {
      plan_.replicas.push_back(table);
      return;
    }
    if (!sharding.value("sharding_spec").is_object()) {
      throw Error(sharding.place("sharding_spec") + ": a table of the type '" + printable(type) +
                  "' needs shards; give {\"shards\": [...]}");
    }
    const JsonObject spec = sharding.object("sharding_spec");
    std::size_t number = 0;
    std::uint64_t values = 0;
    for (const JsonValue item : spec.array("shards")) {
      const JsonObject shard(item, spec.place("shards") + ": shard " + std::to_string(number++));
      const auto [first_row, first_column] = pair_of(shard, "shard_offsets");
      const auto [rows, columns] = pair_of(shard, "shard_sizes");
      const int device = rank_of(shard);
      // The last blocks of a table that its ranks do not divide.
      if (rows == 0) continue;
      require_device(shard, device);
      plan_.shards[static_cast<std::size_t>(device)].push_back(
          static_cast<int>(plan_.slices.size()));
      plan_.slices.push_back(
          {table, static_cast<int>(first_column), static_cast<int>(columns), first_row, rows});
      values += static_cast<std::uint64_t>(rows * columns);
    }
    const Table& whole = task_.tables[static_cast<std::size_t>(table)];
    if (values == static_cast<std::uint64_t>(whole.rows * whole.dim)) return;
    throw Error(spec.place("shards") + " of " + label(table) + " have " + std::to_string(values) +
                " values together; in the task it has " + std::to_string(whole.rows) + " rows of " +
                std::to_string(whole.dim) + " columns" + kGiveItsTask);
  }

  void require_device(const JsonObject& shard, int device) {
    if (device < task_.devices) return;
    if (most_) {
      throw Error(shard.place("placement") + " is rank " + std::to_string(device) +
                  ", but the task has " + counted(static_cast<std::uint64_t>(*most_), "device") +
                  "; give the task as many devices as the plan has ranks");
    }
    task_.devices = device + 1;
    plan_.shards.resize(static_cast<std::size_t>(device) + 1);
  }

  std::optional<int> most_;  ///< Devices, if the task states them.
  Task task_;
  Plan plan_;
  std::map<std::string, int, std::less<>> numbers_;
  std::vector<bool> seen_;
  std::map<std::string, std::uint64_t> on_host_;  ///< Tables by compute kernel.
};

}  // namespace

ConvertedPlan plan_of_torchrec(std::string_view json, const std::string& where,
                               const TaskFile& task) {
  const JsonDocument document = parse_json(json, where);
  const JsonObject file(document.root(), where);
  PlanOfTorchrec plan(task);
  plan.read(file.has("plan") ? file.object("plan") : file);
  return plan.converted();
}

}  // namespace neuroshard::tools
