#include "bench/training/training_runs.h"

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"
#include "neuroshard/error.h"
#include "weights/collection/collect_samples.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/training_backend.h"

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

TrainingOptions options_with(Backend backend) { return {.backend = std::move(backend)}; }

class ComputeRun final : public TrainingRun {
 public:
  ComputeRun(const ComputeSamples& samples, std::size_t most,
             const training::MatrixKernels& kernels, int threads, Backend backend)
      : options_(options_with(std::move(backend))),
        split_(split_of(samples.size(), most)),
        team_(threads),
        random_(kSeed),
        trainee_(samples, split_.train, {}, options_, kernels, team_, random_),
        elsewhere_(training::take_over(trainee_, options_)),
        loop_(trainee(), split_, "compute", options_, random_) {}

  void run_epoch() override { loop_.run_epoch(); }
  double validation_loss() override { return trainee().mean_loss(split_.valid); }
  [[nodiscard]] std::size_t samples_per_epoch() const override { return split_.train.size(); }

 private:
  training::Trainee& trainee() { return elsewhere_ ? *elsewhere_ : trainee_; }

  TrainingOptions options_;
  training::Split split_;
  ThreadTeam team_;
  Random random_;
  training::ComputeTrainee trainee_;
  std::unique_ptr<training::Trainee> elsewhere_;
  training::EpochLoop loop_;
};

class CommRun final : public TrainingRun {
 public:
  CommRun(std::span<const CommSamples> sets, CommArchitecture architecture,
          const std::vector<int>& hidden, std::size_t most, const training::MatrixKernels& kernels,
          int threads, Backend backend)
      : options_(options_with(std::move(backend))),
        rows_(sets, architecture, training::CommPass::kForward),
        split_(split_of(rows_.samples(), most)),
        team_(threads),
        random_(kSeed),
        trainee_(rows_, split_.train, hidden, options_.loss, kernels, team_, random_),
        elsewhere_(training::take_over(trainee_, options_)),
        loop_(trainee(), split_, "forward", options_, random_) {}

  void run_epoch() override { loop_.run_epoch(); }
  double validation_loss() override { return trainee().mean_loss(split_.valid); }
  [[nodiscard]] std::size_t samples_per_epoch() const override { return split_.train.size(); }

 private:
  training::Trainee& trainee() { return elsewhere_ ? *elsewhere_ : trainee_; }

  TrainingOptions options_;
  training::CommRows rows_;
  training::Split split_;
  ThreadTeam team_;
  Random random_;
  training::CommTrainee trainee_;
  std::unique_ptr<training::Trainee> elsewhere_;
  training::EpochLoop loop_;
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
    return std::make_unique<ComputeRun>(set.compute, most_samples, kernels, threads,
                                        std::move(backend));
  }
  if (network == "comm dense") {
    return std::make_unique<CommRun>(set.dense_comm, CommArchitecture::kDense,
                                     std::vector<int>{128, 64, 32, 16}, most_samples, kernels,
                                     threads, std::move(backend));
  }
  if (network == "comm symmetric") {
    return std::make_unique<CommRun>(set.symmetric_comm, CommArchitecture::kSymmetric,
                                     std::vector<int>{64, 32}, most_samples, kernels, threads,
                                     std::move(backend));
  }
  throw Error("no network '" + network + "'");
}

}  // namespace neuroshard::bench
