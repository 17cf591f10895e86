#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/training.h"
#include "tools/commands.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/training/scatter_svg.h"
#include "tools/training/training_metadata.h"

namespace neuroshard::tools {

/// Options that all of `train` has in common.
struct TrainOptions {
  std::vector<std::string> data;
  std::string output;
  std::string base;     ///< Weights file whose other models are kept; may be empty.
  std::string from;     ///< Models to calibrate: "built-in", a hardware's or a file; may be empty.
  std::string log;      ///< CSV; may be empty.
  std::string scatter;  ///< SVG; may be empty.
  bool resume = false;  ///< Keep the state of training beside the output, and go on from it.
  std::string source;   ///< Source of the costs; empty: what the data folders say.
  std::string hardware;
  std::string backend = "cpu";
  TrainingOptions training;
};

/// One run of a training command: what it reads besides the samples, and all that it writes. Output
/// files appear at the end; Ctrl-C stops training, and the best epoch so far is written. With
/// `resume` a kill costs no more than some seconds: the state of training is in
/// OUTPUT.PART.partial, which goes when all parts are done.
class TrainingSession {
 public:
  /// `kind`: "compute", "comm", "all-reduce" or "kinds". Throws Error on options, folders or files
  /// that cannot be used.
  TrainingSession(const TrainOptions& options, const std::string& kind, Console& console);

  [[nodiscard]] const std::vector<std::filesystem::path>& folders() const { return folders_; }
  /// Models of the base file; without one, those that are calibrated.
  [[nodiscard]] CostModels& models() { return models_; }
  /// Models that are calibrated with the samples; null: models are trained anew.
  [[nodiscard]] const CostModels* calibrated() const { return from_ ? &*from_ : nullptr; }
  /// Samples that say nothing else serve the batch that they were collected with.
  void serve_collected_batch(ComputeSamples& samples) const {
    tools::serve_collected_batch(origin_, samples);
  }
  /// Hardware that the samples are costs of, as far as it is known.
  [[nodiscard]] const std::string& hardware() const { return origin_.hardware; }
  /// The samples' own batches take the place of what the folders say.
  void describe_batches(const TrainingRange& samples) { origin_.batch_size = samples.text(); }
  [[nodiscard]] bool interrupted() const { return guard_.interrupted(); }

  /// For training `part`, a name as in describe_training, of `networks` networks: with progress
  /// bar, log and Ctrl-C. Valid until the next call.
  [[nodiscard]] TrainingOptions start(const std::string& part, int networks);
  /// Reports on a part that has been trained and describes it in the metadata. False if it was
  /// stopped before the first epoch had ended: its weights are worth nothing. `ranges` are those of
  /// the samples.
  [[nodiscard]] bool report(const std::string& part, std::span<const TrainingSummary> summaries,
                            const std::map<std::string, TrainingRange>& ranges);
  /// Writes all files. Throws Error if no part was trained.
  void finish();

 private:
  void log_epoch(const std::string& part, const EpochReport& report);
  void go_on_from_state(TrainingOptions& training);
  void save_state();

  const TrainOptions& options_;
  Console& console_;
  std::vector<std::filesystem::path> folders_;
  ResultOutput output_;
  std::optional<ResultOutput> log_;
  std::optional<ResultOutput> scatter_;
  std::optional<CostModels> from_;
  CostModels models_;
  DataOrigin origin_;
  bool trained_ = false;
  std::vector<ScatterPanel> panels_;
  std::unique_ptr<ProgressBar> progress_;
  std::vector<std::filesystem::path> state_files_;  ///< Files of the parts so far, if `resume`.
  std::string unsaved_state_;                       ///< State of the last part.
  std::optional<std::chrono::steady_clock::time_point> saved_;
  std::shared_ptr<const TrainingBackend> backend_;
  InterruptGuard guard_;
};

}  // namespace neuroshard::tools
