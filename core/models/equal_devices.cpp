#include "core/models/equal_devices.h"

#include <bit>

#include "core/base/heap_bytes.h"

namespace neuroshard {
namespace {

constexpr std::size_t kFewDevices = 128;
// With more kinds than one in so many devices, the network itself takes little longer.
constexpr std::size_t kDevicesOfKind = 4;
constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;  // 2^64 / the golden ratio.

std::uint64_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

}  // namespace

EqualDevices::EqualDevices(int devices) {
  const auto count = static_cast<std::size_t>(devices);
  if (count < kFewDevices) return;
  most_kinds_ = count / kDevicesOfKind;
  entries_.resize(std::bit_ceil(2 * most_kinds_));
  shift_ = 64 - std::countr_zero(entries_.size());
  kind_of_.resize(count);
  dim_sums_.reserve(most_kinds_);
  start_offsets_ms_.reserve(most_kinds_);
  cost_ms_.resize(most_kinds_);
}

bool EqualDevices::find(const float* dim_sums, const float* start_offsets_ms) {
  if (entries_.empty()) return false;
  ++round_;
  dim_sums_.clear();
  start_offsets_ms_.clear();
  const std::size_t last = entries_.size() - 1;
  for (std::size_t d = 0; d < kind_of_.size(); ++d) {
    const float offset_ms = start_offsets_ms == nullptr ? 0.0F : start_offsets_ms[d];
    const std::uint64_t inputs = bits_of(dim_sums[d]) << 32U | bits_of(offset_ms);
    std::size_t at = inputs * kMultiplier >> shift_;
    while (entries_[at].round == round_ && entries_[at].inputs != inputs) at = (at + 1) & last;
    if (entries_[at].round != round_) {
      if (dim_sums_.size() == most_kinds_) return false;
      entries_[at] = {inputs, round_, static_cast<std::uint32_t>(dim_sums_.size())};
      dim_sums_.push_back(dim_sums[d]);
      start_offsets_ms_.push_back(offset_ms);
    }
    kind_of_[d] = entries_[at].kind;
  }
  return true;
}

void EqualDevices::hand_out(float* of_devices_ms) const {
  for (std::size_t d = 0; d < kind_of_.size(); ++d) of_devices_ms[d] = cost_ms_[kind_of_[d]];
}

std::size_t EqualDevices::held_bytes() const {
  return heap_bytes(entries_) + heap_bytes(kind_of_) + heap_bytes(dim_sums_) +
         heap_bytes(start_offsets_ms_) + heap_bytes(cost_ms_);
}

}  // namespace neuroshard
