#include "neuroshard/table_configs.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "neuroshard/error.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"
#include "weights/files/table_reader.h"

namespace neuroshard {
namespace {

/// NeuroShard's files are a list, those of DreamShard and AutoShard an object that has it.
JsonArray list_of_tables(JsonValue root, const std::string& where) {
  JsonArray list;
  if (root.get(list) == simdjson::SUCCESS) return list;
  if (!root.is_object()) {
    throw Error(where + ": is no list of tables; give [{...}, ...] or {\"tables\": [{...}, ...]}");
  }
  const JsonObject file(root, where);
  if (file.has("format")) {
    throw Error(file.stated("format") +
                "; a list of tables has none. If this is a task, give it with --task");
  }
  list = file.array("tables");
  file.reject_unknown_fields();
  return list;
}

/// Tasks name tables by their place in the list, whatever they say of it.
void check_index(const JsonObject& table, std::size_t place) {
  if (!table.has("index")) return;
  const std::int64_t index = table.integer("index", 0, std::numeric_limits<int>::max());
  if (std::cmp_equal(index, place)) return;
  throw Error(table.stated("index") + "; list tables in the order of their index, from 0 on");
}

}  // namespace

TableConfigs parse_table_configs(std::string_view json, const std::string& where) {
  const JsonDocument document = parse_json(json, where);
  const JsonArray list = list_of_tables(document.root(), where);
  TableConfigs configs;
  TableReader reader;
  configs.tables.reserve(list.size());
  JsonObject object([&] { return where + ": table " + std::to_string(configs.tables.size()); });
  for (const JsonValue entry : list) {
    object.reset(entry);
    check_index(object, configs.tables.size());
    TableReader::Result result = reader.read(object, TableReader::Dim::kOptional);
    if (result.derived_histogram) {
      configs.derived_histograms.push_back(static_cast<int>(configs.tables.size()));
    }
    configs.tables.push_back(std::move(result.table));
  }
  if (configs.tables.empty()) throw Error(where + ": lists no tables; give at least one");
  return configs;
}

TableConfigs load_table_configs(const std::filesystem::path& path) {
  return parse_table_configs(read_file(path, kMaxJsonBytes), path.string());
}

std::string serialize_table_configs(std::span<const Table> tables, bool with_dim,
                                    std::int64_t bin_batch_size) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Table& table : tables) {
    nlohmann::ordered_json entry;
    entry["row"] = table.rows;
    entry["pooling_factor"] = table.pooling_factor;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      entry["bin_" + std::to_string(bin)] = table.access_histogram[bin];
    }
    if (bin_batch_size != kDefaultBatchSize) entry["bin_batch_size"] = bin_batch_size;
    if (with_dim) entry["dim"] = table.dim;
    // A task would say these of all its tables: readers of the published format know neither.
    if (table.memory.weight_type != WeightType::kFp32) {
      entry["weight_type"] = name_of(table.memory.weight_type);
    }
    if (table.memory.optimizer != Optimizer::kSgd) {
      entry["optimizer"] = name_of(table.memory.optimizer);
    }
    if (!table.row_shares.empty()) entry["row_shares"] = table.row_shares;
    if (table.replica_gradients != ReplicaGradients::kDense) {
      entry["replica_gradients"] = name_of(table.replica_gradients);
    }
    if (table.features != 1.0) entry["features"] = table.features;
    if (table.pooling != Pooling::kSum) entry["pooling"] = name_of(table.pooling);
    if (table.weighted) entry["weighted"] = true;
    for (const auto& [rows, share] : table.popularity) entry["popularity"].push_back({rows, share});
    list.push_back(std::move(entry));
  }
  return list.dump() + '\n';
}

}  // namespace neuroshard
