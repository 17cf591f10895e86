#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/parts/best_plans.h"
#include "search/parts/partial_task.h"
#include "search/parts/replica_candidates.h"

namespace neuroshard {

/// Finds which tables to replicate: a machine that hands out tasks to be planned without replicas
/// and takes in their plans. First the whole task, with little effort; then what is left of it if
/// those tables are replicated that gain most by it, for several numbers of them; at last the best
/// of these, the whole task if replicas gain little, or both, with all effort. Tables that rules
/// leave nothing else are replicated in all of that, and the whole task is then what is left.
class ReplicaSearch {
 public:
  /// Borrows all.
  ReplicaSearch(const Backend& backend, const Task& task, const PlanRequest& request,
                Effort effort);
  ReplicaSearch(const ReplicaSearch&) = delete;  // What next() hands out is in it.
  ReplicaSearch& operator=(const ReplicaSearch&) = delete;

  /// A task whose plan take() wants.
  struct Part {
    const Task* task;
    Effort effort;
    bool whole;  ///< The task itself: improvements of its plans are improvements.
  };
  /// Nothing: the search is finished. The same until take() is called.
  [[nodiscard]] const std::optional<Part>& next() const { return next_; }
  void take(PlanResult planned);
  /// Nothing is asked for any more.
  void give_up() { next_.reset(); }
  /// The best plan, with the work for all of them. Ends the search.
  [[nodiscard]] PlanResult finish();

 private:
  enum class Phase { kWhole, kTrials, kBest, kWholeAgain, kFinished };

  void after_whole(PlanResult planned);
  void try_more();
  void improve_best();
  void plan_whole_again();
  void end();
  /// Asks for the rest of the task with the first `count` candidates replicated, beside those that
  /// must be: for 0 the whole task if there are none. False if they leave no room, or nothing to be
  /// planned.
  bool ask_for_rest(std::size_t count, Effort effort);
  /// Numbers of candidates that are worth a look.
  [[nodiscard]] std::optional<std::size_t> next_count() const;
  [[nodiscard]] std::size_t count_above(double gain) const;
  void consider_parts(const PlanResult& planned, double most_ms);
  /// Takes over the first plan of the whole task, or why there is none, from that of the part.
  void start_from(PlanResult planned);

  const Backend& backend_;
  const Task& task_;
  Effort effort_;
  StopCondition stop_;
  BestPlans found_;
  SearchStats stats_;
  bool complete_ = true;
  Phase phase_ = Phase::kWhole;
  std::optional<Part> next_;

  std::vector<std::uint32_t> required_;  ///< Tables that must be replicated, ascending.
  std::vector<ReplicaCandidate> candidates_;
  double whole_ms_ = 0.0;  ///< Of the whole task's first plan.
  /// Plans with replicas that nothing asks for cost less.
  double most_ms_ = std::numeric_limits<double>::infinity();
  std::size_t trials_ = 0;
  std::set<std::size_t> tried_;  ///< Numbers of candidates.
  std::size_t best_count_ = 0;   ///< Of the best plan; 0: the whole task's.
  std::size_t count_ = 0;        ///< Of the part that is asked for.
  PartialTask rest_;             ///< That part.
  Plan replicas_;                ///< The others, and no slices.
};

}  // namespace neuroshard
