#include "search/engine/ladder_start.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "search/canonical_task.h"

namespace neuroshard {
namespace {

// So many rungs of the ladder settle.
constexpr std::size_t kRungs = 5;
constexpr std::size_t kMoreRungs = 3;
constexpr std::size_t kAnnealPlaces = 300'000;
constexpr std::size_t kAnnealPlacesIfTight = 1'500'000;
// A first plan that fits is worth so many, between looks whether there is one.
constexpr std::uint64_t kEditsForRoom = 2000;
constexpr std::uint64_t kMostEditsForRoom = 60000;

Plan without_slices(const Task& task) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  return plan;
}

}  // namespace

LadderStart::LadderStart(const Portfolio& portfolio)
    : portfolio_(portfolio),
      stop_(portfolio.stop_with(portfolio.task.tables.size())),
      canonical_(canonical_task(portfolio.task)),
      reported_ms_(std::numeric_limits<double>::infinity()) {
  if (!portfolio.in_time_to_begin()) return;
  chain_.emplace(
      portfolio.backend, canonical_, portfolio.ways, without_slices(portfolio.task),
      Chain::Order{.rungs = kRungs,
                   .more_rungs = kMoreRungs,
                   .anneal_places = portfolio.is_tight() ? kAnnealPlacesIfTight : kAnnealPlaces},
      stop_);
}

void LadderStart::begin(const Portfolio::Consider& consider) {
  if (!chain_) return;
  run_until_it_fits();
  report(consider);
  // Where none of the first rungs fits, those that come next may be far cheaper than what does.
  const auto is_first = [](const Chain::Settled& rung) { return rung.rung < kRungs; };
  if (std::ranges::none_of(chain_->settled_rungs(), is_first)) go_on(consider);
}

void LadderStart::go_on(const Portfolio::Consider& consider) {
  if (!chain_ || has_gone_on_ || stop_.reached()) return;
  has_gone_on_ = true;
  chain_->run_more_rungs(stop_);
  run_until_it_fits();
  report(consider);
}

void LadderStart::run_until_it_fits() {
  const std::uint64_t most_edits = chain_->edits() + kMostEditsForRoom;
  for (std::uint64_t edits = chain_->edits() + 1;
       edits <= most_edits && chain_->best() == nullptr && !stop_.reached();
       edits += kEditsForRoom) {
    chain_->run(edits, stop_);
  }
}

void LadderStart::report(const Portfolio::Consider& consider) {
  if (chain_->best() != nullptr && chain_->best_ms() < reported_ms_) {
    reported_ms_ = chain_->best_ms();
    consider(canonical_.plan_of_listed(*chain_->best()));
  }
  const std::vector<Chain::Settled>& rungs = chain_->settled_rungs();
  if (portfolio_.alternatives) {
    for (; reported_rungs_ < rungs.size(); ++reported_rungs_) {
      consider(canonical_.plan_of_listed(rungs[reported_rungs_].plan));
    }
  }
}

std::optional<Plan> LadderStart::second() const {
  if (!chain_ || chain_->settled_rungs().empty()) return std::nullopt;
  const std::vector<Chain::Settled>& rungs = chain_->settled_rungs();
  const std::size_t first = std::ranges::min_element(rungs, {}, &Chain::Settled::cost_ms)->rung;
  const Chain::Settled* second = nullptr;
  for (const Chain::Settled& rung : rungs) {
    if (rung.rung == first) continue;
    if (second == nullptr || rung.cost_ms < second->cost_ms) second = &rung;
  }
  if (second == nullptr) return std::nullopt;
  return canonical_.plan_of_listed(second->plan);
}

void LadderStart::add_work_to(SearchStats& stats) const {
  if (chain_) chain_->add_work_to(stats);
}

}  // namespace neuroshard
