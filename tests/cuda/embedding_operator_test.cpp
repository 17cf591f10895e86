// The fused embedding-bag operator against plain implementations.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "cuda/cuda_test.h"
#include "cuda/operators/cuda_operator.h"
#include "cuda/operators/step_weights.h"
#include "repetitions.h"
#include "weights/collection/operator_case.h"

namespace neuroshard {
namespace {

using EmbeddingOperator = testing::CudaTest;

// An OperatorCase in device memory.
class DeviceCase {
 public:
  explicit DeviceCase(const OperatorCase& host) : host_(host), fused_(stream_) {
    shard_.batch = host.shard.batch;
    for (std::size_t t = 0; t < host.streams.size(); ++t) {
      shard_.tables.push_back({copy(host.weights[t]), host.shard.tables[t].rows,
                               host.shard.tables[t].dim, copy(host.streams[t].indices),
                               copy(host.streams[t].offsets)});
      lookups_.push_back(static_cast<std::int64_t>(host.streams[t].indices.size()));
    }
    gradient_ = copy(host.gradient);
    // Every place of the output must be written.
    output_ = copy(std::vector<float>(host.gradient.size(), -1.0F));
    fused_.set_shard(shard_, lookups_);
  }

  std::vector<float> forward() {
    fused_.forward(output_);
    return fetch(output_, host_.gradient.size());
  }

  std::vector<std::vector<float>> backward(float learning_rate) {
    fused_.backward(gradient_, learning_rate);
    std::vector<std::vector<float>> weights;
    for (std::size_t t = 0; t < shard_.tables.size(); ++t) {
      weights.push_back(fetch(shard_.tables[t].weights, host_.weights[t].size()));
    }
    return weights;
  }

 private:
  template <typename T>
  T* copy(const std::vector<T>& values) {
    buffers_.push_back(std::make_unique<gpu::DeviceBuffer>());
    buffers_.back()->reserve(values.size() * sizeof(T));
    stream_.copy_to_device(buffers_.back()->data(),
                           reinterpret_cast<const std::byte*>(values.data()),
                           values.size() * sizeof(T));
    stream_.synchronize();
    return reinterpret_cast<T*>(buffers_.back()->data());
  }
  std::vector<float> fetch(const float* from, std::size_t count) {
    std::vector<float> values(count);
    stream_.copy_to_host(reinterpret_cast<std::byte*>(values.data()),
                         reinterpret_cast<const std::byte*>(from), count * sizeof(float));
    stream_.synchronize();
    return values;
  }

  const OperatorCase& host_;
  gpu::Stream stream_;
  gpu::CudaOperator fused_;
  OperatorShard shard_;
  std::vector<std::int64_t> lookups_;
  std::vector<std::unique_ptr<gpu::DeviceBuffer>> buffers_;
  float* gradient_ = nullptr;
  float* output_ = nullptr;
};

// Sums of bags in fp32, in the order of the lookups.
std::vector<float> ordered_output(const OperatorCase& test) {
  std::vector<float> output(test.gradient.size(), 0.0F);
  const std::int64_t stride = test.shard.dim_sum();
  std::int64_t column = 0;
  for (const OperatorTable& table : test.shard.tables) {
    for (std::int64_t s = 0; s < test.shard.batch; ++s) {
      for (std::int64_t i = table.offsets[s]; i < table.offsets[s + 1]; ++i) {
        for (int c = 0; c < table.dim; ++c) {
          output[s * stride + column + c] += table.weights[table.indices[i] * table.dim + c];
        }
      }
    }
    column += table.dim;
  }
  return output;
}

// A sum and its place among the sorted lookups, in units of the chunks of a level.
struct PlacedSum {
  std::int64_t place;
  float sum;
};

// Chunks of 32, then chunks of 32 of these, until one sum is left.
float chunked_sum(std::vector<PlacedSum> terms) {
  do {
    std::vector<PlacedSum> above;
    for (const PlacedSum& term : terms) {
      const std::int64_t chunk = term.place / gpu::kChunkWidth;
      if (above.empty() || above.back().place != chunk) above.push_back({chunk, 0.0F});
      above.back().sum += term.sum;
    }
    terms = std::move(above);
  } while (terms.size() > 1);
  return terms.front().sum;
}

// Weights after one step of SGD, added up in the order that docs/kernels.md gives.
std::vector<std::vector<float>> chunked_weights(const OperatorCase& test, float learning_rate) {
  std::vector<std::vector<float>> weights = test.weights;
  const std::int64_t stride = test.shard.dim_sum();
  std::int64_t column = 0;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    const OperatorTable& table = test.shard.tables[t];
    std::map<std::int64_t, std::vector<std::int64_t>> samples_of_row;
    for (std::int64_t s = 0; s < test.shard.batch; ++s) {
      for (std::int64_t i = table.offsets[s]; i < table.offsets[s + 1]; ++i) {
        samples_of_row[table.indices[i]].push_back(s);
      }
    }
    std::int64_t place = 0;
    for (const auto& [row, samples] : samples_of_row) {
      for (int c = 0; c < table.dim; ++c) {
        std::vector<PlacedSum> terms;
        for (std::size_t i = 0; i < samples.size(); ++i) {
          terms.push_back({place + static_cast<std::int64_t>(i),
                           test.gradient[samples[i] * stride + column + c]});
        }
        weights[t][row * table.dim + c] -= learning_rate * chunked_sum(std::move(terms));
      }
      place += static_cast<std::int64_t>(samples.size());
    }
    column += table.dim;
  }
  return weights;
}

void expect_right(OperatorCase& test) {
  DeviceCase device(test);
  const std::vector<float> output = device.forward();
  EXPECT_EQ(output, ordered_output(test));
  const std::vector<double> exact_output = test.expected_output();
  for (std::size_t i = 0; i < output.size(); ++i) ASSERT_NEAR(output[i], exact_output[i], 1e-3);

  const auto exact = test.expected_weights(0.1);
  const auto weights = device.backward(0.1F);
  EXPECT_EQ(weights, chunked_weights(test, 0.1F));
  for (std::size_t t = 0; t < exact.size(); ++t) {
    for (std::size_t i = 0; i < exact[t].size(); ++i) {
      ASSERT_NEAR(weights[t][i], exact[t][i], 1e-3 * std::max(1.0, std::abs(exact[t][i])));
    }
  }
}

TEST_F(EmbeddingOperator, EveryDim) {
  const std::vector<std::vector<int>> shards = {
      {4}, {8}, {16}, {32}, {64}, {128}, {12, 20, 44, 200}, {128, 4, 8, 64, 4}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    SCOPED_TRACE(i);
    OperatorCase test(shards[i], 70, i);
    expect_right(test);
  }
}

TEST_F(EmbeddingOperator, RandomShards) {
  for (const std::uint64_t seed : testing::Seeds(testing::runs_on_gpu() ? 50U : 6U)) {
    Random random(seed, 1);
    std::vector<int> dims;
    for (std::uint64_t t = 1 + random.below(4); t > 0; --t) {
      dims.push_back(4 << random.below(6));
    }
    OperatorCase test(dims, 1 + static_cast<std::int64_t>(random.below(150)), seed);
    expect_right(test);
  }
}

// Puts the lookups of table `t` in place of the drawn ones: `per_sample[s]` of them, row by `row`.
template <typename Row>
void set_lookups(OperatorCase& test, std::size_t t, const std::vector<int>& per_sample, Row row) {
  AccessStream stream;
  std::int64_t i = 0;
  for (const int count : per_sample) {
    for (int k = 0; k < count; ++k) stream.indices.push_back(row(i++));
    stream.offsets.push_back(i);
  }
  test.streams[t] = std::move(stream);
  test.shard.tables[t].indices = test.streams[t].indices.data();
  test.shard.tables[t].offsets = test.streams[t].offsets.data();
}

TEST_F(EmbeddingOperator, RowsThatGoThroughManyChunks) {
  // 1 row only; a row that fills chunks exactly; rows that cross chunks of each level.
  for (const std::int64_t width : {INT64_MAX, std::int64_t{32}, std::int64_t{33}, std::int64_t{31},
                                   std::int64_t{500}, std::int64_t{1024}, std::int64_t{1500}}) {
    SCOPED_TRACE(width);
    OperatorCase test({8, 4}, 40, 3);
    set_lookups(test, 0, std::vector<int>(40, 60),
                [&](std::int64_t i) { return std::min(i / width, test.shard.tables[0].rows - 1); });
    set_lookups(test, 1, std::vector<int>(40, 1), [](std::int64_t) { return 0; });
    expect_right(test);
  }
}

TEST_F(EmbeddingOperator, MoreThanThreeLevels) {
  // 32 * 32 * 32 lookups of one row, and one more.
  OperatorCase test({4}, 33, 5);
  std::vector<int> counts(33, 1000);
  counts[7] = 769;
  set_lookups(test, 0, counts, [](std::int64_t i) { return i == 0 ? 1 : 0; });
  test.shard.tables[0].rows = std::max<std::int64_t>(2, test.shard.tables[0].rows);
  test.weights[0].resize(static_cast<std::size_t>(test.shard.tables[0].rows) * 4, 0.5F);
  test.shard.tables[0].weights = test.weights[0].data();
  expect_right(test);
}

TEST_F(EmbeddingOperator, EmptyBagsAndTables) {
  OperatorCase test({16, 8, 128, 4}, 65, 9);
  set_lookups(test, 0, std::vector<int>(65, 0), [](std::int64_t) { return 0; });
  std::vector<int> few(65, 0);
  few[64] = 3;
  set_lookups(test, 1, few, [](std::int64_t) { return 0; });
  set_lookups(test, 3, std::vector<int>(65, 0), [](std::int64_t) { return 0; });
  expect_right(test);

  OperatorCase nothing({8}, 3, 1);
  set_lookups(nothing, 0, {0, 0, 0}, [](std::int64_t) { return 0; });
  expect_right(nothing);
}

TEST_F(EmbeddingOperator, TablesOfOneRow) {
  OperatorCase test({4, 128, 32}, 50, 11);
  for (std::size_t t = 0; t < 3; ++t) {
    test.weights[t].resize(static_cast<std::size_t>(test.shard.tables[t].dim));
    test.shard.tables[t].rows = 1;
    test.shard.tables[t].weights = test.weights[t].data();
    set_lookups(test, t, std::vector<int>(50, 2 * static_cast<int>(t) + 1),
                [](std::int64_t) { return 0; });
  }
  expect_right(test);
}

TEST_F(EmbeddingOperator, UpdatesAgainAndAgain) {
  OperatorCase test({32, 8}, 60, 13);
  DeviceCase device(test);
  for (int step = 0; step < 3; ++step) {
    const auto expected = chunked_weights(test, 0.1F);
    ASSERT_EQ(device.backward(0.1F), expected) << step;
    for (std::size_t t = 0; t < expected.size(); ++t) {
      std::copy(expected[t].begin(), expected[t].end(), test.weights[t].begin());
    }
    EXPECT_EQ(device.forward(), ordered_output(test));
  }
}

TEST_F(EmbeddingOperator, ReplicasTakeAStep) {
  constexpr std::size_t kCount = 2049;  // A part of a block.
  gpu::DeviceBuffer gradients;
  gpu::DeviceBuffer weights;
  gradients.reserve(kCount * sizeof(float));
  weights.reserve((kCount + 1) * sizeof(float));
  std::vector<float> numbers(kCount + 1);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const gpu::Stream stream;
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  stream.copy_to_device(gradients.data(), bytes, kCount * sizeof(float));
  stream.copy_to_device(weights.data(), bytes, (kCount + 1) * sizeof(float));
  gpu::step_weights(reinterpret_cast<const float*>(gradients.data()), kCount, 0.25F,
                    reinterpret_cast<float*>(weights.data()), stream.get());
  std::vector<float> stepped(kCount + 1);
  stream.copy_to_host(reinterpret_cast<std::byte*>(stepped.data()), weights.data(),
                      (kCount + 1) * sizeof(float));
  stream.synchronize();
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(stepped[i], 0.75F * numbers[i]);
  EXPECT_EQ(stepped[kCount], numbers[kCount]);
}

}  // namespace
}  // namespace neuroshard
