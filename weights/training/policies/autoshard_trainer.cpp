#include <deque>

#include "core/policies/policy_features.h"
#include "weights/training/policies/autoshard_trainee.h"
#include "weights/training/policies/policy_trainer.h"

namespace neuroshard::training {
namespace {

// As published.
constexpr double kLearnerRate = 1e-3;
constexpr std::size_t kActors = 8;
constexpr std::size_t kStepsOfRollout = 100;
constexpr int kCostUpdates = 20;
constexpr std::size_t kShardsOfUpdate = 512;
constexpr std::size_t kKeptShards = 5000;

// Policy steps of an iteration, at whose beginning all actors begin episodes.
constexpr int kUpdates = 5;

struct KnownShard {
  std::vector<std::uint32_t> tables;  ///< Among those of all tasks, one after the other.
  double cost_ms;
};

/// Places one task after the other.
struct Actor {
  std::shared_ptr<const PackedAutoshard> policy;  ///< That of the episode's beginning.
  std::unique_ptr<AutoshardRun> run;
  std::size_t task = 0;
  std::size_t placed = 0;
  Placement placement{};
  std::vector<std::vector<std::uint32_t>> on_device{};
};

class AutoshardTrainer final : public PolicyTrainer {
 public:
  explicit AutoshardTrainer(const PolicyTraining& training)
      : training_(training),
        normalization_(autoshard_normalization(all_tables(training.tasks))),
        trainee_(random_networks<AutoshardPolicy>(training.seed)) {
    for (const Task& task : training_.tasks) {
      first_row_.push_back(static_cast<std::uint32_t>(features_.size() / kPolicyFeatureStride));
      const AlignedVector<float> rows = autoshard_features(normalization_, task.tables);
      features_.insert(features_.end(), rows.begin(), rows.end() - kPolicyFeatureStride);
    }
  }

  void iterate(int iteration) override {
    Random random(training_.seed, static_cast<std::uint64_t>(iteration) + 1);
    std::vector<Actor> actors(kActors);
    for (int update = 0; update < kUpdates; ++update) {
      const double progress = iteration + static_cast<double>(update) / kUpdates;
      const double learning_rate = kLearnerRate * training_.rate_left(progress);
      const auto packed = std::make_shared<const PackedAutoshard>(networks());
      BatchRows rows(features_);
      std::vector<AutoshardRollout> rollouts;
      rollouts.reserve(actors.size());
      for (Actor& actor : actors) rollouts.push_back(act(actor, packed, rows, random));
      (void)trainee_.step_policy(rows.features(), rollouts, learning_rate);
      for (int i = 0; i < kCostUpdates && !shards_.empty(); ++i) step_costs(random, learning_rate);
    }
  }

  [[nodiscard]] PlacementPolicy policy() const override { return {networks(), {}}; }

  [[nodiscard]] double cost_ms(const Task& task, const Placement& placement) const override {
    return std::ranges::max(training_.prices.compute_ms(task, placement));
  }

  void visit_state(StateVisitor& visitor) override {
    trainee_.visit_state(visitor);
    std::vector<double> numbers;
    for (const KnownShard& shard : shards_) {
      numbers.push_back(shard.cost_ms);
      numbers.push_back(static_cast<double>(shard.tables.size()));
      numbers.insert(numbers.end(), shard.tables.begin(), shard.tables.end());
    }
    visitor.numbers("shards", numbers);
    shards_.clear();
    for (std::size_t i = 0; i + 1 < numbers.size();) {
      KnownShard shard{{}, numbers[i]};
      const auto count = static_cast<std::size_t>(numbers[i + 1]);
      i += 2;
      for (std::size_t t = 0; t < count; ++t) {
        shard.tables.push_back(static_cast<std::uint32_t>(numbers.at(i++)));
      }
      shards_.push_back(std::move(shard));
    }
  }

 private:
  static std::vector<Table> all_tables(const std::vector<Task>& tasks) {
    std::vector<Table> tables;
    for (const Task& task : tasks) {
      tables.insert(tables.end(), task.tables.begin(), task.tables.end());
    }
    return tables;
  }

  [[nodiscard]] AutoshardPolicy networks() const {
    AutoshardPolicy networks = trainee_.networks();
    networks.features = normalization_;
    return networks;
  }

  void begin_episode(Actor& actor, const std::shared_ptr<const PackedAutoshard>& packed,
                     Random& random) const {
    actor.task = random.below(training_.tasks.size());
    const Task& task = training_.tasks[actor.task];
    const auto devices = static_cast<std::size_t>(task.devices);
    actor.run.reset();
    actor.policy = packed;
    actor.run = std::make_unique<AutoshardRun>(kernels_, *packed, task.tables, devices);
    actor.placed = 0;
    actor.placement.assign(task.tables.size(), 0);
    actor.on_device.assign(devices, {});
  }

  [[nodiscard]] AutoshardStep observed(const Actor& actor, BatchRows& rows) const {
    const std::vector<std::size_t>& order = actor.run->order();
    AutoshardStep step;
    step.row = rows.row_of(row_of(actor.task, order[actor.placed]));
    step.progress = static_cast<float>(actor.placed) / static_cast<float>(order.size());
    step.begins_episode = actor.placed == 0;
    for (std::size_t d = 0; d < actor.on_device.size(); ++d) {
      step.loads.push_back(actor.run->load(d));
      step.on_device.emplace_back();
      for (const std::uint32_t table : actor.on_device[d]) {
        step.on_device.back().push_back(rows.row_of(table));
      }
    }
    return step;
  }

  AutoshardRollout act(Actor& actor, const std::shared_ptr<const PackedAutoshard>& packed,
                       BatchRows& rows, Random& random) {
    if (!actor.run) begin_episode(actor, packed, random);
    AutoshardRollout rollout{.start = actor.run->state(), .steps = {}};
    for (std::size_t i = 0; i < kStepsOfRollout; ++i) {
      AutoshardStep step = observed(actor, rows);
      const std::span<const float> logits = actor.run->logits();
      step.action = drawn_device(logits, random);
      step.log_probability =
          LogSoftmax(std::vector<double>(logits.begin(), logits.end())).log_p[step.action];
      const std::size_t table = actor.run->order()[actor.placed++];
      actor.placement[table] = step.action;
      actor.on_device[step.action].push_back(row_of(actor.task, table));
      actor.run->place(step.action);
      if (actor.placed == actor.placement.size()) {
        step.reward = end_episode(actor);
        begin_episode(actor, packed, random);
      }
      rollout.steps.push_back(std::move(step));
    }
    rollout.steps.push_back(observed(actor, rows));
    return rollout;
  }

  /// Keeps what the shards cost; returns the balance of compute.
  double end_episode(const Actor& actor) {
    const std::vector<double> ms =
        training_.prices.compute_ms(training_.tasks[actor.task], actor.placement);
    for (std::size_t d = 0; d < ms.size(); ++d) {
      if (!actor.on_device[d].empty()) shards_.push_back({actor.on_device[d], ms[d]});
      if (shards_.size() > kKeptShards) shards_.pop_front();
    }
    return std::ranges::min(ms) / std::ranges::max(ms);
  }

  void step_costs(Random& random, double learning_rate) {
    BatchRows rows(features_);
    std::vector<std::vector<std::uint32_t>> shards(kShardsOfUpdate);
    std::vector<double> cost_ms;
    for (std::vector<std::uint32_t>& shard : shards) {
      const KnownShard& known = shards_[random.below(shards_.size())];
      for (const std::uint32_t table : known.tables) shard.push_back(rows.row_of(table));
      cost_ms.push_back(known.cost_ms);
    }
    (void)trainee_.step_costs(rows.features(), shards, cost_ms, learning_rate);
  }

  [[nodiscard]] std::uint32_t row_of(std::size_t task, std::size_t table) const {
    return first_row_[task] + static_cast<std::uint32_t>(table);
  }

  PolicyTraining training_;
  const CpuKernels& kernels_ = select_cpu_kernels("auto");
  Normalization normalization_;
  AutoshardTrainee trainee_;
  AlignedVector<float> features_;  ///< All tables, one task after the other.
  std::vector<std::uint32_t> first_row_;
  std::deque<KnownShard> shards_;
};

}  // namespace

std::unique_ptr<PolicyTrainer> make_autoshard_trainer(const PolicyTraining& training) {
  return std::make_unique<AutoshardTrainer>(training);
}

}  // namespace neuroshard::training
