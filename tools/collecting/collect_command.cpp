#include "tools/collecting/collect_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

void add_collection_options(CLI::App& command, CollectionOptions& options) {
  const command_line::OptionGroup general(command);
  general
      .add("--output", "DIR", options.output,
           "Folder of the samples; new ones are added to those that it has")
      ->required();
  general
      .with_default("--samples", options.samples,
                    "Samples that the folder has at the end, earlier ones included")
      ->check(CLI::NonNegativeNumber);
  general.with_default("--seed", options.seed, "Decides what is drawn");
}

void add_gpu_option(CLI::App& command, std::string& gpu) {
  const command_line::OptionGroup general(command);
  general.with_default(
      "--gpu", "NAME", gpu,
      "Datasheet of the GPU, for the analytic backend; or that of " + known_hardware_names());
}

void add_network_option(CLI::App& command, std::string& network) {
  const command_line::OptionGroup general(command);
  general.with_default(
      "--network", "NAME", network,
      "Datasheet of the network, for the analytic backend; or that of " + known_hardware_names());
}

int run_collection(const CollectionOptions& options, Console& console,
                   const std::function<void(const CollectionRun&, SampleLog&)>& collect) {
  using Clock = std::chrono::steady_clock;
  const std::string path = (std::filesystem::path(options.output) / "data.txt").string();
  SampleLog log(path);
  if (log.removed_bytes() > 0) {
    warn(path + ": removed " + format_bytes(static_cast<std::int64_t>(log.removed_bytes())) +
             " of a line that an earlier run had not finished",
         console);
  }
  const std::uint64_t before = log.size();
  const InterruptGuard guard;
  const Clock::time_point start = Clock::now();
  {
    // The bar counts this run's samples, so that its time left is right after a resume.
    const std::uint64_t wanted = options.samples > before ? options.samples - before : 0;
    ProgressBar progress(console, "collecting", wanted);
    CollectionRun run;
    run.samples = options.samples;
    run.seed = options.seed;
    run.progress = [&](std::uint64_t samples) { progress.update(samples - before); };
    run.should_stop = [&] { return guard.interrupted(); };
    collect(run, log);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  console.out << printable(path) << ": " << format_count(log.size()) << " samples, "
              << format_count(log.size() - before) << " of them new, in "
              << format_number(seconds, 1) << " s\n";
  if (log.size() < options.samples) {
    console.out << "stopped early; the same command goes on\n";
  }
  return kExitOk;
}

void add_collect_command(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand(
      "collect",
      "Measure the costs that the models are trained on, or compute them from datasheets");
  command->footer("'neuroshard collect compute --help' lists its options, with examples.");
  command->require_subcommand(1);
  add_collect_compute(*command, chosen);
  add_collect_comm(*command, chosen);
  add_collect_all_reduce(*command, chosen);
  add_collect_plans(*command, chosen);
}

}  // namespace neuroshard::tools
