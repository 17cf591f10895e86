#include "search/starts/cut_options.h"

#include <bit>
#include <map>

namespace neuroshard {
namespace {

// Gradients of replicas are exchanged beside so many bytes of others.
constexpr double kOtherGradients = 16.0 * (1 << 20);

constexpr double kMostOfRoom = 0.85;  // A shard takes no more, if there is another way.
// A table that takes more of all room may not find room for each of its slices.
constexpr double kMostOfAllRoom = 0.5;

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

}  // namespace

CutOptions::CutOptions(const PlanState& state, StatePrices& prices, const StopCondition& stop)
    : catalog_(state.catalog()),
      prices_(prices),
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
    add(state, table);
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

void CutOptions::add(const PlanState& state, int table) {
  const Table& of = state.task().tables[static_cast<std::size_t>(table)];
  const TableWays& ways = state.ways();
  std::vector<CutOption>& options = options_.emplace_back();
  const auto loads_of = [&](int shard, double speed) -> CutLoads {
    const ShardLoad& load = catalog_.load(shard);
    return {prices_.added_ms(shard) / speed, prices_.own_ms(0.0, load.columns, 0.0),
            prices_.own_ms(0.0, 0.0, static_cast<double>(load.ids)),
            static_cast<double>(load.bytes) / least_room_bytes_};
  };
  const auto add_replica_operator = [&](CutOption& option) {
    option.replica = catalog_.replica(table);
    option.replica_ms = catalog_.more_ms(option.replica) / least_speed_;
    option.once_ms =
        std::max(0.0, prices_.added_ms(option.replica) / least_speed_ - option.replica_ms);
  };
  const auto add_cut = [&](Way way, int slices) {
    CutOption option{.cut = {way, slices}, .in_blocks = ways.group(way) > 1};
    if (ways.is_deduplicated(way)) {
      add_replica_operator(option);
    }
    std::vector<std::int64_t> slices_bytes;
    for (const int width : ways.widths(table, way, slices)) {
      slices_bytes.push_back(0);
      state.for_each_shard({table, width, way, 0}, [&](int device, int shard) {
        const bool is_there = ways.is_everywhere(way);
        const CutLoads loads =
            loads_of(shard, is_there ? prices_.speed(static_cast<std::size_t>(device)) : speed_);
        for (std::size_t i = 0; i < kLoadTimes; ++i) option.mean_ms[i] += loads[i] / devices_;
        for (std::size_t i = 0; i < loads.size(); ++i) {
          option.largest[i] = std::max(option.largest[i], loads[i]);
        }
        option.bytes += catalog_.load(shard).bytes;
        slices_bytes.back() = std::max(slices_bytes.back(), catalog_.load(shard).bytes);
      });
    }
    option.fits = option.largest[kLoadTimes] <= kMostOfRoom &&
                  (static_cast<double>(option.bytes) <= kMostOfAllRoom * room_bytes_ ||
                   fit_alone(slices_bytes, ways.group(way), prices_, ways.devices()));
    if (ways.is_everywhere(way)) option.largest[kLoadTimes] = 0.0;  // It is not placed.
    options.push_back(option);
  };
  for (const Way way : ways.list()) {
    if (!ways.of(table).may_be(way)) continue;
    const int most = most_slices_on(ways.places(way), of.dim);
    int last = 0;
    // 1, 2, 3, 4, 6, 8, 12, 16, ...: devices are 2 or 3 times a power of 2, as a rule.
    for (unsigned slices = 1; static_cast<int>(slices) <= most;
         slices += std::max(1U, std::bit_floor(slices) / 2)) {
      const int count = static_cast<int>(ways.widths(table, way, static_cast<int>(slices)).size());
      if (count == last) continue;
      last = count;
      add_cut(way, count);
    }
  }
  if (!ways.of(table).replica) return;
  const ReplicaLoad& load = catalog_.replica_load(table);
  const Table* const tables[] = {&of};
  CutOption option{.cut = {Way::kReplica, 1}};
  add_replica_operator(option);
  option.dense_bytes = load.dense_bytes;
  option.update_ms = load.price_ms;
  if (const CollectiveModel* const model = catalog_.backend().all_reduce()) {
    option.update_ms +=
        replica_update_ms(*model, state.task().devices, catalog_.gradients().update(tables));
  }
  option.replica_ms += kLeastCutMs + option.update_ms +
                       all_reduce_ms(kOtherGradients + load.dense_bytes) -
                       all_reduce_ms(kOtherGradients);
  option.bytes = load.bytes * static_cast<std::int64_t>(devices_);
  options.push_back(option);
}

double CutOptions::all_reduce_ms(double dense_bytes) const {
  const CollectiveModel* const model = catalog_.backend().all_reduce();
  return model == nullptr ? 0.0 : model->cost_ms(static_cast<int>(devices_), dense_bytes);
}

}  // namespace neuroshard
