#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {

/// Some of a number of devices, as bits: sets are compared, joined and searched 64 devices at once.
/// They are in the order of vectors of bools.
class DeviceSet {
 public:
  /// None of them, or all.
  explicit DeviceSet(std::size_t devices, bool all = false)
      : words_((devices + 63) / 64, all ? ~std::uint64_t{0} : 0) {
    if (all && devices % 64 != 0) words_.back() <<= 64 - devices % 64;
  }

  void insert(std::size_t device) { words_[device / 64] |= bit(device); }
  void erase(std::size_t device) { words_[device / 64] &= ~bit(device); }
  void keep_those_in(const DeviceSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  }

  [[nodiscard]] bool contains(std::size_t device) const {
    return (words_[device / 64] & bit(device)) != 0;
  }
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t devices = 0;
    for (const std::uint64_t word : words_)
      devices += static_cast<std::size_t>(std::popcount(word));
    return devices;
  }
  /// How many of `devices` from `first` on are in it.
  [[nodiscard]] int count_in(int first, int devices) const {
    int found = 0;
    for (int d = first; d < first + devices; ++d) {
      found += contains(static_cast<std::size_t>(d)) ? 1 : 0;
    }
    return found;
  }
  [[nodiscard]] bool is_in(const DeviceSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & ~other.words_[w]) != 0) return false;
    }
    return true;
  }
  /// Word `w` has the devices from 64 w on, the first one as its highest bit.
  [[nodiscard]] std::uint64_t word(std::size_t w) const { return words_[w]; }
  /// Ascending.
  [[nodiscard]] std::vector<int> list() const {
    std::vector<int> devices;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t left = words_[w]; left != 0;) {
        const int first = std::countl_zero(left);
        left &= ~(std::uint64_t{1} << (63 - first));
        devices.push_back(static_cast<int>(64 * w) + first);
      }
    }
    return devices;
  }

  friend bool operator<(const DeviceSet& a, const DeviceSet& b) { return a.words_ < b.words_; }

 private:
  static std::uint64_t bit(std::size_t device) { return std::uint64_t{1} << (63 - device % 64); }

  std::vector<std::uint64_t> words_;
};

}  // namespace neuroshard
