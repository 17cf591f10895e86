#include "bench/training/training_runs.h"

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"
#include "neuroshard/error.h"
#include "weights/collection/collect_samples.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/network_training.h"

namespace neuroshard::bench {
namespace {

constexpr std::uint64_t kSeed = 1;

CommSamples draw_comm_samples(int devices, std::size_t count) {
  const auto source = make_analytic_comm_source(network_named(kDefaultNetwork), kDefaultBatchSize);
  return drawn_comm_samples(*source, {.devices = devices}, count, kSeed);
}

training::Split split_of(std::size_t samples, std::size_t most_training) {
  Random random(kSeed);
  training::Split split;
  training::deal_out(count_up<std::uint32_t>(samples), "samples", random, split);
  if (most_training < split.train.size()) {
    split.train.resize(most_training);
    split.valid.resize(std::max<std::size_t>(1, most_training / 8));
  }
  return split;
}

using Backend = std::shared_ptr<const TrainingBackend>;

template <typename Trainee>
class NetworkRun final : public TrainingRun {
 public:
  /// `make(samples, options, team, random)` makes the trainee, which may borrow `rows`.
  template <typename Make>
  NetworkRun(training::Split split, const char* network, int threads, Backend backend,
             std::unique_ptr<const training::CommRows> rows, const Make& make)
      : rows_(std::move(rows)),
        options_{.backend = std::move(backend)},
        team_(threads),
        training_(std::move(split), network, options_, Random(kSeed),
                  [&](std::span<const std::uint32_t> samples, Random& random) {
                    return make(samples, options_, team_, random);
                  }) {}

  void run_epoch() override { training_.loop().run_epoch(); }
  double validation_loss() override {
    return training_.trainee().mean_loss(training_.split().valid);
  }
  [[nodiscard]] std::size_t samples_per_epoch() const override {
    return training_.split().train.size();
  }

 private:
  std::unique_ptr<const training::CommRows> rows_;
  TrainingOptions options_;
  ThreadTeam team_;
  training::NetworkTraining<Trainee> training_;
};

}  // namespace

TrainingSet draw_training_set(const std::vector<Table>& tables, std::size_t samples) {
  TrainingSet set;
  set.compute.tables = augment_dims(tables);
  const auto source =
      make_analytic_compute_source(gpu_named(kDefaultGpu), set.compute.tables, kDefaultBatchSize);
  for (std::size_t i = 0; i < samples; ++i) {
    Random random(kSeed, i);
    const std::vector<int> ids = draw_shard(set.compute.tables, {}, random);
    set.compute.add(ids, source->cost_ms(ids));
  }
  set.dense_comm.push_back(draw_comm_samples(4, samples));
  for (const int devices : {2, 4, 8}) {
    set.symmetric_comm.push_back(draw_comm_samples(devices, samples / 3));
  }
  return set;
}

const std::vector<std::string>& trained_networks() {
  static const std::vector<std::string> names = {"compute", "comm dense", "comm symmetric"};
  return names;
}

std::unique_ptr<TrainingRun> make_training_run(const std::string& network, const TrainingSet& set,
                                               std::size_t most_samples,
                                               const training::MatrixKernels& kernels, int threads,
                                               std::shared_ptr<const TrainingBackend> backend) {
  if (network == "compute") {
    return std::make_unique<NetworkRun<training::ComputeTrainee>>(
        split_of(set.compute.size(), most_samples), "compute", threads, std::move(backend), nullptr,
        [&](auto samples, const TrainingOptions& options, ThreadTeam& team, Random& random) {
          return training::ComputeTrainee(set.compute, samples, {}, options, kernels, team, random);
        });
  }
  const auto comm_run = [&](std::span<const CommSamples> sets, CommArchitecture architecture,
                            const std::vector<int>& hidden) {
    auto rows = std::make_unique<const training::CommRows>(sets, architecture,
                                                           training::CommPass::kForward);
    const training::CommRows& borrowed = *rows;
    return std::make_unique<NetworkRun<training::CommTrainee>>(
        split_of(borrowed.samples(), most_samples), "forward", threads, std::move(backend),
        std::move(rows),
        [&](auto samples, const TrainingOptions& options, ThreadTeam& team, Random& random) {
          return training::CommTrainee(borrowed, samples, hidden, options.loss, kernels, team,
                                       random);
        });
  };
  if (network == "comm dense") {
    return comm_run(set.dense_comm, CommArchitecture::kDense, {128, 64, 32, 16});
  }
  if (network == "comm symmetric") {
    return comm_run(set.symmetric_comm, CommArchitecture::kSymmetric, {64, 32});
  }
  throw Error("no network '" + network + "'");
}

}  // namespace neuroshard::bench
