#include "search/moves/neighbourhoods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>

namespace neuroshard {
namespace {

constexpr double kReplicas = 0.2;      // Share of rebuilds of many replicas,
constexpr double kDeduplicated = 0.2;  // of the others, those of many deduplicated tables, if any,
constexpr double kOfDevices = 0.15;    // and of devices.
constexpr double kKeepWays = 0.5;      // Share of the others that cut anew, but keep ways.
constexpr double kOneCut = 0.5;        // All tables are cut alike.
constexpr double kReplicated = 0.25;   // Share of tables that become replicas, as far as they may,
constexpr double kInColumnsToo = 0.5;  // and of those in blocks that are in slices of columns.
constexpr double kExchangeWays = 0.2;  // Two tables get the way of each other.
constexpr double kOthersAnew = 0.3;    // All other slices are placed anew, too.
constexpr double kTablesWaitedFor = 0.4;
constexpr double kAllOrFewer = 1.3;  // In one draw of four, all that may be deduplicated.
constexpr double kNoise = 0.03;
constexpr std::size_t kMostTables = 9;
constexpr std::size_t kMostOfDevices = 12;
constexpr double kLeastAddedMs = 1e-6;
constexpr double kLeastOfWhole = 0.5;      // Share of a whole table that there has to be time for.
constexpr std::size_t kMostHeads = 65536;  // Placing takes no more.

bool has(const std::vector<int>& tables, int table) {
  return std::ranges::find(tables, table) != tables.end();
}

}  // namespace

Neighbourhoods::Neighbourhoods(PlanState& state, const StatePrices& prices, Random& random)
    : state_(state),
      prices_(prices),
      random_(random),
      by_load_(state.tables()),
      by_size_(state.tables()),
      whole_ms_(state.task().tables.size(), 0.0) {
  const std::vector<Table>& tables = state.task().tables;
  const auto table = [&](int t) -> const Table& { return tables[static_cast<std::size_t>(t)]; };
  std::ranges::stable_sort(by_load_, {},
                           [&](int t) { return table(t).pooling_factor * table(t).dim; });
  std::ranges::stable_sort(
      by_size_, {}, [&](int t) { return static_cast<double>(table(t).rows) * table(t).dim; });
  ShardCatalog& catalog = state.catalog();
  for (const int t : state.tables()) {
    whole_ms_[static_cast<std::size_t>(t)] =
        catalog.alone_ms(catalog.shard(catalog.all_rows(t), table(t).dim));
    if (state.ways().of(t).replica) replicas_first_.push_back(t);
  }
  std::vector<double> keys(tables.size(), 0.0);
  for (const int t : replicas_first_) {
    const ReplicaLoad& load = catalog.replica_load(t);
    double exchanged = load.dense_bytes > 0.0 ? load.dense_bytes : static_cast<double>(load.bytes);
    if (MovedBytes* const moved = state.moved()) {
      exchanged += static_cast<double>(moved->of_everywhere(t, Way::kReplica));
    }
    keys[static_cast<std::size_t>(t)] = exchanged / (1e-3 + std::max(0.0, whole_ms(t)));
  }
  std::ranges::stable_sort(replicas_first_, {},
                           [&](int t) { return keys[static_cast<std::size_t>(t)]; });
  find_once_first();
}

void Neighbourhoods::find_once_first() {
  ShardCatalog& catalog = state_.catalog();
  const std::vector<Table>& tables = state_.task().tables;
  const TableWays& ways = state_.ways();
  std::vector<double> gains(tables.size(), 0.0);
  for (const int t : state_.tables()) {
    const int dim = tables[static_cast<std::size_t>(t)].dim;
    const auto columns = [&](Way way) {
      int sum = 0;
      state_.for_each_shard({t, dim, way, 0},
                            [&](int, int shard) { sum += catalog.load(shard).columns; });
      return sum;
    };
    int saved = 0;
    for (const Way way : ways.list()) {
      const Way once = ways.other_asking(way);
      if (ways.is_deduplicated(way) || once == way || !ways.of(t).may_be(once)) continue;
      saved = std::max(saved, columns(way) - columns(once));
    }
    if (saved == 0) continue;
    once_first_.push_back(t);
    const double added_ms = std::max(kLeastAddedMs, prices_.added_ms(catalog.replica(t)));
    gains[static_cast<std::size_t>(t)] = saved / added_ms;
  }
  std::ranges::stable_sort(once_first_, std::greater<>(),
                           [&](int t) { return gains[static_cast<std::size_t>(t)]; });
}

TableCut Neighbourhoods::cut_of(int table) const {
  return {state_.way_of(table), std::max(1, static_cast<int>(state_.of_table(table).size()))};
}

int Neighbourhoods::most_slices() const {
  return std::max(1, static_cast<int>(kMostHeads) / state_.ways().devices());
}

int Neighbourhoods::draw_slices(int table, int places) {
  const int dim = state_.task().tables[static_cast<std::size_t>(table)].dim;
  const int most = std::min({dim / kDimMultiple, most_slices_on(places, dim), most_slices()});
  return std::max(1, static_cast<int>(std::exp(random_.uniform() * std::log(most + 0.999))));
}

TableCut Neighbourhoods::draw_cut(int table) {
  const TableWays& ways = state_.ways();
  const double u = random_.uniform();
  double share = kReplicated;
  if (u < share && ways.of(table).replica) return {Way::kReplica, 1};
  for (auto last = ways.list().rbegin(); last != ways.list().rend(); ++last) {
    const Way way = *last;
    share += ways.form(way).drawn;
    if (!(u < share) || !ways.of(table).may_be(way)) continue;
    const bool one = ways.is_everywhere(way) ||
                     (!ways.is_on_device(way) && !(random_.uniform() < kInColumnsToo));
    return {way, one ? 1 : draw_slices(table, ways.places(way))};
  }
  return cut_of(table);
}

int Neighbourhoods::device_waited_for() {
  const DeviceRanks& ranks = prices_.ranks();
  const std::array waited_for = {ranks.widest, ranks.busiest, ranks.slowest, ranks.slowest};
  return static_cast<int>(waited_for[random_.below(waited_for.size())]);
}

std::vector<int> Neighbourhoods::draw_tables() {
  const std::vector<int>& all = state_.tables();
  const double u = random_.uniform();
  std::size_t count =
      u < 0.4    ? 1
      : u < 0.82 ? 2
                 : 2 + random_.below(std::clamp<std::size_t>(all.size() / 3, 1, kMostTables - 1));
  count = std::min(count, all.size());
  const std::uint64_t mode = random_.below(4);
  const std::size_t first = random_.below(all.size());
  std::vector<int> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t next = (first + i) % all.size();
    const int t = mode == 0                              ? all[random_.below(all.size())]
                  : mode == 1                            ? by_load_[next]
                  : mode == 2 || random_.uniform() < 0.5 ? by_size_[next]
                                                         : all[random_.below(all.size())];
    if (!has(chosen, t)) chosen.push_back(t);
  }
  if (random_.uniform() < kTablesWaitedFor) {
    const std::vector<int>& there = state_.at(Way::kDevice, device_waited_for());
    if (!there.empty()) {
      const int t = state_.slice(there[random_.below(there.size())]).table;
      if (!has(chosen, t)) chosen.front() = t;
    }
  }
  return chosen;
}

std::vector<int> Neighbourhoods::tables_of_devices() {
  std::vector<int> chosen;
  const auto other =
      static_cast<int>(random_.below(static_cast<std::uint64_t>(state_.ways().devices())));
  for (const int device : {device_waited_for(), other}) {
    for (const int id : state_.at(Way::kDevice, device)) {
      const int t = state_.slice(id).table;
      if (chosen.size() < kMostOfDevices && !has(chosen, t)) chosen.push_back(t);
    }
  }
  return chosen;
}

bool Neighbourhoods::draw(Rebuild& rebuild, bool all_anew) {
  rebuild.begin();
  if (!replicas_first_.empty() && random_.uniform() < kReplicas) {
    draw_replicas(rebuild, all_anew);
    return rebuild.place(kNoise);
  }
  if (!once_first_.empty() && random_.uniform() < kDeduplicated) {
    draw_deduplicated(rebuild);
    return rebuild.place(kNoise);
  }
  std::vector<int> chosen;
  if (random_.uniform() < kOfDevices) chosen = tables_of_devices();
  if (chosen.empty()) chosen = draw_tables();
  const bool one_cut = random_.uniform() < kOneCut;
  const bool keep_ways = random_.uniform() < kKeepWays;
  const bool exchange = chosen.size() == 2 && random_.uniform() < kExchangeWays &&
                        state_.way_of(chosen[0]) != state_.way_of(chosen[1]);
  const TableCut of_all = draw_cut(chosen.front());
  std::vector<TableCut> cuts;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const int t = chosen[i];
    TableCut cut = one_cut ? of_all : draw_cut(t);
    if (exchange) {
      cut = cut_of(chosen[1 - i]);
    } else if (keep_ways) {
      cut = cut_of(t);
      if (state_.ways().is_on_device(cut.way) && random_.uniform() < 0.5) {
        cut.slices = draw_slices(t, state_.ways().devices());
      }
    }
    // A way that this table may not have: the first that it may, in the order of what all wait for.
    const TableWays::OfTable& ways = state_.ways().of(t);
    if (!ways.may_be(cut.way) && ways.may_be(Way::kDevice)) cut.way = Way::kDevice;
    cuts.push_back(cut);
  }
  for (const int t : chosen) rebuild.take_out(t);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    rebuild.put_in(chosen[i], cuts[i]);
  }
  if (all_anew && random_.uniform() < kOthersAnew) replace_others(rebuild, chosen);
  return rebuild.place(kNoise);
}

void Neighbourhoods::replace_others(Rebuild& rebuild, const std::vector<int>& chosen) {
  for (const int t : state_.tables()) {
    if (!has(chosen, t)) rebuild.replace(t);
  }
}

void Neighbourhoods::draw_replicas(Rebuild& rebuild, bool all_anew) {
  const bool more = random_.uniform() < 0.5;
  const auto count = static_cast<double>(replicas_first_.size());
  double most = std::exp(random_.uniform() * std::log(std::max(6.0, 0.6 * count)));
  if (!more) most = std::min<double>(most, most_slices());
  std::vector<int> chosen;
  for (std::size_t i = 0; i < replicas_first_.size() && static_cast<double>(chosen.size()) < most;
       ++i) {
    const int t = more ? replicas_first_[i] : replicas_first_[replicas_first_.size() - 1 - i];
    if (state_.is_replica(t) == more || (more && !rebuild.affords_replica(t))) continue;
    if (random_.uniform() < 0.8) chosen.push_back(t);
  }
  for (const int t : chosen) rebuild.take_out(t);
  for (const int t : chosen) {
    if (more) {
      rebuild.put_in(t, {Way::kReplica, 1});
    } else {
      rebuild.put_in(t,
                     {state_.ways().way_but_replica(t), draw_slices(t, state_.ways().devices())});
    }
  }
  if (!all_anew) return;
  const double u = random_.uniform();
  if (u < 0.2) {
    cut_others_anew(rebuild, chosen);
  } else if (u < 0.6) {
    replace_others(rebuild, chosen);
  }
}

void Neighbourhoods::draw_deduplicated(Rebuild& rebuild) {
  const bool more = random_.uniform() < 0.5;
  const auto count = static_cast<double>(once_first_.size());
  const double most = std::exp(kAllOrFewer * random_.uniform() * std::log(count + 1.0));
  deduplicate(rebuild, static_cast<std::size_t>(most), more);
}

void Neighbourhoods::deduplicate(Rebuild& rebuild, std::size_t most, bool more) const {
  const TableWays& ways = state_.ways();
  std::vector<int> chosen;
  for (std::size_t i = 0; i < once_first_.size() && chosen.size() < most; ++i) {
    const int t = once_first_[more ? i : once_first_.size() - 1 - i];
    const Way way = state_.way_of(t);
    if (way == Way::kReplica || ways.is_deduplicated(way) == more) continue;
    if (ways.of(t).may_be(ways.other_asking(way))) chosen.push_back(t);
  }
  for (const int t : chosen) {
    const TableCut cut = cut_of(t);
    rebuild.take_out(t);
    rebuild.put_in(t, {ways.other_asking(cut.way), cut.slices});
  }
}

// Finer or coarser, all by one measure.
void Neighbourhoods::cut_others_anew(Rebuild& rebuild, const std::vector<int>& chosen) {
  const double share = 0.2 * std::exp(random_.uniform() * std::log(6.0));
  double all_ms = 0.0;
  std::vector<int> others;
  for (const int t : state_.tables()) {
    if (has(chosen, t) || state_.way_of(t) != Way::kDevice) continue;
    others.push_back(t);
    all_ms += whole_ms(t);
  }
  for (const int t : others) {
    rebuild.take_out(t);
    rebuild.put_in(t, cut_by_load(t, share * all_ms));
  }
}

bool Neighbourhoods::cut_by_width(Rebuild& rebuild, WidthsApart apart, double whole_devices) const {
  struct Wide {
    int table;
    int slices;       // Narrow ones.
    double whole_ms;  // Time that it takes without them,
    double gain_ms;   // and by which they take more.
  };
  const TableWays& ways = state_.ways();
  ShardCatalog& catalog = state_.catalog();
  double all_ms = 0.0;
  std::vector<Wide> wide;
  std::vector<int> others;
  for (const int t : state_.tables()) {
    for (const int id : state_.of_table(t)) all_ms += prices_.added_ms(state_.slice(id));
    const int dim = state_.task().tables[static_cast<std::size_t>(t)].dim;
    if (state_.way_of(t) != Way::kDevice || dim <= apart.columns) {
      others.push_back(t);
      continue;
    }
    const auto added_ms = [&](int width) {
      return prices_.added_ms(catalog.shard(catalog.all_rows(t), width));
    };
    Wide one{t, (dim - 1) / apart.columns + 1, added_ms(dim), -added_ms(dim)};
    for (const int width : ways.widths(t, Way::kDevice, one.slices)) one.gain_ms += added_ms(width);
    wide.push_back(one);
  }
  if (wide.empty()) return false;
  std::ranges::stable_sort(wide, std::greater<>(), &Wide::gain_ms);
  rebuild.begin();
  rebuild.keep_apart(apart);
  double left_ms = whole_devices * all_ms / ways.devices();
  for (const Wide& one : wide) {
    const bool is_whole = kLeastOfWhole * one.whole_ms <= left_ms;
    if (is_whole) left_ms -= one.whole_ms;
    rebuild.take_out(one.table);
    rebuild.put_in(one.table, {Way::kDevice, is_whole ? 1 : one.slices});
  }
  for (const int t : others) rebuild.replace(t);
  return true;
}

TableCut Neighbourhoods::cut_by_load(int table, double all_ms) const {
  const int devices = state_.ways().devices();
  const double slices = std::ceil(whole_ms(table) * devices / (all_ms + 1e-9));
  return {Way::kDevice, static_cast<int>(std::clamp(slices, 1.0, 2.0 * devices))};
}

}  // namespace neuroshard
