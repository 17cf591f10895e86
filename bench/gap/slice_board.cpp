#include "bench/gap/slice_board.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

// Devices, besides those that a change concerns, which are asked first whether it is too dear.
constexpr std::size_t kDearest = 4;

}  // namespace

SliceBoard::SliceBoard(const CpuBackend& backend, const Task& task, const Plan& plan)
    : backend_(backend), task_(task), totals_(backend, task.devices), ids_(backend, task.devices) {
  const OperatorFeatures of_operator(backend.table_features(),
                                     static_cast<double>(task.batch_size));
  std::vector<float> features;
  for (const Table& table : task.tables) {
    first_piece_.push_back(static_cast<std::uint32_t>(dims_.size()));
    for (int dim = table.dim;; dim /= 2) {
      dims_.push_back(dim);
      sizes_bytes_.push_back(slice_bytes(table, dim));
      piece_lookups_.push_back(lookup_units(table.pooling_factor));
      of_operator.append(table, dim, features);
      if (!can_split_columns(dim)) break;
    }
    levels_.push_back(static_cast<std::uint32_t>(dims_.size()) - first_piece_.back());
  }
  embeddings_.resize(dims_.size() * static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings_);
  alike_.resize(dims_.size());

  const auto devices = static_cast<std::size_t>(task.devices);
  shards_.resize(devices);
  dim_sums_.resize(devices);
  lookups_.resize(devices);
  compute_ms_.resize(devices);
  total_ms_.resize(devices);
  const auto by_device = slices_by_device(plan);
  for (std::uint32_t device = 0; device < devices; ++device) {
    for (const TableSlice& from : by_device[device]) {
      Slice slice{.table = static_cast<std::uint32_t>(from.table), .level = 0, .device = device};
      while (dim(slice) > from.dim) ++slice.level;
      place(slice, static_cast<std::uint32_t>(slices_.size()));
    }
    changed_.push_back(device);
  }
  tried_dim_sums_ = dim_sums_;
  tried_lookups_ = lookups_;
  tried_compute_ms_ = compute_ms_;
  tried_total_ms_ = total_ms_;
  for (std::size_t device = 0; device < devices; ++device) {
    if (shards_[device].memory_bytes > room_bytes(task, device)) {
      throw Error("the plan to start from exceeds memory; start from one that fits");
    }
  }
  if (try_change({}, std::numeric_limits<double>::infinity())) make_change({});
}

void SliceBoard::place(const Slice& slice, std::uint32_t index) {
  if (index == slices_.size()) slices_.emplace_back();
  slices_[index] = slice;
  const std::uint32_t piece = piece_of(slice);
  alike_[piece].push_back(index);
  shards_[slice.device].slices.push_back(index);
  shards_[slice.device].memory_bytes += sizes_bytes_[piece];
  dim_sums_[slice.device] += static_cast<float>(dims_[piece]);
  lookups_[slice.device] += piece_lookups_[piece];
}

void SliceBoard::take_off(std::uint32_t index) {
  const Slice& slice = slices_[index];
  const std::uint32_t piece = piece_of(slice);
  std::erase(alike_[piece], index);
  std::erase(shards_[slice.device].slices, index);
  shards_[slice.device].memory_bytes -= sizes_bytes_[piece];
  dim_sums_[slice.device] -= static_cast<float>(dims_[piece]);
  lookups_[slice.device] -= piece_lookups_[piece];
}

bool SliceBoard::has_room(const Change& change) const {
  for (std::size_t a = 0; a < change.additions; ++a) {
    const std::uint32_t device = change.added[a].device;
    std::int64_t memory = shards_[device].memory_bytes;
    for (std::size_t i = 0; i < change.additions; ++i) {
      if (change.added[i].device == device) memory += sizes_bytes_[piece_of(change.added[i])];
    }
    for (std::size_t i = 0; i < change.removals; ++i) {
      const Slice& slice = slices_[change.removed[i]];
      if (slice.device == device) memory -= sizes_bytes_[piece_of(slice)];
    }
    if (memory > room_bytes(task_, device)) return false;
  }
  return true;
}

void SliceBoard::list_changed_devices(const Change& change) {
  changed_.clear();
  const auto add = [&](std::uint32_t device) {
    if (std::ranges::find(changed_, device) == changed_.end()) changed_.push_back(device);
  };
  for (std::size_t i = 0; i < change.removals; ++i) add(slices_[change.removed[i]].device);
  for (std::size_t i = 0; i < change.additions; ++i) add(change.added[i].device);
}

// A shard is what stays, then what is added: the order that make_change() leaves it in.
void SliceBoard::score_changed_devices(const Change& change) {
  const auto is_removed = [&](std::uint32_t index) {
    for (std::size_t i = 0; i < change.removals; ++i) {
      if (change.removed[i] == index) return true;
    }
    return false;
  };
  offsets_.assign(1, 0);
  pieces_.clear();
  for (const std::uint32_t device : changed_) {
    for (const std::uint32_t index : shards_[device].slices) {
      if (!is_removed(index)) pieces_.push_back(piece_of(slices_[index]));
    }
    for (std::size_t i = 0; i < change.additions; ++i) {
      if (change.added[i].device == device) pieces_.push_back(piece_of(change.added[i]));
    }
    offsets_.push_back(static_cast<std::uint32_t>(pieces_.size()));
    float dim_sum = 0.0F;
    std::int64_t lookups = 0;
    for (std::size_t i = offsets_[offsets_.size() - 2]; i < pieces_.size(); ++i) {
      dim_sum += static_cast<float>(dims_[pieces_[i]]);
      lookups += piece_lookups_[pieces_[i]];
    }
    tried_dim_sums_[device] = dim_sum;
    tried_lookups_[device] = lookups;
  }
  changed_compute_ms_.resize(changed_.size());
  backend_.score_shards(embeddings_, {offsets_, pieces_}, changed_compute_ms_);
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    tried_compute_ms_[changed_[i]] = changed_compute_ms_[i];
  }
}

bool SliceBoard::try_change(const Change& change, double limit_ms) {
  // Of the change tried before, which was perhaps not made.
  for (const std::uint32_t device : changed_) {
    tried_dim_sums_[device] = dim_sums_[device];
    tried_lookups_[device] = lookups_[device];
    tried_compute_ms_[device] = compute_ms_[device];
  }
  if (!has_room(change)) return false;
  // No change: all devices, as in the beginning.
  if (change.additions > 0) list_changed_devices(change);
  score_changed_devices(change);
  suspects_ = changed_;
  for (const std::uint32_t device : dearest_) {
    if (std::ranges::find(changed_, device) == changed_.end()) suspects_.push_back(device);
  }
  const double ids_ms = ids_.ms(id_columns(*std::ranges::max_element(tried_lookups_)));
  if (!totals_.compute(tried_compute_ms_, tried_dim_sums_, suspects_, limit_ms - ids_ms,
                       tried_total_ms_)) {
    return false;
  }
  tried_cost_ms_ = *std::ranges::max_element(tried_total_ms_) + ids_ms;
  return true;
}

void SliceBoard::make_change(const Change& change) {
  for (std::size_t i = 0; i < change.removals; ++i) take_off(change.removed[i]);
  for (std::size_t i = 0; i < change.additions; ++i) {
    place(change.added[i],
          i < change.removals ? change.removed[i] : static_cast<std::uint32_t>(slices_.size()));
  }
  if (change.removals > change.additions) {
    // The last slice takes the free index.
    const std::uint32_t free = change.removed[1];
    const auto last = static_cast<std::uint32_t>(slices_.size() - 1);
    if (free != last) {
      slices_[free] = slices_[last];
      std::ranges::replace(shards_[slices_[free].device].slices, last, free);
      std::ranges::replace(alike_[piece_of(slices_[free])], last, free);
    }
    slices_.pop_back();
  }
  compute_ms_ = tried_compute_ms_;
  total_ms_.swap(tried_total_ms_);
  cost_ms_ = tried_cost_ms_;
  dearest_.resize(std::min<std::size_t>(kDearest, shards_.size()));
  std::vector<std::uint32_t> order(shards_.size());
  for (std::uint32_t d = 0; d < order.size(); ++d) order[d] = d;
  std::ranges::partial_sort_copy(order, dearest_, [&](std::uint32_t a, std::uint32_t b) {
    return total_ms_[a] > total_ms_[b];
  });
}

Plan SliceBoard::plan() const {
  // Slices of a table by width, widest first: as long as the next one is narrower than what is left
  // of the table's columns, these are halved.
  HalvedPlan plan;
  plan.shards.resize(shards_.size());
  std::vector<int> id_of(slices_.size(), -1);
  int next_id = static_cast<int>(task_.tables.size());
  for (std::size_t table = 0; table < task_.tables.size(); ++table) {
    std::vector<int> whole{static_cast<int>(table)};  // Not yet given out, at this level.
    for (std::uint32_t level = 0; level < levels_[table]; ++level) {
      for (const std::uint32_t index : alike_[first_piece_[table] + level]) {
        id_of[index] = whole.back();
        whole.pop_back();
      }
      const std::size_t left = whole.size();
      for (std::size_t i = 0; i < left; ++i) {
        plan.column_splits.push_back(whole[i]);
        whole.push_back(next_id++);
      }
    }
  }
  for (std::size_t d = 0; d < shards_.size(); ++d) {
    for (const std::uint32_t index : shards_[d].slices) plan.shards[d].push_back(id_of[index]);
  }
  return plan_from_halvings(task_, std::move(plan));
}

}  // namespace neuroshard::bench
