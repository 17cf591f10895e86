#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "search/state/running_holders.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// A table that runs replicated and may stay so.
struct RunningReplica {
  std::int64_t bytes_back = 0;  ///< Bytes moved to replicate it again if it no longer is.
  std::uint32_t table = 0;
};

/// Says what may be moved to get from a running plan to another, and what that costs. Borrows all.
struct MoveTerms {
  const RunningHolders& holders;  ///< Holders of the listed task.
  std::int64_t most_moved_bytes = kAnyBytes;
  double ms_per_byte = 0.0;
  /// A plan costs so much more if tables that run replicated no longer are: if any is, and for
  /// each.
  double ms_of_drops = 0.0;
  double ms_of_drop = 0.0;
  /// As many of the first replicas as take no more bytes to get back are not counted.
  std::int64_t free_drops_bytes = 0;
  std::span<const RunningReplica> replicas{};  ///< Replicas that take least come first.

  /// Price of the moves, and of dropped replicas. `is_replica`: whether a listed table is one.
  template <typename IsReplica>
  [[nodiscard]] double charge_ms(std::int64_t moved_bytes, const IsReplica& is_replica) const {
    const double ms = ms_per_byte * static_cast<double>(moved_bytes);
    if (ms_of_drops == 0.0) return ms;
    std::int64_t left = free_drops_bytes;
    int drops = 0;
    for (const RunningReplica& one : replicas) {
      if (is_replica(one.table)) continue;
      left -= one.bytes_back;
      if (left < 0) ++drops;
    }
    return drops == 0 ? ms : ms + ms_of_drops + ms_of_drop * drops;
  }
};

/// Counts what has to be moved for a table to be in some slices, which have no columns of their
/// own: they get those that their devices hold, as far as that goes, whatever order they come in.
/// One per thread.
class MovedBytes {
 public:
  /// Borrows all but `terms`.
  MovedBytes(const MoveTerms& terms, const BundledTask& bundled, const TableWays& ways);

  [[nodiscard]] const MoveTerms& terms() const { return terms_; }

  /// First columns of slices that are all of a table, in one way.
  [[nodiscard]] const std::vector<int>& first_columns(std::span<const StateSlice> slices);
  [[nodiscard]] std::int64_t of_slices(std::span<const StateSlice> slices);
  /// Bytes of a table in a way that has no places to choose from.
  [[nodiscard]] std::int64_t of_everywhere(int table, Way way);
  [[nodiscard]] std::int64_t of_fixed(TableSlice slice, int device) const;
  /// About what has to be sent for a slice by itself.
  [[nodiscard]] std::int64_t about(const StateSlice& slice) const;
  /// Bytes of all columns.
  [[nodiscard]] std::int64_t total_bytes() const { return terms_.holders.total_bytes(); }
  /// MoveTerms::charge_ms(). `is_replica`: [tables].
  [[nodiscard]] double charge_ms(std::int64_t bytes, std::span<const char> is_replica) const;

 private:
  /// Columns that a device, or the first device of a node, holds of a table.
  struct Held {
    int place;
    int first_column;
    int dim;
  };
  struct Wish {
    int slice;
    int first_column;
  };
  [[nodiscard]] std::span<const std::uint32_t> listed(int table) const;
  [[nodiscard]] std::int64_t counted(std::span<const StateSlice> slices);
  void set_gaps(std::span<const StateSlice> slices);
  void count_held(std::span<const StateSlice> slices);
  void set_nodes_of_halves(std::span<const StateSlice> slices);
  [[nodiscard]] int width_to_keep(const StateSlice& slice, int first_column) const;

  MoveTerms terms_;
  const BundledTask& bundled_;
  const TableWays& ways_;
  std::vector<std::vector<Held>> held_;                     ///< [tables]: by place and column.
  std::map<std::pair<int, Way>, std::int64_t> everywhere_;  ///< of_everywhere(), if it is known.

  std::vector<int> first_columns_;
  std::vector<int> order_;
  std::vector<Held> left_;
  std::vector<Wish> wishes_;
  std::vector<int> others_;
  std::vector<int> held_before_;
};

}  // namespace neuroshard
