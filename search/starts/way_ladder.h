#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "search/starts/cut_options.h"
#include "search/state/plan_state.h"
#include "search/state/state_prices.h"

namespace neuroshard {

/// Ways and cuts of all tables at once. A table gets what takes least of the devices if their loads
/// are balanced: compute time, columns and ids at a device's share, replicas and their gradients in
/// full, memory at a price that is raised until all fit, and fit with room to spare. No shard may
/// have more of a load, or of a device's room, than a limit; limits are lowered step by step, each
/// time the one by which the plan seems to gain most. (A Lagrangian relaxation: Fisher, The
/// Lagrangian relaxation method for solving integer programming problems, 1981.)
class WayLadder {
 public:
  using Cuts = std::vector<TableCut>;  ///< [PlanState::tables()]

  /// Borrows both. Once `stop` is reached there are no cuts.
  WayLadder(const PlanState& state, StatePrices& prices, const StopCondition& stop);

  /// Many together take less than the sum of each alone.
  struct PriceOfReplicas {
    double times;
    double once;  ///< The part of what their operator takes once that each of them pays.
    bool operator==(const PriceOfReplicas&) const = default;
  };
  struct Prices {
    PriceOfReplicas replicas;
    double blocks;  ///< Row blocks seem to cost so many times as much.
    double ids;     ///< Where they are hidden, all else decides, or they do.
    double ms_of_byte = 0.0;
    bool operator==(const Prices&) const = default;
  };
  struct Rung {
    Cuts cuts;
    Prices prices;  ///< By these the cuts take least,
    CutLoads most;  ///< of those within these limits of a shard.
  };
  /// At most so many, those first that seem to cost least; fewer at `stop`.
  [[nodiscard]] std::vector<Rung> best(std::size_t most, const StopCondition& stop) const;

  /// Where memory is tight, `rungs` with lower limits of a shard's memory: what estimates do not
  /// see is whether shards find room. Fewer at `stop`.
  [[nodiscard]] std::vector<Rung> in_small_shards(std::span<const Rung> rungs,
                                                  const StopCondition& stop) const;
  /// `rungs` with lower limits of a shard's columns: nor do estimates see that an operator looks up
  /// all of its tables with the threads of its widest shard. Fewer at `stop`.
  [[nodiscard]] std::vector<Rung> in_narrow_shards(std::span<const Rung> rungs,
                                                   const StopCondition& stop) const;

  struct OtherCut {
    std::vector<std::size_t> tables;  ///< Indices of PlanState::tables().
    TableCut cut;
  };
  /// Cuts that a table, or all that are alike, may have in place of a rung's: in its way twice and
  /// half the slices, in each other way those that take least. At most so many, the most promising
  /// first: estimates may be wrong by `doubt` times what a table takes, so that heavy ones come
  /// first, and among equally heavy ones cuts that take little more than the rung's. Where many
  /// are alike, all devices wait for some of them until the last one is cut otherwise.
  [[nodiscard]] std::vector<OtherCut> other_cuts(const Rung& rung, double doubt,
                                                 std::size_t most) const;

  /// Tables that are alike and that a rung cuts alike, and cuts that take little more than the
  /// least.
  struct NearCuts {
    std::vector<std::size_t> tables;  ///< Indices of PlanState::tables().
    std::vector<TableCut> cuts;       ///< At least two.
  };
  [[nodiscard]] std::vector<NearCuts> near_cuts(const Rung& rung) const;

 private:
  /// A rung, and what it seems to come to.
  struct Estimate {
    std::vector<std::uint32_t> chosen;  ///< An option of each table.
    Prices prices;
    CutLoads most{};
    double cost_ms = 0.0;
    CutLoads largest{};
    double room_share = 0.0;  ///< All tables take.
  };
  [[nodiscard]] Rung rung_of(const Estimate& estimate) const;
  /// Tables that are alike and that a rung cuts alike.
  [[nodiscard]] std::vector<std::vector<std::size_t>> cut_alike(const Rung& rung) const;
  /// All that a price of blocks comes to.
  [[nodiscard]] std::vector<Estimate> rungs_at(double price_of_blocks,
                                               const StopCondition& stop) const;
  /// Takes so much of the devices' time,
  [[nodiscard]] static double ms_of_time(const CutOption& option, const Prices& prices);
  /// of their time and memory,
  [[nodiscard]] static double ms_of(const CutOption& option, const Prices& prices);
  /// and where loads count so many times beyond limits.
  [[nodiscard]] static double ms_within(const CutOption& option, double ms, const CutLoads& most,
                                        double beyond_limits);
  /// By the prices that are set.
  [[nodiscard]] std::uint32_t cheapest(std::size_t table, double ms_of_byte,
                                       const CutLoads& most) const;
  /// But for that of memory.
  void set_prices(Prices prices) const;
  /// Cuts by these prices, with that of memory raised until all fit into this share of the room.
  /// `higher`: by the same prices but for a higher limit `lowered`, or null.
  [[nodiscard]] Estimate rung(Prices prices, const CutLoads& most, double room_share,
                              const Estimate* higher, std::size_t lowered) const;
  /// `rungs` with each of `limits` of a load in place of a higher one, if all tables take more than
  /// this share of the room. Fewer at `stop`.
  [[nodiscard]] std::vector<Rung> limited(std::span<const Rung> rungs, std::size_t load,
                                          std::span<const double> limits, double room_share,
                                          const StopCondition& stop) const;
  /// With one limit lowered: the one by which the plan seems to gain most. Nothing: none can be.
  [[nodiscard]] std::optional<Estimate> lower(const Estimate& now, double room_share,
                                              const StopCondition& stop) const;

  ShardCatalog& catalog_;
  StatePrices& prices_;
  CutOptions options_;
  mutable AlignedVector<float> sum_;  ///< Sum of the embeddings of replicas.
  struct PricedOption {
    double ms;  ///< ms_of_time()
    double bytes;
  };
  mutable std::vector<std::vector<PricedOption>> priced_options_;  ///< By `set_prices_`.
  mutable std::optional<Prices> set_prices_;
};

}  // namespace neuroshard
