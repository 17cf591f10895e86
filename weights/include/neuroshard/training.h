#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/published_sizes.h"
#include "neuroshard/training_data.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Loss that training minimises: the mean of a cost's squared error, in ms^2 or relative to the
/// cost.
enum class TrainingLoss {
  kSquared,  ///< The published one. Small costs may be far off, in relation.
  /// ((predicted - measured) / max(measured, 1 % of the mean cost))^2; linear in errors above 10 %.
  kRelative,
};

/// Computes the steps of training in the place of the CPU (neuroshard/cuda_training.h).
class TrainingBackend;

/// State of one network after an epoch. Losses are in ms^2 if squared, without unit if relative.
struct EpochReport {
  /// "compute", "forward" or "backward"; "compute (second start)" in calibrate_compute().
  std::string network;
  int epoch = 0;  ///< 1 after the first.
  int epochs = 0;
  double train_loss = 0.0;  ///< Mean over the epoch's batches, while the weights were changing.
  double valid_loss = 0.0;
  double best_valid_loss = 0.0;
  double learning_rate = 0.0;  ///< Rate of the last step.
  double seconds = 0.0;        ///< Time since training of this network began.
};

struct TrainingOptions {
  int epochs = 200;
  int batch = 512;  ///< Samples a step of Adam.
  TrainingLoss loss = TrainingLoss::kSquared;
  double learning_rate = 4e-3;
  /// The rate falls from `learning_rate` to this along half a cosine. Equal: constant rate (the
  /// published training: 1e-3 for both).
  double final_learning_rate = 1e-5;
  /// Decides split, start weights and order of the samples. A seed gives the same weights bit for
  /// bit, whatever the number of threads.
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: one per core.
  /// Null: the CPU. Others take the same steps, with sums in another order: losses are those of the
  /// CPU within rounding, which adds up over the steps. States to resume from serve all of them.
  std::shared_ptr<const TrainingBackend> backend{};
  /// Called on the training thread after every epoch.
  std::function<void(const EpochReport&)> on_epoch{};
  /// Asked after every step; true ends training, which keeps the best epoch so far.
  std::function<bool()> should_stop{};
  /// Called on the training thread after every epoch that was not stopped, with the state of
  /// training: bytes that a later call can go on from.
  std::function<void(std::string state)> on_state{};
  /// State of a call with the same samples, sizes and options (but for the number of threads);
  /// empty: begin anew. Training goes on after its epochs, which `on_epoch` is told of first, and
  /// ends in the same weights bit for bit as without the interruption.
  std::string resume_from{};
  /// Name of `resume_from` in errors: its file, say.
  std::string resume_name = "resume_from";
};

/// Distance of predictions from measured costs.
struct Accuracy {
  std::size_t costs = 0;
  double mse = 0.0;  ///< ms^2
  double mape =
      0.0;  ///< Mean of |predicted - measured| / measured, of costs above zero; 0.05 = 5 %.
  /// Kendall's tau-b: 1 if the predictions put all costs in the right order.
  double kendall_tau = 0.0;
};
[[nodiscard]] Accuracy measure_accuracy(std::span<const float> measured_ms,
                                        std::span<const float> predicted_ms);

/// A trained network on the samples that were held back from it.
struct TestResult {
  int devices = 0;  ///< 0: compute cost.
  std::vector<float> measured_ms;
  std::vector<float> predicted_ms;
  Accuracy accuracy;
};

/// With its accuracy.
[[nodiscard]] TestResult test_result(int devices, std::vector<float> measured_ms,
                                     std::vector<float> predicted_ms);

struct TrainingSummary {
  std::string network;
  std::size_t train_samples = 0;
  std::size_t valid_samples = 0;
  std::size_t test_samples = 0;
  int epochs = 0;      ///< Epochs that were finished.
  int best_epoch = 0;  ///< The one kept: lowest loss on the validation samples.
  bool stopped = false;
  double valid_loss = 0.0;
  std::vector<TestResult> tests;    ///< One per device count.
  double seconds = 0.0;             ///< Time of the epochs, including their evaluation.
  double samples_per_second = 0.0;  ///< Training samples over `seconds`.
};

struct TrainedCompute {
  ComputeModel model;
  TrainingSummary summary;
};
struct TrainedComm {
  CommModel model;
  TrainingSummary forward;
  TrainingSummary backward;
};

/// Widths of the hidden layers.
struct ComputeNetworkSizes {
  int table_features = kTableFeatures;  ///< kOperatorFeatures is for samples of any batch.
  std::vector<int> table_network = {kPublishedTableHidden,
                                    kPublishedEmbedding};  ///< The last one is the embedding width.
  std::vector<int> head = {kPublishedHeadHidden};
};

enum class CommArchitecture { kDense, kSymmetric };
struct CommNetworkSizes {
  CommArchitecture architecture = CommArchitecture::kSymmetric;
  std::vector<int> hidden;  ///< Empty: 128, 64, 32, 16 if dense and 64, 32 if symmetric.
};

// Samples are split 80/10/10 into training, validation and test; Adam minimises the loss; the epoch
// with the lowest loss on the validation samples is kept. Both functions throw Error
// (kInvalidInput) on fewer than 10 samples (per device count) and on an option out of range. They
// also throw it on a state to resume from that is damaged or of other training, or if the error
// stops being finite.

[[nodiscard]] TrainedCompute train_compute(const ComputeSamples& samples,
                                           const ComputeNetworkSizes& sizes = {},
                                           const TrainingOptions& options = {});

/// A dense network takes samples of one device count. A symmetric one takes any number of them;
/// each sample weighs the same, whatever its device count.
[[nodiscard]] TrainedComm train_comm(std::span<const CommSamples> samples,
                                     const CommNetworkSizes& sizes = {},
                                     const TrainingOptions& options = {});

// Calibration fits a model of another machine to few samples of this one, 50 to 500. All costs are
// multiplied by the factor that fits; then a factor for each input and hidden unit, the biases and
// the last layer are trained. Samples are split into five parts, and five models each predict the
// part that they were not given. The number of epochs, from none at all, at which they predict best
// is the one that the result is trained for, with all samples. The summary's tests are those of the
// five models, each on the part that it did not see. Compute models with operator features are
// calibrated twice, with all epochs reported. The second start is calibrated beforehand to
// operators at costs of a linear fit, for machines that are unlike the start's. The better result
// is kept, and the first if the second's error stops being finite. If training is stopped in the
// first cross-validation, the best so far is kept; in the second, the first. The result's own
// training runs to its end. Both functions throw Error (kInvalidInput) on fewer than 20 samples, on
// samples that the start's features do not know, and on a network of one device count. They also
// throw it on an option out of range, to keep a state or of a backend, or if the error stops being
// finite.

/// Options that suit few samples: small batches, and errors in relation to the costs.
[[nodiscard]] TrainingOptions calibration_options();

[[nodiscard]] TrainedCompute calibrate_compute(
    const ComputeModel& start, const ComputeSamples& samples,
    const TrainingOptions& options = calibration_options());
/// `start` has symmetric networks; samples may be of any device counts.
[[nodiscard]] TrainedComm calibrate_comm(const CommModel& start,
                                         std::span<const CommSamples> samples,
                                         const TrainingOptions& options = calibration_options());

struct TrainedCollective {
  CollectiveModel model;
  TrainingSummary
      summary;  ///< Tested on each fifth sample of a device count, fitted to the others.
};

/// Fits a line to the samples of each device count, so that the squares of the errors in relation
/// to the costs are least; errors above 10 % count in proportion. Throws Error if a device count
/// has fewer than 5 samples, or all of one size.
[[nodiscard]] TrainedCollective train_collective(const CollectiveSamples& samples);

struct TrainedKindPrices {
  KindPrices prices;
  /// One for each kind, named after it: tested on each fifth sample, fitted to the others.
  std::vector<TrainingSummary> summaries;
};

/// Fits a price to the samples of each kind, so that the squares of the errors in relation to the
/// costs are least; numbers that would be negative are 0. Amounts that go together in all samples
/// share what they cost. Throws Error if there are no samples, or fewer than 10 of a kind, or if
/// one costs nothing.
[[nodiscard]] TrainedKindPrices train_kind_prices(const KindSamples& samples);

}  // namespace neuroshard
#pragma GCC visibility pop
