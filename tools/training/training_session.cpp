#include "tools/training/training_session.h"

#include <cstdio>

#include "neuroshard/cuda_training.h"
#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "tools/text/text.h"
#include "tools/training/accuracy_table.h"
#include "tools/training/fitted_weights.h"
#include "weights/files/atomic_file.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {
namespace {

std::string results_page(const std::string& part, const TrainingSummary& summary) {
  const std::string text =
      part + (summary.network == part ? "" : ", " + summary.network) + ": " +
      format_count(summary.train_samples) + " training samples, " + std::to_string(summary.epochs) +
      " epochs (epoch " + std::to_string(summary.best_epoch) + " kept), " +
      format_number(summary.seconds, 1) + " s, " +
      format_count(static_cast<std::uint64_t>(summary.samples_per_second)) + " samples/s\n";
  return text + accuracy_table("test", summary.tests);
}

}  // namespace

TrainingSession::TrainingSession(const TrainOptions& options, const std::string& kind,
                                 Console& console)
    : options_(options),
      console_(console),
      folders_(options.data.begin(), options.data.end()),
      output_(console, options.output),
      log_(optional_output(console, options.log)),
      scatter_(optional_output(console, options.scatter)),
      origin_(read_data_origin(folders_, kind)),
      backend_(options.backend == "cuda" ? make_cuda_training() : nullptr) {
  if (options.output.empty()) throw Error("--output is empty; give the file to write");
  if (!options.from.empty()) {
    from_ = start_models(options.from);
    origin_.calibrated_from = origin_of(*from_, options.from);
    models_ = *from_;
  }
  if (!options.base.empty()) models_ = load_weights(options.base);
  if (!options.source.empty()) origin_.source = options.source;
  if (!options.hardware.empty()) origin_.hardware = options.hardware;
  if (log_) {
    log_->write("model,network,epoch,train_loss,valid_loss,learning_rate,seconds\n");
  }
}

TrainingOptions TrainingSession::start(const std::string& part, int networks) {
  TrainingOptions training = options_.training;
  training.backend = backend_;
  const auto epochs = static_cast<std::uint64_t>(training.epochs);
  progress_ = std::make_unique<ProgressBar>(console_, "training " + part,
                                            epochs * static_cast<std::uint64_t>(networks));
  training.on_epoch = [this, part, done = std::uint64_t{0}](const EpochReport& report) mutable {
    progress_->update(++done, "validation loss " + format_short(report.valid_loss));
    log_epoch(part, report);
  };
  training.should_stop = [this] { return guard_.interrupted(); };
  if (options_.resume) {
    state_files_.emplace_back(options_.output + '.' + part + ".partial");
    go_on_from_state(training);
  }
  return training;
}

void TrainingSession::go_on_from_state(TrainingOptions& training) {
  if (std::filesystem::exists(state_files_.back())) {
    training.resume_from = read_file(state_files_.back());
    training.resume_name = printable(state_files_.back().string());
    console_.out << "going on from " << printable(state_files_.back().string()) << '\n';
  }
  saved_.reset();
  training.on_state = [this](std::string state) {
    unsaved_state_ = std::move(state);
    // An epoch may take milliseconds.
    constexpr std::chrono::seconds kBetweenSaves{5};
    if (!saved_ || std::chrono::steady_clock::now() - *saved_ > kBetweenSaves) save_state();
  };
}

void TrainingSession::save_state() {
  if (unsaved_state_.empty()) return;
  write_file(state_files_.back(), unsaved_state_);
  unsaved_state_.clear();
  saved_ = std::chrono::steady_clock::now();
}

void TrainingSession::log_epoch(const std::string& part, const EpochReport& report) {
  if (!log_) return;
  char line[256];
  std::snprintf(line, sizeof line, "%s,%s,%d,%.9g,%.9g,%.9g,%.3f\n", part.c_str(),
                report.network.c_str(), report.epoch, report.train_loss, report.valid_loss,
                report.learning_rate, report.seconds);
  log_->write(line);
}

bool TrainingSession::report(const std::string& part, std::span<const TrainingSummary> summaries,
                             const std::map<std::string, TrainingRange>& ranges) {
  progress_.reset();
  save_state();  // A part that is done is saved, too: the next one may be interrupted.
  for (const TrainingSummary& summary : summaries) {
    if (summary.epochs == 0) return false;
  }
  trained_ = true;
  for (const TrainingSummary& summary : summaries) {
    console_.out << results_page(part, summary);
    if (summary.stopped) console_.out << "  stopped early; the best epoch so far is kept\n";
    for (const std::string& term : terms_off(part, summary, kUsualMaxError)) warn(term, console_);
  }
  // Networks side by side, device counts one under the other.
  for (std::size_t i = 0; i < summaries.front().tests.size(); ++i) {
    for (const TrainingSummary& summary : summaries) {
      panels_.push_back(scatter_panel(part, summary.network, summary.tests[i]));
    }
  }
  std::vector<TrainedNetwork> networks;
  for (const TrainingSummary& summary : summaries) networks.push_back({summary, options_.training});
  describe_training(models_, part, origin_, networks, ranges);
  return true;
}

void TrainingSession::finish() {
  if (!trained_) throw Error("stopped in the first epoch; nothing is written");
  output_.finish(serialize_weights(models_));
  console_.out << "wrote " << printable(options_.output) << '\n';
  if (log_) log_->finish();
  if (scatter_) scatter_->finish(scatter_svg(panels_, 2));
  if (state_files_.empty()) return;
  if (interrupted()) {
    console_.out << "the same command goes on after the last epoch\n";
    return;
  }
  std::error_code ignored;
  for (const std::filesystem::path& file : state_files_) std::filesystem::remove(file, ignored);
}

}  // namespace neuroshard::tools
