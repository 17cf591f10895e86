#include "search/starts/way_ladder.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
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

// Gradients of replicas are exchanged beside so many bytes of others.
constexpr double kOtherGradients = 16.0 * (1 << 20);

constexpr int kMostSlicesOfDevice = 2;
constexpr double kNoRoomMs = 1e9;
constexpr WayLadder::Loads kNoLimits = {kNoRoomMs, kNoRoomMs, kNoRoomMs, kNoRoomMs};
constexpr double kLeastMs = 1e-9;     // So that nothing costs nothing.
constexpr double kMostOfRoom = 0.85;  // A shard takes no more, if there is another way.
// A table that takes more of all room may not find room for each of its slices.
constexpr double kMostOfAllRoom = 0.5;
// Shares of all room that tables may take: what is left makes it easier to place them.
constexpr std::array kSharesOfRoom = {1.0, 0.95, 0.88};

// Shards of so much of a device's room find places that larger ones do not.
constexpr std::array kSmallShards = {0.5, 0.3, 0.2};

/// Whether slices that take so many bytes of each device of their places, the largest first, fit
/// on devices that hold nothing else.
bool fit_alone(const std::vector<std::int64_t>& slices_bytes, int group, const StatePrices& prices,
               int devices) {
  std::vector<std::int64_t> rooms;
  for (int d = 0; d < devices; ++d) {
    if (d % group == 0) rooms.push_back(prices.room_bytes(d));
    rooms.back() = std::min(rooms.back(), prices.room_bytes(d));
  }
  return std::ranges::all_of(slices_bytes, [&](std::int64_t bytes) {
    const auto room = std::ranges::find_if(rooms, [&](std::int64_t left) { return left >= bytes; });
    if (room == rooms.end()) return false;
    *room -= bytes;
    return true;
  });
}

using Groups = std::vector<std::vector<std::size_t>>;

/// Adds a table to the group whose first one is alike, or to one of its own.
template <typename IsAlike>
void join(Groups& groups, std::size_t table, const IsAlike& is_alike) {
  const auto alike = std::ranges::find_if(
      groups, [&](const std::vector<std::size_t>& group) { return is_alike(group.front()); });
  if (alike == groups.end()) {
    groups.push_back({table});
  } else {
    alike->push_back(table);
  }
}

}  // namespace

WayLadder::WayLadder(const PlanState& state, StatePrices& prices, const StopCondition& stop)
    : catalog_(state.catalog()),
      prices_(prices),
      sum_(catalog_.embedding_width()),
      devices_(static_cast<double>(state.task().devices)) {
  std::int64_t least_room = prices.room_bytes(0);
  for (int d = 0; d < state.task().devices; ++d) {
    room_bytes_ += static_cast<double>(prices.room_bytes(d));
    least_room = std::min(least_room, prices.room_bytes(d));
    const double speed = prices.speed(static_cast<std::size_t>(d));
    speed_ += speed / devices_;
    least_speed_ = d == 0 ? speed : std::min(least_speed_, speed);
  }
  least_room_bytes_ = static_cast<double>(std::max<std::int64_t>(1, least_room));
  for (const int table : state.tables()) {
    if (stop.reached()) {
      options_.clear();
      return;
    }
    add_options(state, prices, table);
  }
  std::map<int, Groups> of_rows;
  for (std::size_t t = 0; t < state.tables().size(); ++t) {
    const auto ways_of = [&](std::size_t i) -> const TableWays::OfTable& {
      return state.ways().of(state.tables()[i]);
    };
    join(of_rows[catalog_.all_rows(state.tables()[t])], t,
         [&](std::size_t other) { return ways_of(other) == ways_of(t); });
  }
  for (const auto& [rows, groups] : of_rows)
    alike_.insert(alike_.end(), groups.begin(), groups.end());
  std::ranges::sort(alike_);
}

void WayLadder::add_options(const PlanState& state, StatePrices& prices, int table) {
  const Table& of = state.task().tables[static_cast<std::size_t>(table)];
  const TableWays& ways = state.ways();
  ShardCatalog& catalog = state.catalog();
  std::vector<Option>& options = options_.emplace_back();
  const auto loads_of = [&](int shard, double speed) -> Loads {
    const ShardLoad& load = catalog.load(shard);
    return {prices.added_ms(shard) / speed, prices.own_ms(0.0, load.columns, 0.0),
            prices.own_ms(0.0, 0.0, static_cast<double>(load.ids)),
            static_cast<double>(load.bytes) / least_room_bytes_};
  };
  const auto add_replica_operator = [&](Option& option) {
    option.replica = catalog.replica(table);
    option.replica_ms = catalog.more_ms(option.replica) / least_speed_;
    option.once_ms =
        std::max(0.0, prices.added_ms(option.replica) / least_speed_ - option.replica_ms);
  };
  const auto add = [&](Way way, int slices) {
    Option option{.cut = {way, slices}, .in_blocks = ways.group(way) > 1};
    if (ways.is_deduplicated(way)) {
      add_replica_operator(option);
    }
    std::vector<std::int64_t> slices_bytes;
    for (const int width : ways.widths(table, way, slices)) {
      slices_bytes.push_back(0);
      state.for_each_shard({table, width, way, 0}, [&](int device, int shard) {
        const bool is_there = ways.is_everywhere(way);
        const Loads loads =
            loads_of(shard, is_there ? prices.speed(static_cast<std::size_t>(device)) : speed_);
        for (std::size_t i = 0; i < kTimes; ++i) option.mean_ms[i] += loads[i] / devices_;
        for (std::size_t i = 0; i < loads.size(); ++i) {
          option.largest[i] = std::max(option.largest[i], loads[i]);
        }
        option.bytes += catalog.load(shard).bytes;
        slices_bytes.back() = std::max(slices_bytes.back(), catalog.load(shard).bytes);
      });
    }
    option.fits = option.largest[kTimes] <= kMostOfRoom &&
                  (static_cast<double>(option.bytes) <= kMostOfAllRoom * room_bytes_ ||
                   fit_alone(slices_bytes, ways.group(way), prices, ways.devices()));
    if (ways.is_everywhere(way)) option.largest[kTimes] = 0.0;  // It is not placed.
    options.push_back(option);
  };
  for (const Way way : ways.list()) {
    if (!ways.of(table).may_be(way)) continue;
    const int most = kMostSlicesOfDevice * ways.places(way);
    int last = 0;
    // 1, 2, 3, 4, 6, 8, 12, 16, ...: devices are 2 or 3 times a power of 2, as a rule.
    for (unsigned slices = 1; static_cast<int>(slices) <= most;
         slices += std::max(1U, std::bit_floor(slices) / 2)) {
      const int count = static_cast<int>(ways.widths(table, way, static_cast<int>(slices)).size());
      if (count == last) continue;
      last = count;
      add(way, count);
    }
  }
  if (!ways.of(table).replica) return;
  const ReplicaLoad& load = catalog.replica_load(table);
  const Table* const tables[] = {&of};
  Option option{.cut = {Way::kReplica, 1}};
  add_replica_operator(option);
  option.dense_bytes = load.dense_bytes;
  option.update_ms = load.price_ms;
  if (const CollectiveModel* const model = catalog.backend().all_reduce()) {
    option.update_ms +=
        replica_update_ms(*model, state.task().devices, catalog.gradients().update(tables));
  }
  option.replica_ms += kLeastMs + option.update_ms +
                       all_reduce_ms(kOtherGradients + load.dense_bytes) -
                       all_reduce_ms(kOtherGradients);
  option.bytes = load.bytes * static_cast<std::int64_t>(devices_);
  options.push_back(option);
}

double WayLadder::all_reduce_ms(double dense_bytes) const {
  const CollectiveModel* const model = catalog_.backend().all_reduce();
  return model == nullptr ? 0.0 : model->cost_ms(static_cast<int>(devices_), dense_bytes);
}

double WayLadder::ms_of_time(const Option& option, const Prices& prices) {
  double shared_ms = prices.ids * option.mean_ms[kIds];
  for (std::size_t i = 0; i < kIds; ++i) shared_ms += option.mean_ms[i];
  return (option.fits ? 0.0 : kNoRoomMs) +
         prices.replicas.times * (option.replica_ms + prices.replicas.once * option.once_ms) +
         (option.in_blocks ? prices.blocks * shared_ms : shared_ms);
}

double WayLadder::ms_of(const Option& option, const Prices& prices) {
  return ms_of_time(option, prices) + prices.ms_of_byte * static_cast<double>(option.bytes);
}

double WayLadder::ms_within(const Option& option, double ms, const Loads& most,
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
  priced_options_.resize(options_.size());
  for (std::size_t t = 0; t < options_.size(); ++t) {
    priced_options_[t].clear();
    for (const Option& option : options_[t]) {
      priced_options_[t].push_back({ms_of_time(option, prices), static_cast<double>(option.bytes)});
    }
  }
}

std::uint32_t WayLadder::cheapest(std::size_t table, double ms_of_byte, const Loads& most) const {
  const std::vector<PricedOption>& options = priced_options_[table];
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < options.size(); ++i) {
    double ms = options[i].ms + ms_of_byte * options[i].bytes;
    if (!(ms < least)) continue;  // Most are, whatever limits are.
    ms = ms_within(options_[table][i], ms, most, kBeyondLimit);
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
    const std::vector<Option>& options = options_[tables.front()];
    const TableCut& now = rung.cuts[tables.front()];
    const auto own = std::ranges::find(options, now, &Option::cut);
    const auto near_ms = [&](const Option& option) {
      return ms_within(option, ms_of(option, rung.prices), rung.most, kNearLimit);
    };
    const double own_ms = (1.0 + doubt) * near_ms(*own);
    const std::size_t first = all.size();
    for (const Option& option : options) {
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
  Groups all;
  for (const std::vector<std::size_t>& group : alike_) {
    Groups by_cut;
    for (const std::size_t t : group) {
      join(by_cut, t, [&](std::size_t other) { return rung.cuts[other] == rung.cuts[t]; });
    }
    std::ranges::move(by_cut, std::back_inserter(all));
  }
  return all;
}

std::vector<WayLadder::NearCuts> WayLadder::near_cuts(const Rung& rung) const {
  const auto cut_ms = [&](const Option& option) { return ms_of(option, rung.prices); };
  std::vector<double> least_ms;
  for (const std::vector<Option>& options : options_) {
    least_ms.push_back(cut_ms(*std::ranges::min_element(options, {}, cut_ms)));
  }
  const double some_ms = kNearOfAll * std::accumulate(least_ms.begin(), least_ms.end(), 0.0);
  std::vector<NearCuts> near;
  for (std::vector<std::size_t>& tables : cut_alike(rung)) {
    const std::size_t t = tables.front();
    const double most_ms = std::max(kNearOfTable * least_ms[t], least_ms[t] + some_ms);
    std::vector<TableCut> cuts;
    for (const Option& option : options_[t]) {
      if (cut_ms(option) <= most_ms) cuts.push_back(option.cut);
    }
    if (cuts.size() > 1) near.push_back({std::move(tables), std::move(cuts)});
  }
  return near;
}

// Others only get dearer by a lower limit, so an option that keeps to it stays the cheapest.
WayLadder::Estimate WayLadder::rung(Prices prices, const Loads& most, double room_share,
                                    const Estimate* higher, std::size_t lowered) const {
  Estimate rung;
  rung.most = most;
  set_prices(prices);
  rung.chosen.resize(options_.size());
  if (higher != nullptr && higher->prices.ms_of_byte != prices.ms_of_byte) higher = nullptr;
  for (int look = 0; look < kLooksAtMemory; ++look, higher = nullptr) {
    Times mean_ms{};
    rung.largest = {};
    double bytes = 0.0;
    double dense_bytes = 0.0;
    double updates_ms = 0.0;
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    bool any_replica = false;
    for (std::size_t t = 0; t < options_.size(); ++t) {
      const bool stays =
          higher != nullptr && options_[t][higher->chosen[t]].largest[lowered] <= most[lowered];
      rung.chosen[t] = stays ? higher->chosen[t] : cheapest(t, prices.ms_of_byte, most);
      const Option& option = options_[t][rung.chosen[t]];
      for (std::size_t i = 0; i < kTimes; ++i) mean_ms[i] += option.mean_ms[i];
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
      rung.cost_ms = head_ms / least_speed_ + updates_ms + all_reduce_ms(dense_bytes);
    }
    const auto of_device_ms = [&](std::size_t i) {
      return std::max(rung.largest[i], mean_ms[i] + kUnbalanced * rung.largest[i]);
    };
    for (std::size_t i = 0; i < kIds; ++i) rung.cost_ms += of_device_ms(i);
    rung.cost_ms = prices_.with_ids_ms(rung.cost_ms, of_device_ms(kIds));
    rung.room_share = bytes / room_bytes_;
    rung.prices = prices;
    if (rung.room_share <= room_share) return rung;
    const double ms = std::accumulate(mean_ms.begin(), mean_ms.end(), kLeastMs);
    prices.ms_of_byte =
        prices.ms_of_byte > 0.0 ? 2.0 * prices.ms_of_byte : kFirstShareOfMemory * ms / room_bytes_;
  }
  rung.cost_ms += kNoRoomMs;  // Behind all that fit.
  return rung;
}

std::optional<WayLadder::Estimate> WayLadder::lower(const Estimate& now, double room_share,
                                                    const StopCondition& stop) const {
  std::optional<Estimate> best;
  const std::size_t limits = now.room_share > kSharesOfRoom.back() ? kTimes + 1 : kTimes;
  for (std::size_t i = 0; i < limits && !stop.reached(); ++i) {
    Loads most = now.most;
    most[i] = kLowered * now.largest[i];
    Estimate tried = rung(now.prices, most, room_share, &now, i);
    if (!(tried.largest[i] < now.largest[i])) continue;
    if (best && !(tried.cost_ms < best->cost_ms)) continue;
    best = std::move(tried);
  }
  return best;
}

std::vector<WayLadder::Rung> WayLadder::best(std::size_t most, const StopCondition& stop) const {
  if (options_.empty()) return {};
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
  for (std::size_t t = 0; t < options_.size(); ++t) {
    rung.cuts.push_back(options_[t][estimate.chosen[t]].cut);
  }
  return rung;
}

std::vector<WayLadder::Rung> WayLadder::in_small_shards(std::span<const Rung> rungs,
                                                        const StopCondition& stop) const {
  std::vector<Rung> small;
  for (const Rung& one : rungs) {
    for (const double share : kSmallShards) {
      if (stop.reached()) return small;
      if (!(share < one.most[kTimes])) continue;
      Loads most = one.most;
      most[kTimes] = share;
      const Estimate estimate = rung(one.prices, most, 1.0, nullptr, 0);
      if (estimate.room_share <= kSharesOfRoom.back()) continue;
      Rung cut = rung_of(estimate);
      const auto is_known = [&](const Rung& known) { return known.cuts == cut.cuts; };
      if (std::ranges::none_of(small, is_known) && std::ranges::none_of(rungs, is_known)) {
        small.push_back(std::move(cut));
      }
    }
  }
  return small;
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
      std::clamp<std::size_t>(kStepsTimesTables / options_.size(), 1, kMostStepsOfPrice);
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
