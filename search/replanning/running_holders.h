#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/replan.h"

namespace neuroshard {

/// A slice of the running plan, and the device of the new task that has it.
struct RunningSlice {
  TableSlice slice;
  std::optional<std::uint32_t> device{};  ///< Nothing: it is lost.
};

/// Which device of the new task holds which rows and columns before anything moves, and what
/// devices have to be sent of what they do not hold.
class RunningHolders {
 public:
  /// Borrows both, of which `running` is valid. Throws Error as surviving_devices() does.
  RunningHolders(const Task& task, const RunningPlan& running);

  /// Of each device of the running plan.
  [[nodiscard]] std::span<const std::optional<std::uint32_t>> survivors() const {
    return survivors_;
  }
  [[nodiscard]] bool is_replicated(std::size_t running_table) const;
  /// Of a running table, by row and column; of a replicated one: none.
  [[nodiscard]] std::span<const RunningSlice> slices(std::size_t running_table) const {
    return slices_[running_table];
  }

  /// Adds what device `to` has to be sent to hold `slice` of the new task, whose table is
  /// `running_table`, or new. What several devices hold comes from the first of them.
  void add_moves(const TableSlice& slice, int to, std::optional<std::size_t> running_table,
                 std::vector<TableMove>& moves) const;
  /// What no device holds of `whole`, a table of the new task, in bytes: all of a new one, what was
  /// on lost devices, and new rows. State that belongs to rows comes with each slice that runs.
  [[nodiscard]] std::int64_t missing_bytes(const TableSlice& whole,
                                           std::optional<std::size_t> running_table) const;

 private:
  const Task& task_;
  const RunningPlan& running_;
  std::vector<std::optional<std::uint32_t>> survivors_;
  int devices_left_;
  std::vector<std::vector<RunningSlice>> slices_;
};

}  // namespace neuroshard
