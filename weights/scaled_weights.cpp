#include "weights/scaled_weights.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/message_text.h"
#include "core/base/thread_team.h"
#include "core/tables/stated_gib.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/fitting.h"
#include "neuroshard/task_models.h"
#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "weights/collection/collect_samples.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/placed_shards.h"
#include "weights/collection/sample_draws.h"
#include "weights/lookups/table_population.h"
#include "weights/lookups/wide_population.h"
#include "weights/training/warm_start.h"

namespace neuroshard {
namespace {

constexpr int kTablesOfAKind = 200;
constexpr std::size_t kTrainingSamples = 9000;
constexpr std::size_t kPlacedTasks = 300;
constexpr int kFirstEpochs = 4;
constexpr int kEpochs = 10;
constexpr std::size_t kChoiceSamples = 300;  // By which the nearest hardware is chosen.
constexpr std::size_t kTestSamples = 600;
constexpr std::size_t kCommTests = 60;
constexpr double kPoorMape = 0.05;
constexpr int kMaxDimOfSamples = 256;
constexpr int kOneThreadPerCore = 0;

enum Seed : std::uint64_t { kTrainingSeed = 1, kTestSeed = 2 };

std::vector<Table> drawn_tables(std::uint64_t seed) {
  std::vector<Table> tables = draw_wide_population({.tables = kTablesOfAKind, .seed = seed});
  Random random(seed, 0);
  const std::vector<Table> blocks =
      draw_row_blocks(std::span(tables).first(kTablesOfAKind / 2), random);
  tables.insert(tables.end(), blocks.begin(), blocks.end());
  for (PopulationTable& drawn : draw_population({.tables = kTablesOfAKind, .seed = seed})) {
    tables.push_back(std::move(drawn.table));
  }
  return draw_table_kinds(augment_dims(tables, kMaxDimOfSamples), random);
}

/// One or two tables, some, dozens, or hundreds of slices, in turn.
ComputeDrawOptions draw_of(std::size_t sample) {
  constexpr int kMostTables[] = {2, 15, 60, 300};
  using Samples = ComputeDrawOptions::Samples;
  const std::size_t kind = sample % std::size(kMostTables);
  return {.max_tables = kMostTables[kind],
          .memory_bytes = std::numeric_limits<std::int64_t>::max(),
          .slices = kind + 1 == std::size(kMostTables),
          .samples = sample % 5 == 4 ? Samples::kShares : Samples::kIterations};
}

std::vector<DrawnShard> drawn_shards(std::span<const Table> tables, std::size_t count,
                                     std::uint64_t seed) {
  std::vector<DrawnShard> shards;
  for (std::size_t i = 0; i < count; ++i) {
    Random random(seed, i + 1);
    const ComputeDrawOptions draw = draw_of(i);
    std::vector<int> ids = draw_shard(tables, draw, random);
    shards.push_back({std::move(ids), draw_served_samples(draw.samples, random)});
  }
  return shards;
}

/// Adds shards to samples of the same tables.
void price(const GpuSpec& gpu, std::span<const DrawnShard> shards, ComputeSamples& samples) {
  ThreadTeam team(kOneThreadPerCore);
  std::vector<std::unique_ptr<ComputeCostSource>> sources(team.threads());
  for (auto& source : sources) {
    source = make_analytic_compute_source(gpu, samples.tables, kDefaultBatchSize);
  }
  std::vector<double> cost_ms(shards.size());
  team.run(shards.size(), [&](std::size_t shard, std::size_t thread) {
    sources[thread]->serve(shards[shard].served);
    cost_ms[shard] = sources[thread]->cost_ms(shards[shard].ids);
  });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    samples.served.push_back(shards[i].served);
    samples.add(shards[i].ids, cost_ms[i]);
  }
}

ComputeSamples drawn_samples(const GpuSpec& gpu, std::size_t count, std::uint64_t seed) {
  ComputeSamples samples;
  samples.tables = drawn_tables(seed);
  price(gpu, drawn_shards(samples.tables, count, seed), samples);
  return samples;
}

TrainingOptions options_of_scaling(int epochs) {
  TrainingOptions options = calibration_options();
  options.epochs = epochs;
  options.batch = 64;
  options.learning_rate = 1e-3;
  options.threads = kOneThreadPerCore;
  return options;
}

/// Trained twice: on drawn shards, then also on those that a search by the first would come to.
ComputeModel scaled_compute(const CostModels& trained, const GpuSpec& gpu, ComputeSamples samples) {
  CostModels first = trained;
  first.compute =
      training::trained_from(trained.compute, samples, options_of_scaling(kFirstEpochs));
  const std::unique_ptr<Backend> backend = make_cpu_backend(first);
  price(gpu,
        draw_placed_shards(*backend, samples.tables, kMaxDimOfSamples, kPlacedTasks, kTrainingSeed),
        samples);
  return training::trained_from(first.compute, samples, options_of_scaling(kEpochs));
}

/// In the network that the communication models know, from which models_for() changes it.
CollectiveModel all_reduces(const GpuSpec& gpu, const NetworkSpec& known) {
  CollectiveModel model;
  for (int devices = 1; devices <= kMostDevicesOfModels; ++devices) {
    const double one_ms = analytic_all_reduce(gpu, known, devices, kGib);
    const double two_ms = analytic_all_reduce(gpu, known, devices, 2.0 * kGib);
    model.lines[devices] = {.latency_ms = std::max(0.0, 2.0 * one_ms - two_ms),
                            .ms_per_gib = two_ms - one_ms};
  }
  return model;
}

double compute_mape(const CostModels& models, const GpuSpec& gpu) {
  const std::unique_ptr<Backend> backend = make_cpu_backend(models);
  return evaluate_compute(*backend, drawn_samples(gpu, kTestSamples, kTestSeed)).accuracy.mape;
}

/// Forward and backward costs count alike, on one node and on several.
double comm_mape(const CostModels& models, const NetworkSpec& network) {
  const auto source = make_analytic_comm_source(network, kDefaultBatchSize);
  std::vector<float> priced_ms;
  std::vector<float> predicted_ms;
  const auto add = [&](const TestResult& test) {
    priced_ms.insert(priced_ms.end(), test.measured_ms.begin(), test.measured_ms.end());
    predicted_ms.insert(predicted_ms.end(), test.predicted_ms.begin(), test.predicted_ms.end());
  };
  for (const int devices : {2, 4, 8, 16, 64, 128}) {
    Task task{.devices = devices};
    const std::unique_ptr<Backend> backend =
        make_cpu_backend(models_for(models, comm_setting(task, hardware_network(models))));
    for (const bool wide : {false, true}) {
      const CommTestResult test =
          evaluate_comm(*backend, drawn_comm_samples(*source, {.devices = devices, .wide = wide},
                                                     kCommTests / 2, kTestSeed));
      add(test.forward);
      add(test.backward);
    }
  }
  return measure_accuracy(priced_ms, predicted_ms).mape;
}

/// A trained model says so of its network and of the ranges of its samples.
std::map<std::string, std::string> kept_metadata(const CostModels& trained) {
  std::map<std::string, std::string> kept;
  for (const auto& [key, value] : trained.metadata) {
    const bool is_range = key.find(".range.") != std::string::npos;
    if (is_range || key.starts_with("network.") || key == "batch_size") kept.emplace(key, value);
  }
  return kept;
}

}  // namespace

CostModels scaled_weights(const Hardware& hardware) {
  ComputeSamples samples = drawn_samples(hardware.gpu, kTrainingSamples, kTrainingSeed);
  ComputeSamples few = samples;
  few.cut_to(kChoiceSamples);
  const std::string_view nearest = nearest_hardware(few);
  const CostModels& trained = builtin_weights(nearest);
  CostModels models = trained;
  models.compute = scaled_compute(trained, hardware.gpu, std::move(samples));
  models.all_reduce = all_reduces(hardware.gpu, hardware_named(nearest).network);
  models.metadata = kept_metadata(trained);
  set_hardware_network(models, hardware.network.nodes());
  const double compute = compute_mape(models, hardware.gpu);
  const double comm = comm_mape(models, hardware.network);
  models.metadata["hardware"] = hardware.network.name + ", " + hardware.gpu.name;
  models.metadata["source"] =
      "analytic: costs computed from datasheets, not measured on hardware; "
      "scaled from " +
      std::string(nearest) + ": on costs held back compute is off by " +
      format_percent(compute, 1) + ", communication by " + format_percent(comm, 1);
  if (std::max(compute, comm) > kPoorMape) {
    models.metadata["warning"] = "the weights were scaled from " + std::string(nearest) +
                                 " and are off by " + format_percent(std::max(compute, comm), 1) +
                                 ": predictions are doubtful; train weights of your own";
  }
  return models;
}

}  // namespace neuroshard
