// The cuBLAS baseline of nsbench: kernels, order of launches and layout of matrices, executed on
// the CPU, with plain loops (plain_blas.cpp) in the place of cuBLAS.
#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include <random>

#include "bench/gpu/blas_head.h"
#include "bench/gpu/fma_kernel.h"
#include "cuda_host/host_cuda_test.h"
#include "neuroshard/backend.h"
#include "random_tasks.h"

namespace neuroshard::bench {
namespace {

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

// `shards` random shards through the baseline, so many rows at a time, against the scalar backend.
void expect_close(const CostModels& models, int shards, int rows_at_once) {
  const auto scalar = make_cpu_backend(models, {.name = "scalar"});
  const int width = scalar->embedding_width();
  constexpr std::uint32_t kPieces = 40;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> draw(-1.0F, 2.0F);
  std::vector<float> features(kPieces * kTableFeatures);
  for (float& x : features) x = draw(random);
  std::vector<float> embeddings(kPieces * static_cast<std::size_t>(width));
  scalar->embed_pieces(features, embeddings);
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::uint32_t> ids;
  for (int s = 0; s < shards; ++s) {
    for (int k = 0; k < s % 9; ++k) ids.push_back(random() % kPieces);
    offsets.push_back(static_cast<std::uint32_t>(ids.size()));
  }
  std::vector<float> expected(static_cast<std::size_t>(shards));
  scalar->score_shards(embeddings, {offsets, ids}, expected);

  const gpu::Stream stream;
  gpu::DeviceBuffer memory[4];
  const std::span<const std::byte> inputs[] = {bytes_of(embeddings), bytes_of(offsets),
                                               bytes_of(ids)};
  for (int i = 0; i < 3; ++i) {
    memory[i].reserve(inputs[i].size());
    stream.copy_to_device(memory[i].data(), inputs[i].data(), inputs[i].size());
  }
  memory[3].reserve(expected.size() * sizeof(float));
  const BlasHead head(models.compute.head, rows_at_once);
  const auto blas = gpu::make_cublas(stream.get());
  head.run(*blas,
           {.embeddings = reinterpret_cast<const float*>(memory[0].data()),
            .width = width,
            .offsets = reinterpret_cast<const std::uint32_t*>(memory[1].data()),
            .piece_ids = reinterpret_cast<const std::uint32_t*>(memory[2].data()),
            .shards = shards},
           reinterpret_cast<float*>(memory[3].data()), stream.get());
  std::vector<float> actual(expected.size(), -1e30F);
  stream.copy_to_host(reinterpret_cast<std::byte*>(actual.data()), memory[3].data(),
                      actual.size() * sizeof(float));
  stream.synchronize();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * std::max(1.0F, std::abs(expected[i]))) << i;
  }
}

using CublasBaseline = testing::HostCudaTest;

TEST_F(CublasBaseline, WholeBatch) { expect_close(testing::random_models(1), 300, 300); }

TEST_F(CublasBaseline, InBlocks) { expect_close(testing::random_models(2), 300, 64); }

TEST_F(CublasBaseline, OtherLayers) {
  expect_close(testing::random_models(
                   3, {.table_network = {24, 44}, .head = {32, 13, 1}, .comm = {8}, .devices = {}}),
               100, 33);
}

TEST_F(CublasBaseline, TheCeilingsKernelRuns) {
  const gpu::Stream stream;
  gpu::DeviceBuffer sink;
  sink.reserve(sizeof(float));
  EXPECT_EQ(gpu_multiply_adds(2, 3), 2.0 * 4 * 512 * 8 * 16 * 3);
  run_gpu_multiply_adds(1, 1, reinterpret_cast<float*>(sink.data()), stream.get());
  EXPECT_NO_THROW(stream.synchronize());
}

}  // namespace
}  // namespace neuroshard::bench
