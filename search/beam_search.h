#pragma once

#include <span>
#include <vector>

#include "neuroshard/search_options.h"
#include "search/split_state.h"

namespace neuroshard {

/// A state of column splits with the cost of its best placement.
struct ScoredState {
  SplitState state;
  CandidateResult result;
};

/// The published beam search over column splits, as a machine that hands out batches of candidates
/// and takes in their results, so that many searches can share launches.
class BeamSearch {
 public:
  BeamSearch(const PieceCatalog& catalog, const SearchOptions& options, ScoredState start);

  /// False once no level is left; candidates() is then empty.
  [[nodiscard]] bool running() const { return !children_.empty(); }
  /// The current level, to be evaluated.
  [[nodiscard]] const CandidateBatch& candidates() const { return batch_; }
  /// `results`: one per candidate. Moves on to the next level.
  void take(std::span<const CandidateResult> results);

  /// The state of lowest cost so far; the earliest one on ties.
  [[nodiscard]] const ScoredState& best() const { return best_; }

 private:
  void expand();

  const PieceCatalog& catalog_;
  SearchOptions options_;
  int level_ = 0;
  std::vector<ScoredState> beam_;
  struct Child {
    std::size_t parent;  ///< Index into the beam.
    std::uint32_t slice;
  };
  std::vector<Child> children_;
  CandidateBatch batch_;
  ScoredState best_;
};

}  // namespace neuroshard
