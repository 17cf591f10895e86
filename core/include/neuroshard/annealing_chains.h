#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace neuroshard {

/// A slice of a table on a device.
struct PlacedSlice {
  std::uint32_t piece = 0;  ///< In the task's catalog; says the table's kind and the width.
  std::uint32_t table = 0;
  std::uint32_t device = 0;

  // clang-tidy takes the 0 that a comparison is compared with for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const PlacedSlice&, const PlacedSlice&) = default;
};

/// What the chains of annealing of one task have in common, where devices are equal and any table
/// may go to each of them. Spans are borrowed.
struct AnnealingProblem {
  int devices = 0;
  std::int64_t room_bytes = 0;               ///< Of each device, for tables.
  std::span<const float> embeddings;         ///< [pieces, embedding width]
  std::span<const std::int32_t> dims;        ///< [pieces]
  std::span<const std::int64_t> size_bytes;  ///< [pieces]
  std::span<const std::int64_t> lookups;     ///< [pieces], in units of lookup_units().
  /// [pieces]: 1 if one slice may be halved. Either half is the piece after it.
  std::span<const std::uint8_t> may_halve;
  std::vector<std::uint32_t> whole;        ///< [tables]: the piece that is the whole table.
  std::vector<std::uint32_t> most_slices;  ///< [tables]
  bool equal_widths = false;  ///< All slices of a table have one width, and keep to that.

  [[nodiscard]] std::size_t pieces() const { return dims.size(); }
  [[nodiscard]] std::size_t tables() const { return whole.size(); }
};

/// One chain; docs/search.md and search/improvement/annealing.h say what it does.
struct AnnealingChain {
  std::span<const PlacedSlice> start;  ///< Borrowed.
  std::uint64_t steps = 0;             ///< Edits drawn.
  std::uint64_t stream = 0;            ///< Of random numbers; another one takes another way.
  /// Temperatures at the first and the last step, as shares of the start's cost.
  double hottest = 3e-3;
  double coldest = 3e-5;
  bool joins_halves = true;  ///< Halves of a table that meet on a device are joined at once.
  /// Ids cost nothing at first, and ever more until they have their price: for the cost of the
  /// device with most of them keeps tables with many lookups from passing each other.
  bool soften_ids = false;
};

/// What annealing has found, and what it took.
struct Annealed {
  std::vector<PlacedSlice> layout;  ///< The cheapest plan met; the start if there was none cheaper.
  /// As exact as embeddings summed in another order are. With what moves cost.
  double cost_ms = 0.0;
  std::uint64_t edits = 0;
  std::uint64_t head_evaluations = 0;
  std::uint64_t comm_evaluations = 0;

  friend bool operator==(const Annealed&, const Annealed&) = default;
};

}  // namespace neuroshard
#pragma GCC visibility pop
