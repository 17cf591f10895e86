#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/stop_condition.h"
#include "search/moves/load_values.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// Slices of more columns on devices of their own: an operator looks up all of its tables with the
/// threads of the widest slice, so that narrow slices are cheaper where no wide ones are.
struct WidthsApart {
  int columns = 0;       ///< 0: all slices may be anywhere.
  int more_devices = 0;  ///< Than wide slices fill.
};

/// Takes tables out of a plan, and cuts and places them anew: each slice, the dearest first, goes
/// where it adds least to what all wait for. Works on a copy of the sums; the edit is applied by
/// whoever asked for it. Its use is begin(), what is taken out and put in, place().
class Rebuild {
 public:
  /// Borrows all.
  Rebuild(const PlanState& state, StatePrices& prices, Random& random);

  void begin();
  void take_out(int table);
  /// Cuts a table that was taken out. Falls back on the way that it had.
  void put_in(int table, TableCut cut);
  /// The slices of a table leave, and are placed anew as wide as they are.
  void replace(int table);
  /// A slice is placed, too, wherever it is now.
  void add(const StateSlice& slice) { pending_.push_back({slice, 0.0}); }
  /// Keeps apart what is put in: wide slices on the first devices, as many as they fill. A slice
  /// that finds no room there goes anywhere. Until begin().
  void keep_apart(WidthsApart apart) { apart_ = apart; }
  /// Whether a table of the plan may be taken out and replicated, as far as moves are limited.
  [[nodiscard]] bool affords_replica(int table) const;
  /// Places all that was put in. `noise`: a share by which costs are seen wrongly, so that
  /// attempts differ. False: some slice has no place that rules allow, or heed() says to stop.
  [[nodiscard]] bool place(double noise);
  /// From now on place() looks at `stop`, which is borrowed.
  void heed(const StopCondition& stop) { stop_ = &stop; }
  /// Places all that was put in by the sum of what slices compute alone: many times as fast, and
  /// less exact. Devices get little more than the mean of columns if it can be helped. `cuts`:
  /// slices are cut for that.
  [[nodiscard]] bool place_by_loads(bool cuts);
  /// Heads that place() evaluates.
  [[nodiscard]] std::size_t head_evaluations() const;

  [[nodiscard]] const Edit& edit() const { return edit_; }

 private:
  struct Pending {
    StateSlice slice;
    double key;
  };
  bool place_pending(double noise);
  void set_wide_devices();
  /// Whether a slice has no room where it is to go, or too many columns, and may be cut in two.
  [[nodiscard]] bool is_too_large(const StateSlice& slice) const;
  /// Bytes that a device lacks with a shard more; negative: room that is left.
  [[nodiscard]] std::int64_t missing_bytes(std::size_t device, int shard) const;
  [[nodiscard]] const HostCurve* hosted(std::size_t device) const {
    return sums_.hosted.empty() ? nullptr : &sums_.hosted[device];
  }
  void load(int device, int shard, int sign);
  void load(const StateSlice& slice, int sign);
  void put(const StateSlice& slice);
  /// Sets what a device computes, by its head.
  void price(std::size_t device, float head_ms);
  void price_changed();
  /// Fills in `values_`: about what the plan costs with a shard more on each device, by heads.
  void value_devices(int shard);
  [[nodiscard]] int best_place(const StateSlice& slice, double noise);
  /// Whether it keeps apart_ there, and finds room.
  [[nodiscard]] bool is_apart_with_room(const StateSlice& slice, int shard) const;
  void count(std::int64_t moved_bytes);
  [[nodiscard]] int a_shard_of(const StateSlice& slice) const;

  const PlanState& state_;
  StatePrices& prices_;
  Random& random_;
  const StopCondition* stop_ = nullptr;  ///< Null: never.
  std::size_t width_;
  std::size_t devices_;
  PlanSums sums_;
  Edit edit_;
  WidthsApart apart_;
  int wide_devices_ = 0;                 ///< The first, by apart_.
  std::int64_t left_bytes_ = kAnyBytes;  ///< That may be moved.
  std::vector<Pending> pending_;
  LoadValues by_loads_;
  bool is_by_loads_ = false;
  double most_columns_ = 0.0;      ///< A device should have no more.
  bool cuts_for_columns_ = false;  ///< Slices are cut for most_columns_.
  std::vector<int> changed_;
  std::vector<char> is_changed_;
  /// Heads of devices with a shard more, and what devices had then.
  struct Heads {
    int shard = -1;
    std::vector<float> ms;                ///< [devices]
    std::vector<std::uint64_t> versions;  ///< [devices]; 0: none is known.
  };
  static constexpr std::size_t kKnownHeads = 16;
  /// [devices]; computed where they are not known.
  [[nodiscard]] std::span<const float> heads_with(int shard);

  std::vector<Heads> known_heads_;       ///< Kept for the last shards that were placed.
  std::size_t next_heads_ = 0;           ///< Gives way to another shard.
  std::vector<std::uint64_t> versions_;  ///< [devices]: grows where `sums_` change.
  std::uint64_t last_version_ = 0;
  std::vector<std::size_t> unknown_;  ///< Devices.
  AlignedVector<float> trial_sums_;
  std::vector<float> heads_;  ///< [unknown_]
  int valued_shard_ = -1;     ///< The last that value_devices() saw, until a slice is placed,
  std::span<const float> valued_heads_;  ///< and heads with it, [devices].
  std::vector<double> values_;           ///< [devices]
};

}  // namespace neuroshard
