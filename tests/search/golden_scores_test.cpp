// Every prediction of the published models that we have, on every CPU backend.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "every_cpu_backend.h"
#include "golden.h"
#include "neuroshard/backend.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::golden_scores;
using testing::golden_tables;

class GoldenScores : public testing::EveryCpuBackend {
 protected:
  static void expect_close(double actual, double expected) {
    EXPECT_LE(std::abs(actual - expected), std::max(1e-6, 1e-5 * std::abs(expected)))
        << actual << " for " << expected;
  }

  void SetUp() override {
    EveryCpuBackend::SetUp();
    if (!IsSkipped()) backend_ = make_cpu_backend(golden_models(), {.name = GetParam()});
  }

  std::unique_ptr<Backend> backend_;
};

TEST_P(GoldenScores, ComputeCosts) {
  const auto scores = golden_scores();
  ASSERT_EQ(scores.at("compute").size(), 300U);
  for (const auto& entry : scores.at("compute")) {
    std::vector<float> features;
    for (const Table& table : golden_tables(entry.at("ids"), entry.at("dims"))) {
      const auto row = table_features(table, table.dim);
      features.insert(features.end(), row.begin(), row.end());
    }
    const std::size_t pieces = features.size() / kTableFeatures;
    std::vector<float> embeddings(pieces * static_cast<std::size_t>(backend_->embedding_width()));
    backend_->embed_pieces(features, embeddings);
    std::vector<std::uint32_t> ids(pieces);
    for (std::size_t i = 0; i < pieces; ++i) ids[i] = static_cast<std::uint32_t>(i);
    const std::vector<std::uint32_t> offsets = {0, static_cast<std::uint32_t>(pieces)};
    float cost_ms = 0.0F;
    backend_->score_shards(embeddings, {offsets, ids}, {&cost_ms, 1});
    expect_close(cost_ms, entry.at("cost"));
  }
}

TEST_P(GoldenScores, CommunicationCosts) {
  int checked = 0;
  const auto scores = golden_scores();
  for (const auto& [key, entries] : scores.at("comm").items()) {
    const int devices = std::stoi(key);
    for (const auto& entry : entries) {
      const std::vector<float> input = entry.at("input");
      const std::vector<double> expected = entry.at("cost");
      const auto count = static_cast<std::size_t>(devices);
      std::vector<float> cost_ms(count);
      const std::span dim_sums = std::span(input).first(count);
      if (entry.at("which") == "fw") {
        backend_->forward_comm(devices, dim_sums, std::span(input).subspan(count), cost_ms);
      } else {
        backend_->backward_comm(devices, dim_sums, cost_ms);
      }
      for (std::size_t d = 0; d < count; ++d) expect_close(cost_ms[d], expected[d]);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, GoldenScores, ::testing::ValuesIn(cpu_backends()));

}  // namespace
}  // namespace neuroshard
