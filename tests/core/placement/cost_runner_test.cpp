// Costs a few rows at a time, against those of whole batches.
#include "neuroshard/cost_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/models/symmetric_comm_features.h"
#include "every_cpu_backend.h"
#include "golden.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using testing::random_models;

std::vector<float> random_values(std::mt19937_64& random, std::size_t count, float highest) {
  std::vector<float> values(count);
  std::uniform_real_distribution<float> value(0.0F, highest);
  for (float& one : values) one = std::floor(value(random) * 8.0F) / 8.0F;
  return values;
}

// The features of each device of a placement.
std::vector<float> rows_of(const std::vector<float>& dim_sums,
                           const std::vector<float>& offsets_ms) {
  const int devices = static_cast<int>(dim_sums.size());
  const SharedCommFeatures shared =
      shared_comm_features(dim_sums.data(), offsets_ms.data(), devices, log2_of_devices(devices));
  std::vector<float> rows;
  for (std::size_t d = 0; d < dim_sums.size(); ++d) {
    rows.insert(rows.end(), {dim_sums[d], offsets_ms[d]});
    rows.insert(rows.end(), shared.begin(), shared.end());
  }
  return rows;
}

class CostRunnerOf : public testing::EveryCpuBackend {};

INSTANTIATE_TEST_SUITE_P(EveryBackend, CostRunnerOf, ::testing::ValuesIn(cpu_backends()));

TEST_P(CostRunnerOf, PricesAsTheBackendDoes) {
  for (const CostModels& models :
       {testing::golden_models(), random_models(1), random_models(2, {.devices = {4}}),
        random_models(
            3, {.table_network = {24, 12}, .head = {9, 7, 1}, .comm = {5, 6, 7}, .devices = {}})}) {
    const auto backend = make_cpu_backend(models, {.name = GetParam()});
    const auto width = static_cast<std::size_t>(backend->embedding_width());
    constexpr int kDevices = 4;
    const auto runner = backend->cost_runner(kDevices);
    EXPECT_EQ(runner->symmetric(), !models.dense_comm.contains(kDevices));
    std::mt19937_64 random(1);

    constexpr std::uint32_t kShards = 11;
    const std::vector<float> sums = random_values(random, kShards * width, 3.0F);
    std::vector<std::uint32_t> ids(kShards + 1);
    for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    std::vector<float> expected(kShards);
    std::vector<float> actual(kShards);
    backend->score_shards(sums, {ids, std::span(ids).first(kShards)}, expected);
    runner->compute(sums, actual);
    EXPECT_EQ(actual, expected);

    std::vector<float> dim_sums = random_values(random, kDevices, 1000.0F);
    for (float& dim_sum : dim_sums) dim_sum = std::floor(dim_sum);
    std::vector<float> offsets_ms = random_values(random, kDevices, 5.0F);
    offsets_ms[1] = 0.0F;
    expected.resize(kDevices);
    actual.resize(kDevices);
    backend->forward_comm(kDevices, dim_sums, offsets_ms, expected);
    runner->forward(dim_sums, offsets_ms, actual);
    EXPECT_EQ(actual, expected);
    if (runner->symmetric()) {
      runner->forward_rows(rows_of(dim_sums, offsets_ms), actual);
      EXPECT_EQ(actual, expected);
    }
    backend->backward_comm(kDevices, dim_sums, expected);
    runner->backward(dim_sums, actual);
    EXPECT_EQ(actual, expected);
    if (runner->symmetric()) {
      runner->backward_rows(rows_of(dim_sums, std::vector<float>(kDevices)), actual);
      EXPECT_EQ(actual, expected);
    }
  }
}

// Devices that a network sees alike are priced once.
TEST_P(CostRunnerOf, PricesManyDevicesAsEachByItself) {
  const auto backend = make_cpu_backend(random_models(1), {.name = GetParam()});
  std::mt19937_64 random(1);
  for (const std::size_t devices : {128U, 129U, 1000U}) {
    const auto runner = backend->cost_runner(static_cast<int>(devices));
    for (const float kinds : {3.0F, 20.0F, 4000.0F}) {
      std::vector<float> dim_sums = random_values(random, devices, kinds);
      for (float& dim_sum : dim_sums) dim_sum = std::floor(dim_sum);
      std::vector<float> offsets_ms = random_values(random, devices, kinds < 100.0F ? 0.5F : 5.0F);
      offsets_ms[1] = 0.0F;
      std::vector<float> expected(devices);
      std::vector<float> actual(devices);
      runner->forward_rows(rows_of(dim_sums, offsets_ms), expected);
      runner->forward(dim_sums, offsets_ms, actual);
      EXPECT_EQ(actual, expected);
      runner->backward_rows(rows_of(dim_sums, std::vector<float>(devices)), expected);
      runner->backward(dim_sums, actual);
      EXPECT_EQ(actual, expected);
    }
  }
}

}  // namespace
}  // namespace neuroshard
