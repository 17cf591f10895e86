// The beam search against one that is written down naively, with costs made up from the slices.
#include "search/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::cpu_backend_of;
using testing::drawn_tasks;
using testing::random_models;
using testing::random_task;

// A few different costs, so that many tie; some find no room.
CandidateResult made_up(std::span<const std::uint32_t> pieces, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const std::uint32_t piece : pieces) hash = (hash ^ piece) * 0x9E3779B97F4A7C15U;
  hash >> 60 == 0 ? hash = 0 : hash >>= 32;
  if (hash == 0) return {};
  return {.cost_ms = static_cast<double>(hash % 40), .limit = static_cast<int>(hash % 3)};
}

std::vector<std::uint32_t> ordered(const SplitState& state) {
  std::vector<std::uint32_t> pieces;
  state.append_ordered_pieces(pieces);
  return pieces;
}

ScoredState scored(SplitState state, std::uint64_t seed) {
  const CandidateResult result = made_up(ordered(state), seed);
  return {std::move(state), result};
}

// Which slices are split: the largest and the costliest, later ones first among equals.
std::set<std::uint32_t> worth_splitting(const PieceCatalog& catalog, const SplitState& state,
                                        int count) {
  std::vector<std::uint32_t> slices(state.pieces.size());
  for (std::uint32_t i = 0; i < slices.size(); ++i) slices[i] = i;
  std::set<std::uint32_t> chosen;
  const auto take_by = [&](const auto& key) {
    std::sort(slices.begin(), slices.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto key_a = key(state.pieces[a]);
      const auto key_b = key(state.pieces[b]);
      return key_a != key_b ? key_a > key_b : a > b;
    });
    for (std::size_t i = 0; i < slices.size() && i < static_cast<std::size_t>(count); ++i) {
      if (catalog.can_split(state.pieces[slices[i]])) chosen.insert(slices[i]);
    }
  };
  take_by([&](std::uint32_t piece) { return static_cast<double>(catalog.size_bytes(piece)); });
  take_by([&](std::uint32_t piece) { return static_cast<double>(catalog.cost_ms(piece)); });
  return chosen;
}

ScoredState naive_search(const PieceCatalog& catalog, const SearchOptions& options,
                         const ScoredState& start, std::uint64_t seed, std::size_t& candidates) {
  ScoredState best = start;
  std::vector<ScoredState> beam = {start};
  for (int level = 0; level < options.max_splits && !beam.empty(); ++level) {
    std::vector<ScoredState> children;
    for (const ScoredState& parent : beam) {
      for (const std::uint32_t slice : worth_splitting(catalog, parent.state, options.candidates)) {
        SplitState child = parent.state;
        child.split(catalog, slice);
        children.push_back(scored(std::move(child), seed));
      }
    }
    candidates += children.size();
    for (const ScoredState& child : children) {
      if (child.result.cost_ms < best.result.cost_ms) best = child;
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const ScoredState& a, const ScoredState& b) {
                       return a.result.cost_ms < b.result.cost_ms;
                     });
    while (children.size() > static_cast<std::size_t>(options.beam_width)) children.pop_back();
    beam = std::move(children);
  }
  return best;
}

TEST(BeamSearch, FindsWhatANaiveOneFinds) {
  const CpuBackend cpu = cpu_backend_of(random_models(1));
  int improved = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(100))) {
    const CatalogedTask cataloged(cpu, random_task(seed));
    const SearchOptions options{.beam_width = 1 + static_cast<int>(seed % 4),
                                .candidates = 1 + static_cast<int>(seed % 5),
                                .max_splits = static_cast<int>(seed % 7)};
    const ScoredState start =
        scored(SplitState(cataloged.catalog, cataloged.task.tables.size()), seed);
    BeamSearch search(cataloged.catalog, options, start);
    std::size_t candidates = 0;
    int levels = 0;
    while (search.running()) {
      const CandidateBatch& batch = search.candidates();
      ASSERT_GT(batch.size(), 0U);
      candidates += batch.size();
      std::vector<CandidateResult> results;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        results.push_back(made_up(batch.pieces_of(i), seed));
      }
      search.take(results);
      ASSERT_LE(++levels, options.max_splits);
    }
    std::size_t expected_candidates = 0;
    const ScoredState expected =
        naive_search(cataloged.catalog, options, start, seed, expected_candidates);
    EXPECT_EQ(candidates, expected_candidates);
    EXPECT_EQ(search.best().result, expected.result);
    EXPECT_EQ(search.best().state.column_splits, expected.state.column_splits);
    EXPECT_EQ(ordered(search.best().state), ordered(expected.state));
    improved += search.best().state.column_splits.empty() ? 0 : 1;
  }
  EXPECT_GT(improved, testing::kFewTasks ? 0 : 10);
}

}  // namespace
}  // namespace neuroshard
