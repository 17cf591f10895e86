#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "search/engine/chain.h"

namespace neuroshard {
namespace {

constexpr std::size_t kNumbersThatSettle = 4;  // So many numbers of replicas.

// So many placements of wide slices apart from others: fewer where rungs have settled before.
constexpr std::size_t kWidthsThatSettle = 3;
constexpr std::size_t kWidthsAfterRungs = 1;
// Slices of fewer columns are not put apart from whole tables.
constexpr int kNarrowColumns = 32;
// Tables times devices, of all plans that are tried with whole tables apart.
constexpr std::size_t kPlacesOfApart = 500'000;

constexpr std::size_t kTablesOfWays = 6;
constexpr double kWorstWay = 1.15;  // Over the current plan's cost, before it settles.

// Rungs of a WayLadder that are placed.
constexpr std::size_t kFewestRungs = 3;
constexpr std::size_t kMostRungs = 32;
// Tables times devices, of all rungs; and of builds in the place of one that is cut otherwise: by
// heads, or by estimates for the first climb and for others.
constexpr std::size_t kPlacesOfRungs = 500'000;
constexpr std::size_t kPlacesByHeads = 200'000;
constexpr std::size_t kPlacesOfFirstClimb = 600'000;
constexpr std::size_t kPlacesOfClimb = 1'500'000;
constexpr std::size_t kMostBuilds = 100;
constexpr double kWorstRung = 1.3;     // Over the current plan's cost.
constexpr double kLeastGain = 0.0005;  // Cuts are taken in place of a rung's for no less.
// Fewer builds anneal nothing.
constexpr std::size_t kFewestAnnealed = 200;
constexpr std::size_t kMostAnnealed = 1500;
constexpr double kHottestCuts = 0.01;  // First temperature, a share of the cost.
constexpr double kTwoTables = 0.3;     // Share of the draws that cut two tables otherwise.
// One of so many of them is placed in small and in narrow shards, too.
constexpr std::size_t kRungsOfOtherShards = 8;
constexpr double kWorstOtherShards = 1.1;  // Over the cheapest rung's cost.
constexpr std::size_t kClimbs = 6;  // So many rungs, which differ in ways, are cut otherwise.
// By turns: those cuts first that estimates see as alike, and those of heavy tables. The latter
// make room, too.
constexpr std::array kDoubts = {0.3, 3.0};

}  // namespace

void Chain::begin(const StopCondition& stop) {
  if (order_.rungs > 0) try_ladder(stop);
  if (moves_are_limited()) {
    // Before what may be moved is spent on less.
    if (!order_.ways) try_ways(stop);
    try_replicas(stop);
  }
  if (!state_.is_whole()) return;
  settle_start(stop);
  if (!order_.ways) return;
  if (!moves_are_limited()) try_replicas(stop);
  try_deduplicated(stop);
  try_ways(stop);
}

void Chain::settle_start(const StopCondition& stop) {
  settle_whole(stop);
  if (moves_are_limited()) return;
  try_widths(stop);
  try_whole_tables(stop);
}

void Chain::run_more_rungs(const StopCondition& stop) {
  if (!ladder_ || !state_.is_whole()) return;
  prices_.weigh_memory(1.0);
  // A plan that has improved since would keep rungs out that are worth as much once they improve.
  replace_all(std::move(ladder_->slices));
  const double before_ms = current_ms_ = ladder_->cost_ms;
  try_more_rungs(stop);
  ladder_.reset();
  // Else the start has been settled before.
  if (current_ms_ == kNone || current_ms_ < before_ms) settle_start(stop);
}

bool Chain::build_replicas(std::size_t count) {
  std::vector<int> first = neighbourhoods_.replicas_first();
  std::vector<int> others(first.begin() + static_cast<std::ptrdiff_t>(count), first.end());
  first.resize(count);
  rebuild_.begin();
  std::erase_if(others,
                [&](int t) { return !state_.is_replica(t) || !ways_.of(t).may_be(Way::kDevice); });
  double all_ms = 0.0;
  for (const int t : state_.tables()) {
    if (state_.way_of(t) == Way::kDevice) all_ms += neighbourhoods_.whole_ms(t);
  }
  for (const int t : others) all_ms += neighbourhoods_.whole_ms(t);
  for (const int t : others) {
    rebuild_.take_out(t);
    rebuild_.put_in(t, neighbourhoods_.cut_by_load(t, all_ms));
  }
  for (const int t : first) {
    if (state_.is_replica(t) || !rebuild_.affords_replica(t)) continue;
    rebuild_.take_out(t);
    rebuild_.put_in(t, {Way::kReplica, 1});
  }
  count_rebuild();
  return rebuild_.place(0.0);
}

bool Chain::build(const Cuts& cuts, bool cuts_for_columns, bool exact) {
  const std::vector<int>& tables = state_.tables();
  rebuild_.begin();
  for (const int t : tables) rebuild_.take_out(t);
  for (std::size_t i = 0; i < tables.size(); ++i) rebuild_.put_in(tables[i], cuts[i]);
  built_by_heads_ = exact && builds_by_heads();
  if (built_by_heads_) {
    done_ += rebuild_.head_evaluations() / kHeadsOfEdit;
    return rebuild_.place(0.0);
  }
  ++done_;
  return rebuild_.place_by_loads(cuts_for_columns);
}

std::vector<std::size_t> Chain::numbers_of_replicas() const {
  std::vector<std::size_t> numbers;
  const std::size_t most = neighbourhoods_.replicas_first().size();
  for (std::size_t n = 0; n <= most; n = n < 4 ? n + 1 : n * 5 / 4 + 1) numbers.push_back(n);
  // Near to what is there. Some of that may have no room as a replica any more.
  const auto now = static_cast<std::size_t>(state_.sums.replica_count);
  for (const std::size_t apart : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    if (apart <= now && now - apart <= most) numbers.push_back(now - apart);
    if (now + apart <= most) numbers.push_back(now + apart);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

bool Chain::price_built(Built& built) {
  begin_edits();
  if (!build(built.cuts, built.cuts_for_columns, prices_rungs_by_heads())) return false;
  prices_.apply(rebuild_.edit());
  built.cost_ms = rung_ms();
  built.missing_bytes = state_.sums.missing_bytes;
  prices_.undo(before_);
  return true;
}

std::vector<Chain::Built> Chain::build_rungs(const std::vector<WayLadder::Rung>& of_ladder,
                                             const StopCondition& stop) {
  std::vector<Built> rungs;
  for (const WayLadder::Rung& rung : of_ladder) {
    Built built{.cuts = rung.cuts, .rung = &rung};
    for (const bool cuts_for_columns : {true, false}) {
      if (stop.reached()) return {};
      built.cuts_for_columns = cuts_for_columns;
      const bool has_places = price_built(built);
      // There may have been nothing to cut.
      const bool is_known = !rungs.empty() && rungs.back().cost_ms == built.cost_ms;
      if (has_places && !is_known) rungs.push_back(built);
      if (built_by_heads_) break;
    }
  }
  std::ranges::stable_sort(rungs, {}, &Built::cost_ms);
  return rungs;
}

void Chain::cut_otherwise(Built& built, const Climb& climb, const StopCondition& stop) {
  std::size_t builds = climb.builds;
  const std::vector<WayLadder::OtherCut> others =
      ladder_->ways.other_cuts(*built.rung, climb.doubt, builds);
  Built other = built;
  for (bool gains = true; gains;) {
    gains = false;
    for (const WayLadder::OtherCut& one : others) {
      const auto has_it = [&](std::size_t table) { return built.cuts[table] == one.cut; };
      if (std::ranges::all_of(one.tables, has_it)) continue;
      if (builds-- == 0 || stop.reached()) return;
      for (const std::size_t table : one.tables) other.cuts[table] = one.cut;
      const bool has_places = price_built(other);
      if (has_places && other.cost_ms < built.cost_ms - kLeastGain * std::abs(built.cost_ms)) {
        built = other;
        gains = true;
      } else {
        for (const std::size_t table : one.tables) other.cuts[table] = built.cuts[table];
      }
    }
  }
}

Chain::Built Chain::climbed(Built built, std::size_t number, const StopCondition& stop) {
  const std::size_t places_of_builds = ladder_->by_heads ? kPlacesByHeads
                                       : number == 0     ? kPlacesOfFirstClimb
                                                         : kPlacesOfClimb;
  const std::size_t builds = std::min(places_of_builds / places(), kMostBuilds);
  cut_otherwise(built, {kDoubts[number % kDoubts.size()], builds}, stop);
  for (const double times : kTimesForRoom) {
    if (built.missing_bytes == 0) break;
    prices_.weigh_memory(times);
    price_built(built);
    cut_otherwise(built, {kDoubts.back(), builds}, stop);
    prices_.weigh_memory(1.0);
    price_built(built);
  }
  return built;
}

// A build sees what no estimate does: whether slices find room.
Chain::Built Chain::annealed(Built built, std::size_t builds, const StopCondition& stop) {
  const std::vector<WayLadder::NearCuts> near = ladder_->ways.near_cuts(*built.rung);
  if (near.empty()) return built;
  const double hottest_ms = kHottestCuts * built.cost_ms;
  Built best = built;
  for (std::size_t i = 0; i < builds && !stop.reached(); ++i) {
    Built other = built;
    for (int tables = random_.uniform() < kTwoTables ? 2 : 1; tables > 0; --tables) {
      const WayLadder::NearCuts& one = near[random_.below(near.size())];
      const TableCut cut = one.cuts[random_.below(one.cuts.size())];
      for (const std::size_t table : one.tables) other.cuts[table] = cut;
    }
    const double left = 1.0 - static_cast<double>(i) / static_cast<double>(builds);
    const double most_ms = draw_most_ms(built.cost_ms, hottest_ms * left * left);
    if (!price_built(other) || other.cost_ms > most_ms) continue;
    built = std::move(other);
    if (built.cost_ms < best.cost_ms) best = built;
  }
  return best;
}

std::vector<Chain::Built> Chain::rungs_to_climb(const std::vector<Built>& rungs) const {
  const auto in_blocks = [&](const TableCut& cut) {
    return cut.way != Way::kReplica && ways_.group(cut.way) > 1;
  };
  std::vector<std::vector<Way>> known;
  std::array<std::size_t, 2> of_kind{};  // Without blocks, and with some: half of them each.
  std::vector<Built> chosen;
  for (const Built& rung : rungs) {
    std::vector<Way> ways;
    for (const TableCut& cut : rung.cuts) ways.push_back(cut.way);
    std::size_t& count = of_kind[std::ranges::any_of(rung.cuts, in_blocks) ? 1 : 0];
    if (2 * count >= kClimbs || std::ranges::count(known, ways) > 0) continue;
    ++count;
    known.push_back(std::move(ways));
    chosen.push_back(rung);
  }
  return chosen;
}

void Chain::settle_rungs(std::span<const Built> rungs, std::size_t number,
                         const StopCondition& stop) {
  for (const Built& one : rungs) {
    const std::size_t rung = number++;
    if (one.cost_ms > kWorstRung * current_ms_ || stop.reached()) return;
    const bool was_whole = state_.is_whole();
    begin_edits();
    if (!build(one.cuts, one.cuts_for_columns, true) || !apply_rebuilt()) continue;
    if (!state_.is_whole()) return;  // Rules leave some table no way.
    settle_to_fit(4, stop);
    keep_settled(rung);
    if (keep_or_undo(was_whole)) best_rung_ = rung;
  }
}

std::size_t Chain::places() const {
  return std::max<std::size_t>(1,
                               state_.tables().size() * static_cast<std::size_t>(ways_.devices()));
}

void Chain::try_ladder(const StopCondition& stop) {
  WayLadder ways(state_, prices_, stop);
  std::vector<WayLadder::Rung> of_ways =
      ways.best(std::clamp(kPlacesOfRungs / places(), kFewestRungs, kMostRungs), stop);
  Ladder& ladder = ladder_.emplace(Ladder{std::move(ways), std::move(of_ways)});
  std::vector<Built>& built = ladder.built;
  built = build_rungs(ladder.rungs, stop);
  if (built.empty()) return ladder_.reset();
  ladder.by_heads = built_by_heads_;
  ladder.to_climb = rungs_to_climb(built);
  Built cheapest = climbed(ladder.to_climb.front(), 0, stop);
  if (cheapest.cost_ms < built.front().cost_ms) built.insert(built.begin(), std::move(cheapest));
  const std::size_t few = std::min(built.size(), order_.rungs);
  settle_rungs(std::span(built).first(few), 0, stop);
  std::size_t number = order_.rungs + order_.more_rungs;
  const auto settle_others = [&](const std::vector<WayLadder::Rung>& others) {
    const std::vector<Built> of_others = build_rungs(others, stop);
    if (of_others.empty()) return;
    const Built& before = of_others.front();
    if (before.cost_ms > kWorstOtherShards * built.front().cost_ms) return;
    const Built after = climbed(before, 0, stop);
    settle_rungs({after.cost_ms < before.cost_ms ? &after : &before, 1}, number++, stop);
  };
  const std::span first =
      std::span(ladder.rungs).first((ladder.rungs.size() - 1) / kRungsOfOtherShards + 1);
  settle_others(ladder.ways.in_small_shards(first, stop));
  settle_others(ladder.ways.in_narrow_shards(first, stop));
  ladder.slices = all_slices();
  ladder.cost_ms = current_ms_;
}

void Chain::try_more_rungs(const StopCondition& stop) {
  const Ladder& ladder = *ladder_;
  const std::size_t few = std::min(ladder.built.size(), order_.rungs);
  std::vector<Built> more(ladder.built.begin() + static_cast<std::ptrdiff_t>(few),
                          ladder.built.end());
  for (std::size_t i = 1; i < ladder.to_climb.size(); ++i) {
    more.push_back(climbed(ladder.to_climb[i], i, stop));
  }
  const std::size_t builds = std::min(order_.anneal_places / places(), kMostAnnealed);
  if (builds >= kFewestAnnealed) more.push_back(annealed(ladder.built.front(), builds, stop));
  std::ranges::stable_sort(more, {}, &Built::cost_ms);
  settle_rungs(std::span(more).first(std::min(more.size(), order_.more_rungs)), order_.rungs, stop);
}

void Chain::settle_if_near(const StopCondition& stop) {
  count_rebuild();
  if (!rebuild_.place(0.0) || !apply_rebuilt()) return;
  if (state_.sums.cost_ms > kWorstWay * current_ms_) {
    prices_.undo(before_);
  } else {
    settle_and_keep(4, stop);
  }
}

template <typename Try, typename BuildIt>
void Chain::settle_best(std::span<const Try> tries, std::size_t most, const BuildIt& build_it,
                        const StopCondition& stop) {
  std::vector<std::pair<double, const Try*>> built;
  for (const Try& one : tries) {
    if (stop.reached()) return;
    begin_edits();
    if (!build_it(one) || !apply_rebuilt()) continue;
    built.emplace_back(rung_ms(), &one);
    prices_.undo(before_);
  }
  std::ranges::stable_sort(built, {}, &std::pair<double, const Try*>::first);
  if (built.size() > most) built.resize(most);
  for (const auto& [cost_ms, one] : built) {
    if (cost_ms > kWorstRung * current_ms_ || stop.reached()) return;
    begin_edits();
    if (build_it(*one) && apply_rebuilt()) settle_and_keep(1, stop);
  }
}

void Chain::try_replicas(const StopCondition& stop) {
  settle_best<std::size_t>(
      numbers_of_replicas(), kNumbersThatSettle,
      [&](std::size_t number) { return build_replicas(number); }, stop);
}

// An operator on every device has a fixed cost, and a lookup costs more beside wider tables. So a
// single table may cost more than all gain by it together.
void Chain::try_deduplicated(const StopCondition& stop) {
  for (std::size_t most = neighbourhoods_.once_first().size(); most > 0; most /= 2) {
    for (const bool more : {true, false}) {
      if (stop.reached()) return;
      begin_edits();
      rebuild_.begin();
      neighbourhoods_.deduplicate(rebuild_, most, more);
      settle_if_near(stop);
    }
  }
}

bool Chain::build_apart(const Apart& apart) {
  if (apart.whole_devices) {
    if (!neighbourhoods_.cut_by_width(rebuild_, apart.widths, *apart.whole_devices)) return false;
  } else {
    rebuild_.begin();
    rebuild_.keep_apart(apart.widths);
    for (const int t : state_.tables()) rebuild_.replace(t);
  }
  count_rebuild();
  return builds_by_heads() ? rebuild_.place(0.0) : rebuild_.place_by_loads(false);
}

void Chain::settle_apart(std::span<const Apart> tries, std::size_t most,
                         const StopCondition& stop) {
  settle_best(
      tries, most, [&](const Apart& apart) { return build_apart(apart); }, stop);
}

// Edits of one slice seldom free a device of its wide ones.
void Chain::try_widths(const StopCondition& stop) {
  std::set<int> widths;
  for (const int t : state_.tables()) {
    if (ways_.is_everywhere(state_.way_of(t))) continue;
    for (const int id : state_.of_table(t)) {
      widths.insert(static_cast<int>(std::bit_ceil(static_cast<unsigned>(state_.slice(id).width))));
    }
  }
  if (!widths.empty()) widths.erase(std::prev(widths.end()));
  std::vector<Apart> tries;
  for (const int width : widths) {
    for (const int more : {0, 1}) tries.push_back({{width, more}, std::nullopt});
  }
  settle_apart(tries, order_.rungs > 0 ? kWidthsAfterRungs : kWidthsThatSettle, stop);
}

// No rebuild of a few tables makes some whole where all others get narrow.
void Chain::try_whole_tables(const StopCondition& stop) {
  int most_columns = 0;
  for (const int t : state_.tables()) {
    if (state_.way_of(t) != Way::kDevice) continue;
    most_columns = std::max(most_columns, state_.task().tables[static_cast<std::size_t>(t)].dim);
  }
  std::vector<Apart> tries;
  const double devices = ways_.devices();
  for (const double whole : std::set{0.5, 1.0, 2.0, devices / 4.0, devices / 2.0}) {
    if (whole >= devices) break;
    for (int width = kNarrowColumns; width < most_columns; width *= 2) {
      for (const int more : {0, 1}) tries.push_back({{width, more}, whole});
    }
  }
  tries.resize(std::min(tries.size(), kPlacesOfApart / places()));
  settle_apart(tries, 1, stop);
}

// A single table may be worth as much as many, and few draws find it.
void Chain::try_ways(const StopCondition& stop) {
  std::vector<TableCut> tries;
  for (const Way way : ways_.list()) tries.push_back({way, 1});
  tries.insert(tries.begin() + 1, {Way::kReplica, 1});
  std::ranges::reverse(tries);  // The widest first, and columns last.
  for (const Way way : ways_.list()) {
    if (!ways_.is_on_device(way) && ways_.places(way) > 1)
      tries.push_back({way, ways_.places(way)});
  }
  const std::vector<int>& by_load = neighbourhoods_.by_load();
  for (std::size_t i = 0; i < std::min(by_load.size(), kTablesOfWays); ++i) {
    const int t = by_load[by_load.size() - 1 - i];
    for (const TableCut& cut : tries) {
      if (stop.reached()) return;
      if (!ways_.of(t).may_be(cut.way) || state_.way_of(t) == cut.way) continue;
      // They are many, and would take what may be moved from better uses.
      if (moves_are_limited() && cut.way != Way::kReplica && ways_.form(cut.way).of_part) continue;
      begin_edits();
      rebuild_.begin();
      rebuild_.take_out(t);
      rebuild_.put_in(t, cut);
      settle_if_near(stop);
    }
  }
}

}  // namespace neuroshard
