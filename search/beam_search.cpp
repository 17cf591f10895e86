#include "search/beam_search.h"

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"

namespace neuroshard {

BeamSearch::BeamSearch(const PieceCatalog& catalog, const SearchOptions& options, ScoredState start)
    : catalog_(catalog), options_(options), beam_{start}, best_(std::move(start)) {
  expand();
}

void BeamSearch::expand() {
  children_.clear();
  batch_.clear();
  if (level_ >= options_.max_splits) return;
  ++level_;
  for (std::size_t parent = 0; parent < beam_.size(); ++parent) {
    const SplitState& state = beam_[parent].state;
    for (const std::uint32_t slice : split_candidates(catalog_, state, options_.candidates)) {
      state.append_child_pieces(catalog_, slice, batch_.piece_ids);
      batch_.offsets.push_back(static_cast<std::uint32_t>(batch_.piece_ids.size()));
      children_.push_back({parent, slice});
    }
  }
}

void BeamSearch::take(std::span<const CandidateResult> results) {
  const auto child_state = [&](std::size_t child) {
    ScoredState scored{beam_[children_[child].parent].state, results[child]};
    scored.state.split(catalog_, children_[child].slice);
    return scored;
  };
  for (std::size_t child = 0; child < children_.size(); ++child) {
    if (results[child].cost_ms < best_.result.cost_ms) best_ = child_state(child);
  }
  std::vector<std::size_t> ranking = count_up<std::size_t>(children_.size());
  std::stable_sort(ranking.begin(), ranking.end(), [&](std::size_t a, std::size_t b) {
    return results[a].cost_ms < results[b].cost_ms;
  });
  ranking.resize(std::min(ranking.size(), static_cast<std::size_t>(options_.beam_width)));
  std::vector<ScoredState> next;
  next.reserve(ranking.size());
  for (const std::size_t child : ranking) next.push_back(child_state(child));
  beam_ = std::move(next);
  expand();
}

}  // namespace neuroshard
