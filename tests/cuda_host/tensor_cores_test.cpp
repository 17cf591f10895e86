// Tests on the CPU what three products of TF32 numbers are worth: the rounding bit for bit, the
// sums no better than the hardware's. The instruction itself runs on a GPU only.
#include "cuda/device/tensor_cores.cuh"

#include <gmock/gmock.h>

#include <random>

#include "golden.h"
#include "neuroshard/backend.h"

namespace neuroshard {
namespace {

float high_of(float x) { return __uint_as_float(gpu::to_tf32(x)); }

TEST(TensorCores, RoundToElevenBitsHalvesAwayFromZero) {
  constexpr float kUlp = 0x1p-10F;  // Unit of TF32 numbers between 1 and 2.
  EXPECT_EQ(high_of(1.0F), 1.0F);
  EXPECT_EQ(high_of(1.0F + kUlp), 1.0F + kUlp);
  EXPECT_EQ(high_of(1.0F + 0.49F * kUlp), 1.0F);
  EXPECT_EQ(high_of(1.0F + 0.5F * kUlp), 1.0F + kUlp);
  EXPECT_EQ(high_of(-1.0F - 0.5F * kUlp), -1.0F - kUlp);
  EXPECT_EQ(high_of(1.0F + 1.5F * kUlp), 1.0F + 2.0F * kUlp);
  EXPECT_EQ(high_of(2.0F - 0x1p-23F), 2.0F);
  EXPECT_EQ(high_of(0.0F), 0.0F);
}

TEST(TensorCores, TwoPartsKeepTwentyTwoBits) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(-100.0F, 100.0F);
  double worst = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const float x = draw(random);
    const gpu::SplitFloat split = gpu::split_for_tensor_cores(x);
    const double back = static_cast<double>(__uint_as_float(split.high)) +
                        static_cast<double>(__uint_as_float(split.low));
    worst = std::max(worst, std::abs(back - static_cast<double>(x)) / std::abs(x));
  }
  EXPECT_LE(worst, 0x1p-22);
  EXPECT_GT(worst, 0.0);  // Not exact: that would be another experiment.
}

enum class Products { kOne, kThree };

// The head of one shard, each sum cut off to fp32 after every addition.
double head_on_tensor_cores(const Mlp& head, std::span<const float> sum, Products products) {
  const auto cut = [](double x) {
    auto nearest = static_cast<float>(x);
    if (std::abs(static_cast<double>(nearest)) > std::abs(x))
      nearest = std::nextafter(nearest, 0.0F);
    return static_cast<double>(nearest);
  };
  const DenseLayer& hidden = head.layers[0];
  double cost = head.layers[1].bias[0];
  for (int unit = 0; unit < hidden.outputs; ++unit) {
    double total = hidden.bias[static_cast<std::size_t>(unit)];
    double correction = 0.0;
    for (int i = 0; i < hidden.inputs; ++i) {
      const auto x = gpu::split_for_tensor_cores(sum[static_cast<std::size_t>(i)]);
      const auto w = gpu::split_for_tensor_cores(
          hidden.weight[static_cast<std::size_t>(unit * hidden.inputs + i)]);
      const auto value = [](unsigned bits) { return static_cast<double>(__uint_as_float(bits)); };
      total = cut(total + value(x.high) * value(w.high));
      if (products == Products::kOne) continue;
      correction = cut(correction + value(x.low) * value(w.high));
      correction = cut(correction + value(x.high) * value(w.low));
    }
    const double active = std::max(0.0, total + correction);
    cost += active * static_cast<double>(head.layers[1].weight[static_cast<std::size_t>(unit)]);
  }
  return cost;
}

TEST(TensorCores, ThreeProductsAreAccurateEnoughForTheHeadOneIsNot) {
  const Mlp& head = testing::golden_models().compute.head;
  const auto scalar = make_cpu_backend(testing::golden_models(), {.name = "scalar"});
  const std::vector<Table>& tables = testing::golden_tables();
  std::vector<float> features;
  constexpr int kDims[] = {4, 8, 16, 32, 64, 128};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto row = table_features(tables[i], kDims[i % 6]);
    features.insert(features.end(), row.begin(), row.end());
  }
  std::vector<float> embeddings(tables.size() * 32);
  scalar->embed_pieces(features, embeddings);

  std::mt19937 random(2);
  double worst_of_three = 0.0;
  double worst_of_one = 0.0;
  for (int shard = 0; shard < 3000; ++shard) {
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(shard % 41));
    for (std::uint32_t& id : ids) id = random() % static_cast<unsigned>(tables.size());
    std::vector<float> sum(32);
    for (const std::uint32_t id : ids) {
      for (std::size_t i = 0; i < 32; ++i) sum[i] += embeddings[id * 32 + i];
    }
    const std::uint32_t offsets[] = {0, static_cast<std::uint32_t>(ids.size())};
    float expected = 0.0F;
    scalar->score_shards(embeddings, {offsets, ids}, {&expected, 1});
    const auto error = [&](Products products) {
      return std::abs(head_on_tensor_cores(head, sum, products) - static_cast<double>(expected)) /
             std::abs(expected);
    };
    worst_of_three = std::max(worst_of_three, error(Products::kThree));
    worst_of_one = std::max(worst_of_one, error(Products::kOne));
  }
  RecordProperty("worst_of_three", std::to_string(worst_of_three * 1e6) + "e-6");
  RecordProperty("worst_of_one", std::to_string(worst_of_one * 1e6) + "e-6");
  EXPECT_LE(worst_of_three, 1e-5);
  EXPECT_GT(worst_of_one, 1e-5);
}

}  // namespace
}  // namespace neuroshard
