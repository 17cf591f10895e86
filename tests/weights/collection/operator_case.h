#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "weights/collection/embedding_operator.h"
#include "weights/lookups/access_stream.h"

namespace neuroshard {

/// A fused operator over random tables and lookups, with what a plain implementation makes of it.
struct OperatorCase {
  std::vector<AccessStream> streams;
  std::vector<std::vector<float>> weights;
  std::vector<float> gradient;
  OperatorShard shard;  ///< Points into the above.

  /// Tables of the given dims, of which the first few rows are hot.
  OperatorCase(const std::vector<int>& dims, std::int64_t batch, std::uint64_t seed) {
    Random random(seed);
    shard.batch = batch;
    for (const int dim : dims) {
      const auto rows = 1 + static_cast<std::int64_t>(random.below(5000));
      weights.emplace_back(static_cast<std::size_t>(rows * dim));
      for (float& weight : weights.back()) weight = static_cast<float>(random.uniform() - 0.5);
      AccessStream stream;
      const auto longest = 1 + random.below(40);
      for (std::int64_t s = 0; s < batch; ++s) {
        for (std::uint64_t i = random.below(longest); i > 0; --i) {
          const bool hot = random.below(3) == 0;
          const auto row = random.below(static_cast<std::uint64_t>(rows));
          stream.indices.push_back(static_cast<std::int64_t>(hot ? row % 3 % rows : row));
        }
        stream.offsets.push_back(static_cast<std::int64_t>(stream.indices.size()));
      }
      streams.push_back(std::move(stream));
      shard.tables.push_back({nullptr, rows, dim, nullptr, nullptr});
    }
    for (std::size_t t = 0; t < dims.size(); ++t) {
      shard.tables[t].weights = weights[t].data();
      shard.tables[t].indices = streams[t].indices.data();
      shard.tables[t].offsets = streams[t].offsets.data();
    }
    gradient.resize(static_cast<std::size_t>(batch * shard.dim_sum()));
    for (float& g : gradient) g = static_cast<float>(random.uniform() - 0.5);
  }
  OperatorCase(const OperatorCase&) = delete;
  OperatorCase& operator=(const OperatorCase&) = delete;

  /// [batch, dim_sum], sums in fp64.
  [[nodiscard]] std::vector<double> expected_output() const {
    std::vector<double> output(gradient.size(), 0.0);
    visit([&](std::size_t place, std::size_t table, std::size_t weight) {
      output[place] += weights[table][weight];
    });
    return output;
  }

  /// Weights after one step of SGD, sums in fp64.
  [[nodiscard]] std::vector<std::vector<double>> expected_weights(double learning_rate) const {
    std::vector<std::vector<double>> expected;
    for (const auto& table : weights) expected.emplace_back(table.begin(), table.end());
    visit([&](std::size_t place, std::size_t table, std::size_t weight) {
      expected[table][weight] -= learning_rate * gradient[place];
    });
    return expected;
  }

 private:
  // Calls `use(place in the output, table, place in its weights)` for every number looked up.
  template <typename Use>
  void visit(Use use) const {
    const std::int64_t stride = shard.dim_sum();
    std::int64_t column = 0;
    for (std::size_t t = 0; t < streams.size(); ++t) {
      const int dim = shard.tables[t].dim;
      for (std::int64_t s = 0; s < shard.batch; ++s) {
        for (std::int64_t i = streams[t].offsets[s]; i < streams[t].offsets[s + 1]; ++i) {
          for (int c = 0; c < dim; ++c) {
            use(static_cast<std::size_t>(s * stride + column + c), t,
                static_cast<std::size_t>(streams[t].indices[i] * dim + c));
          }
        }
      }
      column += dim;
    }
  }
};

}  // namespace neuroshard
