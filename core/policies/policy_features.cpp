#include "core/policies/policy_features.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace neuroshard {
namespace {

constexpr std::size_t kFirstBin = 4;

double elements(const Table& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.dim);
}

struct Spread {
  double mean = 0.0;
  double deviation = 0.0;  ///< The population's.
};

template <typename Value>
Spread spread_of(std::span<const Table> tables, const Value& value) {
  Spread spread;
  if (tables.empty()) return spread;
  const auto count = static_cast<double>(tables.size());
  for (const Table& table : tables) spread.mean += value(table);
  spread.mean /= count;
  double squares = 0.0;
  for (const Table& table : tables) {
    const double difference = value(table) - spread.mean;
    squares += difference * difference;
  }
  spread.deviation = std::sqrt(squares / count);
  return spread;
}

float normalized(double value, const Spread& spread) {
  return spread.deviation > 0.0 ? static_cast<float>((value - spread.mean) / spread.deviation)
                                : 0.0F;
}

/// The rows of all tables; `first_four(table)` is what comes before the histogram.
template <typename FirstFour>
AlignedVector<float> feature_rows(std::span<const Table> tables, const FirstFour& first_four) {
  AlignedVector<float> rows((tables.size() + 1) * kPolicyFeatureStride, 0.0F);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    float* row = &rows[t * kPolicyFeatureStride];
    std::ranges::copy(first_four(tables[t]), row);
    std::ranges::transform(tables[t].access_histogram, row + kFirstBin,
                           [](double share) { return static_cast<float>(share); });
  }
  return rows;
}

}  // namespace

AlignedVector<float> dreamshard_features(std::span<const Table> tables) {
  const Spread rows =
      spread_of(tables, [](const Table& table) { return static_cast<double>(table.rows); });
  const Spread pooling = spread_of(tables, [](const Table& table) { return table.pooling_factor; });
  const Spread sizes = spread_of(tables, elements);
  return feature_rows(tables, [&](const Table& table) {
    return std::array{
        static_cast<float>(table.dim), normalized(static_cast<double>(table.rows), rows),
        normalized(table.pooling_factor, pooling), normalized(elements(table), sizes)};
  });
}

double fp16_gib(const Table& table) { return elements(table) * 2.0 / (1 << 30); }

AlignedVector<float> autoshard_features(const Normalization& normalization,
                                        std::span<const Table> tables) {
  return feature_rows(tables, [&](const Table& table) {
    const std::array values = {static_cast<double>(table.dim), static_cast<double>(table.rows),
                               table.pooling_factor};
    std::array<float, kFirstBin> first{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      first[i] = static_cast<float>((values[i] - normalization.mean[i]) / normalization.std[i]);
    }
    first.back() = static_cast<float>(fp16_gib(table));
    return first;
  });
}

Normalization autoshard_normalization(std::span<const Table> tables) {
  Normalization normalization;
  const auto add = [&](const Spread& spread) {
    const auto deviation = static_cast<float>(spread.deviation);
    normalization.mean.push_back(static_cast<float>(spread.mean));
    normalization.std.push_back(deviation > 0.0F ? deviation : 1.0F);
  };
  add(spread_of(tables, [](const Table& table) { return static_cast<double>(table.dim); }));
  add(spread_of(tables, [](const Table& table) { return static_cast<double>(table.rows); }));
  add(spread_of(tables, [](const Table& table) { return table.pooling_factor; }));
  return normalization;
}

}  // namespace neuroshard
