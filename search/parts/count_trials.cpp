#include "search/parts/count_trials.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace neuroshard {
namespace {

// Candidates are tried if their gain is above one of these, the likeliest first.
constexpr std::array kLeastGains = {1.0, 2.0, 0.5};

}  // namespace

std::size_t CountTrials::count_above(double gain) const {
  return static_cast<std::size_t>(
      std::ranges::partition_point(candidates_,
                                   [&](const CutCandidate& one) { return one.gain >= gain; }) -
      candidates_.begin());
}

std::optional<std::size_t> CountTrials::untried() const {
  for (const double gain : kLeastGains) {
    const std::size_t count = count_above(gain);
    if (count > 0 && !tried_.contains(count)) return count;
  }
  if (best_ == 0) return std::nullopt;
  // The wider gap beside the best.
  const auto at = tried_.find(best_);
  const std::size_t below = at == tried_.begin() ? 0 : *std::prev(at);
  const std::size_t above = std::next(at) == tried_.end() ? candidates_.size() : *std::next(at);
  if (std::max(best_ - below, above - best_) < 2) return std::nullopt;
  return best_ - below > above - best_ ? (best_ + below) / 2 : (best_ + above + 1) / 2;
}

std::optional<std::size_t> CountTrials::next() {
  if (left_ == 0) return std::nullopt;
  const std::optional<std::size_t> count = untried();
  if (!count) return std::nullopt;
  --left_;
  tried_.insert(*count);
  last_ = *count;
  return count;
}

std::size_t CountTrials::try_all() {
  last_ = candidates_.size();
  tried_.insert(last_);
  return last_;
}

std::vector<std::uint32_t> CountTrials::tables(std::size_t count, const CutRoom& room,
                                               std::span<const std::uint32_t> others) const {
  const auto tables_within = [&](CutRoom left) {
    std::vector<std::uint32_t> tables;
    bool all = true;
    for (const CutCandidate& one : std::span(candidates_).first(count)) {
      if (std::ranges::binary_search(others, one.table)) continue;
      if (one.device_bytes > left.of_device || one.more_bytes > left.of_all) {
        all = false;
        continue;
      }
      left.of_device -= one.device_bytes;
      left.of_all -= one.more_bytes;
      tables.push_back(one.table);
    }
    return std::pair(all, std::move(tables));
  };
  auto [all, tables] = tables_within(room);
  if (!all) {
    tables = tables_within({.of_device = room.of_device, .of_all = room.of_all / 2}).second;
  }
  return tables;
}

}  // namespace neuroshard
