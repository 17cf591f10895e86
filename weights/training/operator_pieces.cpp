#include "weights/training/operator_pieces.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "neuroshard/error.h"
#include "neuroshard/table_features.h"

namespace neuroshard::training {
namespace {

void require_usual_batch(const ComputeSamples& samples) {
  const auto other =
      std::ranges::find_if(samples.served, [](std::int64_t n) { return n != kDefaultBatchSize; });
  if (other == samples.served.end()) return;
  throw Error("compute sample " + std::to_string(other - samples.served.begin()) + " is of " +
              std::to_string(*other) + " samples, but the published table features know " +
              std::to_string(kDefaultBatchSize) + " only; take those of operators");
}

}  // namespace

OperatorPieces operator_pieces(const ComputeSamples& samples, int table_features) {
  OperatorPieces pieces;
  pieces.count = static_cast<std::size_t>(table_features);
  if (table_features == kTableFeatures) {
    require_usual_batch(samples);
    const OperatorFeatures of_operator(table_features);
    for (const Table& table : samples.tables) of_operator.append(table, table.dim, pieces.features);
    pieces.ids = samples.table_ids;
    return pieces;
  }
  struct Served {
    OperatorFeatures features;
    std::unordered_map<std::uint32_t, std::uint32_t> pieces;  ///< By table.
  };
  std::map<std::int64_t, Served> by_samples;
  std::uint32_t next = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const std::int64_t count = samples.served_by(sample);
    auto found = by_samples.find(count);
    if (found == by_samples.end()) {
      OperatorFeatures features(table_features, static_cast<double>(count));
      found = by_samples.emplace(count, Served{std::move(features), {}}).first;
    }
    Served& served = found->second;
    for (std::size_t i = samples.offsets[sample]; i < samples.offsets[sample + 1]; ++i) {
      const std::uint32_t id = samples.table_ids[i];
      const auto [piece, is_new] = served.pieces.try_emplace(id, next);
      if (is_new) {
        const Table& table = samples.tables[id];
        served.features.append(table, table.dim, pieces.features);
        ++next;
      }
      pieces.ids.push_back(piece->second);
    }
  }
  return pieces;
}

}  // namespace neuroshard::training
