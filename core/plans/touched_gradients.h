#pragma once

#include <optional>
#include <span>

#include "neuroshard/collective_model.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// The update of replicas on each device, beyond what dense gradients and SGD need. Where gradients
/// are gathered by rows (ReplicaGradients::kTouched) that is all of it, elsewhere the traffic of
/// the optimizer's state.
struct ReplicaUpdate {
  double gathered_bytes = 0.0;  ///< Ids and rows of all devices together.
  /// A plain copy moves so many in the time that it takes to group them by row and to update
  /// weights.
  double copied_bytes = 0.0;
  double launches = 0.0;  ///< Kernels that do so.
};

/// Sizes of gradients of replicas, for the tables of one task. docs/analytic_costs.md has the
/// formulas. Gradients of replicas that are spread over the devices of nodes are sent between nodes
/// alone: they count as those that take all links as long.
class TouchedGradients {
 public:
  /// `between_share`: NodeShares::all_reduce_between.
  explicit TouchedGradients(const Task& task, double between_share = 1.0);

  /// Bytes that an all-reduce adds up for a replica of `table`. A dense gradient has elements as
  /// wide as its weights; it is nothing if touched rows are gathered instead.
  [[nodiscard]] double dense_bytes(const Table& table) const;
  /// Expected distinct rows that the devices' parts of the batch touch, added up over the devices:
  /// so many rows each of them gathers. Where replicas are spread these are the rows of a device
  /// that nodes touch. `table` is one of the task, and has such gradients.
  [[nodiscard]] double gathered_rows(const Table& table) const;
  /// Bytes of those rows, with an 8-byte id each.
  [[nodiscard]] double gathered_bytes(const Table& table) const;
  /// One update of all `tables`.
  [[nodiscard]] ReplicaUpdate update(std::span<const Table* const> tables) const;

 private:
  /// Expected, of a batch of so many samples.
  [[nodiscard]] static double distinct_rows(const Table& table, const HistogramScale& scale,
                                            double samples);
  /// Bytes that take all links as long as a byte of each row of `table` takes.
  [[nodiscard]] double share_of_links(const Table& table) const;

  int devices_;
  double batch_;
  double between_share_;
  // None if all gradients are dense: they are not free to make.
  std::optional<HistogramScale> of_device_;
  std::optional<HistogramScale> of_node_;
  std::optional<HistogramScale> of_batch_;
};

/// The line for one device of an all-reduce model consists of the optimizer's pass over weights and
/// dense gradients, in transfers of the gradients' bytes, and of launches.
inline constexpr double kDensePasses = 4.0;
inline constexpr double kDenseLaunches = 2.0;

/// Milliseconds of the update, by a model of all-reduces: an all-gather of G bytes moves what an
/// all-reduce of G / 2 does. With a line for one device the pass over dense gradients is known, and
/// the update takes its place; without one it stands for the update.
[[nodiscard]] double replica_update_ms(const CollectiveModel& model, int devices,
                                       const ReplicaUpdate& update);

}  // namespace neuroshard
