#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/plans/id_exchange.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"
#include "search/improvement/edit_source.h"

namespace neuroshard {

/// What edits of a plan would cost. An edit changes two shards, so two evaluations of the head
/// price its computation. Its communication is priced exactly where a dense network prices all
/// devices at once, and with a symmetric network of up to six devices. Of more, that one is asked
/// only for the two devices and for those that the plan waits for now. Such an estimate is mostly
/// too low, where another device becomes the slowest; it is a little too high at times, where the
/// widest or narrowest device changes, as the others' backward costs are then guessed.
class EditCosts {
 public:
  /// Borrows `backend` and `plan`.
  EditCosts(const Backend& backend, const WorkingPlan& plan, ComputeOnDevices compute = {});

  /// Cost of the plan: exact after synchronize(), an estimate after accept().
  [[nodiscard]] double cost_ms() const { return cost_ms_ + ids_ms_; }
  /// The same with this share of what ids cost, as estimate() has it, too. 1 at first.
  [[nodiscard]] double softened_cost_ms() const { return cost_ms_ + ids_share_ * ids_ms_; }
  void set_ids_share(double share) { ids_share_ = share; }
  [[nodiscard]] bool exact() const { return exact_; }
  [[nodiscard]] const CriticalDevices& critical() const { return critical_; }

  /// Cost of the plan after `edit`; nothing if it is certainly above `limit_ms`, which can often be
  /// told without asking the communication models.
  [[nodiscard]] std::optional<double> estimate(const PlanEdit& edit,
                                               const WorkingPlan::Outcome& outcome,
                                               const float* sums, double limit_ms);
  /// Call after the plan has taken the edit that was estimated last.
  void accept(const PlanEdit& edit);
  /// Prices all devices anew.
  void synchronize();

  [[nodiscard]] std::uint64_t head_evaluations() const { return head_evaluations_; }
  /// Placements, or parts of them, that the forward model has seen.
  [[nodiscard]] std::uint64_t comm_evaluations() const { return comm_evaluations_; }

 private:
  // Of the columns of all devices, as the symmetric network sees them.
  struct ColumnRange {
    float mean = 0.0F;
    float max = 0.0F;
    float min = 0.0F;
    friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
  };
  // Of the columns of a node, as seen. Sums are exact.
  struct NodeRange {
    double sum = 0.0;
    float max = 0.0F;
    float min = 0.0F;
  };
  // Of the devices of a node.
  struct NodeLookups {
    std::int64_t sum = 0;
    std::int64_t most = 0;
  };
  // Of start offsets.
  struct OffsetRange {
    float mean_ms = 0.0F;
    float max_ms = 0.0F;
  };
  // The two devices of an edit, as it would leave them.
  struct Side {
    std::uint32_t device = 0;
    float dim_sum = 0.0F;
    float columns = 0.0F;  // As seen.
    float compute_ms = 0.0F;
    float backward_ms = 0.0F;
    [[nodiscard]] double ready_ms() const {
      return static_cast<double>(compute_ms) + static_cast<double>(backward_ms);
    }
  };

  void rank_devices();
  void find_busiest();
  /// Lookups of the busiest device under an edit.
  [[nodiscard]] std::int64_t most_lookups(const PlanEdit& edit,
                                          const WorkingPlan::Outcome& outcome);
  [[nodiscard]] std::optional<double> estimate_dense(bool columns_move, double limit_ms);
  [[nodiscard]] std::optional<double> estimate_symmetric(bool columns_move, double limit_ms);
  [[nodiscard]] bool surely_above(double limit_ms, double shift_ms) const;
  [[nodiscard]] double ready_ms(std::uint32_t device) const {
    return static_cast<double>(compute_ms_[device]) + static_cast<double>(backward_ms_[device]);
  }
  [[nodiscard]] bool touched(std::uint32_t device) const {
    return device == sides_[0].device || device == sides_[1].device;
  }
  [[nodiscard]] NodeRange range_of_node(std::size_t node, std::span<const float> columns) const;
  /// Sets what is seen of the columns under an edit that leaves `sides_` so.
  void see_columns(bool columns_move);
  [[nodiscard]] ColumnRange range_after_move() const;
  [[nodiscard]] float backward_ms(float columns, const ColumnRange& range);
  /// Features of a device for a symmetric network.
  [[nodiscard]] std::array<float, kSymmetricCommFeatures> row_of(float columns, float offset_ms,
                                                                 const ColumnRange& range,
                                                                 const OffsetRange& offsets) const;

  const WorkingPlan& plan_;
  std::unique_ptr<CostRunner> models_;
  std::size_t devices_;
  std::size_t width_;
  ComputeOnDevices compute_;
  float empty_ms_ = 0.0F;  ///< head(0)
  float log2_devices_ = 0.0F;
  const NodeColumns* nodes_;  ///< Null: columns are seen as they are.
  double all_columns_ = 0.0;  ///< Of all devices; no edit changes it.

  // Of each device; forward costs and totals as of the last time that they were asked for.
  std::vector<float> dim_sum_;
  std::vector<float> columns_;  ///< As seen.
  std::vector<float> compute_ms_;
  std::vector<float> backward_ms_;
  std::vector<float> forward_ms_;
  std::vector<double> total_ms_;
  double cost_ms_ = 0.0;  ///< Without ids.
  bool exact_ = false;
  std::size_t accepted_ = 0;  ///< Since the last synchronize().

  CriticalDevices critical_;
  std::uint32_t second_slowest_ = 0;
  std::uint32_t first_ready_ = 0;
  double sum_of_ready_ms_ = 0.0;
  ColumnRange range_;

  IdExchange ids_;
  double ids_ms_ = 0.0;
  double ids_share_ = 1.0;
  double trial_ids_ms_ = 0.0;  ///< Under the edit that was estimated last.

  // The edit that was estimated last.
  std::array<Side, 2> sides_{};
  std::array<double, 2> side_total_ms_{};
  double estimate_ms_ = 0.0;
  bool range_changed_ = false;  ///< By the edit: most or fewest columns.
  ColumnRange trial_range_;
  // With nodes:
  std::vector<NodeRange> node_ranges_;     ///< Of each.
  std::vector<NodeLookups> node_lookups_;  ///< Likewise.
  std::int64_t all_lookups_ = 0;
  std::vector<float> trial_columns_;         ///< `columns_`, but for those of `trial_nodes_`.
  std::vector<std::size_t> trial_nodes_;     ///< Those of the devices of the edit, once each.
  std::array<NodeRange, 2> trial_ranges_{};  ///< Of `trial_nodes_`.

  std::vector<float> offsets_ms_;
  std::vector<float> trial_dim_sum_;  ///< Of all devices under an edit; of a dense network.
  std::vector<float> trial_backward_ms_;
  std::vector<float> trial_forward_ms_;
  // Backward costs of a symmetric network that were asked for lately: dim sums recur.
  struct Remembered {
    float columns = -1.0F;
    ColumnRange range;
    float backward_ms = 0.0F;
  };
  std::vector<Remembered> remembered_;
  std::uint64_t head_evaluations_ = 0;
  std::uint64_t comm_evaluations_ = 0;
};

}  // namespace neuroshard
