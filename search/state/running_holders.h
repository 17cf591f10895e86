#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/replan.h"

namespace neuroshard {

/// No limit of the bytes that are moved.
inline constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();

/// [tables of `task`]: the table of `running` that each is; nothing: it is new. Tables of one name,
/// or without one, are the same ones in the same order, and new ones come last. Throws Error if
/// these have become fewer, have fewer rows or another dim: which is which is not known then.
[[nodiscard]] std::vector<std::optional<std::size_t>> running_tables(const Task& task,
                                                                     const Task& running);

/// Where the devices of a running plan are among those of a new task.
struct RunningPlaces {
  /// [devices of the running plan]: those that hold what it does; none: it is lost. Where groups
  /// become larger there are several, and where they are split several running ones have one.
  std::vector<std::vector<std::uint32_t>> devices;
  /// New groups of a running one, of which each gets what is counted here.
  int groups = 1;
  /// Devices of the new task that were there before: the first ones.
  int devices_left = 0;
};

/// Throws Error unless the lost devices are devices of the running plan, each once, and leave no
/// more than `task` has; or unless groups have whole ones of the others.
[[nodiscard]] RunningPlaces places_of_running(const Task& task, const RunningPlan& running);

/// A slice of the running plan, and the device of the new task that has it.
struct RunningSlice {
  TableSlice slice;
  int running_device = 0;
  /// One of those that have it, such that they have equally much; nothing: it is lost.
  std::optional<std::uint32_t> device{};
};

/// Which device of the new task holds which rows and columns before anything moves, and what
/// devices have to be sent of what they do not hold.
class RunningHolders {
 public:
  /// Borrows both, of which `running` is valid. Throws Error as running_tables() and
  /// places_of_running() do.
  RunningHolders(const Task& task, const RunningPlan& running)
      : RunningHolders(task, running, running_tables(task, running.task)) {}
  /// `before`, [tables of `task`], in place of running_tables().
  RunningHolders(const Task& task, const RunningPlan& running,
                 std::vector<std::optional<std::size_t>> before);

  /// The running table that a table of the new task is; nothing: it is new.
  [[nodiscard]] std::optional<std::size_t> before(std::size_t table) const {
    return before_[table];
  }
  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const RunningPlan& running() const { return running_; }
  [[nodiscard]] const RunningPlaces& places() const { return places_; }
  /// Whether a device of the new task has a slice: in one new group, if a running one is split.
  [[nodiscard]] bool holds(int device, const RunningSlice& slice) const;
  /// Bytes of all tables of the new task.
  [[nodiscard]] std::int64_t total_bytes() const { return total_bytes_; }
  /// Tables of the new task.
  [[nodiscard]] bool is_replicated(std::size_t table) const;
  /// Slices that a table of the new task runs in, by row and column; none of a new or replicated
  /// one.
  [[nodiscard]] std::span<const RunningSlice> slices(std::size_t table) const;
  /// Rows of a table that devices hold of the columns that they have.
  [[nodiscard]] std::int64_t kept_rows(std::size_t table) const;

  /// Adds what device `to` has to be sent to hold `slice` of the new task. Rows that several
  /// devices hold come from the first of them.
  void add_moves(const TableSlice& slice, int to, std::vector<TableMove>& moves) const;
  /// Bytes of that.
  [[nodiscard]] std::int64_t moved_bytes(const TableSlice& slice, int to) const;
  /// All that devices have to be sent for a plan of the new task.
  [[nodiscard]] std::vector<TableMove> moves_to(const Plan& plan) const;
  /// Bytes of a table that no device holds: all of a new one, what was on lost devices, and new
  /// rows. State that belongs to rows comes with each slice that runs.
  [[nodiscard]] std::int64_t missing_bytes(std::size_t table) const;

 private:
  void place_slices();
  /// Calls send(const TableMove&) for each part.
  template <typename Send>
  void for_each_part(const TableSlice& slice, int to, const Send& send) const;

  const Task& task_;
  const RunningPlan& running_;
  std::vector<std::optional<std::size_t>> before_;
  RunningPlaces places_;
  std::int64_t total_bytes_ = 0;
  std::vector<std::vector<RunningSlice>> slices_;  ///< [running tables]
};

/// By device, then table, columns and rows.
void sort_moves(std::vector<TableMove>& moves);
[[nodiscard]] std::int64_t moved_bytes(std::span<const TableMove> moves);

}  // namespace neuroshard
