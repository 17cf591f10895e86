#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_runner.h"
#include "search/state/comm_rows.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

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
  /// Borrows `prices`, and changes its state.
  explicit EditPrices(StatePrices& prices);

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

 private:
  /// One device in a trial.
  struct Touched {
    std::size_t device;
    std::size_t row;  ///< In `sums_`.
    int shards;
    float columns;
    float compute_ms;
    float backward_ms;
    std::int64_t ids;
    std::int64_t bytes;
    double price_ms;
    double ready_ms;
    double prefetched_ms;
  };
  struct Trial {
    std::size_t first = 0;  ///< In `touched_`.
    std::size_t end = 0;
    double limit_ms = 0.0;
    bool refused = false;
    double ids_ms = 0.0;
    double hidden_ms = 0.0;
    double prefetched_ms = kNoPrefetch;  ///< The most of a device.
    double terms_ms = 0.0;
    double square = 0.0;
    /// The first float of what the models see, [devices], of `seen_rows_`; kSame: as it is.
    std::size_t seen = kSame;
    ColumnRange range;
    float last_backward_ms = 0.0F;
    double shift_ms = 0.0;  ///< All other devices are shifted by it, since the range changes.
    std::size_t bound_by = 0;
    double bound_ready_ms = 0.0;
    double bound_backward_ms = 0.0;
    static constexpr std::size_t kSame = static_cast<std::size_t>(-1);
  };
  struct Decides {
    std::size_t device;
    double ready_ms;
    double total_ms;
  };

  std::size_t new_row(std::size_t device);
  [[nodiscard]] const HostCurve* hosted(const Touched& touched) const {
    return hosted_.empty() ? nullptr : &hosted_[touched.row];
  }
  void change(int device, int shard, int sign);
  void look_first(Trial& trial, EditPrice& price);
  void look_at_columns(Trial& trial);
  /// PlanSums::in_pools after it, until this is asked again.
  [[nodiscard]] const std::vector<std::int64_t>& in_pools_after(const Trial& trial);
  void look_at_prefetches(Trial& trial);
  void look_at_ids(Trial& trial);
  void ask_bound(Trial& trial);
  void take_bound(Trial& trial, EditPrice& price, float forward_ms) const;
  /// Where the slowest device takes so long by itself, and the least that devices take for the
  /// all-to-alls of outputs and of gradients.
  void set_price(Trial& trial, EditPrice& price, double own_ms, double outputs_ms,
                 double gradients_ms) const;
  void price_decisive(Trial& trial, EditPrice& price);
  void price_together(Trial& trial, EditPrice& price);
  [[nodiscard]] const float* seen_by(const Trial& trial) const {
    return trial.seen == Trial::kSame ? sums_of_.seen.data() : seen_rows_.data() + trial.seen;
  }
  [[nodiscard]] std::span<Touched> touched_in(const Trial& trial) {
    return std::span(touched_).subspan(trial.first, trial.end - trial.first);
  }
  [[nodiscard]] bool is_touched(const Trial& trial, std::size_t device);
  /// As set_trial_ready(), by what the bound of the trial takes devices for.
  void set_ready_by_bound(const Trial& trial);
  /// Compute costs and readiness of all devices in a trial, but for its shift.
  void set_trial_ready(const Trial& trial);
  void ask_backward_of_all(const Trial& trial);
  /// Where not all devices are priced, an estimate, as their costs are.
  [[nodiscard]] double least_backward_ms(const Trial& trial);

  StatePrices& prices_;
  PlanState& state_;
  PlanSums& sums_of_;
  std::size_t device_count_;
  std::size_t width_;
  CostRunner& models_;
  CommRows comm_;
  bool all_decide_;  ///< All devices are priced for each edit.

  std::uint64_t serial_ = 0;           ///< Number of the trial.
  std::vector<std::uint64_t> stamps_;  ///< [devices]: the last trial that touched each,
  std::vector<std::size_t> slots_;     ///< and where in `touched_`.
  std::vector<Trial> trials_;
  std::vector<Touched> touched_;
  std::vector<EditPrice> results_;
  std::size_t rows_ = 0;
  AlignedVector<float> sums_;      ///< [rows, embedding width]
  std::vector<float> heads_;       ///< [rows]
  std::vector<HostCurve> hosted_;  ///< [rows] of a task with host memory.
  std::vector<float> seen_rows_;
  std::optional<ColumnRange> range_;  ///< Range of columns before the edits, found once a batch.
  std::vector<double> trial_ready_;
  std::vector<float> trial_compute_ms_;
  std::vector<float> trial_backward_ms_;
  std::vector<std::int64_t> trial_ids_;
  std::vector<double> trial_prefetched_ms_;
  std::vector<std::int64_t> trial_in_pools_;
  std::vector<Decides> decisive_;
  std::vector<float> offsets_ms_;
  std::vector<float> forward_answers_;
};

}  // namespace neuroshard
