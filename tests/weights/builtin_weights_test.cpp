#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden.h"
#include "neuroshard/backend.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "tests/message_of.h"
#include "weights/collection/collect_samples.h"
#include "weights/collection/sample_draws.h"
#include "weights/lookups/table_population.h"
#include "weights/lookups/wide_population.h"

namespace neuroshard {
namespace {

const Backend& builtin_backend() {
  static const auto backend = make_cpu_backend(builtin_weights());
  return *backend;
}

class BuiltinHardware : public ::testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static const CostModels& models() { return builtin_weights(GetParam()); }
  [[nodiscard]] static const Hardware& machine() { return hardware_named(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, BuiltinHardware,
                         ::testing::ValuesIn(trained_hardware().begin(), trained_hardware().end()),
                         [](const auto& named) { return std::string(named.param); });

TEST_P(BuiltinHardware, SaysWhatItWasTrainedOn) {
  const auto& metadata = models().metadata;
  for (const char* key : {"source", "hardware", "batch_size", "compute.training", "compute.test",
                          "compute.trained_on", "comm.symmetric.forward.training",
                          "comm.symmetric.backward.test.0128"}) {
    ASSERT_TRUE(metadata.contains(key)) << key;
    EXPECT_FALSE(metadata.at(key).empty()) << key;
  }
  EXPECT_EQ(metadata.at("hardware"), machine().network.name + ", " + machine().gpu.name);
  const std::optional<NodeNetwork> network = known_network(models());
  const NetworkSpec& spec = machine().network;
  // The hardware's name is one of its GPU and of its network.
  EXPECT_EQ(gpu_named(GetParam()), machine().gpu);
  EXPECT_EQ(network_named(GetParam()), spec);
  EXPECT_FALSE(hardware_network(models()));
  ASSERT_TRUE(network);
  EXPECT_EQ(network->devices_per_node, spec.gpus_per_node);
  EXPECT_EQ(network->links.in_node_gb_s, spec.links.in_node_gb_s);
  EXPECT_EQ(network->links.between_nodes_gb_s, spec.links.between_nodes_gb_s);
}

TEST_P(BuiltinHardware, SurvivesAFile) {
  const std::string bytes = serialize_weights(models());
  EXPECT_EQ(serialize_weights(parse_weights(bytes, "copy")), bytes);
}

TEST(BuiltinWeights, AreTrainedOnThreeKindsOfHardware) {
  EXPECT_EQ(&builtin_weights(), &builtin_weights("a100"));
  EXPECT_NE(&builtin_weights("h100"), &builtin_weights("h200"));
  EXPECT_EQ(builtin_place("a100"), "built-in weights");
  EXPECT_EQ(builtin_place("h200"), "built-in weights of h200");
  EXPECT_THAT(testing::message_of([] { (void)builtin_weights("abacus"); }),
              ::testing::HasSubstr("no data for hardware 'abacus'; use one of a100, h100, h200"));
}

ComputeSamples analytic_samples(std::span<const Table> tables, const ComputeDrawOptions& draw,
                                std::int64_t served = kDefaultBatchSize, std::uint64_t count = 1500,
                                std::string_view gpu = kDefaultGpu) {
  ComputeSamples samples;
  samples.tables = augment_dims(tables);
  const auto source =
      make_analytic_compute_source(gpu_named(gpu), samples.tables, kDefaultBatchSize);
  source->serve(served);
  samples.served.assign(count, served);
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random(12345, i);
    const std::vector<int> ids = draw_shard(samples.tables, draw, random);
    samples.add(ids, source->cost_ms(ids));
  }
  return samples;
}

void expect_accurate(const ComputeSamples& samples, double mape, double kendall_tau = 0.95,
                     const Backend& backend = builtin_backend()) {
  const Accuracy accuracy = evaluate_compute(backend, samples).accuracy;
  EXPECT_LE(accuracy.mape, mape);
  EXPECT_GE(accuracy.kendall_tau, kendall_tau);
}

const ComputeDrawOptions kDozensOfTables{.max_tables = 60, .memory_bytes = std::int64_t{40} << 30};

// The model was trained on other combinations of these tables.
TEST(BuiltinWeights, PredictComputeCostsOfUnseenCombinations) {
  expect_accurate(analytic_samples(testing::golden_tables(), {}), 0.05);
  expect_accurate(analytic_samples(testing::golden_tables(), kDozensOfTables), 0.05);
}

TEST(BuiltinWeights, PredictComputeCostsOfUnseenTables) {
  std::vector<Table> published_like;
  for (const PopulationTable& drawn : draw_population({.tables = 300, .seed = 99})) {
    published_like.push_back(drawn.table);
  }
  expect_accurate(analytic_samples(published_like, {}), 0.05);
  expect_accurate(analytic_samples(published_like, kDozensOfTables), 0.05);
  const ComputeDrawOptions roomy{.memory_bytes = std::int64_t{1} << 50};
  expect_accurate(analytic_samples(draw_wide_population({.tables = 300, .seed = 99}), roomy), 0.05);
}

// In operators of other batches, of replicas, and of row blocks.
TEST(BuiltinWeights, PredictOperatorsOfAnyNumberOfSamples) {
  const std::vector<Table> wide = draw_wide_population({.tables = 300, .seed = 99});
  Random random(7);
  std::vector<Table> small = wide;
  std::erase_if(small, [](const Table& table) { return table.rows > 1'000'000; });
  const ComputeDrawOptions roomy{.memory_bytes = std::int64_t{1} << 50};
  for (const std::int64_t samples : {4096, 65536, 1048576}) {
    SCOPED_TRACE(samples);
    expect_accurate(analytic_samples(wide, roomy, samples, 300), 0.05);
    expect_accurate(analytic_samples(draw_row_blocks(wide, random), roomy, samples, 300), 0.05);
    // Few samples take little more than what is fixed, so that ranks are those of small
    // differences.
    expect_accurate(analytic_samples(small, kDozensOfTables, samples / 64, 300), 0.05,
                    samples == 4096 ? 0.9 : 0.95);
  }
}

TEST_P(BuiltinHardware, PredictsItsOwnOperators) {
  const auto backend = make_cpu_backend(models());
  const ComputeDrawOptions roomy{.memory_bytes = std::int64_t{1} << 50};
  const std::vector<Table> wide = draw_wide_population({.tables = 300, .seed = 99});
  for (const std::int64_t samples : {4096, 65536, 1048576}) {
    SCOPED_TRACE(samples);
    expect_accurate(analytic_samples(wide, roomy, samples, 300, machine().gpu.name), 0.05, 0.95,
                    *backend);
    expect_accurate(analytic_samples(testing::golden_tables(), kDozensOfTables, samples, 300,
                                     machine().gpu.name),
                    0.05, 0.95, *backend);
  }
}

class BuiltinComm : public ::testing::TestWithParam<int> {};

void expect_accurate_comm(std::string_view hardware, int devices, std::uint64_t count) {
  const auto source =
      make_analytic_comm_source(hardware_named(hardware).network, kDefaultBatchSize);
  const CommSamples samples =
      drawn_comm_samples(*source, {.devices = devices}, count, /*seed=*/12345);
  const CommTestResult result =
      evaluate_comm(*make_cpu_backend(builtin_weights(hardware)), samples);
  for (const TestResult* pass : {&result.forward, &result.backward}) {
    EXPECT_LE(pass->accuracy.mape, 0.05);
    EXPECT_GE(pass->accuracy.kendall_tau, 0.95);
  }
}

TEST_P(BuiltinComm, PredictsUnseenPlacements) {
  for (const std::string_view hardware : trained_hardware()) {
    SCOPED_TRACE(hardware);
    expect_accurate_comm(hardware, GetParam(), hardware == kDefaultHardware ? 400 : 100);
  }
}

INSTANTIATE_TEST_SUITE_P(DeviceCounts, BuiltinComm, ::testing::Values(2, 4, 8, 16, 32, 64, 128));

// Costs of equal devices: positive, and more columns or a later start of the others take longer.
TEST(BuiltinWeights, CommunicationIsSaneForEveryDeviceCount) {
  for (const int devices : {1, 2, 3, 5, 7, 10, 20, 40, 100, 150, 200, 300, 700, 1000, 1024}) {
    SCOPED_TRACE(devices);
    const auto count = static_cast<std::size_t>(devices);
    float previous_ms = 0.0F;
    for (const float dim_sum : {0.0F, 8.0F, 32.0F, 128.0F, 512.0F, 2048.0F, 8192.0F}) {
      SCOPED_TRACE(dim_sum);
      const std::vector<float> dim_sums(count, dim_sum);
      std::vector<float> cost_ms(count);
      builtin_backend().backward_comm(devices, dim_sums, cost_ms);
      EXPECT_GT(cost_ms[0], previous_ms);
      if (devices > 1) previous_ms = cost_ms[0];  // One device has nobody to send to.
      builtin_backend().forward_comm(devices, dim_sums, std::vector<float>(count, 0.0F), cost_ms);
      EXPECT_GT(cost_ms[0], 0.0F);
      if (devices == 1) continue;
      std::vector<float> offsets(count - 1, 0.0F);
      offsets.push_back(5.0F);  // All devices wait for the last one.
      std::vector<float> waiting_ms(count);
      builtin_backend().forward_comm(devices, dim_sums, offsets, waiting_ms);
      EXPECT_NEAR(waiting_ms[0] - cost_ms[0], 5.0F, 0.1F * waiting_ms[0]);
      EXPECT_GT(waiting_ms[count - 1], 0.0F);
    }
  }
}

// Tables of public models: few rows that are touched thousands of times, or tens of millions.
TEST(BuiltinWeights, ComputeCostsArePositiveAndGrowWithLookupsAndColumns) {
  for (const std::int64_t rows : {3, 100, 10'000, 1'000'000, 40'000'000, 400'000'000}) {
    float less_looked_up = 0.0F;
    for (const double pooling : {1.0, 3.0, 10.0, 30.0, 100.0}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, pooling factor " + std::to_string(pooling));
      Task task{.devices = 1};
      Table table{.rows = rows,
                  .pooling_factor = pooling,
                  .access_histogram = zipf_histogram(rows, pooling, 1.05, kDefaultBatchSize)};
      float narrower = 0.0F;
      for (const int dim : {4, 64, 128, 256}) {  // Up to 32 have the same threads.
        table.dim = dim;
        task.tables = {table};
        task.memory_bytes = table.size_bytes();
        const Plan plan{whole_tables(task), {{0}}};
        const auto cost_ms =
            static_cast<float>(simulate(builtin_backend(), task, plan).devices[0].compute_ms);
        EXPECT_GT(cost_ms, narrower) << dim;
        narrower = cost_ms;
      }
      EXPECT_GT(narrower, less_looked_up);
      less_looked_up = narrower;
    }
  }
}

}  // namespace
}  // namespace neuroshard
