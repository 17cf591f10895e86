#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weights/bound/table_pieces.h"

namespace neuroshard {

/// A map of sizes in [0, 1] that is superadditive and maps 1 to 1 ("dual feasible function"): what
/// fits in a bin also does by mapped sizes, by which large pieces may be larger. A mixture of two
/// such maps is another.
struct SizeMap {
  int parts = 0;       ///< Above 0: sizes count by how often 1 / (parts + 1) is in them.
  double rest = 0.0;   ///< Above 0: sizes below count nothing, those above 1 - `rest` as 1.
  double as_is = 1.0;  ///< The weight in the mixture of sizes as they are.

  [[nodiscard]] double operator()(double size) const;
  /// Sizes from `from`, to `to`, are mapped to at least so many times what they are above it.
  [[nodiscard]] double least_slope(double from, double to) const;
};

/// Resources of devices. kTime: for all that they do, what they exchange and replicas
/// included. kSlices: for operators of slices, beside the least that all wait for.
enum Resource { kTime, kSlices, kReplicas, kColumns, kIds, kBytes };
using Resources = std::array<double, 6>;
using ClassResources = std::array<Resources, kWidthClasses.size()>;

inline void add(const Resources& more, double times, Resources& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times * more[i];
}

/// From kWidthClasses: the first alone, or others, of which each device is of one.
struct ClassRange {
  std::size_t begin = 0;
  std::size_t end = 1;

  [[nodiscard]] std::size_t count() const { return end - begin; }
};

/// Devices that can take each other's place.
struct AlikeDevices {
  int devices = 1;
  double speed = 1.0;
  double base_ms = 0.0;
  double bytes = 0.0;
  // At speed 1, that their pieces may take.
  double ms = 0.0;
  double slices_ms = 0.0;
};

/// Sizes of pieces: a mean of what they take of each resource, over the most that a device has.
struct Sizing {
  double compute = 1.0;  ///< 0: operators and all-reduces take no time.
  /// Columns, and columns of ids, take so much of a device's time.
  double column_ms = 0.0;
  double id_ms = 0.0;
  Resources most{};
  ClassRange classes{};
  ClassResources weights{};
  /// One device may have so many times the most columns, and ids, which are then those of the mean.
  double most_of_mean = 1.0;
  double bit_ms =
      0.0;  ///< Lookups whose bit takes so long, of a device, are taken to be many tables'.
  std::optional<std::size_t> replicas{};  ///< Their class. Nothing: there are none.
  std::vector<AlikeDevices> devices;
  SizeMap map{};

  [[nodiscard]] bool is_mean() const { return most_of_mean > 1.0; }
  /// Bits of the rows of many tables together are more than those of each.
  void set_bits_of(double ms);
  /// The resources of a device, over the most.
  [[nodiscard]] Resources room_of(const AlikeDevices& device) const;
};

/// The least that the pieces of a table come to on all devices, and what that takes of resources.
struct LeastSize {
  double size = kInfinity;
  ClassResources used{};
};

/// The pieces of a table take so much of devices, however resources weigh.
struct PieceUses {
  /// Row blocks of some columns: each takes `each`, and its part of `all`, of which `exchanged` are
  /// columns and ids.
  struct Blocks {
    Resources each{};
    Resources all{};
    Resources exchanged{};
    /// The most of all that one may be, and that with no columns and ids.
    double part = 1.0;
    double part_of_slices = 1.0;
  };
  /// As in RowBlocks, and fewer than `end`.
  struct RowCut {
    double blocks = 2.0;
    double end = 0.0;
    std::vector<std::vector<Blocks>> of_classes;
  };
  /// As in TablePieces. Slices that do not fit take infinite time.
  std::vector<std::vector<Resources>> slices;
  std::vector<RowCut> blocks;
  Resources rounding{};            ///< So much less each block may take.
  std::vector<Resources> replica;  ///< By Sizing::devices; empty: it may not be one.
};

/// In any way to have a table. Infinite if there is none.
class LeastSizes {
 public:
  /// Weights and map of `sizing` are of no account.
  static void measure(const TablePieces& table, const Sizing& sizing, PieceUses& uses);
  [[nodiscard]] LeastSize of(const TablePieces& table, const PieceUses& uses, const Sizing& sizing);
  /// About so many that takes.
  [[nodiscard]] static std::uint64_t steps_of(const TablePieces& table, const Sizing& sizing);

 private:
  struct Slice {
    double size = kInfinity;
    std::size_t of_class = 0;  ///< By which it is least.
  };

  /// The least sums of slices whose units come to 0, 1, ... all.
  void cut_columns();
  [[nodiscard]] LeastSize of_columns(const PieceUses& uses, std::size_t units) const;

  // Kept from call to call, by units of columns.
  std::vector<Slice> of_slices_;
  std::vector<double> of_columns_;
  std::vector<std::size_t> last_;  ///< Units of the last of such slices.
  std::vector<LeastSize> of_blocks_;
};

}  // namespace neuroshard
