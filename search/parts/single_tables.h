#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"
#include "search/parts/cut_candidates.h"
#include "search/parts/cut_choice.h"

namespace neuroshard {

/// The best choice so far with one table sharded in another way, table after table, those that take
/// most first: where tables are few, or one of them is worth as much as many, the numbers that
/// CountTrials tries pass over what pays.
class SingleTables {
 public:
  SingleTables() = default;
  /// `required`: tables that must be replicated, ascending, which are left alone. `candidates`: of
  /// `planned`, a plan by columns.
  SingleTables(const Backend& backend, const Task& task, const std::vector<std::uint32_t>& required,
               const PlanResult& planned, const CutCandidates& candidates);

  /// Nothing: no other table is worth a trial, or there were enough of them.
  [[nodiscard]] std::optional<CutChoice> next(CutChoice best);
  /// The last one led to the best plan so far.
  void last_is_best();
  /// The last one took no planning, and does not count.
  void last_was_not_planned() {
    --trials_;
    if (without_gain_ > 0) --without_gain_;
  }

 private:
  struct Change {
    std::uint32_t table = 0;
    ShardingKind kind = ShardingKind::kColumn;
  };

  std::vector<Change> changes_;
  std::size_t next_ = 0;
  std::size_t trials_ = 0;
  std::size_t without_gain_ = 0;
  bool any_gain_ = false;  ///< Since the first of them was tried.
};

}  // namespace neuroshard
