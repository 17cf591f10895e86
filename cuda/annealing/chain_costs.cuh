#pragma once

#include "core/placement/annealing_rules.h"
#include "core/tables/id_columns.h"
#include "cuda/annealing/chain_networks.cuh"
#include "cuda/annealing/chain_plan.cuh"
#include "cuda/placement/final_costs.cuh"

namespace neuroshard::gpu {

// Copies of what others have inlined.
__noinline__ __device__ static double chain_max(double x) { return warp_max(x); }
__noinline__ __device__ static double chain_min(double x) { return warp_min(x); }
__noinline__ __device__ static void chain_offsets(const float* compute_ms, const float* backward_ms,
                                                  int devices, float* offsets_ms) {
  start_offsets(compute_ms, backward_ms, devices, offsets_ms);
}
__noinline__ __device__ static double chain_slowest(const float* compute_ms,
                                                    const float* backward_ms,
                                                    const float* forward_ms, int devices) {
  return slowest_device(compute_ms, backward_ms, forward_ms, devices);
}

/// What edits of a chain's plan would cost: EditCosts of search/improvement/ by one warp, a block
/// of its own, in the same order of operations. What has no index is the same in every lane. A lane
/// stands for a device, or for a row of a network; where the order of sums matters, all lanes add
/// up alike.
class ChainCosts {
 public:
  __device__ ChainCosts(const ChainArgs& args, const ChainView& chain, const AnnealingView& task,
                        const ChainPlan& plan)
      : plan_(plan),
        task_(task),
        networks_(args, chain, task),
        devices_(task.devices),
        width_(args.width),
        empty_ms_(args.empty_ms),
        symmetric_(task.comm.forward.symmetric),
        prices_ids_(task.prices_ids != 0) {
    const ChainLayout layout = chain_layout(chain.sizes);
    std::byte* memory = dynamic_shared_memory();
    total_ms_ = reinterpret_cast<double*>(memory + layout.total_ms);
    sums_ = reinterpret_cast<float*>(memory + layout.sums);
    auto* floats = reinterpret_cast<float*>(memory + layout.floats);
    columns_ = floats;
    compute_ms_ = floats + devices_;
    backward_ms_ = floats + 2 * devices_;
    forward_ms_ = floats + 3 * devices_;
    offsets_ms_ = floats + 4 * devices_;
    trial_columns_ = floats + 5 * devices_;
    trial_compute_ms_ = floats + 6 * devices_;
    trial_backward_ms_ = floats + 7 * devices_;
    trial_forward_ms_ = floats + 8 * devices_;
  }

  /// Looks at the plan as it is; then synchronize().
  __device__ void begin() {
    networks_.begin();
    std::int64_t all_columns = 0;
    for (int d = 0; d < devices_; ++d) {
      recompute_sum(d);
      all_columns += plan_.dim_sum(d);
    }
    range_.mean_dim_sum =
        static_cast<float>(static_cast<double>(all_columns) / static_cast<double>(devices_));
    // Rows are devices.
#pragma unroll 1
    for (int first = 0; first < devices_; first += kChainTileRows) {
      const int rows = min(devices_ - first, kChainTileRows);
      __syncwarp();
      for (int i = lane_index(); i < width_; i += kWarpSize) {
        for (int row = 0; row < rows; ++row) {
          networks_.input(row)[i] = sums_[(first + row) * width_ + i];
        }
      }
      const float* cost_ms = networks_.heads_ms(rows);
      const int row = lane_index();
      if (row < rows) compute_ms_[first + row] = cost_ms[row * networks_.stride()];
    }
    head_evaluations_ += static_cast<std::uint64_t>(devices_);
    find_busiest();
    if (prices_ids_) {
      ids_ms_ = networks_.ids_ms(id_columns(plan_.lookups(static_cast<int>(critical_.busiest))));
    }
  }

  [[nodiscard]] __device__ double cost_ms() const { return cost_ms_ + ids_ms_; }
  /// The same with this share of what ids cost.
  [[nodiscard]] __device__ double softened_cost_ms(double ids_share) const {
    return cost_ms_ + ids_share * ids_ms_;
  }
  __device__ void set_ids_share(double share) { ids_share_ = share; }
  [[nodiscard]] __device__ double ids_share() const { return ids_share_; }
  [[nodiscard]] __device__ bool exact() const { return exact_; }
  [[nodiscard]] __device__ const ChainCritical& critical() const { return critical_; }
  [[nodiscard]] __device__ std::uint64_t head_evaluations() const { return head_evaluations_; }
  [[nodiscard]] __device__ std::uint64_t comm_evaluations() const { return comm_evaluations_; }

  /// Whether the plan's edit would cost no more than `limit_ms`.
  __device__ bool accepts(double limit_ms) {
    const ChainEdit& edit = plan_.edit();
    trial_ids_ms_ = prices_ids_ ? networks_.ids_ms(id_columns(most_lookups())) : 0.0;
    const double limit_with_ids_ms = limit_ms;
    limit_ms -= ids_share_ * trial_ids_ms_;
    device_[0] = static_cast<int>(edit.devices[0]);
    device_[1] = static_cast<int>(edit.devices[1]);
    one_device_ = device_[0] == device_[1];
    sum_up_edit();
    const float* head_ms = networks_.heads_ms(one_device_ ? 1 : 2);
    const float computed_ms[2] = {head_ms[0], head_ms[one_device_ ? 0 : networks_.stride()]};
    __syncwarp();
    head_evaluations_ += one_device_ ? 1 : 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      side_columns_[i] = static_cast<float>(edit.dim_sum[i]);
      side_compute_ms_[i] = edit.empty[i] != 0 ? empty_ms_ : computed_ms[i];
      side_backward_ms_[i] = backward_ms_[device_[i]];
    }
    if (surely_above(limit_ms, 0.0)) return false;
    const bool columns_move = side_columns_[0] != columns_[device_[0]];
    const bool priced = symmetric_ ? estimate_symmetric(columns_move, limit_ms)
                                   : estimate_dense(columns_move, limit_ms);
    return priced && !(estimate_ms_ + ids_share_ * trial_ids_ms_ > limit_with_ids_ms);
  }

  /// Call after the plan has taken the edit that was accepted; then synchronize(), if it says so.
  [[nodiscard]] __device__ bool accept() {
#pragma unroll 1
    for (int i = 0; i < (one_device_ ? 1 : 2); ++i) {
      recompute_sum(i == 0 ? device_[0] : device_[1]);
    }
    set_of_sides(compute_ms_, side_compute_ms_);
    find_busiest();
    ids_ms_ = trial_ids_ms_;
    ++accepted_;
    const int often = devices_ / annealing::kDevicesPerAccepted;
    if (!symmetric_ || devices_ <= annealing::kFewDevices ||
        accepted_ >= (annealing::kLeastAccepted < often ? often : annealing::kLeastAccepted)) {
      return true;
    }
    if (range_changed_) {
#pragma unroll 1
      for (int first = 0; first < devices_; first += kWarpSize) {
        const int d = first + lane_index();
        const bool in = d < devices_;
        const float after_ms = networks_.backward_ms(in, in ? columns_[d] : 0.0F, trial_range_);
        if (!in) continue;
        total_ms_[d] += static_cast<double>(after_ms) - static_cast<double>(backward_ms_[d]);
        backward_ms_[d] = after_ms;
      }
      __syncwarp();
    }
    set_of_sides(columns_, side_columns_);
    set_of_sides(backward_ms_, side_backward_ms_);
    if (lane_index() == 0) {
      total_ms_[device_[0]] = side_total_ms_[0];
      total_ms_[device_[1]] = side_total_ms_[1];
    }
    __syncwarp();
    cost_ms_ = estimate_ms_;
    exact_ = false;
    rank_devices();
    return false;
  }

  /// Prices all devices anew.
  __device__ void synchronize() {
    __syncwarp();
    double most = 0.0;
    double fewest = 4294967296.0;  // More columns than there are.
#pragma unroll 1
    for (int d = lane_index(); d < devices_; d += kWarpSize) {
      const auto columns = static_cast<float>(plan_.dim_sum(d));
      columns_[d] = columns;
      most = most < static_cast<double>(columns) ? static_cast<double>(columns) : most;
      fewest = static_cast<double>(columns) < fewest ? static_cast<double>(columns) : fewest;
      if (plan_.slices_on(d) == 0) compute_ms_[d] = empty_ms_;
    }
    SharedInputs range = range_;
    range.max_dim_sum = static_cast<float>(chain_max(most));
    range.min_dim_sum = static_cast<float>(chain_min(fewest));
    if (symmetric_) {
#pragma unroll 1
      for (int first = 0; first < devices_; first += kWarpSize) {
        const int d = first + lane_index();
        const bool in = d < devices_;
        const float cost_ms = networks_.backward_ms(in, in ? columns_[d] : 0.0F, range);
        if (in) backward_ms_[d] = cost_ms;
      }
    } else {
      networks_.backward_dense(columns_, backward_ms_);
    }
    chain_offsets(compute_ms_, backward_ms_, devices_, offsets_ms_);
    if (symmetric_) {
      __syncwarp();
      const SharedInputs shared = shared_inputs(columns_, offsets_ms_, devices_);
      for (int first = 0; first < devices_; first += kChainTileRows) {
        const int rows = min(devices_ - first, kChainTileRows);
        const bool in = lane_index() < rows;
        const int d = in ? first + lane_index() : 0;
        const float cost_ms =
            networks_.forward_ms(in, lane_index(), rows, columns_[d], offsets_ms_[d], shared);
        if (in) forward_ms_[d] = cost_ms;
      }
      __syncwarp();
    } else {
      networks_.forward_dense(columns_, offsets_ms_, forward_ms_);
    }
    ++comm_evaluations_;
#pragma unroll 1
    for (int d = lane_index(); d < devices_; d += kWarpSize) {
      total_ms_[d] = ready_ms(d) + static_cast<double>(forward_ms_[d]);
    }
    __syncwarp();
    cost_ms_ = chain_slowest(compute_ms_, backward_ms_, forward_ms_, devices_);
    exact_ = true;
    accepted_ = 0;
    rank_devices();
  }

 private:
  [[nodiscard]] __device__ double ready_ms(int device) const {
    return static_cast<double>(compute_ms_[device]) + static_cast<double>(backward_ms_[device]);
  }
  [[nodiscard]] __device__ double side_ready_ms(int side) const {
    return static_cast<double>(side_compute_ms_[side]) +
           static_cast<double>(side_backward_ms_[side]);
  }
  [[nodiscard]] __device__ bool touched(int device) const {
    return device == device_[0] || device == device_[1];
  }
  /// By lane 0; others see it behind a barrier.
  __device__ void set_of_sides(float* values, const float (&of_sides)[2]) {
    if (lane_index() != 0) return;
    values[device_[0]] = of_sides[0];
    values[device_[1]] = of_sides[1];
  }

  /// From nothing, in the order in which a device's slices are listed. A lane has its elements.
  __device__ void recompute_sum(int device) {
    const std::uint32_t slices = plan_.slices_on(device);
    for (int i = lane_index(); i < width_; i += kWarpSize) {
      float sum = 0.0F;
      for (std::uint32_t s = 0; s < slices; ++s) {
        const std::uint32_t piece =
            plan_.slice(plan_.slice_on(static_cast<std::uint32_t>(device), s)).piece;
        sum += read_only(task_.embeddings + static_cast<std::size_t>(piece) * width_ + i);
      }
      sums_[device * width_ + i] = sum;
    }
  }

  /// Sums of both devices under the edit, to the tile. A lane has its elements.
  __device__ void sum_up_edit() {
    const ChainEdit& edit = plan_.edit();
    const std::uint32_t first = edit.devices[0];
    for (int i = lane_index(); i < width_; i += kWarpSize) {
      float a = sums_[static_cast<int>(first) * width_ + i];
      float b = sums_[static_cast<int>(edit.devices[1]) * width_ + i];
      const auto element = [&](std::uint32_t piece) {
        return read_only(task_.embeddings + static_cast<std::size_t>(piece) * width_ + i);
      };
#pragma unroll 1
      for (int r = 0; r < edit.removed_count; ++r) {
        const ChainSlice& slice = plan_.slice(edit.removed[r]);
        (slice.device == first ? a : b) -= element(slice.piece);
      }
#pragma unroll 1
      for (int r = 0; r < edit.added_count; ++r) {
        (edit.added[r].device == first ? a : b) += element(edit.added[r].piece);
      }
      networks_.input(0)[i] = a;
      networks_.input(1)[i] = b;
    }
  }

  // ---- ids ----

  __device__ void find_busiest() {
    if (!prices_ids_) return;
    std::uint32_t busiest = 0;
    std::int64_t most = plan_.lookups(0);
#pragma unroll 1
    for (int d = 1; d < devices_; ++d) {
      if (most < plan_.lookups(d)) {
        most = plan_.lookups(d);
        busiest = static_cast<std::uint32_t>(d);
      }
    }
    critical_.busiest = busiest;
  }

  /// Of the busiest device under the edit.
  [[nodiscard]] __device__ std::int64_t most_lookups() const {
    const ChainEdit& edit = plan_.edit();
    const std::uint32_t busiest = critical_.busiest;
    const std::int64_t now = plan_.lookups(static_cast<int>(busiest));
    std::int64_t most = edit.lookups[0] < edit.lookups[1] ? edit.lookups[1] : edit.lookups[0];
    const bool is_touched = edit.devices[0] == busiest || edit.devices[1] == busiest;
    if (!is_touched || most >= now) return most < now ? now : most;
#pragma unroll 1
    for (int d = 0; d < devices_; ++d) {
      const auto device = static_cast<std::uint32_t>(d);
      if (device == edit.devices[0] || device == edit.devices[1]) continue;
      most = most < plan_.lookups(d) ? plan_.lookups(d) : most;
    }
    return most;
  }

  // The same for all lanes, in the order of devices: it decides between equal ones.
  __device__ void rank_devices() {
    critical_.slowest = critical_.last_ready = critical_.widest = 0;
    first_ready_ = 0;
    second_slowest_ = 0;
    sum_of_ready_ms_ = 0.0;
    float most = columns_[0];
    float fewest = most;
    double first_ms = ready_ms(0);
    double last_ms = first_ms;
    double slowest_ms = total_ms_[0];
    double second_ms = slowest_ms;
#pragma unroll 1
    for (int d = 0; d < devices_; ++d) {
      const auto device = static_cast<std::uint32_t>(d);
      const double ready = ready_ms(d);
      const double total = total_ms_[d];
      const float columns = columns_[d];
      sum_of_ready_ms_ += ready;
      if (ready < first_ms) {
        first_ms = ready;
        first_ready_ = device;
      }
      if (ready > last_ms) {
        last_ms = ready;
        critical_.last_ready = device;
      }
      if (total > slowest_ms) {
        second_slowest_ = critical_.slowest;
        second_ms = slowest_ms;
        critical_.slowest = device;
        slowest_ms = total;
      } else if (second_slowest_ == critical_.slowest || total > second_ms) {
        second_slowest_ = device;
        second_ms = total;
      }
      if (columns > most) {
        most = columns;
        critical_.widest = device;
      }
      fewest = columns < fewest ? columns : fewest;
    }
    range_.max_dim_sum = most;
    range_.min_dim_sum = fewest;
  }

  [[nodiscard]] __device__ bool surely_above(double limit_ms, double shift_ms) const {
    const double last = chain_higher(side_ready_ms(0), side_ready_ms(1));
    const double delay = last - ready_ms(static_cast<int>(critical_.last_ready)) - shift_ms;
    return cost_ms_ + shift_ms + annealing::kCertainShareOfDelay * chain_higher(delay, 0.0) >
           limit_ms;
  }

  __device__ bool estimate_dense(bool columns_move, double limit_ms) {
    const auto under_edit = [&](int d, const float(&of_sides)[2], float as_is) {
      return d == device_[1] ? of_sides[1] : d == device_[0] ? of_sides[0] : as_is;
    };
#pragma unroll 1
    for (int d = lane_index(); d < devices_; d += kWarpSize) {
      trial_columns_[d] = columns_move ? under_edit(d, side_columns_, columns_[d]) : columns_[d];
      trial_compute_ms_[d] = under_edit(d, side_compute_ms_, compute_ms_[d]);
      if (!columns_move) trial_backward_ms_[d] = backward_ms_[d];
    }
    if (columns_move) {
      networks_.backward_dense(trial_columns_, trial_backward_ms_);
      side_backward_ms_[0] = trial_backward_ms_[device_[0]];
      side_backward_ms_[1] = trial_backward_ms_[device_[1]];
      if (surely_above(limit_ms, 0.0)) return false;
    }
    chain_offsets(trial_compute_ms_, trial_backward_ms_, devices_, offsets_ms_);
    networks_.forward_dense(trial_columns_, offsets_ms_, trial_forward_ms_);
    ++comm_evaluations_;
    estimate_ms_ =
        chain_slowest(trial_compute_ms_, trial_backward_ms_, trial_forward_ms_, devices_);
    return true;
  }

  [[nodiscard]] __device__ SharedInputs range_after_move() const {
    SharedInputs range = range_;
    const bool turned = side_columns_[1] < side_columns_[0];
    const float low = turned ? side_columns_[1] : side_columns_[0];
    const float high = turned ? side_columns_[0] : side_columns_[1];
    const auto held = [&](float extreme) {
      return columns_[device_[0]] == extreme || columns_[device_[1]] == extreme;
    };
    range.max_dim_sum = range_.max_dim_sum < high ? high : range_.max_dim_sum;
    range.min_dim_sum = low < range_.min_dim_sum ? low : range_.min_dim_sum;
    if ((held(range_.max_dim_sum) && high < range_.max_dim_sum) ||
        (held(range_.min_dim_sum) && low > range_.min_dim_sum)) {
      double most = static_cast<double>(high);
      double fewest = static_cast<double>(low);
#pragma unroll 1
      for (int d = lane_index(); d < devices_; d += kWarpSize) {
        if (touched(d)) continue;
        const auto columns = static_cast<double>(columns_[d]);
        most = most < columns ? columns : most;
        fewest = columns < fewest ? columns : fewest;
      }
      range.max_dim_sum = static_cast<float>(chain_max(most));
      range.min_dim_sum = static_cast<float>(chain_min(fewest));
    }
    return range;
  }

  __device__ bool estimate_symmetric(bool columns_move, double limit_ms) {
    double shift_ms = 0.0;
    range_changed_ = false;
    trial_range_ = range_;
    const int last_ready = static_cast<int>(critical_.last_ready);
    if (columns_move) {
      trial_range_ = range_after_move();
      range_changed_ = trial_range_.max_dim_sum != range_.max_dim_sum ||
                       trial_range_.min_dim_sum != range_.min_dim_sum;
      // Those of the edit, and the one that is ready last: all others change by about as much.
      const int lane = lane_index();
      const float columns = lane == 0   ? side_columns_[0]
                            : lane == 1 ? side_columns_[1]
                                        : columns_[last_ready];
      const float cost_ms =
          networks_.backward_ms(lane < 2 || (lane == 2 && range_changed_), columns, trial_range_);
      side_backward_ms_[0] = __shfl_sync(kAllLanes, cost_ms, 0);
      side_backward_ms_[1] = __shfl_sync(kAllLanes, cost_ms, 1);
      if (range_changed_) {
        shift_ms = static_cast<double>(__shfl_sync(kAllLanes, cost_ms, 2)) -
                   static_cast<double>(backward_ms_[last_ready]);
      }
      if (surely_above(limit_ms, chain_lower(shift_ms, 0.0))) return false;
    }

    // A lane for each device that is priced, those of the edit first.
    const int lane = lane_index();
    int rows = 0;
    int device = -1;  // Of this lane.
    const auto put = [&](int d) {
      if (lane == rows) device = d;
      ++rows;
    };
    put(device_[0]);
    if (!one_device_) put(device_[1]);
    const int of_edit = rows;
    const bool all = devices_ <= annealing::kMostRows;
    if (all) {
#pragma unroll 1
      for (int d = 0; d < devices_; ++d) {
        if (!touched(d)) put(d);
      }
    } else {
      const int slowest = static_cast<int>(critical_.slowest);
      const int second = static_cast<int>(second_slowest_);
      const int first = static_cast<int>(first_ready_);
      if (!touched(slowest)) put(slowest);
      if (second != slowest && !touched(second)) put(second);
      if (last_ready != slowest && last_ready != second && !touched(last_ready)) put(last_ready);
      if (first != slowest && first != second && first != last_ready && !touched(first)) put(first);
    }
    const bool is_other = lane >= of_edit && lane < rows;
    float columns = lane == 0 ? side_columns_[0] : side_columns_[1];
    double ready = lane == 0 ? side_ready_ms(0) : side_ready_ms(1);
    if (is_other) columns = columns_[device];
    float other_backward_ms = is_other ? backward_ms_[device] : 0.0F;
    if (range_changed_) other_backward_ms = networks_.backward_ms(is_other, columns, trial_range_);
    if (is_other) {
      ready = static_cast<double>(compute_ms_[device]) + static_cast<double>(other_backward_ms);
    }

    double first_ms = chain_lower(side_ready_ms(0), side_ready_ms(1));
    double last_ms = chain_higher(side_ready_ms(0), side_ready_ms(1));
    double sum = 0.0;
    if (all) {
      sum = side_ready_ms(0) + (one_device_ ? 0.0 : side_ready_ms(1));
      for (int row = of_edit; row < rows; ++row) {
        const double other = __shfl_sync(kAllLanes, ready, row);
        sum += other;
        first_ms = chain_lower(first_ms, other);
        last_ms = chain_higher(last_ms, other);
      }
    } else {
      if (touched(static_cast<int>(first_ready_)) || touched(last_ready)) {
        double lowest = __uint_as_float(0x7F800000U);
        double highest = -lowest;
#pragma unroll 1
        for (int d = lane; d < devices_; d += kWarpSize) {
          if (touched(d)) continue;
          const double other = ready_ms(d) + shift_ms;
          lowest = chain_lower(lowest, other);
          highest = chain_higher(highest, other);
        }
        first_ms = chain_lower(first_ms, chain_min(lowest));
        last_ms = chain_higher(last_ms, chain_max(highest));
      } else {
        first_ms = chain_lower(first_ms, ready_ms(static_cast<int>(first_ready_)) + shift_ms);
        last_ms = chain_higher(last_ms, ready_ms(last_ready) + shift_ms);
      }
      sum = sum_of_ready_ms_ + shift_ms * static_cast<double>(devices_);
      sum += side_ready_ms(0) - ready_ms(device_[0]) - shift_ms;
      if (!one_device_) sum += side_ready_ms(1) - ready_ms(device_[1]) - shift_ms;
    }
    SharedInputs shared = trial_range_;
    shared.mean_offset =
        static_cast<float>(chain_higher(sum / static_cast<double>(devices_) - first_ms, 0.0));
    shared.max_offset = static_cast<float>(last_ms - first_ms);
    const bool in = lane < rows;
    const float forward_ms =
        networks_.forward_ms(in, lane, rows, columns, static_cast<float>(ready - first_ms), shared);
    ++comm_evaluations_;
    const double total = ready + static_cast<double>(forward_ms);
    if (__any_sync(kAllLanes, in && !(fabs(total) <= kMaxCostMs)) != 0) return false;
    estimate_ms_ = chain_max(in ? total : -kMaxCostMs);
    side_total_ms_[0] = __shfl_sync(kAllLanes, total, 0);
    side_total_ms_[1] = one_device_ ? side_total_ms_[0] : __shfl_sync(kAllLanes, total, 1);
    return true;
  }

  const ChainPlan& plan_;
  const AnnealingView& task_;
  ChainNetworks networks_;
  int devices_;
  int width_;
  float empty_ms_;
  bool symmetric_;
  bool prices_ids_;

  // Of each device; forward costs and totals as of the last time that they were asked for.
  float* sums_;
  float* columns_;
  float* compute_ms_;
  float* backward_ms_;
  float* forward_ms_;
  float* offsets_ms_;
  double* total_ms_;
  // Under an edit; of a dense network.
  float* trial_columns_;
  float* trial_compute_ms_;
  float* trial_backward_ms_;
  float* trial_forward_ms_;

  double cost_ms_ = 0.0;  ///< Without ids.
  double ids_ms_ = 0.0;
  double ids_share_ = 1.0;
  double trial_ids_ms_ = 0.0;
  bool exact_ = false;
  int accepted_ = 0;  ///< Since the last synchronize().
  ChainCritical critical_;
  std::uint32_t second_slowest_ = 0;
  std::uint32_t first_ready_ = 0;
  double sum_of_ready_ms_ = 0.0;
  SharedInputs range_{};  ///< Without offsets.

  // The edit that was estimated last.
  int device_[2] = {0, 0};
  bool one_device_ = false;
  float side_columns_[2] = {0.0F, 0.0F};
  float side_compute_ms_[2] = {0.0F, 0.0F};
  float side_backward_ms_[2] = {0.0F, 0.0F};
  double side_total_ms_[2] = {0.0, 0.0};
  double estimate_ms_ = 0.0;
  bool range_changed_ = false;
  SharedInputs trial_range_{};

  std::uint64_t head_evaluations_ = 0;
  std::uint64_t comm_evaluations_ = 0;
};

}  // namespace neuroshard::gpu
