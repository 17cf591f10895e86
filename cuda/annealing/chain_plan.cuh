#pragma once

#include "core/base/random.h"
#include "cuda/annealing/chain_views.h"
#include "cuda/device/warp.cuh"

namespace neuroshard::gpu {

/// Devices that a plan waits for, as search/improvement/edit_source.h has them.
struct ChainCritical {
  std::uint32_t slowest = 0;
  std::uint32_t last_ready = 0;
  std::uint32_t widest = 0;
  std::uint32_t busiest = 0;  ///< If ids are priced.
};

/// A number below `bound`, and what is drawn from next. One copy of that code, as a chain's code is
/// to stay in the instruction cache; for that reason loops are not unrolled here, either.
struct RandomIndex {
  Random random;
  std::uint32_t index;
};
__noinline__ __device__ static RandomIndex random_index(Random random, std::uint32_t bound) {
  const auto index = static_cast<std::uint32_t>(random.below(bound));
  return {random, index};
}

/// The plan of a chain and the edits that are drawn of it: WorkingPlan and EditSource of
/// search/improvement/ in the same order of slices and of random numbers. One lane draws and
/// changes it, since each number depends on those before; the others read it behind a barrier.
/// Lists are in device memory: each edit reads few of their words, which L1 keeps.
class ChainPlan {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  __device__ ChainPlan(const ChainView& chain, const AnnealingView& task)
      : chain_(chain),
        task_(task),
        on_capacity_(static_cast<std::uint32_t>(chain.sizes.on_device)) {
    const ChainLayout layout = chain_layout(chain.sizes);
    std::byte* memory = dynamic_shared_memory();
    slices_ = reinterpret_cast<ChainSlice*>(memory + layout.slices);
    edit_ = reinterpret_cast<ChainEdit*>(memory + layout.edit);
    memory_ = reinterpret_cast<std::int64_t*>(memory + layout.memory);
    lookups_ = reinterpret_cast<std::int64_t*>(memory + layout.lookups);
    dim_sums_ = reinterpret_cast<std::int32_t*>(memory + layout.dim_sums);
    on_counts_ = reinterpret_cast<std::uint32_t*>(memory + layout.on_counts);
  }

  // ---- by any lane ----

  [[nodiscard]] __device__ const ChainSlice& slice(std::uint32_t index) const {
    return slices_[index];
  }
  [[nodiscard]] __device__ const ChainEdit& edit() const { return *edit_; }
  [[nodiscard]] __device__ std::int64_t lookups(int device) const { return lookups_[device]; }
  [[nodiscard]] __device__ std::int32_t dim_sum(int device) const { return dim_sums_[device]; }
  [[nodiscard]] __device__ std::uint32_t slices_on(int device) const { return on_counts_[device]; }
  [[nodiscard]] __device__ std::uint32_t slice_on(std::uint32_t device, std::uint32_t index) const {
    return on_devices(device)[index];
  }

  // ---- by one lane ----

  __device__ void begin() {
#pragma unroll 1
    for (int d = 0; d < task_.devices; ++d) {
      on_counts_[d] = 0;
      dim_sums_[d] = 0;
      memory_[d] = 0;
      lookups_[d] = 0;
    }
#pragma unroll 1
    for (int t = 0; t < task_.tables; ++t) chain_.of_counts[t] = 0;
#pragma unroll 1
    for (std::uint32_t i = 0; i < chain_.slices; ++i) {
      const ChainPlace place = chain_.start[i];
      insert(place, i);
      const ChainPiece& piece = task_.pieces[place.piece];
      dim_sums_[place.device] += piece.dim;
      memory_[place.device] += piece.size_bytes;
      lookups_[place.device] += piece.lookups;
    }
    count_ = chain_.slices;
  }

  /// The next edit, to edit(), with what it makes of its devices; false if the draw came to none,
  /// or if it leaves a device too full.
  __device__ bool draw(Random& random, const ChainCritical& critical) {
    edit_->removed_count = 0;
    edit_->added_count = 0;
    const std::uint32_t slice = first_slice(random, critical);
    if (slice == kNone) return false;
    double kind = random.uniform();
    bool drawn = false;
    if ((kind -= annealing::kMoves) < 0.0) {
      drawn = draw_move(random, slice);
    } else if ((kind -= annealing::kSwaps) < 0.0) {
      drawn = draw_swap(random, slice);
    } else if ((kind -= annealing::kSwapsForTwo) < 0.0) {
      drawn = draw_swap_for_two(random, slice);
    } else if ((kind -= annealing::kHalvings) < 0.0) {
      drawn = draw_halving(random, slice);
    } else {
      drawn = draw_join(random, slice);
    }
    if (!drawn) return false;
    if (chain_.joins_halves != 0) join_halves();
    return fits();
  }

  /// Whether the edit leaves no more slices than there is room for.
  [[nodiscard]] __device__ bool has_room() const {
    const auto added = static_cast<std::uint32_t>(edit_->added_count);
    const auto room = static_cast<std::uint32_t>(chain_.sizes.slices);
    if (count_ + added > room + static_cast<std::uint32_t>(edit_->removed_count)) return false;
    return on_capacity_ == room || (on_counts_[edit_->devices[0]] + added <= on_capacity_ &&
                                    on_counts_[edit_->devices[1]] + added <= on_capacity_);
  }

  /// Slices that replace removed ones take their numbers.
  __device__ void apply() {
    const int removed = edit_->removed_count;
#pragma unroll 1
    for (int i = 0; i < removed; ++i) unlist(edit_->removed[i]);
    int reused = 0;
#pragma unroll 1
    for (int i = 0; i < edit_->added_count; ++i) {
      insert(edit_->added[i], reused < removed ? edit_->removed[reused++] : count_++);
    }
    // Numbers stay dense: the last slices take those that are free, the highest of these first.
#pragma unroll 1
    for (int end = removed; end > reused; --end) {
      int hole = reused;
#pragma unroll 1
      for (int i = reused + 1; i < end; ++i) {
        if (edit_->removed[hole] < edit_->removed[i]) hole = i;
      }
      const std::uint32_t free = edit_->removed[hole];
      const std::uint32_t last = count_ - 1;
      if (free != last) {
        const ChainSlice moved = slices_[last];
        slices_[free] = moved;
        on_devices(moved.device)[moved.on_device] = static_cast<std::uint16_t>(free);
        of_table(moved.table)[moved.of_table] = static_cast<std::uint16_t>(free);
      }
      --count_;
      edit_->removed[hole] = edit_->removed[end - 1];
    }
    for (int side = 0; side < 2; ++side) {
      const std::uint32_t device = edit_->devices[side];
      dim_sums_[device] = edit_->dim_sum[side];
      memory_[device] = edit_->memory[side];
      lookups_[device] = edit_->lookups[side];
    }
  }
  [[nodiscard]] __device__ std::uint32_t slices() const { return count_; }

 private:
  [[nodiscard]] __device__ std::uint16_t* on_devices(std::uint32_t device) const {
    return chain_.on_devices + static_cast<std::size_t>(device) * on_capacity_;
  }
  [[nodiscard]] __device__ std::uint16_t* of_table(std::uint32_t table) const {
    return chain_.of_tables + task_.table_lists[table];
  }

  __device__ void insert(const ChainPlace& place, std::uint32_t index) {
    const std::uint32_t on = on_counts_[place.device]++;
    const std::uint16_t of = chain_.of_counts[place.table]++;
    slices_[index] = {place.piece, place.table, place.device, static_cast<std::uint16_t>(on), of};
    on_devices(place.device)[on] = static_cast<std::uint16_t>(index);
    of_table(place.table)[of] = static_cast<std::uint16_t>(index);
  }

  __device__ void unlist(std::uint32_t index) {
    const ChainSlice slice = slices_[index];
    std::uint16_t* on = on_devices(slice.device);
    const std::uint16_t last_on = on[--on_counts_[slice.device]];
    slices_[last_on].on_device = slice.on_device;
    on[slice.on_device] = last_on;
    std::uint16_t* of = of_table(slice.table);
    const std::uint16_t last_of = of[--chain_.of_counts[slice.table]];
    slices_[last_of].of_table = slice.of_table;
    of[slice.of_table] = last_of;
  }

  [[nodiscard]] __device__ int dim(std::uint32_t piece) const { return task_.pieces[piece].dim; }
  [[nodiscard]] __device__ bool can_halve(const ChainSlice& slice) const {
    const std::uint32_t slices = chain_.of_counts[slice.table];
    return task_.pieces[slice.piece].may_halve != 0 && (task_.equal_widths == 0 || slices == 1) &&
           slices < task_.most_slices[slice.table];
  }
  [[nodiscard]] __device__ bool can_join(std::uint32_t piece, std::uint32_t table) const {
    return task_.whole[table] != piece && (task_.equal_widths == 0 || chain_.of_counts[table] == 2);
  }

  __device__ void remove(std::uint32_t slice) {
    edit_->removed[edit_->removed_count++] = static_cast<std::uint16_t>(slice);
  }
  __device__ void add(std::uint32_t piece, std::uint32_t table, std::uint32_t device) {
    edit_->added[edit_->added_count++] = {static_cast<std::uint16_t>(piece),
                                          static_cast<std::uint16_t>(table),
                                          static_cast<std::uint16_t>(device), 0};
  }
  __device__ void exchange(std::uint32_t slice, std::uint32_t to) {
    remove(slice);
    add(slices_[slice].piece, slices_[slice].table, to);
  }
  __device__ void set_devices(std::uint32_t a, std::uint32_t b) {
    edit_->devices[0] = a;
    edit_->devices[1] = b;
  }

  [[nodiscard]] __device__ static std::uint32_t below(Random& random, std::uint32_t bound) {
    const RandomIndex drawn = random_index(random, bound);
    random = drawn.random;
    return drawn.index;
  }
  [[nodiscard]] __device__ std::uint32_t other_device(Random& random, std::uint32_t device) const {
    if (task_.devices < 2) return kNone;
    const std::uint32_t drawn = below(random, static_cast<std::uint32_t>(task_.devices) - 1);
    return drawn < device ? drawn : drawn + 1;
  }
  [[nodiscard]] __device__ std::uint32_t any_slice_on(Random& random, std::uint32_t device) const {
    const std::uint32_t slices = on_counts_[device];
    return slices == 0 ? kNone : on_devices(device)[below(random, slices)];
  }
  /// One of `dim` columns, other than `but`; gives up soon.
  [[nodiscard]] __device__ std::uint32_t slice_of_dim(Random& random, std::uint32_t device, int dim,
                                                      std::uint32_t but) const {
    const std::uint32_t slices = on_counts_[device];
    if (slices == 0) return kNone;
#pragma unroll 1
    for (int attempt = 0; attempt < annealing::kTriesForWidth; ++attempt) {
      const std::uint32_t slice = on_devices(device)[below(random, slices)];
      if (slice != but && this->dim(slices_[slice].piece) == dim) return slice;
    }
    return kNone;
  }

  [[nodiscard]] __device__ std::uint32_t first_slice(Random& random,
                                                     const ChainCritical& critical) const {
    if (random.uniform() >= annealing::kAimed) return below(random, count_);
    switch (below(random, task_.prices_ids != 0 ? 4 : 3)) {
      case 3:
        return any_slice_on(random, critical.busiest);
      case 0:
        return any_slice_on(random, critical.last_ready);
      case 1:
        return any_slice_on(random, critical.widest);
      default:
        return any_slice_on(random, critical.slowest);
    }
  }

  __device__ bool draw_move(Random& random, std::uint32_t slice) {
    const std::uint32_t from = slices_[slice].device;
    const std::uint32_t to = other_device(random, from);
    if (to == kNone) return false;
    set_devices(from, to);
    exchange(slice, to);
    return true;
  }

  __device__ bool draw_swap(Random& random, std::uint32_t slice) {
    const ChainSlice one = slices_[slice];
    const std::uint32_t to = other_device(random, one.device);
    if (to == kNone) return false;
    const std::uint32_t other = below(random, 2) == 0
                                    ? any_slice_on(random, to)
                                    : slice_of_dim(random, to, dim(one.piece), slice);
    if (other == kNone || slices_[other].piece == one.piece) return false;
    set_devices(one.device, to);
    exchange(slice, to);
    exchange(other, one.device);
    return true;
  }

  __device__ bool draw_swap_for_two(Random& random, std::uint32_t slice) {
    const ChainSlice one = slices_[slice];
    const int columns = dim(one.piece);
    const std::uint32_t to = other_device(random, one.device);
    if (to == kNone || columns % 2 != 0) return false;
    const std::uint32_t first = slice_of_dim(random, to, columns / 2, slice);
    if (first == kNone) return false;
    const std::uint32_t second = slice_of_dim(random, to, columns / 2, first);
    if (second == kNone) return false;
    set_devices(one.device, to);
    exchange(slice, to);
    exchange(first, one.device);
    exchange(second, one.device);
    return true;
  }

  __device__ bool draw_halving(Random& random, std::uint32_t slice) {
    const ChainSlice one = slices_[slice];
    if (!can_halve(one)) return false;
    const std::uint32_t to = other_device(random, one.device);
    if (to == kNone) return false;
    const std::uint32_t half = one.piece + 1U;
    set_devices(one.device, to);
    remove(slice);
    add(half, one.table, one.device);
    add(half, one.table, to);
    if (below(random, 2) == 0) return true;
    const std::uint32_t back = slice_of_dim(random, to, dim(half), slice);
    if (back == kNone) return false;
    exchange(back, one.device);
    return true;
  }

  __device__ bool draw_join(Random& random, std::uint32_t slice) {
    const ChainSlice one = slices_[slice];
    if (!can_join(one.piece, one.table)) return false;
    const std::uint16_t* same_table = of_table(one.table);
    const std::uint32_t count = chain_.of_counts[one.table];
    // From a random one on, the first other slice of this width.
    std::uint32_t at = below(random, count);
#pragma unroll 1
    for (std::uint32_t i = 0; i < count; ++i, at = at + 1 < count ? at + 1 : 0) {
      const std::uint32_t other = same_table[at];
      if (other == slice || slices_[other].piece != one.piece) continue;
      const std::uint32_t from = slices_[other].device;
      set_devices(one.device, from);
      remove(slice);
      remove(other);
      add(one.piece - 1U, one.table, one.device);
      if (from == one.device || below(random, 2) == 0) return true;
      const std::uint32_t back = slice_of_dim(random, one.device, dim(one.piece), slice);
      if (back == kNone) return false;
      exchange(back, from);
      return true;
    }
    return false;
  }

  [[nodiscard]] __device__ bool is_removed(std::uint32_t slice) const {
#pragma unroll 1
    for (int i = 0; i < edit_->removed_count; ++i) {
      if (edit_->removed[i] == slice) return true;
    }
    return false;
  }
  [[nodiscard]] __device__ int find_added(const ChainPlace& half, int but) const {
#pragma unroll 1
    for (int i = 0; i < edit_->added_count; ++i) {
      const ChainPlace& other = edit_->added[i];
      if (i != but && other.piece == half.piece && other.table == half.table &&
          other.device == half.device) {
        return i;
      }
    }
    return -1;
  }
  [[nodiscard]] __device__ std::uint32_t find_placed(const ChainPlace& half) const {
    const std::uint16_t* same_table = of_table(half.table);
    const std::uint32_t count = chain_.of_counts[half.table];
#pragma unroll 1
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t slice = same_table[i];
      if (slices_[slice].piece == half.piece && slices_[slice].device == half.device &&
          !is_removed(slice)) {
        return slice;
      }
    }
    return kNone;
  }

  /// Joins what the edit adds with halves of the same tables on the same devices.
  __device__ void join_halves() {
#pragma unroll 1
    for (int i = 0; i < edit_->added_count;) {
      const ChainPlace half = edit_->added[i];
      if (!can_join(half.piece, half.table)) {
        ++i;
        continue;
      }
      const int other = find_added(half, i);
      if (other >= 0) {
        --edit_->added[i].piece;
        edit_->added[other] = edit_->added[--edit_->added_count];
        i = 0;  // Numbers have changed.
        continue;
      }
      const std::uint32_t placed = find_placed(half);
      if (placed != kNone && edit_->removed_count < annealing::kMostRemoved) {
        --edit_->added[i].piece;
        remove(placed);
      } else {
        ++i;
      }
    }
  }

  /// Works out what the edit makes of its devices; whether they have the memory, or get no fuller.
  __device__ bool fits() {
    std::int64_t memory[2];
    std::int64_t lookups[2];
    std::int32_t dim_sum[2];
    std::int32_t slices[2];
    const std::uint32_t first = edit_->devices[0];
    const bool one_device = first == edit_->devices[1];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const std::uint32_t device = edit_->devices[side];
      memory[side] = memory_[device];
      lookups[side] = lookups_[device];
      dim_sum[side] = dim_sums_[device];
      slices[side] = static_cast<std::int32_t>(on_counts_[device]);
    }
    const auto change = [&](std::uint32_t device, std::uint32_t id, int sign) {
      const ChainPiece piece = task_.pieces[id];
      const int side = device == first ? 0 : 1;
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int times = s == side ? sign : 0;
        memory[s] += times * piece.size_bytes;
        lookups[s] += times * piece.lookups;
        dim_sum[s] += times * piece.dim;
        slices[s] += times;
      }
    };
#pragma unroll 1
    for (int i = 0; i < edit_->removed_count; ++i) {
      const ChainSlice& slice = slices_[edit_->removed[i]];
      change(slice.device, slice.piece, -1);
    }
#pragma unroll 1
    for (int i = 0; i < edit_->added_count; ++i) {
      change(edit_->added[i].device, edit_->added[i].piece, 1);
    }
    bool fit = true;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int from = one_device ? 0 : side;
      edit_->memory[side] = memory[from];
      edit_->lookups[side] = lookups[from];
      edit_->dim_sum[side] = dim_sum[from];
      edit_->empty[side] = slices[from] == 0 ? 1U : 0U;
      fit = fit &&
            (memory[from] <= task_.room_bytes || memory[from] <= memory_[edit_->devices[side]]);
    }
    return fit;
  }

  const ChainView& chain_;
  const AnnealingView& task_;
  std::uint32_t on_capacity_;
  std::uint32_t count_ = 0;
  ChainSlice* slices_;
  ChainEdit* edit_;
  std::int64_t* memory_;
  std::int64_t* lookups_;
  std::int32_t* dim_sums_;
  std::uint32_t* on_counts_;
};

}  // namespace neuroshard::gpu
