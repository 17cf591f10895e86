#include "core/policies/dreamshard_run.h"
#include "core/policies/policy_features.h"
#include "weights/training/policies/dreamshard_trainee.h"
#include "weights/training/policies/policy_trainer.h"

namespace neuroshard::training {
namespace {

// As published.
constexpr double kLearningRate = 5e-4;
constexpr int kPlacementsOfIteration = 10;
constexpr int kCostSteps = 300;
constexpr int kCostBatch = 64;
constexpr int kPolicySteps = 10;
constexpr int kEpisodes = 10;

// The published program's dims are all 16; ones up to 128 would outweigh all other features. In
// training they are so many times smaller, and the weights that are handed on make up for it.
constexpr float kDimScale = 1.0F / 32.0F;

class DreamshardTrainer final : public PolicyTrainer {
 public:
  explicit DreamshardTrainer(const PolicyTraining& training)
      : training_(training), trainee_(random_networks<DreamshardPolicy>(training.seed)) {
    for (const Task& task : training_.tasks) {
      first_row_.push_back(static_cast<std::uint32_t>(features_.size() / kPolicyFeatureStride));
      const AlignedVector<float> rows = dreamshard_features(task.tables);
      features_.insert(features_.end(), rows.begin(), rows.end() - kPolicyFeatureStride);
    }
    for (std::size_t i = 0; i < features_.size(); i += kPolicyFeatureStride) {
      features_[i] *= kDimScale;
    }
  }

  void iterate(int iteration) override {
    Random random(training_.seed, static_cast<std::uint64_t>(iteration) + 1);
    const double learning_rate = kLearningRate * training_.rate_left(iteration);
    collect(random);
    for (int i = 0; i < kCostSteps; ++i) step_costs(random, learning_rate);
    for (int i = 0; i < kPolicySteps; ++i) step_policy(random, learning_rate);
  }

  [[nodiscard]] PlacementPolicy policy() const override { return {networks(), {}}; }

  [[nodiscard]] double cost_ms(const Task& task, const Placement& placement) const override {
    return training_.prices.price(task, placement).cost_ms;
  }

  void visit_state(StateVisitor& visitor) override {
    trainee_.visit_state(visitor);
    std::vector<double> numbers;
    for (const Priced& one : priced_) {
      numbers.push_back(static_cast<double>(one.task));
      numbers.insert(numbers.end(), one.placement.begin(), one.placement.end());
    }
    visitor.numbers("placements", numbers);
    priced_.clear();
    for (std::size_t i = 0; i < numbers.size();) {
      const auto task = static_cast<std::size_t>(numbers[i++]);
      Placement placement(training_.tasks.at(task).tables.size());
      for (std::uint32_t& device : placement) {
        device = static_cast<std::uint32_t>(numbers.at(i++));
      }
      add(task, std::move(placement));
    }
  }

 private:
  struct Priced {
    std::size_t task;
    Placement placement;
    PolicyPrices::Price price;
  };

  [[nodiscard]] DreamshardPolicy networks() const {
    DreamshardPolicy networks = trainee_.networks();
    for (Mlp* encoder : {&networks.cost_tables, &networks.policy_tables}) {
      DenseLayer& first = encoder->layers.front();
      for (std::size_t i = 0; i < first.weight.size(); i += kPolicyFeatures) {
        first.weight[i] *= kDimScale;
      }
    }
    return networks;
  }

  void add(std::size_t task, Placement placement) {
    PolicyPrices::Price price = training_.prices.price(training_.tasks[task], placement);
    priced_.push_back({task, std::move(placement), std::move(price)});
  }

  void collect(Random& random) {
    const PackedDreamshard packed(networks());
    for (int i = 0; i < kPlacementsOfIteration; ++i) {
      const std::size_t task = random.below(training_.tasks.size());
      const Task& of = training_.tasks[task];
      DreamshardRun run(kernels_, packed, of.tables, static_cast<std::size_t>(of.devices));
      add(task, place_all(run, [&](std::span<const float> logits) {
            return drawn_device(logits, random);
          }));
    }
  }

  /// Adds a placement's shards to `batch`; returns the first one.
  std::size_t add_shards(const Priced& one, BatchRows& rows, DreamshardCostBatch& batch) const {
    const std::size_t first = batch.shards.size();
    batch.shards.resize(first + one.price.devices.size());
    for (std::size_t t = 0; t < one.placement.size(); ++t) {
      const auto table = static_cast<std::uint32_t>(first_row_[one.task] + t);
      batch.shards[first + one.placement[t]].push_back(rows.row_of(table));
    }
    return first;
  }

  void step_costs(Random& random, double learning_rate) {
    BatchRows rows(features_);
    DreamshardCostBatch batch;
    for (int i = 0; i < kCostBatch; ++i) {
      const Priced& whole = priced_[random.below(priced_.size())];
      const std::size_t first = add_shards(whole, rows, batch);
      batch.placements.push_back({first, whole.price.devices.size(), whole.price.cost_ms});
      const Priced& other = priced_[random.below(priced_.size())];
      const std::size_t device = random.below(other.price.devices.size());
      const PolicyPrices::Device& ms = other.price.devices[device];
      batch.devices.push_back({add_shards(other, rows, batch) + device,
                               {ms.forward_ms, ms.communication_ms, ms.backward_ms}});
    }
    (void)trainee_.step_costs(rows.features(), batch, learning_rate);
  }

  void step_policy(Random& random, double learning_rate) {
    const PackedDreamshard packed(networks());
    const std::size_t task = random.below(training_.tasks.size());
    const Task& of = training_.tasks[task];
    BatchRows rows(features_);
    std::vector<DreamshardEpisode> episodes(kEpisodes);
    for (DreamshardEpisode& episode : episodes) {
      DreamshardRun run(kernels_, packed, of.tables, static_cast<std::size_t>(of.devices));
      const Placement placement = place_all(
          run, [&](std::span<const float> logits) { return drawn_device(logits, random); });
      for (const std::size_t table : run.order()) {
        episode.rows.push_back(rows.row_of(static_cast<std::uint32_t>(first_row_[task] + table)));
        episode.devices.push_back(placement[table]);
      }
      episode.reward = -run.overall_ms();
    }
    (void)trainee_.step_policy(rows.features(), static_cast<std::size_t>(of.devices), episodes,
                               learning_rate);
  }

  PolicyTraining training_;
  const CpuKernels& kernels_ = select_cpu_kernels("auto");
  DreamshardTrainee trainee_;
  AlignedVector<float> features_;  ///< All tables, one task after the other.
  std::vector<std::uint32_t> first_row_;
  std::vector<Priced> priced_;
};

}  // namespace

std::unique_ptr<PolicyTrainer> make_dreamshard_trainer(const PolicyTraining& training) {
  return std::make_unique<DreamshardTrainer>(training);
}

}  // namespace neuroshard::training
