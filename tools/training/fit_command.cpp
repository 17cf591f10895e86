#include "tools/training/fit_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/training/fit_report.h"
#include "tools/training/fitted_weights.h"

namespace neuroshard::tools {
namespace {

struct FitCommand {
  std::vector<std::string> data;
  std::string output;
  std::string report;
  std::string from;
  double max_error = kUsualMaxError;
  std::uint64_t seed = 0;
  int threads = 0;
};

FittedWeights fitted_with_progress(const FitCommand& command, Console& console) {
  const InterruptGuard guard;
  std::optional<ProgressBar> progress;
  std::string network;
  FitRequest request;
  request.folders.assign(command.data.begin(), command.data.end());
  request.from = command.from;
  request.options.seed = command.seed;
  request.options.threads = command.threads;
  request.options.should_stop = [&] { return guard.interrupted(); };
  request.options.on_epoch = [&](const EpochReport& report) {
    if (report.network != network) {
      network = report.network;
      progress.reset();
      progress.emplace(console, "fitting " + network, static_cast<std::uint64_t>(report.epochs));
    }
    progress->update(static_cast<std::uint64_t>(report.epoch));
  };
  return fit_weights(request);
}

int run(const FitCommand& command, Console& console) {
  if (command.data.empty() || command.output.empty()) {
    throw Error(command.data.empty() ? "--data is missing; give folders of samples"
                                     : "--output is missing; give the weights file to write");
  }
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> report = optional_output(console, command.report);
  const FittedWeights fitted = fitted_with_progress(command, console);
  const std::string page = fit_page(fitted);
  console.out << page;
  if (report) report->finish(fit_html("Cost models: " + command.output, page, fitted));
  const std::vector<std::string> off = terms_off(fitted, command.max_error);
  if (!off.empty()) {
    std::string text = "the samples make no weights to plan by, and nothing is written";
    for (const std::string& term : off) text += "; " + term;
    throw Error(text + "; measure these anew, or give a larger --max-error");
  }
  output.finish(serialize_weights(fitted.models));
  console.out << "wrote " << printable(command.output) << '\n';
  return kExitOk;
}

}  // namespace

void add_fit_options(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<FitCommand>();
  const command_line::OptionGroup group(
      train, "All parts of the weights, by the recipe that is best for each");
  group.add("--data", "DIR", options->data,
            "Folder of samples of 'collect' or neuroshard.calibrate");
  group.add("--output", "FILE", options->output, "Weights file to write (.safetensors)");
  group.add("--report", "FILE", options->report,
            "Write recipes, errors and predicted over measured costs as a page (.html)");
  group.add("--from", "WEIGHTS", options->from,
            "Weights that recipes begin with: built-in, " + trained_hardware_names() +
                ", or a file; default: the built-in ones that are nearest");
  group
      .with_default("--max-error", options->max_error,
                    "Refuse weights with a larger mean error on samples held back; 0.3 is 30 %")
      ->check(CLI::PositiveNumber);
  group.with_default("--seed", options->seed,
                     "Decides parts of the samples, start weights and order");
  group.with_default("--threads", options->threads,
                     "CPU threads; 0: one per core. Results do not depend on them");
  train.callback([options, &train, &chosen] {
    if (!train.get_subcommands().empty()) return;
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

}  // namespace neuroshard::tools
