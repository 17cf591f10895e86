#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/plans/id_exchange.h"
#include "core/plans/touched_gradients.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_runner.h"
#include "neuroshard/devices.h"
#include "search/state/plan_state.h"

namespace neuroshard {

/// Cost of a plan after an edit.
struct EditPrice {
  double cost_ms = 0.0;
  /// With what guides a search beside it; infinite: surely above the limit.
  double objective_ms = 0.0;
  std::int64_t missing_bytes = 0;
};

/// Costs of edits of a PlanState, many at once. All embeddings of a batch go through the head
/// together. An edit that passes is then asked for what the device makes of the plan that would be
/// ready last: all wait for it, so it is a lower bound of the cost, and nearly all of it. Only
/// what passes that, too, is priced for the devices that decide: all of them if they are few or if
/// networks look at all devices at once, else those that the edit changes and the slowest, first
/// and last ones. After some accepted edits all devices are priced again, so that estimates do not
/// add up.
class EditPrices {
 public:
  /// Borrows `state`, of which it fills in what sums cost.
  explicit EditPrices(PlanState& state);

  /// All costs of the state, from its sums.
  void price_state();
  [[nodiscard]] double objective_ms() const;

  /// Forgets the batch before.
  void begin();
  /// An edit that leaves replicas alone. `limit_ms`: of the objective, above which it is of no use.
  void add(const Edit& edit, double limit_ms);
  /// A first look at all of them.
  const std::vector<EditPrice>& run();
  /// The price of one that passed it.
  const EditPrice& price(std::size_t index);
  /// Applies an edit of the batch that was priced. Ends the batch.
  void accept(const Edit& edit, std::size_t index);
  /// Applies any edit.
  void apply(const Edit& edit);
  /// Takes back what was applied since PlanState::begin_undo().
  void undo(const PlanSums& before);

  /// Compute costs of shards by sums of embeddings, [devices of `cost_ms`, embedding width].
  void heads(std::span<const float> sums, std::span<float> cost_ms) {
    models_->compute(sums, cost_ms);
  }
  /// Compute cost of a device, by what the head says of its slices.
  [[nodiscard]] float compute_ms(std::size_t device, float head_ms, int shards,
                                 double price_ms) const {
    const float tables_ms = (shards == 0 ? empty_ms_ : head_ms) + static_cast<float>(price_ms);
    return devices_.compute_ms(device, tables_ms);
  }
  /// About what a column of a device takes in one all-to-all of gradients.
  [[nodiscard]] double ms_of_column() const { return ms_of_column_; }
  /// And what an id of a sample takes, in lookup_units().
  [[nodiscard]] double ms_of_lookup_unit() const { return ms_of_lookup_unit_; }

  // The devices that a plan waits for.
  [[nodiscard]] int slowest() const { return slowest_; }
  [[nodiscard]] int last_ready() const { return last_; }
  [[nodiscard]] int widest() const { return widest_; }
  [[nodiscard]] int busiest() const { return busiest_; }
  [[nodiscard]] std::int64_t room_bytes(int device) const {
    return room_bytes_[static_cast<std::size_t>(device)];
  }

  [[nodiscard]] std::uint64_t edits() const { return edits_; }
  [[nodiscard]] std::uint64_t head_evaluations() const { return head_evaluations_; }
  [[nodiscard]] std::uint64_t comm_evaluations() const { return comm_evaluations_; }

 private:
  /// One device in a trial.
  struct Touched {
    int device;
    std::size_t row;  ///< In `sums_`.
    int shards;
    float columns;
    float compute_ms;
    float backward_ms;
    std::int64_t lookups;
    std::int64_t bytes;
    double price_ms;
    double ready_ms;
  };
  /// Inputs of communication models that all devices share.
  struct Range {
    float mean = 0.0F;
    float most = 0.0F;
    float least = 0.0F;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Trial {
    std::size_t first = 0;  ///< In `touched_`.
    std::size_t end = 0;
    double limit_ms = 0.0;
    bool refused = false;
    double ids_ms = 0.0;
    double square = 0.0;
    /// The first float of what the models see, [devices], of `seen_rows_`; kSame: as it is.
    std::size_t seen = kSame;
    Range range;
    float last_backward_ms = 0.0F;
    double shift_ms = 0.0;  ///< All other devices are shifted by it, since the range changes.
    int bound_by = 0;
    double bound_ready_ms = 0.0;
    static constexpr std::size_t kSame = static_cast<std::size_t>(-1);
  };
  struct Remembered {
    float columns = -1.0F;
    Range range;
    float ms = 0.0F;
  };
  struct Missing {
    float* to;
    std::size_t entry;
  };
  struct Decides {
    int device;
    double ready_ms;
    double total_ms;
  };

  void price_replicas();
  void price_heads();
  void price_exchanges();
  /// Where there are no slices: nothing but base loads and replicas.
  void price_idle();
  void rank();
  [[nodiscard]] double own_ms(double compute_ms, double columns, double lookups) const {
    return compute_ms + 2.0 * ms_of_column_ * columns + ms_of_lookup_unit_ * lookups;
  }
  [[nodiscard]] double guide_ms(double square) const;
  [[nodiscard]] double memory_ms(std::int64_t missing_bytes, double cost_ms) const;
  [[nodiscard]] double ready_ms(std::size_t device) const {
    return static_cast<double>(sums_of_.compute_ms[device]) +
           static_cast<double>(sums_of_.backward_ms[device]);
  }
  [[nodiscard]] double speed(std::size_t device) const {
    return devices_.speed.empty() ? 1.0 : static_cast<double>(devices_.speed[device]);
  }
  [[nodiscard]] std::int64_t missing_of(std::size_t device, std::int64_t bytes) const {
    return std::max<std::int64_t>(0, bytes + sums_of_.replica_bytes - room_bytes_[device]);
  }

  std::size_t new_row(const float* sum);
  void change(int device, int shard, int sign);
  void look_first(Trial& trial, EditPrice& price);
  void look_at_columns(Trial& trial);
  void look_at_lookups(Trial& trial);
  void ask_bound(Trial& trial);
  void take_bound(Trial& trial, EditPrice& price, float forward_ms) const;
  void set_objective(const Trial& trial, EditPrice& price) const;
  void price_decisive(Trial& trial, EditPrice& price);
  void price_together(Trial& trial, EditPrice& price);
  [[nodiscard]] const float* seen_by(const Trial& trial) const {
    return trial.seen == Trial::kSame ? sums_of_.seen.data() : seen_rows_.data() + trial.seen;
  }
  [[nodiscard]] bool is_touched(const Trial& trial, int device) const;
  /// Compute costs and readiness of all devices in a trial, but for its shift.
  void set_trial_ready(const Trial& trial);
  void ask_backward_of_all(const Trial& trial);
  [[nodiscard]] static Range range_of(const float* seen, std::size_t devices);
  void ask_backward(float columns, const Range& range, float* to);
  void answer_backward();
  void ask_forward(float columns, double offset_ms, const Range& range, double mean_offset_ms,
                   double most_offset_ms);
  const std::vector<float>& answer_forward();

  PlanState& state_;
  PlanSums& sums_of_;
  ShardCatalog& catalog_;
  const Backend& backend_;
  std::size_t device_count_;
  std::size_t width_;
  std::unique_ptr<CostRunner> models_;
  IdExchange ids_;
  const NodeColumns* nodes_;  ///< Null: columns are seen as they are.
  ComputeOnDevices devices_;
  TouchedGradients gradients_;
  bool all_decide_;  ///< All devices are priced for each edit.
  float log2_devices_;
  std::vector<std::int64_t> room_bytes_;
  double all_room_bytes_ = 0.0;
  float empty_ms_ = 0.0F;
  double ms_of_column_ = 0.0;
  double ms_of_lookup_unit_ = 0.0;

  double square_ = 0.0;  ///< Sum of squares of own_ms().
  double sum_ready_ms_ = 0.0;
  int slowest_ = 0;
  int second_ = 0;
  int last_ = 0;
  int first_ = 0;
  int widest_ = 0;
  int busiest_ = 0;
  int accepted_since_ = 0;  ///< All devices were priced.

  std::uint64_t serial_ = 0;           ///< Number of the trial.
  std::vector<std::uint64_t> stamps_;  ///< [devices]: the last trial that touched each,
  std::vector<std::size_t> slots_;     ///< and where in `touched_`.
  std::vector<double> ready_;          ///< [devices]
  std::vector<Trial> trials_;
  std::vector<Touched> touched_;
  std::vector<EditPrice> prices_;
  std::size_t rows_ = 0;
  AlignedVector<float> sums_;  ///< [rows, embedding width]
  std::vector<float> heads_;   ///< [rows]
  std::vector<float> seen_rows_;
  std::vector<double> trial_ready_;
  std::vector<float> trial_compute_ms_;
  std::vector<float> trial_backward_ms_;
  std::vector<std::int64_t> trial_lookups_;
  std::vector<Decides> decisive_;
  std::vector<Remembered> remembered_;
  std::vector<Missing> missing_;
  std::vector<float> backward_rows_;
  std::vector<float> backward_answers_;
  std::vector<float> forward_rows_;
  std::vector<float> forward_answers_;
  std::uint64_t edits_ = 0;
  std::uint64_t head_evaluations_ = 0;
  std::uint64_t comm_evaluations_ = 0;
};

}  // namespace neuroshard
