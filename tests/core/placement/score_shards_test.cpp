// Batches of every size, shards of every size: all backends agree to the last bit.
#include <gtest/gtest.h>

#include <random>

#include "every_cpu_backend.h"
#include "neuroshard/backend.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

class ScoreShards : public testing::EveryCpuBackend {};

TEST_P(ScoreShards, AgreesWithScalarOnEveryBatchSize) {
  const testing::ModelShape shapes[] = {
      {.devices = {}},
      {.table_network = {16}, .head = {64, 1}, .devices = {}},
      {.table_network = {32}, .head = {40, 1}, .devices = {}},
      {.table_network = {32}, .head = {64, 8, 1}, .devices = {}},
  };
  std::mt19937_64 random(3);
  for (const auto& shape : shapes) {
    const CostModels models = testing::random_models(4, shape);
    const auto scalar = make_cpu_backend(models, {.name = "scalar"});
    const auto backend = make_cpu_backend(models, {.name = GetParam()});
    constexpr std::size_t kPieces = 50;
    std::vector<float> features(kPieces * kTableFeatures);
    for (float& x : features) x = static_cast<float>(random() % 1000) / 100.0F;
    std::vector<float> embeddings(kPieces * static_cast<std::size_t>(backend->embedding_width()));
    scalar->embed_pieces(features, embeddings);
    for (std::size_t shards = 0; shards < 60; ++shards) {
      SCOPED_TRACE(shards);
      std::vector<std::uint32_t> offsets = {0};
      std::vector<std::uint32_t> pieces;
      for (std::size_t s = 0; s < shards; ++s) {
        const std::size_t count = random() % 4 == 0 ? 0 : random() % 20;
        for (std::size_t k = 0; k < count; ++k) {
          pieces.push_back(static_cast<std::uint32_t>(random() % kPieces));
        }
        offsets.push_back(static_cast<std::uint32_t>(pieces.size()));
      }
      std::vector<float> expected(shards);
      std::vector<float> actual(shards);
      scalar->score_shards(embeddings, {offsets, pieces}, expected);
      backend->score_shards(embeddings, {offsets, pieces}, actual);
      ASSERT_EQ(actual, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, ScoreShards, ::testing::ValuesIn(cpu_backends()));

}  // namespace
}  // namespace neuroshard
