#include "weights/training/epoch_loop.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "neuroshard/error.h"

namespace neuroshard::training {

double learning_rate_at(const TrainingOptions& options, double progress) {
  const double remaining = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return options.final_learning_rate +
         remaining * (options.learning_rate - options.final_learning_rate);
}

void deal_out(std::vector<std::uint32_t> samples, const std::string& what, Random& random,
              Split& split) {
  constexpr std::size_t kFewest = 10;
  if (samples.size() < kFewest) {
    throw Error("training data: " + std::to_string(samples.size()) + " " + what +
                "; give at least 10, so that training, validation and test get some each");
  }
  shuffle(std::span(samples), random);
  const std::size_t tenth = samples.size() / 10;
  const auto valid = samples.end() - static_cast<std::ptrdiff_t>(2 * tenth);
  const auto test = samples.end() - static_cast<std::ptrdiff_t>(tenth);
  split.train.insert(split.train.end(), samples.begin(), valid);
  split.valid.insert(split.valid.end(), valid, test);
  split.test.insert(split.test.end(), test, samples.end());
}

EpochLoop::EpochLoop(Trainee& trainee, const Split& split, std::string network,
                     const TrainingOptions& options, Random& random)
    : trainee_(trainee), split_(split), options_(options), random_(random), order_(split.train) {
  summary_.network = std::move(network);
  summary_.train_samples = split.train.size();
  summary_.valid_samples = split.valid.size();
  summary_.test_samples = split.test.size();
  summary_.valid_loss = std::numeric_limits<double>::infinity();
}

// All steps of an epoch, or those before a stop. Returns how many samples they took.
std::size_t EpochLoop::run_steps(EpochReport& report) {
  const auto batch = static_cast<std::size_t>(options_.batch);
  const std::size_t steps_per_epoch = (order_.size() + batch - 1) / batch;
  const double all_steps = static_cast<double>(steps_per_epoch) * options_.epochs;
  shuffle(std::span(order_), random_);
  trainee_.begin_epoch(order_);
  std::size_t done = 0;
  while (done < order_.size() && !summary_.stopped) {
    const std::size_t count = std::min(batch, order_.size() - done);
    report.learning_rate = learning_rate_at(options_, static_cast<double>(steps_) / all_steps);
    trainee_.queue_step(count, report.learning_rate);
    done += count;
    ++steps_;
    summary_.stopped = options_.should_stop && options_.should_stop();
  }
  report.train_loss = trainee_.epoch_loss();
  return done;
}

void EpochLoop::run_epoch() {
  const auto begin = std::chrono::steady_clock::now();
  EpochReport report;
  report.epoch = epochs() + 1;
  const std::size_t done = run_steps(report);
  samples_ += done;

  // Also after a part of an epoch: the best so far may be this one.
  report.valid_loss = trainee_.mean_loss(split_.valid);
  if (!std::isfinite(report.valid_loss)) {
    throw Error("training " + summary_.network + ": the error is no longer finite in epoch " +
                std::to_string(report.epoch) + "; use a lower learning rate");
  }
  if (report.valid_loss < summary_.valid_loss) trainee_.remember_weights();
  if (done == order_.size()) summary_.epochs = report.epoch;
  report.seconds = summary_.seconds +
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  note(report);
}

// `report` has what the epoch measured.
void EpochLoop::note(const EpochReport& report) {
  if (report.valid_loss < summary_.valid_loss) {
    summary_.valid_loss = report.valid_loss;
    summary_.best_epoch = report.epoch;
  }
  summary_.seconds = report.seconds;
  EpochReport& noted = history_.emplace_back(report);
  noted.network = summary_.network;
  noted.epochs = options_.epochs;
  noted.best_valid_loss = summary_.valid_loss;
  if (options_.on_epoch) options_.on_epoch(noted);
}

void EpochLoop::visit_state(StateVisitor& visitor) {
  const std::string& network = summary_.network;
  std::vector<double> numbers;
  for (const EpochReport& report : history_) {
    numbers.insert(numbers.end(),
                   {report.train_loss, report.valid_loss, report.learning_rate, report.seconds});
  }
  visitor.numbers(network + ".history", numbers);
  constexpr std::size_t kNumbers = 4;  // Numbers of an epoch.
  if (numbers.size() % kNumbers != 0 ||
      numbers.size() / kNumbers > static_cast<std::size_t>(options_.epochs)) {
    throw Error("training state: " + network + ".history: has " + std::to_string(numbers.size()) +
                " numbers; it is of another run");
  }
  history_.resize(numbers.size() / kNumbers);
  for (std::size_t i = 0; i < history_.size(); ++i) {
    const double* of_epoch = &numbers[kNumbers * i];
    history_[i].epoch = static_cast<int>(i) + 1;
    history_[i].train_loss = of_epoch[0];
    history_[i].valid_loss = of_epoch[1];
    history_[i].learning_rate = of_epoch[2];
    history_[i].seconds = of_epoch[3];
  }
  trainee_.visit_state(network, visitor);
}

void EpochLoop::go_on() {
  const auto batch = static_cast<std::size_t>(options_.batch);
  for (const EpochReport& report : std::exchange(history_, {})) {
    shuffle(std::span(order_), random_);
    steps_ += (order_.size() + batch - 1) / batch;
    samples_ += order_.size();
    summary_.epochs = report.epoch;
    note(report);
  }
}

TrainingSummary EpochLoop::finish() {
  trainee_.recall_weights();
  summary_.samples_per_second = static_cast<double>(samples_) / summary_.seconds;
  return summary_;
}

void validate(const TrainingOptions& options) {
  const auto check = [](bool ok, const std::string& message) {
    if (!ok) throw Error("training options: " + message);
  };
  const auto rate_ok = [](double rate) { return std::isfinite(rate) && rate > 0.0 && rate <= 1.0; };
  check(options.epochs >= 1, "epochs is " + std::to_string(options.epochs) + "; give at least 1");
  check(options.batch >= 1, "batch is " + std::to_string(options.batch) + "; give at least 1");
  check(rate_ok(options.learning_rate) && rate_ok(options.final_learning_rate),
        "a learning rate is not in (0, 1]; 0.001 is usual");
  check(options.threads >= 0 && options.threads <= 1024,
        "threads is " + std::to_string(options.threads) +
            "; give a number up to 1024, or 0 for one per core");
}

void validate_widths(std::span<const int> widths, const std::string& what) {
  constexpr int kWidest = 4096;
  if (widths.empty()) throw Error(what + ": give at least one layer width");
  for (const int width : widths) {
    if (width < 1 || width > kWidest) {
      throw Error(what + ": layer width " + std::to_string(width) + " is not between 1 and 4096");
    }
  }
}

}  // namespace neuroshard::training
