#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/task_sets.h"
#include "bench/training_runs.h"
#include "neuroshard/error.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kTrainFooter =
    R"(Whole epochs as 'neuroshard train' has them, evaluation of the validation samples included, with the
default layers and batches, on analytic costs of combinations of the tables in --data. Baselines, in
the same trainer: the products by OpenBLAS, and by the portable kernel, which is given fewer samples
as it needs the multiply-add in software on x86.

Examples:
  nsbench train
  nsbench train --networks compute --threads 1)";

struct TrainOptions {
  CommonOptions common;
  std::vector<std::string> networks = trained_networks();
  std::vector<int> threads = default_thread_counts();
  std::size_t samples = 30000;
  std::size_t portable_samples = 512;
  int rounds = 5;
};

/// One network, kernel and number of threads.
struct Timed {
  std::string network;
  const training::MatrixKernels* kernels = nullptr;
  int threads = 1;
  std::unique_ptr<TrainingRun> run;
  std::vector<Elapsed> rounds;

  [[nodiscard]] std::vector<double> samples_per_second() const {
    std::vector<double> rates;
    for (const Elapsed& elapsed : rounds) {
      rates.push_back(1e3 * static_cast<double>(run->samples_per_epoch()) / elapsed.wall_ms);
    }
    return rates;
  }
};

std::vector<const training::MatrixKernels*> kernels_of_this_machine() {
  std::vector<const training::MatrixKernels*> kernels;
  for (const training::MatrixKernels* each : training::all_matrix_kernels()) {
    if (each->supported()) kernels.push_back(each);
  }
  if (openblas_matrix_kernels() != nullptr) kernels.push_back(openblas_matrix_kernels());
  return kernels;
}

// An epoch of few samples must end in the same loss, to the last bit for our own kernels.
void check(const std::string& network, const TrainingSet& set,
           const std::vector<const training::MatrixKernels*>& kernels) {
  constexpr std::size_t kSamples = 256;
  double expected = 0.0;
  for (const training::MatrixKernels* each : kernels) {
    const auto run = make_training_run(network, set, kSamples, *each, 1);
    run->run_epoch();
    const double loss = run->validation_loss();
    if (each == kernels.front()) expected = loss;
    const double allowed = each == openblas_matrix_kernels() ? 1e-3 * expected : 0.0;
    if (std::abs(loss - expected) <= allowed) continue;
    throw Error("'" + std::string(each->name) + "' ends the first epoch of " + network +
                    " with a loss of " + std::to_string(loss) + ", not " +
                    std::to_string(expected) + "; nothing was timed",
                ErrorKind::kBackend);
  }
}

double of_baseline(const std::vector<Timed>& all, const Timed& timed, std::string_view name) {
  for (const Timed& other : all) {
    if (other.network == timed.network && other.threads == timed.threads &&
        other.kernels->name == name) {
      return median(timed.samples_per_second()) / median(other.samples_per_second());
    }
  }
  return std::nan("");
}

void run_train(const TrainOptions& options, std::ostream& out) {
  const TrainingSet set =
      draw_training_set(GoldenFolder(options.common.data).tables(), options.samples);
  const auto kernels = kernels_of_this_machine();
  Context context = machine_context();
  context.emplace_back("samples", with_separators(static_cast<std::int64_t>(options.samples)) +
                                      " of each network, 80 % of them trained on");
  out << context_block(context) << std::flush;

  std::vector<Timed> all;
  for (const std::string& network : options.networks) {
    check(network, set, kernels);
    for (const training::MatrixKernels* each : kernels) {
      for (const int threads : options.threads) {
        const std::size_t most =
            each->name == "portable" ? options.portable_samples : options.samples;
        all.push_back(
            {network, each, threads, make_training_run(network, set, most, *each, threads), {}});
      }
    }
  }
  for (int round = 0; round <= options.rounds; ++round) {
    for (Timed& timed : all) {
      const Stopwatch watch;
      timed.run->run_epoch();
      if (round > 0) timed.rounds.push_back(watch.elapsed());  // The first one warms up.
    }
  }

  JsonReport report;
  MarkdownTable table(
      {"network", "products", "threads", "samples/s", "spread", "vs openblas", "vs portable"});
  for (const Timed& timed : all) {
    const std::vector<double> rates = timed.samples_per_second();
    const auto versus = [&](std::string_view name) {
      const double ratio = of_baseline(all, timed, name);
      return std::isfinite(ratio) ? three_digits(ratio) : std::string("-");
    };
    table.add_row({timed.network, std::string(timed.kernels->name), std::to_string(timed.threads),
                   three_digits(median(rates)), percent(relative_spread(rates)), versus("openblas"),
                   versus("portable")});
    report.add({.name = "train/" + timed.network + "/" + std::string(timed.kernels->name) +
                        "/threads:" + std::to_string(timed.threads),
                .rounds = timed.rounds,
                .operations = 1,
                .threads = timed.threads,
                .figures = {{"samples_per_second", median(rates)}},
                .label = ""});
  }
  out << '\n' << table.str();
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
}

}  // namespace

void add_train_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = program.add_subcommand("train", "Samples trained on per second");
  command->footer(kTrainFooter);
  command->add_option("--data", options->common.data, "Folder of tables to draw combinations of")
      ->type_name("FOLDER")
      ->capture_default_str();
  command->add_option("--json", options->common.json, "Results as Google Benchmark writes them")
      ->type_name("FILE");
  command->add_option("--networks", options->networks, "What to train")
      ->delimiter(',')
      ->check(CLI::IsMember(trained_networks()))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads of the trainer")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--samples", options->samples, "Samples of each network")
      ->check(CLI::Range(300, 10000000))
      ->capture_default_str();
  command
      ->add_option("--portable-samples", options->portable_samples,
                   "Samples that the portable kernel trains on")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Timed epochs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback(
      [options, &chosen] { chosen = [options](std::ostream& out) { run_train(*options, out); }; });
}

}  // namespace neuroshard::bench
