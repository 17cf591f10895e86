#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {

/// Devices that the symmetric network sees alike: by dim sum and start offset, to the last bit.
/// Devices of large tasks are of few kinds.
class EqualDevices {
 public:
  /// For tasks of so many devices. With few of them find() never finds any, and takes no memory.
  explicit EqualDevices(int devices);

  /// Both are [devices]; null offsets are all 0. False: there are few, or most differ.
  [[nodiscard]] bool find(const float* dim_sums, const float* start_offsets_ms);

  /// By the last find() that was true, [kinds]:
  [[nodiscard]] int kinds() const { return static_cast<int>(dim_sums_.size()); }
  [[nodiscard]] const float* dim_sums() const { return dim_sums_.data(); }
  [[nodiscard]] const float* start_offsets_ms() const { return start_offsets_ms_.data(); }
  /// Buffer for what each kind costs.
  [[nodiscard]] float* cost_ms() { return cost_ms_.data(); }
  /// Writes what each device costs, [devices].
  void hand_out(float* of_devices_ms) const;

  [[nodiscard]] std::size_t held_bytes() const;

 private:
  struct Entry {
    std::uint64_t inputs = 0;
    std::uint64_t round = 0;  ///< An entry of another round is free.
    std::uint32_t kind = 0;
  };

  std::size_t most_kinds_ = 0;
  int shift_ = 0;               ///< Bits of a hash beyond those of an index of `entries_`.
  std::vector<Entry> entries_;  ///< A power of 2, at least twice `most_kinds_`.
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> kind_of_;  ///< [devices]
  std::vector<float> dim_sums_;
  std::vector<float> start_offsets_ms_;
  std::vector<float> cost_ms_;
};

}  // namespace neuroshard
