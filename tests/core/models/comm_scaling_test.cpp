#include "neuroshard/comm_scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/error.h"
#include "tests/random_tasks.h"

namespace neuroshard {
namespace {

using testing::random_models;

/// Costs of both directions by the scaled models, and what they should be by the others.
/// `scaled_for`: devices, 0 for any number.
void expect_scaled(CostModels models, int devices, int scaled_for, const CommFactors& factors) {
  const auto base = make_cpu_backend(models, {.name = "scalar"});
  if (models.symmetric_comm) {
    models.symmetric_comm = scaled_comm(*models.symmetric_comm, scaled_for, factors);
  } else {
    models.dense_comm[devices] = scaled_comm(models.dense_comm.at(devices), devices, factors);
  }
  const auto count = static_cast<std::size_t>(devices);
  const double forward = factors.forward * factors.column_unit;
  const double backward = factors.backward * factors.column_unit;
  std::vector<float> columns;
  std::vector<float> seen_columns;
  std::vector<float> offsets;
  std::vector<float> short_offsets;
  for (std::size_t d = 0; d < count; ++d) {
    columns.push_back(static_cast<float>(64 * factors.column_unit * static_cast<double>(d)));
    seen_columns.push_back(static_cast<float>(64 * d));
    offsets.push_back(static_cast<float>(d % 3));
    short_offsets.push_back(static_cast<float>(offsets.back() / forward));
  }
  const std::vector<float> nothing(count, 0.0F);
  const auto costs = [&](const Backend& backend, const auto& dim_sums, const auto& starts) {
    std::vector<float> both(2 * count);
    backend.forward_comm(devices, dim_sums, starts, std::span(both).first(count));
    backend.backward_comm(devices, dim_sums, std::span(both).last(count));
    return both;
  };
  const auto large = costs(*base, seen_columns, short_offsets);
  const auto empty = costs(*base, nothing, nothing);
  for (const std::string& name : available_cpu_backends()) {
    SCOPED_TRACE(name);
    const auto scaled = costs(*make_cpu_backend(models, {.name = name}), columns, offsets);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      const double factor = i < count ? forward : backward;
      const double expected = factor * large[i] + (1.0 - factor) * empty[i];
      const double size = factor * std::abs(large[i]) + std::abs((1.0 - factor) * empty[i]);
      EXPECT_NEAR(scaled[i], expected, 1e-4 * size + 1e-4) << i;
    }
  }
}

TEST(CommScaling, IsALatencyAndATimeForTheBytes) {
  for (const CommFactors& factor :
       {CommFactors{1.0 / 64.0, 1.0 / 64.0}, CommFactors{0.5, 0.5}, CommFactors{1.0, 1.0},
        CommFactors{3.0, 3.0}, CommFactors{64.0, 64.0}, CommFactors{0.5, 0.25},
        CommFactors{1.0, 0.25}, CommFactors{2.0, 1.0}, CommFactors{1.0, 1.0, 64.0},
        CommFactors{1.0 / 64.0, 0.5 / 64.0, 64.0}}) {
    SCOPED_TRACE(std::to_string(factor.forward) + ", " + std::to_string(factor.backward) +
                 ", columns of " + std::to_string(factor.column_unit));
    for (const int scaled_for : {0, 8}) {
      expect_scaled(random_models(1, {.devices = {}}), 8, scaled_for, factor);
      expect_scaled(random_models(4, {.comm = {}, .devices = {}}), 8, scaled_for, factor);
    }
    expect_scaled(random_models(2, {.devices = {4}}), 4, 4, factor);
    expect_scaled(random_models(3, {.comm = {}, .devices = {4}}), 4, 4, factor);
  }
}

TEST(CommScaling, NetworksForANumberOfDevicesAreNoLarger) {
  const CommModel model = *random_models(1, {.devices = {}}).symmetric_comm;
  const auto widths = [](const CommModel& of) {
    std::vector<int> all;
    for (const DenseLayer& layer : std::get<SymmetricCommNetwork>(of.forward).network.layers) {
      all.push_back(layer.outputs);
    }
    return all;
  };
  EXPECT_EQ(widths(scaled_comm(model, 8, {3.0, 3.0})), widths(model));
  EXPECT_NE(widths(scaled_comm(model, 0, {3.0, 3.0})), widths(model));
}

TEST(CommScaling, RefusesWhatIsNoFactor) {
  const CostModels models = random_models(1, {.devices = {}});
  for (const double factor : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THROW((void)scaled_comm(*models.symmetric_comm, 8, {factor, 1.0}), Error);
    EXPECT_THROW((void)scaled_comm(*models.symmetric_comm, 8, {1.0, factor}), Error);
    EXPECT_THROW((void)scaled_comm(*models.symmetric_comm, 8, {1.0, 1.0, factor}), Error);
  }
}

}  // namespace
}  // namespace neuroshard
