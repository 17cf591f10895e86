#include "core/tables/row_ids.h"

#include <algorithm>

#include "core/base/heap_bytes.h"

namespace neuroshard {
namespace {

std::uint64_t hash_of(std::span<const std::uint32_t> row) {
  std::uint64_t hash = row.size();
  for (const std::uint32_t value : row) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

RowIds::RowIds() : slots_(1024, 0) {}

std::uint32_t RowIds::find_or_add(std::span<const std::uint32_t> row) {
  const std::uint64_t hash = hash_of(row);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::uint32_t id = slots_[slot] - 1;
    if (hashes_[id] == hash && std::ranges::equal(this->row(id), row)) return id;
  }
  const auto id = static_cast<std::uint32_t>(size());
  slots_[slot] = id + 1;
  hashes_.push_back(hash);
  values_.insert(values_.end(), row.begin(), row.end());
  offsets_.push_back(values_.size());
  if (2 * size() > slots_.size()) grow();
  return id;
}

void RowIds::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t id = 0; id < hashes_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(id + 1);
  }
}

std::size_t RowIds::held_bytes() const {
  return heap_bytes(values_) + heap_bytes(offsets_) + heap_bytes(hashes_) + heap_bytes(slots_);
}

void RowIds::clear() {
  if (size() == 0) return;
  values_.clear();
  offsets_.resize(1);
  hashes_.clear();
  std::fill(slots_.begin(), slots_.end(), 0U);
}

}  // namespace neuroshard
