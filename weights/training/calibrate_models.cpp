#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/fitting.h"
#include "neuroshard/training.h"
#include "weights/training/candidates.h"
#include "weights/training/comm_trainee.h"
#include "weights/training/compute_trainee.h"
#include "weights/training/linear_start.h"

namespace neuroshard {
namespace {

using training::BestCandidate;
using training::Candidate;

constexpr std::uint64_t kAnewStream = 10;  // A stream of the seed; train_models.cpp has others.
constexpr const char* kCompute = "compute";

// Once true, should_stop stays so, until it no longer counts: several ask it in turn.
class StickyStop {
 public:
  explicit StickyStop(std::function<bool()> should_stop) : should_stop_(std::move(should_stop)) {}

  [[nodiscard]] std::function<bool()> asked() {
    if (!should_stop_) return nullptr;
    return [this] { return counts_ && (stopped_ = stopped_ || should_stop_()); };
  }
  /// The last trainee needs all of its epochs: the errors are those of such trainees.
  void end() { counts_ = false; }

 private:
  std::function<bool()> should_stop_;
  bool stopped_ = false;
  bool counts_ = true;
};

// As many epochs, of such batches, as suit so many samples.
TrainingOptions options_for(std::size_t samples, int most_epochs, const FitOptions& options) {
  constexpr std::size_t kSteppedSamples = 1'200'000;
  constexpr int kFewestEpochs = 20;
  TrainingOptions suited = calibration_options();
  suited.seed = options.seed;
  suited.threads = options.threads;
  suited.on_epoch = options.on_epoch;
  most_epochs = std::min(most_epochs, options.most_epochs);
  const auto enough = static_cast<int>(kSteppedSamples / samples);
  suited.epochs = std::max(1, std::min(most_epochs, std::max(enough, kFewestEpochs)));
  suited.batch = static_cast<int>(std::clamp<std::size_t>(std::bit_floor(samples / 128), 16, 512));
  return suited;
}

TrainingOptions without_epochs(TrainingOptions options) {
  options.epochs = 0;
  return options;
}

// Options of the networks' sizes are the usual ones.
class ComputeCandidates {
 public:
  ComputeCandidates(const ComputeSamples& samples, ThreadTeam& team)
      : samples_(samples), team_(team) {}

  void add_scaled(const ComputeModel& start, const TrainingOptions& options) {
    add(Recipe::kScaled, "compute (scaled)", without_epochs(options),
        [&start](std::span<const std::uint32_t>, const TrainingOptions&) { return start; });
  }
  void add_calibrated(const ComputeModel& start, const TrainingOptions& options) {
    add(Recipe::kCalibrated, kCompute, options,
        [&start](std::span<const std::uint32_t>, const TrainingOptions&) { return start; });
    if (!start.any_batch()) return;
    add(Recipe::kCalibrated, "compute (second start)", options,
        [this, &start](std::span<const std::uint32_t> used, const TrainingOptions& usual) {
          return training::linear_start(start, samples_, used, usual, team_);
        });
  }
  void add_trained(const TrainingOptions& options) {
    candidates_.push_back({Recipe::kTrained, "compute (anew)",
                           [this, options](std::span<const std::uint32_t> used) {
                             Random random(options.seed, kAnewStream);
                             return std::make_unique<training::ComputeTrainee>(
                                 samples_, used,
                                 ComputeNetworkSizes{.table_features = kOperatorFeatures}, options,
                                 training::best_matrix_kernels(), team_, random);
                           },
                           options});
  }

  [[nodiscard]] BestCandidate best(const TrainingOptions& options) const {
    return best_candidate(candidates_,
                          training::shuffled_samples(samples_.size(), "compute samples", options),
                          kCompute);
  }

 private:
  template <typename Start>
  void add(Recipe recipe, const char* network, const TrainingOptions& options, Start start) {
    candidates_.push_back({recipe, network,
                           [this, start, options](std::span<const std::uint32_t> used) {
                             return std::make_unique<training::ComputeTrainee>(
                                 samples_, used, start(used, options), options,
                                 training::best_matrix_kernels(), team_);
                           },
                           options});
  }

  const ComputeSamples& samples_;
  ThreadTeam& team_;
  std::vector<Candidate> candidates_;
};

FittedCompute made(const BestCandidate& best, StickyStop& stop) {
  stop.end();
  const auto trainee = best.calibration->train();
  return {static_cast<training::ComputeTrainee&>(*trainee).model(), best.fit};
}

struct FittedPass {
  CommNetwork network;
  Fit fit;
};

// Without epochs a candidate is left out.
FittedPass fit_pass(const SymmetricCommNetwork* start, std::span<const CommSamples> samples,
                    training::CommPass pass, const TrainingOptions* calibrated,
                    const TrainingOptions* trained, ThreadTeam& team) {
  const std::string name = pass == training::CommPass::kForward ? "forward" : "backward";
  const training::CommRows rows(samples, CommArchitecture::kSymmetric, pass);
  std::vector<Candidate> candidates;
  const auto add_started = [&](Recipe recipe, const std::string& network,
                               const TrainingOptions& options) {
    candidates.push_back(
        {recipe, network,
         [&rows, &team, start, loss = options.loss](std::span<const std::uint32_t> used) {
           return std::make_unique<training::CommTrainee>(rows, used, *start, loss,
                                                          training::best_matrix_kernels(), team);
         },
         options});
  };
  if (start != nullptr) {
    if (trained != nullptr) {
      add_started(Recipe::kScaled, name + " (scaled)", without_epochs(*calibrated));
    }
    add_started(Recipe::kCalibrated, name, *calibrated);
  }
  if (trained != nullptr) {
    candidates.push_back({Recipe::kTrained, name + " (anew)",
                          [&rows, &team, trained](std::span<const std::uint32_t> used) {
                            const std::vector<int> hidden{64, 32};
                            Random random(trained->seed, kAnewStream);
                            return std::make_unique<training::CommTrainee>(
                                rows, used, hidden, trained->loss, training::best_matrix_kernels(),
                                team, random);
                          },
                          *trained});
  }
  const BestCandidate best =
      best_candidate(candidates,
                     training::shuffled_samples(rows.samples(), "communication samples",
                                                candidates.front().options),
                     name);
  const auto trainee = best.calibration->train();
  return {static_cast<training::CommTrainee&>(*trainee).network(), best.fit};
}

const SymmetricCommNetwork& require_symmetric(const CommNetwork& start, const char* name) {
  const auto* const symmetric = std::get_if<SymmetricCommNetwork>(&start);
  if (symmetric != nullptr) return *symmetric;
  throw Error("calibration: the " + std::string(name) +
              " network is of one device count; give weights with a symmetric one");
}

}  // namespace

TrainingOptions calibration_options() {
  return {.epochs = 200, .batch = 16, .loss = TrainingLoss::kRelative, .learning_rate = 4e-3};
}

TrainedCompute calibrate_compute(const ComputeModel& start, const ComputeSamples& samples,
                                 const TrainingOptions& options) {
  training::validate(options);
  validate(start, "calibration");
  ThreadTeam team(options.threads);
  StickyStop stop(options.should_stop);
  TrainingOptions until_stopped = options;
  until_stopped.should_stop = stop.asked();
  ComputeCandidates candidates(samples, team);
  candidates.add_calibrated(start, until_stopped);
  FittedCompute fitted = made(candidates.best(until_stopped), stop);
  return {std::move(fitted.model), std::move(fitted.fit.summary)};
}

TrainedComm calibrate_comm(const CommModel& start, std::span<const CommSamples> samples,
                           const TrainingOptions& options) {
  training::validate(options);
  ThreadTeam team(options.threads);
  FittedPass forward = fit_pass(&require_symmetric(start.forward, "forward"), samples,
                                training::CommPass::kForward, &options, nullptr, team);
  FittedPass backward = fit_pass(&require_symmetric(start.backward, "backward"), samples,
                                 training::CommPass::kBackward, &options, nullptr, team);
  return {{std::move(forward.network), std::move(backward.network)},
          std::move(forward.fit.summary),
          std::move(backward.fit.summary)};
}

FittedCompute fit_compute(const ComputeModel* start, const ComputeSamples& samples,
                          const FitOptions& options) {
  ThreadTeam team(options.threads);
  StickyStop stop(options.should_stop);
  ComputeCandidates candidates(samples, team);
  const std::size_t count = std::max<std::size_t>(samples.size(), 1);
  TrainingOptions calibrated = options_for(count, 200, options);
  TrainingOptions trained = options_for(count, 300, options);
  calibrated.should_stop = trained.should_stop = stop.asked();
  if (start != nullptr && (start->any_batch() || samples.served.empty())) {
    validate(*start, "fit");
    candidates.add_scaled(*start, calibrated);
    candidates.add_calibrated(*start, calibrated);
  }
  candidates.add_trained(trained);
  return made(candidates.best(calibrated), stop);
}

FittedComm fit_comm(const CommModel* start, std::span<const CommSamples> samples,
                    const FitOptions& options) {
  ThreadTeam team(options.threads);
  std::size_t count = 1;
  for (const CommSamples& set : samples) count += set.size();
  TrainingOptions calibrated = options_for(count, 200, options);
  TrainingOptions trained = options_for(count, 300, options);
  calibrated.should_stop = trained.should_stop = options.should_stop;
  const auto fitted = [&](CommNetwork CommModel::*network, training::CommPass pass) {
    const auto* const symmetric =
        start == nullptr ? nullptr : std::get_if<SymmetricCommNetwork>(&(start->*network));
    return fit_pass(symmetric, samples, pass, &calibrated, &trained, team);
  };
  FittedPass forward = fitted(&CommModel::forward, training::CommPass::kForward);
  FittedPass backward = fitted(&CommModel::backward, training::CommPass::kBackward);
  return {{std::move(forward.network), std::move(backward.network)},
          std::move(forward.fit),
          std::move(backward.fit)};
}

std::string_view name_of(Recipe recipe) {
  switch (recipe) {
    case Recipe::kScaled:
      return "scaled";
    case Recipe::kCalibrated:
      return "calibrated";
    case Recipe::kTrained:
      return "trained anew";
  }
  return "";
}

}  // namespace neuroshard
