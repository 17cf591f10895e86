#include "weights/files/table_reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "core/tables/row_popularity.h"
#include "core/tables/table_problem.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr double kMaxPoolingFactor = 1e9;
constexpr double kMaxExponent = 16.0;

std::string_view bin_name(int bin) {
  constexpr std::array<std::string_view, kHistogramBins> kNames = {
      "bin_0", "bin_1",  "bin_2",  "bin_3",  "bin_4",  "bin_5",  "bin_6",  "bin_7", "bin_8",
      "bin_9", "bin_10", "bin_11", "bin_12", "bin_13", "bin_14", "bin_15", "bin_16"};
  return kNames[static_cast<std::size_t>(bin)];
}

void throw_if_any(const std::optional<std::string>& problem, const JsonObject& object) {
  if (problem) throw Error(object.where() + ": " + *problem);
}

/// `list`: read from a field, each of whose entries is a `what`.
template <typename Item>
void require_any(const std::vector<Item>& list, const JsonObject& object, const char* field,
                 const char* what) {
  if (!list.empty()) return;
  throw Error(object.place(field) + " is empty; give at least one " + what + ", or leave it out");
}

/// False if the table has no histogram at all.
bool read_histogram(const JsonObject& object, std::array<double, kHistogramBins>& histogram) {
  if (object.all_known()) return false;
  int present = 0;
  int first_missing = kHistogramBins;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const std::optional<double> share = object.number_if_any(bin_name(bin), 0.0, 1.0);
    if (!share) {
      first_missing = std::min(first_missing, bin);
      continue;
    }
    ++present;
    histogram[static_cast<std::size_t>(bin)] = *share;
  }
  if (present == 0) return false;
  if (first_missing < kHistogramBins) {
    throw Error(object.where() + ": the field '" + std::string(bin_name(first_missing)) +
                "' is missing; give all of bin_0 to bin_16, or none of them");
  }
  throw_if_any(histogram_problem_of(histogram), object);
  return true;
}

std::vector<double> read_row_shares(const JsonObject& object) {
  std::vector<double> shares;
  for (const JsonValue share : object.array("row_shares")) {
    shares.push_back(json_number(
        share, object.place("row_shares") + ": number " + std::to_string(shares.size()), 0.0, 1.0));
  }
  require_any(shares, object, "row_shares", "number");
  throw_if_any(row_shares_problem_of(shares), object);
  return shares;
}

/// A Zipf exponent, or points of a curve.
std::vector<PopularRows> read_popularity(const JsonObject& table, std::int64_t rows) {
  if (!table.value("popularity").is_array()) {
    const JsonObject law = table.object("popularity");
    const double exponent = read_zipf_exponent(law);
    law.reject_unknown_fields();
    return zipf_popularity(rows, exponent);
  }
  std::vector<PopularRows> curve;
  for (const JsonValue entry : table.array("popularity")) {
    const std::string place = table.place("popularity") + ": point " + std::to_string(curve.size());
    JsonArray numbers;
    if (entry.get(numbers) != simdjson::SUCCESS || numbers.size() != 2) {
      throw Error(place + ": give [rows, share of lookups]");
    }
    curve.push_back({json_number(numbers.at(0).value_unsafe(), place, 0.0, kMaxRows),
                     json_number(numbers.at(1).value_unsafe(), place, 0.0, 1.0)});
  }
  require_any(curve, table, "popularity", "point");
  throw_if_any(popularity_problem_of(curve, rows), table);
  return curve;
}

/// `what`: "device" or "node".
std::vector<int> read_set(const JsonObject& object, const char* name, const char* what) {
  std::vector<int> numbers;
  for (const JsonValue number : object.array(name)) {
    numbers.push_back(
        static_cast<int>(json_integer(number, object.place(name), 0, kMaxDevices - 1)));
  }
  require_any(numbers, object, name, what);
  return numbers;
}

std::vector<ShardingKind> read_kinds(const JsonObject& object) {
  std::vector<ShardingKind> kinds;
  for (const JsonValue kind : object.array("kinds")) {
    std::string_view name;
    if (kind.get(name) != simdjson::SUCCESS) {
      throw Error(object.place("kinds") + ": give names in quotes");
    }
    kinds.push_back(object.read_at("kinds", [&] { return sharding_kind_from_name(name); }));
  }
  require_any(kinds, object, "kinds", "kind");
  return kinds;
}

/// Lookups and pooled outputs of a sample: those of all features that read the table.
void read_features(const JsonObject& object, Table& table) {
  const bool stated = object.has("features");
  if (!stated || !object.value("features").is_array()) {
    table.pooling_factor = object.number("pooling_factor", 0.0, kMaxPoolingFactor);
    if (stated) table.features = object.number("features", 0.0, kMostFeatures);
    return;
  }
  if (object.has("pooling_factor")) {
    throw Error(object.where() +
                ": gives both a list of features, each with its pooling_factor, and a "
                "pooling_factor; keep one");
  }
  table.features = 0.0;
  int count = 0;
  for (const JsonValue entry : object.array("features")) {
    const JsonObject feature(entry, object.place("features") + ": number " + std::to_string(count));
    const double share = feature.has("batch_share") ? feature.number("batch_share", 0.0, 1.0) : 1.0;
    if (share == 0.0) {
      throw Error(feature.place("batch_share") +
                  " is 0; give a number above 0, or leave the feature out");
    }
    table.features += share;
    table.pooling_factor += share * feature.number("pooling_factor", 0.0, kMaxPoolingFactor);
    feature.reject_unknown_fields();
    ++count;
  }
  if (count == 0) {
    throw Error(object.place("features") + " is empty; give at least one, or leave it out");
  }
}

TableRules read_rules(const JsonObject& object) {
  TableRules rules;
  rules.no_split = object.flag_if_any("no_split");
  if (object.has("min_width")) rules.min_width = object.small_integer("min_width", 1, kMaxDim);
  if (object.has("max_slices")) rules.max_slices = object.small_integer("max_slices", 1, kMaxDim);
  if (object.has("devices")) rules.devices = read_set(object, "devices", "device");
  if (object.has("not_devices")) rules.not_devices = read_set(object, "not_devices", "device");
  if (object.has("nodes")) rules.nodes = read_set(object, "nodes", "node");
  if (object.has("not_nodes")) rules.not_nodes = read_set(object, "not_nodes", "node");
  if (object.has("kinds")) rules.kinds = read_kinds(object);
  rules.keep_in_hbm = object.flag_if_any("keep_in_hbm");
  if (object.has("hbm_share")) rules.hbm_share = object.number("hbm_share", 0.0, 1.0);
  object.reject_unknown_fields();
  return rules;
}

}  // namespace

double read_zipf_exponent(const JsonObject& object) {
  return object.number("zipf_exponent", 0.0, kMaxExponent);
}

std::size_t TableReader::Hash::operator()(const Kind& kind) const {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  auto hash = static_cast<std::uint64_t>(kind.rows);
  for (const double number : {kind.pooling_factor, kind.exponent}) {
    hash = (hash * kFactor) ^ std::bit_cast<std::uint64_t>(number + 0.0);  // -0.0 equals 0.0.
  }
  return static_cast<std::size_t>((hash * kFactor) >> 32);
}

/// zipf_histogram(), with what tables of one exponent share computed once.
const TableReader::Histogram& TableReader::derive(const Kind& kind) {
  const auto [known, is_new] = derived_.try_emplace(kind);
  if (is_new) {
    if (laws_.size() == kMostLaws) laws_.clear();  // A file may give each table one of its own.
    const ZipfLaw& law = laws_.try_emplace(kind.exponent, kind.exponent).first->second;
    known->second = law.histogram(static_cast<double>(kind.rows),
                                  kind.pooling_factor * static_cast<double>(kDefaultBatchSize));
  }
  return known->second;
}

TableReader::Histogram TableReader::rescaled(const Table& table, std::int64_t samples) {
  if (scales_.size() == kMostLaws) scales_.clear();
  return scales_
      .try_emplace(samples, static_cast<double>(kDefaultBatchSize), static_cast<double>(samples))
      .first->second(table);
}

TableMemory read_table_memory(const JsonObject& object, TableMemory memory) {
  object.read_named("weight_type", memory.weight_type, weight_type_from_name);
  object.read_named("optimizer", memory.optimizer, optimizer_from_name);
  return memory;
}

TableReader::Result TableReader::read(const JsonObject& object, Dim dim) {
  Result result;
  Table& table = result.table;
  if (object.has("name")) table.name = object.text("name");
  table.rows = object.integer("row", 1, kMaxRows);
  read_features(object, table);
  const bool has_dim = object.has("dim") || dim == Dim::kRequired;
  if (has_dim) table.dim = object.small_integer("dim", kDimMultiple, kMaxDim);
  if (object.has("rules")) table.rules = read_rules(object.object("rules"));
  const double exponent = object.has("zipf_exponent") ? read_zipf_exponent(object) : zipf_exponent_;
  if (!read_histogram(object, table.access_histogram)) {
    table.access_histogram = derive({table.rows, table.pooling_factor, exponent});
    result.derived_histogram = true;
  } else if (object.has("zipf_exponent")) {
    throw Error(object.where() +
                ": gives both a histogram, bin_0 to bin_16, and a zipf_exponent; keep one");
  }
  if (!object.all_known()) {
    if (object.has("bin_batch_size")) {
      const std::int64_t samples = object.integer("bin_batch_size", 1, kMaxBatchSize);
      if (result.derived_histogram) {
        throw Error(object.place("bin_batch_size") +
                    ": there are no bins that it could be of; give bin_0 to bin_16, or leave it "
                    "out");
      }
      table.access_histogram = rescaled(table, samples);
    }
    if (object.has("row_shares")) table.row_shares = read_row_shares(object);
    object.read_named("replica_gradients", table.replica_gradients, replica_gradients_from_name);
    object.read_named("pooling", table.pooling, pooling_from_name);
    table.weighted = object.flag_if_any("weighted");
    if (object.has("popularity")) table.popularity = read_popularity(object, table.rows);
  }
  table.memory = object.all_known() ? memory_ : read_table_memory(object, memory_);
  object.reject_unknown_fields();
  if (has_dim) throw_if_any(problem_of(table), object);
  return result;
}

}  // namespace neuroshard
