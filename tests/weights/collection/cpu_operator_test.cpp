#include "weights/collection/cpu_operator.h"

#include <gtest/gtest.h>

#include "weights/collection/operator_case.h"

namespace neuroshard {
namespace {

const std::vector<std::vector<int>> kShards = {
    {4}, {128}, {4, 8, 12, 16, 20, 24, 32, 44, 64, 96, 128, 200}, {64, 64, 64}};

std::vector<const PoolingKernels*> all_kernels() {
  std::vector<const PoolingKernels*> all{&kScalarPooling};
  if (&pooling_kernels() != &kScalarPooling) all.push_back(&pooling_kernels());
  return all;
}

class EveryKernel : public ::testing::TestWithParam<const PoolingKernels*> {};

TEST_P(EveryKernel, PoolsLikeThePlainImplementation) {
  ThreadTeam team(2);
  CpuOperator op(team, *GetParam());
  for (std::size_t i = 0; i < kShards.size(); ++i) {
    SCOPED_TRACE(i);
    OperatorCase test(kShards[i], 300, i);
    std::vector<float> output(test.gradient.size(), -1.0F);
    op.forward(test.shard, output.data());
    const std::vector<double> expected = test.expected_output();
    for (std::size_t n = 0; n < output.size(); ++n) ASSERT_NEAR(output[n], expected[n], 1e-4);
  }
}

TEST_P(EveryKernel, UpdatesLikeThePlainImplementation) {
  ThreadTeam team(2);
  CpuOperator op(team, *GetParam());
  for (std::size_t i = 0; i < kShards.size(); ++i) {
    SCOPED_TRACE(i);
    OperatorCase test(kShards[i], 3000, i);
    const auto expected = test.expected_weights(0.1);
    op.backward(test.shard, test.gradient.data(), 0.1F);
    for (std::size_t t = 0; t < expected.size(); ++t) {
      for (std::size_t n = 0; n < expected[t].size(); ++n) {
        ASSERT_NEAR(test.weights[t][n], expected[t][n], 1e-3);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pooling, EveryKernel, ::testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(CpuOperator, GivesTheSameBitsWithAnyKernelAndNumberOfThreads) {
  const std::vector<int> dims{4, 12, 24, 64, 128, 132};
  std::vector<std::vector<float>> outputs;
  std::vector<std::vector<std::vector<float>>> weights;
  for (const PoolingKernels* kernels : all_kernels()) {
    for (const int threads : {1, 3}) {
      ThreadTeam team(threads);
      CpuOperator op(team, *kernels);
      OperatorCase test(dims, 5000, 7);
      outputs.emplace_back(test.gradient.size());
      op.forward(test.shard, outputs.back().data());
      for (int step = 0; step < 2; ++step) op.backward(test.shard, test.gradient.data(), 0.1F);
      weights.push_back(test.weights);
    }
  }
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], outputs[0]);
    EXPECT_EQ(weights[i], weights[0]);
  }
}

TEST(CpuOperator, TakesTablesThatNobodyLooksUp) {
  ThreadTeam team(2);
  CpuOperator op(team, pooling_kernels());
  OperatorCase test({8, 16}, 50, 9);
  test.streams[0] = {};
  test.streams[0].offsets.assign(51, 0);
  test.shard.tables[0].indices = test.streams[0].indices.data();
  test.shard.tables[0].offsets = test.streams[0].offsets.data();
  const auto before = test.weights[0];
  std::vector<float> output(test.gradient.size(), -1.0F);
  op.forward(test.shard, output.data());
  op.backward(test.shard, test.gradient.data(), 0.1F);
  EXPECT_EQ(test.weights[0], before);
  for (int s = 0; s < 50; ++s) EXPECT_EQ(output[static_cast<std::size_t>(s) * 24], 0.0F);
}

}  // namespace
}  // namespace neuroshard
