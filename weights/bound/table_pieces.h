#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Devices by the columns of their widest slice: an operator looks up all of its tables with the
/// threads of that one. A slice with fewer columns than `least` takes as long there as one of
/// `least` in what is by thread; one with more than `most` is not there.
struct WidthClass {
  int least = 0;
  int most = std::numeric_limits<int>::max();
};

/// Any device is of the first, and of one of the others.
inline constexpr std::array<WidthClass, 5> kWidthClasses{
    {{}, {.most = 32}, {.least = 36, .most = 64}, {.least = 68, .most = 128}, {.least = 132}}};

/// A slice takes at least so much of its device, beside whatever else is there.
struct Piece {
  double added_ms = 0.0;
  double ms_per_bit = 0.0;  ///< By bits of the device's rows.
  double bits = 0.0;        ///< Bits of its own rows.
  double once_ms = 0.0;     ///< The device takes as long once, for all that is there.
  double columns = 0.0;
  double id_columns = 0.0;
  double bytes = 0.0;
};

/// Row blocks of some columns, of which each takes at least `each` and its part of `together`.
struct BlockPieces {
  Piece together{};
  Piece each{};
  /// Blocks with less than a part of `together` in so many have once_ms of `each`; all others that
  /// of `together`. 0: both have the same.
  double frequent_rows = 0.0;
  double whole_bits = 0.0;   ///< Bits of all rows, or as if so many were looked up alike.
  double rounding = 0.0;     ///< Columns that each may have less by rounding,
  double id_rounding = 0.0;  ///< and columns of ids.
};

/// For so many blocks of rows, or more.
struct RowBlocks {
  double blocks = 2.0;
  std::vector<std::vector<BlockPieces>> of_classes{};  ///< [class][columns / 4 - 1]
};

/// A replica takes so much of every device.
struct ReplicaPiece {
  double ms = 0.0;
  double once_ms = 0.0;  ///< The all-reduce and the operator take as long once.
  double bytes = 0.0;
};

/// In which ways plans may have a table, and what it takes then.
struct TablePieces {
  int tables = 1;                          ///< Alike.
  int column_step = 1;                     ///< Columns of any pieces are a multiple.
  std::vector<std::vector<Piece>> slices;  ///< [class][columns / 4 - 1], of all rows.
  /// By the least number of row blocks that they are for, from 2. Empty: it may not be cut by rows.
  std::vector<RowBlocks> blocks;
  bool may_be_whole = false;
  bool may_cut_columns = false;
  bool may_be_grid = false;  ///< Cut by columns and rows; some columns may have all rows.
  /// Beside replicas of classes. Empty: it may not be one.
  std::vector<std::optional<ReplicaPiece>> replicas{};
};

/// The pieces of all tables; of those that are alike together. `task` has no ids that are still to
/// be deduplicated, `network` is its own.
[[nodiscard]] std::vector<TablePieces> table_pieces(const GpuSpec& gpu, const NetworkSpec& network,
                                                    const Task& task);

}  // namespace neuroshard
