#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/replan.h"
#include "search/layout.h"

namespace neuroshard {

/// [tables of `task`]: the table of `running` that each is; nothing: it is new. Tables of one name,
/// or without one, are the same ones in the same order, and new ones come last. Throws Error if
/// these have become fewer, have fewer rows or another dim: which is which is not known then.
[[nodiscard]] std::vector<std::optional<std::size_t>> running_tables(const Task& task,
                                                                     const Task& running);

/// Device of the new task of each running one; nothing: it is lost. Throws Error unless the lost
/// devices are devices of the running plan, each once, and leave no more than `task` has.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> surviving_devices(
    const Task& task, const RunningPlan& running);

/// What the devices of a task hold of its tables before the first plan of it runs.
class Residency {
 public:
  /// Columns of one table on a device of the new task.
  struct Range {
    std::uint32_t device;
    int first_column;
    int dim;
  };

  /// Table `t` of what follows is table `listed[t]` of `task`; `running_table`, [tables of `task`],
  /// says which running one each of these is, as running_tables() does. Throws Error unless the
  /// running plan is valid, and has no row blocks, and its lost devices are devices of it that
  /// leave no more than `task` has.
  Residency(const Task& task, std::span<const std::uint32_t> listed, const RunningPlan& running,
            std::span<const std::optional<std::size_t>> running_table);

  [[nodiscard]] std::size_t tables() const { return ranges_.size(); }
  /// By first column; they do not overlap. Of a table that the running plan replicates: none.
  [[nodiscard]] std::span<const Range> of_table(std::size_t table) const { return ranges_[table]; }
  /// If the running plan replicates it, devices 0, 1, ... hold all of a table: so many.
  [[nodiscard]] std::uint32_t replicas(std::size_t table) const { return replicas_[table]; }
  /// Devices that hold columns of a table, ascending.
  [[nodiscard]] std::vector<std::uint32_t> holders(std::size_t table) const;
  /// Columns of `table` on `device`.
  [[nodiscard]] int columns(std::size_t table, std::uint32_t device) const;
  [[nodiscard]] std::int64_t rows(std::size_t table) const { return stored_[table].rows; }
  /// Rows of the columns on a device, which it need not be sent.
  [[nodiscard]] std::int64_t kept_rows(std::size_t table) const { return stored_[table].kept_rows; }
  /// What a device is sent of so many rows of neighbouring columns. The state that belongs to rows
  /// comes with each such part.
  [[nodiscard]] std::int64_t part_bytes(std::size_t table, int dim, std::int64_t rows) const {
    const RowBytes& bytes = stored_[table].bytes;
    return rows * (bytes.per_column * dim + bytes.per_row);
  }
  /// What a device that holds a column need not be sent of it.
  [[nodiscard]] std::int64_t bytes_per_column(std::size_t table) const {
    return kept_rows(table) * stored_[table].bytes.per_column;
  }
  /// Of all columns, without the state of rows.
  [[nodiscard]] std::int64_t total_bytes() const { return total_bytes_; }
  /// What is on no device. No plan moves less.
  [[nodiscard]] std::int64_t least_bytes() const { return least_bytes_; }

 private:
  std::vector<std::vector<Range>> ranges_;
  std::vector<std::uint32_t> replicas_;
  std::vector<int> dims_;
  /// Of a table: what moves with it.
  struct Stored {
    std::int64_t rows;
    std::int64_t kept_rows;
    RowBytes bytes;
  };
  [[nodiscard]] std::int64_t missing_bytes(std::size_t table) const;

  std::vector<Stored> stored_;
  std::int64_t total_bytes_ = 0;
  std::int64_t least_bytes_ = 0;
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
/// By receiving device, table, column and row.
void sort_moves(std::vector<TableMove>& moves);

}  // namespace neuroshard
