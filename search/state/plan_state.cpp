#include "search/state/plan_state.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/plans/slice_prices.h"
#include "search/state/slices_in_ways.h"

namespace neuroshard {
namespace {

void take_out(std::vector<int>& list, int value) {
  const auto at = std::ranges::find(list, value);
  *at = list.back();
  list.pop_back();
}

}  // namespace

PlanState::PlanState(ShardCatalog& catalog, const TableWays& ways, const Plan& plan,
                     MovedBytes* moved, const StopCondition& stop)
    : catalog_(catalog),
      ways_(ways),
      moved_(moved),
      of_table_(catalog.task().tables.size()),
      shards_on_(static_cast<std::size_t>(ways.devices())),
      slices_once_(of_table_.size(), 0),
      is_touched_(shards_on_.size(), 0),
      is_fixed_(of_table_.size(), 0) {
  for (const Way way : ways.list()) {
    first_lists_[static_cast<std::size_t>(way)] = lists_.size();
    // Devices that no group has get a list as well.
    lists_.resize(lists_.size() +
                  static_cast<std::size_t>((ways.devices() - 1) / ways.group(way) + 1));
  }
  for (std::size_t t = 0; t < of_table_.size(); ++t) {
    all_rows_.push_back(catalog.all_rows(static_cast<int>(t)));
  }
  const std::size_t devices = shards_on_.size();
  for (std::size_t d = 0; d < devices; ++d) shards_on_[d] = HeldShards(d);
  sums.embeddings.resize(devices * catalog.embedding_width());
  sums.replicas.resize(catalog.embedding_width());
  sums.price_ms.resize(devices);
  sums.columns.resize(devices);
  sums.ids.resize(devices);
  sums.bytes.resize(devices);
  sums.shards.resize(devices);
  if (ways.options().storage.ms_per_gib > 0.0) sums.stored_bytes.resize(devices);
  if (task().host.bytes > 0) sums.hosted.resize(devices);
  sums.is_replica.resize(of_table_.size());
  sums.is_deduplicated.resize(of_table_.size());
  sums.compute_ms.resize(devices);
  sums.seen.resize(devices);
  sums.backward_ms.resize(devices);
  sums.total_ms.resize(devices);
  sums.prefetched_ms.resize(devices, kNoPrefetch);
  if (moved_ != nullptr) sums.moved_of_table.resize(of_table_.size());
  limits_ = limits_of(*this);
  read(plan, stop);
}

void PlanState::read(const Plan& plan, const StopCondition& stop) {
  std::vector<std::vector<HeldSlice>> held = slices_by_table(task(), plan);
  Edit edit;
  std::vector<char> is_replica(held.size(), 0);
  for (const int table : plan.replicas) {
    const auto t = static_cast<std::size_t>(table);
    is_replica[t] = 1;
    edit.in.push_back({table, task().tables[t].dim, Way::kReplica, 0});
  }
  for (const int table : plan.deduplicated) {
    sums.is_deduplicated[static_cast<std::size_t>(table)] = 1;
  }
  for (std::size_t t = 0; t < held.size(); ++t) {
    if (stop.reached()) {
      movable_.clear();
      return;
    }
    const int table = static_cast<int>(t);
    const TableWays::OfTable& ways = ways_.of(table);
    if (held[t].empty()) {
      if (is_replica[t] != 0) (void)catalog_.replica(table);
      if (is_replica[t] != 0 ? ways.replica : ways.may_be_any()) movable_.push_back(table);
    } else if (const auto slices =
                   slices_in_ways(task(), held[t], groups_of(ways, sums.is_deduplicated[t] != 0))) {
      const std::size_t first = edit.in.size();
      edit.in.insert(edit.in.end(), slices->begin(), slices->end());
      embed(edit, first);
      movable_.push_back(table);
    } else {
      fix_table(held[t]);
    }
  }
  for (int d = 0; d < ways_.devices(); ++d) touch(d);
  apply(edit);
  if (!plan.deduplicated.empty()) sum_up_replicas();  // The edit changed nothing of that.
  begin_undo();
}

std::vector<int> PlanState::groups_of(const TableWays::OfTable& ways, bool deduplicated) const {
  std::vector<int> groups(static_cast<std::size_t>(ways_.list().back()) + 1, 0);
  for (const Way way : ways_.list()) {
    if (ways.may_be(way) && ways_.is_deduplicated(way) == deduplicated)
      groups[static_cast<std::size_t>(way)] = ways_.group(way);
  }
  return groups;
}

// Embedding takes longest of all, so that it is done table by table, between looks at the stop
// condition; and so are whole tables, which others are compared with.
void PlanState::embed(const Edit& edit, std::size_t first) const {
  for (std::size_t i = first; i < edit.in.size(); ++i) for_each_shard(edit.in[i], [](int, int) {});
  const int table = edit.in[first].table;
  (void)catalog_.shard(all_rows_[static_cast<std::size_t>(table)],
                       task().tables[static_cast<std::size_t>(table)].dim);
}

void PlanState::fix_table(const std::vector<HeldSlice>& held) {
  const auto t = static_cast<std::size_t>(held.front().slice.table);
  is_fixed_[t] = 1;
  fixed_.insert(fixed_.end(), held.begin(), held.end());
  sums.slices += static_cast<int>(held.size());
  const KindPrice* price = price_of_blocks(catalog_.backend(), task(), held);
  for (const auto& [slice, device] : held) {
    const KindPrice* const of_block = slice.rows == task().tables[t].rows ? nullptr : price;
    const int number = catalog_.rows(slice.table, slice.first_row, slice.rows, of_block,
                                     sums.is_deduplicated[t] != 0);
    shards_on_[static_cast<std::size_t>(device)].add(catalog_, catalog_.shard(number, slice.dim));
    if (moved_ != nullptr) sums.moved_of_table[t] += moved_->of_fixed(slice, device);
  }
  if (moved_ != nullptr) sums.moved_bytes += sums.moved_of_table[t];
}

bool PlanState::is_whole() const {
  for (std::size_t t = 0; t < of_table_.size(); ++t) {
    if (of_table_[t].empty() && is_fixed_[t] == 0) return false;
  }
  return true;
}

Plan PlanState::plan() const {
  Plan plan;
  plan.shards.resize(shards_on_.size());
  const auto place = [&](const TableSlice& slice, int device) {
    plan.add(slice, static_cast<std::size_t>(device));
  };
  for (const auto& [slice, device] : fixed_) place(slice, device);
  for (std::size_t t = 0; t < of_table_.size(); ++t) {
    if (sums.is_replica[t] != 0) {
      plan.replicas.push_back(static_cast<int>(t));
      continue;
    }
    if (sums.is_deduplicated[t] != 0) plan.deduplicated.push_back(static_cast<int>(t));
    const std::int64_t rows = task().tables[t].rows;
    std::vector<StateSlice> slices;
    for (const int id : of_table_[t]) slices.push_back(slice(id));
    std::ranges::stable_sort(slices, std::greater<>(), &StateSlice::width);
    std::vector<int> first_columns;
    if (moved_ != nullptr && !slices.empty()) first_columns = moved_->first_columns(slices);
    int column = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const StateSlice& slice = slices[i];
      if (!first_columns.empty()) column = first_columns[i];
      const int group = ways_.group(slice.way);
      for_each_block({static_cast<int>(t), column, slice.width, 0, rows}, slice.place * group,
                     group, place);
      column += slice.width;
    }
  }
  return plan;
}

void PlanState::apply(const Edit& edit) {
  Applied& applied = journal_.emplace_back();
  replicas_changed_ = false;
  for (const int id : edit.out) applied.out.push_back(drop(id));
  for (const StateSlice& slice : edit.in) applied.in.push_back(put(slice));
  see_deduplicated();
  sum_up_touched();
  if (replicas_changed_) sum_up_replicas();
  if (moved_ != nullptr) count_moves(edit);
}

std::int64_t PlanState::moved_bytes_after(const Edit& edit) const {
  std::int64_t bytes = sums.moved_bytes;
  for (std::size_t i = 0; i < edit.in.size(); ++i) {
    const int table = edit.in[i].table;
    const auto before = edit.in.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::ranges::find(edit.in.begin(), before, table, &StateSlice::table) != before) continue;
    of_one_table_.clear();
    for (const int id : of_table(table)) {
      if (std::ranges::find(edit.out, id) == edit.out.end()) of_one_table_.push_back(slice(id));
    }
    for (const StateSlice& one : edit.in) {
      if (one.table == table) of_one_table_.push_back(one);
    }
    bytes +=
        moved_->of_slices(of_one_table_) - sums.moved_of_table[static_cast<std::size_t>(table)];
  }
  return bytes;
}

std::int64_t PlanState::most_stored_bytes_after(const Edit& edit) const {
  stored_after_ = sums.stored_bytes;
  const auto add = [&](const StateSlice& slice, int sign) {
    for_each_shard(slice, [&](int device, int shard) {
      const ShardLoad& load = catalog_.load(shard);
      stored_after_[static_cast<std::size_t>(device)] += sign * load.stored_bytes;
    });
  };
  for (const int id : edit.out) add(slice(id), -1);
  for (const StateSlice& slice : edit.in) add(slice, 1);
  return std::ranges::max(stored_after_) + sums.replica_stored_bytes;
}

void PlanState::count_moves(const Edit& edit) {
  int last = -1;  // Slices of a table follow each other.
  for (const auto& [table, width, way, place] : edit.in) {
    if (std::exchange(last, table) == table) continue;
    of_one_table_.clear();
    for (const int id : of_table(table)) of_one_table_.push_back(slice(id));
    std::int64_t& bytes = sums.moved_of_table[static_cast<std::size_t>(table)];
    sums.moved_bytes -= bytes;
    bytes = moved_->of_slices(of_one_table_);
    sums.moved_bytes += bytes;
  }
}

void PlanState::undo(const PlanSums& before) {
  for (; !journal_.empty(); journal_.pop_back()) {
    const Applied& applied = journal_.back();
    for (std::size_t i = applied.in.size(); i-- > 0;) drop(applied.in[i]);
    for (std::size_t i = applied.out.size(); i-- > 0;) put(applied.out[i]);
  }
  for (const int d : touched_) is_touched_[static_cast<std::size_t>(d)] = 0;
  touched_.clear();
  seen_once_.clear();
  sums = before;
}

int PlanState::put(const StateSlice& slice) {
  int id = static_cast<int>(slices_.size());
  if (free_.empty()) {
    slices_.push_back(slice);
    index_.push_back(0);
  } else {
    id = free_.back();
    free_.pop_back();
    slices_[static_cast<std::size_t>(id)] = slice;
  }
  of_table_[static_cast<std::size_t>(slice.table)].push_back(id);
  if (slice.way == Way::kReplica) {
    set_replica(slice.table, true);
    return id;
  }
  count_once(slice, 1);
  std::vector<int>& there = lists_[list_of(slice.way, slice.place)];
  index_[static_cast<std::size_t>(id)] = there.size();
  there.push_back(id);
  for_each_shard(slice, [&](int device, int shard) {
    touch(device);
    shards_on_[static_cast<std::size_t>(device)].add(catalog_, shard);
  });
  ++sums.slices;
  return id;
}

StateSlice PlanState::drop(int id) {
  const StateSlice slice = this->slice(id);
  take_out(of_table_[static_cast<std::size_t>(slice.table)], id);
  free_.push_back(id);
  if (slice.way == Way::kReplica) {
    set_replica(slice.table, false);
    return slice;
  }
  count_once(slice, -1);
  std::vector<int>& there = lists_[list_of(slice.way, slice.place)];
  const std::size_t index = index_[static_cast<std::size_t>(id)];
  there[index] = there.back();
  index_[static_cast<std::size_t>(there[index])] = index;
  there.pop_back();
  for_each_shard(slice, [&](int device, int shard) {
    touch(device);
    shards_on_[static_cast<std::size_t>(device)].take_out(catalog_, shard);
  });
  --sums.slices;
  return slice;
}

void PlanState::set_replica(int table, bool is_replica) {
  sums.is_replica[static_cast<std::size_t>(table)] = is_replica ? 1 : 0;
  replicas_changed_ = true;
}

void PlanState::count_once(const StateSlice& slice, int by) {
  if (!ways_.is_deduplicated(slice.way)) return;
  slices_once_[static_cast<std::size_t>(slice.table)] += by;
  seen_once_.push_back(slice.table);
}

// Most edits take a slice away and bring one like it.
void PlanState::see_deduplicated() {
  for (const int table : seen_once_) {
    const auto t = static_cast<std::size_t>(table);
    const char is_once = slices_once_[t] > 0 ? 1 : 0;
    if (std::exchange(sums.is_deduplicated[t], is_once) != is_once) replicas_changed_ = true;
  }
  seen_once_.clear();
}

void PlanState::touch(int device) {
  char& is_touched = is_touched_[static_cast<std::size_t>(device)];
  if (is_touched != 0) return;
  is_touched = 1;
  touched_.push_back(device);
}

void PlanState::sum_up_touched() {
  for (const int d : touched_) {
    sum_up(d);
    is_touched_[static_cast<std::size_t>(d)] = 0;
  }
  last_touched_.swap(touched_);
  touched_.clear();
}

void PlanState::sum_up(int device) {
  const auto d = static_cast<std::size_t>(device);
  HeldShards& held = shards_on_[d];
  held.sum_up(catalog_, sums.embeddings.data() + d * catalog_.embedding_width());
  sums.columns[d] = static_cast<float>(held.columns());
  sums.ids[d] = held.ids();
  sums.bytes[d] = held.bytes();
  sums.price_ms[d] = held.price_ms();
  sums.shards[d] = static_cast<int>(held.size());
  if (!sums.stored_bytes.empty()) sums.stored_bytes[d] = held.stored_bytes();
  if (!sums.hosted.empty()) sums.hosted[d] = held.hosted();
}

void PlanState::sum_up_replicas() {
  std::ranges::fill(sums.replicas, 0.0F);
  sums.replica_price_ms = 0.0;
  sums.dense_bytes = 0.0;
  sums.replica_bytes = 0;
  sums.replica_stored_bytes = 0;
  sums.replica_count = 0;
  sums.deduplicated_count = 0;
  for (std::size_t t = 0; t < sums.is_replica.size(); ++t) {
    if (sums.is_replica[t] == 0 && sums.is_deduplicated[t] == 0) continue;
    const int table = static_cast<int>(t);
    const float* const embedding = catalog_.embedding(catalog_.replica(table));
    for (std::size_t i = 0; i < sums.replicas.size(); ++i) sums.replicas[i] += embedding[i];
    if (sums.is_deduplicated[t] != 0) {
      ++sums.deduplicated_count;
      continue;
    }
    const ReplicaLoad& load = catalog_.replica_load(table);
    sums.replica_price_ms += load.price_ms;
    sums.dense_bytes += load.dense_bytes;
    sums.replica_bytes += load.bytes;
    sums.replica_stored_bytes += load.stored_bytes;
    ++sums.replica_count;
  }
}

}  // namespace neuroshard
