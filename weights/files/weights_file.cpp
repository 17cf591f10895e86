#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "weights/files/atomic_file.h"
#include "weights/files/mlp_tensors.h"
#include "weights/files/read_file.h"
#include "weights/files/safetensors.h"

namespace neuroshard {
namespace {

const char* const kFormat = "neuroshard.weights";
// Version 2 has operator features, collectives, or prices of kinds of sharding.
const char* const kPublishedVersion = "1";
const char* const kVersion = "2";
const char* const kAllReduce = "all_reduce.lines";
const char* const kIds = "ids.lines";
const std::string kKindPrice = "kind_price.";
const char* const kSymmetric = "symmetric";

/// Metadata that the file format owns: written by serialize_weights, checked by parse_weights and
/// not part of CostModels::metadata. They pin down what the numbers mean.
std::map<std::string, std::string> format_metadata(const std::string& version, int table_features) {
  return {{"format", kFormat},
          {"version", version},
          {"table_features", joined(table_feature_names(table_features), ",")},
          {"cost_unit", "ms"}};
}

/// Metadata that a file that begins with `metadata` should have.
std::map<std::string, std::string> expected_metadata(
    const std::map<std::string, std::string>& metadata) {
  const auto is = [&](const char* key, const std::string& text) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->second == text;
  };
  const std::string version = is("version", kVersion) ? kVersion : kPublishedVersion;
  auto of_operators = format_metadata(version, kOperatorFeatures);
  const bool are = version == kVersion && is("table_features", of_operators.at("table_features"));
  return are ? of_operators : format_metadata(version, kTableFeatures);
}

std::optional<CollectiveModel> take_collective(TensorMap& tensors, const char* name,
                                               const std::string& where) {
  if (!tensors.contains(name)) return std::nullopt;
  constexpr std::size_t kNumbers = 3;  // Devices, ms, ms per GiB.
  const Tensor lines = take_tensor(tensors, name, 2, where);
  if (lines.shape[1] != static_cast<std::int64_t>(kNumbers)) {
    throw Error(where + ": tensor '" + name + "': has the shape " + shape_text(lines.shape) +
                "; expected 3 columns");
  }
  CollectiveModel model;
  for (std::size_t at = 0; at < lines.values.size(); at += kNumbers) {
    const float devices = lines.values[at];
    if (!(devices >= 1.0F && devices <= static_cast<float>(kMostDevicesOfModels)) ||
        devices != std::floor(devices)) {
      throw Error(where + ": tensor '" + name + "': has a line for " + std::to_string(devices) +
                  " devices; give whole numbers from 1 to " + std::to_string(kMostDevicesOfModels));
    }
    model.lines[static_cast<int>(devices)] = {lines.values[at + 1], lines.values[at + 2]};
  }
  return model;
}

void put_collective(TensorMap& tensors, const char* name, const CollectiveModel& model) {
  Tensor& tensor = tensors[name];
  tensor.shape = {static_cast<std::int64_t>(model.lines.size()), 3};
  for (const auto& [devices, line] : model.lines) {
    for (const double number : {static_cast<double>(devices), line.latency_ms, line.ms_per_gib}) {
      tensor.values.push_back(static_cast<float>(number));
    }
  }
}

std::vector<float> take_price(TensorMap& tensors, const std::string& name,
                              const std::string& where) {
  Tensor numbers = take_tensor(tensors, name, 1, where);
  if (numbers.values.size() != kShardAmounts) {
    throw Error(where + ": tensor '" + name + "': has the shape " + shape_text(numbers.shape) +
                "; expected " + std::to_string(kShardAmounts) + " numbers");
  }
  return std::move(numbers.values);
}

KindPrices take_kind_prices(TensorMap& tensors, const std::string& where) {
  KindPrices prices;
  for (const ShardingKind kind : all_sharding_kinds()) {
    const std::string name = kKindPrice + std::string(name_of(kind));
    if (!tensors.contains(name)) continue;
    std::ranges::copy(take_price(tensors, name, where), prices[kind].ms.begin());
  }
  return prices;
}

void put_kind_prices(TensorMap& tensors, const KindPrices& prices) {
  for (const auto& [kind, price] : prices) {
    std::vector<float> numbers;
    for (const double ms : price.ms) numbers.push_back(static_cast<float>(ms));
    put_vector(tensors, kKindPrice + std::string(name_of(kind)), numbers);
  }
}

Normalization take_normalization(TensorMap& tensors, const std::string& prefix,
                                 const std::string& where) {
  Normalization features;
  features.mean = take_tensor(tensors, prefix + ".features.mean", 1, where).values;
  features.std = take_tensor(tensors, prefix + ".features.std", 1, where).values;
  return features;
}

template <typename Network>
CommModel take_comm(TensorMap& tensors, const std::string& prefix, const std::string& where) {
  const auto take = [&](const std::string& name) {
    Network network;
    network.features = take_normalization(tensors, name, where);
    network.network = take_mlp(tensors, name, where);
    return network;
  };
  return {take(prefix + ".forward"), take(prefix + ".backward")};
}

/// The second part of every name that starts with "comm.": device counts and "symmetric".
std::set<std::string> comm_keys(const TensorMap& tensors) {
  std::set<std::string> keys;
  for (auto it = tensors.lower_bound("comm."); it != tensors.end(); ++it) {
    if (!it->first.starts_with("comm.")) break;
    const std::size_t start = std::string_view("comm.").size();
    keys.insert(it->first.substr(start, it->first.find('.', start) - start));
  }
  return keys;
}

int device_count(const std::string& key, const std::string& where) {
  const int devices = number_in<int>(key).value_or(0);
  // Only the usual spelling, so that no two names mean the same model.
  if (std::to_string(devices) != key || devices < 1 || devices > kMostDevicesOfModels) {
    throw Error(where + ": tensors 'comm." + key + ".*': '" + key +
                "' is neither a number of devices, 1 to " + std::to_string(kMostDevicesOfModels) +
                ", nor 'symmetric'");
  }
  return devices;
}

void put_normalization(TensorMap& tensors, const std::string& prefix,
                       const Normalization& features) {
  put_vector(tensors, prefix + ".features.mean", features.mean);
  put_vector(tensors, prefix + ".features.std", features.std);
}

void put_comm(TensorMap& tensors, const std::string& prefix, const CommModel& comm) {
  const auto put = [&](const std::string& name, const CommNetwork& network) {
    std::visit(
        [&](const auto& kind) {
          put_normalization(tensors, name, kind.features);
          put_mlp(tensors, name, kind.network);
        },
        network);
  };
  put(prefix + ".forward", comm.forward);
  put(prefix + ".backward", comm.backward);
}

/// Removes one key of `format_metadata`.
void take_metadata(std::map<std::string, std::string>& metadata, const std::string& key,
                   const std::string& expected, const std::string& where) {
  const auto node = metadata.extract(key);
  if (node.empty()) {
    throw Error(where + ": the metadata lack '" + key + "'; expected '" + expected +
                "'; is this a neuroshard weights file?");
  }
  if (node.mapped() != expected) {
    const std::string others = key == "version" ? "' and '" + std::string(kVersion) : "";
    const std::string remedy = key == "table_features" ? "; train the weights anew" : "";
    throw Error(where + ": the metadata's '" + key + "' is '" + node.mapped() +
                "'; this program reads '" + expected + others + "'" + remedy);
  }
}

}  // namespace

CostModels parse_weights(std::string_view bytes, const std::string& where) {
  Safetensors contents = parse_safetensors(bytes, where);
  const auto format = expected_metadata(contents.metadata);
  const std::string& version = format.at("version");
  for (const auto& [key, expected] : format) {
    take_metadata(contents.metadata, key, expected, where);
  }
  CostModels models;
  models.metadata = std::move(contents.metadata);
  TensorMap& tensors = contents.tensors;
  models.compute.features = take_normalization(tensors, "compute", where);
  models.compute.table_network = take_mlp(tensors, "compute.table_network", where);
  models.compute.head = take_mlp(tensors, "compute.head", where);
  for (const std::string& key : comm_keys(tensors)) {
    const std::string prefix = "comm." + key;
    if (key == kSymmetric) {
      models.symmetric_comm = take_comm<SymmetricCommNetwork>(tensors, prefix, where);
    } else {
      const int devices = device_count(key, where);
      models.dense_comm[devices] = take_comm<DenseCommNetwork>(tensors, prefix, where);
    }
  }
  if (version == kVersion) {
    models.all_reduce = take_collective(tensors, kAllReduce, where);
    models.ids = take_collective(tensors, kIds, where);
    models.kind_prices = take_kind_prices(tensors, where);
  }
  reject_leftovers(tensors, where);
  validate(models, where);
  const int features = models.compute.table_network.inputs();
  if (format.at("table_features") != format_metadata(version, features).at("table_features")) {
    throw Error(where + ": the table network takes " + std::to_string(features) +
                " inputs, which the metadata's 'table_features' are not");
  }
  return models;
}

CostModels load_weights(const std::filesystem::path& path) {
  return parse_weights(read_file(path), path.string());
}

std::string serialize_weights(const CostModels& models) {
  validate(models, "weights");
  Safetensors contents;
  const int features = models.compute.table_network.inputs();
  const bool is_new =
      features != kTableFeatures || models.all_reduce || models.ids || !models.kind_prices.empty();
  contents.metadata = format_metadata(is_new ? kVersion : kPublishedVersion, features);
  for (const auto& [key, text] : models.metadata) {
    if (!contents.metadata.emplace(key, text).second) {
      throw Error("weights: the metadata key '" + key + "' belongs to the file format; rename it");
    }
  }
  TensorMap& tensors = contents.tensors;
  put_normalization(tensors, "compute", models.compute.features);
  put_mlp(tensors, "compute.table_network", models.compute.table_network);
  put_mlp(tensors, "compute.head", models.compute.head);
  for (const auto& [devices, comm] : models.dense_comm) {
    put_comm(tensors, "comm." + std::to_string(devices), comm);
  }
  if (models.symmetric_comm) {
    put_comm(tensors, std::string("comm.") + kSymmetric, *models.symmetric_comm);
  }
  if (models.all_reduce) put_collective(tensors, kAllReduce, *models.all_reduce);
  if (models.ids) put_collective(tensors, kIds, *models.ids);
  put_kind_prices(tensors, models.kind_prices);
  return serialize_safetensors(contents);
}

void save_weights(const CostModels& models, const std::filesystem::path& path) {
  write_file(path, serialize_weights(models));
}

}  // namespace neuroshard
