#include "neuroshard/table_configs.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "neuroshard/error.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"
#include "weights/files/table_reader.h"

namespace neuroshard {

TableConfigs parse_table_configs(std::string_view json, const std::string& where) {
  const JsonDocument document = parse_json(json, where);
  JsonArray list;
  if (document.root().get(list) != simdjson::SUCCESS) {
    throw Error(where + ": is not a list of tables, [{...}, ...]");
  }
  TableConfigs configs;
  TableReader reader;
  configs.tables.reserve(list.size());
  JsonObject object([&] { return where + ": table " + std::to_string(configs.tables.size()); });
  for (const JsonValue entry : list) {
    object.reset(entry);
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

std::string serialize_table_configs(std::span<const Table> tables, bool with_dim) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Table& table : tables) {
    nlohmann::ordered_json entry;
    entry["row"] = table.rows;
    entry["pooling_factor"] = table.pooling_factor;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      entry["bin_" + std::to_string(bin)] = table.access_histogram[bin];
    }
    if (with_dim) entry["dim"] = table.dim;
    // What a task would say of all its tables: readers of the published format know neither.
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
    list.push_back(std::move(entry));
  }
  return list.dump() + '\n';
}

}  // namespace neuroshard
