#pragma once

#include <vector>

#include "core/base/random.h"
#include "search/moves/rebuild.h"

namespace neuroshard {

/// Which tables a Rebuild takes out, and in which ways and how finely cut they come back: one to
/// nine that are alike in load or size, all of a device and of another, or replicas by the dozen.
class Neighbourhoods {
 public:
  /// Borrows all.
  Neighbourhoods(PlanState& state, const StatePrices& prices, Random& random);

  /// False: some slice had no place. `all_anew`: all other slices may be placed anew, too.
  [[nodiscard]] bool draw(Rebuild& rebuild, bool all_anew);

  /// Tables that may be replicated, those first that cost least as replicas beside what they cost
  /// otherwise.
  [[nodiscard]] const std::vector<int>& replicas_first() const { return replicas_first_; }
  /// Tables that send less if they are deduplicated, those that gain most first.
  [[nodiscard]] const std::vector<int>& once_first() const { return once_first_; }
  /// Lets so many more tables be deduplicated, or fewer, and be cut as they were.
  void deduplicate(Rebuild& rebuild, std::size_t most, bool more) const;
  /// Tables that may be changed, by columns times lookups, ascending.
  [[nodiscard]] const std::vector<int>& by_load() const { return by_load_; }
  /// Compute cost of all columns of a table, alone on a device.
  [[nodiscard]] double whole_ms(int table) const {
    return whole_ms_[static_cast<std::size_t>(table)];
  }
  /// Takes out all slices, to be placed anew with wide ones apart. Tables with all rows on devices
  /// that are wider than `apart.columns` are cut: as many as fill `whole_devices` devices are
  /// whole, those that gain most by it, and others are in slices of at most so many columns. False:
  /// none is wider.
  [[nodiscard]] bool cut_by_width(Rebuild& rebuild, WidthsApart apart, double whole_devices) const;
  /// Slices on devices, each of which takes no more than a device's share of `all_ms`.
  [[nodiscard]] TableCut cut_by_load(int table, double all_ms) const;

 private:
  [[nodiscard]] TableCut cut_of(int table) const;
  /// That are placed anew at once.
  [[nodiscard]] int most_slices() const;
  /// Few slices more probably than many.
  [[nodiscard]] int draw_slices(int table, int places);
  [[nodiscard]] TableCut draw_cut(int table);
  [[nodiscard]] std::vector<int> draw_tables();
  [[nodiscard]] std::vector<int> tables_of_devices();
  [[nodiscard]] int device_waited_for();
  void draw_replicas(Rebuild& rebuild, bool all_anew);
  void find_once_first();
  void draw_deduplicated(Rebuild& rebuild);
  void cut_others_anew(Rebuild& rebuild, const std::vector<int>& chosen);
  void replace_others(Rebuild& rebuild, const std::vector<int>& chosen);

  PlanState& state_;
  const StatePrices& prices_;
  Random& random_;
  std::vector<int> by_load_;
  std::vector<int> by_size_;
  std::vector<int> once_first_;
  std::vector<int> replicas_first_;
  std::vector<double> whole_ms_;  ///< [tables]
};

}  // namespace neuroshard
