#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "neuroshard/error.h"
#include "neuroshard/task_models.h"
#include "neuroshard/training.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/training/fit_command.h"
#include "tools/training/fitted_weights.h"
#include "tools/training/train_policy.h"
#include "tools/training/training_session.h"
#include "weights/training/sample_ranges.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kTrainExamples = R"(Example:
  neuroshard train --data data/compute --data data/comm_8 --data data/all_reduce \
      --output my_gpu.safetensors --report my_gpu.html

Each part is scaled from other weights, calibrated or trained anew, whichever best predicts the
samples held back. The sub-commands train one part, as their options say.
docs/training.md has the details.)";

constexpr const char* kTrainComputeExamples = R"(Examples:
  neuroshard train compute --data data/compute --output my_gpu.safetensors --scatter compute.svg
  neuroshard train compute --from built-in --data data/few --output my_gpu.safetensors
                                                       built-in weights, fitted to 50 to 500 samples

Ctrl-C ends training early and keeps the best epoch so far; with --resume the same command goes on.
docs/training.md has the details.)";

constexpr const char* kTrainCommExamples = R"(Examples:
  neuroshard train comm --data data/comm_2 --data data/comm_4 --data data/comm_8 \
      --base my_gpu.safetensors --output my_gpu.safetensors      one model for every device count
  neuroshard train comm --architecture dense --data data/comm_4 \
      --base my_gpu.safetensors --output my_gpu.safetensors      the published one for 4 devices

Ctrl-C ends training early and keeps the best epoch so far; with --resume the same command goes on.
With --from, nothing is kept before the backward network has run an epoch. It is fitted after the
forward one.
docs/training.md has the details.)";

constexpr const char* kTrainAllReduceExamples = R"(Example:
  neuroshard train all-reduce --data data/all_reduce \
      --base my_gpu.safetensors --output my_gpu.safetensors

docs/training.md has the details.)";

constexpr const char* kTrainKindsExamples = R"(Example:
  neuroshard train kinds --data data/kinds \
      --base my_weights.safetensors --output my_weights.safetensors

docs/training.md has the details.)";

constexpr const char* kNetworkHeading = "Network";

struct TrainCompute {
  TrainOptions common;
  ComputeNetworkSizes sizes;
};

struct TrainComm {
  TrainOptions common;
  std::string architecture = "symmetric";
  std::vector<int> hidden;
  NodeNetwork network;
};

void add_file_options(CLI::App& command, TrainOptions& options) {
  const command_line::OptionGroup general(command);
  general.add("--data", "DIR", options.data, "Folder of samples; may be given several times")
      ->required();
  general.add("--output", "FILE", options.output, "Weights file to write (.safetensors)")
      ->required();
  general.add("--base", "FILE", options.base,
              "Weights file whose other models are kept; may be the output file");
  general.add("--scatter", "FILE", options.scatter, "Draw predicted over measured costs as SVG");
  const command_line::OptionGroup about(
      command, "About the data (default: what their collection.json says)");
  about.add("--source", options.source, "Where the costs come from");
  about.add("--hardware", options.hardware, "Hardware that the costs are for");
}

void add_train_options(CLI::App& command, TrainOptions& options) {
  TrainingOptions& training = options.training;
  add_file_options(command, options);
  const command_line::OptionGroup general(command);
  general.add("--log", "FILE", options.log, "Write the errors of every epoch as CSV");
  CLI::Option* const resume =
      general.flag("--resume", options.resume,
                   "Keep the state of training in OUTPUT.PART.partial, and go on from it");
  general
      .add("--from", "WEIGHTS", options.from,
           "Calibrate these weights with few samples, in place of training anew: built-in, " +
               trained_hardware_names() + ", or a file, whose other models are then kept")
      ->excludes(resume);

  const std::string heading = "Training";
  const command_line::OptionGroup how(command, heading);
  how.with_default("--epochs", training.epochs, "Passes over the training samples");
  how.with_default("--seed", training.seed, "Decides split, start weights and order");
  how.with_default("--batch", training.batch, "Samples a step");
  command
      .add_option_function<std::string>(
          "--loss",
          [&training](const std::string& name) {
            training.loss = name == "relative" ? TrainingLoss::kRelative : TrainingLoss::kSquared;
          },
          "Square of the error, or of the error relative to the cost")
      ->check(CLI::IsMember({"squared", "relative"}))
      ->default_str("squared")
      ->group(heading);
  how.with_default("--learning-rate", training.learning_rate, "Learning rate of Adam at the start");
  how.with_default("--final-learning-rate", training.final_learning_rate,
                   "Learning rate at the end, reached along half a cosine");
  CLI::Option* const from = command.get_option("--from");
  how.with_default(
         "--backend", options.backend,
         "Where steps are computed; cuda: on a GPU, with cuBLAS. Losses agree within rounding")
      ->excludes(from)
      ->check(CLI::IsMember({"cpu", "cuda"}));
  how.with_default("--threads", training.threads,
                   "CPU threads; 0: one per core. Results do not depend on them");
}

// Options that are not given get values that suit few samples.
void calibrate_by_default(const CLI::App& command, TrainingOptions& options) {
  const TrainingOptions usual = calibration_options();
  const auto is_given = [&](const char* name) { return command.count(name) > 0; };
  if (!is_given("--epochs")) options.epochs = usual.epochs;
  if (!is_given("--batch")) options.batch = usual.batch;
  if (!is_given("--loss")) options.loss = usual.loss;
  if (!is_given("--learning-rate")) options.learning_rate = usual.learning_rate;
  if (!is_given("--final-learning-rate")) {
    options.final_learning_rate = usual.final_learning_rate;
  }
}

void require_base(const TrainOptions& command) {
  if (!command.base.empty() || !command.from.empty()) return;
  throw Error("a weights file needs a compute model; train one first and give its file as --base");
}

int train_all_reduces(const TrainOptions& command, Console& console) {
  require_base(command);
  TrainingSession session(command, "all-reduce", console);
  const CollectiveSamples samples = read_collective_samples(session.folders());
  const TrainedCollective trained = train_collective(samples);
  (void)session.report("all_reduce", std::span(&trained.summary, 1), ranges_of(samples));
  session.models().all_reduce = trained.model;
  session.finish();
  return kExitOk;
}

int train_kinds(const TrainOptions& command, Console& console) {
  require_base(command);
  TrainingSession session(command, "kinds", console);
  const KindSamples samples = read_kind_samples(session.folders());
  TrainedKindPrices trained = train_kind_prices(samples);
  (void)session.report("kinds", trained.summaries, ranges_of(samples));
  session.models().kind_prices = std::move(trained.prices);
  session.finish();
  return kExitOk;
}

int run(const TrainCompute& command, Console& console) {
  TrainingSession session(command.common, "compute", console);
  ComputeSamples samples = read_compute_samples(session.folders());
  const CostModels* const start = session.calibrated();
  if (start != nullptr ? start->compute.any_batch()
                       : command.sizes.table_features == kOperatorFeatures) {
    session.serve_collected_batch(samples);
  }
  if (!samples.served.empty()) session.describe_batches(ranges_of(samples).at("samples"));
  // Calibration tries two starts.
  const int runs = start != nullptr && start->compute.any_batch() ? 2 : 1;
  const TrainingOptions options = session.start("compute", runs);
  const TrainedCompute trained = start != nullptr
                                     ? calibrate_compute(start->compute, samples, options)
                                     : train_compute(samples, command.sizes, options);
  if (session.report("compute", std::span(&trained.summary, 1), ranges_of(samples))) {
    session.models().compute = trained.model;
  }
  session.finish();
  return kExitOk;
}

std::optional<CommModel> train_part(TrainingSession& session, const std::string& part,
                                    std::span<const CommSamples> samples,
                                    const CommNetworkSizes& sizes) {
  const CostModels* const start = session.calibrated();
  if (start != nullptr && !start->symmetric_comm) {
    throw Error(
        "--from: these weights have no communication model for every device count; give "
        "weights with a symmetric one");
  }
  const TrainingOptions options = session.start(part, 2);
  const TrainedComm trained = start != nullptr
                                  ? calibrate_comm(*start->symmetric_comm, samples, options)
                                  : train_comm(samples, sizes, options);
  const TrainingSummary summaries[] = {trained.forward, trained.backward};
  if (!session.report(part, summaries, ranges_of(samples))) return std::nullopt;
  return trained.model;
}

int run(const TrainComm& command, Console& console) {
  if (command.architecture != "symmetric" && command.architecture != "dense") {
    throw Error("--architecture '" + command.architecture +
                "' is not known; give symmetric or dense");
  }
  require_base(command.common);
  TrainingSession session(command.common, "comm", console);
  const std::vector<CommSamples> sets = read_comm_samples(session.folders());
  CostModels& models = session.models();
  if (command.architecture == "symmetric") {
    const CommNetworkSizes sizes{CommArchitecture::kSymmetric, command.hidden};
    if (auto model = train_part(session, "comm.symmetric", sets, sizes)) {
      models.symmetric_comm = std::move(model);
    }
  } else {
    const CommNetworkSizes sizes{CommArchitecture::kDense, command.hidden};
    for (const CommSamples& set : sets) {
      if (session.interrupted()) break;  // The parts that were trained before are kept.
      const std::string part = "comm." + std::to_string(set.devices);
      if (auto model = train_part(session, part, std::span(&set, 1), sizes)) {
        models.dense_comm[set.devices] = std::move(*model);
      }
    }
  }
  const bool is_stated = command.network.devices_per_node > 0;
  set_known_network(
      models, is_stated ? std::optional(command.network) : datasheet_network(session.hardware()));
  session.finish();
  return kExitOk;
}

void add_train_compute(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<TrainCompute>();
  CLI::App* command = train.add_subcommand("compute", "Cost of the embedding tables of one device");
  command->footer(kTrainComputeExamples);
  add_train_options(*command, options->common);
  const command_line::OptionGroup network(*command, kNetworkHeading);
  network
      .with_default("--table-layers", options->sizes.table_network,
                    "Widths of the table network; the last one is the embedding")
      ->delimiter(',');
  command
      ->add_option_function<std::string>(
          "--features",
          [options](const std::string& name) {
            options->sizes.table_features = name == "operator" ? kOperatorFeatures : kTableFeatures;
          },
          "Features of a table that the network sees: the published ones, for batches of 65,536, "
          "or the operators', for any number of samples")
      ->check(CLI::IsMember({"published", "operator"}))
      ->default_str("published")
      ->group(kNetworkHeading);
  network.with_default("--head-layers", options->sizes.head, "Widths of the head's hidden layers")
      ->delimiter(',');
  for (const char* of_network : {"--table-layers", "--features", "--head-layers"}) {
    command->get_option("--from")->excludes(command->get_option(of_network));
  }
  command->callback([options, command, &chosen] {
    if (!options->common.from.empty()) {
      calibrate_by_default(*command, options->common.training);
    }
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

void add_train_comm(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<TrainComm>();
  CLI::App* command = train.add_subcommand("comm", "Cost of the all-to-all between the devices");
  command->footer(kTrainCommExamples);
  add_train_options(*command, options->common);
  const command_line::OptionGroup network(*command, kNetworkHeading);
  network.with_default(
      "--architecture", options->architecture,
      "symmetric: one model for every device count; dense: one for each, as published");
  network
      .add("--layers", options->hidden,
           "Widths of the hidden layers (default: 64,32 if symmetric, 128,64,32,16 if "
           "dense)")
      ->delimiter(',');
  const command_line::OptionGroup measured(*command,
                                           "Network that was measured, for tasks that state links");
  CLI::Option* const per_node =
      measured
          .add("--devices-per-node", "N", options->network.devices_per_node,
               "Devices of a node; with the other two")
          ->check(CLI::Range(1, kMostDevicesOfModels));
  const auto add_link = [&](const char* name, double& gb_s, const char* help) {
    CLI::Option* const link = measured.add(name, "GB/s", gb_s, help)
                                  ->check(CLI::Range(kLeastGbPerSecond, kMostGbPerSecond))
                                  ->needs(per_node);
    per_node->needs(link);
  };
  add_link("--in-node-gb-s", options->network.links.in_node_gb_s,
           "Bandwidth from a device to the others of its node");
  add_link("--between-nodes-gb-s", options->network.links.between_nodes_gb_s,
           "Bandwidth from a device to other nodes");
  for (const char* of_network : {"--architecture", "--layers"}) {
    command->get_option("--from")->excludes(command->get_option(of_network));
  }
  command->callback([options, command, &chosen] {
    if (!options->common.from.empty()) {
      calibrate_by_default(*command, options->common.training);
    }
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

void add_train_all_reduce(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = train.add_subcommand(
      "all-reduce", "Cost of keeping replicated tables alike: one line per device count");
  command->footer(kTrainAllReduceExamples);
  add_file_options(*command, *options);
  command_line::run_if_given(*command, chosen, options, train_all_reduces);
}

void add_train_kinds(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = train.add_subcommand(
      "kinds", "Prices of row blocks and replicas, if a device's cost is the sum of its shards'");
  command->footer(kTrainKindsExamples);
  add_file_options(*command, *options);
  command_line::run_if_given(*command, chosen, options, train_kinds);
}

}  // namespace

void add_train_command(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("train", "Train cost models on samples that were collected");
  command->footer(kTrainExamples);
  command->require_subcommand(0, 1);
  add_fit_options(*command, chosen);
  add_train_compute(*command, chosen);
  add_train_comm(*command, chosen);
  add_train_all_reduce(*command, chosen);
  add_train_kinds(*command, chosen);
  add_train_policy(*command, chosen);
}

}  // namespace neuroshard::tools
