#include "search/starts/way_ladder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace neuroshard {
namespace {

using PriceOfReplicas = WayLadder::PriceOfReplicas;
constexpr std::array kPricesOfReplicas = {PriceOfReplicas{1.0, 0.0}, PriceOfReplicas{2.0, 0.0},
                                          PriceOfReplicas{4.0, 0.0}, PriceOfReplicas{0.5, 0.0},
                                          PriceOfReplicas{1.0, 1.0}, PriceOfReplicas{0.5, 1.0},
                                          PriceOfReplicas{0.1, 1.0}, PriceOfReplicas{1e12, 1.0}};
constexpr std::array kPricesOfHiddenIds = {0.0, 1.0};
constexpr std::array kPricesOfIds = {1.0};
// Estimates are too kind to blocks of rows in some tasks: rungs without any are placed, too.
constexpr std::array kPricesOfBlocks = {1.0, 1e12};
// Steps of each price: fewer where tables are many.
constexpr std::size_t kMostStepsOfPrice = 14;
constexpr std::size_t kStepsTimesTables = 20000;
constexpr double kLowered = 0.8;  // A limit is lowered to so much of what the largest shard has.
constexpr double kBeyondLimit = 1e3;  // Where no way keeps to a limit.
constexpr double kNearLimit = 1.0;    // Where a cut is to be tried though it may not.
// Cuts of a table that take so many times the least, or so much of what all tables take more.
constexpr double kNearOfTable = 1.5;
constexpr double kNearOfAll = 0.005;
// Devices come out uneven by this share of the largest shard.
constexpr double kUnbalanced = 0.25;
// The price of memory is doubled until all fit, or so often.
constexpr int kLooksAtMemory = 16;
constexpr double kFirstShareOfMemory = 0.02;  // Share of the mean load, for all memory.

constexpr double kNoRoomMs = 1e9;
constexpr CutLoads kNoLimits = {kNoRoomMs, kNoRoomMs, kNoRoomMs, kNoRoomMs};
// Shares of all room that tables may take: what is left makes it easier to place them.
constexpr std::array kSharesOfRoom = {1.0, 0.95, 0.88};

// Shards of so much of a device's room find places that larger ones do not.
constexpr std::array kSmallShards = {0.5, 0.3, 0.2};
// Columns of a shard.
constexpr std::array kNarrowShards = {128.0, 64.0, 32.0, 16.0};

}  // namespace

WayLadder::WayLadder(const PlanState& state, StatePrices& prices, const StopCondition& stop)
    : catalog_(state.catalog()),
      prices_(prices),
      options_(state, prices, stop),
      sum_(catalog_.embedding_width()) {}

double WayLadder::ms_of_time(const CutOption& option, const Prices& prices) {
  double shared_ms = prices.ids * option.mean_ms[kIdsLoad];
  for (std::size_t i = 0; i < kIdsLoad; ++i) shared_ms += option.mean_ms[i];
  return (option.fits ? 0.0 : kNoRoomMs) +
         prices.replicas.times * (option.replica_ms + prices.replicas.once * option.once_ms) +
         (option.in_blocks ? prices.blocks * shared_ms : shared_ms);
}

double WayLadder::ms_of(const CutOption& option, const Prices& prices) {
  return ms_of_time(option, prices) + prices.ms_of_byte * static_cast<double>(option.bytes);
}

double WayLadder::ms_within(const CutOption& option, double ms, const CutLoads& most,
                            double beyond_limits) {
  for (std::size_t i = 0; i < option.largest.size(); ++i) {
    ms += beyond_limits * std::max(0.0, option.largest[i] - most[i]);
  }
  return ms;
}

// Limits and the price of memory change more often.
void WayLadder::set_prices(Prices prices) const {
  prices.ms_of_byte = 0.0;
  if (set_prices_ == prices) return;
  set_prices_ = prices;
  priced_options_.resize(options_.tables());
  for (std::size_t t = 0; t < options_.tables(); ++t) {
    priced_options_[t].clear();
    for (const CutOption& option : options_.of(t)) {
      priced_options_[t].push_back({ms_of_time(option, prices), static_cast<double>(option.bytes)});
    }
  }
}

std::uint32_t WayLadder::cheapest(std::size_t table, double ms_of_byte,
                                  const CutLoads& most) const {
  const std::vector<PricedOption>& options = priced_options_[table];
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < options.size(); ++i) {
    double ms = options[i].ms + ms_of_byte * options[i].bytes;
    if (!(ms < least)) continue;  // Most are, whatever limits are.
    ms = ms_within(options_.of(table)[i], ms, most, kBeyondLimit);
    if (!(ms < least)) continue;
    best = i;
    least = ms;
  }
  return best;
}

std::vector<WayLadder::OtherCut> WayLadder::other_cuts(const Rung& rung, double doubt,
                                                       std::size_t most) const {
  struct Candidate {
    OtherCut other;
    double key;
  };
  std::vector<Candidate> all;
  const auto add_others = [&](const std::vector<std::size_t>& tables) {
    const std::vector<CutOption>& options = options_.of(tables.front());
    const TableCut& now = rung.cuts[tables.front()];
    const auto own = std::ranges::find(options, now, &CutOption::cut);
    const auto near_ms = [&](const CutOption& option) {
      return ms_within(option, ms_of(option, rung.prices), rung.most, kNearLimit);
    };
    const double own_ms = (1.0 + doubt) * near_ms(*own);
    const std::size_t first = all.size();
    for (const CutOption& option : options) {
      const TableCut& cut = option.cut;
      const Candidate one{{tables, cut},
                          static_cast<double>(tables.size()) * (near_ms(option) - own_ms)};
      if (cut.way == now.way) {
        if (cut.slices == 2 * now.slices || now.slices == 2 * cut.slices) all.push_back(one);
        continue;
      }
      const auto same_way =
          std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                       [&](const Candidate& known) { return known.other.cut.way == cut.way; });
      if (same_way == all.end()) {
        all.push_back(one);
      } else if (one.key < same_way->key) {
        *same_way = one;
      }
    }
  };
  for (const std::vector<std::size_t>& tables : cut_alike(rung)) add_others(tables);
  std::ranges::stable_sort(all, {}, &Candidate::key);
  all.resize(std::min(all.size(), most));
  std::vector<OtherCut> others;
  others.reserve(all.size());
  for (Candidate& one : all) others.push_back(std::move(one.other));
  return others;
}

std::vector<std::vector<std::size_t>> WayLadder::cut_alike(const Rung& rung) const {
  CutOptions::Groups all;
  for (const std::vector<std::size_t>& group : options_.alike()) {
    CutOptions::Groups by_cut;
    for (const std::size_t t : group) {
      join(by_cut, t, [&](std::size_t other) { return rung.cuts[other] == rung.cuts[t]; });
    }
    std::ranges::move(by_cut, std::back_inserter(all));
  }
  return all;
}

std::vector<WayLadder::NearCuts> WayLadder::near_cuts(const Rung& rung) const {
  const auto cut_ms = [&](const CutOption& option) { return ms_of(option, rung.prices); };
  std::vector<double> least_ms;
  for (std::size_t t = 0; t < options_.tables(); ++t) {
    least_ms.push_back(cut_ms(*std::ranges::min_element(options_.of(t), {}, cut_ms)));
  }
  const double some_ms = kNearOfAll * std::accumulate(least_ms.begin(), least_ms.end(), 0.0);
  std::vector<NearCuts> near;
  for (std::vector<std::size_t>& tables : cut_alike(rung)) {
    const std::size_t t = tables.front();
    const double most_ms = std::max(kNearOfTable * least_ms[t], least_ms[t] + some_ms);
    std::vector<TableCut> cuts;
    for (const CutOption& option : options_.of(t)) {
      if (cut_ms(option) <= most_ms) cuts.push_back(option.cut);
    }
    if (cuts.size() > 1) near.push_back({std::move(tables), std::move(cuts)});
  }
  return near;
}

// Others only get dearer by a lower limit, so an option that keeps to it stays the cheapest.
WayLadder::Estimate WayLadder::rung(Prices prices, const CutLoads& most, double room_share,
                                    const Estimate* higher, std::size_t lowered) const {
  Estimate rung;
  rung.most = most;
  set_prices(prices);
  rung.chosen.resize(options_.tables());
  if (higher != nullptr && higher->prices.ms_of_byte != prices.ms_of_byte) higher = nullptr;
  for (int look = 0; look < kLooksAtMemory; ++look, higher = nullptr) {
    LoadTimes mean_ms{};
    rung.largest = {};
    double bytes = 0.0;
    double dense_bytes = 0.0;
    double updates_ms = 0.0;
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    bool any_replica = false;
    for (std::size_t t = 0; t < options_.tables(); ++t) {
      const bool stays =
          higher != nullptr && options_.of(t)[higher->chosen[t]].largest[lowered] <= most[lowered];
      rung.chosen[t] = stays ? higher->chosen[t] : cheapest(t, prices.ms_of_byte, most);
      const CutOption& option = options_.of(t)[rung.chosen[t]];
      for (std::size_t i = 0; i < kLoadTimes; ++i) mean_ms[i] += option.mean_ms[i];
      for (std::size_t i = 0; i < rung.largest.size(); ++i) {
        rung.largest[i] = std::max(rung.largest[i], option.largest[i]);
      }
      bytes += static_cast<double>(option.bytes);
      if (option.replica < 0) continue;
      any_replica = true;
      dense_bytes += option.dense_bytes;
      updates_ms += option.update_ms;
      const float* const embedding = catalog_.embedding(option.replica);
      for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += embedding[i];
    }
    rung.cost_ms = 0.0;
    if (any_replica) {
      float head_ms = 0.0F;
      prices_.models().compute(sum_, {&head_ms, 1});
      rung.cost_ms =
          head_ms / options_.least_speed() + updates_ms + options_.all_reduce_ms(dense_bytes);
    }
    const auto of_device_ms = [&](std::size_t i) {
      return std::max(rung.largest[i], mean_ms[i] + kUnbalanced * rung.largest[i]);
    };
    for (std::size_t i = 0; i < kIdsLoad; ++i) rung.cost_ms += of_device_ms(i);
    rung.cost_ms = prices_.with_ids_ms(rung.cost_ms, of_device_ms(kIdsLoad));
    rung.room_share = bytes / options_.room_bytes();
    rung.prices = prices;
    if (rung.room_share <= room_share) return rung;
    const double ms = std::accumulate(mean_ms.begin(), mean_ms.end(), kLeastCutMs);
    prices.ms_of_byte = prices.ms_of_byte > 0.0 ? 2.0 * prices.ms_of_byte
                                                : kFirstShareOfMemory * ms / options_.room_bytes();
  }
  rung.cost_ms += kNoRoomMs;  // Behind all that fit.
  return rung;
}

std::optional<WayLadder::Estimate> WayLadder::lower(const Estimate& now, double room_share,
                                                    const StopCondition& stop) const {
  std::optional<Estimate> best;
  const std::size_t limits = now.room_share > kSharesOfRoom.back() ? kLoadTimes + 1 : kLoadTimes;
  for (std::size_t i = 0; i < limits && !stop.reached(); ++i) {
    CutLoads most = now.most;
    most[i] = kLowered * now.largest[i];
    Estimate tried = rung(now.prices, most, room_share, &now, i);
    if (!(tried.largest[i] < now.largest[i])) continue;
    if (best && !(tried.cost_ms < best->cost_ms)) continue;
    best = std::move(tried);
  }
  return best;
}

std::vector<WayLadder::Rung> WayLadder::best(std::size_t most, const StopCondition& stop) const {
  if (options_.tables() == 0) return {};
  std::array<std::vector<Estimate>, kPricesOfBlocks.size()> rungs;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    rungs[i] = rungs_at(kPricesOfBlocks[i], stop);
    std::ranges::stable_sort(rungs[i], {}, &Estimate::cost_ms);
  }
  std::vector<Estimate> best;
  for (std::size_t i = 0; best.size() < most; ++i) {
    bool any = false;
    for (std::vector<Estimate>& of_price : rungs) {
      if (i >= of_price.size() || best.size() == most) continue;
      any = true;
      if (std::ranges::find(best, of_price[i].chosen, &Estimate::chosen) == best.end()) {
        best.push_back(std::move(of_price[i]));
      }
    }
    if (!any) break;
  }
  std::vector<Rung> with_cuts;
  with_cuts.reserve(best.size());
  for (const Estimate& one : best) with_cuts.push_back(rung_of(one));
  return with_cuts;
}

WayLadder::Rung WayLadder::rung_of(const Estimate& estimate) const {
  Rung rung{.cuts = {}, .prices = estimate.prices, .most = estimate.most};
  for (std::size_t t = 0; t < options_.tables(); ++t) {
    rung.cuts.push_back(options_.of(t)[estimate.chosen[t]].cut);
  }
  return rung;
}

std::vector<WayLadder::Rung> WayLadder::in_small_shards(std::span<const Rung> rungs,
                                                        const StopCondition& stop) const {
  return limited(rungs, kLoadTimes, kSmallShards, kSharesOfRoom.back(), stop);
}

std::vector<WayLadder::Rung> WayLadder::in_narrow_shards(std::span<const Rung> rungs,
                                                         const StopCondition& stop) const {
  std::array<double, kNarrowShards.size()> limits_ms{};
  std::ranges::transform(kNarrowShards, limits_ms.begin(),
                         [&](double columns) { return prices_.own_ms(0.0, columns, 0.0); });
  return limited(rungs, kColumnsLoad, limits_ms, 0.0, stop);
}

std::vector<WayLadder::Rung> WayLadder::limited(std::span<const Rung> rungs, std::size_t load,
                                                std::span<const double> limits, double room_share,
                                                const StopCondition& stop) const {
  std::vector<Rung> others;
  for (const Rung& one : rungs) {
    for (const double limit : limits) {
      if (stop.reached()) return others;
      if (!(limit < one.most[load])) continue;
      CutLoads most = one.most;
      most[load] = limit;
      const Estimate estimate = rung(one.prices, most, 1.0, nullptr, 0);
      if (estimate.room_share <= room_share) continue;
      Rung cut = rung_of(estimate);
      const auto is_known = [&](const Rung& known) { return known.cuts == cut.cuts; };
      if (std::ranges::none_of(others, is_known) && std::ranges::none_of(rungs, is_known)) {
        others.push_back(std::move(cut));
      }
    }
  }
  return others;
}

std::vector<WayLadder::Estimate> WayLadder::rungs_at(double price_of_blocks,
                                                     const StopCondition& stop) const {
  std::vector<Estimate> rungs;
  const auto keep = [&](const Estimate& rung) {
    if (std::ranges::find(rungs, rung.chosen, &Estimate::chosen) == rungs.end())
      rungs.push_back(rung);
  };
  const std::span<const double> prices_of_ids =
      prices_.overlap().ids && prices_.ms_of_lookup_unit() > 0.0
          ? std::span<const double>(kPricesOfHiddenIds)
          : kPricesOfIds;
  const std::size_t steps =
      std::clamp<std::size_t>(kStepsTimesTables / options_.tables(), 1, kMostStepsOfPrice);
  for (const double room_share : kSharesOfRoom) {
    double fullest = 0.0;
    for (const PriceOfReplicas& replicas : kPricesOfReplicas) {
      for (const double ids : prices_of_ids) {
        const Prices prices{.replicas = replicas, .blocks = price_of_blocks, .ids = ids};
        std::optional<Estimate> now = rung(prices, kNoLimits, room_share, nullptr, 0);
        for (std::size_t step = 0; now; ++step) {
          keep(*now);
          fullest = std::max(fullest, now->room_share);
          now = step < steps ? lower(*now, room_share, stop) : std::nullopt;
        }
      }
    }
    if (fullest <= kSharesOfRoom.back()) break;  // Less room changes nothing.
  }
  return rungs;
}

}  // namespace neuroshard
