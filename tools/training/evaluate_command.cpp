#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/evaluation.h"
#include "neuroshard/task_models.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/training/accuracy_table.h"
#include "tools/training/training_metadata.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kEvaluateComputeExamples = R"(Example:
  neuroshard evaluate compute --weights my_gpu.safetensors --data data/unseen

Samples on which the model was trained say nothing: collect others, with another --seed.)";

constexpr const char* kEvaluateCommExamples = R"(Example:
  neuroshard evaluate comm --weights my_gpu.safetensors --data data/unseen_4 --data data/unseen_32

Samples on which the model was trained say nothing: collect others, with another --seed.)";

struct EvaluateCommand {
  std::vector<std::string> data;
  ModelOptions models;
  std::string scatter;
  bool json = false;

  [[nodiscard]] std::vector<std::filesystem::path> folders() const {
    return {data.begin(), data.end()};
  }
};

/// One network on its tests of one batch.
struct Evaluated {
  std::string network;
  std::int64_t batch_size = 0;  ///< 0: not known, or several.
  std::vector<TestResult> tests;
};

/// Adds the batch to the name if samples are of several batches.
std::string name_among(const Evaluated& evaluated, std::span<const Evaluated> all) {
  if (all.front().batch_size == all.back().batch_size) return evaluated.network;
  if (evaluated.batch_size == 0) return evaluated.network + ", unknown batch";
  return evaluated.network + ", batch " +
         format_count(static_cast<std::uint64_t>(evaluated.batch_size));
}

nlohmann::ordered_json to_json(const std::string& weights, std::span<const Evaluated> networks) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Evaluated& evaluated : networks) {
    for (const TestResult& test : evaluated.tests) {
      nlohmann::ordered_json result = {{"network", evaluated.network}};
      if (test.devices > 0) result["devices"] = test.devices;
      if (evaluated.batch_size > 0) result["batch_size"] = evaluated.batch_size;
      result["costs"] = test.accuracy.costs;
      result["mse_ms2"] = test.accuracy.mse;
      result["mape"] = test.accuracy.mape;
      result["kendall_tau"] = test.accuracy.kendall_tau;
      results.push_back(result);
    }
  }
  return {{"weights", weights}, {"results", results}};
}

void report(const EvaluateCommand& command, const std::string& weights,
            std::span<const Evaluated> networks, std::optional<ResultOutput>& scatter,
            Console& console) {
  if (command.json) {
    console.out << to_json(weights, networks).dump(2) << '\n';
  } else {
    console.out << "weights  " << printable(weights) << '\n';
    for (const Evaluated& evaluated : networks) {
      console.out << '\n' << accuracy_table(name_among(evaluated, networks), evaluated.tests);
    }
  }
  if (!scatter) return;
  std::vector<ScatterPanel> panels;
  for (auto first = networks.begin(); first != networks.end();) {
    const auto last = std::find_if(first, networks.end(), [&](const Evaluated& evaluated) {
      return evaluated.batch_size != first->batch_size;
    });
    for (std::size_t i = 0; i < first->tests.size(); ++i) {
      for (auto evaluated = first; evaluated != last; ++evaluated) {
        const std::string name = name_among(*evaluated, networks);
        panels.push_back(scatter_panel(name, name, evaluated->tests[i]));
      }
    }
    first = last;
  }
  scatter->finish(scatter_svg(panels, 2));
}

void append_samples(ComputeSamples& all, ComputeSamples more) {
  if (!all.served.empty() || !more.served.empty()) {
    all.served.resize(all.size(), kDefaultBatchSize);
    more.served.resize(more.size(), kDefaultBatchSize);
    all.served.insert(all.served.end(), more.served.begin(), more.served.end());
  }
  const auto first_table = static_cast<std::uint32_t>(all.tables.size());
  const std::size_t first_id = all.table_ids.size();
  std::ranges::move(more.tables, std::back_inserter(all.tables));
  for (const std::uint32_t id : more.table_ids) all.table_ids.push_back(first_table + id);
  for (const std::size_t end : std::span(more.offsets).subspan(1)) {
    all.offsets.push_back(first_id + end);
  }
  all.cost_ms.insert(all.cost_ms.end(), more.cost_ms.begin(), more.cost_ms.end());
}

// Each folder may be of another machine and batch: nothing is learnt from them together.
ComputeSamples read_samples_to_predict(std::span<const std::filesystem::path> folders,
                                       bool any_batch) {
  ComputeSamples all;
  for (const std::filesystem::path& folder : folders) {
    const std::span one(&folder, 1);
    const DataOrigin origin = read_data_origin(one, "compute");
    ComputeSamples samples = read_compute_samples(one);
    if (any_batch) serve_collected_batch(origin, samples);
    append_samples(all, std::move(samples));
  }
  return all;
}

int evaluate_compute_command(const EvaluateCommand& command, Console& console) {
  std::optional<ResultOutput> scatter = optional_output(console, command.scatter);
  const LoadedModels loaded = load_models(command.models);
  const ComputeSamples samples =
      read_samples_to_predict(command.folders(), loaded.models.compute.any_batch());
  if (samples.size() == 0) {
    throw Error("--data: there are no samples; collect some, or name other folders");
  }
  const auto backend = make_cpu_backend(loaded.models);
  const Evaluated evaluated{"compute", 0, {evaluate_compute(*backend, samples)}};
  report(command, loaded.origin, std::span(&evaluated, 1), scatter, console);
  return kExitOk;
}

/// The batch that the communication model for `devices` was trained on, as the weights say.
std::int64_t trained_batch(const CostModels& models, int devices) {
  const std::string part =
      models.dense_comm.contains(devices) ? std::to_string(devices) : std::string("symmetric");
  const auto found = models.metadata.find("comm." + part + ".batch_size");
  if (found == models.metadata.end()) return kDefaultBatchSize;
  return batch_of_text(found->second).value_or(kDefaultBatchSize);
}

/// The models for samples of `batch` (0: not known), from models that know what they were trained
/// on.
CostModels models_for_batch(const CostModels& models, int devices, std::int64_t batch) {
  const std::int64_t trained = trained_batch(models, devices);
  Task task{.devices = devices};
  if (batch != 0 && batch != trained && models.compute.any_batch()) {
    if (trained != kDefaultBatchSize) {
      throw Error("batch_size is " + std::to_string(batch) +
                  ", but the communication models were trained on " + std::to_string(trained) +
                  "; evaluate samples of that batch");
    }
    task.batch_size = batch;
  }
  return models_for(models, comm_setting(task, hardware_network(models)));
}

int evaluate_comm_command(const EvaluateCommand& command, Console& console) {
  std::optional<ResultOutput> scatter = optional_output(console, command.scatter);
  const LoadedModels loaded = load_models(command.models);
  std::map<std::int64_t, std::vector<std::filesystem::path>> folders_of_batch;
  for (const std::filesystem::path& folder : command.folders()) {
    const DataOrigin origin = read_data_origin(std::span(&folder, 1), "comm");
    folders_of_batch[batch_of_text(origin.batch_size).value_or(0)].push_back(folder);
  }
  std::vector<Evaluated> networks;
  for (const auto& [batch, folders] : folders_of_batch) {
    Evaluated forward{"forward", batch, {}};
    Evaluated backward{"backward", batch, {}};
    for (const CommSamples& set : read_comm_samples(folders)) {
      require_comm_model(loaded, set.devices);
      try {
        const auto backend = make_cpu_backend(models_for_batch(loaded.models, set.devices, batch));
        CommTestResult result = evaluate_comm(*backend, set);
        forward.tests.push_back(std::move(result.forward));
        backward.tests.push_back(std::move(result.backward));
      } catch (const Error& error) {
        throw Error(folders.front().string() + ": " + error.what());
      }
    }
    networks.push_back(std::move(forward));
    networks.push_back(std::move(backward));
  }
  report(command, loaded.origin, networks, scatter, console);
  return kExitOk;
}

void add_kind(CLI::App& evaluate, const std::string& kind, const std::string& description,
              const char* examples, int (*run)(const EvaluateCommand&, Console&), Action& chosen) {
  const auto options = std::make_shared<EvaluateCommand>();
  CLI::App* command = evaluate.add_subcommand(kind, description);
  command->footer(examples);
  const command_line::OptionGroup general(*command);
  general.add("--data", "DIR", options->data, "Folder of samples; may be given several times")
      ->required();
  general.add("--scatter", "FILE", options->scatter, "Draw predicted over measured costs as SVG");
  general.flag("--json", options->json, "Print JSON");
  add_model_options(*command, options->models);
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace

void add_evaluate_command(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("evaluate", "Measure how well cost models predict collected costs");
  command->footer("'neuroshard evaluate compute --help' lists its options, with examples.");
  command->require_subcommand(1);
  add_kind(*command, "compute", "Cost of the embedding tables of one device",
           kEvaluateComputeExamples, evaluate_compute_command, chosen);
  add_kind(*command, "comm", "Cost of the all-to-all between the devices", kEvaluateCommExamples,
           evaluate_comm_command, chosen);
}

}  // namespace neuroshard::tools
