#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "search/parts/cut_candidates.h"

namespace neuroshard {

/// Bytes that candidates may take; any number by default.
struct CutRoom {
  std::int64_t of_device = std::numeric_limits<std::int64_t>::max();  ///< Of each device,
  /// and of all together, beyond what their columns take.
  double of_all = std::numeric_limits<double>::infinity();
};

/// Which numbers of candidates are worth a trial, the first ones of a list by falling gain: those
/// that gain, that gain much, and that hardly lose; then numbers between the best and its
/// neighbours.
class CountTrials {
 public:
  CountTrials() = default;
  CountTrials(std::vector<CutCandidate> candidates, std::size_t most_trials)
      : candidates_(std::move(candidates)), left_(most_trials) {}

  /// The next number. Nothing if there is no other, or were trials enough.
  [[nodiscard]] std::optional<std::size_t> next();
  /// So many led to the best plan before there were trials.
  void start_from(std::size_t count) {
    tried_.insert(count);
    best_ = count;
  }
  /// The last number led to the best plan so far.
  void last_is_best() { best_ = last_; }

  [[nodiscard]] std::size_t size() const { return candidates_.size(); }

  /// The number of all candidates, to be tried beside the trials that are counted.
  [[nodiscard]] std::size_t try_all();

  /// The first `count` candidates but for `others`, which are ascending, if there is room for them.
  /// If not, as many of them, the first ones first, as fit into half of what is left of all: packed
  /// more tightly, the other tables would be cut for room alone, if they found any.
  [[nodiscard]] std::vector<std::uint32_t> tables(std::size_t count, const CutRoom& room = {},
                                                  std::span<const std::uint32_t> others = {}) const;

 private:
  [[nodiscard]] std::optional<std::size_t> untried() const;
  [[nodiscard]] std::size_t count_above(double gain) const;

  std::vector<CutCandidate> candidates_;
  std::size_t left_ = 0;
  std::size_t last_ = 0;
  std::size_t best_ = 0;  ///< 0: none led to the best plan.
  std::set<std::size_t> tried_;
};

}  // namespace neuroshard
