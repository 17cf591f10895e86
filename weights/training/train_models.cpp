#include <algorithm>
#include <array>
#include <string>

#include "core/base/count_up.h"
#include "core/base/fingerprint.h"
#include "neuroshard/error.h"
#include "neuroshard/training.h"
#include "neuroshard/version.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/network_training.h"

namespace neuroshard {
namespace {

using training::Split;

// Streams of a seed, so that the split of the samples depends on nothing else.
constexpr std::uint64_t kSplitStream = 1;
constexpr std::uint64_t kComputeStream = 2;
constexpr std::uint64_t kForwardStream = 3;
constexpr std::uint64_t kBackwardStream = 4;

// Adds all options that decide the weights. Bits may change from version to version.
void add_options(Fingerprint& fingerprint, const TrainingOptions& options) {
  fingerprint.add(NEUROSHARD_VERSION);
  const std::array<double, 5> numbers{
      static_cast<double>(options.epochs), static_cast<double>(options.batch),
      static_cast<double>(options.loss), options.learning_rate, options.final_learning_rate};
  fingerprint.add(std::span<const double>(numbers));
  fingerprint.add(std::span<const std::uint64_t>(&options.seed, 1));
}

std::uint64_t fingerprint_of(const ComputeSamples& samples, const ComputeNetworkSizes& sizes,
                             const TrainingOptions& options) {
  Fingerprint fingerprint;
  add_options(fingerprint, options);
  fingerprint.add(std::span<const int>(sizes.table_network));
  fingerprint.add(std::span<const int>(sizes.head));
  for (const Table& table : samples.tables) {
    const auto features = table_features(table, table.dim);
    fingerprint.add(std::span<const float>(features));
  }
  if (sizes.table_features != kTableFeatures) {
    fingerprint.add(std::span<const int>(&sizes.table_features, 1));
    fingerprint.add(std::span<const std::int64_t>(samples.served));
  }
  fingerprint.add(std::span<const std::size_t>(samples.offsets));
  fingerprint.add(std::span<const std::uint32_t>(samples.table_ids));
  fingerprint.add(std::span<const float>(samples.cost_ms));
  return fingerprint.value();
}

std::uint64_t fingerprint_of(std::span<const CommSamples> sets, CommArchitecture architecture,
                             std::span<const int> hidden, const TrainingOptions& options) {
  Fingerprint fingerprint;
  add_options(fingerprint, options);
  const int kind = static_cast<int>(architecture);
  fingerprint.add(std::span<const int>(&kind, 1));
  fingerprint.add(hidden);
  for (const CommSamples& set : sets) {
    fingerprint.add(std::span<const int>(&set.devices, 1));
    fingerprint.add(std::span<const std::int64_t>(set.dim_sums));
    for (const auto* costs : {&set.start_offsets_ms, &set.forward_ms, &set.backward_ms}) {
      fingerprint.add(std::span<const float>(*costs));
    }
  }
  return fingerprint.value();
}

// Otherwise nobody needs a fingerprint, which takes a look at all samples.
bool keeps_state(const TrainingOptions& options) {
  return options.on_state || !options.resume_from.empty();
}

// State of loops that run in turns, which outlives an interruption.
class ResumableLoops {
 public:
  // Puts them where options.resume_from was.
  ResumableLoops(std::vector<training::EpochLoop*> loops, std::uint64_t fingerprint,
                 const TrainingOptions& options)
      : loops_(std::move(loops)), fingerprint_(fingerprint), options_(options) {
    if (options.resume_from.empty()) return;
    const auto put_back = [&](training::StateVisitor& visitor) {
      visit(visitor);
      for (const training::EpochLoop* loop : loops_) {
        if (loop->epochs() != loops_.front()->epochs()) {
          throw Error("training state: its networks have not been trained equally long");
        }
      }
    };
    training::read_state(options.resume_from, options.resume_name, fingerprint, put_back);
    for (training::EpochLoop* loop : loops_) loop->go_on();
  }

  // When all loops have run equally many epochs. A stop may have come in the middle of one.
  void save() const {
    if (!options_.on_state) return;
    for (const training::EpochLoop* loop : loops_) {
      if (loop->stopped()) return;
    }
    options_.on_state(training::write_state(
        fingerprint_, [&](training::StateVisitor& visitor) { visit(visitor); }));
  }

 private:
  void visit(training::StateVisitor& visitor) const {
    for (training::EpochLoop* loop : loops_) loop->visit_state(visitor);
  }

  std::vector<training::EpochLoop*> loops_;
  std::uint64_t fingerprint_;
  const TrainingOptions& options_;
};

Split split_by_device_count(const training::CommRows& rows, std::uint64_t seed) {
  Split split;
  Random random(seed, kSplitStream);
  for (std::size_t set = 0; set < rows.sets(); ++set) {
    const std::size_t first = rows.first_of_set(set);
    const int devices = rows.devices(static_cast<std::uint32_t>(first));
    training::deal_out(count_up<std::uint32_t>(first, rows.first_of_set(set + 1)),
                       "communication samples of " + std::to_string(devices) + " devices", random,
                       split);
  }
  return split;
}

// One of the two networks of a communication model.
class CommTraining {
 public:
  CommTraining(std::span<const CommSamples> samples, const CommNetworkSizes& sizes,
               std::span<const int> hidden, training::CommPass pass, const TrainingOptions& options,
               ThreadTeam& team)
      : rows_(samples, sizes.architecture, pass),
        training_(split_by_device_count(rows_, options.seed),
                  is_forward(pass) ? "forward" : "backward", options,
                  Random(options.seed, is_forward(pass) ? kForwardStream : kBackwardStream),
                  [&](std::span<const std::uint32_t> samples_of_training, Random& random) {
                    return training::CommTrainee(rows_, samples_of_training, hidden, options.loss,
                                                 training::best_matrix_kernels(), team, random);
                  }) {}

  training::EpochLoop& loop() { return training_.loop(); }

  TrainingSummary finish(CommNetwork& network) {
    TrainingSummary summary = training_.finish();
    network = training_.trained().network();
    return summary;
  }

 private:
  static bool is_forward(training::CommPass pass) { return pass == training::CommPass::kForward; }

  training::CommRows rows_;
  training::NetworkTraining<training::CommTrainee> training_;
};

}  // namespace

TrainedCompute train_compute(const ComputeSamples& samples, const ComputeNetworkSizes& sizes,
                             const TrainingOptions& options) {
  training::validate(options);
  training::validate_widths(sizes.table_network, "table network");
  training::validate_widths(sizes.head, "head");
  Split split;
  Random split_random(options.seed, kSplitStream);
  training::deal_out(count_up<std::uint32_t>(samples.size()), "compute samples", split_random,
                     split);

  ThreadTeam team(options.threads);
  training::NetworkTraining<training::ComputeTrainee> compute(
      std::move(split), "compute", options, Random(options.seed, kComputeStream),
      [&](std::span<const std::uint32_t> samples_of_training, Random& random) {
        return training::ComputeTrainee(samples, samples_of_training, sizes, options,
                                        training::best_matrix_kernels(), team, random);
      });
  const ResumableLoops resumable({&compute.loop()},
                                 keeps_state(options) ? fingerprint_of(samples, sizes, options) : 0,
                                 options);
  while (!compute.loop().done()) {
    compute.loop().run_epoch();
    resumable.save();
  }
  TrainedCompute trained;
  trained.summary = compute.finish();
  trained.model = compute.trained().model();
  return trained;
}

TrainedComm train_comm(std::span<const CommSamples> samples, const CommNetworkSizes& sizes,
                       const TrainingOptions& options) {
  std::vector<int> hidden = sizes.hidden;
  if (hidden.empty() && sizes.architecture == CommArchitecture::kDense) hidden = {128, 64, 32, 16};
  if (hidden.empty() && sizes.architecture == CommArchitecture::kSymmetric) hidden = {64, 32};
  training::validate(options);
  training::validate_widths(hidden, "communication network");

  ThreadTeam team(options.threads);
  CommTraining forward(samples, sizes, hidden, training::CommPass::kForward, options, team);
  CommTraining backward(samples, sizes, hidden, training::CommPass::kBackward, options, team);
  const ResumableLoops resumable(
      {&forward.loop(), &backward.loop()},
      keeps_state(options) ? fingerprint_of(samples, sizes.architecture, hidden, options) : 0,
      options);
  // In turns, so that whoever stops early has both.
  for (CommTraining* next = &forward; !next->loop().done();
       next = next == &forward ? &backward : &forward) {
    next->loop().run_epoch();
    if (next == &backward) resumable.save();
  }
  TrainedComm trained;
  trained.forward = forward.finish(trained.model.forward);
  trained.backward = backward.finish(trained.model.backward);
  return trained;
}

}  // namespace neuroshard
