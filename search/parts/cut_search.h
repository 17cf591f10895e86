#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/parts/best_plans.h"
#include "search/parts/cut_choices.h"
#include "search/parts/partial_task.h"
#include "search/parts/room_search.h"

namespace neuroshard {

/// Finds which tables are better replicated, row-wise, in row blocks on nodes, or in parts of
/// columns that are no halves: a machine that hands out tasks to be planned by halving columns, or
/// with blocks where rules leave nothing else, and takes in their plans. First the whole task; then
/// what is left of it if some tables are cut otherwise, for several choices of them. Tables that
/// rules leave nothing else are replicated in all of that, and the whole task is then what is left.
/// Where devices differ, a search for equal devices comes first, with plans near to its own, and
/// the whole task only if equal devices have no plans by columns, or if a simple heuristic has a
/// cheaper one. Where none of that has room for all tables, plan_for_room() may: then plans near to
/// its own are made, and other choices tried from there. Its plan is a start, which a Portfolio
/// improves.
class CutSearch {
 public:
  struct Options {
    bool equal_widths = false;  ///< PlannerOptions'.
    bool columns_only = false;  ///< The whole task by halving columns is all that is tried.
    /// A plan of the task that was made otherwise, to be beaten; its kinds of sharding are tried.
    const Plan* known = nullptr;
  };

  /// Borrows all but `options`.
  CutSearch(const Backend& backend, const Task& task, const PlanRequest& request,
            const Options& options);
  CutSearch(const CutSearch&) = delete;  // What next() hands out is in it.
  CutSearch& operator=(const CutSearch&) = delete;

  /// A task whose plan take() wants.
  struct Part {
    const Task* task;
    bool whole;                   ///< The task itself: improvements of its plans are improvements.
    const Plan* start = nullptr;  ///< As SearchOrder's.
  };
  /// Nothing: the search is finished. The same until take() is called.
  [[nodiscard]] const std::optional<Part>& next() const { return next_; }
  void take(PlanResult planned);
  /// Nothing is asked for any more.
  void give_up() { next_.reset(); }
  /// The best plan, with the work for all of them. Ends the search.
  [[nodiscard]] PlanResult finish();

 private:
  enum class Phase {
    kWhole,
    kTrials,
    kForRoom,
    kEqualized,
    kNearEqualized,
    kWholeAgain,
    kFinished
  };
  /// The part of the task that a choice leaves, and a plan for it.
  struct PlannedPart {
    CutChoice choice;
    std::vector<std::uint32_t> tables;  ///< As PartialTask's; of the whole task: none.
    std::vector<int> first_columns;
    Plan plan;
    bool by_columns = false;  ///< No row blocks for want of memory.
    double cost_ms = 0.0;     ///< Of all tables.
  };

  static constexpr double kAnyCost = std::numeric_limits<double>::infinity();
  /// Asks for the whole task.
  void begin();
  void after_whole(PlanResult planned);
  void begin_trials();
  void consider_known();
  [[nodiscard]] CutChoice known_choice() const;
  void try_more();
  /// Where no choice has led to a plan: looks at nothing but room first.
  void try_for_room();
  /// Asks for the next plan near to that one. False if there is none.
  bool ask_near_roomy();
  /// Plans the task for equal devices, if its own differ.
  void try_equalized();
  /// Asks for what that needs next.
  void ask_for_equalized();
  /// Prices the best plan for equal devices.
  void price_equalized();
  /// The choices of that search that are worth it.
  void list_starts();
  /// Plans them for the devices that there are, near to its plans.
  void plan_near_equalized();
  void after_equalized();
  /// Than all plans so far, which it is then one of.
  [[nodiscard]] bool heuristic_is_cheaper();
  void plan_whole_again();
  void end();
  /// Asks for what `choice`, and tables that must be replicated, leave of the task. False if there
  /// is no room, or nothing to be planned.
  bool ask_for_rest(const CutChoice& choice);
  [[nodiscard]] std::vector<std::uint32_t> without_required(
      std::vector<std::uint32_t> tables) const;
  /// Tables that `choice` has in row blocks on nodes, ascending.
  [[nodiscard]] static std::vector<std::uint32_t> on_nodes(const CutChoice& choice);
  /// Puts what `choice` replicates and has row-wise into `fixed_`. Returns those tables, ascending.
  std::vector<std::uint32_t> fix_tables(const CutChoice& choice);
  void consider_parts(const PlanResult& planned, double most_ms);
  /// True if it is the best so far.
  bool consider(Plan plan, double most_ms);
  /// Keeps the part of the best plan so far.
  void keep_part(const Plan& of_part);
  /// Takes over the first plan of the whole task, or why there is none, from that of the part.
  void start_from(PlanResult planned);

  const Backend& backend_;
  const Task& task_;
  PlanRequest quiet_request_;  ///< The same, without on_improvement.
  Options options_;
  StopCondition stop_;
  BestPlans found_;
  SearchStats stats_;
  bool complete_ = true;
  Phase phase_ = Phase::kWhole;
  std::optional<Part> next_;

  std::vector<std::uint32_t> required_;  ///< Tables that must be replicated, ascending.
  CutChoices choices_;
  /// Plans with other cuts cost less.
  double most_ms_ = std::numeric_limits<double>::infinity();
  CutChoice best_;    ///< The best plan has it.
  CutChoice trial_;   ///< The part that is asked for has it.
  PartialTask rest_;  ///< That part.
  Plan fixed_;        ///< The other tables.

  bool keeps_parts_ = false;  ///< For another search to start from:
  std::optional<PlannedPart> whole_part_;
  std::optional<PlannedPart> best_part_;

  bool known_considered_ = false;
  bool replicas_for_room_tried_ = false;
  bool room_searched_ = false;
  std::optional<RoomyPlan> roomy_;
  std::vector<CutChoice> near_roomy_;  ///< To be planned, the last one first.

  std::optional<Task> equalized_;
  std::unique_ptr<CutSearch> of_equalized_;
  bool starts_listed_ = false;
  bool whole_planned_ = false;  ///< Or near to its plan for equal devices.
  bool heuristics_tried_ = false;
  std::vector<PlannedPart> starts_;  ///< To be planned near to, the last one first.
  PlannedPart start_;
};

}  // namespace neuroshard
