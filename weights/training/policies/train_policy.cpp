#include "weights/training/policies/train_policy.h"

#include <array>

#include "core/base/fingerprint.h"
#include "neuroshard/error.h"
#include "neuroshard/version.h"
#include "neuroshard/weights.h"
#include "weights/training/epoch_loop.h"
#include "weights/training/policies/policy_trainer.h"

namespace neuroshard::training {
namespace {

constexpr std::size_t kLeastTablesToTrain = 40;
constexpr int kTrainingTasks = 200;
constexpr int kComparedTasks = 40;
// Streams of random numbers; iterations have those from 1 on.
constexpr std::uint64_t kTaskStream = std::uint64_t{1} << 32;

std::unique_ptr<PolicyTrainer> make_trainer(const std::string& algorithm,
                                            const PolicyTraining& training) {
  if (algorithm == "dreamshard") return make_dreamshard_trainer(training);
  if (algorithm == "autoshard") return make_autoshard_trainer(training);
  throw Error("there is no policy of algorithm '" + algorithm + "'; give dreamshard or autoshard");
}

void check_options(std::span<const Table> tables, const PolicyTrainingOptions& options) {
  if (options.iterations < 1 || options.iterations > 100'000) {
    throw Error("--iterations is " + std::to_string(options.iterations) +
                "; give between 1 and 100000");
  }
  if (tables.size() < kLeastTablesToTrain) {
    throw Error("there are " + std::to_string(tables.size()) +
                " tables to train a policy on; give at least " +
                std::to_string(kLeastTablesToTrain));
  }
}

/// All that decides the policy.
std::uint64_t fingerprint_of(const PolicyTrainingOptions& options, const std::vector<Task>& tasks) {
  Fingerprint fingerprint;
  fingerprint.add(NEUROSHARD_VERSION);
  fingerprint.add(options.algorithm);
  const Hardware& hardware = options.hardware;
  const std::array numbers = {hardware.gpu.hbm_gb_per_s,
                              hardware.gpu.l2_bytes,
                              hardware.gpu.clock_ghz,
                              static_cast<double>(hardware.gpu.multiprocessors),
                              hardware.network.links.in_node_gb_s,
                              hardware.network.links.between_nodes_gb_s,
                              static_cast<double>(hardware.network.gpus_per_node),
                              static_cast<double>(options.iterations),
                              static_cast<double>(options.seed)};
  fingerprint.add(std::span<const double>(numbers));
  if (options.models) fingerprint.add(serialize_weights(*options.models));
  for (const Task& task : tasks) {
    for (const Table& table : task.tables) {
      const std::array table_numbers = {static_cast<double>(table.rows),
                                        static_cast<double>(table.dim), table.pooling_factor};
      fingerprint.add(std::span<const double>(table_numbers));
      fingerprint.add(std::span<const double>(table.access_histogram));
    }
  }
  return fingerprint.value();
}

double mean_cost_ms(const PolicyTrainer& trainer, const std::vector<Task>& tasks) {
  const PackedPolicy packed(select_cpu_kernels("auto"), trainer.policy());
  double sum_ms = 0.0;
  for (const Task& task : tasks) {
    const auto run = packed.start(task.tables, static_cast<std::size_t>(task.devices));
    sum_ms += trainer.cost_ms(task, place_all(*run, best_device));
  }
  return sum_ms / static_cast<double>(tasks.size());
}

/// The networks as numbers, for the state of training.
void visit_networks(PlacementPolicy& policy, StateVisitor& visitor) {
  std::visit(
      [&]<typename Policy>(Policy& networks) {
        for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
          const std::string name = "best." + std::string(part.name) + ".";
          for (std::size_t k = 0; k < (networks.*part.network).layers.size(); ++k) {
            DenseLayer& layer = (networks.*part.network).layers[k];
            visitor.floats(name + std::to_string(k) + ".weight", layer.weight);
            visitor.floats(name + std::to_string(k) + ".bias", layer.bias);
          }
        }
      },
      policy.networks);
}

}  // namespace

TrainedPolicy train_policy(std::span<const Table> tables, const PolicyTrainingOptions& options) {
  check_options(tables, options);
  Random random(options.seed, kTaskStream);
  std::vector<Table> shuffled(tables.begin(), tables.end());
  shuffle(std::span(shuffled), random);
  const std::span<const Table> halves(shuffled);
  const std::size_t half = shuffled.size() / 2;
  const PolicyPrices prices =
      options.models ? PolicyPrices(*options.models) : PolicyPrices(options.hardware);
  const std::vector<Task> tasks =
      draw_policy_tasks(halves.first(half), prices.device_counts(), kTrainingTasks, random);
  const std::vector<Task> compared =
      draw_policy_tasks(halves.subspan(half), prices.device_counts(), kComparedTasks, random);
  const auto trainer = make_trainer(
      options.algorithm,
      {.tasks = tasks, .prices = prices, .seed = options.seed, .iterations = options.iterations});
  const std::uint64_t fingerprint = fingerprint_of(options, tasks);

  TrainedPolicy trained{.policy = trainer->policy(), .cost_ms = {}, .best_iteration = 0};
  const VisitState visit = [&](StateVisitor& visitor) {
    trainer->visit_state(visitor);
    visit_networks(trained.policy, visitor);
    visitor.numbers("cost_ms", trained.cost_ms);
    long best = trained.best_iteration;
    visitor.count("best_iteration", best);
    trained.best_iteration = static_cast<int>(best);
  };
  if (!options.resume_from.empty()) {
    read_state(options.resume_from, options.resume_name, fingerprint, visit);
  }
  for (;;) {
    const int iteration = static_cast<int>(trained.cost_ms.size());
    if (iteration > options.iterations) break;
    if (iteration > 0) trainer->iterate(iteration - 1);
    const double cost_ms = mean_cost_ms(*trainer, compared);
    if (iteration == 0 ||
        cost_ms < trained.cost_ms[static_cast<std::size_t>(trained.best_iteration)]) {
      trained.policy = trainer->policy();
      trained.best_iteration = iteration;
    }
    trained.cost_ms.push_back(cost_ms);
    if (options.on_iteration) options.on_iteration({iteration, cost_ms});
    if (options.on_state) options.on_state(write_state(fingerprint, visit));
    if (options.should_stop && options.should_stop()) break;
  }
  std::map<std::string, std::string>& metadata = trained.policy.metadata;
  if (options.models) {
    metadata["source"] = "cost models";
  } else {
    metadata["hardware"] = options.hardware.name;
    metadata["source"] = "analytic costs";
  }
  metadata["iterations"] = std::to_string(trained.cost_ms.size() - 1);
  metadata["best_iteration"] = std::to_string(trained.best_iteration);
  metadata["seed"] = std::to_string(options.seed);
  return trained;
}

}  // namespace neuroshard::training
