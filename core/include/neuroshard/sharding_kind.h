#pragma once

#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace neuroshard {

/// Way in which a table is spread over devices (docs/task_format.md, "Kinds"), as TorchRec calls
/// it; it has no kPartRow.
enum class ShardingKind {
  kTable,     ///< One slice: all columns and rows on one device.
  kColumn,    ///< Slices of columns with all rows; one slice is the least of it.
  kRow,       ///< Blocks of rows with all columns, one on each device.
  kTableRow,  ///< Blocks of rows with all columns, one on each device of one node.
  kGrid,      ///< Slices of columns, each in blocks of rows on the devices of a node.
  kPartRow,   ///< Blocks of rows, of all columns or of slices of them, on a part of a node each.
  kReplicate  ///< All of it on every device.
};

[[nodiscard]] std::span<const ShardingKind> all_sharding_kinds();
/// "table", "column", "row", "table_row", "grid", "part_row", "replicate".
[[nodiscard]] std::string_view name_of(ShardingKind kind);
/// Throws Error listing the names.
[[nodiscard]] ShardingKind sharding_kind_from_name(std::string_view name);

}  // namespace neuroshard
#pragma GCC visibility pop
