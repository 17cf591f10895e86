#include "weights/bound/table_pieces.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/base/count_up.h"
#include "core/plans/id_exchange.h"
#include "core/plans/replicas.h"
#include "core/tables/table_kind.h"
#include "neuroshard/histogram_scale.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/analytic_compute.h"

namespace neuroshard {
namespace {

bool in_group(const Task& task, int table) {
  return std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return std::ranges::count(group.tables, table) > 0;
  });
}

/// Fewer blocks are looked at more closely, unless tables are many.
constexpr int kFewBlocks = 32;
constexpr std::size_t kManyTables = 30;

/// Tables with a whole number of outputs a sample have a multiple of so many columns on any device.
int column_step_of(const Table& table) {
  const double outputs = outputs_per_sample(table);
  return table.pooling != Pooling::kNone && outputs == std::floor(outputs)
             ? output_columns(table, kDimMultiple)
             : 1;
}

class PieceMaker {
 public:
  PieceMaker(const GpuSpec& gpu, const NetworkSpec& network, const Task& task)
      : gpu_(gpu),
        network_(network),
        task_(task),
        samples_(static_cast<double>(task.batch_size)),
        of_batch_(samples_),
        of_device_(samples_of_replicas(task)) {}

  [[nodiscard]] TablePieces of(int index) const {
    const Table& whole = task_.tables[static_cast<std::size_t>(index)];
    const TableRules& rules = whole.rules;
    const bool one_slice = rules.no_split || rules.max_slices == 1;
    // On one device tables are of all kinds, and one row is a block of rows.
    const auto allows = [&](ShardingKind kind) { return task_.devices == 1 || rules.allow(kind); };
    const bool any_grid = allows(ShardingKind::kGrid) || allows(ShardingKind::kPartRow);
    const bool any_rows = allows(ShardingKind::kRow) || allows(ShardingKind::kTableRow) || any_grid;
    const bool any_columns = allows(ShardingKind::kColumn) || (whole.rows == 1 && any_rows);
    TablePieces pieces;
    pieces.may_cut_columns = !one_slice && any_columns;
    pieces.may_be_whole = any_columns || allows(ShardingKind::kTable);
    pieces.may_be_grid = !one_slice && whole.rows > 1 && any_grid;
    const bool may_be_blocks = !one_slice && whole.rows > 1 && any_rows;
    pieces.column_step = column_step_of(whole);
    Table table = whole;
    table.access_histogram = of_batch_(whole);
    for (const WidthClass& of_class : kWidthClasses) {
      std::vector<Piece>& slices = pieces.slices.emplace_back();
      const int most = std::min(whole.dim, of_class.most);
      for (table.dim = kDimMultiple; table.dim <= most; table.dim += kDimMultiple) {
        slices.push_back(slice_of(table, of_class));
      }
    }
    table.dim = whole.dim;
    if (may_be_blocks) pieces.blocks = row_blocks_of(table);
    if (allows(ShardingKind::kReplicate) && may_be_everywhere(index)) {
      for (const WidthClass& of_class : kWidthClasses) {
        std::optional<ReplicaPiece>& replica = pieces.replicas.emplace_back();
        if (whole.dim <= of_class.most) replica = replica_of(index, of_class);
      }
    }
    return pieces;
  }

 private:
  [[nodiscard]] Piece slice_of(const Table& table, const WidthClass& of_class) const {
    const OperatorPart part = operator_part(gpu_, table, of_class.least, samples_);
    return {.added_ms = part.added_ms,
            .ms_per_bit = part.ms_per_bit,
            .bits = std::log2(static_cast<double>(table.rows)),
            .once_ms = part.once_ms,
            .columns = static_cast<double>(output_columns(table, table.dim)),
            .id_columns = id_columns_of(static_cast<double>(id_units(table, task_.exchange))),
            .bytes = static_cast<double>(slice_bytes(table, table.dim))};
  }

  [[nodiscard]] double id_columns_of(double units) const {
    return units * (task_.exchange.columns_of_lookup() / kUnitsOfLookup);
  }

  /// A tangent holds for any number of blocks, and is exact for its own.
  [[nodiscard]] std::vector<RowBlocks> row_blocks_of(const Table& table) const {
    std::vector<RowBlocks> all;
    const int few = task_.tables.size() > kManyTables ? 2 : kFewBlocks;
    for (int blocks = 2; blocks < 4 * task_.devices;
         blocks += blocks < few ? std::max(1, blocks / 4) : blocks) {
      add_blocks(table, blocks, all);
    }
    if (all.empty()) add_blocks(table, kInfinity, all);
    if (!all.empty()) all.front().blocks = 2.0;
    return all;
  }

  void add_blocks(Table table, double blocks, std::vector<RowBlocks>& all) const {
    RowBlocks found{.blocks = blocks};
    const int whole = table.dim;
    for (const WidthClass& of_class : kWidthClasses) {
      std::vector<BlockPieces>& of_widths = found.of_classes.emplace_back();
      const int most = std::min(whole, of_class.most);
      for (table.dim = kDimMultiple; table.dim <= most; table.dim += kDimMultiple) {
        of_widths.push_back(blocks_of(table, of_class, blocks));
        // Blocks that save more than they take say nothing.
        if (of_widths.back().each.added_ms < 0.0) return;
      }
    }
    all.push_back(std::move(found));
  }

  [[nodiscard]] BlockPieces blocks_of(const Table& table, const WidthClass& of_class,
                                      double blocks) const {
    const std::vector<double>& shares = table.row_shares;
    const BlocksPart part =
        blocks_part(gpu_, table, of_class.least, samples_, shares.empty(), blocks);
    Piece together = slice_of(table, of_class);
    together.added_ms = part.lookups.added_ms;
    together.once_ms = part.lookups.once_ms;
    if (!shares.empty()) {
      // All is by lookups: of bytes nothing is known. Some rows have so many times their part.
      together.bytes = 0.0;
      together.bits -=
          std::log2(*std::ranges::max_element(shares) * static_cast<double>(shares.size()) /
                    std::accumulate(shares.begin(), shares.end(), 0.0));
    }
    Piece each{.added_ms = part.each_ms, .once_ms = part.each_once_ms};
    const double whole_bits = together.bits;
    // A part x of the rows has log2(1 / x) bits less: a tangent of that.
    const double bits = together.bits - std::log2(blocks) + std::numbers::log2e;
    if (std::isfinite(blocks) && together.bits > std::log2(blocks)) {
      together.bits = bits;
      each.added_ms -= together.ms_per_bit * std::numbers::log2e / blocks;
    } else {
      together.bits = 0.0;
    }
    const bool pooled = table.pooling != Pooling::kNone;
    if (pooled) std::swap(together.columns, each.columns);
    return {.together = together,
            .each = each,
            .frequent_rows = part.frequent_rows,
            .whole_bits = whole_bits,
            .rounding = pooled ? 0.0 : 1.0,
            .id_rounding = id_columns_of(1.0)};
  }

  [[nodiscard]] bool may_be_everywhere(int index) const {
    if (task_.devices == 1) return true;
    for (int device = 0; device < task_.devices; ++device) {
      const TableRules& rules = task_.tables[static_cast<std::size_t>(index)].rules;
      if (!rules.allow(device, task_.devices_per_node)) return false;
    }
    return !in_group(task_, index);
  }

  [[nodiscard]] ReplicaPiece replica_of(int index, const WidthClass& of_class) const {
    Table table = in_replica_operator(task_.tables[static_cast<std::size_t>(index)]);
    table.access_histogram = of_device_(table);
    const OperatorPart part =
        operator_part(gpu_, table, of_class.least, samples_of_replicas(task_));
    const double slowest =
        task_.device_list.empty()
            ? 1.0
            : std::ranges::min_element(task_.device_list, {}, &Device::speed)->speed;
    const double bits = std::log2(static_cast<double>(table.rows));
    ReplicaPiece replica{.ms = (part.added_ms + part.ms_per_bit * bits) / slowest,
                         .once_ms = part.once_ms / slowest,
                         .bytes = static_cast<double>(replica_memory(task_, index).total_bytes())};
    // Costs of bytes are lines: what twice the bytes take more is in proportion to them.
    const ReplicaTraffic traffic =
        replica_traffic(task_, {.slices = {}, .shards = {}, .replicas = {index}});
    const auto exchange_ms = [&](double times) {
      return analytic_all_reduce(gpu_, network_, task_.devices, times * traffic.dense_bytes) +
             analytic_replica_update(gpu_, network_, task_.devices,
                                     {.gathered_bytes = times * traffic.update.gathered_bytes,
                                      .copied_bytes = times * traffic.update.copied_bytes,
                                      .launches = traffic.update.launches});
    };
    const double once = exchange_ms(1.0);
    const double in_proportion = std::max(0.0, exchange_ms(2.0) - once);
    replica.ms += in_proportion;
    replica.once_ms += std::max(0.0, once - in_proportion);
    return replica;
  }

  const GpuSpec& gpu_;
  const NetworkSpec& network_;
  const Task& task_;
  double samples_;
  HistogramScale of_batch_;
  HistogramScale of_device_;
};

}  // namespace

std::vector<TablePieces> table_pieces(const GpuSpec& gpu, const NetworkSpec& network,
                                      const Task& task) {
  const PieceMaker maker(gpu, network, task);
  const auto same_groups = [&](int a, int b) { return in_group(task, a) == in_group(task, b); };
  std::vector<int> order = count_up<int>(task.tables.size());
  const auto table = [&](int index) -> const Table& {
    return task.tables[static_cast<std::size_t>(index)];
  };
  std::ranges::stable_sort(order,
                           [&](int a, int b) { return kind_of(table(a)) < kind_of(table(b)); });
  std::vector<TablePieces> all;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool alike = i > 0 && kind_of(table(order[i])) == kind_of(table(order[i - 1])) &&
                       same_groups(order[i], order[i - 1]);
    if (alike) {
      ++all.back().tables;
    } else {
      all.push_back(maker.of(order[i]));
    }
  }
  return all;
}

}  // namespace neuroshard
