#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/stop_condition.h"
#include "search/bundled_task.h"
#include "search/moves/neighbourhoods.h"
#include "search/moves/rebuild.h"
#include "search/moves/slice_moves.h"
#include "search/starts/way_ladder.h"
#include "search/state/edit_prices.h"
#include "search/state/plan_state.h"
#include "search/state/shard_catalog.h"
#include "search/state/state_prices.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// One course of the search through complete plans: a large neighbourhood is rebuilt, the plan
/// settles by some hundreds of small moves, and is kept or undone (Shaw: Using constraint
/// programming and local search methods to solve vehicle routing problems, 1998; Ropke, Pisinger:
/// An adaptive large neighborhood search heuristic, 2006). Its course depends on the task, the
/// start and its number alone, and a longer course begins with a shorter one.
class Chain {
 public:
  struct Order {
    std::uint64_t number = 0;    ///< Seed of its random numbers.
    std::size_t rungs = 0;       ///< It begins with so many of a WayLadder, and needs no start,
    std::size_t more_rungs = 0;  ///< and run_more_rungs() goes on with so many.
    /// Cuts of the cheapest of the former are annealed for the latter: tables times devices of all
    /// builds.
    std::size_t anneal_places = 0;
    bool ways = false;  ///< And tries each of the heaviest tables in all ways.
    /// From the plan that runs, which the start keeps; null: there is none.
    const MoveTerms* moves = nullptr;
  };
  /// Borrows `backend` and `bundled`. `start`: a valid plan of `bundled.task`; one that lacks
  /// tables stands for none. A chain that is stopped before it has read the plan finds nothing.
  Chain(const Backend& backend, const BundledTask& bundled, const WayOptions& options,
        const Plan& start, const Order& order, const StopCondition& stop);
  Chain(const Chain&) = delete;  // Its parts borrow from each other.
  Chain& operator=(const Chain&) = delete;

  /// Goes on until so many edits have been looked at in all, or `stop` is reached.
  void run(std::uint64_t edits, const StopCondition& stop);
  /// Goes on with Order::more_rungs, once.
  void run_more_rungs(const StopCondition& stop);
  /// Goes on from the plan of `other`, a chain of the same task and ways, if that is cheaper now.
  void follow(const Chain& other);
  /// Goes on from the plan as it is by at most so many edits of tabu_search(), in place of run().
  /// Does nothing unless models are symmetric.
  void search_neighbourhoods(std::uint64_t edits, const StopCondition& stop);

  /// The best plan so far that fits and is cheaper than the start, about at this cost, the price of
  /// moves included; null: none.
  [[nodiscard]] const Plan* best() const { return best_ ? &*best_ : nullptr; }
  [[nodiscard]] double best_ms() const { return best_ms_; }
  struct Settled {
    double cost_ms;
    std::size_t rung;  ///< It comes from.
    Plan plan;
  };
  /// Rungs have settled to these plans, of which each fits.
  [[nodiscard]] const std::vector<Settled>& settled_rungs() const { return settled_rungs_; }

  [[nodiscard]] std::uint64_t edits() const { return done_; }
  void add_work_to(SearchStats& stats) const {
    stats.edits += done_;
    stats.head_evaluations += prices_.work.heads;
    stats.comm_evaluations += prices_.work.comms;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  static constexpr std::uint64_t kSettle = 1000;  ///< Edits after a rebuild, on no devices.
  /// Heads of placements that take as long as an edit.
  static constexpr std::size_t kHeadsOfEdit = 12;
  /// Bytes that do not fit cost so many times as much where a plan has settled and still lacks
  /// room.
  static constexpr std::array kTimesForRoom = {4.0, 16.0};

  void begin(const StopCondition& stop);
  using Cuts = WayLadder::Cuts;
  struct Built {
    Cuts cuts;
    const WayLadder::Rung* rung = nullptr;                     ///< They come from.
    bool cuts_for_columns = false;                             ///< As in Rebuild::place_by_loads().
    double cost_ms = std::numeric_limits<double>::infinity();  ///< By rung_ms().
    std::int64_t missing_bytes = 0;
  };
  /// Plans of a WayLadder: the best few settle,
  void try_ladder(const StopCondition& stop);
  /// then some more.
  void try_more_rungs(const StopCondition& stop);
  /// Tables times devices.
  [[nodiscard]] std::size_t places() const;
  /// Borrows them.
  [[nodiscard]] std::vector<Built> build_rungs(const std::vector<WayLadder::Rung>& of_ladder,
                                               const StopCondition& stop);
  /// The first, and others that differ from those before in ways.
  [[nodiscard]] std::vector<Built> rungs_to_climb(const std::vector<Built>& rungs) const;
  /// In ascending order of cost. `number`: of the first of them.
  void settle_rungs(std::span<const Built> rungs, std::size_t number, const StopCondition& stop);
  /// A climb of a rung: other cuts of one table after another.
  struct Climb {
    double doubt;        ///< As in WayLadder::other_cuts().
    std::size_t builds;  ///< It tries no more.
  };
  /// Keeps what costs less.
  void cut_otherwise(Built& built, const Climb& climb, const StopCondition& stop);
  /// The cheapest of plans of a rung with other cuts of some tables, drawn at random: annealed.
  [[nodiscard]] Built annealed(Built built, std::size_t builds, const StopCondition& stop);
  /// Cut otherwise; then for memory above all, as long as some is missing. `number`: of the climb.
  [[nodiscard]] Built climbed(Built built, std::size_t number, const StopCondition& stop);
  /// Sets what build() comes to. False: some slice has no place.
  bool price_built(Built& built);
  /// All tables that send less if they are deduplicated, half of them, ..., and the others.
  void try_deduplicated(const StopCondition& stop);
  /// Wide and narrow slices on devices of their own.
  void try_widths(const StopCondition& stop);
  /// Some whole tables and narrow slices of others on devices of their own.
  void try_whole_tables(const StopCondition& stop);
  /// All slices are placed anew, the wide ones apart from others.
  struct Apart {
    WidthsApart widths;
    /// As in Neighbourhoods::cut_by_width(); nothing: slices stay as wide as they are.
    std::optional<double> whole_devices;
  };
  /// False: some slice has no place, or nothing is to be cut.
  bool build_apart(const Apart& apart);
  void settle_apart(std::span<const Apart> tries, std::size_t most, const StopCondition& stop);
  /// Builds all of `tries`, those that cost least once more, so many at most, and lets each of
  /// these settle.
  template <typename Try, typename BuildIt>
  void settle_best(std::span<const Try> tries, std::size_t most, const BuildIt& build_it,
                   const StopCondition& stop);
  /// The tables with most to do, each in another way.
  void try_ways(const StopCondition& stop);
  /// Settles the plan by one `part`th of the usual edits, by more if it lacks room.
  void settle_to_fit(std::uint64_t part, const StopCondition& stop);
  /// For settled_rungs().
  void keep_settled(std::size_t rung);
  /// Takes back all edits since begin_edits(), if the plan was whole then, unless it is cheaper
  /// now. Returns whether it is.
  bool keep_or_undo(bool was_whole);
  /// Places what was put in, and settles the plan unless it is much dearer.
  void settle_if_near(const StopCondition& stop);
  /// Ends a start.
  void settle_start(const StopCondition& stop);
  void settle_and_keep(std::uint64_t part, const StopCondition& stop) {
    settle_to_fit(part, stop);
    keep_or_undo(true);
  }
  /// Settles the plan as it is, by the usual edits.
  void settle_whole(const StopCondition& stop);
  /// Cuts and places all tables anew, by estimates under a limit of columns or, `exact`, by heads
  /// if builds_by_heads(). False: some slice has no place.
  bool build(const Cuts& cuts, bool cuts_for_columns, bool exact);
  /// Whether what was put in is placed by heads: that takes no longer than settling.
  [[nodiscard]] bool builds_by_heads() const {
    return rebuild_.head_evaluations() <= kHeadsOfEdit * kSettle;
  }
  /// Heads say nothing of what devices store, which decides where that has a price.
  [[nodiscard]] bool prices_rungs_by_heads() const {
    return ways_.options().storage.ms_per_gib == 0.0;
  }
  /// Other numbers of replicas, as many of the first ones as moves allow.
  void try_replicas(const StopCondition& stop);
  bool build_replicas(std::size_t count);
  [[nodiscard]] std::vector<std::size_t> numbers_of_replicas() const;
  /// Anneals by small moves, from a temperature down to nothing.
  void settle(std::uint64_t edits, double hottest_ms, double most_ms, const StopCondition& stop);
  /// The most that a plan may cost to be taken at this temperature in place of one of `now_ms`.
  [[nodiscard]] double draw_most_ms(double now_ms, double temperature_ms);
  void keep_if_best();
  /// Slices of all tables that may be moved.
  [[nodiscard]] std::vector<StateSlice> all_slices() const;
  void replace_all(std::vector<StateSlice> slices);
  /// Edits that follow can be taken back to the plan as it is now.
  void begin_edits();
  /// Counts a rebuild as so many edits as it takes.
  void count_rebuild() { done_ += 1 + rebuild_.head_evaluations() / kHeadsOfEdit; }
  /// Applies what was rebuilt. False: the plan would not keep limits, and it was not.
  bool apply_rebuilt();
  /// The cost of the plan, and of bytes that do not fit.
  [[nodiscard]] double rung_ms() const;
  /// Whether less may be moved than a plan made anew moves.
  [[nodiscard]] bool moves_are_limited() const;
  [[nodiscard]] std::uint64_t settling_edits() const;

  ShardCatalog catalog_;
  TableWays ways_;
  std::optional<MovedBytes> moved_;
  PlanState state_;
  StatePrices prices_;
  EditPrices edit_prices_;
  Order order_;
  Random random_;
  SliceMoves moves_;
  Rebuild rebuild_;
  Neighbourhoods neighbourhoods_;
  /// Rungs that have settled, and those that may.
  struct Ladder {
    WayLadder ways;
    std::vector<WayLadder::Rung> rungs;
    std::vector<Built> built{};        ///< In ascending order of cost.
    std::vector<Built> to_climb{};     ///< The first was.
    bool by_heads = false;             ///< They are built.
    std::vector<StateSlice> slices{};  ///< Once the first rungs have settled, as all_slices(),
    double cost_ms = kNone;            ///< and what they cost then.
  };
  std::optional<Ladder> ladder_;
  PlanSums before_;
  std::vector<Edit> batch_;
  std::vector<double> limits_ms_;
  std::optional<Plan> best_;
  std::vector<Settled> settled_rungs_;
  std::size_t best_rung_ = 0;
  double best_ms_ = kNone;
  double current_ms_ = kNone;
  std::uint64_t done_ = 0;
  double accepted_share_ = 0.2;
  bool begun_ = false;
  bool built_by_heads_ = false;  ///< The last build().
};

}  // namespace neuroshard
