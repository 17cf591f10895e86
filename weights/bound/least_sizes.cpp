#include "weights/bound/least_sizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace neuroshard {
namespace {

/// Beyond what doubles lose.
constexpr double kRounding = 1e-11;
/// All ways to cut so many units of columns are looked at, in quadratic time.
constexpr std::size_t kMostUnits = 256;

void keep_less(const LeastSize& other, LeastSize& least) {
  if (other.size < least.size) least = other;
}

double weighed(const Resources& used, const Resources& weights) {
  if (used[kTime] == kInfinity || used[kSlices] == kInfinity) return kInfinity;
  double size = 0.0;
  for (std::size_t i = 0; i < used.size(); ++i) size += weights[i] * used[i];
  return size;
}

/// Measures pieces of a table.
class PieceMeter {
 public:
  PieceMeter(const Sizing& sizing, double ms_per_bit) : sizing_(sizing) {
    if (sizing.bit_ms > 0.0 && ms_per_bit > 0.0) {
      more_bits_ = std::log2(sizing.bit_ms / ms_per_bit);
    }
  }

  [[nodiscard]] Resources of_slice(const Piece& piece) const {
    Resources used = used_by(piece, std::max(0.0, more_bits_));
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] > most_of(i) * (1.0 + kRounding)) used[kTime] = kInfinity;
    }
    return used;
  }

  [[nodiscard]] Resources rounding_of(const BlockPieces& narrowest) const {
    return used_by({.once_ms = narrowest.together.once_ms,
                    .columns = narrowest.rounding,
                    .id_columns = narrowest.id_rounding},
                   0.0);
  }

  [[nodiscard]] PieceUses::Blocks of_blocks(const BlockPieces& pieces,
                                            const Resources& rounding) const {
    const double more_bits = std::max(0.0, pieces.whole_bits + more_bits_ - pieces.together.bits);
    const auto with_once = [&](double once_ms) {
      Piece together = pieces.together;
      together.once_ms = once_ms;
      return PieceUses::Blocks{
          .each = used_by(pieces.each, 0.0),
          .all = used_by(together, more_bits),
          .exchanged = used_by(
              {.once_ms = once_ms, .columns = together.columns, .id_columns = together.id_columns},
              0.0)};
    };
    PieceUses::Blocks blocks = with_once(pieces.each.once_ms);
    if (pieces.frequent_rows > 0.0) {
      // A block of so few rows that none may be frequent takes less of the time that is left.
      PieceUses::Blocks frequent = with_once(pieces.together.once_ms);
      bool outweighs = true;
      for (const Resource i : {kTime, kSlices}) {
        frequent.each[i] -= (frequent.all[i] - blocks.all[i]) / pieces.frequent_rows;
        outweighs &= frequent.each[i] >= rounding[i];
      }
      if (outweighs) blocks = frequent;
    }
    for (std::size_t i = 0; i < blocks.all.size(); ++i) {
      const double room = most_of(i) * (1.0 + kRounding) - blocks.each[i] + rounding[i];
      const auto lower = [&](double all, double& part) {
        if (!(room > 0.0)) part = 0.0;
        if (room < part * all) part = room / all;
      };
      lower(blocks.all[i], blocks.part);
      lower(blocks.all[i] - blocks.exchanged[i], blocks.part_of_slices);
    }
    if (blocks.part == 0.0) blocks.part_of_slices = 0.0;
    return blocks;
  }

  /// Infinite time if there is no room.
  [[nodiscard]] Resources of_replica(const ReplicaPiece& replica,
                                     const AlikeDevices& device) const {
    Resources used{};
    const double compute = sizing_.compute * device.speed;
    used[kTime] = of_most(kTime, compute * replica.ms, compute * replica.once_ms);
    used[kReplicas] = sizing_.compute * replica.ms / sizing_.most[kReplicas];
    used[kBytes] = replica.bytes / sizing_.most[kBytes];
    if (used[kTime] > 1.0 + kRounding || used[kReplicas] > 1.0 + kRounding ||
        replica.bytes > device.bytes) {
      used[kTime] = kInfinity;
    }
    return used;
  }

 private:
  [[nodiscard]] double most_of(std::size_t resource) const {
    if (!sizing_.is_mean()) return 1.0;
    // Others may exchange less than the mean.
    if (resource == kTime) return kInfinity;
    return resource == kColumns || resource == kIds ? sizing_.most_of_mean : 1.0;
  }
  /// Where so much goes only once. Infinite if there is no room.
  [[nodiscard]] double of_most(Resource resource, double ms, double once_ms) const {
    const double room = sizing_.most[resource] - once_ms;
    return room > 0.0 ? ms / room : kInfinity;
  }
  [[nodiscard]] Resources used_by(const Piece& piece, double more_bits) const {
    const double ms =
        sizing_.compute * (piece.added_ms + piece.ms_per_bit * (piece.bits + more_bits));
    const double once_ms = sizing_.compute * piece.once_ms;
    const double exchange_ms = sizing_.column_ms * piece.columns + sizing_.id_ms * piece.id_columns;
    Resources used{};
    // An exchange of the mean is not of the device that has `once_ms`.
    used[kTime] = sizing_.is_mean() ? of_most(kTime, ms, once_ms) + of_most(kTime, exchange_ms, 0.0)
                                    : of_most(kTime, ms + exchange_ms, once_ms);
    used[kSlices] = of_most(kSlices, ms, once_ms);
    used[kColumns] = piece.columns / sizing_.most[kColumns];
    used[kIds] = piece.id_columns / sizing_.most[kIds];
    used[kBytes] = piece.bytes / sizing_.most[kBytes];
    return used;
  }

  const Sizing& sizing_;
  double more_bits_ = -kInfinity;
};

/// Row blocks on devices of a class, and of a width.
struct BlockShape {
  std::size_t of_class = 0;
  std::size_t width = 0;
};

/// The least by unit of columns, and of which shape it is.
struct LeastByUnit {
  double size = kInfinity;
  BlockShape shape{};

  void keep(double of_width, const BlockShape& of) {
    const double other = of_width / static_cast<double>(of.width + 1);
    if (other >= size) return;
    size = other;
    shape = of;
  }
};

/// Lowers `sizes` [units - 1] to those of row blocks of so many columns.
void lower_to_blocks(const PieceUses::RowCut& cut, const Resources& rounding, bool may_be_grid,
                     const Sizing& sizing, std::vector<LeastSize>& sizes) {
  const std::size_t first = may_be_grid ? 0 : sizes.size() - 1;
  const auto blocks = [&](const BlockShape& shape) -> const PieceUses::Blocks& {
    return cut.of_classes[shape.of_class][shape.width];
  };
  const auto weighed_in = [&](const BlockShape& shape, const Resources& used) {
    return weighed(used, sizing.weights[shape.of_class]);
  };
  const auto for_classes = [&](std::size_t width, const auto& see) {
    for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
      if (width < cut.of_classes[c].size()) see(BlockShape{.of_class = c, .width = width});
    }
  };
  std::array<double, kWidthClasses.size()> rounded{};
  for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
    rounded[c] = weighed(rounding, sizing.weights[c]);
  }
  // A block outweighs rounding by what it has of its own, or else by no columns and ids.
  bool outweighs = true;
  for (std::size_t i = first; i < sizes.size(); ++i) {
    for_classes(i, [&](const BlockShape& shape) {
      outweighs &= weighed_in(shape, blocks(shape).each) >= rounded[shape.of_class];
    });
  }
  const auto part_of = [&](const BlockShape& shape) {
    return outweighs ? blocks(shape).part : blocks(shape).part_of_slices;
  };
  // Blocks of one column may be of different shapes.
  LeastByUnit least_each;
  LeastByUnit least_all;
  LeastByUnit least_fitting;
  double mapped_by_unit = sizing.map.as_is < 1.0 ? kInfinity : 0.0;
  double largest_part = 0.0;
  for (std::size_t i = first; i < sizes.size(); ++i) {
    const double units = static_cast<double>(i + 1);
    for_classes(i, [&](const BlockShape& shape) {
      const PieceUses::Blocks& uses = blocks(shape);
      const double part = part_of(shape);
      if (part == 0.0) return;
      const double each =
          weighed_in(shape, uses.each) - (outweighs ? rounded[shape.of_class] : 0.0);
      const double all =
          weighed_in(shape, uses.all) - (outweighs ? 0.0 : weighed_in(shape, uses.exchanged));
      least_each.keep(each, shape);
      least_all.keep(all, shape);
      // The larger a block is, the less counts what each has; but it has to fit.
      least_fitting.keep(all + each / part, shape);
      if (sizing.map.as_is < 1.0) {
        const double mapped =
            all > 0.0 ? all * sizing.map.least_slope(each, each + part * all) : 0.0;
        mapped_by_unit = std::min(mapped_by_unit, mapped / units);
      }
      largest_part = std::max(largest_part, part);
    });
    if (largest_part == 0.0) continue;
    const double count = std::max(cut.blocks, std::ceil((1.0 - kRounding) / largest_part));
    if (count >= cut.end) continue;
    const double counted = count * least_each.size + least_all.size;
    const double by_unit = sizing.map.as_is * std::max(counted, least_fitting.size);
    const double size = (1.0 - kRounding) * units * std::max(by_unit, mapped_by_unit);
    if (size >= sizes[i].size) continue;
    sizes[i] = {.size = size};
    const auto add_times = [&](double times, const BlockShape& shape, const Resources& used) {
      add(used, times * units / static_cast<double>(shape.width + 1),
          sizes[i].used[shape.of_class]);
    };
    const auto add_each = [&](double times, const BlockShape& shape) {
      add_times(times, shape, blocks(shape).each);
      if (outweighs) add_times(-times, shape, rounding);
    };
    const auto add_all = [&](const BlockShape& shape) {
      add_times(1.0, shape, blocks(shape).all);
      if (!outweighs) add_times(-1.0, shape, blocks(shape).exchanged);
    };
    if (counted >= least_fitting.size) {
      add_all(least_all.shape);
      add_each(count, least_each.shape);
    } else {
      add_all(least_fitting.shape);
      add_each(1.0 / part_of(least_fitting.shape), least_fitting.shape);
    }
  }
}

}  // namespace

double SizeMap::operator()(double size) const {
  if (as_is == 1.0) return size;
  double mapped = size;
  if (size >= 1.0 || (rest > 0.0 && size > 1.0 - rest)) {
    mapped = 1.0;
  } else if (parts > 0) {
    const double times = size * (parts + 1.0);
    if (times != std::floor(times)) mapped = std::floor(times) / parts;
  } else if (size < rest) {
    mapped = 0.0;
  }
  return as_is * size + (1.0 - as_is) * mapped;
}

double SizeMap::least_slope(double from, double to) const {
  // Where a map does not jump, it is least over what sizes are above `from` at the end.
  double least = (*this)((1.0 - kRounding) * std::min(to, 1.0)) / (to - from);
  if (as_is == 1.0) return least;
  const auto see_end = [&](double end) {
    if (end <= from || end >= to) return;
    least = std::min(least, (*this)((1.0 - kRounding) * end) / (end - from));
  };
  for (int part = 1; part <= parts; ++part) see_end(part / (parts + 1.0));
  see_end(rest);
  see_end(1.0 - rest);
  return least;
}

void Sizing::set_bits_of(double ms) {
  bit_ms = ms;
  // A device may have fewer lookups, by whatever part: x log2(1 / x) is at most log2(e) / e.
  const double most_lack = compute * ms * std::numbers::log2e / std::numbers::e;
  for (AlikeDevices& alike : devices) {
    alike.ms += most_lack;
    alike.slices_ms += most_lack;
  }
  most[kTime] += most_lack;
  most[kSlices] += most_lack;
}

Resources Sizing::room_of(const AlikeDevices& device) const {
  Resources room;
  room.fill(1.0);
  room[kTime] = device.ms / most[kTime];
  room[kSlices] = most[kSlices] < kInfinity ? device.slices_ms / most[kSlices] : 1.0;
  room[kBytes] = device.bytes / most[kBytes];
  return room;
}

void LeastSizes::measure(const TablePieces& table, const Sizing& sizing, PieceUses& uses) {
  const PieceMeter meter(sizing, table.slices.front().front().ms_per_bit);
  const auto measure_classes = [&](const auto& pieces, auto& all, const auto& measured) {
    all.resize(pieces.size());
    for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
      all[c].clear();
      for (const auto& piece : pieces[c]) all[c].push_back(measured(piece));
    }
  };
  measure_classes(table.slices, uses.slices,
                  [&](const Piece& piece) { return meter.of_slice(piece); });
  uses.blocks.resize(table.blocks.size());
  if (!table.blocks.empty()) {
    uses.rounding = meter.rounding_of(table.blocks.front().of_classes.front().front());
  }
  for (std::size_t i = 0; i < table.blocks.size(); ++i) {
    PieceUses::RowCut& cut = uses.blocks[i];
    cut.blocks = table.blocks[i].blocks;
    cut.end = i + 1 < table.blocks.size() ? table.blocks[i + 1].blocks : kInfinity;
    measure_classes(table.blocks[i].of_classes, cut.of_classes, [&](const BlockPieces& pieces) {
      return meter.of_blocks(pieces, uses.rounding);
    });
  }
  uses.replica.clear();
  if (!sizing.replicas || table.replicas.empty()) return;
  const std::optional<ReplicaPiece>& replica = table.replicas[*sizing.replicas];
  if (!replica) return;
  for (const AlikeDevices& alike : sizing.devices) {
    uses.replica.push_back(meter.of_replica(*replica, alike));
  }
}

void LeastSizes::cut_columns() {
  const std::size_t units = of_slices_.size();
  of_columns_.assign(units + 1, kInfinity);
  last_.assign(units + 1, 0);
  of_columns_[0] = 0.0;
  if (units > kMostUnits) {
    double by_unit = kInfinity;
    for (std::size_t n = 1; n <= units; ++n) {
      by_unit = std::min(by_unit, of_slices_[n - 1].size / static_cast<double>(n));
      of_columns_[n] = (1.0 - kRounding) * by_unit * static_cast<double>(n);
      last_[n] = n;
    }
    return;
  }
  for (std::size_t n = 1; n <= units; ++n) {
    for (std::size_t of_last = 1; of_last <= n; ++of_last) {
      const double size = of_slices_[of_last - 1].size + of_columns_[n - of_last];
      if (size >= of_columns_[n]) continue;
      of_columns_[n] = size;
      last_[n] = of_last;
    }
  }
}

LeastSize LeastSizes::of_columns(const PieceUses& uses, std::size_t units) const {
  LeastSize least{.size = of_columns_[units]};
  if (least.size == kInfinity) return {};
  for (; units > 0; units -= last_[units]) {
    const std::size_t width = last_[units] - 1;
    const std::size_t of_class = of_slices_[width].of_class;
    add(uses.slices[of_class][width], 1.0, least.used[of_class]);
  }
  return least;
}

std::uint64_t LeastSizes::steps_of(const TablePieces& table, const Sizing& sizing) {
  const std::size_t units = table.slices.front().size();
  const bool may_cut = table.may_cut_columns || table.may_be_grid;
  const std::size_t of_columns = !may_cut ? 1 : units > kMostUnits ? units : units * units / 2;
  const std::size_t widths = table.may_be_grid ? units : 1;
  constexpr std::size_t kStepsOfBlocks = 16;
  return of_columns +
         sizing.classes.count() * (units + kStepsOfBlocks * widths * table.blocks.size());
}

LeastSize LeastSizes::of(const TablePieces& table, const PieceUses& uses, const Sizing& sizing) {
  const auto size_of = [&](const Resources& used, std::size_t of_class) {
    return used[kTime] == kInfinity
               ? kInfinity
               : sizing.map((1.0 - kRounding) * weighed(used, sizing.weights[of_class]));
  };
  const std::size_t units = table.slices.front().size();
  const bool may_cut = table.may_cut_columns || table.may_be_grid;
  of_slices_.assign(units, {});
  for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
    for (std::size_t i = may_cut ? 0 : units - 1; i < uses.slices[c].size(); ++i) {
      const double size = size_of(uses.slices[c][i], c);
      if (size < of_slices_[i].size) of_slices_[i] = {.size = size, .of_class = c};
    }
  }
  LeastSize least;
  if (table.may_be_whole && of_slices_.back().size < kInfinity) {
    const auto& [size, of_class] = of_slices_.back();
    least.size = size;
    least.used[of_class] = uses.slices[of_class].back();
  }
  if (may_cut) {
    cut_columns();
    if (table.may_cut_columns) keep_less(of_columns(uses, units), least);
  }
  if (!table.blocks.empty()) {
    of_blocks_.assign(units, {});
    for (const PieceUses::RowCut& cut : uses.blocks) {
      lower_to_blocks(cut, uses.rounding, table.may_be_grid, sizing, of_blocks_);
    }
    keep_less(of_blocks_[units - 1], least);
    for (std::size_t of_rows = 1; of_rows < units && table.may_be_grid; ++of_rows) {
      const LeastSize& blocks = of_blocks_[of_rows - 1];
      if (blocks.size + of_columns_[units - of_rows] >= least.size) continue;
      least = of_columns(uses, units - of_rows);
      least.size += blocks.size;
      for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
        add(blocks.used[c], 1.0, least.used[c]);
      }
    }
  }
  if (!uses.replica.empty()) {
    LeastSize sum{.size = 0.0};
    // It is on devices of all classes: on each it takes no less than by that which makes it least.
    for (std::size_t i = 0; i < uses.replica.size(); ++i) {
      const int devices = sizing.devices[i].devices;
      double size = kInfinity;
      std::size_t of_class = sizing.classes.begin;
      for (std::size_t c = sizing.classes.begin; c < sizing.classes.end; ++c) {
        const double in_class = size_of(uses.replica[i], c);
        if (in_class < size) {
          size = in_class;
          of_class = c;
        }
      }
      sum.size += devices * size;
      add(uses.replica[i], devices, sum.used[of_class]);
    }
    keep_less(sum, least);
  }
  return least;
}

}  // namespace neuroshard
