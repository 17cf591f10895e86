#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/fingerprint.h"
#include "core/base/random.h"
#include "core/plans/id_exchange.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/weights.h"
#include "tools/collecting/collect_command.h"
#include "tools/command_line/options.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/text/text.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/cost_sources.h"
#include "weights/collection/sample_draws.h"
#include "weights/collection/sample_log.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kCollectPlansExamples = R"(Example:
  neuroshard collect plans --backend analytic --weights my_gpu.safetensors --devices 64 \
      --table-configs tables/table_configs.json --tasks 100 --output data/plans_64
  neuroshard train compute --data data/compute --data data/plans_64/compute ...
  neuroshard train comm --data data/comm_64 --data data/plans_64/comm ...

A search goes where its models err in its favour, and samples that are drawn are seldom there.)";

struct CollectPlans {
  std::string backend;
  std::string gpu = std::string(kDefaultGpu);
  std::string network = std::string(kDefaultNetwork);
  ModelOptions models;
  SearchChoice search;
  std::string table_configs;
  std::string output;
  int devices = 0;
  int tasks = 100;
  int max_tables = 400;
  double memory_gb = 40.0;
  int compute_devices = 8;
  int variants = 8;
  std::uint64_t seed = 0;
};

// A task like those that are planned: tables of the file, more of them on more devices or fewer,
// at dims of all kinds, and half of them with another batch than the usual one.
Task draw_task(std::span<const Table> tables, const CollectPlans& command, Random& random) {
  Task task{.devices = command.devices, .memory_bytes = bytes_from_gib(command.memory_gb)};
  const auto count = static_cast<int>(random.log_uniform(1.0, command.max_tables + 1.0));
  if (random.below(2) == 0) {
    task.batch_size = draw_served_samples(ComputeDrawOptions::Samples::kIterations, random);
  }
  double room = static_cast<double>(total_room_bytes(task));
  for (int i = 0; i < count; ++i) {
    Table table = tables[random.below(tables.size())];
    table.dim = draw_dim(random);
    const auto bytes = static_cast<double>(table.size_bytes());
    if (bytes > room) continue;
    room -= bytes;
    task.tables.push_back(std::move(table));
  }
  return task;
}

/// Settings that decide the samples, as far as both folders have them.
CollectionDescription description_of(const CollectPlans& command, const LoadedModels& loaded,
                                     const TableConfigs& configs) {
  const auto fingerprint_of = [](std::string_view bytes) {
    Fingerprint fingerprint;
    fingerprint.add(bytes);
    return hex_digits(fingerprint.value());
  };
  return {{"source", command.backend},
          {"batch", std::to_string(kDefaultBatchSize)},
          {"seed", std::to_string(command.seed)},
          {"draws", "plans"},
          {"gpu", command.gpu},
          {"network", command.network},
          {"devices", std::to_string(command.devices)},
          {"tasks", std::to_string(command.tasks)},
          {"max_tables", std::to_string(command.max_tables)},
          {"memory_bytes", std::to_string(bytes_from_gib(command.memory_gb))},
          {"compute_devices", std::to_string(command.compute_devices)},
          {"variants", std::to_string(command.variants)},
          {"effort", command.search.effort},
          {"weights", std::filesystem::path(loaded.place).filename().string()},
          {"weights_fingerprint", fingerprint_of(serialize_weights(loaded.models))},
          {"tables_fingerprint", fingerprint_of(serialize_table_configs(configs.tables, true))}};
}

/// The two folders. Planning takes long, so what cannot be written, or may not be overwritten, is
/// found out before.
class PlanCollections {
 public:
  PlanCollections(const CollectPlans& command, const CollectionDescription& description)
      : operators_(command.output, "compute", command.gpu, description),
        exchanges_(command.output, "comm", command.network, description) {}

  /// Samples of the same description.
  [[nodiscard]] bool complete() const { return operators_.collected && exchanges_.collected; }

  void write(std::span<const Table> tables, std::string_view operators,
             std::string_view exchanges) {
    operators_.write(tables, operators);
    exchanges_.write({}, exchanges);
  }

 private:
  struct Folder {
    Folder(const std::filesystem::path& output, const std::string& kind,
           const std::string& hardware, CollectionDescription common)
        : path(output / kind), description(std::move(common)) {
      description["kind"] = kind;
      description["hardware"] = hardware;
      collected = has_collection(path, description);
      samples.emplace(path / "data.txt");
    }
    void write(std::span<const Table> tables, std::string_view lines) {
      prepare_collection(path, description, tables);
      samples->write(lines);
      samples->commit();
    }

    std::filesystem::path path;
    CollectionDescription description;
    bool collected = false;
    std::optional<AtomicFile> samples;
  };

  Folder operators_;
  Folder exchanges_;
};

/// Samples of plans, gathered before they are written.
class PlanSamples {
 public:
  PlanSamples(const CollectPlans& command, const GpuSpec& gpu, const NetworkSpec& network)
      : command_(command),
        gpu_(gpu),
        comm_(make_analytic_comm_source(network, kDefaultBatchSize)) {}

  void add(const Task& task, const Plan& plan, Random& random) {
    const std::vector<std::vector<TableSlice>> shards = slices_by_device(plan);
    const HistogramScale to_batch(static_cast<double>(task.batch_size));
    SliceTables slice_tables(task);
    std::vector<std::vector<Table>> tables(shards.size());
    std::vector<std::int64_t> dim_sums(shards.size(), 0);
    std::vector<double> compute_ms(shards.size(), 0.0);
    std::int64_t most_ids = 0;
    for (std::size_t d = 0; d < shards.size(); ++d) {
      std::int64_t ids = 0;
      std::vector<Table> of_batch;
      for (const TableSlice& slice : shards[d]) {
        Table table = slice_tables.of(slice);
        dim_sums[d] += output_columns(table, slice.dim);
        ids += id_units(table, task.exchange);
        of_batch.push_back(scaled(table, task.batch_size, to_batch));
        tables[d].push_back(std::move(table));
      }
      most_ids = std::max(most_ids, id_columns(ids, task.exchange));
      if (of_batch.empty()) continue;
      compute_ms[d] =
          analytic_compute(gpu_, of_batch, static_cast<double>(task.batch_size)).total_ms();
    }
    add_operators(task, tables, compute_ms, random);
    add_replicas(task, plan);
    if (!plan.slices.empty()) add_exchanges(task, dim_sums, compute_ms, most_ids, random);
  }

  void write(PlanCollections& collections) const {
    collections.write(tables_, operators_, exchanges_);
  }

 private:
  static Table scaled(Table table, std::int64_t samples, const HistogramScale& scale) {
    if (samples != kDefaultBatchSize) table.access_histogram = scale(table);
    return table;
  }

  void add_operator(std::span<const Table> tables, std::int64_t samples, double cost_ms) {
    std::vector<int> ids;
    for (const Table& table : tables) {
      ids.push_back(static_cast<int>(tables_.size()));
      tables_.push_back(table);
    }
    operators_ += compute_sample_line(ids, cost_ms, samples) + '\n';
  }

  // Adds operators of the device that computes longest, and of others at random.
  void add_operators(const Task& task, const std::vector<std::vector<Table>>& tables,
                     const std::vector<double>& compute_ms, Random& random) {
    std::vector<std::size_t> busy;
    for (std::size_t d = 0; d < tables.size(); ++d) {
      if (!tables[d].empty()) busy.push_back(d);
    }
    if (busy.empty()) return;
    std::swap(busy.front(),
              *std::ranges::max_element(busy, {}, [&](std::size_t d) { return compute_ms[d]; }));
    const auto count = std::min(busy.size(), static_cast<std::size_t>(command_.compute_devices));
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) std::swap(busy[i], busy[i + random.below(busy.size() - i)]);
      add_operator(tables[busy[i]], task.batch_size, compute_ms[busy[i]]);
    }
  }

  void add_replicas(const Task& task, const Plan& plan) {
    if (plan.replicas.empty()) return;
    const auto samples = static_cast<std::int64_t>(std::llround(samples_of_replicas(task)));
    const HistogramScale to_share(static_cast<double>(samples));
    std::vector<Table> tables;
    std::vector<Table> of_share;
    for (const int table : plan.replicas) {
      tables.push_back(in_replica_operator(task.tables[static_cast<std::size_t>(table)]));
      of_share.push_back(scaled(tables.back(), samples, to_share));
    }
    add_operator(tables, samples,
                 analytic_compute(gpu_, of_share, static_cast<double>(samples)).total_ms());
  }

  // The plan's all-to-alls, those of plans with more or fewer columns and other offsets, and that
  // of the ids.
  void add_exchanges(const Task& task, const std::vector<std::int64_t>& dim_sums,
                     const std::vector<double>& compute_ms, std::int64_t most_ids, Random& random) {
    constexpr double kMostColumns = 16384.0;
    const double batches = static_cast<double>(task.batch_size) / kDefaultBatchSize;
    const std::vector<double> none(dim_sums.size(), 0.0);
    const std::vector<double> backward_ms = comm_->cost({dim_sums, none}).backward_ms;
    // Costs of other batches are those of the usual one with offsets in proportion (scaled_comm()),
    // so that is what the network will be asked.
    std::vector<double> offsets(dim_sums.size());
    for (std::size_t d = 0; d < offsets.size(); ++d) {
      offsets[d] = compute_ms[d] / batches + backward_ms[d];
    }
    const double first = std::ranges::min(offsets);
    for (double& offset : offsets) offset -= first;
    add_exchange(dim_sums, offsets);
    const auto most = static_cast<double>(std::ranges::max(dim_sums));
    for (int i = 1; i < command_.variants; ++i) {
      constexpr double kMost = 8.0;
      const double columns = std::min(random.log_uniform(1.0 / kMost, kMost), kMostColumns / most);
      const double times = random.log_uniform(1.0 / kMost, 2.0);
      std::vector<std::int64_t> other_sums;
      std::vector<double> other_offsets;
      for (std::size_t d = 0; d < offsets.size(); ++d) {
        other_sums.push_back(std::llround(static_cast<double>(dim_sums[d]) * columns));
        other_offsets.push_back(offsets[d] * times);
      }
      add_exchange(other_sums, other_offsets);
    }
    add_exchange(std::vector<std::int64_t>(dim_sums.size(), most_ids), none);
  }

  void add_exchange(const std::vector<std::int64_t>& dim_sums, const std::vector<double>& offsets) {
    const CommCost cost = comm_->cost({dim_sums, offsets});
    exchanges_ += comm_sample_line(dim_sums, offsets, cost.forward_ms, cost.backward_ms) + '\n';
  }

  const CollectPlans& command_;
  const GpuSpec& gpu_;
  std::unique_ptr<CommCostSource> comm_;
  std::vector<Table> tables_;
  std::string operators_;
  std::string exchanges_;
};

int run(const CollectPlans& given, Console& console) {
  if (given.backend != "analytic") {
    throw Error("--backend '" + given.backend + "' is not known; give analytic");
  }
  const GpuSpec& gpu = gpu_named(given.gpu);
  const NetworkSpec& network = network_named(given.network);
  CollectPlans command = given;
  command.gpu = gpu.name;  // Not that of the hardware it may have been chosen by.
  command.network = network.name;
  const LoadedModels loaded = load_models(command.models);
  require_comm_model(loaded, command.devices);
  const TableConfigs configs = load_table_configs(command.table_configs);
  PlannerOptions options = command.search.options();
  options.threads = 1;
  const Planner planner(loaded.models, options);
  PlanCollections collections(command, description_of(command, loaded, configs));
  if (collections.complete()) {
    console.out << printable(command.output) << ": has these samples already\n";
    return kExitOk;
  }
  PlanSamples samples(command, gpu, network);
  const InterruptGuard guard;
  int planned = 0;
  {
    ProgressBar progress(console, "planning", static_cast<std::uint64_t>(command.tasks));
    for (int i = 0; i < command.tasks; ++i) {
      if (guard.interrupted()) throw Error("stopped; nothing is written");
      Random random(command.seed, static_cast<std::uint64_t>(i));
      const Task task = draw_task(configs.tables, command, random);
      if (task.tables.empty()) continue;
      if (const PlanResult result = planner.plan(task); result.plan) {
        samples.add(task, *result.plan, random);
        ++planned;
      }
      progress.update(static_cast<std::uint64_t>(i) + 1);
    }
  }
  if (planned == 0) {
    throw Error(command.table_configs + ": no task of these tables fits; give more --memory-gb");
  }
  samples.write(collections);
  console.out << printable(command.output) << ": samples of " << format_count(planned)
              << " plans\n";
  return kExitOk;
}

}  // namespace

void add_collect_plans(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectPlans>();
  CLI::App* command = collect.add_subcommand(
      "plans", "Both kinds of cost, for plans that a search with given weights finds");
  command->footer(kCollectPlansExamples);
  options->search.effort = "fast";
  const command_line::OptionGroup general(*command);
  general
      .add("--output", "DIR", options->output,
           "Folder of the folders compute and comm; earlier samples of these options, "
           "weights and tables are kept, others refused")
      ->required();
  general.add("--backend", options->backend, "analytic")->required();
  add_gpu_option(*command, options->gpu);
  add_network_option(*command, options->network);
  general.add("--table-configs", "FILE", options->table_configs, "Tables to draw tasks from")
      ->required();
  general.add("--devices", options->devices, "Devices of each task")
      ->check(CLI::Range(1, kMaxDevices))
      ->required();
  general.with_default("--tasks", options->tasks, "Number of tasks to plan")
      ->check(CLI::Range(1, 1000000));
  general.with_default("--max-tables", options->max_tables, "Most tables of a task")
      ->check(CLI::Range(1, 100000));
  general.with_default("--memory-gb", options->memory_gb, "GiB of a device");
  general
      .with_default("--compute-devices", options->compute_devices,
                    "Most devices of one plan that give a compute sample")
      ->check(CLI::Range(1, kMaxDevices));
  general
      .with_default("--variants", options->variants,
                    "Communication samples of a plan: its own, and others in proportion")
      ->check(CLI::Range(1, 1000));
  general.with_default("--seed", options->seed, "Decides what is drawn");
  add_effort_option(*command, options->search);
  add_model_options(*command, options->models);
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace neuroshard::tools
