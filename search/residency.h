#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/replan.h"
#include "search/layout.h"

namespace neuroshard {

/// What the devices of a task hold of its tables before the first plan of it runs.
class Residency {
 public:
  /// Columns of one table on a device of the new task.
  struct Range {
    std::uint32_t device;
    int first_column;
    int dim;
  };

  /// Table `t` of what follows is table `listed[t]` of `task`. Throws Error unless the running plan
  /// is valid, and its lost devices are devices of it that leave no more than `task` has.
  Residency(const Task& task, std::span<const std::uint32_t> listed, const RunningPlan& running);

  [[nodiscard]] std::size_t tables() const { return ranges_.size(); }
  /// By first column; they do not overlap.
  [[nodiscard]] std::span<const Range> of_table(std::size_t table) const { return ranges_[table]; }
  /// Columns of `table` on `device`.
  [[nodiscard]] int columns(std::size_t table, std::uint32_t device) const;
  /// What a device that holds a column need not be sent of it.
  [[nodiscard]] std::int64_t bytes_per_column(std::size_t table) const {
    return bytes_per_column_[table];
  }
  /// What a device that lacks a column must be sent.
  [[nodiscard]] std::int64_t full_bytes_per_column(std::size_t table) const {
    return full_bytes_per_column_[table];
  }
  /// Of all tables.
  [[nodiscard]] std::int64_t total_bytes() const { return total_bytes_; }
  /// What is on no device.
  [[nodiscard]] std::int64_t must_move_bytes() const { return must_move_bytes_; }

 private:
  std::vector<std::vector<Range>> ranges_;
  std::vector<std::int64_t> bytes_per_column_;
  std::vector<std::int64_t> full_bytes_per_column_;
  std::int64_t total_bytes_;
  std::int64_t must_move_bytes_;
};

/// The first column of each slice of a layout: of the ways to hand a table's columns to its slices,
/// each a node of the tree of halvings, one by which devices keep much of what they hold. Slices
/// choose by their width, the widest first, and of one width those that keep most.
[[nodiscard]] std::vector<int> columns_to_keep(const PieceCatalog& catalog, const Layout& layout,
                                               const Residency& residency);

/// What has to be moved for a layout whose slices begin at `first_columns`, by receiving device,
/// table and column. Tables are those of the residency; so are `TableMove::columns.table`.
[[nodiscard]] std::vector<TableMove> moves_of(const PieceCatalog& catalog, const Layout& layout,
                                              std::span<const int> first_columns,
                                              const Residency& residency);
[[nodiscard]] std::int64_t moved_bytes(std::span<const TableMove> moves);

}  // namespace neuroshard
