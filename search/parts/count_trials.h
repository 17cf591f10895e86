#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "search/parts/cut_candidates.h"

namespace neuroshard {

/// Which numbers of candidates are worth a trial, the first ones of a list by falling gain: those
/// that gain, that gain much, and that hardly lose; then numbers between the best and its
/// neighbours.
class CountTrials {
 public:
  CountTrials() = default;
  CountTrials(std::vector<CutCandidate> candidates, std::size_t most_trials)
      : candidates_(std::move(candidates)), left_(most_trials) {}

  /// The next number, if `best` led to the best plan so far (0: none did). Nothing if there is no
  /// other, or were trials enough.
  [[nodiscard]] std::optional<std::size_t> next(std::size_t best);

  [[nodiscard]] std::size_t size() const { return candidates_.size(); }

  /// The number of all candidates, to be tried beside the trials that are counted.
  [[nodiscard]] std::size_t try_all();

  /// The first `count` candidates.
  [[nodiscard]] std::vector<std::uint32_t> tables(std::size_t count) const;

 private:
  [[nodiscard]] std::optional<std::size_t> untried(std::size_t best) const;
  [[nodiscard]] std::size_t count_above(double gain) const;

  std::vector<CutCandidate> candidates_;
  std::size_t left_ = 0;
  std::set<std::size_t> tried_;
};

}  // namespace neuroshard
